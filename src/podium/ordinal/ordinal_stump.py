"""Ordinal stumps: one feature cut into K grades, found exactly by dynamic programming.

"OR" is Lin and Li (2009), section 5.1. A stump of feature d, direction q = ±1 and thresholds θ_1 ≤ … ≤ θ_{K-1} says
``r(x) = 1 + #{k: q x_d ≥ θ_k}`` (the paper prints max{k: q x_d < θ_k}, which is K - 1 for every x below θ_{K-1}).
Thresholds may coincide, so that a grade is left out, and be infinite, so that constants are stumps too.

With d[n, k] = c_n[k + 1] - c_n[k], the cost of a stump is ``Σ_n c_n[1] + Σ_k Σ_{n: q x_n ≥ θ_k} d[n, k]``: a sum over
thresholds of what each costs alone. Let P_k(h) be the sum of d[n, k] over the rows with the h lowest values. Then

- direction 1 costs Σ_k P_k(∞) - P_k(h_k) with h_1 ≤ … ≤ h_{K-1}, least where Σ_k P_k(h_k) is largest:
  ``U_k(h) = max(U_k(h - 1), U_{k-1}(h) + P_k(h))``;
- direction -1 costs Σ_k P_k(h_k) with h_1 ≥ … ≥ h_{K-1}: ``D_k(h) = min(D_k(h + 1), D_{k-1}(h) + P_k(h))``.

That is O(nK) a feature for both, with one pass of prefix sums. Only the values of the optima are kept; the thresholds
are traced for the best feature alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from podium._compiled import ROW, SCORE, compiled, compiled_part, run_threads
from podium._sparse import is_sparse
from podium._types import Features
from podium._validation import Array
from podium.binning import DenseReader, Matrix, SparseReader
from podium.ordinal.step_weights import STEPS_PER_GROUP, StepWeights
from podium.stumps import column_of

FEATURES_AT_ONCE = 16
"""Features whose running optima are in memory together: the rows of a group of steps, which all of them read, stay in
the second-level cache meanwhile."""
BLOCK_CELLS = 2**22
"""Running optima of a block and direction at most, 32 MB, so that a million rows do not fill the memory."""
LARGEST_VALUE = float(np.finfo(SCORE).max)
"""Infinite values count as this, so that an infinite threshold parts nothing."""


@dataclass(frozen=True, eq=False)
class OrdinalStump:
    """A stump: as many grades up from the lowest as thresholds are not above ``direction * x[feature]``.

    Attributes
    ----------
    feature : int
    direction : int
        1 where higher values have higher grades, -1 where lower ones have.
    thresholds : ndarray of float64, ascending, one less than grades
        Halfway between two neighbouring values of the training data (times the direction), or infinite.
    missing : int
        Grade, counted from 0, where the feature is missing.
    """

    feature: int
    direction: int
    thresholds: Array
    missing: int

    def grades(self, X: Features) -> Array:
        """Return the grade, from 0, of each row of X; an absent entry of a sparse X (by columns) is missing."""
        rows, values = column_of(X, self.feature)
        x = np.clip(self.direction * values.astype(SCORE), -LARGEST_VALUE, LARGEST_VALUE)
        found = np.searchsorted(self.thresholds, x, side="right")
        grades = np.full(X.shape[0], self.missing, ROW)
        grades[rows] = np.where(np.isnan(x), self.missing, found)
        return grades


def constant_stump(grade: int, n_grades: int) -> OrdinalStump:
    """Return a stump that gives one grade to every row."""
    return OrdinalStump(0, 1, np.where(np.arange(n_grades - 1) < grade, -np.inf, np.inf), grade)


class FoundStump(NamedTuple):
    """A stump and the grades, from 0, that it gives to the training rows."""

    stump: OrdinalStump
    grades: Array


class BestStump(NamedTuple):
    """The best stump but for its thresholds, and its cost above that of the lowest grade for all rows."""

    cost: float
    feature: int
    direction: int
    missing: int


class OrdinalStumpLearner:
    """Finds the stump of the lowest cost of all features, directions and thresholds; sorts each feature once.

    Of stumps of equal cost it takes the lowest feature, then direction 1, then the lowest θ_{K-1}, then the lowest
    θ_{K-2}, and so on. Rows that lack the feature have the grade of the lowest cost for them, the lowest of equals; for
    a feature that no training row lacks it is that of the lowest cost for all rows.

    Parameters
    ----------
    features : ndarray or scipy.sparse.csc_array
        Training rows. NaN, or an absent entry, is missing.
    n_steps : int
        K - 1, thresholds of a stump.
    n_threads : int
        Threads share out features; their number changes no bit.
    """

    def __init__(self, features: Features, n_steps: int, n_threads: int = 1) -> None:
        self.n_rows: int = features.shape[0]
        self.n_features: int = features.shape[1]
        self.n_steps, self.n_threads = n_steps, n_threads
        every = np.arange(self.n_rows, dtype=ROW)
        reader = SparseReader.of(features, every) if is_sparse(features) else DenseReader(Matrix.of(features), every)
        columns = run_threads(_sorted_column, [(reader, feature) for feature in range(self.n_features)], n_threads)
        codes, self._levels = ([column[part] for column in columns] for part in (0, 1))
        self._codes = np.concatenate(codes)
        self._starts = np.concatenate([[0], np.cumsum([len(own) for own in codes])]).astype(ROW)
        n_columns = -(-n_steps // STEPS_PER_GROUP) * STEPS_PER_GROUP
        self._whole = np.diff(self._starts) == self.n_rows
        self._optima = np.empty((self.n_features, 2), SCORE)
        self._sums = np.empty((self.n_features, n_columns), SCORE)
        self._values = np.empty((n_columns, self.n_rows + 1), SCORE)
        block = max(1, min(FEATURES_AT_ONCE, self.n_features, BLOCK_CELLS // (self.n_rows + 1)))
        self._running = np.empty((self.n_threads, 2, block, self.n_rows + 1), SCORE)

    def search(self, weights: StepWeights) -> FoundStump:
        """Return the best stump for these weights."""
        return self.found(weights, self.best(weights))

    def best(self, weights: StepWeights) -> BestStump:
        """Return which stump is the best one."""
        step = -(-self.n_features // self.n_threads)
        ranges = [(first, min(first + step, self.n_features)) for first in range(0, self.n_features, step)]
        given, out = (weights.signed, self._codes, self._starts), (self._optima, self._sums)
        calls = [(*given, *own, running, *out) for own, running in zip(ranges, self._running, strict=False)]
        run_threads(_find_optima, calls, self.n_threads)
        return BestStump(*_best_stump(self._optima, self._sums, weights.sums, self._whole, self.n_steps))

    def found(self, weights: StepWeights, best: BestStump) -> FoundStump:
        """Return the best stump with its thresholds and grades."""
        _, feature, direction, missing = best
        codes = self._codes[self._starts[feature] : self._starts[feature + 1]]
        places, grades = np.empty(self.n_steps, ROW), np.empty(self.n_rows, ROW)
        _trace(weights.signed, codes, direction, missing, self._values, places, grades)
        thresholds = np.empty(self.n_steps, SCORE)
        _fill_thresholds(self._levels[feature], direction, places, thresholds)
        return FoundStump(OrdinalStump(feature, direction, thresholds, missing), grades)


def _sorted_column(reader: DenseReader | SparseReader, feature: int) -> tuple[Array, Array]:
    """Return the rows that have the feature, by its values, and its distinct values between -inf and inf.

    A row is coded as twice its number, plus 1 if it is the last of its value.
    """
    rows, values = reader.column(feature)
    values = np.clip(values.astype(SCORE), -LARGEST_VALUE, LARGEST_VALUE)
    order = np.argsort(values, kind="stable")
    rows, values = rows[order], values[order]
    last = np.append(values[1:] != values[:-1], True) if len(values) else np.zeros(0, bool)
    return 2 * rows + last.astype(np.uint32), np.concatenate([[-np.inf], values[last], [np.inf]])


@compiled
def _find_optima(
    signed: Array,
    codes: Array,
    starts: Array,
    first: int,
    last: int,
    running: Array,
    optima_out: Array,
    sums_out: Array,
) -> None:
    """Write the largest Σ P_k(h_k) of each feature upwards, the smallest downwards, and P_k(∞)."""
    sums = np.empty((3, signed.shape[1] + 1), SCORE)
    for block in range(first, last, running.shape[1]):
        for group in range(signed.shape[0]):
            for feature in range(block, min(block + running.shape[1], last)):
                up, down = running[0, feature - block], running[1, feature - block]
                n_levels = _prefix_sums(signed[group], codes[starts[feature] : starts[feature + 1]], sums)
                _grow(sums, n_levels, group == 0, up, down)
                optima_out[feature, 0], optima_out[feature, 1] = up[n_levels], down[0]
                for k in range(3):
                    sums_out[feature, 3 * group + k] = sums[k, n_levels]


@compiled_part
def _prefix_sums(steps: Array, codes: Array, sums_out: Array) -> int:
    """Do ``sums_out[k] = [0, *np.cumsum(steps[rows, k])[ends]]``; return the number of distinct values.

    Each sum is written at the place of its row's value, the last one stays: a branch on ties is mispredicted (with it
    the pass took 2.2 ms in place of 0.35).
    """
    first, second, third = sums_out[0], sums_out[1], sums_out[2]
    first[0] = second[0] = third[0] = 0.0
    one = two = three = 0.0
    level: Any = 1
    for code in codes:
        row = code >> 1
        one += steps[row, 0]
        two += steps[row, 1]
        three += steps[row, 2]
        first[level] = one
        second[level] = two
        third[level] = three
        level += np.int64(code & 1)
    return int(level) - 1


@compiled_part
def _grow(sums: Array, n_levels: int, fresh: bool, up: Array, down: Array) -> None:
    """Move the running optima on by the three k, from 0 if `fresh`.

    Slow lines, for each k: ``up = np.maximum.accumulate(up + sums[k])`` and
    ``down = np.minimum.accumulate((down + sums[k])[::-1])[::-1]``. Each optimum waits for the one before it; both
    directions in one loop wait together.
    """
    first, second, third = sums[0], sums[1], sums[2]
    up_one = up_two = up_three = -np.inf
    down_one = down_two = down_three = np.inf
    for level in range(n_levels + 1):
        value = first[level] + (0.0 if fresh else up[level])
        up_one = value if value > up_one else up_one
        value = up_one + second[level]
        up_two = value if value > up_two else up_two
        value = up_two + third[level]
        up_three = value if value > up_three else up_three
        up[level] = up_three
        back = n_levels - level
        value = first[back] + (0.0 if fresh else down[back])
        down_one = value if value < down_one else down_one
        value = down_one + second[back]
        down_two = value if value < down_two else down_two
        value = down_two + third[back]
        down_three = value if value < down_three else down_three
        down[back] = down_three


@compiled
def _best_stump(optima: Array, sums: Array, totals: Array, whole: Array, n_steps: int) -> tuple[float, int, int, int]:
    """Return the lowest cost, and feature, direction and missing grade of the first stump that has it.

    Costs are those above the cost of grade 0 for all rows.
    """
    best, chosen, direction, missing = np.inf, 0, 1, 0
    for feature in range(len(optima)):
        grade, base = _missing_grade(sums[feature], totals, n_steps, whole[feature])
        upward = base + (np.sum(sums[feature]) - optima[feature, 0])
        downward = base + optima[feature, 1]
        if min(upward, downward) < best:
            best, chosen, missing = min(upward, downward), feature, grade
            direction = 1 if upward <= downward else -1
    return best, chosen, direction, missing


@compiled_part
def _missing_grade(present: Array, totals: Array, n_steps: int, whole: bool) -> tuple[int, float]:
    """Return the best grade of the rows that lack a feature, and its cost above that of grade 0.

    Slow line: ``costs = [0, *np.cumsum(totals - present)]; argmin(costs), min(costs)``; where no row lacks the feature,
    the best grade of all rows, and 0.
    """
    cost, best, grade = 0.0, 0.0, 0
    for k in range(n_steps):
        cost += totals[k] if whole else totals[k] - present[k]
        if cost < best:
            best, grade = cost, k + 1
    return grade, 0.0 if whole else best


@compiled
def _trace(
    signed: Array, codes: Array, direction: int, missing: int, values: Array, places_out: Array, grades_out: Array
) -> None:
    """Write how many values (times the direction) are below each threshold of the best stump, and the rows' grades.

    Downwards it maximises Σ -P_k over h counted from the other end: the same numbers as in the search.
    """
    n_levels = 0
    for group in range(signed.shape[0]):
        own = values[3 * group : 3 * group + 3]
        n_levels = _prefix_sums(signed[group], codes, own)
        if direction < 0:
            own[:, : n_levels + 1] = -own[:, n_levels::-1]
    before = np.zeros(n_levels + 1, SCORE)
    for k in range(len(places_out)):
        largest = -np.inf
        for level in range(n_levels + 1):
            value = before[level] + values[k, level]
            largest = value if value > largest else largest
            values[k, level] = largest
        before = values[k]
    place = n_levels
    for k in range(len(places_out) - 1, -1, -1):
        place = np.searchsorted(values[k, : place + 1], values[k, place])
        places_out[k] = place
    _fill_grades(codes, n_levels, direction, places_out, missing, grades_out)


@compiled_part
def _fill_grades(codes: Array, n_levels: int, direction: int, places: Array, missing: int, grades_out: Array) -> None:
    """Write the grade of each row: the number of thresholds that its value, times the direction, reaches."""
    of_level = np.searchsorted(places, np.arange(n_levels), side="right")
    if direction < 0:
        of_level = of_level[::-1].copy()
    grades_out[:] = missing
    level: Any = 0
    for code in codes:
        grades_out[code >> 1] = of_level[level]
        level += np.int64(code & 1)


@compiled
def _fill_thresholds(levels: Array, direction: int, places: Array, thresholds_out: Array) -> None:
    """Write the middle of the two values, times the direction, that each threshold stands between.

    Beyond all values it is infinite; where no number lies between the two it is the higher one.
    """
    for k in range(len(places)):
        if direction > 0:
            below, above = levels[places[k]], levels[places[k] + 1]
        else:
            below, above = -levels[len(levels) - 1 - places[k]], -levels[len(levels) - 2 - places[k]]
        middle = 0.5 * below + 0.5 * above
        thresholds_out[k] = middle if below < middle or below == middle == -np.inf else above
