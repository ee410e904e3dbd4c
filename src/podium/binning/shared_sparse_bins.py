"""Bins of sparse features whose rows may lie in several parts: those of the dense matrix that has NaN for no entry.

Features are read, cut and coded thousands at a time. Parts exchange what they need of many features at once, since a
message costs as much as thousands of entries. What is held of a batch of features is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from podium._compiled import CODE, ROW, run_threads
from podium._exchange import ALONE, Exchange
from podium._memory import enough_memory
from podium._types import SparseMatrix
from podium._validation import Array
from podium.binning import cuts, shared_bins
from podium.binning.blocks import BLOCK, BlockBins
from podium.binning.columns import ColumnBins, SparseReader
from podium.binning.cuts import Cuts, starts_of
from podium.binning.segments import Segments, owners
from podium.binning.shared_bins import BinRows, BinSample
from podium.binning.thresholds import uppers_of_given

MOST_FEATURES = 4096
"""Features of a batch: their counts, of every part, take 32 KB a part."""
MOST_ENTRIES = 2**20
"""Entries of a batch that a part holds, or gathers from all parts; one feature may have more."""
MOST_ENTRIES_ALONE = 2**14
"""The same where there is one part: threads share batches out."""


def bin_sparse_together(X: SparseMatrix, part: BinRows) -> BlockBins:
    """Bin a sparse matrix by columns; row i of the codes is row ``rows[i]`` of X, and what is absent is missing."""
    what, advice = f"A sparse X of {X.shape[1]} columns, as trees read it,", "take fewer, or use RankBoost"
    with enough_memory(len(part.rows) * X.shape[1], what, advice):
        codes = np.zeros((-(-X.shape[1] // BLOCK), len(part.rows), BLOCK), CODE)
    nothing = np.empty(0, np.uint32)

    def keep(features: range, found: CutEntries) -> CutEntries:
        """Write the codes of some features, after which their entries are no longer needed."""
        feature = np.repeat(np.asarray(features), found.counts)
        codes[feature // BLOCK, found.places, feature % BLOCK] = found.codes
        return found._replace(places=nothing, codes=nothing)

    _, cuts_of_all = _cut_entries(X, part, keep)
    return BlockBins(codes, cuts_of_all)


def sparse_columns_together(X: SparseMatrix, part: BinRows) -> ColumnBins:
    """Bin a sparse matrix as `bin_sparse_together` does, but keep what is stored alone, in the order of codes."""

    def keep(_: range, found: CutEntries) -> CutEntries:
        """Sort the entries of each feature by their codes."""
        order = np.lexsort((found.codes.astype(np.uint16), owners(found.counts)))
        return found._replace(places=found.places[order], codes=found.codes[order])

    results, cuts_of_all = _cut_entries(X, part, keep)
    return ColumnBins(
        np.concatenate([found.places for found in results]),
        np.concatenate([found.codes for found in results]),
        starts_of(np.concatenate([found.counts for found in results])),
        cuts_of_all,
        len(part.rows),
    )


def sparse_columns(
    X: SparseMatrix,
    rows: Array,
    weight: Array | None,
    max_bins: int | None,
    n_threads: int,
    n_categories: Array,
    thresholds: Sequence[Array | None],
) -> ColumnBins:
    """Bin a sparse matrix by columns as `bin_features` says, from all its rows; row i of the result is ``rows[i]``."""
    reader = SparseReader.of(X, rows)
    weight = None if max_bins is None else weight

    def cut(features: range) -> tuple[Array, Array, Array, Segments, Array]:
        """Return rows and codes of some features in the order of their values, counts, uppers and who has -inf."""
        places, values, starts = reader.batch(features)
        entries = Segments(values, None, starts)
        # Sums of weights depend on their order in the last bit, so they are taken in an order free of the caller's.
        order = entries.sequence(None if weight is None else places)
        places = places[order]
        entries = Segments(values[order], None if weight is None else weight[places], starts)
        runs = entries.runs_of_sorted()
        uppers = runs if max_bins is None else runs.uppers(max_bins)
        uppers = _with_categories(uppers, n_categories[features.start : features.stop])
        uppers = _with_given(uppers, entries, thresholds[features.start : features.stop])
        return places, entries.codes_of_sorted(uppers), entries.counts, uppers, entries.has_lowest()

    calls = [(features,) for features in feature_batches(X, ALONE)]
    places, codes, counts, uppers, lowest = zip(*run_threads(cut, calls, n_threads), strict=True)
    all_counts = np.concatenate(counts)
    return ColumnBins(
        np.concatenate(places),
        np.concatenate(codes),
        starts_of(all_counts),
        _cuts_of(uppers, np.concatenate(lowest), all_counts < len(rows)),
        len(rows),
    )


class CutEntries(NamedTuple):
    """The stored entries of some sparse features, one feature after the other.

    Attributes
    ----------
    places, codes : ndarray of uint32
        Row and code of each.
    counts : ndarray of int64
        How many entries each feature has.
    uppers : Segments
        Uppermost values of the features' bins.
    has_lowest : ndarray of bool
        Whether one is -inf.
    """

    places: Array
    codes: Array
    counts: Array
    uppers: Segments
    has_lowest: Array


def _cut_entries(
    X: SparseMatrix, part: BinRows, keep: Callable[[range, CutEntries], CutEntries]
) -> tuple[list[CutEntries], Cuts]:
    """Cut all features of a sparse matrix; `keep` is called with each batch, and returns what is needed of it."""
    exchange, sample = part.exchange, BinSample.draw(part.weight, part.keys, part.exchange)
    reader, n_rows = SparseReader.of(X, part.rows), len(part.rows)
    drawn = None if sample.rows is None else np.isin(np.arange(n_rows), sample.rows)

    def cut(features: range) -> CutEntries:
        """Cut some features."""
        places, values, starts = reader.batch(features)
        entries = Segments(values, None if sample.own_shares is None else sample.own_shares[places], starts)
        known = part.n_categories[features.start : features.stop]
        uppers = _uppers_together(entries, None if drawn is None else drawn[places], known, part)
        codes, counts = entries.codes(uppers), entries.counts
        return keep(features, CutEntries(places, codes, counts, uppers, entries.has_lowest()))

    calls = [(features,) for features in feature_batches(X, exchange, cuts.MAX_ROWS_SORTED)]
    results = run_threads(cut, calls, part.n_threads if exchange.size == 1 else 1)  # parts must speak in turn
    lowest = np.concatenate([found.has_lowest for found in results])
    missing = np.concatenate([found.counts for found in results]) < n_rows
    return results, _cuts_of([found.uppers for found in results], *exchange.largest(np.stack([lowest, missing])))


def _cuts_of(uppers: Sequence[Segments], has_lowest: Array, has_missing: Array) -> Cuts:
    """Return the thresholds of all features from the uppermost values of the bins of each batch."""
    n_bins = np.concatenate([one.counts for one in uppers])
    return Cuts.of(np.concatenate([one.values for one in uppers]), n_bins, has_lowest, has_missing)


def feature_batches(X: SparseMatrix, exchange: Exchange, most_gathered: float = np.inf) -> Iterator[range]:
    """Yield the features of a sparse matrix by columns in runs, the same in every part.

    Parameters
    ----------
    X : sparse matrix
        The rows of this part.
    exchange : Exchange
    most_gathered : float
        How many entries of a feature are gathered from all parts at most.
    """
    n_entries, most = np.diff(X.indptr).astype(ROW), MOST_ENTRIES if exchange.size > 1 else MOST_ENTRIES_ALONE
    for first in range(0, len(n_entries), MOST_FEATURES):
        counts = exchange.gather(n_entries[first : first + MOST_FEATURES])
        gathered = np.minimum(counts.sum(axis=0), most_gathered)
        for start, stop in _runs_within(np.maximum(counts.max(axis=0), gathered), most):
            yield range(first + start, first + stop)


def _runs_within(sizes: Array, most: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of consecutive runs whose sizes add up to `most` at most, or of one that is larger."""
    upto, start = starts_of(sizes), 0
    while start < len(sizes):
        stop = max(start + 1, int(np.searchsorted(upto, upto[start] + most, "right")) - 1)
        yield start, stop
        start = stop


