"""Votes of an ensemble of ordinal rankers: sums of weights per row and grade, their weighted median and mean.

"OR" is Lin and Li (2009), "Combining ordinal preferences by boosting".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from podium._compiled import ROW, SCORE, compiled, run_threads
from podium._sparse import dense_rows, is_sparse
from podium._types import Features
from podium._validation import Array
from podium.ordinal.ordinal_stump import LARGEST_VALUE, OrdinalStump

ROWS_PER_TASK = 1024
"""Rows voted on in one task: their votes stay in the second-level cache while stumps pass by."""


class Votes:
    """Weights of the rankers that voted for each grade, by row.

    Parameters
    ----------
    n_rows, n_grades : int

    Attributes
    ----------
    sums : ndarray of shape (n_rows, n_grades)
    total : float
        Sum of the weights of all rankers.
    """

    def __init__(self, n_rows: int, n_grades: int) -> None:
        self.sums, self.total = np.zeros((n_rows, n_grades), SCORE), 0.0

    def add(self, grades: Array, weight: float) -> None:
        """Take in the grades of one ranker."""
        _add_votes(grades, weight, self.sums)
        self.total += weight

    def medians(self) -> Array:
        """Return the weighted median of each row: the lowest grade with more than half of the weight up to it.

        OR Theorem 4; the same as one more than the number of k with at least half of the weight above k (OR Eq. 6).
        Grades count from 0. Without any weight it is the highest grade, as OR Eq. 6 has it.
        """
        medians = np.empty(len(self.sums), ROW)
        _fill_medians(self.sums, 0.5 * self.total, medians)
        return medians

    def margins(self, grades: Array) -> Array:
        """Return the margins of "is the grade above k?" of each row and k: the share right less the share wrong."""
        above = np.cumsum(self.sums[:, :0:-1], axis=1)[:, ::-1] / self.total
        margins: Array = np.where(np.arange(above.shape[1]) < grades[:, None], 2 * above - 1, 1 - 2 * above)
        return margins

    def means(self) -> Array:
        """Return the weighted mean of the ranks 1 … K of each row."""
        means: Array = self.sums @ np.arange(1.0, 1.0 + self.sums.shape[1]) / self.total
        return means


def vote_of_stumps(
    stumps: Sequence[OrdinalStump], weights: Array, features: Features, n_grades: int, n_threads: int
) -> Votes:
    """Return the votes of weighted stumps on a checked matrix.

    Slow line: ``for stump, weight in zip(stumps, weights): votes.add(stump.grades(features), weight)``. Only columns
    that a stump uses are read. Threads share out rows.
    """
    used, columns = np.unique([stump.feature for stump in stumps], return_inverse=True)
    model = (
        columns.astype(ROW),
        np.array([stump.direction for stump in stumps], SCORE),
        np.array([stump.thresholds for stump in stumps], SCORE),
        np.array([stump.missing for stump in stumps], ROW),
        np.asarray(weights, SCORE),
    )
    votes = Votes(features.shape[0], n_grades)
    rows = sp.csr_array(features) if is_sparse(features) else features
    starts = range(0, features.shape[0], ROWS_PER_TASK)
    calls = [(rows[start : start + ROWS_PER_TASK], used, model, votes.sums[start:][:ROWS_PER_TASK]) for start in starts]
    run_threads(_vote_on_rows, calls, n_threads)
    votes.total = float(_running_sum(model[-1]))
    return votes


def _vote_on_rows(
    rows: Array | sp.csr_array, used: Array, model: tuple[Array, Array, Array, Array, Array], votes_out: Array
) -> None:
    """Add the votes on some rows of a matrix."""
    _add_stump_votes(_used_columns(rows, used), *model, votes_out)


def _used_columns(rows: Array | sp.csr_array, used: Array) -> Array:
    """Return columns of some rows as a matrix by columns, cut to finite values, NaN where missing."""
    return np.ascontiguousarray(np.clip(dense_rows(rows[:, used]).T.astype(SCORE), -LARGEST_VALUE, LARGEST_VALUE))


@compiled
def _add_votes(grades: Array, weight: float, sums_out: Array) -> None:
    """Do ``sums_out[np.arange(len(grades)), grades] += weight``."""
    for row in range(len(grades)):
        sums_out[row, grades[row]] += weight


@compiled
def _running_sum(values: Array) -> float:
    """Return the sum of values in their order, as `Votes.add` has it."""
    total = 0.0
    for value in values:
        total += value
    return total


@compiled
def _fill_medians(sums: Array, half: float, medians_out: Array) -> None:
    """Do ``medians_out[:] = np.argmax(np.cumsum(sums, axis=1) > half, axis=1)``, the highest where none is.

    It counts the sums that are not above half: they ascend, and a loop that ends at the first above would end where no
    processor foresees it.
    """
    last = sums.shape[1] - 1
    for row in range(len(sums)):
        reached, grade = 0.0, 0
        for k in range(last):
            reached += sums[row, k]
            grade += reached <= half
        medians_out[row] = grade


@compiled
def _add_stump_votes(
    columns: Array, used: Array, directions: Array, thresholds: Array, missing: Array, weights: Array, sums_out: Array
) -> None:
    """Do ``sums_out[row, grade of stump t] += weights[t]`` for all rows and stumps, in the order of the stumps.

    Rows are the inner loop of the comparisons, so that these vectorise.
    """
    grades = np.empty(columns.shape[1], ROW)
    for t in range(len(weights)):
        values = columns[used[t]]
        grades[:] = 0
        for k in range(thresholds.shape[1]):
            for row in range(len(values)):
                grades[row] += directions[t] * values[row] >= thresholds[t, k]
        for row in range(len(values)):
            sums_out[row, grades[row] if values[row] == values[row] else missing[t]] += weights[t]
