"""What is wrong with explicit pairs: they contradict each other, go round in circles, oppose labels, repeat."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from podium._pair_gate import PairArrays
from podium._validation import Array
from podium.data import Pairs
from podium.diagnosis.checked_rows import CheckedRows
from podium.diagnosis.finding import Finding

NET = 'consider contradictions="net" of RankBoost, which keeps the difference of their weights'


def check_pairs(rows: CheckedRows) -> Iterator[Finding]:
    """Yield what is found."""
    if rows.data.pairs is None:
        return
    pairs = np.unique(np.column_stack([rows.data.pairs.better, rows.data.pairs.worse]), axis=0)
    yield from _check_contradictions(rows, pairs)
    yield from _check_circles(rows, rows.data.pairs)
    yield from _check_labels(rows, pairs)
    repeats = len(rows.data.pairs.better) - len(pairs)
    if repeats:
        sentence = f"{repeats:,} of {len(rows.data.pairs.better):,} pairs are given again: their weights add up."
        yield Finding("repeated-pairs", "note", sentence)


def _check_contradictions(rows: CheckedRows, pairs: Array) -> Iterator[Finding]:
    """Two rows of which each is said to stand above the other."""
    both = _both_ways(pairs, rows.n_rows)
    if both.any():
        where = rows.to_caller_rows(pairs[both].ravel())
        sentence = (
            f"{both.sum() // 2:,} of {len(pairs) - both.sum() // 2:,} compared pairs of rows are given in both "
            f"directions, as that of rows {where[0]} and {_partner(rows, pairs[both], where[0])}; {NET}."
        )
        yield Finding("contradictory-pairs", "warning", sentence, rows=where)


def _check_circles(rows: CheckedRows, pairs: PairArrays) -> Iterator[Finding]:
    """Rows that stand above each other in a circle: strong components of three rows or more.

    Of pairs in both directions the heavier one counts, and none where they weigh the same: a contradiction alone is no
    circle.
    """
    clear = Pairs(*pairs).netted()
    ones = np.ones(clear.n_pairs, np.int8)
    graph = sp.csr_array((ones, (clear.better, clear.worse)), shape=(rows.n_rows, rows.n_rows))
    _, component = connected_components(graph, directed=True, connection="strong")
    sizes = np.bincount(component)
    circular = np.flatnonzero(sizes[component] > 1)
    if len(circular):
        groups = int((sizes > 1).sum())
        sentence = (
            f"{len(circular):,} rows stand above each other in circles ({groups:,} "
            f"{'group' if groups == 1 else 'groups'} of rows, the largest of {sizes.max():,}): no order agrees with "
            "all their pairs. Look at how the pairs were made; a ranker will weigh them against each other."
        )
        yield Finding("cyclic-pairs", "warning", sentence, rows=rows.to_caller_rows(circular))


def _check_labels(rows: CheckedRows, pairs: Array) -> Iterator[Finding]:
    """Pairs that oppose the labels of their rows, and pairs that join queries."""
    better, worse = pairs.T
    query = np.repeat(np.arange(len(rows.data.queries)), rows.data.queries.sizes)
    crossing = query[better] != query[worse]
    if rows.data.queries_given and crossing.any():
        sentence = (
            f"{crossing.sum():,} of {len(pairs):,} pairs join rows of different queries; where that is not meant, "
            "check the row numbers of the pairs."
        )
        yield Finding("crossing-pairs", "note", sentence, rows=rows.to_caller_rows(pairs[crossing].ravel()))
    if rows.data.labels is None:
        return
    opposed = ~crossing & (rows.data.labels[better] < rows.data.labels[worse])
    if opposed.any():
        sentence = (
            f"{opposed.sum():,} of {len(pairs):,} pairs contradict the labels of their rows; give the truth as labels "
            "or as pairs, or weigh the surer one more."
        )
        yield Finding("pairs-against-labels", "warning", sentence, rows=rows.to_caller_rows(pairs[opposed].ravel()))


def _both_ways(pairs: Array, n_rows: int) -> Array:
    """Say of each different pair whether the opposite one is given too."""
    better, worse = pairs.T
    return np.isin(better * n_rows + worse, worse * n_rows + better)


def _partner(rows: CheckedRows, pairs: Array, row: int) -> int:
    """Return the caller's row that some pair compares with the given one."""
    given = rows.data.queries.rows[pairs]
    return int(given[given[:, 0] == row][:, 1].min())
