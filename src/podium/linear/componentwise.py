"""The component-wise linear base learner: a simple regression on the one feature that is best (CR 4.3, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from podium._compiled import SCORE
from podium._magnitudes import LARGEST
from podium._sparse import is_sparse
from podium._types import Features
from podium._validation import Array, PodiumError
from podium.boosting import Learned
from podium.linear.fitted_line import Line, ranked_columns

SELECTIONS = ("squares", "updated", "simple")
"""How the feature of a round is chosen."""
CONSTANT = 1e-24
"""Share of a feature's squares around its mean, in those of its largest value, below which it is constant."""
UNRELATED = 1e-26
"""Share of the gradients' squares below which what a feature explains is rounding."""


@dataclass(frozen=True, eq=False)
class CenteredTable:
    """Features less their weighted means, a missing value as the mean, in the canonical row order.

    Attributes
    ----------
    table : ndarray or scipy.sparse.csr_array of shape (n_features, n_rows)
        Sparse where X is: what is missing is 0.
    centers : ndarray of float64
    norms : ndarray of float64
        Weighted sum of squares of each row of the table; 0 of a constant feature.
    """

    table: Array | sp.csr_array
    centers: Array
    norms: Array

    @classmethod
    def of(cls, features: Features, rows: Array, weight: Array) -> CenteredTable:
        """Center the features of some rows."""
        n_features = features.shape[1]
        centers, norms, parts = np.zeros(n_features, SCORE), np.zeros(n_features, SCORE), []
        table = None if is_sparse(features) else np.zeros((n_features, len(rows)), SCORE)
        for feature, ranked, values in ranked_columns(features, rows, range(n_features)):
            own = weight[ranked]
            centers[feature] = _mean(_check_column(values, feature), own)
            centered = values - centers[feature]
            norms[feature] = _norm(centered, values, own)
            if table is None:
                parts.append((ranked, centered))
            else:
                table[feature, ranked] = centered
        return cls(_sparse_table(parts, len(rows)) if table is None else table, centers, norms)

    def row(self, feature: int) -> Array:
        """Return the centered values of one feature in all rows."""
        values: Array = self.table[feature] if isinstance(self.table, np.ndarray) else self.table[[feature]].toarray()
        return values.ravel()


def _check_column(values: Array, feature: int) -> Array:
    """Refuse values that are too large to be squared."""
    if np.abs(values).max(initial=0.0) >= LARGEST:
        raise PodiumError(
            f'X must lie within ±{LARGEST:g} for base="linear", which computes with its values; feature {feature} '
            "does not: use NaN for what is missing."
        )
    return values


def _mean(values: Array, weight: Array) -> float:
    """Return the weighted mean, 0 where nothing weighs anything; within the values in spite of rounding."""
    total = weight.sum()
    return float(np.clip((values * weight).sum() / total, values.min(), values.max())) if total > 0 else 0.0


def _norm(centered: Array, values: Array, weight: Array) -> float:
    """Return the weighted sum of squares around the mean, 0 where it is rounding alone."""
    norm, largest = float((weight * centered * centered).sum()), np.abs(values).max(initial=0.0)
    return norm if norm > CONSTANT * largest * largest * weight.sum() else 0.0


def _sparse_table(parts: list[tuple[Array, Array]], n_rows: int) -> sp.csr_array:
    """Put columns together as the rows of a sparse table."""
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows, _ in parts])])
    rows, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return sp.csr_array((values, rows.astype(np.int64), starts), shape=(len(parts), n_rows))


class ComponentLearner:
    """Fits ``-gradient / weight`` by a line in one feature.

    Parameters
    ----------
    columns : CenteredTable
    learning_rate : float
        κ.
    select : {"squares", "updated", "simple"}
        The feature whose line lowers the squared error most; or whose line makes the loss least, that of the model
        with the line in it or that of the line alone. Lines alone are compared as fitted, before the learning rate.
    value : callable
        From scores to the loss, for the two latter.
    """

    def __init__(
        self, columns: CenteredTable, learning_rate: float, select: str, value: Callable[[Array], float]
    ) -> None:
        self.columns, self.learning_rate, self.select, self.value = columns, learning_rate, select, value

    def fit(self, gradient: Array, weight: Array, scores: Array) -> Learned | None:
        """Return the line of the best feature and the scores with it; None where no feature explains anything."""
        columns, covariance = self.columns, -(self.columns.table @ gradient)
        usable = columns.norms > 0
        slopes = np.divide(covariance, columns.norms, out=np.zeros_like(covariance), where=usable)
        gains = slopes * covariance
        if not gains.max() > UNRELATED * (gradient[weight > 0] ** 2 / weight[weight > 0]).sum():
            return None
        mean = -float(gradient.sum() / weight.sum())
        feature = self._choose(gains, slopes, mean, scores)
        line = Line(
            feature, self.learning_rate * float(slopes[feature]), self.learning_rate * mean,
            float(columns.centers[feature]), float(gains[feature]),
        )  # fmt: skip
        return Learned(line, scores + (line.intercept + line.slope * columns.row(feature)))

    def _choose(self, gains: Array, slopes: Array, mean: float, scores: Array) -> int:
        """Return the feature of the round; of equally good ones the first."""
        if self.select == "squares":
            return int(np.argmax(gains))
        before, factor = (0.0 * scores, 1.0) if self.select == "simple" else (scores, self.learning_rate)
        candidates = np.flatnonzero(gains > 0).tolist()
        values = [self.value(before + factor * (mean + slopes[one] * self.columns.row(one))) for one in candidates]
        return int(candidates[int(np.argmin(np.nan_to_num(values, nan=np.inf)))])
