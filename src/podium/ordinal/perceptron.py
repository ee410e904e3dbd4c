"""The ranking perceptron: one weight vector, ordered thresholds, and the best of all met on the way.

Crammer and Singer (2005), "Online ranking by projecting"; the pocket with ratchet is Gallant (1990),
"Perceptron-based learning algorithms". A row x has the grade ``#{k: w·x ≥ θ_k}``, counted from 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from podium._compiled import ROW, SCORE, compiled, compiled_part
from podium._validation import Array

DRAWS_AT_ONCE = 2**16
"""Random numbers made at a time: half a megabyte, which stays in the second-level cache."""
ROWS_AT_ONCE = 64
"""Rows whose scores are summed side by side: half a kilobyte of scores, and wide enough for vector instructions."""


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
    dearest = np.argsort(-costs.max(axis=1), kind="stable")
    given = _Rows(rows, grades, _blocks(rows[dearest]), costs[dearest], limits, _first_places(limits))
    generator = np.random.default_rng(seed)
    left = n_epochs * len(rows)
    while left > 0 and state[2] > 0:
        draws = generator.random(min(left, DRAWS_AT_ONCE))
        _run(given, draws, single, *model, *pocket, state)
        left -= len(draws)
    return ThresholdModel(*pocket, float(state[2]))


class _Rows(NamedTuple):
    """What the run reads: rows one by one and their grades; blocks of rows and their costs; how rows are drawn.

    Blocks have the dearest rows first, so that a model that is no better is soon known to be none.
    """

    rows: Array
    grades: Array
    blocks: Array
    costs: Array
    limits: Array
    first_places: Array


def _blocks(rows: Array) -> Array:
    """Return blocks of features × `ROWS_AT_ONCE` rows, the last one filled up with zeros."""
    n_blocks = -(-len(rows) // ROWS_AT_ONCE)
    padded = np.zeros((n_blocks * ROWS_AT_ONCE, rows.shape[1]), SCORE)
    padded[: len(rows)] = rows
    return np.ascontiguousarray(padded.reshape(n_blocks, ROWS_AT_ONCE, -1).transpose(0, 2, 1))


def _first_places(limits: Array) -> Array:
    """Return, for equal parts of [0, 1), the place that the start of each draws, where `_place` begins to look.

    A power of two of them, so that the part of a draw is exact: as many as rows or more, so that few places lie in one.
    """
    n_parts = 1 << (len(limits) - 1).bit_length()
    places: Array = np.searchsorted(limits, np.arange(n_parts) / n_parts * limits[-1], side="right")
    return places


@compiled
def _run(
    given: _Rows,
    draws: Array,
    single: bool,
    weights: Array,
    thresholds: Array,
    best_weights: Array,
    best_thresholds: Array,
    state: Array,
) -> None:
    """Take steps 2 and 3 for the draws from [0, 1), changing the model, the pocket and the state.

    The state holds the model's run, the pocket's run, the pocket's cost, and the model's cost or NaN where unknown.
    """
    rows, grades = given.rows, given.grades
    for draw in draws:
        place = _place(draw, given.limits, given.first_places)
        grade = _grade(rows[place], weights, thresholds)
        if grade != grades[place]:
            _correct(rows[place], grades[place], grade, single, weights, thresholds)
            state[0], state[3] = 0.0, np.nan
            continue
        state[0] += 1.0
        if state[0] > state[1]:
            if np.isnan(state[3]):
                state[3] = _total_cost(given.blocks, given.costs, weights, thresholds, state[2])
            if state[3] < state[2]:
                state[1], state[2] = state[0], state[3]
                best_weights[:] = weights
                best_thresholds[:] = thresholds


@compiled_part
def _place(draw: float, limits: Array, first_places: Array) -> int:
    """Return ``min(np.searchsorted(limits, draw * limits[-1], side="right"), len(limits) - 1)``."""
    last = len(limits) - 1
    value = draw * limits[last]
    place: int = first_places[int(draw * len(first_places))]
    while place < last and limits[place] <= value:
        place += 1
    return min(place, last)


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
def _total_cost(blocks: Array, costs: Array, weights: Array, thresholds: Array, enough: float) -> float:
    """Return ``costs[n, grade of row n].sum()``, or what has come together once it is `enough`: costs only add.

    Each score is summed feature by feature, as in `_grade`: the same bits.
    """
    total = 0.0
    scores, found = np.empty(ROWS_AT_ONCE, SCORE), np.empty(ROWS_AT_ONCE, ROW)
    for number in range(len(blocks)):
        scores[:] = 0.0
        found[:] = 0
        for feature in range(len(weights)):
            weight, values = weights[feature], blocks[number, feature]
            for i in range(ROWS_AT_ONCE):
                scores[i] += weight * values[i]
        for threshold in thresholds:
            for i in range(ROWS_AT_ONCE):
                found[i] += scores[i] >= threshold
        start = number * ROWS_AT_ONCE
        for i in range(min(ROWS_AT_ONCE, len(costs) - start)):
            total += costs[start + i, found[i]]
        if total >= enough:
            break
    return total
