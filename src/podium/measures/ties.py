"""Rank each query once by its scores, and say how tied scores are treated.

A measure's one-query kernel sees the labels in rank order and the ends of the blocks of equal scores. Under
``"expected"`` a block is left whole and the kernel takes the mean over its orders; under the other rules the
rule orders the block and every row is a block of its own, for which the same kernel gives the plain value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from podium._compiled import ROW, SCORE, compiled, inlined_part
from podium._validation import Array, PodiumError
from podium.measures.sorting import BY_GRADES, COUNTING_LIMIT, best_grades, by_query_threads, sort_queries

EXPECTED, STABLE, OPTIMISTIC, PESSIMISTIC = 0, 1, 2, 3
TIE_RULES = {"expected": EXPECTED, "stable": STABLE, "optimistic": OPTIMISTIC, "pessimistic": PESSIMISTIC}
"""Names of the tie rules: the mean over all orders, the given row order, the best and the worst order."""

LABEL_SIGNS = {EXPECTED: 1.0, STABLE: 0.0, OPTIMISTIC: 1.0, PESSIMISTIC: -1.0}
"""In a block of equal scores labels descend (1), ascend (-1) or stand in row order (0)."""


@dataclass(frozen=True)
class Ranking:
    """Rows of every query in rank order, under one tie rule.

    Attributes
    ----------
    labels : float64[n]
        Labels in rank order, query after query.
    order : int64[n]
        Row number of each place, so that ``labels == given_labels[order]``.
    offsets : int64[Q + 1]
        First place of each query.
    ends : int64[n]
        Query q has its block ends, counted from its first place, in
        ``ends[offsets[q] : offsets[q] + n_blocks[q]]``.
    n_blocks : int64[Q]
        Number of blocks of each query.
    ties : str
        The tie rule.
    n_threads : int
        Threads that sort and measure.
    given_scores : float64[n], optional
        Scores as they were given, row by row.
    """

    labels: Array
    order: Array
    offsets: Array
    ends: Array
    n_blocks: Array
    ties: str
    n_threads: int = 1
    given_scores: Array | None = None

    @property
    def scores(self) -> Array:
        """Scores in rank order."""
        if self.given_scores is None:
            raise PodiumError("This ranking has places and no scores; a measure of scores cannot be taken of it.")
        scores: Array = self.given_scores[self.order]
        return scores

    @cached_property
    def _best(self) -> tuple[Array, Array]:
        """Labels of each query from the highest down, and the places in this ranking that they have."""
        best, places = np.empty(len(self.labels), SCORE), np.empty(len(self.labels), ROW)
        if all(by_query_threads(best_grades, self.offsets, self.n_threads, self.labels, self.offsets, best, places)):
            return best, places
        places, best = sort_queries(self.labels, self.offsets, self.n_threads)
        return best, places

    @property
    def best(self) -> Array:
        """Labels of each query in descending order: what a perfect ranking would show."""
        return self._best[0]

    @property
    def best_places(self) -> Array:
        """Place in its query of each row of `best`; -1 at each query's start where all labels are few grades."""
        return self._best[1]

    @property
    def has_grades(self) -> bool:
        """Whether all labels are grades, so that `best_places` says nothing else."""
        return len(self.labels) > 0 and self.best_places[0] == BY_GRADES

    @cached_property
    def sizes(self) -> Array:
        """Rows of each query."""
        return np.diff(self.offsets)

    def spread(self, per_query: Array) -> Array:
        """Give every row the number of its query."""
        return np.repeat(per_query, self.sizes)


def ranked(labels: Array, scores: Array, offsets: Array, ties: str = "expected", n_threads: int = 1) -> Ranking:
    """Sort every query by score, highest first, and arrange tied rows by the rule.

    Slow line: ``sorted(rows, key=lambda i: (-scores[i], -labels[i]))`` for each query ("expected" and
    "optimistic"; "pessimistic" has ``+labels[i]`` and "stable" no second key).

    Parameters
    ----------
    labels, scores : float64[n]
        Finite values, rows grouped by query.
    offsets : int64[Q + 1]
        First row of each query.
    ties : {"expected", "stable", "optimistic", "pessimistic"}
        Only "stable" lets the row order change a result.
    n_threads : int
        Threads to share out whole queries to.
    """
    rule = tie_rule(ties)
    labels, scores = np.ascontiguousarray(labels, SCORE), np.ascontiguousarray(scores, SCORE)
    offsets = np.ascontiguousarray(offsets, ROW)
    order, in_rank_order = sort_queries(scores, offsets, n_threads)
    ends, n_blocks = np.empty(len(scores), ROW), np.empty(len(offsets) - 1, ROW)
    out = in_rank_order, order, ends, n_blocks
    longest: list[int] = by_query_threads(arrange_queries, offsets, n_threads, labels, offsets, LABEL_SIGNS[rule], *out)
    if rule != STABLE and max(longest, default=0) > COUNTING_LIMIT:
        _arrange_long_blocks(*out, offsets, LABEL_SIGNS[rule])
    if rule != EXPECTED:
        ends, n_blocks = _single_blocks(offsets)
    return Ranking(in_rank_order, order, offsets, ends, n_blocks, ties, n_threads, scores)