def _uppers_together(entries: Segments, drawn: Array | None, known: Array, part: BinRows) -> Segments:
    """Return the uppermost values of the bins of some features: of each what `sampled_uppers` returns.

    1. Gather the values of the sampled rows, and cut the features at these.
    2. Of a feature that has few values in a sample, take those of all rows, unless they are too many.
    3. Categories are known.

    Parameters
    ----------
    entries : Segments
    drawn : ndarray of bool or None
        Which entries are in the sample; None for all.
    known : ndarray of int64
        For each feature how many categories it has, -1 if it is a number.
    part : BinRows
    """
    runs = (entries if drawn is None else entries.take(drawn)).gathered(part.exchange).runs()  # 1
    uppers = runs.uppers(part.max_bins)
    if drawn is not None:  # 2
        few = (runs.counts <= part.max_bins) & (known < 0)
        every, complete = _merged_runs(entries.take_features(few), part.exchange)
        uppers = uppers.replaced(few & complete, every.uppers(part.max_bins))
    return _with_categories(uppers, known)  # 3


def _with_categories(uppers: Segments, known: Array) -> Segments:
    """Return such uppers, but those of categories, of which so many are known (-1: the feature is a number)."""
    if known.max() < 0:
        return uppers
    starts = starts_of(np.maximum(known, 0))
    numbers = np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts))
    return uppers.replaced(known >= 0, Segments(numbers.astype(uppers.values.dtype), None, starts))


