"""Marks of the queries that a ranker learned from, by which a query that a fold has cut in two is noticed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podium._validation import Array
from podium.data import Queries


class QueryMarks(NamedTuple):
    """What tells the queries of some data from parts of them: id, rows and labels of each.

    Attributes
    ----------
    ids : ndarray
    sizes : ndarray of int64
    sums : ndarray of uint64
        Of the labels' bits.
    """

    ids: Array
    sizes: Array
    sums: Array

    @classmethod
    def of(cls, queries: Queries, labels: Array) -> QueryMarks:
        """Mark queries; `labels` are of grouped rows."""
        bits = (labels + 0.0).view(np.uint64)  # whose sums wrap, and are the same in any order; -0 counts as 0
        return cls(queries.ids, queries.sizes, np.add.reduceat(bits, queries.offsets[:-1]))

    def cut(self, other: QueryMarks) -> list[object]:
        """Return the ids of queries that both have with other rows."""
        known = {one: (size, total) for one, size, total in self._rows()}
        return [one for one, size, total in other._rows() if known.get(one, (size, total)) != (size, total)]

    def _rows(self) -> zip[tuple[object, int, int]]:
        return zip(self.ids.tolist(), self.sizes.tolist(), self.sums.tolist(), strict=True)
