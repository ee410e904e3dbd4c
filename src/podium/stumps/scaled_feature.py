"""Features themselves as weak rankings (RB section 4): values scaled to [0, 1], missing ones at q_def.

"RB" is Freund, Iyer, Schapire and Singer (2003). Unlike a stump, such a ranking depends on the feature's
actual values and not on their order alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from podium._compiled import SCORE, compiled
from podium._sparse import is_sparse
from podium._types import Features
from podium._validation import Array
from podium.binning import DenseReader, Matrix, SparseReader
from podium.pairs import Distribution, WeakResult
from podium.stumps.stump import ABSTAINS, LEAST_EDGE, allowed_signs, column_of, lookup

LEAST_RANGE = 4 * float(np.finfo(np.float64).tiny)
"""A range below this may have a half of 0, by which nothing can be divided."""


@dataclass(frozen=True)
class ScaledFeature:
    """The ranking (x - low) / (high - low), held within [0, 1], and `abstain` where x is missing.

    Attributes
    ----------
    feature : int
    low, high : float
        Least and greatest finite value of the training rows.
    abstain : int
        q_def, 0 or 1.
    """

    feature: int
    low: float
    high: float
    abstain: int

    def predict(self, X: Features) -> Array:
        """Return the scaled value of each row of X; an absent entry of a sparse X (by columns) is missing."""
        rows, x = column_of(X, self.feature)
        values = np.full(X.shape[0], float(self.abstain), SCORE)
        scaled = scale_values(x.astype(SCORE), self.low, self.high)
        values[rows] = np.where(np.isnan(x), float(self.abstain), scaled)
        return values


def scale_values(x: Array, low: float, high: float) -> Array:
    """Scale values to [0, 1]; those beyond `low` and `high`, infinite ones too, become 0 and 1.

    Halves, because the difference of two large numbers may overflow.
    """
    return (0.5 * np.clip(x, low, high) - 0.5 * low) / (0.5 * high - 0.5 * low)


class FeatureLearner:
    """Finds the feature, and q_def, whose scaled values have the largest |r| (RB Eq. 5): O(cells) a round.

    Of equally good ones it takes the lowest feature, then q_def = 0.

    Parameters
    ----------
    X : ndarray, or a scipy sparse matrix by columns
        The features, read through `rows`.
    rows : ndarray of int64
        Training row i is ``X[rows[i]]``.
    abstain, monotone_constraints
        As `StumpLearner` has them.
    """

    def __init__(
        self, X: Features, rows: Array, *, abstain: str | int = "learn", monotone_constraints: ArrayLike | None = None
    ) -> None:
        self.X, self.rows = X, rows
        self.abstains = lookup(ABSTAINS, abstain, "abstain")
        self.signs = allowed_signs(monotone_constraints, X.shape[1])
        self.reader = SparseReader.of(X, rows) if is_sparse(X) else DenseReader(Matrix.of(X), rows)
        ranges, counts = [], []
        for feature in range(X.shape[1]):
            values = self.reader.column(feature)[1]
            ranges.append(_finite_range(values))
            counts.append(len(values))
        self.low, self.high = np.array(ranges, SCORE).reshape(-1, 2).T.copy()
        self.has_missing = np.array(counts) < len(rows)

    def search(self, potentials: Array, distribution: Distribution) -> WeakResult | None:
        """Return the best feature for the current distribution, or None if none does better than chance."""
        ranked, total = self._sums(potentials)
        gains = np.stack([ranked, ranked - np.where(self.has_missing, total, 0.0)], axis=1)[:, self.abstains]
        allowed = np.where(gains > 0, self.signs[:, :1], self.signs[:, 1:])
        size = np.where(allowed, np.abs(gains), 0.0)
        feature, choice = (int(index) for index in np.unravel_index(np.argmax(size), size.shape))
        if size[feature, choice] <= LEAST_EDGE:
            return None
        low, high = float(self.low[feature]), float(self.high[feature])
        ranking = ScaledFeature(feature, low, high, int(self.abstains[choice]))
        values = ranking.predict(self.X)[self.rows]
        return WeakResult(ranking, values, float(np.sum(values * potentials)))

    def _sums(self, potentials: Array) -> tuple[Array, Array]:
        """Return, for each feature, Σ scaled value π and Σ π over the rows it ranks (RB Eq. 14)."""
        ranked, total = np.zeros(len(self.low), SCORE), np.zeros(len(self.low), SCORE)
        if isinstance(self.reader, DenseReader):
            matrix = self.reader.matrix
            kernel = _column_gains if matrix.by_column else _row_gains
            kernel(matrix.values, self.rows, potentials, self.low, self.high, ranked, total)
            return ranked, total
        for feature in range(len(self.low)):
            rows, x = self.reader.column(feature)
            values = scale_values(x.astype(SCORE), self.low[feature], self.high[feature])
            ranked[feature], total[feature] = np.sum(values * potentials[rows]), np.sum(potentials[rows])
        return ranked, total


def _finite_range(x: Array) -> tuple[float, float]:
    """Return the least and greatest finite value, parted by a hair if they are one, or -1 and 1 if there is none."""
    finite = x[np.isfinite(x)]
    if len(finite) == 0:
        return -1.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if 0.5 * high - 0.5 * low > 0:
        return low, high
    hair = max(math.ulp(low), LEAST_RANGE)
    return (low, low + hair) if np.isfinite(low + hair) else (low - hair, low)


@compiled
def _row_gains(
    values: Array, rows: Array, potentials: Array, low: Array, high: Array, ranked_out: Array, total_out: Array
) -> None:
    """Add scaled value times potential, and potential, of every ranked cell of a matrix of rows, by feature."""
    for i in range(len(rows)):
        x = values[rows[i]]
        potential = potentials[i]
        for f in range(len(low)):
            clipped = min(max(np.float64(x[f]), low[f]), high[f])
            scaled = (0.5 * clipped - 0.5 * low[f]) / (0.5 * high[f] - 0.5 * low[f])
            ranked_out[f] += scaled * potential if x[f] == x[f] else 0.0
            total_out[f] += potential if x[f] == x[f] else 0.0


@compiled
def _column_gains(
    values: Array, rows: Array, potentials: Array, low: Array, high: Array, ranked_out: Array, total_out: Array
) -> None:
    """Do as `_row_gains` for a matrix of columns."""
    for f in range(len(low)):
        for i in range(len(rows)):
            x = np.float64(values[f, rows[i]])
            if x == x:
                clipped = min(max(x, low[f]), high[f])
                ranked_out[f] += (0.5 * clipped - 0.5 * low[f]) / (0.5 * high[f] - 0.5 * low[f]) * potentials[i]
                total_out[f] += potentials[i]
