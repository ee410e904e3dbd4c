"""Stability selection: features that are chosen again and again from halves of the queries.

"MB" is Meinshausen and Bühlmann (2010), "Stability selection"; halves come in complementary pairs, as Shah and Samworth
(2013), "Variable selection with error control", draw them, for which the bound holds for any number of pairs.
"""

from __future__ import annotations

import math
import warnings
from numbers import Integral, Real
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Interval

from podium._types import Learner, MatrixLike, QueryWeight, Seed
from podium._validation import Array, PodiumError, check_seed
from podium.data import RankingData
from podium.rankers import GradientFreeBoost
from podium.selection.halves import complementary_halves, fit_ranker
from podium.selection.selector import RankingSelector, largest_first

DEFAULT_THRESHOLD, DEFAULT_PFER = 0.75, 1.0
ROUNDING = 1e-9
"""What the rounding of q and of shares may hide."""


class ErrorControl(NamedTuple):
    """The three numbers that MB Theorem 1 ties together.

    Attributes
    ----------
    n_selected : int
        q, features that each half selects at most.
    threshold : float
        π, share of the halves that must select a feature.
    pfer : float
        Bound q²/((2π - 1) p) on the expected number of falsely chosen features (per-family error rate).
    """

    n_selected: int
    threshold: float
    pfer: float


def error_control(
    n_features: int, n_selected: int | None = None, threshold: float | None = None, pfer: float | None = None
) -> ErrorControl:
    """Return q, π and the bound, from two of them.

    Where fewer are given, π is 0.75 and then the bound 1. q is rounded down, and the bound is then the lower one that
    q has.

    Parameters
    ----------
    n_features : int
        p.
    n_selected, threshold, pfer
        As `ErrorControl` has them, None for what is to follow.

    Examples
    --------
    >>> error_control(100, n_selected=10, threshold=0.75).pfer
    2.0
    >>> error_control(100, n_selected=10, pfer=2.0).threshold
    0.75
    >>> error_control(100, threshold=0.75, pfer=2.0).n_selected
    10
    """
    if None not in (n_selected, threshold, pfer):
        raise PodiumError("Give two of n_selected, threshold and pfer, the third follows; got all three.")
    if threshold is None and (n_selected is None or pfer is None):
        threshold = DEFAULT_THRESHOLD
    if n_selected is None:
        n_selected = _most_selected(n_features, threshold or DEFAULT_THRESHOLD, DEFAULT_PFER if pfer is None else pfer)
    if n_selected > n_features:
        raise PodiumError(f"n_selected must be at most the number of features, {n_features}; got {n_selected}.")
    if threshold is None:
        threshold = _threshold_of(n_features, n_selected, DEFAULT_PFER if pfer is None else pfer)
    return ErrorControl(n_selected, threshold, n_selected**2 / ((2.0 * threshold - 1.0) * n_features))


def _most_selected(n_features: int, threshold: float, pfer: float) -> int:
    """Return the largest q that keeps the bound, at most p."""
    most = math.floor(math.sqrt(pfer * (2.0 * threshold - 1.0) * n_features) + ROUNDING)
    if most < 1:
        raise PodiumError(
            f"pfer={pfer:g} with threshold={threshold:g} lets no feature be selected where n_features = {n_features}; "
            f"pfer must be at least {1.0 / ((2.0 * threshold - 1.0) * n_features):g}, or give n_selected."
        )
    return min(most, n_features)


def _threshold_of(n_features: int, n_selected: int, pfer: float) -> float:
    """Return the π that keeps the bound."""
    threshold = 0.5 * (1.0 + n_selected**2 / (pfer * n_features))
    if threshold > 1.0:
        raise PodiumError(
            f"n_selected={n_selected} of {n_features} features cannot keep pfer={pfer:g}: n_selected must be at most "
            f"{math.floor(math.sqrt(pfer * n_features))}."
        )
    return threshold


