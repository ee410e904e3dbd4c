"""A line in one feature, the sum of several lines, and how a file keeps them.

A missing value counts as the feature's mean in training, its `center`. In `predict` a value beyond ±1e100, infinity
included, counts as ±1e100, so that scores are finite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np

from podium._compiled import ROW, SCORE
from podium._magnitudes import LARGEST
from podium._sparse import is_sparse
from podium._types import Features
from podium._validation import Array
from podium.binning import DenseReader, Matrix, SparseReader
from podium.model_file import Column, Content, Schema, Value

LINES = Schema(
    Column("feature", np.int64, (0, "last_feature"), "n_rounds"),
    Column("slope", size="n_rounds"),
    Column("intercept", size="n_rounds"),
    Column("center", size="n_rounds"),
    Column("gain", size="n_rounds"),
    holds="rounds",
)
"""What a file keeps of lines, in the order in which one is made of them."""


@dataclass(frozen=True)
class Line:
    """``intercept + slope (x - center)`` of one feature x.

    Attributes
    ----------
    feature : int
    slope, intercept : float
        Of the least-squares fit, times the learning rate.
    center : float
        Weighted mean of the feature over the training rows that have it.
    gain : float
        By how much the fit, before the learning rate, lowers the squared error.
    """

    feature: int
    slope: float
    intercept: float
    center: float
    gain: float

    def predict(self, X: Features) -> Array:
        """Return the value of each row of a checked matrix."""
        values = np.full(X.shape[0], self.intercept, SCORE)
        for _, rows, given in ranked_columns(X, np.arange(X.shape[0], dtype=ROW), [self.feature]):
            values[rows] = self.intercept + self.slope * (given - self.center)
        return values


@dataclass(frozen=True, eq=False)
class LineSum:
    """The sum of lines: ``intercept + Σ_i coef[i] (x_i - centers[i])``.

    Attributes
    ----------
    coef, centers : ndarray of float64, one per feature
    intercept : float
    """

    coef: Array
    centers: Array
    intercept: float

    @classmethod
    def of(cls, lines: Sequence[Line], n_features: int, start: float) -> LineSum:
        """Add up lines, beginning with a constant."""
        feature = np.array([line.feature for line in lines], ROW)
        coef = np.bincount(feature, [line.slope for line in lines], n_features)
        centers = np.zeros(n_features, SCORE)
        centers[feature] = [line.center for line in lines]
        return cls(coef, centers, start + float(sum(line.intercept for line in lines)))

    def score(self, features: Features) -> Array:
        """Return the score of each row of a checked matrix."""
        scores = np.full(features.shape[0], self.intercept, SCORE)
        used, every = np.flatnonzero(self.coef).tolist(), np.arange(features.shape[0], dtype=ROW)
        for feature, rows, values in ranked_columns(features, every, used):
            scores[rows] += self.coef[feature] * (values - self.centers[feature])
        return scores


def ranked_columns(features: Features, order: Array, wanted: Sequence[int]) -> Iterator[tuple[int, Array, Array]]:
    """Yield the number of each wanted feature, the places in `order` of the rows that have it, and its values."""
    reader = SparseReader.of(features, order) if is_sparse(features) else DenseReader(Matrix.of(features), order)
    for feature in wanted:
        rows, values = reader.column(feature)
        yield feature, rows, np.clip(values.astype(SCORE), -LARGEST, LARGEST)


def lines_to_columns(lines: Sequence[Line]) -> Content:
    """Return lines as columns of a file."""
    return LINES.write_rows(lines)


def lines_from_columns(columns: Value, path: str | PathLike[str], n_features: int) -> list[Line]:
    """Return the lines that `lines_to_columns` wrote, each value checked."""
    found = LINES.read(columns, path, {"last_feature": n_features - 1})
    return [Line(*one) for one in zip(*(column.tolist() for column in found.values()), strict=True)]
