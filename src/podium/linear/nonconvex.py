"""Penalties that are concave in |w|, by majorisation: a sequence of weighted l1 problems.

Laporte, Flamary, Canu, Déjean and Mothe (2014), "Nonconvex regularizations for feature selection in ranking with
sparse SVM". Both penalties here have slope 1 at 0, as l1 has; θ says how soon it falls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from podium._validation import Array
from podium.linear.newton import MarginProblem, Solution, minimize_l1, subgradient_violation

MAX_MAJORIZATIONS = 100
"""Weighted l1 problems at most; some ten are the rule."""


class Concave(NamedTuple):
    """A penalty of |w| and its slope, both for θ."""

    value: Callable[[Array, float], Array]
    slope: Callable[[Array, float], Array]


def _mcp(size: Array, theta: float) -> Array:
    """Return ``|w| - w²/(2θ)`` up to θ, θ/2 beyond: the minimax concave penalty."""
    return np.where(size < theta, size - size * size / (2 * theta), theta / 2)


def _mcp_slope(size: Array, theta: float) -> Array:
    return np.maximum(0.0, 1.0 - size / theta)


def _log(size: Array, theta: float) -> Array:
    """Return ``θ log(1 + |w|/θ)``."""
    return theta * np.log1p(size / theta)


def _log_slope(size: Array, theta: float) -> Array:
    slope: Array = theta / (theta + size)
    return slope


NONCONVEX = {"mcp": Concave(_mcp, _mcp_slope), "log": Concave(_log, _log_slope)}
"""Penalties by name."""


def minimize_nonconvex(
    problem: MarginProblem, penalty: Concave, theta: float, coef: Array, tol: float, max_iter: int
) -> Solution:
    """Find a stationary point of ``Σ_k penalty(|w_k|) + C L(X w)``, from the l1 solution on.

    Each step replaces the penalty by its tangent at |w|, which lies above it, and solves that weighted l1 problem: no
    step raises the objective. Ends where the conditions of a stationary point are met to within `tol` of the gradient
    at 0: ``-C ∂L/∂w_k = penalty'(|w_k|) sign(w_k)``, or at w_k = 0 a gradient within ±1.
    """
    norm, n_iter = problem.start_pull(), 0
    slopes, violation = np.ones(len(coef)), 0.0
    for _ in range(MAX_MAJORIZATIONS):
        found = minimize_l1(problem, slopes, coef, tol, max_iter)
        coef, n_iter = found.coef, n_iter + found.n_iter
        slopes = penalty.slope(np.abs(coef), theta)
        state = problem.margins.at(problem.rows @ coef)
        violation = float(subgradient_violation(problem.pull(state), slopes, coef).max()) / norm if norm > 0 else 0.0
        if violation <= tol or not found.converged:
            break
    objective = float(penalty.value(np.abs(coef), theta).sum()) + problem.C * state.loss
    return Solution(coef, objective, violation, np.inf, n_iter, violation <= max(tol, 10 * found.violation))
