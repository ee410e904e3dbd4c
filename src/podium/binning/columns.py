"""Features as sorted columns of the rows they rank: for sparse data, and for a cut at every value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from podium._compiled import ROW, SCORE, run_threads
from podium._types import SparseMatrix
from podium._validation import Array
from podium.binning.blocks import Matrix
from podium.binning.cuts import Cuts, runs_of_sorted, starts_of
from podium.binning.segments import sorted_codes
from podium.binning.thresholds import uppers_of_given


@dataclass(frozen=True, eq=False)
class ColumnBins:
    """For each feature the rows it ranks, in the order of their codes.

    Rows that a feature does not rank are not stored, so that memory and the time of a search grow with the
    ranked entries alone.

    Attributes
    ----------
    rows, codes : ndarray of uint32
        Row and code of each entry (unsigned, so that kernels need not think of negative indices); codes ascend
        within a feature. The order of rows with one code may depend on the caller's.
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
    X: Array, rows: Array, n_threads: int, n_categories: Array, thresholds: Sequence[Array | None]
) -> ColumnBins:
    """Cut a dense matrix at every value; row i of the result is row ``rows[i]`` of X."""
    reader, features = DenseReader(Matrix.of(X), rows), zip(n_categories.tolist(), thresholds, strict=True)
    calls = [(reader, feature, *given) for feature, given in enumerate(features)]
    entry_rows, codes, uppers, lowest = zip(*run_threads(_bin_column, calls, n_threads), strict=True)
    counts = np.array([len(entries) for entries in entry_rows])
    return ColumnBins(
        np.concatenate(entry_rows),
        np.concatenate(codes),
        starts_of(counts),
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
        return ranked.astype(np.uint32), values[ranked]


@dataclass(frozen=True, eq=False)
class SparseReader:
    """Reads the ranked entries of one column of a sparse matrix; an absent entry abstains, a stored zero is 0."""

    matrix: SparseMatrix
    place: Array

    @classmethod
    def of(cls, matrix: SparseMatrix, rows: Array) -> SparseReader:
        """Note where each row of `matrix` stands in the order `rows`."""
        place = np.empty(len(rows), np.uint32)
        place[rows] = np.arange(len(rows), dtype=np.uint32)
        return cls(matrix, place)

    def entries(self, feature: int) -> tuple[Array, Array]:
        """Return row numbers and values of the stored entries that are not NaN, in the order they are stored."""
        own = slice(self.matrix.indptr[feature], self.matrix.indptr[feature + 1])
        values, rows = self.matrix.data[own], self.place[self.matrix.indices[own]]
        ranked = ~np.isnan(values)
        return (rows, values) if ranked.all() else (rows[ranked], values[ranked])

    def batch(self, features: range) -> tuple[Array, Array, Array]:
        """Return what `entries` does of some features, one after the other, and where each begins."""
        starts = self.matrix.indptr[features.start : features.stop + 1].astype(ROW)
        own = slice(starts[0], starts[-1])
        values, rows = self.matrix.data[own], self.place[self.matrix.indices[own]]
        ranked = ~np.isnan(values)
        if ranked.all():
            return rows, values, starts - starts[0]
        return rows[ranked], values[ranked], starts_of(ranked)[starts - starts[0]]

    def column(self, feature: int) -> tuple[Array, Array]:
        """Return row numbers, ascending, and values of the stored entries that are not NaN."""
        rows, values = self.entries(feature)
        sequence = np.argsort(rows)
        return rows[sequence], values[sequence]


def _bin_column(
    reader: DenseReader, feature: int, n_categories: int, thresholds: Array | None
) -> tuple[Array, Array, Array, bool]:
    """Return rows and codes of one feature in the order of its values, its bins' uppers, and if it has -inf."""
    rows, values = reader.column(feature)
    sequence = np.argsort(values)
    rows, values = rows[sequence], values[sequence]
    if thresholds is not None:
        uppers = uppers_of_given(values, thresholds)
    elif n_categories < 0:
        uppers, _ = runs_of_sorted(values, None)
    else:
        uppers = np.arange(n_categories, dtype=values.dtype)
    codes = np.empty(len(values), np.uint32)
    sorted_codes(values, uppers, codes)
    return rows, codes, uppers, len(values) > 0 and bool(values[0] == -np.inf)
