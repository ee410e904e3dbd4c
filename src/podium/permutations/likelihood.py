"""What a log-likelihood has, and Newton's method for concave ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from podium._validation import Array

SOLVER_TOLERANCE = 1e-3
"""Of a Newton step's residual: three more digits a step cost less than exact steps would."""
ROUNDING = 1e-12
"""Share of a log-likelihood that its sum of terms may be off by; a step is not refused for less."""
LEAST_RISE = 1e-4
"""Of what a step's slope promises (Armijo's rule)."""
MOST_HALVINGS = 50


class Point(Protocol):
    """A log-likelihood around one vector of parameters."""

    @property
    def value(self) -> float:
        """Log-likelihood there."""

    @property
    def gradient(self) -> Array:
        """Its gradient."""

    def product(self, direction: Array) -> Array:
        """Return the information matrix, minus the second derivatives, times a direction."""


class Likelihood(Protocol):
    """A concave log-likelihood."""

    def at(self, parameters: Array) -> Point:
        """Return what it is at some parameters."""


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where Newton's method ended.

    Attributes
    ----------
    parameters : ndarray
    point : Point
    n_iter : int
        Steps taken.
    converged : bool
        Whether the last step changed no parameter by more than the tolerance.
    """

    parameters: Array
    point: Point
    n_iter: int
    converged: bool


def maximise(likelihood: Likelihood, start: Array, flat: Array, alpha: float, tol: float, max_iter: int) -> Maximum:
    """Maximise ``likelihood - alpha/2 ‖parameters‖²`` by Newton's method, without a matrix.

    1. Solve (information + alpha I) step = slope by conjugate gradients.
    2. Halve the step until the penalised likelihood rises.
    3. Stop when a whole step is no longer than `tol` in any parameter.

    Along `flat` the likelihood must not change, if it is not 0: no step goes there, which rounding alone would tell.
    """
    parameters, point = start, likelihood.at(start)
    for n_iter in range(1, max_iter + 1):
        slope = point.gradient - alpha * parameters
        step = _newton_step(point, slope, flat, alpha)
        parameters, point, whole = _rise(likelihood, parameters, point, step, float(slope @ step), alpha)
        if whole and np.abs(step).max() <= tol:
            return Maximum(parameters, point, n_iter, True)
    return Maximum(parameters, point, max_iter, False)


def _newton_step(point: Point, slope: Array, flat: Array, alpha: float) -> Array:
    """Return the solution of (information + alpha I + flat flatᵀ) step = slope."""

    def product(direction: Array) -> Array:
        """Return the matrix times a vector."""
        v = direction.ravel()
        whole: Array = point.product(v) + alpha * v + flat * (flat @ v)
        return whole

    matrix = LinearOperator((len(slope), len(slope)), product, dtype=np.float64)
    step: Array = cg(matrix, slope, rtol=SOLVER_TOLERANCE, atol=0.0)[0]
    return step


def _rise(
    likelihood: Likelihood, parameters: Array, point: Point, step: Array, rise: float, alpha: float
) -> tuple[Array, Point, bool]:
    """Return the parameters after the longest of the step, its half and so on that rises, and whether it is whole."""
    value = point.value - 0.5 * alpha * float(parameters @ parameters)
    share = 1.0
    for _ in range(MOST_HALVINGS):
        moved = parameters + share * step
        there = likelihood.at(moved)
        gained = there.value - 0.5 * alpha * float(moved @ moved) - value
        if gained >= LEAST_RISE * share * rise - ROUNDING * abs(value):
            return moved, there, share == 1.0
        share /= 2
    return parameters, point, False
