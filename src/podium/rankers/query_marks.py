"""Marks of the queries that a ranker learned from, by which a query that a fold has cut in two is noticed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podium._validation import Array
from podium.data import Queries


class QueryMarks(NamedTuple):
    """What tells the queries of some data from parts of them: id, rows and sum of labels of each.

    Attributes
    ----------
    ids : ndarray
    sizes : ndarray of int64
    sums : ndarray of float64
    """

    ids: Array
    sizes: Array
    sums: Array

    @classmethod
    def of(cls, queries: Queries, labels: Array) -> QueryMarks:
        """Mark queries; `labels` are of grouped rows."""
        query = np.repeat(np.arange(len(queries)), queries.sizes)
        ordered = labels[np.lexsort((labels, query))]  # sums must not depend on the order of rows
        with np.errstate(over="ignore", invalid="ignore"):  # labels may be as large as floats are
            return cls(queries.ids, queries.sizes, np.add.reduceat(ordered, queries.offsets[:-1]))

    def cut(self, other: QueryMarks) -> list[object]:
        """Return the ids of queries that both have with other rows."""
        known = {one: (size, total) for one, size, total in self._rows()}
        return [one for one, size, total in other._rows() if known.get(one, (size, total)) != (size, total)]

    def _rows(self) -> zip[tuple[object, int, float]]:
        return zip(self.ids.tolist(), self.sizes.tolist(), self.sums.tolist(), strict=True)
