"""What is wrong with queries and labels: too few, split apart, of one grade, repeated, impossible to tell apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from podium._validation import Array
from podium.data import one_query_sentence, why_no_pairs
from podium.diagnosis.checked_rows import CheckedRows
from podium.diagnosis.finding import MAX_PLACES, Finding, counted, verb

MAX_SILENT_SHARE = 0.5
"""Share of queries with nothing to learn above which that is more than a note."""
LARGEST_SHARE = 0.5
"""Share of all pairs above which one query outweighs the others."""
QUERIES_TO_OUTWEIGH = 10
"""Queries with pairs below which one may well have most of them."""
LARGEST_GRADE = 31.0
"""Range of labels above which gains of 2^y - 1 leave the highest label alone in the sum: float32 has 24 bits."""


def check_queries(rows: CheckedRows) -> Iterator[Finding]:
    """Yield what is found."""
    yield from _check_feedback(rows)
    yield from _check_split(rows)
    if rows.data.labels is not None:
        yield from _check_silent(rows)
        yield from _check_weights(rows)
        yield from _check_twins(rows)
        yield from _check_grades(rows)
    yield from _check_repeated(rows)


def _check_feedback(rows: CheckedRows) -> Iterator[Finding]:
    """Nothing to rank at all; all rows one query."""
    data = rows.data
    if data.pairs is None and not rows.pairs_per_query.any():
        yield Finding("nothing-to-rank", "error", why_no_pairs(data))
    if not data.queries_given:
        sentence = one_query_sentence(data.labels, "", "group=[{}]")
        if sentence is not None:
            yield Finding("one-query", "warning", sentence)


def _check_split(rows: CheckedRows) -> Iterator[Finding]:
    """Queries whose rows do not stand together."""
    query = rows.query
    starts = query[np.flatnonzero(np.diff(query, prepend=-1))]
    split = np.bincount(starts, minlength=len(rows.data.queries)) > 1
    if split.any():
        ids = rows.ids(split)
        sentence = (
            f"{counted(ids, 'query', 'queries')} {verb(ids, 'stands', 'stand')} in several places of the data: Podium "
            "joins their rows, while other tools take each place for a query of its own. Check that different queries, "
            "as of files put together, do not share an id, and sort the rows by query."
        )
        yield Finding("split-queries", "warning", sentence, queries=ids[:MAX_PLACES])


def _check_silent(rows: CheckedRows) -> Iterator[Finding]:
    """Queries of one row, and of one grade."""
    sizes, silent = rows.data.queries.sizes, rows.pairs_per_query == 0
    severity = "warning" if silent.mean() > MAX_SILENT_SHARE else "note"
    if len(sizes) == 1 and silent.all():
        return  # said before: there is nothing to rank
    single, flat = rows.ids(sizes == 1), rows.ids(silent & (sizes > 1))
    if single:
        sentence = (
            f"{counted(single, 'query', 'queries')} {verb(single, 'has', 'have')} one row, and nothing to learn from; "
            "check that qid is the same for all rows that compete, or leave them out."
        )
        yield Finding("single-row-queries", severity, sentence, queries=single[:MAX_PLACES])
    if flat:
        sentence = (
            f"{counted(flat, 'query', 'queries')} {verb(flat, 'has', 'have')} one grade for all rows, and nothing to "
            "learn from: most measures skip such queries, and fits go quicker without them."
        )
        yield Finding("one-grade-queries", severity, sentence, queries=flat[:MAX_PLACES])


def _check_weights(rows: CheckedRows) -> Iterator[Finding]:
    """One query with most of the pairs."""
    pairs = rows.pairs_per_query
    largest = int(np.argmax(pairs))
    if (pairs > 0).sum() < QUERIES_TO_OUTWEIGH or pairs[largest] <= LARGEST_SHARE * pairs.sum():
        return
    ids = rows.ids(np.array([largest]))
    sentence = (
        f"Query {ids[0]} has {pairs[largest] / pairs.sum():.0%} of all pairs, and outweighs the other queries; "
        'RankBoost(pair_weight="queries") lets all queries weigh the same.'
    )
    yield Finding("dominant-query", "warning", sentence, queries=ids)


def _check_twins(rows: CheckedRows) -> Iterator[Finding]:
    """Rows of a query with the same features and different labels."""
    data = rows.data
    hashes, query = rows.hashes[data.queries.rows], np.repeat(np.arange(len(data.queries)), data.queries.sizes)
    order = np.lexsort((_labels(rows), hashes, query))
    same = (np.diff(query[order]) == 0) & (hashes[order[1:]] == hashes[order[:-1]])
    opposed = np.flatnonzero(same & (np.diff(_labels(rows)[order]) != 0))
    if len(opposed):
        twins = np.unique(np.concatenate([order[opposed], order[opposed + 1]]))
        sentence = (
            f"{len(twins):,} rows have the same features as another row of their query and a different label, so that "
            "no ranker can tell them apart; add a feature that does, or give such rows one label."
        )
        yield Finding("contradictory-labels", "note", sentence, (), rows.ids(np.unique(query[twins]))[:MAX_PLACES],
                      rows.to_caller_rows(twins))  # fmt: skip


def _check_grades(rows: CheckedRows) -> Iterator[Finding]:
    """Labels too far apart for gains of 2^y - 1."""
    labels = _labels(rows)
    if labels.max() - labels.min() > LARGEST_GRADE:
        sentence = (
            f"Labels go from {labels.min():g} to {labels.max():g}: in NDCG, whose gain is 2^y - 1, the highest ones "
            'count alone. Use grades such as 0 to 4, gain="linear" in `evaluate`, or PairBoost, a ranker of amounts.'
        )
        yield Finding("large-labels", "warning", sentence)


def _check_repeated(rows: CheckedRows) -> Iterator[Finding]:
    """Queries with the same rows under different ids."""
    _, first, counts = np.unique(rows.query_hashes, return_index=True, return_counts=True)
    repeated = np.isin(rows.query_hashes, rows.query_hashes[first[counts > 1]]) & (rows.data.queries.sizes > 1)
    if repeated.any():
        ids = rows.ids(repeated)
        sentence = (
            f"{counted(ids, 'query', 'queries')} have the same rows of features as another query: such copies weigh "
            "twice, and cross-validation tests on what it trained on; keep one of each."
        )
        yield Finding("repeated-queries", "warning", sentence, queries=ids[:MAX_PLACES])


def _labels(rows: CheckedRows) -> Array:
    """Return the labels, which the caller knows to be there."""
    labels = rows.data.labels
    return np.zeros(rows.n_rows) if labels is None else labels
