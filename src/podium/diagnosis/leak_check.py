"""Features that give the answer away: one that alone orders nearly all pairs was most likely made from the label."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from podium._compiled import run_threads
from podium._validation import Array
from podium.diagnosis.checked_rows import CheckedRows
from podium.diagnosis.feature_columns import grouped_column
from podium.diagnosis.finding import Finding, counted, verb
from podium.measures import measure_queries, parse_measure

LEAK_SHARE = 0.99
"""Share of pairs that a feature must order rightly, or wrongly, to be taken for a leak."""
SCREEN_SHARE = 0.95
"""The same among the rows that all features are tried on first."""
SCREENED_ROWS = 100_000
"""Rows that all features are tried on: the standard error of a share is below 0.002 there."""
LEAST_ROWS = 30
"""Rows that must stand above others, and below others: with fewer, good features order all pairs by chance."""
LOSS = parse_measure("pair_loss_2")


def check_leaks(rows: CheckedRows, n_threads: int) -> Iterator[Finding]:
    """Yield what is found: exact shares of all pairs, for features that order those of a sample."""
    labels, offsets = rows.data.labels, rows.data.queries.offsets
    if labels is None or not _enough_rows(labels, offsets):
        return
    varied = np.flatnonzero(~rows.facts.constant)
    starts = offsets[:-1]
    first = np.append(starts[starts < SCREENED_ROWS], min(SCREENED_ROWS, offsets[-1]))
    screened = _shares(rows, varied, first, n_threads)
    suspected = varied[screened >= SCREEN_SHARE]
    shares = _shares(rows, suspected, offsets, n_threads)
    leaks, found = suspected[shares >= LEAK_SHARE], shares[shares >= LEAK_SHARE]
    if len(leaks):
        names = rows.named(leaks)
        sentence = (
            f"{counted(names, 'feature')} alone {verb(names, 'puts', 'put')} {found.min():.1%} or more of the pairs in "
            "order, or in the opposite order: likely made from the label, or known only after it. Leave out what is "
            "not known when new rows are ranked."
        )
        yield Finding("leaking-features", "warning", sentence, names)


def _shares(rows: CheckedRows, features: Array, offsets: Array, n_threads: int) -> Array:
    """Return the share of pairs that each feature orders, in whichever direction orders more."""
    labels = rows.data.labels
    if labels is None or len(features) == 0:
        return np.empty(0)
    calls = [(rows, int(feature), labels[: offsets[-1]], offsets) for feature in features]
    return np.array(run_threads(_share, calls, n_threads))


def _share(rows: CheckedRows, feature: int, labels: Array, offsets: Array) -> float:
    """Return the share of pairs that a feature orders; missing values stand below all others, or above."""
    column = grouped_column(rows.data.features, feature, rows.data.queries.rows[: offsets[-1]])
    missing = np.isnan(column)
    fills = (-np.inf, np.inf) if missing.any() else (-np.inf,)
    losses = [measure_queries(LOSS, labels, np.where(missing, fill, column), offsets).mean for fill in fills]
    return max(max(loss, 1 - loss) for loss in losses) if not np.isnan(losses[0]) else 0.0


def _enough_rows(labels: Array, offsets: Array) -> bool:
    """Say whether at least thirty rows stand above others of their query, and as many below."""
    sizes = np.diff(offsets)
    lowest, highest = (np.repeat(reduce.reduceat(labels, offsets[:-1]), sizes) for reduce in (np.minimum, np.maximum))
    return bool(min((labels > lowest).sum(), (labels < highest).sum()) >= LEAST_ROWS)
