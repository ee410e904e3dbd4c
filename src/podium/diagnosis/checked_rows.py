"""The data set that checks look at: checked once, with what several of them need."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from podium._types import MatrixLike, PairsLike
from podium._validation import Array, PodiumError
from podium.data import Categories, ColumnFacts, Graded, RankingData, column_facts, hash_features, hash_queries
from podium.diagnosis.finding import MAX_PLACES


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """Rows, labels, queries and pairs behind the gate; columns of categories hold their codes."""

    data: RankingData
    categories: Categories

    @classmethod
    def of(
        cls,
        X: MatrixLike,
        y: ArrayLike | None,
        qid: ArrayLike | None,
        group: ArrayLike | None,
        pairs: PairsLike | None = None,
        items: ArrayLike | None = None,
        categories: Categories | None = None,
    ) -> CheckedRows:
        """Check what the caller gave; categories are those of X itself, unless they are given."""
        known = Categories.learn(X, "from_dtype") if categories is None else categories
        data = RankingData.from_arrays(X, y, qid=qid, group=group, pairs=pairs, items=items, categories=known)
        return cls(data, known)

    @classmethod
    def of_test(cls, test: object, categories: Categories) -> CheckedRows:
        """Check the test data, X, y and qid, whose columns of categories are those of the training data."""
        if not isinstance(test, Sequence) or isinstance(test, str) or len(test) < 3:
            raise PodiumError("test must be (X, y, qid) or a RankingTable; y and qid may be None.")
        try:
            return cls.of(test[0], test[1], test[2], None, categories=categories)
        except PodiumError as error:
            raise type(error)(f"test: {error}") from None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.data.queries.rows)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the features, or their numbers counted from 1."""
        return self.data.feature_names or tuple(str(j + 1) for j in range(self.data.features.shape[1]))

    @cached_property
    def facts(self) -> ColumnFacts:
        """What each feature holds."""
        return column_facts(self.data.features)

    @cached_property
    def query(self) -> Array:
        """Number of each row's query, in the caller's order of rows."""
        queries = self.data.queries
        return queries.to_caller(np.repeat(np.arange(len(queries)), queries.sizes))

    @cached_property
    def hashes(self) -> Array:
        """Hash of the features of each row, in the caller's order."""
        return hash_features(self.data.features)

    @cached_property
    def query_hashes(self) -> Array:
        """Hash of the features of each query's rows."""
        return hash_queries(self.hashes, self.query, len(self.data.queries))

    @cached_property
    def pairs_per_query(self) -> Array:
        """Pairs of rows with different labels, of each query; 0 without labels."""
        data = self.data
        if data.labels is None:
            return np.zeros(len(data.queries), np.int64)
        return Graded(data.labels, data.queries.offsets, data.row_weight, data.query_weight).pairs_per_query

    def named(self, chosen: Array) -> tuple[str, ...]:
        """Return the names of some features, given by their places or a mask."""
        return tuple(np.array(self.names, object)[chosen])

    def ids(self, chosen: Array) -> tuple[Hashable, ...]:
        """Return the ids of some queries, given by their places or a mask, sorted where they can be."""
        ids = self.data.queries.ids[chosen].tolist()
        try:
            return tuple(sorted(ids))
        except TypeError:  # ids of mixed kinds
            return tuple(sorted(ids, key=str))

    def to_caller_rows(self, grouped: Array) -> tuple[int, ...]:
        """Return the caller's numbers of some grouped rows, the first thousand."""
        return tuple(np.unique(self.data.queries.rows[grouped])[:MAX_PLACES].tolist())
