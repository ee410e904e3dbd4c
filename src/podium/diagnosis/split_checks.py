"""What is wrong between training and test data: queries in both, other columns, features that are lost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from podium.diagnosis.checked_rows import CheckedRows
from podium.diagnosis.finding import MAX_PLACES, Finding, counted, verb


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
