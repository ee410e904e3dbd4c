"""What is wrong between training and test data: queries in both, other columns, features that are lost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from podium._sparse import dense_rows
from podium._validation import Array
from podium.diagnosis.checked_rows import CheckedRows
from podium.diagnosis.finding import MAX_PLACES, Finding, counted, verb

LEAST_OTHERS = 20
"""Test rows that should have another value of a feature than most, from which it is odd that none has."""


def check_held_out(train: CheckedRows, test: CheckedRows) -> Iterator[Finding]:
    """Yield what is found."""
    n_train, n_test = train.data.features.shape[1], test.data.features.shape[1]
    if n_train != n_test:
        sentence = (
            f"The test data have {n_test} features and the training data {n_train}, so that no model can score both; "
            "give both the same columns."
        )
        yield Finding("different-columns", "error", sentence)
        return
    if None not in (train.data.feature_names, test.data.feature_names) and train.names != test.names:
        changed = tuple(name for name, other in zip(train.names, test.names, strict=True) if name != other)
        sentence = (
            f"{counted(changed, 'feature')} of the training data {verb(changed, 'has', 'have')} another name at the "
            "same place in the test data; put the columns into one order."
        )
        yield Finding("different-columns", "error", sentence, changed)
        return
    yield from _check_shared(train, test)
    lost = train.named(test.facts.empty & ~train.facts.empty)
    if lost:
        sentence = (
            f"{counted(lost, 'feature')} of the training data {verb(lost, 'is', 'are')} missing in every row of the "
            "test data; look for what was lost on the way here."
        )
        yield Finding("lost-features", "warning", sentence, lost)
    flat = train.named(_flat_in_test(train, test))
    if flat:
        sentence = (
            f"{counted(flat, 'feature')} {verb(flat, 'varies', 'vary')} in the training data, with one value in every "
            "row of the test data, as if lost on the way: a LETOR file may leave out what is 0."
        )
        yield Finding("flat-features", "warning", sentence, flat)


def _flat_in_test(train: CheckedRows, test: CheckedRows) -> Array:
    """Return the features that all test rows have alike, though as many training rows would have some that differ."""
    candidates = np.flatnonzero(test.facts.constant & ~test.facts.empty & ~train.facts.constant)
    flat = []
    for feature in candidates.tolist():
        column = dense_rows(train.data.features[:, [feature]])
        most = np.unique(column, return_counts=True)[1].max()
        if (1.0 - most / len(column)) * test.n_rows >= LEAST_OTHERS:
            flat.append(feature)
    return np.array(flat, np.int64)


def _check_shared(train: CheckedRows, test: CheckedRows) -> Iterator[Finding]:
    """Queries with the same rows in both, whatever their ids; and other queries with the same id."""
    shared = np.isin(test.query_hashes, train.query_hashes)
    if shared.any():
        ids = test.ids(shared)
        sentence = (
            f"{counted(ids, 'query', 'queries')} of the test data {verb(ids, 'is', 'are')} in the training data too, "
            "with the same rows of features: what is measured there says nothing of new queries. Keep each query on "
            "one side."
        )
        yield Finding("shared-queries", "error", sentence, queries=ids[:MAX_PLACES])
    if not (train.data.queries_given and test.data.queries_given):
        return
    known = set(train.data.queries.ids.tolist())
    again = np.array([one in known for one in test.data.queries.ids.tolist()]) & ~shared
    if again.any():
        ids = test.ids(again)
        sentence = (
            f"{counted(ids, 'query', 'queries')} of the test data {verb(ids, 'has', 'have')} the id of a query of the "
            "training data, with other rows: if they are the same queries, keep all rows of each on one side."
        )
        yield Finding("shared-ids", "warning", sentence, queries=ids[:MAX_PLACES])
