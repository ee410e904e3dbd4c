"""PRank: the ranking perceptron of Crammer and Singer, with costs and a pocket.

"OR" is Lin and Li (2009), "Combining ordinal preferences by boosting".
"""

from __future__ import annotations

from numbers import Integral
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from podium._types import Features, Seed
from podium._validation import Array, check_seed
from podium.export import Graded
from podium.model_file import Column, Scalar, Schema
from podium.ordinal import OrdinalData
from podium.ordinal.ordinal_columns import CUTS, SCALING
from podium.ordinal.perceptron import pocket_perceptron
from podium.ordinal.scaling import Scaling
from podium.rankers.ordinal_ranker import OrdinalRanker, scaled_sum


class PRank(OrdinalRanker):
    """Grades by a linear score and thresholds, learned row by row (Crammer and Singer 2005).

    As OR section 5.2 has it: rows are drawn with probability proportional to their largest cost, and of all weights
    met on the way the pocket with ratchet (Gallant 1990) keeps those of the lowest training cost. Features are scaled
    to mean 0 and standard deviation 1; a missing value counts as the mean.

    Parameters
    ----------
    variant : {"siprank", "prank"}
        What a wrong grade changes. "prank": every threshold between it and the right one, by 1, and the weights by
        their number times the row (the paper's algorithm). "siprank": only the threshold nearest to the score, by 1,
        and the weights by the row. Thresholds stay ordered under both. OR boosts "SiPrank" without saying what it is;
        this is the form whose training costs are nearer to its Table 1 on three of five sets
        (``experiments/ordinal_readings.py variants PATH``), not a known definition.
    epochs : int
        Each draws as many rows as there are.
    cost : {"absolute", "squared", "zero-one"} or array-like of shape (K, K)
        Cost of each grade for rows of each grade.
    random_state : int, RandomState or None
        Seed of the draws.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        Weights of the scaled features.
    thresholds_ : ndarray of shape (K - 1,)
        Ascending; infinite ones where the pocket kept a constant.
    means_, deviations_ : ndarray of shape (n_features_in_,)
        The scale of the features.
    training_cost_ : float
        Sum of the costs of the training rows.
    seed_ : int
        The seed, drawn where `random_state` is not a number.
    classes_, costs_convex_, n_features_in_, feature_names_in_
        As every ordinal ranker has them.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "mid", "top"]
    >>> PRank(epochs=50).fit(X, y).predict([[-1.0], [9.0]]).tolist()
    ['low', 'top']
    """

    _parameter_constraints: dict[str, list[object]] = {  # noqa: RUF012 (scikit-learn's declaration)
        "variant": [StrOptions({"siprank", "prank"})],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "cost": OrdinalRanker._cost_constraint,
        "random_state": ["random_state"],
    }
    _kept: ClassVar[Schema] = OrdinalRanker._kept.extended(
        Column("coef_", size="n_features"), CUTS, *SCALING, Scalar("training_cost_", float)
    )

    def __init__(
        self,
        variant: str = "siprank",
        *,
        epochs: int = 2000,
        cost: str | ArrayLike = "absolute",
        random_state: Seed = 0,
    ) -> None:
        self.variant = variant
        self.epochs = epochs
        self.cost = cost
        self.random_state = random_state

    def _learn_grades(self, data: OrdinalData) -> None:
        scaling = Scaling.of(data.features, data.weight, type(self).__name__)
        rows, single = scaling.apply(data.features), self.variant == "siprank"
        seed = check_seed(self.random_state)
        model = pocket_perceptron(rows, data.grades, data.costs, single, self.epochs, seed)
        self.means_, self.deviations_, self.seed_ = scaling.means, scaling.deviations, seed
        self.coef_, self.thresholds_, self.training_cost_ = model.weights, model.thresholds, model.cost

    def _score(self, features: Features) -> Array:
        """Return w·x of the scaled features."""
        scores: Array = np.sum(Scaling(self.means_, self.deviations_).apply(features) * self.coef_, axis=1)
        return scores

    def _grade(self, features: Features) -> Array:
        return np.searchsorted(self.thresholds_, self._score(features), side="right")

    def _export_record(self) -> Graded:
        return self._graded(scaled_sum(self, self.coef_), self.thresholds_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # one line cannot order what does not lie along it
        return tags