def _arrange_long_blocks(
    labels: Array, order: Array, ends: Array, n_blocks: Array, offsets: Array, sign: float
) -> None:
    """Sort the rows of the blocks that `arrange_queries` leaves: those too long to sort by insertion."""
    sizes = np.diff(offsets)
    firsts = np.repeat(offsets[:-1], sizes)
    is_end = np.arange(len(labels)) - firsts < np.repeat(n_blocks, sizes)
    stops = (firsts + ends)[is_end]
    starts = np.r_[offsets[0], stops[:-1]]
    is_long = stops - starts > COUNTING_LIMIT
    for start, stop in zip(starts[is_long], stops[is_long], strict=True):
        arranged, _ = sort_queries(sign * labels[start:stop], np.array([0, stop - start]))
        labels[start:stop], order[start:stop] = labels[start:stop][arranged], order[start:stop][arranged]


def as_given(labels: Array, offsets: Array) -> Ranking:
    """Return the ranking in which every query stands as it is given."""
    places = np.arange(len(labels), dtype=ROW)
    return Ranking(np.ascontiguousarray(labels, SCORE), places, offsets, *_single_blocks(offsets), "stable")


def _single_blocks(offsets: Array) -> tuple[Array, Array]:
    """Ends and number of the blocks of each query where every row is a block of its own."""
    sizes = np.diff(offsets)
    return np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes) + 1, sizes


def tie_rule(ties: str) -> int:
    """Code of a tie rule, or the sentence that lists them."""
    if not isinstance(ties, str) or ties not in TIE_RULES:
        raise PodiumError(f"ties must be one of {', '.join(TIE_RULES)}; got {ties!r}.")
    return TIE_RULES[ties]


@compiled
def arrange_queries(
    labels: Array,
    offsets: Array,
    sign: float,
    labels_out: Array,
    order_out: Array,
    ends_out: Array,
    n_blocks_out: Array,
    first: int,
    last: int,
) -> int:
    """Find the blocks of equal scores, put labels in the place of the sorted scores, and sort those of each block.

    Parameters
    ----------
    labels, offsets : float64[n], int64[Q + 1]
        Row by row.
    sign : float
        In a block labels descend (1), ascend (-1) or stand in row order (0).
    labels_out : float64[n]
        Scores in rank order; then labels.
    order_out : int64[n]
        Row of each place, counted from its query's first; then from the first of all.
    ends_out, n_blocks_out : int64[n], int64[Q]
        See `Ranking`.
    first, last : int
        Queries.

    Returns
    -------
    int
        Rows of the longest block of ties; those of more than `COUNTING_LIMIT` are left as they are.
    """
    longest = 0
    for query in range(first, last):
        start, stop = offsets[query], offsets[query + 1]
        n_blocks = 0
        for i in range(start + 1, stop):
            ends_out[start + n_blocks] = i - start
            n_blocks += labels_out[i] != labels_out[i - 1]
        ends_out[start + n_blocks] = stop - start
        n_blocks_out[query] = n_blocks + 1
        for i in range(start, stop):
            order_out[i] += start
            labels_out[i] = labels[order_out[i]] + 0.0
        begin = start
        for block in range(start, start + n_blocks + 1 if n_blocks + 1 < stop - start else start):
            end = start + ends_out[block]
            longest = max(longest, end - begin)
            if end - begin <= COUNTING_LIMIT:
                sort_by_insertion(labels_out, order_out, begin, end, sign)
            begin = end
    return longest


@inlined_part
def sort_by_insertion(labels: Array, order: Array, start: int, stop: int, sign: float) -> None:
    """Sort the rows of one block by ``-sign * label``, in place: most blocks are short or of one label."""
    for i in range(start + 1, stop):
        label, row, place = labels[i], order[i], i
        while place > start and sign * labels[place - 1] < sign * label:
            labels[place], order[place] = labels[place - 1], order[place - 1]
            place -= 1
        labels[place], order[place] = label, row