class StabilitySelector(RankingSelector):
    """Chooses the features that a ranker selects in at least a share π of random halves of the queries (MB).

    The queries are parted at random into two halves, `n_resamples` times; where all rows are one query, its rows are.
    A ranker learns from each half and selects at most q features: the first q that its rounds use, or those of the
    largest `feature_importances_` or `coef_` in size, zeros left out. If noise features are exchangeable and the ranker
    finds noise no more often than guessing would, then the expected number V of noise features among the chosen ones
    is bounded (MB Theorem 1): ``E[V] ≤ q² / ((2π - 1) p)``. Two of q, π and the bound are given, the third follows.

    CR 5.1 wants stability selection beside gradient-free boosting; the special form of the thesis was not at hand.
    This is the one of Meinshausen and Bühlmann; queries as what is resampled, and their pairs of halves, are ours.

    Parameters
    ----------
    estimator : ranker, optional
        Anything with ``fit(X, y)``, given `qid` and weights where it takes them. By default
        ``GradientFreeBoost(max_features=q)``.
    n_selected : int, optional
        q.
    threshold : float, optional
        π, above one half. Where fewer than two of the three are given, it is 0.75.
    pfer : float, optional
        Bound on E[V] (per-family error rate). Where fewer than two are given still, it is 1.
    n_resamples : int
        Pairs of halves: twice as many fits.
    random_state : int, RandomState or None
        Seed of the halves; draws do not depend on the order of rows.

    Attributes
    ----------
    support_ : ndarray of bool
        Whether each feature was chosen.
    frequencies_ : ndarray of float
        Share of the halves that selected each feature.
    n_selected_, threshold_, pfer_ : int, float, float
        q, π and the bound that holds.
    n_features_in_, feature_names_in_
        As scikit-learn has them.

    Examples
    --------
    >>> from podium import GradientFreeBoost, StabilitySelector, make_search
    >>> train = make_search(n_queries=30, random_state=0)
    >>> selector = StabilitySelector(GradientFreeBoost(10), n_selected=4, n_resamples=5)
    >>> bool(selector.fit(train.X, train.y, qid=train.qid).frequencies_.max() <= 1.0)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "estimator": [HasMethods("fit"), None],
        "n_selected": [Interval(Integral, 1, None, closed="left"), None],
        "threshold": [Interval(Real, 0.5, 1.0, closed="right"), None],
        "pfer": [Interval(Real, 0, None, closed="neither"), None],
        "n_resamples": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Learner | None = None,
        *,
        n_selected: int | None = None,
        threshold: float | None = None,
        pfer: float | None = None,
        n_resamples: int = 50,
        random_state: Seed = 0,
    ) -> None:
        self.estimator = estimator
        self.n_selected = n_selected
        self.threshold = threshold
        self.pfer = pfer
        self.n_resamples = n_resamples
        self.random_state = random_state

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: QueryWeight | None = None,
    ) -> Self:
        """Choose features.

        Parameters
        ----------
        X : array, frame, table or sparse matrix of shape (n_rows, n_features)
            Features; what is missing is for the ranker to treat.
        y : array-like
            Label of each row: higher should stand higher within its query.
        qid, group : array-like, optional
            Queries, as every ranker takes them.
        sample_weight, query_weight : optional
            Weights of rows and of queries, handed to the ranker; halves are drawn without them.

        Returns
        -------
        self
        """
        self._fit(X, y, qid, group, sample_weight, query_weight)
        return self

    def _choose(self, data: RankingData, labels: Array) -> Array:
        control = error_control(data.features.shape[1], self.n_selected, self.threshold, self.pfer)
        counts = np.zeros(data.features.shape[1])
        for rows in complementary_halves(data, self.n_resamples, check_seed(self.random_state)):
            counts[self._selected(data, labels, rows, control.n_selected)] += 1
        self.n_selected_, self.threshold_, self.pfer_ = control
        self.frequencies_ = counts / (2 * self.n_resamples)
        return np.flatnonzero(self.frequencies_ >= control.threshold - ROUNDING)

    def _selected(self, data: RankingData, labels: Array, rows: Array, n_selected: int) -> Array:
        """Return the features that the ranker selects from some rows."""
        ranker = GradientFreeBoost(max_features=n_selected) if self.estimator is None else clone(self.estimator)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Nothing was learned")  # a half may well select nothing
            return first_features(fit_ranker(ranker, data, labels, rows), n_selected)


def first_features(ranker: Learner, n_selected: int) -> Array:
    """Return the features, at most so many, that a fitted ranker's rounds use first, or that matter most to it."""
    rounds = getattr(ranker, "rounds_", None)
    if rounds is not None and all(hasattr(round_, "feature") for round_ in rounds):
        used = dict.fromkeys(round_.feature for round_ in rounds[: getattr(ranker, "best_iteration_", None)])
        return np.array([*used][:n_selected], int)
    importances = getattr(ranker, "feature_importances_", None)
    importances = getattr(ranker, "coef_", None) if importances is None else importances
    if importances is None:
        raise PodiumError(
            f"estimator must have rounds_, feature_importances_ or coef_ once fitted; {type(ranker).__name__} has none."
        )
    sizes: Array = np.abs(np.atleast_2d(importances)).max(axis=0)
    order = largest_first(sizes, n_selected)
    chosen: Array = order[sizes[order] > 0]
    return chosen
