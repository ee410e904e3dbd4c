"""RankSVM: large margins between the rows of pairs (Herbrich et al. 1999, Joachims 2002, Chapelle and Keerthi 2010)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from podium._validation import Array, PodiumError
from podium.data import RankingData, feedback_of
from podium.linear import (
    KERNELS,
    NONCONVEX,
    MarginProblem,
    PairMargins,
    Solution,
    minimize_l1,
    minimize_l2,
    minimize_nonconvex,
)
from podium.model_file import NOT_NEGATIVE, Scalar, Schema
from podium.rankers.kernel_ranker import KernelRanker


class RankSVM(KernelRanker):
    """A linear or kernel score that keeps the better row of each pair above the worse by a margin.

    Minimises ``penalty(w) + C Σ v_ij max(0, 1 - (s_i - s_j))² / Σ v_ij`` for scores s = w·x, over the pairs of a query
    in which row i has the higher label, and over explicit pairs. v_ij is the weight of a pair: those of its rows and
    its query multiplied, or its own. With two grades this is the support vector machine for the area under
    the ROC curve.

    Newton steps need sums over the pairs with a slack; order statistics give them in O(n log n), and no list of the
    pairs of labels is made. CR (Werner, "A review on ranking problems", section 3.1) prints the plain hinge with the
    product (y_i - y_j)(s_i - s_j), all pairs of all rows, and λ ‖f‖² beside the mean over n(n - 1)/2 pairs; here a
    margin is 1 whatever the labels' difference, pairs are those of one query, tied labels do not count in the mean, and
    C stands for 1/(2λ).

    Parameters
    ----------
    C : float
        Weight of the mean loss against the penalty.
    penalty : {"l2", "l1", "mcp", "log"}
        "l2": ½ ‖w‖². "l1": ‖w‖₁, the problem of FenchelRank (Lai et al. 2013) with its bound on ‖w‖₁ as a penalty.
        "mcp" and "log": concave in |w|, so that large weights are shrunk less and fewer features fit as well
        (Laporte et al. 2014), by majorisation from the l1 solution on; a stationary point, not always the lowest.
    theta : float
        Where the concave penalties bend: "mcp" is ``|w| - w²/(2θ)`` up to θ and θ/2 beyond, "log" ``θ log(1 + |w|/θ)``.
    kernel : {"linear", "rbf", "laplacian"}
        x·x′, exp(-γ ‖x - x′‖²) or exp(-γ ‖x - x′‖₁); the latter two with "l2" alone, in O(n³) for at most 8,000 rows.
    gamma : float, optional
        γ; by default 1 / the number of features.
    scale : bool
        Put features to standard deviation 1, by the weights of the training rows; C and penalties are of that scale.
        `coef_` is of the given features in any case. A missing value counts as the feature's mean.
    pair_weight : {"pairs", "queries"}
        Whether all pairs of labels weigh alike, or all queries do.
    tol : float
        Ends where the conditions of an optimum are violated by at most this part of the largest gradient at w = 0, or
        where rounding lets no step lower the objective.
    max_iter : int
        Newton steps at most, for "mcp" and "log" in each problem of theirs. A fit that ends so warns.
    warm_start : bool
        Begin with the `coef_` of the last fit, as for a row of values of C; not for kernels.
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
    objective_ : float
        What was minimised, at the end.
    gap_ : float
        Duality gap as a part of the objective, at most so far from the optimum; 1 for "mcp" and "log", which have none.
    violation_ : float
        See `tol`.
    n_iter_ : int
        Newton steps.

    Examples
    --------
    >>> X, y, qid = [[1.0, 3.0], [2.0, 1.0], [0.5, 2.0], [3.0, 2.0]], [0, 1, 0, 1], [1, 1, 2, 2]
    >>> RankSVM(C=10).fit(X, y, qid=qid).rank(X, qid=qid).tolist()
    [2, 1, 2, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "C": [Interval(Real, 0, 1e100, closed="right")],
        "penalty": [StrOptions({"l2", "l1", *NONCONVEX})],
        "theta": [Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions({"linear", *KERNELS})],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "scale": ["boolean"],
        "pair_weight": [StrOptions({"pairs", "queries"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "eval_metric": [str, list, tuple],
    }
    _kept: ClassVar[Schema] = KernelRanker._kept.extended(
        *(Scalar(name, float, NOT_NEGATIVE) for name in ("objective_", "gap_", "violation_")), Scalar("n_iter_", int)
    )

    def __init__(
        self,
        C: float = 1.0,
        *,
        penalty: str = "l2",
        theta: float = 1.0,
        kernel: str = "linear",
        gamma: float | None = None,
        scale: bool = True,
        pair_weight: str = "pairs",
        tol: float = 1e-6,
        max_iter: int = 100,
        warm_start: bool = False,
        eval_metric: str | Sequence[str] = "pair_loss",
    ) -> None:
        self.C = C
        self.penalty = penalty
        self.theta = theta
        self.kernel = kernel
        self.gamma = gamma
        self.scale = scale
        self.pair_weight = pair_weight
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.eval_metric = eval_metric

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.kernel != "linear" and self.penalty != "l2":
            raise PodiumError(
                f'penalty must be "l2" with kernel={self.kernel!r}, whose features have no weights of their own; got '
                f'{self.penalty!r}: use kernel="linear" to select features.'
            )

    def _learn_at_once(self, data: RankingData) -> None:
        margins = PairMargins(feedback_of(data, self.pair_weight), len(data.queries.rows))
        if self.kernel == "linear":
            features, scaling = self._scaled_as_given(data)
            start = self._start(scaling.deviations)
            found = self._minimize(MarginProblem(features, margins, float(self.C)), start)
            self._keep_linear(found.coef, scaling)
        else:
            rows, scaling = self._scaled(data)
            mapped = self._kernel_features(rows)
            found = self._minimize(MarginProblem(mapped.features, margins, float(self.C)), None)
            self._keep_kernel(mapped.row_weights(found.coef), rows, scaling)
        self.objective_, self.gap_, self.violation_ = found.objective, min(1.0, found.gap), found.violation
        self.n_iter_ = found.n_iter

    def _start(self, deviations: Array) -> Array | None:
        """Return the weights to begin with, in the scale of this fit; None for 0."""
        before = getattr(self, "coef_", None) if self.warm_start else None
        return None if before is None or len(before) != len(deviations) else before * deviations

    def _minimize(self, problem: MarginProblem, start: Array | None) -> Solution:
        """Solve for the penalty."""
        coef = np.zeros(problem.rows.shape[1]) if start is None else start
        how = coef, float(self.tol), int(self.max_iter)
        if self.penalty == "l2":
            found = minimize_l2(problem, *how)
        elif self.penalty == "l1":
            found = minimize_l1(problem, np.ones(len(coef)), *how)
        else:
            found = minimize_nonconvex(problem, NONCONVEX[self.penalty], float(self.theta), *how)
        if not found.converged:
            warnings.warn(
                f"RankSVM ended after {found.n_iter} steps with the conditions of an optimum violated by "
                f"{found.violation:.2g} of the first gradient; raise max_iter, or lower C.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return found
