"""Ranking data whose features stay in files: rows of a query in the canonical order, queries as the files have them.

Nothing that boosted trees compute depends on the order of the queries. As they stand in the files, codes are written,
and read, nearly in one sweep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from podium._exchange import ALONE
from podium._magnitudes import scaled_weights
from podium._validation import Array, check_labels, check_queries, check_query_weight, check_weight
from podium.binning import BinSample, rounded_shares
from podium.data import Queries, RankingData, canonical_order, row_keys
from podium.out_of_core.mapped_bins import FeatureRuns
from podium.out_of_core.parquet_rows import ParquetRows


@dataclass(frozen=True, eq=False)
class StreamedData(RankingData):
    """Ranking data without features, which stay in the files."""

    def columns(self) -> tuple[Array | None, ...]:
        """Return what another data set differs in: a digest of all rows that no order changes."""
        return (self.queries.place_keys().sum(keepdims=True),)


class ReadRows(NamedTuple):
    """What one pass over the files finds.

    Attributes
    ----------
    rows : ParquetRows
    data : StreamedData
    runs : FeatureRuns
    n_missing : int
        Missing values.
    """

    rows: ParquetRows
    data: StreamedData
    runs: FeatureRuns
    n_missing: int

    def sample(self) -> BinSample:
        """Draw the rows that bins come from, by their places in the files."""
        back = self.data.queries.to_caller
        return BinSample.draw(back(self.data.weights), back(self.data.queries.place_keys()), ALONE)


def read_rows(rows: ParquetRows, query_weight: Mapping[object, float] | None = None) -> ReadRows:
    """Read labels, queries and weights, and go through the features once.

    1. Labels, queries and weights, whole.
    2. The key of each row, and the distinct values of features that have few.
    3. The order of the rows.
    """
    n_rows = rows.n_rows
    labels = check_labels(rows.column("y"), n_rows)  # 1
    codes, ids = check_queries(rows.column("qid"), None, n_rows)
    given = rows.weights("query_weight") if query_weight is None else query_weight
    weight, per_query, _ = scaled_weights(
        check_weight(rows.weights("sample_weight"), n_rows, "sample_weight"),
        check_query_weight(given, codes, ids, grouped=False), np.zeros(0),
    )  # fmt: skip
    shares = rounded_shares(weight * per_query[codes], n_rows, ALONE)
    keys, runs, n_missing = np.empty(n_rows, np.uint64), FeatureRuns(rows.n_features), 0
    for own, features in rows.batches():  # 2
        keys[own] = row_keys(features, labels[own], weight[own], None)
        runs.add(features, None if shares is None else shares[own])
        n_missing += int(np.count_nonzero(np.isnan(features)))
    queries, order = in_given_order(*canonical_order(keys, codes, ids, per_query))  # 3
    data = StreamedData(
        np.empty((0, rows.n_features)), rows.names, queries, labels[queries.rows], weight[queries.rows],
        per_query[order], None,
    )  # fmt: skip
    return ReadRows(rows, data, runs, n_missing)


def in_given_order(queries: Queries, order: Array) -> tuple[Queries, Array]:
    """Return queries by their first rows in the caller's order, and `order` with them; rows within stay as they are."""
    by_first = np.argsort(np.minimum.reduceat(queries.rows, queries.offsets[:-1]))
    sizes = queries.sizes[by_first]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    rows = queries.rows[np.repeat(queries.offsets[by_first] - offsets[:-1], sizes) + np.arange(offsets[-1])]
    keys, contents = queries.keys[by_first], queries.contents[by_first]
    return Queries(queries.ids[by_first], rows, offsets, keys, contents), order[by_first]
