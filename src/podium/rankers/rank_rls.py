"""RankRLS: least squares on the differences of labels within queries (Pahikkala et al. 2007)."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from podium._magnitudes import check_within
from podium._types import MatrixLike, QueryWeight
from podium._validation import Array, PodiumError
from podium.data import RankingData, feedback_of
from podium.linear import KERNELS, PairLeastSquares
from podium.rankers.kernel_ranker import KernelRanker


class RankRLS(KernelRanker):
    """A linear or kernel score whose differences within a query are near those of the labels.

    Minimises ``mean ((s_i - s_j) - (y_i - y_j))² + alpha ‖f‖²``, the mean over all ordered pairs of rows of a query,
    those of tied labels and of a row with itself included, each weighing its rows' weights and its query's. ‖f‖² is
    ‖w‖² for a linear score. The solution is in closed form: O(n F² + F³) for n rows and F features, O(n³) for kernels,
    and no pairs are made.

    CR (Werner, "A review on ranking problems", section 3.1) divides the sum over i < j by n(n - 1): its λ is alpha
    n / (2 (n - 1)) for one query of n rows. Where the sum over i < j is not divided at all, as in Pahikkala et al., λ
    is alpha n²/2.

    Parameters
    ----------
    alpha : float
        Weight of the penalty.
    kernel : {"linear", "rbf", "laplacian"}
        x·x′, exp(-γ ‖x - x′‖²) or exp(-γ ‖x - x′‖₁); the latter two for at most 8,000 rows.
    gamma : float, optional
        γ; by default 1 / the number of features.
    scale : bool
        Put features to standard deviation 1, by the weights of the training rows; `alpha` is of that scale. `coef_` is
        of the given features in any case. A missing value counts as the feature's mean.
    pair_weight : {"pairs", "queries"}
        Whether all pairs weigh alike, or all queries do.
    eval_metric : str or list of str
        Measure of `score`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        w, in the scale of the given features; with ``kernel="linear"``.
    means_ : ndarray of shape (n_features_in_,)
        What missing values count as; the score is ``Σ coef_ (x - means_)``.
    dual_coef_, support_vectors_, deviations_, gamma_
        Weights of the scaled training rows in the score, these rows, their scale, and γ; with another kernel.

    Examples
    --------
    >>> X, y, qid = [[1.0], [2.0], [5.0], [7.0]], [0.0, 1.0, 4.0, 6.0], [1, 1, 2, 2]
    >>> RankRLS(alpha=1e-9).fit(X, y, qid=qid).coef_.round(6).tolist()
    [1.0]
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "alpha": [Interval(Real, 0, 1e100, closed="right")],
        "kernel": [StrOptions({"linear", *KERNELS})],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "scale": ["boolean"],
        "pair_weight": [StrOptions({"pairs", "queries"})],
        "eval_metric": [str, list, tuple],
    }

    def __init__(
        self,
        alpha: float = 0.1,
        *,
        kernel: str = "linear",
        gamma: float | None = None,
        scale: bool = True,
        pair_weight: str = "pairs",
        eval_metric: str | Sequence[str] = "pair_loss",
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.scale = scale
        self.pair_weight = pair_weight
        self.eval_metric = eval_metric

    def _learn_at_once(self, data: RankingData) -> None:
        rows, scaling = self._scaled(data)
        if self.kernel == "linear":
            self._keep_linear(self._solve(data, rows).coef, scaling)
        else:
            mapped = self._kernel_features(rows)
            coef = self._solve(data, mapped.features).coef
            self._keep_kernel(mapped.row_weights(coef), rows, scaling)

    def _solve(self, data: RankingData, rows: Array) -> PairLeastSquares:
        """Return the solved problem for the features of canonical rows."""
        labels, query_weight = self._labels(data), data.query_weight
        if self.pair_weight == "queries":
            sums = np.add.reduceat(data.row_weight, data.queries.offsets[:-1])
            query_weight = np.divide(query_weight, sums * sums, out=np.zeros_like(sums), where=sums > 0)
        return PairLeastSquares(rows, labels, data.row_weight, query_weight, data.queries.offsets, float(self.alpha))

    def _labels(self, data: RankingData) -> Array:
        """Return the labels, each query's from its lowest on; refuse data without, with pairs, or of one label."""
        if data.labels is None:
            raise PodiumError("RankRLS requires y to be passed, but the target y is None: use RankSVM for pairs.")
        if data.pairs is not None:
            raise PodiumError("RankRLS learns from differences of labels alone, so pairs must be None: use RankSVM.")
        check_within(data.labels, "y", "RankRLS, which computes with its values")
        feedback_of(data)  # refuses rows of which none should stand above another
        lowest = np.minimum.reduceat(data.labels, data.queries.offsets[:-1])
        labels: Array = data.labels - np.repeat(lowest, data.queries.sizes)
        return labels

    def held_out_scores(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: QueryWeight | None = None,
    ) -> Array:
        """Return the score of each row by a fit to all other queries, in the caller's order, for choosing `alpha`.

        All of them cost one fit and a small linear system a query, O(Σ (n_q³ + n_q² F)) for queries of n_q rows. The
        penalty stays what it is for all rows (``alpha`` times half the weight of all pairs), and so do the scale of the
        features and what missing ones count as. Nothing is fitted. Scores compare rows of one query.
        """
        self._check_parameters()
        data = RankingData.from_arrays(
            X, y, qid=qid, group=group, sample_weight=sample_weight, query_weight=query_weight
        )
        rows, _ = self._scaled(data)
        mapped = rows if self.kernel == "linear" else self._kernel_features(rows).features
        return data.queries.to_caller(self._solve(data, mapped).held_out_scores())
