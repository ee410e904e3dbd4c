"""SVOR: support vector ordinal regression by the reduction of Li and Lin (2007).

"OR" is Lin and Li (2009), "Combining ordinal preferences by boosting".
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from podium._compiled import SCORE
from podium._types import Features, Seed
from podium._validation import Array, PodiumError, check_seed
from podium.export import Graded
from podium.model_file import Column, Scalar, Schema
from podium.ordinal import OrdinalData, cost_steps
from podium.ordinal.ordinal_columns import CUTS, SCALING
from podium.ordinal.scaling import Scaling
from podium.ordinal.support_vectors import KERNELS, ExtendedMachine, fill_kernel
from podium.rankers.ordinal_ranker import OrdinalRanker, scaled_sum

C_GRID = tuple(2.0**power for power in range(-20, 21, 2))
"""The values that OR section 5.2 tries."""
ROWS_AT_ONCE = 512
"""Rows scored at a time: their kernel values with some thousand support vectors stay in the second-level cache."""


class SVOR(OrdinalRanker):
    """Support vectors for grades: a kernel score cut by thresholds (Li and Lin 2007).

    Minimises ``½ ‖w‖² + ½ Σ_k v_k² + C Σ_{n,k} |c_n[k+1] - c_n[k]| max(0, 1 - z_nk (w·φ(x_n) + v_k + b))`` with
    z_nk = 1 where k < y_n and -1 else, k counted from 1: the support vector machine on the weighted binary examples
    (x_n, k), whose features are extended by the k-th unit vector (the encoding I_{K-1}). A row's rank is
    ``1 + #{k: w·φ(x) + v_k + b > 0}`` (OR Eq. 1). Features are scaled to mean 0 and standard deviation 1, as in both
    papers; a missing value counts as the mean.

    The kernel of the N (K - 1) examples is never built. Time is O(N²) a sweep, memory `cache_size`.

    Parameters
    ----------
    C : float or "smallest"
        Weight of errors. "smallest": the smallest of 2⁻²⁰, 2⁻¹⁸ … 2²⁰ (over the mean of |c[k+1] - c[k]|, 1 for absolute
        costs) that brings ε, the cost of the training rows as a share of Σ c[1] + c[K], to at most `target_error` (OR
        section 5.2, for boosting); where none does, the one of the lowest ε.
    kernel : {"perceptron", "rbf", "linear"}
        "perceptron": -‖x - x′‖, an ensemble of all perceptrons, without a parameter (Lin and Li 2008).
    gamma : float, optional
        γ in exp(-γ ‖x - x′‖²) of scaled features; by default 1 / the number of features.
    target_error : float
        See `C`.
    cost : {"absolute", "squared", "zero-one"} or array-like of shape (K, K)
        Cost of each grade for rows of each grade.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Sweeps over all rows at most, for each value of `C`. A fit that ends so warns (ConvergenceWarning) where `C` is
        a number. Under "smallest" it does not: what is asked for there is a training error, and that is measured on the
        machine as it is, not at the optimum. `gap_` says how far it is from there.
    cache_size : float
        Megabytes for kernel values: N rows need N² / 250,000.
    random_state : int, RandomState or None
        Seed of the order of rows in a sweep.

    Attributes
    ----------
    C_ : float
        The weight taken.
    training_error_ : float
        ε of the training rows.
    gap_ : float
        Relative duality gap reached; or how far Σ α z is from 0, where that is larger.
    n_iter_ : int
        Sweeps in all up to this weight.
    support_vectors_ : ndarray of shape (n_support, n_features_in_)
        Scaled rows with a part in the score; for the linear kernel their weighted sum.
    dual_coef_ : ndarray of shape (n_support,)
        Their weights.
    thresholds_ : ndarray of shape (K - 1,)
        -(v_k + b), ascending.
    means_, deviations_ : ndarray of shape (n_features_in_,)
        The scale of the features.
    seed_ : int
        The seed, drawn where `random_state` is not a number.
    classes_, costs_convex_, n_features_in_, feature_names_in_
        As every ordinal ranker has them.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "mid", "top"]
    >>> SVOR(C=10).fit(X, y).predict([[-1.0], [2.1], [9.0]]).tolist()
    ['low', 'mid', 'top']
    """

    _parameter_constraints: dict[str, list[object]] = {  # noqa: RUF012 (scikit-learn's declaration)
        "C": [Interval(Real, 0, 1e100, closed="right"), StrOptions({"smallest"})],
        "kernel": [StrOptions(set(KERNELS))],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "target_error": [Interval(Real, 0, 1, closed="both")],
        "cost": OrdinalRanker._cost_constraint,
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "cache_size": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }
    _fixed_by_fit: ClassVar[tuple[str, ...]] = ("kernel", "gamma")
    _kept: ClassVar[Schema] = OrdinalRanker._kept.extended(
        *(Scalar(name, float) for name in ("C_", "training_error_", "gap_")),
        Scalar("n_iter_", int),
        Column("dual_coef_", size="n_support"),
        Column("support_vectors", size="n_support", width="n_features", attribute="support_vectors_"),
        CUTS,
        *SCALING,
    )

    def __init__(
        self,
        C: float | str = 1.0,
        *,
        kernel: str = "perceptron",
        gamma: float | None = None,
        target_error: float = 0.3,
        cost: str | ArrayLike = "absolute",
        tol: float = 1e-3,
        max_iter: int = 2000,
        cache_size: float = 500,
        random_state: Seed = 0,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.target_error = target_error
        self.cost = cost
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.random_state = random_state

    def _learn_grades(self, data: OrdinalData) -> None:
        scaling = Scaling.of(data.features, data.weight, type(self).__name__)
        rows, weights = scaling.apply(data.features), cost_steps(data.costs)
        gamma = self._gamma(rows.shape[1])
        seed = check_seed(self.random_state)
        machine = ExtendedMachine(rows, data.grades, weights, self.kernel, gamma, 1e6 * self.cache_size, seed)
        if self.C == "smallest":
            machine = self._follow(machine, data)
        elif not machine.solve(float(self.C), self.tol, self.max_iter):
            text = f"SVOR stopped after {self.max_iter} sweeps at a duality gap of {machine.gap:.2g}; raise max_iter."
            warnings.warn(text, ConvergenceWarning, stacklevel=4)
        self.means_, self.deviations_, self.seed_ = scaling.means, scaling.deviations, seed
        self._keep_machine(machine, data.costs)

    def _follow(self, machine: ExtendedMachine, data: OrdinalData) -> ExtendedMachine:
        """Solve for ever larger C until the training error is as low as wanted, and return the machine of the lowest.

        A machine left behind is copied: to come back to it from a larger C could take more sweeps than there are.
        """
        lowest, best = np.inf, machine
        mean = machine.weights.sum() / (data.weight.sum() * machine.weights.shape[1])
        for C in (np.array(C_GRID) / mean).tolist():
            machine.solve(C, self.tol, self.max_iter)
            error = normalized_cost(machine.grade(), data.costs)
            if error <= self.target_error:
                return machine
            if error < lowest:
                lowest, best = error, machine.copy()
        return best

    def _keep_machine(self, machine: ExtendedMachine, costs: Array) -> None:
        """Set what the fit gives."""
        self.C_, self.gap_, self.n_iter_ = machine.C, machine.gap, machine.n_sweeps
        self.training_error_ = normalized_cost(machine.grade(), costs)
        self.thresholds_ = np.sort(-(machine.offsets + machine.bias))
        support = machine.sums != 0
        self.dual_coef_, self.support_vectors_ = machine.sums[support], machine.rows[support]
        if self.kernel == "linear":
            self.support_vectors_ = np.sum(self.dual_coef_[:, None] * self.support_vectors_, axis=0, keepdims=True)
            self.dual_coef_ = np.ones(1)

    def _gamma(self, n_features: int) -> float:
        """Return γ of the radial kernel."""
        return 1.0 / n_features if self.gamma is None else float(self.gamma)

    def _score(self, features: Features) -> Array:
        """Return w·φ(x) of each row."""
        rows = Scaling(self.means_, self.deviations_).apply(features)
        columns, gamma = np.ascontiguousarray(self.support_vectors_.T), self._gamma(rows.shape[1])
        scores = np.empty(len(rows), SCORE)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            part = rows[start : start + ROWS_AT_ONCE]
            kernel = np.empty((len(part), len(self.dual_coef_)), SCORE)
            fill_kernel(columns, part, KERNELS[self.kernel], gamma, kernel)
            scores[start : start + ROWS_AT_ONCE] = np.sum(kernel * self.dual_coef_, axis=1)
        return scores

    def _grade(self, features: Features) -> Array:
        return np.searchsorted(self.thresholds_, self._score(features), side="left")

    def _export_record(self) -> Graded:
        if self.kernel != "linear":
            raise PodiumError(
                f"SVOR with kernel={self.kernel!r} is no sum of features, so no format can hold it; "
                'kernel="linear" is one.'
            )
        # A score must be above a threshold here, and reach it there.
        return self._graded(scaled_sum(self, self.support_vectors_[0]), np.nextafter(self.thresholds_, np.inf))


def normalized_cost(grades: Array, costs: Array) -> float:
    """Return ε = Σ c[r] / Σ (c[1] + c[K]) of predicted grades (OR Algorithm 2, step 2)."""
    paid = costs[np.arange(len(grades)), grades].sum()
    return float(paid / (costs[:, 0].sum() + costs[:, -1].sum()))
