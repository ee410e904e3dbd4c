"""InfinitePush: a sparse linear ranker for the very top of the list (Agarwal 2011, Rakotomamonjy 2012)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from podium._magnitudes import check_within
from podium._validation import Array, PodiumError
from podium.data import Graded, RankingData, feedback_of
from podium.model_file import Column, Scalar, Schema
from podium.push import offender_pairs, solve_infinite_push
from podium.rankers.baselines import LinearPreference, filled_rows


class InfinitePush(LinearPreference):
    """Linear ranker with few features that pushes the worst offender of each query down.

    Minimises the mean over queries of ``max_i mean_{j: y_j > y_i} [1 - (s_j - s_i)]₊`` plus ``alpha ‖β‖₁``: of all rows
    that should stand below others, the one that pays most for those. It is the limit of `PNormPush` for large p, with
    the hinge loss of pairs, in the l1 form of Rakotomamonjy (2012); two grades in one list are Agarwal's case (2011).
    Any labels may be given: a row then pays for all rows of higher labels. Row weights count in the means, so that a
    row of weight 2 is the row given twice; queries count by their weights.

    β are the coefficients of features less their mean and divided by their greatest distance from it, so that `alpha`
    means the same in any units. A missing value counts as the feature's mean. Solved exactly by a linear programme
    (HiGHS) of as many variables as there are pairs: about a second for 5,000 pairs and a minute for 50,000.

    Parameters
    ----------
    alpha : float
        Weight of the l1 penalty: larger is sparser. Above 2, and often far below it, all coefficients are 0.
    max_pairs : int or None
        Refuse to solve for more pairs.
    eval_metric : str or list of str
        The first is the measure of `score`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        Coefficients of the features as they were given.
    averages_ : ndarray of shape (n_features_in_,)
        What missing values count as; 0 for a feature that ranks no row.
    objective_ : float
        The minimum.
    gap_ : float
        How far below `objective_` the true minimum may lie: rounding.

    Examples
    --------
    >>> X = [[1.0, 5.0], [2.0, 1.0], [3.0, 4.0], [4.0, 2.0]]
    >>> model = InfinitePush(alpha=0.01).fit(X, [0, 0, 1, 1])
    >>> model.coef_.round(6).tolist(), round(model.objective_, 6)
    ([0.571429, 0.142857], 0.011429)
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "max_pairs": [Interval(Integral, 1, None, closed="left"), None],
        "eval_metric": [str, list, tuple],
    }
    _kept: ClassVar[Schema] = Schema(
        Column("averages_", size="n_features"),
        Column("coef_", size="n_features"),
        Scalar("default_", float),
        Scalar("objective_", float),
        Scalar("gap_", float),
    )
    _by_query = True

    def __init__(
        self, alpha: float = 1e-3, *, max_pairs: int | None = 100_000, eval_metric: str | Sequence[str] = "ndcg@10"
    ) -> None:
        self.alpha = alpha
        self.max_pairs = max_pairs
        self.eval_metric = eval_metric

    def _average_weight(self, data: RankingData) -> Array:
        return data.weights

    def _learn_labels(self, data: RankingData, labels: Array, target_weight: Array, averages: Array) -> None:
        (graded,) = feedback_of(data).parts
        if not isinstance(graded, Graded):
            raise TypeError(f"Labels must be graded feedback; got {type(graded).__name__}.")
        self._check_size(graded.n_pairs)
        centred = filled_rows(data, np.arange(len(labels)), averages) - averages
        spans = np.abs(centred[target_weight > 0]).max(axis=0)
        scaled = np.divide(centred, spans, out=np.zeros_like(centred), where=spans > 0)
        found = solve_infinite_push(scaled, offender_pairs(graded), self.alpha)
        with np.errstate(over="ignore"):
            coef = np.divide(found.coef, spans, out=np.zeros_like(spans), where=spans > 0)
        check_within(coef, "The weights of features", "finite scores; give features of a larger scale")
        if not coef.any():
            warnings.warn(
                f"Nothing was learned, so that all predictions are equal: no linear ranker has a lower objective than "
                f"none with alpha={self.alpha:g}; consider a smaller one, or PNormPush.",
                stacklevel=5,
            )
        self.coef_, self.default_, self.objective_, self.gap_ = coef, 0.0, found.objective, found.gap

    def _check_size(self, n_pairs: int) -> None:
        """Refuse more pairs than may be listed."""
        if self.max_pairs is not None and n_pairs > self.max_pairs:
            raise PodiumError(
                f"There are {n_pairs:,} pairs, more than the {self.max_pairs:,} that max_pairs allows for a linear "
                "programme; raise max_pairs, or take PNormPush with a large p, which lists no pairs."
            )
