"""Features less their averages, as base learners of least squares: a missing value adds nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium._compiled import ROW, SCORE, compiled
from podium._magnitudes import LARGEST
from podium._sparse import is_sparse
from podium._types import Features
from podium._validation import Array, PodiumError
from podium.binning import DenseReader, Matrix, SparseReader
from podium.stumps import column_of

LEAST_SPREAD = 1e-12
"""A feature whose deviations are, in norm, below this share of its values has none but those of rounding."""
LEAST_NORM = 1e-100
"""Slopes on a feature of a smaller norm would leave floating point."""


@dataclass(frozen=True)
class CenteredFeature:
    """The ranking x - average, and 0 where x is missing.

    Attributes
    ----------
    feature : int
    average : float
        Weighted mean of the training rows that have a value.
    """

    feature: int
    average: float

    def predict(self, X: Features) -> Array:
        """Return the deviation of each row of X; a value beyond ±1e100, infinity included, counts as ±1e100."""
        rows, x = column_of(X, self.feature)
        values = np.zeros(X.shape[0], SCORE)
        deviations = np.clip(x.astype(SCORE), -LARGEST, LARGEST) - self.average
        values[rows] = np.where(np.isnan(x), 0.0, deviations)
        return values


@dataclass(frozen=True, eq=False)
class CenteredColumns:
    """The training rows' deviations from each feature's average, over their norm, entries stored by columns.

    Attributes
    ----------
    offsets : ndarray of int64
        Feature f has the entries ``offsets[f]`` up to, not including, ``offsets[f + 1]``.
    rows : ndarray of uint32
        Row of each entry; a missing value has none.
    values : ndarray of float64
        z = (x - average) / norm; 0 in a constant feature.
    averages : ndarray of float64
        Weighted mean of each feature.
    norms : ndarray of float64
        √(Σ weight (x - average)²) of each feature, 1 for a constant one.
    """

    offsets: Array
    rows: Array
    values: Array
    averages: Array
    norms: Array

    @classmethod
    def of(cls, features: Features, order: Array, weights: Array) -> CenteredColumns:
        """Read the rows of a checked matrix in an order, with the weight of each row in that order."""
        reader = SparseReader.of(features, order) if is_sparse(features) else DenseReader(Matrix.of(features), order)
        columns = [reader.column(feature) for feature in range(features.shape[1])]
        made = [_centered(values.astype(SCORE), weights[rows], f) for f, (rows, values) in enumerate(columns)]
        values, averages, norms = zip(*made, strict=True)
        offsets = np.concatenate([[0], np.cumsum([len(rows) for rows, _ in columns])]).astype(ROW)
        return cls(
            offsets, np.concatenate([rows for rows, _ in columns]), np.concatenate(values), np.array(averages, SCORE),
            np.array(norms, SCORE),
        )  # fmt: skip

    def products(self, residuals: Array) -> Array:
        """Return Σ z r of each feature: with weighted residuals its coefficient by least squares, times its norm."""
        sums = np.zeros(len(self.averages), SCORE)
        _column_products(self.offsets, self.rows, self.values, residuals, sums)
        return sums

    def moved(self, scores: Array, feature: int, step: float) -> Array:
        """Return scores + step z of a feature."""
        entries = slice(self.offsets[feature], self.offsets[feature + 1])
        after = scores.copy()
        after[self.rows[entries]] += step * self.values[entries]
        return after

    def ranking(self, feature: int) -> CenteredFeature:
        """Return a feature's deviations as a ranking of any rows."""
        return CenteredFeature(feature, float(self.averages[feature]))


def _centered(values: Array, weight: Array, feature: int) -> tuple[Array, float, float]:
    """Return the deviations over their norm, the average and the norm of one feature."""
    if np.abs(values).max(initial=0.0) > LARGEST:
        raise PodiumError(
            f"X must lie within ±{LARGEST:g} for least squares on its values; feature {feature} does not: use NaN for "
            "what is missing."
        )
    total = weight.sum()
    average = float(np.sum(values * weight) / total) if total > 0 else 0.0
    deviations = values - average
    norm = float(np.sqrt(np.sum(weight * deviations * deviations)))
    if norm <= max(LEAST_NORM, LEAST_SPREAD * np.sqrt(np.sum(weight * values * values))):
        return np.zeros_like(values), average, 1.0
    return deviations / norm, average, norm


@compiled
def _column_products(offsets: Array, rows: Array, values: Array, residuals: Array, sums_out: Array) -> None:
    """Do ``sums_out[f] = np.sum(values[own] * residuals[rows[own]])`` for the entries of each feature."""
    for f in range(len(sums_out)):
        total = 0.0
        for entry in range(offsets[f], offsets[f + 1]):
            total += values[entry] * residuals[rows[entry]]
        sums_out[f] = total
