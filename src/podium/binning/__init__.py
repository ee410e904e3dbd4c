"""Features as small integers: codes, the thresholds between them, and a code for what is missing.

Two forms, one for each way to read them. `BlockBins` holds one byte for every cell of a dense matrix, for
histograms of at most 255 bins. `ColumnBins` holds the ranked entries of each feature sorted by value, for
sparse data and for a cut at every distinct value. Both have ``cuts``, ``n_rows`` and ``indicator``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from podium._compiled import CODE, ROW
from podium._exchange import ALONE, Exchange
from podium._types import Features
from podium._validation import Array, PodiumError
from podium.binning.blocks import BLOCK, BlockBins, Matrix, block_bins, encode_block
from podium.binning.columns import ColumnBins, DenseReader, SparseReader, column_bins
from podium.binning.cuts import Cuts, distinct_runs
from podium.binning.monotone import check_monotone
from podium.binning.radix_sort import MIN_ROWS_BY_BITS
from podium.binning.shared_bins import (
    MOST_MERGED,
    BinRows,
    BinSample,
    bin_together,
    rounded_shares,
    sampled_uppers,
)
from podium.binning.shared_sparse_bins import (
    bin_sparse_together,
    feature_batches,
    gather_each,
    sparse_columns,
    sparse_columns_together,
)
from podium.binning.thresholds import candidate_thresholds

__all__ = [
    "BLOCK",
    "MIN_ROWS_BY_BITS",
    "MOST_MERGED",
    "BinRows",
    "BinSample",
    "Bins",
    "BlockBins",
    "ColumnBins",
    "Cuts",
    "DenseReader",
    "Matrix",
    "SparseReader",
    "as_blocks",
    "bin_blocks",
    "bin_features",
    "candidate_thresholds",
    "check_monotone",
    "distinct_runs",
    "encode_block",
    "feature_batches",
    "gather_each",
    "rounded_shares",
    "sampled_uppers",
]

Bins = BlockBins | ColumnBins


def bin_features(
    X: Features,
    rows: Array | None = None,
    weight: Array | None = None,
    max_bins: int | None = 255,
    n_threads: int = 1,
    n_categories: Array | None = None,
    thresholds: Sequence[Array | None] | None = None,
    keys: Array | None = None,
    exchange: Exchange = ALONE,
) -> Bins:
    """Bin the features of X, reading rows through `rows` so that no reordered copy of X is made.

    Parameters
    ----------
    X : ndarray of float32 or float64, or a scipy sparse matrix by columns
        NaN is missing, and so is an absent entry of a sparse matrix. -0.0 is 0.0; infinities are values.
    rows : ndarray of int64, optional
        Row i of the result is ``X[rows[i]]``; by default X's own order.
    weight : ndarray of float64, optional
        Weight of each row *of the result*, for the quantiles; by default all alike.
    max_bins : int or None
        Most bins of a feature, from 2 to 255. A feature with at most that many distinct values has a bin for
        each; otherwise bins hold about equal weight. None: a bin for each distinct value, as in the RankBoost
        paper.
    n_threads : int
    n_categories : ndarray of int64, optional
        For each feature how many categories it has, -1 if it is a number. Category c, from 0, gets the code
        1 + c, whatever `max_bins` is and whether or not it occurs.
    thresholds : sequence of ndarray of float64 or None, optional
        For each feature where to cut it, ascending; None where `max_bins` says it.
    keys : ndarray of uint64, optional
        Another one for each row of the result. With it, and without thresholds, features have the bins that no order of
        the rows and no partitioning changes, see `bin_together`.
    exchange : Exchange
        With the parts that have other rows; needs `keys`.

    Returns
    -------
    BlockBins or ColumnBins
        The latter for sparse X or ``max_bins=None``.
    """
    _check_max_bins(max_bins)
    known = np.full(X.shape[1], -1, ROW) if n_categories is None else n_categories
    given = [None] * X.shape[1] if thresholds is None else thresholds
    order = np.arange(X.shape[0], dtype=ROW) if rows is None else rows
    shares = None if weight is None or np.all(weight == weight[0]) else weight
    if max_bins is not None and thresholds is None and keys is not None and weight is not None:
        part = BinRows(order, weight, int(max_bins), n_threads, known, keys, exchange)
        return bin_together(X, part) if isinstance(X, np.ndarray) else sparse_columns_together(X, part)
    if not isinstance(X, np.ndarray):
        return sparse_columns(X, order, shares, max_bins, n_threads, known, given)
    if max_bins is None:
        return column_bins(X, order, n_threads, known, given)
    return block_bins(X, order, shares, int(max_bins), n_threads, known, given)


def bin_blocks(X: Features, part: BinRows) -> BlockBins:
    """Bin dense or sparse features alike, one byte for every cell; see `bin_features` and `bin_together`."""
    _check_max_bins(part.max_bins)
    part = part._replace(max_bins=int(part.max_bins))
    return bin_together(X, part) if isinstance(X, np.ndarray) else bin_sparse_together(X, part)


def _check_max_bins(max_bins: int | None) -> None:
    """Refuse more bins than a byte can number, and fewer than two."""
    if max_bins is not None and not (isinstance(max_bins, int | np.integer) and 2 <= max_bins <= 255):
        raise PodiumError(f"max_bins must be an integer from 2 to 255, or None for no limit; got {max_bins!r}.")


def as_blocks(bins: Bins) -> BlockBins:
    """Return sorted columns of at most 255 bins as blocks, one byte for every cell, absent ones missing."""
    if isinstance(bins, BlockBins):
        return bins
    n_features = bins.cuts.n_features
    codes = np.zeros((-(-n_features // BLOCK), bins.n_rows, BLOCK), CODE)
    for feature in range(n_features):
        own = slice(bins.starts[feature], bins.starts[feature + 1])
        codes[feature // BLOCK, bins.rows[own], feature % BLOCK] = bins.codes[own]
    return BlockBins(codes, bins.cuts)
