"""The squared hinge of pairs, Σ v_ij max(0, 1 - (s_i - s_j))², by order statistics: no list of pairs is made.

A pair of which row i is the better is active where s_i - s_j < 1. Sorted by score, the rows that are active with i are
a run that only grows from row to row; a Fenwick tree over the labels of the query picks those of a lower (or higher)
label. So sums over active pairs of any columns cost O(n log L) for L labels, after one sort of O(n log n) (the idea of
Airola, Pahikkala and Salakoski 2011, "Training linear ranking SVMs in linearithmic time using red-black trees").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from podium._compiled import ROW, SCORE, compiled, linked_part
from podium._validation import Array
from podium.data import Feedback, Graded, Pairs


@dataclass(frozen=True, eq=False)
class MarginState:
    """What the pairs say at some scores, each sum in parts of the total weight of pairs.

    Attributes
    ----------
    loss : float
        Σ v m², m = max(0, 1 - (s_i - s_j)).
    slack : float
        Σ v m.
    gradient : ndarray of float64, one per row
        Of the loss, by the scores.
    curvature : callable
        ``curvature(columns)`` is the generalised Hessian of the loss times each column of an array (n_rows, k).
    """

    loss: float
    slack: float
    gradient: Array
    curvature: Callable[[Array], Array]


class PairMargins:
    """The mean squared hinge over the pairs of a feedback.

    Parameters
    ----------
    feedback : Feedback
        Labels within queries, explicit pairs, or both.
    n_rows : int
    """

    def __init__(self, feedback: Feedback, n_rows: int) -> None:
        parts = relative_weights(feedback)
        self.parts = [
            _GradedMargins(part) if isinstance(part, Graded) else _ExplicitMargins(part, n_rows) for part in parts
        ]
        # At equal scores every pair has a slack of 1: a sum of positive numbers, in which no light pair cancels.
        self.total = sum(part.at(np.zeros(n_rows)).slack for part in self.parts)

    def at(self, scores: Array) -> MarginState:
        """Return loss, gradient and curvature at some scores."""
        states = [part.at(scores) for part in self.parts]
        return MarginState(
            sum(state.loss for state in states) / self.total,
            sum(state.slack for state in states) / self.total,
            np.sum([state.gradient for state in states], axis=0) / self.total,
            lambda columns: np.sum([state.curvature(columns) for state in states], axis=0) / self.total,
        )


def relative_weights(feedback: Feedback) -> list[Graded | Pairs]:
    """Return the parts with weights in parts of the heaviest pair, so that no product of tiny weights is lost as 0."""
    units = [_log_unit(part) for part in feedback.parts]
    return [_divided(part, np.exp2(unit - max(units))) for part, unit in zip(feedback.parts, units, strict=True)]


def _log_unit(part: Graded | Pairs) -> float:
    """Return the logarithm, to base 2, of the weight that a pair of the heaviest rows has."""
    if isinstance(part, Pairs):
        return float(np.log2(part.weight.max()))
    return float(2 * np.log2(part.row_weight.max()) + np.log2(part.query_weight.max()))


def _divided(part: Graded | Pairs, share: float) -> Graded | Pairs:
    """Return a part whose heaviest rows make a pair of weight `share`."""
    if isinstance(part, Pairs):
        return replace(part, weight=share * (part.weight / part.weight.max()))
    rows, queries = part.row_weight / part.row_weight.max(), part.query_weight / part.query_weight.max()
    return replace(part, row_weight=rows, query_weight=share * queries)


class _ExplicitMargins:
    """Pairs from a list: O(m)."""

    def __init__(self, pairs: Pairs, n_rows: int) -> None:
        self.pairs, self.n_rows = pairs, n_rows

    def at(self, scores: Array) -> MarginState:
        """Return the sums at some scores, not divided by the total."""
        pairs = self.pairs
        slack = np.maximum(0.0, 1.0 - (scores[pairs.better] - scores[pairs.worse]))
        weighted = pairs.weight * slack
        active = np.flatnonzero(slack > 0)
        better, worse, weight = pairs.better[active], pairs.worse[active], pairs.weight[active, None]

        def curvature(columns: Array) -> Array:
            """Return ``2 Σ v (z_i - z_j) (e_i - e_j)`` over active pairs."""
            change, sums = 2.0 * weight * (columns[better] - columns[worse]), np.zeros_like(columns)
            np.add.at(sums, better, change)
            np.subtract.at(sums, worse, change)
            return sums

        pull = np.bincount(pairs.worse, weighted, self.n_rows) - np.bincount(pairs.better, weighted, self.n_rows)
        return MarginState(float(np.sum(weighted * slack)), float(weighted.sum()), 2.0 * pull, curvature)


class _GradedMargins:
    """Pairs of different labels within queries."""

    def __init__(self, feedback: Graded) -> None:
        self.offsets, self.query = feedback.offsets, np.repeat(np.arange(len(feedback.query_weight)), _sizes(feedback))
        self.weight, self.times = feedback.row_weight, feedback.query_weight[self.query]
        self.levels, self.n_levels = levels_of(feedback.labels, feedback.offsets)

    def at(self, scores: Array) -> MarginState:
        """Return the sums at some scores, not divided by the total."""
        # Differences matter alone; sums of centred scores lose fewer digits.
        scores = scores - (np.add.reduceat(scores, self.offsets[:-1]) / np.diff(self.offsets))[self.query]
        order, weight = np.lexsort((scores, self.query)), self.weight
        below, above = self._active_sums(scores, order, np.stack([weight, weight * scores], axis=1))
        as_better = self.times * weight * ((1.0 - scores) * below[:, 0] + below[:, 1])
        as_worse = self.times * weight * ((1.0 + scores) * above[:, 0] - above[:, 1])
        active = (below[:, 0] + above[:, 0])[:, None]

        def curvature(columns: Array) -> Array:
            """Return ``2 Σ v (z_i - z_j) (e_i - e_j)`` over active pairs."""
            lower, higher = self._active_sums(scores, order, weight[:, None] * columns)
            product: Array = 2.0 * (self.times * weight)[:, None] * (active * columns - lower - higher)
            return product

        loss = float(np.sum(as_better * (1.0 - scores)) + np.sum(as_worse * scores))
        return MarginState(max(loss, 0.0), float(as_better.sum()), 2.0 * (as_worse - as_better), curvature)

    def _active_sums(self, scores: Array, order: Array, values: Array) -> tuple[Array, Array]:
        """Return, for each row, the sums of values over the worse, and over the better, rows of its active pairs."""
        values = np.ascontiguousarray(values, SCORE)
        below, above = np.zeros_like(values), np.zeros_like(values)
        queries = 0, len(self.n_levels)
        sum_active(scores, order, 1.0, self.levels, self.n_levels, self.offsets, values, below, above, *queries)
        return below, above


def levels_of(labels: Array, offsets: Array) -> tuple[Array, Array]:
    """Return the place of each row's label among the different labels of its query, from 0, and how many there are."""
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((labels, query))
    rises = np.zeros(len(labels), ROW)
    rises[1:] = (query[order][1:] == query[order][:-1]) & (labels[order][1:] != labels[order][:-1])
    counted = np.cumsum(rises)
    levels = np.empty(len(labels), ROW)
    levels[order] = counted - counted[offsets[:-1]][query[order]]
    return levels, np.maximum.reduceat(levels, offsets[:-1]) + 1


