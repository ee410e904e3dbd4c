"""Features less their averages, as base learners of least squares: a missing value adds nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from podium._compiled import SCORE
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
    """The training rows' deviations from each feature's average, 0 where a value is missing.

    Attributes
    ----------
    table : ndarray or scipy.sparse.csr_array of shape (n_features, n_rows)
        x - average, 0 throughout a constant feature. Sparse where X is.
    averages : ndarray of float64
        Weighted mean of each feature.
    norms : ndarray of float64
        √(Σ weight (x - average)²) of each feature, 1 for a constant one.
    """

    table: Array | sp.csr_array
    averages: Array
    norms: Array

    @classmethod
    def of(cls, features: Features, order: Array, weights: Array) -> CenteredColumns:
        """Read the rows of a checked matrix in an order, with the weight of each row in that order."""
        reader = SparseReader.of(features, order) if is_sparse(features) else DenseReader(Matrix.of(features), order)
        n_features = features.shape[1]
        averages, norms = np.zeros(n_features, SCORE), np.ones(n_features, SCORE)
        parts = []
        for feature in range(n_features):
            rows, values = reader.column(feature)
            deviations, averages[feature], norms[feature] = _centered(values.astype(SCORE), weights[rows], feature)
            parts.append((rows, deviations))
        put_together = _sparse_table if is_sparse(features) else _dense_table
        return cls(put_together(parts, len(order)), averages, norms)

    def products(self, residuals: Array) -> Array:
        """Return Σ (x - average) r / norm of each feature: by weighted residuals its slope times its norm.

        A product by BLAS would add up in an order that hangs on the number of threads.
        """
        if isinstance(self.table, np.ndarray):
            sums: Array = np.einsum("fr,r->f", self.table, residuals)
        else:
            sums = self.table @ residuals
        return sums / self.norms

    def deviations(self, feature: int) -> Array:
        """Return the deviation of each row in one feature."""
        values: Array = self.table[feature] if isinstance(self.table, np.ndarray) else self.table[[feature]].toarray()
        return values.ravel()

    def ranking(self, feature: int) -> CenteredFeature:
        """Return a feature's deviations as a ranking of any rows."""
        return CenteredFeature(feature, float(self.averages[feature]))


def _centered(values: Array, weight: Array, feature: int) -> tuple[Array, float, float]:
    """Return the deviations, the average and the norm of one feature."""
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
    return deviations, average, norm


def _dense_table(parts: list[tuple[Array, Array]], n_rows: int) -> Array:
    """Put columns together as the rows of a table."""
    table = np.zeros((len(parts), n_rows), SCORE)
    for own, (rows, values) in zip(table, parts, strict=True):
        own[rows] = values
    return table


def _sparse_table(parts: list[tuple[Array, Array]], n_rows: int) -> sp.csr_array:
    """Put columns together as the rows of a sparse table."""
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows, _ in parts])])
    rows, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return sp.csr_array((values, rows.astype(np.int64), starts), shape=(len(parts), n_rows))
