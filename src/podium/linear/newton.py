"""Newton's method for penalised margins: truncated for l2, proximal for (weighted) l1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from podium._compiled import SCORE, compiled
from podium._sparse import is_sparse
from podium._types import Features
from podium._validation import Array
from podium.linear.margin_sums import MarginState, PairMargins

ROUGHEST_STEP = 0.1
"""Relative residual at which conjugate gradients end while far from the optimum; nearer, the root of the violation."""
SUFFICIENT_DECREASE, MAX_HALVINGS = 1e-4, 40
MAX_SWEEPS, SETTLED = 1000, 1e-10
"""Sweeps of coordinate descent at most, and the part of its first sweep's largest move below which it is settled."""
COLUMNS_AT_ONCE = 16
"""Columns of the curvature computed at a time: their sums of one row are two lines of the cache."""
RIDGE_SHARE = 1e-12
"""Part of its largest entry that is added to the curvature's diagonal: no feature, however constant, divides by 0."""


@dataclass(frozen=True, eq=False)
class MarginProblem:
    """``penalty(w) + C L(X w)``, L the mean squared hinge of pairs.

    Attributes
    ----------
    rows : ndarray or scipy.sparse.csr_array of shape (n_rows, n_features)
    margins : PairMargins
    C : float
    """

    rows: Features
    margins: PairMargins
    C: float

    def pull(self, state: MarginState) -> Array:
        """Return the gradient of C L by w."""
        gradient: Array = self.C * (state.gradient @ self.rows)
        return gradient

    def start_pull(self) -> float:
        """Return the largest entry of the gradient at w = 0, the measure of what counts as small."""
        return float(np.abs(self.pull(self.margins.at(np.zeros(self.rows.shape[0])))).max())

    def curvature(self, state: MarginState, features: Array) -> Array:
        """Return the generalised Hessian of C L by the weights of some features."""
        rows, n = self.rows[:, features], len(features)
        hessian = np.empty((n, n), SCORE)
        for first in range(0, n, COLUMNS_AT_ONCE):
            part = slice(first, first + COLUMNS_AT_ONCE)
            columns = rows[:, part]
            hessian[:, part] = rows.T @ state.curvature(columns.toarray() if is_sparse(columns) else columns)
        return self.C * (hessian + hessian.T) / 2


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found.

    Attributes
    ----------
    coef : ndarray of shape (n_features,)
    objective : float
    violation : float
        Largest violation of the conditions of an optimum, in parts of the largest gradient at w = 0.
    gap : float
        Relative duality gap; infinite where no dual point is at hand.
    n_iter : int
        Newton steps.
    converged : bool
    """

    coef: Array
    objective: float
    violation: float
    gap: float
    n_iter: int
    converged: bool


class _Point:
    """Weights, and what margins and penalty say of them."""

    def __init__(self, problem: MarginProblem, penalty: Penalty, coef: Array, scores: Array) -> None:
        self.coef, self.scores = coef, scores
        self.state = problem.margins.at(scores)
        self.pull, self.penalty = problem.pull(self.state), penalty.value(coef)
        self.objective = self.penalty + problem.C * self.state.loss


class Penalty(Protocol):
    """What Newton's method asks of a penalty."""

    def value(self, coef: Array) -> float:
        """Return the penalty of some weights."""

    def violation(self, point: _Point) -> float:
        """Return the largest violation of the conditions of an optimum."""

    def step(self, problem: MarginProblem, point: _Point, violation: float) -> tuple[Array, float]:
        """Return a step, and by how much the objective falls along it at first; `violation` is relative."""

    def gap(self, problem: MarginProblem, point: _Point) -> float:
        """Return the relative duality gap."""


class _SquaredLength:
    """½ ‖w‖²."""

    def value(self, coef: Array) -> float:
        """Return the penalty of weights."""
        return 0.5 * float(coef @ coef)

    def violation(self, point: _Point) -> float:
        """Return the largest entry of the gradient."""
        return float(np.abs(point.coef + point.pull).max())

    def step(self, problem: MarginProblem, point: _Point, violation: float) -> tuple[Array, float]:
        """Solve (I + C Xᵀ H X) d = -gradient by conjugate gradients, the more exactly the nearer the optimum is."""
        gradient, size = point.coef + point.pull, len(point.coef)

        def product(z: Array) -> Array:
            """Return the Hessian times a vector."""
            curved: Array = point.state.curvature((problem.rows @ z)[:, None])[:, 0]
            return z + problem.C * (curved @ problem.rows)

        operator = LinearOperator((size, size), matvec=product, dtype=SCORE)
        step: Array = cg(operator, -gradient, rtol=min(ROUGHEST_STEP, violation**0.5), maxiter=10 * size)[0]
        return step, float(gradient @ step)

    def gap(self, problem: MarginProblem, point: _Point) -> float:
        """Return the relative duality gap: the dual penalty is ½ ‖gradient‖² at any scale."""
        return _relative_gap(problem, point, 0.5 * float(point.pull @ point.pull), np.inf)


