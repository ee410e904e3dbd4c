"""Costs of ordinal rankers: what predicting each grade costs for each row.

"OR" is Lin and Li (2009). A cost vector c of a row with grade y has c[y] = 0, nothing negative, and is V-shaped: it
does not fall away from y (OR section 2.1). The reduction to binary examples works with the steps between neighbours,
w[k] = |c[k + 1] - c[k]| (OR Eq. 2), from which costs come back by sums (OR Eq. 3, with k ≤ ℓ < y for the lower side,
which is what inverts Eq. 2).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from podium._compiled import SCORE
from podium._frames import to_array
from podium._magnitudes import LARGEST
from podium._validation import Array, PodiumError, check_choice

COSTS: dict[str, Callable[[Array], Array]] = {
    "absolute": lambda distance: distance,
    "squared": np.square,
    "zero-one": np.sign,
}
"""Costs by name, as functions of the distance |y - k| in grades."""

CONVEX_TOLERANCE = 1e-9
"""Steps may fall by so much of the largest cost and still count as convex: 0.3 - 0.2 is less than 0.2 - 0.1."""


def cost_matrix(cost: str | ArrayLike, classes: Array) -> Array:
    """Return the K × K costs of predicting the column's grade for a row of the row's grade.

    Parameters
    ----------
    cost : {"absolute", "squared", "zero-one"} or array-like of shape (K, K)
    classes : ndarray
        Labels of the K grades, for the messages.
    """
    n_grades = len(classes)
    if isinstance(cost, str):
        distance = np.abs(np.subtract.outer(np.arange(n_grades), np.arange(n_grades)))
        return COSTS[check_choice(cost, COSTS, "cost")](distance).astype(SCORE)
    matrix = _numbers(cost, "cost")
    if matrix.shape != (n_grades, n_grades):
        raise PodiumError(
            f"cost must have a row and a column for each of the {n_grades} grades; got shape {matrix.shape}."
        )
    _check_cost_vectors(matrix, np.arange(n_grades), classes, "cost")
    return matrix


def row_costs(sample_cost: ArrayLike, grades: Array, classes: Array) -> Array:
    """Return one checked cost vector per row as an n × K array.

    Parameters
    ----------
    sample_cost : array-like of shape (n_rows, K)
    grades : ndarray of int64
    classes : ndarray
    """
    costs = _numbers(sample_cost, "sample_cost")
    if costs.shape != (len(grades), len(classes)):
        raise PodiumError(
            f"sample_cost must have a cost vector per row and a cost per grade: shape ({len(grades)}, {len(classes)}) "
            f"expected, {costs.shape} given."
        )
    _check_cost_vectors(costs, grades, classes, "sample_cost")
    return costs


def costs_are_convex(costs: Array) -> bool:
    """Return whether every cost vector is convex: its steps c[k + 1] - c[k] do not fall (OR Theorem 1)."""
    falls = np.diff(costs, n=2, axis=1)
    return bool(np.all(falls >= -CONVEX_TOLERANCE * np.max(costs, initial=0.0)))


def cost_steps(costs: Array) -> Array:
    """Return the weights w[n, k] = |c[k + 1] - c[k]| of the binary examples, n × (K - 1) (OR Eq. 2 without K - 1)."""
    return np.abs(np.diff(costs, axis=1))


def costs_of_steps(weights: Array, grades: Array) -> Array:
    """Return the cost vectors that binary examples of such weights stand for (OR Eq. 3).

    ``c[k] = Σ_ℓ w[ℓ] [y ≤ ℓ < k or k ≤ ℓ < y]``, grades counted from 0.
    """
    above = np.arange(weights.shape[1]) >= grades[:, None]
    costs = np.zeros((len(weights), weights.shape[1] + 1), SCORE)
    costs[:, 1:] = np.cumsum(np.where(above, weights, 0.0), axis=1)
    costs[:, :-1] += np.cumsum(np.where(above, 0.0, weights)[:, ::-1], axis=1)[:, ::-1]
    return costs


def _numbers(values: object, name: str) -> Array:
    """Return costs as a float64 matrix."""
    try:
        matrix = np.array(to_array(values, name), SCORE)
    except PodiumError:
        raise
    except (TypeError, ValueError, OverflowError):
        raise PodiumError(f"{name} must be a matrix of numbers; got {type(values).__name__}.") from None
    if matrix.ndim != 2:
        raise PodiumError(f"{name} must be a matrix; got {matrix.ndim} dimension(s).")
    return matrix


def _check_cost_vectors(costs: Array, grades: Array, classes: Array, name: str) -> None:
    """Refuse costs that are not finite, negative, not 0 at the own grade, or not V-shaped, and say which row."""
    own = np.zeros_like(costs, bool)
    own[np.arange(len(grades)), grades] = True
    bad = ~(costs <= LARGEST) | (costs < 0) | (own & (costs != 0))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        rule = "0 at the row's own grade" if own[row, column] else "finite and not negative"
        if LARGEST < costs[row, column] < np.inf:
            rule = f"at most {LARGEST:g}"
        raise PodiumError(
            f"{name} must be {rule}; {_place(row, grades, classes, name)} has {costs[row, column]} "
            f"for the grade {classes.tolist()[column]!r}."
        )
    steps = np.diff(costs, axis=1)
    away = np.where(np.arange(costs.shape[1] - 1) >= grades[:, None], steps, -steps)
    if np.any(away < 0):
        row, column = np.argwhere(away < 0)[0]
        near, far = (column, column + 1) if column >= grades[row] else (column + 1, column)
        raise PodiumError(
            f"{name} must be V-shaped, not falling away from the row's own grade; {_place(row, grades, classes, name)} "
            f"has {costs[row, near]} for the grade {classes.tolist()[near]!r} and less, {costs[row, far]}, for "
            f"{classes.tolist()[far]!r}, which is farther away."
        )


def _place(row: int, grades: Array, classes: Array, name: str) -> str:
    """Name a row of a cost matrix, or a row of the data."""
    label = classes.tolist()[grades[row]]
    return f"the row of grade {label!r}" if name == "cost" else f"row {row} (of grade {label!r})"
