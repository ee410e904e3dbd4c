"""Bagging of ordinal rankers, with the weighted median for a vote.

"OR" is Lin and Li (2009), "Combining ordinal preferences by boosting"; bagging is Breiman (1996), "Bagging predictors".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Integral
from os import PathLike
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Interval

from podium._types import Learner, MatrixLike, Seed
from podium._validation import Array, FormatError, PodiumError, check_seed
from podium.model_file import Content
from podium.ordinal import OrdinalData
from podium.rankers.ordinal_ranker import OrdinalRanker
from podium.rankers.orstump import ORStump
from podium.rankers.voting import VotingRanker, rankers_to_content

MOST_DRAWS = 100
"""Draws for one ranker until they hold two grades: where weights leave both a chance, a few are enough."""


class BaggingOR(VotingRanker):
    """A vote of ordinal rankers, each learned from rows drawn at random (Breiman 1996, with OR Theorem 4).

    Each base ranker learns from as many draws as there are rows, with replacement, a row with a chance in proportion to
    its weight. The prediction is the median of their grades, the lowest with more than half of the votes up to it (OR
    Eq. 7), which OR section 4.1 gives for bagging, too. Bagging steadies rankers that small changes of the rows change
    much; it does not make weak ones strong, as `AdaBoostOR` does.

    Parameters
    ----------
    estimator : ordinal ranker, optional
        The base: anything with ``fit(X, y, sample_cost=...)`` and ``predict``. By default ``ORStump()``.
    n_estimators : int
        Base rankers.
    cost : {"absolute", "squared", "zero-one"} or array-like of shape (K, K)
        Cost of each grade for rows of each grade.
    random_state : int, RandomState or None
        Seed of the draws, and of a base with a parameter `random_state`. Draws are made in an order of the rows that
        their contents give, so that the order in which they come changes nothing.
    n_jobs : int, optional
        Threads for the votes of stumps.

    Attributes
    ----------
    estimators_ : list of ordinal rankers
    seed_ : int
        The seed, drawn where `random_state` is not a number.
    classes_, costs_convex_, n_features_in_, feature_names_in_
        As every ordinal ranker has them.

    Examples
    --------
    >>> from podium import PRank
    >>> X, y = [[float(i)] for i in range(30)], ["low"] * 10 + ["mid"] * 10 + ["top"] * 10
    >>> BaggingOR(PRank(epochs=50), n_estimators=5).fit(X, y).predict([[1.0], [15.0], [29.0]]).tolist()
    ['low', 'mid', 'top']
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "cost": OrdinalRanker._cost_constraint,
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    estimators_: Sequence[Learner]

    def __init__(
        self,
        estimator: Learner | None = None,
        n_estimators: int = 100,
        *,
        cost: str | ArrayLike = "absolute",
        random_state: Seed = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.cost = cost
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learn_grades(self, data: OrdinalData) -> None:
        data.require_two_grades()
        seed = check_seed(self.random_state)
        generator = np.random.default_rng(seed)
        estimators = [self._fitted(data, draw_rows(data, generator), generator) for _ in range(self.n_estimators)]
        self.estimators_, self.seed_ = estimators, seed

    def _fitted(self, data: OrdinalData, drawn: Array, generator: np.random.Generator) -> Learner:
        """Return a base ranker that has learned from drawn rows."""
        ranker = clone(ORStump() if self.estimator is None else self.estimator)
        if "random_state" in ranker.get_params(deep=False):
            ranker.set_params(random_state=int(generator.integers(2**31 - 1)))
        if isinstance(ranker, OrdinalRanker):
            ranker._check_parameters()
            return ranker._take(drawn_data(data, drawn))
        # Another ranker would not know of a grade that was not drawn, so that it has all rows, these without costs.
        counts = np.bincount(drawn, minlength=len(data.grades))
        costs = data.costs / data.weight[:, None] * counts[:, None]
        fitted: Learner = ranker.fit(data.features, data.classes[data.grades], sample_cost=costs)
        return fitted

    def _voters(self) -> tuple[Sequence[Learner], Array]:
        return self.estimators_, np.ones(len(self.estimators_))

    def staged_predict(self, X: MatrixLike) -> Iterator[Array]:
        """Yield the grade of each row by the vote of the first ranker, the first two, and so on."""
        for votes in self._vote_in_turn(self._check_rows(X), *self._voters()):
            yield self.classes_[votes.medians()]

    def _learned(self) -> Content:
        return {**super()._learned(), **rankers_to_content(self.estimators_)}

    def _restore(self, content: Content, path: str | PathLike[str]) -> None:
        super()._restore(content, path)
        self.estimators_ = self._restore_rankers(content, path)
        if not self.estimators_:
            raise FormatError(path, "no ranker is there to vote")


def draw_rows(data: OrdinalData, generator: np.random.Generator) -> Array:
    """Return as many rows as there are, drawn with replacement by their weights, ascending, of two grades at least."""
    limits, n_rows = np.cumsum(data.weight / data.weight.max()), len(data.grades)
    for _ in range(MOST_DRAWS):
        places = np.searchsorted(limits, generator.random(n_rows) * limits[-1], side="right")
        drawn = np.sort(np.minimum(places, n_rows - 1))
        if np.ptp(data.grades[drawn]) > 0:
            return drawn
    raise PodiumError(
        f"Rows drawn at random had one grade alone, {MOST_DRAWS} times: nearly all of the weight is on it; give "
        "sample_weight that differs less."
    )


def drawn_data(data: OrdinalData, drawn: Array) -> OrdinalData:
    """Return drawn rows as data, each as often as it was drawn, with the mean weight of all rows."""
    mean = float(data.weight.mean())
    chosen = data.take(drawn)
    return replace(chosen, costs=chosen.costs / chosen.weight[:, None] * mean, weight=np.full(len(drawn), mean))
