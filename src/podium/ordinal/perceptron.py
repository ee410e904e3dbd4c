"""The ranking perceptron: one weight vector, ordered thresholds, and the best of all met on the way.

Crammer and Singer (2005), "Online ranking by projecting"; the pocket with ratchet is Gallant (1990),
"Perceptron-based learning algorithms". A row x has the grade ``#{k: w·x ≥ θ_k}``, counted from 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium._compiled import SCORE, compiled, compiled_part
from podium._validation import Array

DRAWS_AT_ONCE = 2**16
"""Random numbers made at a time: half a megabyte, which stays in the second-level cache."""


@dataclass(frozen=True, eq=False)
class ThresholdModel:
    """A linear score and the thresholds that cut it into grades."""

    weights: Array
    thresholds: Array
    cost: float


def pocket_perceptron(
    rows: Array, grades: Array, costs: Array, single: bool, n_epochs: int, seed: int
) -> ThresholdModel:
    """Return the cheapest model met while a ranking perceptron runs over randomly drawn rows.

    1. Draw a row with probability proportional to its largest cost; as many draws an epoch as there are rows.
    2. Where its grade is wrong, too low say, raise w by x for every threshold between the two grades and lower each of
       them by 1 (PRank); or do so for the one threshold nearest to the score only (``single``).
    3. Where it is right, and the run of right grades since the last change is longer than the run of the pocket's
       model, compare the costs of all rows (the ratchet), and keep the cheaper model in the pocket.

    The pocket starts with the cheapest constant, so that ε is at most ½ (OR Theorem 5).

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows, n_features)
    grades : ndarray of int64
    costs : ndarray of float64, shape (n_rows, n_grades)
    single : bool
    n_epochs : int
    seed : int
    """
    n_grades = costs.shape[1]
    limits = np.cumsum(costs.max(axis=1))
    totals = costs.sum(axis=0)
    constant = int(np.argmin(totals))
    model = np.zeros(rows.shape[1]), np.zeros(n_grades - 1)
    pocket = np.zeros(rows.shape[1]), np.where(np.arange(n_grades - 1) < constant, -np.inf, np.inf)
    state = np.array([0.0, 0.0, totals[constant], np.nan], SCORE)
    generator = np.random.default_rng(seed)
    left = n_epochs * len(rows)
    while left > 0 and state[2] > 0:
        places = np.searchsorted(limits, generator.random(min(left, DRAWS_AT_ONCE)) * limits[-1], side="right")
        _run(rows, grades, costs, np.minimum(places, len(rows) - 1), single, *model, *pocket, state)
        left -= len(places)
    return ThresholdModel(*pocket, float(state[2]))


@compiled
def _run(
    rows: Array,
    grades: Array,
    costs: Array,
    places: Array,
    single: bool,
    weights: Array,
    thresholds: Array,
    best_weights: Array,
    best_thresholds: Array,
    state: Array,
) -> None:
    """Take steps 2 and 3 for the drawn places, changing the model, the pocket and the state.

    The state holds the model's run, the pocket's run, the pocket's cost, and the model's cost or NaN where unknown.
    """
    for place in places:
        grade = _grade(rows[place], weights, thresholds)
        if grade != grades[place]:
            _correct(rows[place], grades[place], grade, single, weights, thresholds)
            state[0], state[3] = 0.0, np.nan
            continue
        state[0] += 1.0
        if state[0] > state[1]:
            if np.isnan(state[3]):
                state[3] = _total_cost(rows, costs, weights, thresholds)
            if state[3] < state[2]:
                state[1], state[2] = state[0], state[3]
                best_weights[:] = weights
                best_thresholds[:] = thresholds


@compiled
def _grade(row: Array, weights: Array, thresholds: Array) -> int:
    """Return ``(weights @ row >= thresholds).sum()``."""
    score = 0.0
    for feature in range(len(weights)):
        score += weights[feature] * row[feature]
    grade = 0
    for threshold in thresholds:
        grade += score >= threshold
    return grade


@compiled_part
def _correct(row: Array, right: int, grade: int, single: bool, weights: Array, thresholds: Array) -> None:
    """Move the thresholds between the two grades, or the one nearest to the score, and the weights against them."""
    sign = 1.0 if right > grade else -1.0
    low, high = min(right, grade), max(right, grade)
    if single:
        low, high = (grade, grade + 1) if sign > 0 else (grade - 1, grade)
    for k in range(low, high):
        thresholds[k] -= sign
    step = sign * (high - low)
    for feature in range(len(weights)):
        weights[feature] += step * row[feature]


@compiled_part
def _total_cost(rows: Array, costs: Array, weights: Array, thresholds: Array) -> float:
    """Return ``costs[n, grade of row n].sum()``."""
    total = 0.0
    for n in range(len(rows)):
        total += costs[n, _grade(rows[n], weights, thresholds)]
    return total
