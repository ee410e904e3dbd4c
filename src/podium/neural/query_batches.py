"""Mini-batches of whole queries, drawn anew for each epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from podium._compiled import ROW
from podium._validation import Array
from podium.data import Feedback, Graded


@dataclass(frozen=True, eq=False)
class Batch:
    """Queries that are learned from in one update.

    Attributes
    ----------
    queries : ndarray of int64
        Ascending.
    rows : ndarray of int64
        Grouped rows of these queries, ascending.
    """

    queries: Array
    rows: Array


class QueryBatches:
    """Splits queries into batches, in an order that the seed and the epoch's number fix.

    Queries that explicit pairs join stay in one batch; queries without any pair are left out.

    Parameters
    ----------
    feedback : Graded, Pairs or FeedbackSum
    offsets : ndarray of int64
        Of the queries.
    batch_size : int
        Queries of a batch, more only where pairs join them.
    seed : int
    """

    def __init__(self, feedback: Feedback, offsets: Array, batch_size: int, seed: int) -> None:
        self.offsets, self.batch_size, self.seed = offsets, batch_size, seed
        group, learned = _groups(feedback, offsets)
        members = np.flatnonzero(learned)
        order = members[np.argsort(group[members], kind="stable")]
        starts = np.flatnonzero(np.diff(group[order], prepend=-1))
        self.groups = np.split(order, starts[1:])

    def of_epoch(self, number: int) -> Iterator[Batch]:
        """Yield the batches of an epoch, counted from 1."""
        drawn = np.random.default_rng([self.seed, number]).permutation(len(self.groups))
        chosen: list[Array] = []
        n_chosen = 0
        for place in drawn.tolist():
            chosen.append(self.groups[place])
            n_chosen += len(chosen[-1])
            if n_chosen >= self.batch_size:
                yield self.batch_of(np.concatenate(chosen))
                chosen, n_chosen = [], 0
        if chosen:
            yield self.batch_of(np.concatenate(chosen))

    def batch_of(self, queries: Array) -> Batch:
        """Return a batch of these queries."""
        ordered = np.sort(queries)
        starts, sizes = self.offsets[ordered], self.offsets[ordered + 1] - self.offsets[ordered]
        before = np.cumsum(sizes) - sizes
        return Batch(ordered, np.repeat(starts - before, sizes) + np.arange(sizes.sum(), dtype=ROW))


def _groups(feedback: Feedback, offsets: Array) -> tuple[Array, Array]:
    """Return a number for each query, the same where pairs join queries, and whether it has any pair."""
    n_queries = len(offsets) - 1
    learned, joined = np.zeros(n_queries, bool), [np.zeros((2, 0), ROW)]
    for part in feedback.parts:
        if isinstance(part, Graded):
            learned |= part.pairs_per_query > 0
        else:
            ends = np.stack([np.searchsorted(offsets, rows, "right") - 1 for rows in (part.better, part.worse)])
            learned[ends.ravel()] = True
            joined.append(ends)
    ends = np.concatenate(joined, axis=1)
    graph = sp.coo_array((np.ones(ends.shape[1], bool), (ends[0], ends[1])), (n_queries, n_queries))
    return connected_components(graph, directed=False)[1], learned
