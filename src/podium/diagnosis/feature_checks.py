"""What is wrong with features: constant, constant within queries, missing, infinite, or the same as another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from podium._sparse import is_sparse
from podium._validation import Array
from podium.data import hash_columns, why_columns_rank_nothing
from podium.diagnosis.checked_rows import CheckedRows
from podium.diagnosis.feature_columns import dense_column
from podium.diagnosis.finding import MAX_LISTED, Finding, counted, verb

MIN_MISSING_SHARE = 0.5
"""Share of rows from which on a feature is mostly missing."""
CELLS_PER_BLOCK = 2**15
"""Cells compared together: a block and its copies stay in the second-level cache."""


def check_features(rows: CheckedRows) -> Iterator[Finding]:
    """Yield what is found."""
    why = why_columns_rank_nothing(rows.facts)
    if why is not None:
        yield Finding("no-usable-feature", "error", f"Nothing can be learned: {why}; add features that differ.")
    yield from _check_constant(rows)
    yield from _check_within_queries(rows)
    yield from _check_missing(rows)
    yield from _check_duplicates(rows)


def _check_constant(rows: CheckedRows) -> Iterator[Finding]:
    """Features that are missing in all rows, or have one value in all."""
    facts = rows.facts
    empty, constant = rows.named(facts.empty), rows.named(facts.constant & ~facts.empty)
    if empty:
        sentence = (
            f"{counted(empty, 'feature')} {verb(empty, 'is', 'are')} missing in every row; leave them out, or look for "
            "what was lost on the way here."
        )
        yield Finding("empty-features", "warning", sentence, empty)
    if constant:
        sentence = (
            f"{counted(constant, 'feature')} {verb(constant, 'has', 'have')} one value in all rows and cannot rank "
            "anything; leave them out."
        )
        yield Finding("constant-features", "warning", sentence, constant)


def _check_within_queries(rows: CheckedRows) -> Iterator[Finding]:
    """Features that tell queries apart, but not the rows of any."""
    flat = rows.named(_flat_within_queries(rows) & ~rows.facts.constant)
    if flat and len(rows.data.queries) < rows.n_rows:
        sentence = (
            f"{counted(flat, 'feature')} {verb(flat, 'is', 'are')} constant within every query: alone "
            f"{verb(flat, 'it ranks', 'they rank')} nothing, so that stumps and linear rankers cannot use "
            f"{verb(flat, 'it', 'them')}, while trees can, together with others."
        )
        yield Finding("query-constant-features", "note", sentence, flat)


def _check_missing(rows: CheckedRows) -> Iterator[Finding]:
    """Missing and infinite values."""
    facts = rows.facts
    some = (facts.missing > 0) & ~facts.empty
    if some.any():
        share = facts.missing[some].sum() / (facts.n_rows * len(facts.missing))
        mostly = rows.named(some & (facts.missing >= MIN_MISSING_SHARE * facts.n_rows))
        more = f", {counted(mostly, 'of them', 'of them')} in at least half of the rows" if mostly else ""
        sentence = (
            f"{share:.1%} of the values are missing, in {counted(rows.named(some), 'feature')}{more}: a missing value "
            "abstains. If it means zero or least, fill it in; if it means unknown, leave it."
        )
        yield Finding("missing-values", "note", sentence, rows.named(some))
    infinite = rows.named(facts.infinite > 0)
    if infinite:
        sentence = (
            f"{counted(infinite, 'feature')} {verb(infinite, 'holds', 'hold')} infinite values, which linear rankers "
            "refuse; put the largest sensible number in their place."
        )
        yield Finding("infinite-values", "warning", sentence, infinite)


def _check_duplicates(rows: CheckedRows) -> Iterator[Finding]:
    """Features that are the same as another in every row."""
    groups = _equal_columns(rows)
    if groups:
        shown = "; ".join(" = ".join(rows.named(np.array(group))) for group in groups[:MAX_LISTED])
        rest = "; …" if len(groups) > MAX_LISTED else ""
        copies = sum(map(len, groups)) - len(groups)
        sentence = (
            f"{copies:,} {'feature is' if copies == 1 else 'features are'} the same as another in every row "
            f"({shown}{rest}): they cost time and share out importances; keep one of each."
        )
        yield Finding("duplicate-features", "warning", sentence, rows.named(np.concatenate(groups)))


def _flat_within_queries(rows: CheckedRows) -> Array:
    """Say of each feature whether all rows of each query are alike in it.

    Each row is compared with the first of its query, in blocks, and a feature that differed once is looked at no more.
    """
    features, queries = rows.data.features, rows.data.queries
    if is_sparse(features):
        return np.array([_is_flat(dense_column(features, j), rows) for j in range(features.shape[1])])
    first = queries.rows[queries.offsets[:-1]][rows.query]
    left = np.arange(features.shape[1])
    step = max(1, CELLS_PER_BLOCK // features.shape[1])
    for start in range(0, rows.n_rows, step):
        if len(left) == 0:
            break
        own = slice(start, start + step)
        left = left[~_differ(features[own, left], features[np.ix_(first[own], left)]).any(axis=0)]
    return np.isin(np.arange(features.shape[1]), left)


def _is_flat(column: Array, rows: CheckedRows) -> bool:
    """Say whether all rows of each query are alike in a column."""
    queries = rows.data.queries
    return not _differ(column, column[queries.rows[queries.offsets[:-1]][rows.query]]).any()


def _equal_columns(rows: CheckedRows) -> list[list[int]]:
    """Return groups of features that are equal in all rows; constant ones are left out."""
    features = rows.data.features
    keys = hash_columns(features)
    places = [j for j in np.lexsort((np.arange(len(keys)), keys)).tolist() if not rows.facts.constant[j]]
    groups = []
    for _, group in groupby(places, key=lambda j: int(keys[j])):
        first, *others = group
        same = [j for j in others if not _differ(dense_column(features, first), dense_column(features, j)).any()]
        if same:
            groups.append([first, *same])
    return sorted(groups)


def _differ(one: Array, other: Array) -> Array:
    """Say where numbers differ; two missing ones do not."""
    different: Array = (one != other) & ~(np.isnan(one) & np.isnan(other))
    return different