def _with_given(uppers: Segments, entries: Segments, thresholds: Sequence[Array | None]) -> Segments:
    """Return such uppers, but those of the features whose thresholds are given."""
    own, nothing = np.array([one is not None for one in thresholds]), entries.values[:0]
    if not own.any():
        return uppers
    values = np.split(entries.values, entries.starts[1:-1])
    both = zip(values, thresholds, strict=True)
    found = [nothing if one is None else uppers_of_given(value, one) for value, one in both]
    return uppers.replaced(own, Segments(np.concatenate(found), None, starts_of(np.array([len(one) for one in found]))))


def _merged_runs(entries: Segments, exchange: Exchange) -> tuple[Segments, Array]:
    """Return the distinct values of each feature in all parts, what each weighs, and which features are not too many.

    Those that have too many values in one part are not gathered.
    """
    most, own = shared_bins.MOST_MERGED, entries.runs()
    counts = exchange.gather(own.counts)
    few = counts.max(axis=0) <= most
    own = own.take_features(few)
    merged = [
        own.between(start, stop).gathered(exchange).runs()
        for start, stop in _runs_within(np.where(few, counts.sum(axis=0), 0), MOST_ENTRIES)
    ]
    found = Segments(
        np.concatenate([one.values for one in merged]),
        np.concatenate([one.shares for one in merged if one.shares is not None]),
        starts_of(np.concatenate([one.counts for one in merged])),
    )
    return found, few & (found.counts <= most)


def gather_each(own: Sequence[Array], exchange: Exchange) -> list[Array]:
    """Return ``[exchange.gather_rows(one) for one in own]``, in few messages."""
    if exchange.size == 1 or not own:
        return list(own)
    counts = exchange.gather(np.array([len(one) for one in own], ROW))
    values = exchange.gather_rows(np.concatenate(own))
    which = np.repeat(np.tile(np.arange(len(own), dtype=np.int16), exchange.size), counts.reshape(-1))
    return np.split(values[np.argsort(which, kind="stable")], np.cumsum(counts.sum(axis=0))[:-1])
