"""Features themselves as weak rankings (RB section 4): values scaled to [0, 1], missing ones at q_def.

"RB" is Freund, Iyer, Schapire and Singer (2003). Unlike a stump, such a ranking depends on the feature's
actual values and not on their order alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from podium._compiled import SCORE, compiled
from podium._validation import Array
from podium.binning.blocks import Matrix
from podium.distribution import Distribution
from podium.weak import Found
from podium.weak.stump import ABSTAINS, NEGLIGIBLE, allowed_signs, lookup


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

    def predict(self, X: Any) -> Array:
        """Return the scaled value of each row of X; an absent entry of a sparse X is missing."""
        rows, x = _column(X, self.feature)
        values = np.full(X.shape[0], float(self.abstain), SCORE)
        values[rows] = scale_values(x.astype(SCORE), self.low, self.high)
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
        self, X: Any, rows: Array, *, abstain: str | int = "learn", monotone_constraints: Any = None
    ) -> None:
        self.X, self.rows = X, rows
        self.abstains = lookup(ABSTAINS, abstain, "abstain")
        self.signs = allowed_signs(monotone_constraints, X.shape[1])
        self.columns = [_column(X, feature) for feature in range(X.shape[1])] if sp.issparse(X) else None
        ranges = [_finite_range(_column(X, feature)[1]) for feature in range(X.shape[1])]
        self.low, self.high = np.array(ranges, SCORE).reshape(-1, 2).T.copy()

    def search(self, potentials: Array, distribution: Distribution) -> Found | None:
        """Return the best feature for the current distribution, or None if none does better than chance."""
        ranked, total = self._sums(potentials)
        gains = np.stack([ranked, ranked - total], axis=1)
        gains[np.abs(total) <= NEGLIGIBLE, 1] = 0.0  # without missing rows both values of q_def say the same
        gains = gains[:, self.abstains]
        allowed = np.where(gains > 0, self.signs[:, :1], self.signs[:, 1:])
        size = np.where(allowed, np.abs(gains), 0.0)
        feature, choice = np.unravel_index(np.argmax(size), size.shape)
        if size[feature, choice] <= NEGLIGIBLE:
            return None
        low, high = float(self.low[feature]), float(self.high[feature])
        ranking = ScaledFeature(int(feature), low, high, int(self.abstains[choice]))
        values = ranking.predict(self.X)[self.rows]
        return Found(ranking, values, float(np.sum(values * potentials)))

    def _sums(self, potentials: Array) -> tuple[Array, Array]:
        """Return, for each feature, Σ scaled value π and Σ π over the rows it ranks (RB Eq. 14)."""
        sums = np.zeros((2, len(self.low)), SCORE)
        if self.columns is None:
            matrix = Matrix.of(self.X)
            kernel = _column_gains if matrix.by_column else _row_gains
            kernel(matrix.values, self.rows, potentials, self.low, self.high, *sums)
            return sums[0], sums[1]
        by_caller = np.empty_like(potentials)
        by_caller[self.rows] = potentials
        for feature, (rows, x) in enumerate(self.columns):
            values = scale_values(x, self.low[feature], self.high[feature]) if len(x) else x
            sums[:, feature] = np.sum(values * by_caller[rows]), np.sum(by_caller[rows])
        return sums[0], sums[1]


def _column(X: Any, feature: int) -> tuple[Array, Array]:
    """Return the rows that a feature ranks and its values there."""
    if sp.issparse(X):
        own = slice(X.indptr[feature], X.indptr[feature + 1])
        rows, x = X.indices[own], X.data[own]
    else:
        rows, x = np.arange(X.shape[0]), X[:, feature]
    ranked = ~np.isnan(x)
    return rows[ranked], x[ranked].astype(SCORE)


def _finite_range(x: Array) -> tuple[float, float]:
    """Return the least and greatest finite value; two numbers that part the infinite ones if there are no others."""
    finite = x[np.isfinite(x)]
    if len(finite) == 0:
        return -1.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    return (low, high) if low < high else (low, float(np.nextafter(low, np.inf)))


@compiled
def _row_gains(values, rows, potentials, low, high, ranked_out, total_out):
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
def _column_gains(values, rows, potentials, low, high, ranked_out, total_out):
    """Do as `_row_gains` for a matrix of columns."""
    for f in range(len(low)):
        for i in range(len(rows)):
            x = np.float64(values[f, rows[i]])
            if x == x:
                clipped = min(max(x, low[f]), high[f])
                ranked_out[f] += (
                    (0.5 * clipped - 0.5 * low[f]) / (0.5 * high[f] - 0.5 * low[f]) * potentials[i]
                )
                total_out[f] += potentials[i]
