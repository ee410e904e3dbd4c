"""Bins of sparse features whose rows may lie in several parts: those of the dense matrix that has NaN for no entry.

Parts exchange what they need of many features at once, since a message costs as much as thousands of entries. What is
held of a batch of features is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from podium._compiled import CODE, ROW, run_threads
from podium._exchange import Exchange
from podium._types import SparseMatrix
from podium._validation import Array
from podium.binning import cuts, shared_bins
from podium.binning.blocks import BLOCK, BlockBins
from podium.binning.columns import ColumnBins, SparseReader
from podium.binning.cuts import Cuts
from podium.binning.shared_bins import BinRows, BinSample, distinct_runs, uppers_of_runs

MOST_FEATURES = 4096
"""Features of a batch: their counts, of every part, take 32 KB a part."""
MOST_ENTRIES = 2**20
"""Entries of a batch that a part holds, or gathers from all parts; one feature may have more."""
MOST_ENTRIES_ALONE = 2**14
"""The same where there is one part: threads share batches out."""


def bin_sparse_together(X: SparseMatrix, part: BinRows) -> BlockBins:
    """Bin a sparse matrix by columns; row i of the codes is row ``rows[i]`` of X, and what is absent is missing."""
    codes, nothing = np.zeros((-(-X.shape[1] // BLOCK), len(part.rows), BLOCK), CODE), np.empty(0, np.uint32)

    def keep(feature: int, found: CutEntries) -> CutEntries:
        """Write the codes of a feature, after which its entries are no longer needed."""
        codes[feature // BLOCK, found.places, feature % BLOCK] = found.codes
        return found._replace(places=nothing, codes=nothing)

    _, cuts_of_all = _cut_entries(X, part, keep)
    return BlockBins(codes, cuts_of_all)


def sparse_columns_together(X: SparseMatrix, part: BinRows) -> ColumnBins:
    """Bin a sparse matrix as `bin_sparse_together` does, but keep what is stored alone, in the order of codes."""

    def keep(feature: int, found: CutEntries) -> CutEntries:
        """Sort the entries of a feature by their codes."""
        order = np.argsort(found.codes, kind="stable")
        return found._replace(places=found.places[order], codes=found.codes[order])

    results, cuts_of_all = _cut_entries(X, part, keep)
    return ColumnBins(
        np.concatenate([found.places for found in results]),
        np.concatenate([found.codes for found in results]),
        np.concatenate([[0], np.cumsum([found.n_ranked for found in results])]).astype(ROW),
        cuts_of_all,
        len(part.rows),
    )


class CutEntries(NamedTuple):
    """The stored entries of a sparse feature.

    Attributes
    ----------
    places, codes : ndarray of uint32
        Row and code of each.
    n_ranked : int
        How many there are.
    uppers : ndarray
        Uppermost values of the feature's bins.
    has_lowest : bool
        Whether one is -inf.
    """

    places: Array
    codes: Array
    n_ranked: int
    uppers: Array
    has_lowest: bool


class Entries(NamedTuple):
    """Rows, values and rounded weights of the stored entries of a sparse feature, and which are in the sample."""

    places: Array
    values: Array
    shares: Array | None
    chosen: Array

    @classmethod
    def read(cls, reader: SparseReader, feature: int, shares: Array | None, drawn: Array) -> Entries:
        """Read a feature; weights and the sample are given by row."""
        places, values = reader.entries(feature)
        return cls(places, values, None if shares is None else shares[places], drawn[places])

    def coded(self, uppers: Array) -> CutEntries:
        """Cut the feature at such values."""
        codes = (1 + np.searchsorted(uppers[:-1], self.values)).astype(np.uint32)
        return CutEntries(self.places, codes, len(codes), uppers, bool((self.values == -np.inf).any()))


def _cut_entries(
    X: SparseMatrix, part: BinRows, keep: Callable[[int, CutEntries], CutEntries]
) -> tuple[list[CutEntries], Cuts]:
    """Cut all features of a sparse matrix; `keep` is called with each, and returns what is needed of it."""
    exchange, sample = part.exchange, BinSample.draw(part.weight, part.keys, part.exchange)
    reader, n_rows = SparseReader.of(X, part.rows), len(part.rows)
    drawn = np.ones(n_rows, np.bool_) if sample.rows is None else np.isin(np.arange(n_rows), sample.rows)

    def cut(features: range) -> list[CutEntries]:
        """Cut some features."""
        entries = [Entries.read(reader, feature, sample.own_shares, drawn) for feature in features]
        uppers = _uppers_together(entries, part.n_categories[features.start : features.stop], sample, part)
        each = zip(features, entries, uppers, strict=True)
        return [keep(feature, own.coded(upper)) for feature, own, upper in each]

    calls = [(features,) for features in feature_batches(X, exchange, cuts.MAX_ROWS_SORTED)]
    batches = run_threads(cut, calls, part.n_threads if exchange.size == 1 else 1)  # parts must speak in turn
    results = [found for batch in batches for found in batch]
    facts = np.array([(found.has_lowest, found.n_ranked < n_rows) for found in results])
    return results, Cuts.join([found.uppers for found in results], *exchange.largest(facts.T))


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
    upto, start = np.concatenate([[0], np.cumsum(sizes)]), 0
    while start < len(sizes):
        stop = max(start + 1, int(np.searchsorted(upto, upto[start] + most, "right")) - 1)
        yield start, stop
        start = stop


def _uppers_together(entries: Sequence[Entries], known: Array, sample: BinSample, part: BinRows) -> list[Array]:
    """Return the uppermost values of the bins of some features: of each what `sampled_uppers` returns.

    1. Gather the values of the sampled rows, and cut the features at these.
    2. Of a feature that has few values in a sample, take those of all rows, unless they are too many.
    3. Categories are known.
    """
    numeric, exchange, max_bins = np.flatnonzero(known < 0).tolist(), part.exchange, part.max_bins
    uppers = [np.arange(size, dtype=entries[0].values.dtype) for size in known.tolist()]  # 3
    chosen = gather_each([entries[j].values[entries[j].chosen] for j in numeric], exchange)  # 1
    shares: Sequence[Array | None] = [None] * len(numeric)
    if sample.own_shares is not None:
        weights = [one.shares[one.chosen] for j in numeric if (one := entries[j]).shares is not None]
        shares = gather_each(weights, exchange)
    found = [cuts.sorted_uppers(*both, max_bins) for both in zip(chosen, shares, strict=True)]
    for j, (cut, _) in zip(numeric, found, strict=True):
        uppers[j] = cut
    few = [j for j, (_, exact) in zip(numeric, found, strict=True) if exact and sample.rows is not None]  # 2
    for j, runs in zip(few, _merged_each([entries[j] for j in few], exchange), strict=True):
        if runs is not None:
            uppers[j] = uppers_of_runs(*runs, max_bins)
    return uppers


def _merged_each(entries: Sequence[Entries], exchange: Exchange) -> Iterator[tuple[Array, Array] | None]:
    """Yield the distinct values of each feature in all parts and what each weighs; None where they are too many."""
    most, own = shared_bins.MOST_MERGED, [distinct_runs(one.values, one.shares) for one in entries]
    counts = exchange.gather(np.array([len(values) for values, _ in own], ROW))
    few = counts.max(axis=0, initial=0) <= most
    for start, stop in _runs_within(np.where(few, counts.sum(axis=0), 0), MOST_ENTRIES):
        kept = [own[j] for j in range(start, stop) if few[j]]
        values, shares = (gather_each(column, exchange) for column in ([v for v, _ in kept], [w for _, w in kept]))
        merged = iter([distinct_runs(*both) for both in zip(values, shares, strict=True)])
        for j in range(start, stop):
            runs = next(merged) if few[j] else None
            yield None if runs is None or len(runs[0]) > most else runs


def gather_each(own: Sequence[Array], exchange: Exchange) -> list[Array]:
    """Return ``[exchange.gather_rows(one) for one in own]``, in few messages."""
    if exchange.size == 1 or not own:
        return list(own)
    counts = exchange.gather(np.array([len(one) for one in own], ROW))
    values = exchange.gather_rows(np.concatenate(own))
    which = np.repeat(np.tile(np.arange(len(own), dtype=np.int16), exchange.size), counts.reshape(-1))
    return np.split(values[np.argsort(which, kind="stable")], np.cumsum(counts.sum(axis=0))[:-1])
