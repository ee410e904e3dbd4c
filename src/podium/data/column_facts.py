"""What each feature holds: missing and infinite values, and its range; from that, whether it can rank anything."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podium._compiled import ROW, SCORE
from podium._sparse import is_sparse
from podium._types import Features, SparseMatrix
from podium._validation import Array

CELLS_PER_BLOCK = 2**15
"""Cells looked at together: a block and what is made of it stay in the second-level cache."""


class ColumnFacts(NamedTuple):
    """One number for each feature.

    Parameters
    ----------
    n_rows : int
    missing, infinite : ndarray of int64
        Rows in which the feature is missing, or infinite.
    lowest, highest : ndarray of float64
        Range of its values; NaN where it has none.
    """

    n_rows: int
    missing: Array
    infinite: Array
    lowest: Array
    highest: Array

    @property
    def empty(self) -> Array:
        """Whether the feature is missing in all rows."""
        empty: Array = self.missing == self.n_rows
        return empty

    @property
    def constant(self) -> Array:
        """Whether all rows are alike, missing or of one value: such a feature cannot rank anything."""
        alike: Array = self.empty | ((self.missing == 0) & (self.lowest == self.highest))
        return alike


def column_facts(features: Features) -> ColumnFacts:
    """Look at each feature, in O(rows × features) and a copy of one block."""
    return _sparse_facts(features) if is_sparse(features) else _dense_facts(features)


def why_columns_rank_nothing(facts: ColumnFacts) -> str | None:
    """Say why no feature can rank anything, or None where one may."""
    if facts.empty.all():
        return f"all {len(facts.missing)} features are missing in every row"
    if facts.constant.all():
        return f"all {len(facts.missing)} features are constant"
    return None


def _dense_facts(features: Array) -> ColumnFacts:
    """Look at blocks of rows, which lie together in memory."""
    n_rows, n_features = features.shape
    missing, infinite = np.zeros(n_features, ROW), np.zeros(n_features, ROW)
    lowest, highest = np.full(n_features, np.nan), np.full(n_features, np.nan)
    step = max(1, CELLS_PER_BLOCK // n_features)
    for start in range(0, n_rows, step):
        block = features[start : start + step]
        missing += np.isnan(block).sum(axis=0)
        infinite += np.isinf(block).sum(axis=0)
        np.fmin(lowest, np.fmin.reduce(block, axis=0), out=lowest)
        np.fmax(highest, np.fmax.reduce(block, axis=0), out=highest)
    return ColumnFacts(n_rows, missing, infinite, lowest, highest)


def _sparse_facts(features: SparseMatrix) -> ColumnFacts:
    """Look at what is stored; what is not is missing."""
    n_rows, n_features = features.shape
    columns = [features.data[features.indptr[j] : features.indptr[j + 1]] for j in range(n_features)]
    present: list[Array] = [np.asarray(column[~np.isnan(column)], SCORE) for column in columns]
    return ColumnFacts(
        n_rows,
        n_rows - np.array([len(column) for column in present], ROW),
        np.array([np.isinf(column).sum() for column in present], ROW),
        np.array([column.min() if len(column) else np.nan for column in present]),
        np.array([column.max() if len(column) else np.nan for column in present]),
    )
