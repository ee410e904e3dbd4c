"""ORStump: one feature cut into grades, the simplest ordinal ranker and the usual base of AdaBoost.OR.

"OR" is Lin and Li (2009), "Combining ordinal preferences by boosting".
"""

from __future__ import annotations

from numbers import Integral
from os import PathLike
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags

from podium._compiled import threads_for
from podium._types import Features
from podium._validation import Array, FormatError
from podium.export import Graded, graded_votes
from podium.model_file import Content
from podium.ordinal import OrdinalData, OrdinalStump, OrdinalStumpLearner, StepWeights, cost_steps
from podium.ordinal.ordinal_columns import STUMPS, stumps_from_columns
from podium.rankers.ordinal_ranker import OrdinalRanker


class ORStump(OrdinalRanker):
    """The stump of the lowest training cost (OR section 5.1), found exactly by dynamic programming.

    Says rank ``r(x) = 1 + #{k: q x_d ≥ θ_k}`` for a feature d, a direction q = ±1 and thresholds θ_1 ≤ … ≤ θ_{K-1}.
    Thresholds may coincide and be infinite, so that constants are among the stumps; equal values are never parted. Of
    stumps of equal cost it takes the lowest feature, then direction 1, then the lowest θ_{K-1}, θ_{K-2}, and so on.

    A row that lacks the feature has the grade of the lowest cost among the training rows that lack it, or among all
    where none lacks it. Takes O(n log n + n K) time a feature.

    Parameters
    ----------
    cost : {"absolute", "squared", "zero-one"} or array-like of shape (K, K)
        What it costs to predict the grade of the column for a row with the grade of the row: V-shaped, 0 where they are
        equal. By name it is |y - k|, its square, or 1 where they differ.
    n_jobs : int, optional
        Threads; the stump does not depend on their number.

    Attributes
    ----------
    feature_ : int
    direction_ : int
        1 or -1.
    thresholds_ : ndarray of shape (K - 1,)
        Of ``direction_ * x``, ascending.
    missing_ : int
        Grade, counted from 0, of rows that lack the feature.
    classes_ : ndarray
        The labels of the grades, lowest first.
    costs_convex_ : bool
        Whether every cost vector is convex (OR Theorem 1).
    n_features_in_, feature_names_in_
        As scikit-learn has them.

    Examples
    --------
    >>> stump = ORStump().fit([[1.0], [2.0], [3.0], [4.0]], ["bad", "bad", "fair", "good"])
    >>> stump.thresholds_.tolist()
    [2.5, 3.5]
    >>> stump.predict([[0.0], [9.0]]).tolist()
    ['bad', 'good']
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "cost": OrdinalRanker._cost_constraint,
        "n_jobs": [Integral, None],
    }

    feature_: int
    direction_: int
    thresholds_: Array
    missing_: int

    def __init__(self, *, cost: str | ArrayLike = "absolute", n_jobs: int | None = None) -> None:
        self.cost = cost
        self.n_jobs = n_jobs

    def _learn_grades(self, data: OrdinalData) -> None:
        n_rows, n_features = data.features.shape
        threads = threads_for(self.n_jobs, n_rows * n_features * len(data.classes))
        learner = OrdinalStumpLearner(data.features, len(data.classes) - 1, threads)
        self._keep(learner.search(StepWeights(cost_steps(data.costs), data.grades)).stump)

    def _keep(self, stump: OrdinalStump) -> None:
        """Set what a fit, or a file, gives."""
        self.feature_, self.direction_, self.missing_ = stump.feature, stump.direction, stump.missing
        self.thresholds_ = stump.thresholds

    @property
    def stump_(self) -> OrdinalStump:
        """The stump itself."""
        return OrdinalStump(self.feature_, self.direction_, self.thresholds_, self.missing_)

    def _grade(self, features: Features) -> Array:
        return self.stump_.grades(features)

    def _export_record(self) -> Graded:
        votes = np.ones(1)
        return graded_votes([self.stump_], votes, self.classes_, self._names(), self.n_features_in_, "ORStump")

    def _learned(self) -> Content:
        return {**super()._learned(), **STUMPS.write_rows([self.stump_])}

    def _restore(self, content: Content, path: str | PathLike[str]) -> None:
        super()._restore(content, path)
        stumps = stumps_from_columns(content, path, self._sizes())
        if len(stumps) != 1:
            raise FormatError(path, f"one stump is expected; got {len(stumps)}")
        self._keep(stumps[0])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # one feature cannot part what needs two
        return tags
