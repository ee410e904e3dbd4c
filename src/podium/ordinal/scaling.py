"""Features on one scale, for rankers that compute with their values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from podium._compiled import SCORE
from podium._magnitudes import LARGEST
from podium._sparse import dense_rows, is_sparse
from podium._types import Features, SparseMatrix
from podium._validation import Array, PodiumError

CONSTANT_SHARE = 1e-12
"""A feature whose standard deviation is not above this share of its largest value does not vary but for rounding."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """Puts features to mean 0 and standard deviation 1 over the training rows; what is missing counts as the mean.

    So do Chu and Keerthi (2005) and Li and Lin (2007) in their experiments. A row of weight 2 counts as the row twice.

    Attributes
    ----------
    means : ndarray of shape (n_features,)
        Weighted, over the rows where the feature is not missing; 0 where it always is.
    deviations : ndarray of shape (n_features,)
        Standard deviation there; 1 for a constant feature.
    """

    means: Array
    deviations: Array

    @classmethod
    def of(cls, features: Features, weight: Array, name: str) -> Scaling:
        """Measure the training features of rows with such weights; `name` is the ranker's, for the message."""
        columns = _columns_of(features)
        largest = columns.largest()
        if np.any(largest >= LARGEST):
            raise PodiumError(
                f"X must lie within ±{LARGEST:g} for {name}, which computes with its values; feature "
                f"{np.argmax(largest >= LARGEST)} does not: use NaN for what is missing."
            )
        means, squares = columns.moments(weight / weight.max())  # no sum of huge weights leaves the range
        deviations = np.sqrt(squares)
        return cls(means, np.where(deviations > CONSTANT_SHARE * largest, deviations, 1.0))

    def apply(self, features: Features) -> Array:
        """Return the scaled features as a dense matrix by rows."""
        values = np.clip(dense_rows(features).astype(SCORE), -LARGEST, LARGEST)
        scaled = (values - self.means) / self.deviations
        return np.ascontiguousarray(np.where(np.isnan(scaled), 0.0, scaled), SCORE)

    def apply_as_given(self, features: Features) -> Features:
        """Return the scaled features; sparse ones as a sparse matrix by rows: what is not held is missing, hence 0."""
        if not is_sparse(features):
            return self.apply(features)
        rows = sp.csr_array(features, dtype=SCORE, copy=True)
        scaled = (np.clip(rows.data, -LARGEST, LARGEST) - self.means[rows.indices]) / self.deviations[rows.indices]
        rows.data = np.where(np.isnan(scaled), 0.0, scaled)
        kept: SparseMatrix = rows
        return kept


def centered_scores(features: Features, coef: Array, means: Array) -> Array:
    """Return ``Σ coef (x - mean)`` of each row, where what is missing adds nothing."""
    return linear_scores(Scaling(means, np.ones_like(means)).apply_as_given(features), coef)


def linear_scores(values: Features, coef: Array) -> Array:
    """Return the product of scaled rows with weights.

    It is added up feature by feature, so that no row's score depends on the rows beside it.
    """
    if is_sparse(values):
        stored = sp.coo_array(values)
        return np.bincount(stored.row, coef[stored.col] * stored.data, values.shape[0])
    scores = np.zeros(len(values), SCORE)
    for feature in np.flatnonzero(coef).tolist():
        scores += coef[feature] * values[:, feature]
    return scores


def largest_sizes(features: Features) -> Array:
    """Return the largest size of a value of each column; what is missing has none."""
    return _columns_of(features).largest()


def _columns_of(features: Features) -> _DenseColumns | _StoredColumns:
    """Return what a matrix says of its columns."""
    return _StoredColumns(features) if is_sparse(features) else _DenseColumns(features)


class _DenseColumns:
    """What a dense matrix says of its columns; NaN is missing."""

    def __init__(self, features: Array) -> None:
        values = np.ascontiguousarray(features).astype(SCORE)
        self.known = ~np.isnan(values)
        self.values = np.where(self.known, values, 0.0)

    def largest(self) -> Array:
        """Return the largest size of a value of each column."""
        found: Array = np.max(np.abs(self.values), axis=0, initial=0.0)
        return found

    def moments(self, share: Array) -> tuple[Array, Array]:
        """Return the mean of each column and of its squared deviations, where rows have such shares."""
        shares = np.where(self.known, share[:, None], 0.0)
        total = np.sum(shares, axis=0)
        total = np.where(total > 0, total, 1.0)
        means = np.sum(shares * self.values, axis=0) / total
        return means, np.sum(shares * (self.values - means) ** 2, axis=0) / total


class _StoredColumns:
    """What a sparse matrix says of its columns, in time and memory by its entries; sums are those of a dense one."""

    def __init__(self, features: SparseMatrix) -> None:
        entries = sp.coo_array(sp.csr_array(features))  # by rows, the order in which a dense matrix adds up
        known = ~np.isnan(entries.data)
        self.rows, self.columns = entries.row[known], entries.col[known]
        self.values, self.n_columns = entries.data[known].astype(SCORE), features.shape[1]

    def largest(self) -> Array:
        """Return the largest size of a value of each column."""
        found = np.zeros(self.n_columns, SCORE)
        np.maximum.at(found, self.columns, np.abs(self.values))
        return found

    def moments(self, share: Array) -> tuple[Array, Array]:
        """Return the mean of each column and of its squared deviations, where rows have such shares."""
        shares = share[self.rows]
        total = self._sums(shares)
        total = np.where(total > 0, total, 1.0)
        means = self._sums(shares * self.values) / total
        return means, self._sums(shares * (self.values - means[self.columns]) ** 2) / total

    def _sums(self, values: Array) -> Array:
        """Return the sum of each column."""
        return np.bincount(self.columns, values, self.n_columns)