class _WeightedSizes:
    """Σ_k slopes[k] |w_k|."""

    def __init__(self, slopes: Array) -> None:
        self.slopes = slopes

    def value(self, coef: Array) -> float:
        """Return the penalty of weights."""
        return float(self.slopes @ np.abs(coef))

    def violation(self, point: _Point) -> float:
        """Return the largest distance of the gradient from what the penalty may cancel."""
        return float(subgradient_violation(point.pull, self.slopes, point.coef).max())

    def step(self, problem: MarginProblem, point: _Point, violation: float) -> tuple[Array, float]:
        """Minimise the quadratic model, with the penalty, over the features with a weight or too large a gradient."""
        free = np.flatnonzero((point.coef != 0) | (np.abs(point.pull) > self.slopes))
        hessian = problem.curvature(point.state, free)
        hessian[np.diag_indices(len(free))] += RIDGE_SHARE * max(float(hessian.diagonal().max()), 1e-300)
        moved, step = point.coef[free].copy(), np.zeros_like(point.coef)
        descend_coordinates(hessian, point.pull[free], self.slopes[free], point.coef[free], moved)
        step[free] = moved - point.coef[free]
        return step, float(point.pull @ step) + self.value(point.coef + step) - point.penalty

    def gap(self, problem: MarginProblem, point: _Point) -> float:
        """Return the relative duality gap: the dual point is scaled until no gradient exceeds its slope."""
        pull = np.abs(point.pull)
        largest = np.divide(self.slopes, pull, out=np.full(len(pull), np.inf), where=pull != 0)
        return _relative_gap(problem, point, 0.0, float(largest.min()))


def minimize_l2(problem: MarginProblem, coef: Array, tol: float, max_iter: int) -> Solution:
    """Minimise ``½ ‖w‖² + C L(X w)`` by truncated Newton steps, from given weights."""
    return _minimize(problem, _SquaredLength(), coef, tol, max_iter)


def minimize_l1(problem: MarginProblem, slopes: Array, coef: Array, tol: float, max_iter: int) -> Solution:
    """Minimise ``Σ_k slopes[k] |w_k| + C L(X w)`` by proximal Newton steps, from given weights."""
    return _minimize(problem, _WeightedSizes(slopes), coef, tol, max_iter)


def _minimize(problem: MarginProblem, penalty: Penalty, coef: Array, tol: float, max_iter: int) -> Solution:
    """Take Newton steps, from weights given or from 0, whichever has the lower objective.

    1. Stop where the conditions of an optimum are violated by at most `tol` of the gradient at 0.
    2. Find the step of the quadratic model.
    3. Halve the step until it lowers the objective enough; stop where none does, at the limit of rounding.
    """
    unit = problem.start_pull() or 1.0
    point, number = _Point(problem, penalty, coef, problem.rows @ coef), 0
    if coef.any():
        zero = _Point(problem, penalty, np.zeros_like(coef), np.zeros(problem.rows.shape[0]))
        point = min(zero, point, key=lambda one: one.objective)
    while (violation := penalty.violation(point) / unit) > tol and number < max_iter:  # 1
        further = _stepped(problem, penalty, point, *penalty.step(problem, point, violation))  # 2, 3
        if further is None:
            break
        point, number = further, number + 1
    converged = violation <= tol or number < max_iter
    return Solution(point.coef, point.objective, violation, penalty.gap(problem, point), number, converged)


def subgradient_violation(pull: Array, slopes: Array, coef: Array) -> Array:
    """Return the distance of -pull from the slopes that the penalty has at each weight: ±slope, between them at 0."""
    at_zero = np.maximum(np.abs(pull) - slopes, 0.0)
    distance: Array = np.where(coef == 0, at_zero, np.abs(pull + slopes * np.sign(coef)))
    return distance


def _stepped(problem: MarginProblem, penalty: Penalty, point: _Point, step: Array, expected: float) -> _Point | None:
    """Return the point after the longest of 1, ½, ¼ … steps that lowers the objective enough; None if none does."""
    change, share = problem.rows @ step, 1.0
    for _ in range(MAX_HALVINGS):
        further = _Point(problem, penalty, point.coef + share * step, point.scores + share * change)
        if further.objective < point.objective + SUFFICIENT_DECREASE * share * expected:
            return further
        share /= 2
    return None


def _relative_gap(problem: MarginProblem, point: _Point, conjugate: float, largest: float) -> float:
    """Return (primal - dual) / primal at the best dual point on the ray of the slacks.

    With α_p = 2 t C v_p m_p of each pair, the dual is ``2 t C slack - t² C loss - penalty*(t · pull)``: for l2 the
    conjugate is t² ½ ‖pull‖², for l1 it is 0 as long as t |pull_k| is at most the slope of each feature.

    Parameters
    ----------
    problem : MarginProblem
    point : _Point
    conjugate : float
        penalty*(pull) at t = 1; it grows by t².
    largest : float
        Largest t allowed.
    """
    slack, loss = problem.C * point.state.slack, problem.C * point.state.loss
    falls = loss + conjugate
    if point.objective <= 0 or falls <= 0:
        return 0.0
    t = min(slack / falls, largest)
    return max(0.0, 1.0 - (2 * t * slack - t * t * falls) / point.objective)


@compiled
def descend_coordinates(hessian: Array, pull: Array, slopes: Array, coef: Array, moved_out: Array) -> None:
    """Minimise ``pull·d + ½ d·hessian·d + Σ slopes |coef + d|`` over d = moved_out - coef, coordinate by coordinate.

    Slow line, for each k in turn: ``moved[k] = argmin over moved[k] with the others held``.
    """
    slope_now = pull.copy()
    for i in range(len(coef)):
        for k in range(len(coef)):
            slope_now[k] += hessian[k, i] * (moved_out[i] - coef[i])
    first = 0.0
    for sweep in range(MAX_SWEEPS):
        largest = 0.0
        for k in range(len(coef)):
            target = moved_out[k] - slope_now[k] / hessian[k, k]
            width = slopes[k] / hessian[k, k]
            new = target - width if target > width else target + width if target < -width else 0.0
            move = new - moved_out[k]
            if move != 0.0:
                moved_out[k] = new
                for i in range(len(coef)):
                    slope_now[i] += hessian[k, i] * move
                largest = max(largest, move * move * hessian[k, k])
        first = largest if sweep == 0 else first
        if largest <= SETTLED * SETTLED * first:
            return