def _sizes(feedback: Graded) -> Array:
    """Rows of each query."""
    return np.diff(feedback.offsets)


@compiled
def sum_active(
    scores: Array, order: Array, margin: float, levels: Array, n_levels: Array, offsets: Array, values: Array,
    below_out: Array, above_out: Array, first: int, last: int,
) -> None:  # fmt: skip
    """Sum columns over the active pairs of each row.

    Slow lines: ``below[i] = sum(values[j] for j of the query if levels[j] < levels[i] and scores[i] - scores[j] < m)``
    and ``above[j] = sum(values[i] for i of the query if levels[i] > levels[j] and scores[i] - scores[j] < m)``.

    Parameters
    ----------
    scores : float64[n]
    order : int64[n]
        Rows of each query by ascending score.
    margin : float
        m.
    levels, n_levels : int64[n], int64[n_queries]
        See `levels_of`.
    offsets : int64[n_queries + 1]
    values, below_out, above_out : float64[n, k]
    first, last : int
        Queries from, and up to, not including.
    """
    for q in range(first, last):
        start, stop, n = offsets[q], offsets[q + 1], n_levels[q]
        if n < 2:
            continue
        tree = np.zeros((n + 1, values.shape[1]))
        reached = stop
        for place in range(stop - 1, start - 1, -1):
            i = order[place]
            while reached > start and scores[i] - scores[order[reached - 1]] < margin:
                reached -= 1
                _add(tree, levels[order[reached]] + 1, values[order[reached]])
            _take_prefix(tree, levels[i], below_out[i])
        tree[:] = 0.0
        reached = start
        for place in range(start, stop):
            j = order[place]
            while reached < stop and scores[order[reached]] - scores[j] < margin:
                _add(tree, n - levels[order[reached]], values[order[reached]])
                reached += 1
            _take_prefix(tree, n - 1 - levels[j], above_out[j])


@linked_part
def _add(tree: Array, at: int, values: Array) -> None:
    """Add values at a place, counted from 1, of a Fenwick tree."""
    while at < len(tree):
        for k in range(len(values)):
            tree[at, k] += values[k]
        at += at & -at


@linked_part
def _take_prefix(tree: Array, count: int, sums_out: Array) -> None:
    """Do ``sums_out += sum of the values at the first count places``."""
    while count > 0:
        for k in range(len(sums_out)):
            sums_out[k] += tree[count, k]
        count -= count & -count
