"""Dense features as one-byte codes in blocks of sixteen features: what histograms read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from podium._compiled import CODE, SCORE, compiled, prefetch, run_threads
from podium._validation import Array, PodiumError
from podium.binning import radix_sort
from podium.binning.codes_by_bits import encode_by_bits
from podium.binning.cuts import Cuts, bin_uppers
from podium.binning.thresholds import uppers_of_given

BLOCK = 16
"""Features in a block: a block's histogram of 256 bins and four bytes a bin is 16 KB, half the first-level
cache, and the codes of a row are one 16-byte load."""
CACHE_LINE = 64
"""Bytes that come from memory together."""


@dataclass(frozen=True, eq=False)
class BlockBins:
    """Codes of dense features.

    Attributes
    ----------
    codes : ndarray of uint8, shape (n_blocks, n_rows, 16)
        Code of feature f in row i: ``codes[f // 16, i, f % 16]``; 0 is missing. Features that fill up the
        last block are missing everywhere.
    cuts : Cuts
    """

    codes: Array
    cuts: Cuts

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[1])

    def allocate(self, n_words: int) -> Array:
        """Return zeros for another layout of the codes, kept where these are: in memory, if nothing else is said."""
        return np.zeros(n_words, np.uint64)

    def indicator(self, feature: int, cut: int, abstain: int) -> Array:
        """Return the stump's values: 1 where the code is above `cut`, 0 where not, `abstain` where missing."""
        out = np.empty(self.n_rows, SCORE)
        _fill_indicator(self.codes[feature // BLOCK], feature % BLOCK, cut, float(abstain), out)
        return out


def block_bins(
    X: Array,
    rows: Array,
    weight: Array | None,
    max_bins: int,
    n_threads: int,
    n_categories: Array,
    thresholds: Sequence[Array | None],
) -> BlockBins:
    """Bin a dense float32 or float64 matrix; row i of the codes is ``X[rows[i]]``."""
    matrix = Matrix.of(X)
    n_features = X.shape[1]
    codes = np.zeros((-(-n_features // BLOCK), len(rows), BLOCK), CODE)
    limits = (max_bins, n_categories, thresholds)
    calls = [(matrix, rows, weight, *limits, b, codes[b]) for b in range(len(codes))]
    results = run_threads(_bin_block, calls, n_threads)
    uppers = [upper for block in results for upper in block[0]]
    lowest, missing = np.concatenate([block[1] for block in results], axis=1)
    return BlockBins(codes, Cuts.join(uppers, lowest, missing))


@dataclass(frozen=True, eq=False)
class Matrix:
    """A dense matrix as a contiguous array, of rows or of columns, so that kernels see few array types."""

    values: Array
    by_column: bool

    @classmethod
    def of(cls, X: Array) -> Matrix:
        """Wrap X without a copy if it is contiguous in either order."""
        by_column = X.flags.f_contiguous and not X.flags.c_contiguous
        return cls(np.ascontiguousarray(X.T if by_column else X), by_column)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.values.shape[0 if self.by_column else 1])

    def columns(self, rows: Array, first: int, last: int) -> Array:
        """Return ``X[rows, first:last].T`` as a new contiguous array."""
        out = np.empty((last - first, len(rows)), self.values.dtype)
        (_gather_columns if self.by_column else _gather_rows)(self.values, rows, first, out)
        return out


def _bin_block(
    matrix: Matrix,
    rows: Array,
    weight: Array | None,
    max_bins: int,
    n_categories: Array,
    thresholds: Sequence[Array | None],
    block: int,
    codes_out: Array,
) -> tuple[list[Array], Array]:
    """Cut the features of one block and write their codes.

    Returns the uppermost values of the bins of each feature, and whether it has the value -inf and missing ones.
    """
    first, last = block * BLOCK, min((block + 1) * BLOCK, matrix.n_features)
    values = matrix.columns(rows, first, last)
    uppers = [
        _uppers_of(column, weight, max_bins, known, given, first + j)
        for j, (column, known, given) in enumerate(
            zip(values, n_categories[first:last].tolist(), thresholds[first:last], strict=True)
        )
    ]
    return uppers, encode_block(values, uppers, codes_out)


def encode_block(values: Array, uppers: list[Array], codes_out: Array) -> Array:
    """Write the codes of a block's features; return whether each has the value -inf, and missing ones."""
    if values.dtype == np.float32 and values.shape[1] >= radix_sort.MIN_ROWS_BY_BITS:
        return encode_by_bits(values, uppers, codes_out)
    inner = np.full((len(uppers), 256), np.inf, values.dtype)
    for j, upper in enumerate(uppers):
        inner[j, : max(len(upper) - 1, 0)] = upper[:-1]
    _encode(values, inner, codes_out)
    return np.stack([(values == -np.inf).any(axis=1), np.isnan(values).any(axis=1)])


def _uppers_of(
    values: Array, weight: Array | None, max_bins: int, n_categories: int, thresholds: Array | None, feature: int
) -> Array:
    """Return the uppermost values of the bins of one feature; refuse more bins than a byte can number."""
    if thresholds is None:
        return bin_uppers(values, weight, max_bins) if n_categories < 0 else np.arange(n_categories, dtype=values.dtype)
    uppers = uppers_of_given(values, thresholds)
    if len(uppers) > 255:
        raise PodiumError(
            f"At most 254 thresholds can part the values of a feature; feature {feature} has {len(uppers) - 1}: "
            "set max_bins=None for more."
        )
    return uppers


@compiled
def _gather_rows(values: Array, rows: Array, first: int, out: Array) -> None:
    """Do ``out[:] = values[rows, first:first + len(out)].T`` for a matrix of rows.

    All cache lines that the row 16 ahead has values in are asked for in advance: the first alone takes three times as
    long, where rows come from memory and begin amid a line.
    """
    width, ahead, per_line = values.shape[1], len(rows) - 1, CACHE_LINE // values.itemsize
    for i in range(len(rows)):
        coming = rows[min(i + 16, ahead)] * width + first
        for j in range(0, len(out), per_line):
            prefetch(values, coming + j)
        prefetch(values, coming + len(out) - 1)
        for j in range(len(out)):
            out[j, i] = values[rows[i], first + j]


@compiled
def _gather_columns(values: Array, rows: Array, first: int, out: Array) -> None:
    """Do ``out[:] = values[first:first + len(out), rows]`` for a matrix of columns."""
    for j in range(len(out)):
        for i in range(len(rows)):
            out[j, i] = values[first + j, rows[i]]


@compiled
def _encode(values: Array, inner: Array, codes_out: Array) -> None:
    """Write ``1 + np.searchsorted(inner, value)``, or 0 for NaN, of each value; `inner` is filled up with inf.

    A search of eight steps without a branch: 7 ns a value, where a branching one takes 42.
    """
    for j in range(len(values)):
        edge = inner[j]
        for i in range(values.shape[1]):
            v = values[j, i]
            p = (edge[127] < v) * 128
            p += (edge[p + 63] < v) * 64
            p += (edge[p + 31] < v) * 32
            p += (edge[p + 15] < v) * 16
            p += (edge[p + 7] < v) * 8
            p += (edge[p + 3] < v) * 4
            p += (edge[p + 1] < v) * 2
            p += edge[p] < v
            codes_out[i, j] = (p + 1) * (v == v)


@compiled
def _fill_indicator(codes: Array, column: int, cut: int, abstain: float, out: Array) -> None:
    """Do ``out[:] = np.where(codes[:, column] == 0, abstain, codes[:, column] > cut)``."""
    for i in range(len(out)):
        code = codes[i, column]
        out[i] = abstain if code == 0 else 1.0 * (code > cut)
