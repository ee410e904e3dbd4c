"""Features as sorted columns of the rows they rank: for sparse data, and for a cut at every value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium._compiled import ROW, SCORE, run_threads
from podium._validation import Array
from podium.binning.blocks import Matrix
from podium.binning.cuts import Cuts, bin_uppers


@dataclass(frozen=True, eq=False)
class ColumnBins:
    """For each feature the rows it ranks, in the order of their codes.

    Rows that a feature does not rank are not stored, so that memory and the time of a search grow with the
    ranked entries alone.

    Attributes
    ----------
    rows, codes : ndarray of int32
        Row and code of each entry; codes ascend within a feature.
    starts : ndarray of int64
        Feature f has the entries ``starts[f]`` up to, not including, ``starts[f + 1]``.
    cuts : Cuts
    n_rows : int
    """

    rows: Array
    codes: Array
    starts: Array
    cuts: Cuts
    n_rows: int

    def indicator(self, feature: int, cut: int, abstain: int) -> Array:
        """Return the stump's values: 1 where the code is above `cut`, 0 where not, `abstain` where missing."""
        own = slice(self.starts[feature], self.starts[feature + 1])
        out = np.full(self.n_rows, float(abstain), SCORE)
        out[self.rows[own]] = self.codes[own] > cut
        return out


def column_bins(
    X: Any, rows: Array, weight: Array | None, max_bins: int | None, n_threads: int = 1
) -> ColumnBins:
    """Bin a dense matrix, or a sparse one by columns; row i of the result is row ``rows[i]`` of X."""
    reader = SparseReader.of(X, rows) if hasattr(X, "indptr") else DenseReader(Matrix.of(X), rows)
    calls = [(reader, feature, weight, max_bins) for feature in range(X.shape[1])]
    entry_rows, codes, uppers, lowest = zip(*run_threads(_bin_column, calls, n_threads), strict=True)
    counts = np.array([len(entries) for entries in entry_rows])
    return ColumnBins(
        np.concatenate(entry_rows),
        np.concatenate(codes),
        np.concatenate([[0], np.cumsum(counts)]).astype(ROW),
        Cuts.join(list(uppers), np.array(lowest), counts < len(rows)),
        len(rows),
    )


@dataclass(frozen=True, eq=False)
class DenseReader:
    """Reads the ranked entries of one column of a dense matrix."""

    matrix: Matrix
    rows: Array

    def column(self, feature: int) -> tuple[Array, Array]:
        """Return row numbers, ascending, and values of the entries that are not NaN."""
        values = self.matrix.columns(self.rows, feature, feature + 1)[0]
        ranked = np.flatnonzero(~np.isnan(values))
        return ranked.astype(np.int32), values[ranked]


@dataclass(frozen=True, eq=False)
class SparseReader:
    """Reads the ranked entries of one column of a sparse matrix; an absent entry abstains, a stored zero is 0."""

    matrix: Any
    place: Array

    @classmethod
    def of(cls, matrix: Any, rows: Array) -> SparseReader:
        """Note where each row of `matrix` stands in the order `rows`."""
        place = np.empty(len(rows), np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        return cls(matrix, place)

    def column(self, feature: int) -> tuple[Array, Array]:
        """Return row numbers, ascending, and values of the stored entries that are not NaN."""
        own = slice(self.matrix.indptr[feature], self.matrix.indptr[feature + 1])
        values = self.matrix.data[own]
        rows = self.place[self.matrix.indices[own]]
        sequence = np.argsort(rows)
        sequence = sequence[~np.isnan(values[sequence])]
        return rows[sequence], values[sequence]


def _bin_column(
    reader: DenseReader | SparseReader, feature: int, weight: Array | None, max_bins: int | None
) -> tuple[Array, Array, Array, bool]:
    """Return rows and codes of one feature in the order of its values, its bins' uppers, and if it has -inf."""
    rows, values = reader.column(feature)
    sequence = np.argsort(values, kind="stable")
    rows, values = rows[sequence], values[sequence]
    shares = None if weight is None else weight[rows]
    uppers = bin_uppers(values, shares, max_bins)
    codes = 1 + np.searchsorted(uppers[:-1], values)
    return rows, codes.astype(np.int32), uppers, len(values) > 0 and bool(values[0] == -np.inf)
