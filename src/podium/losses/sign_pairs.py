"""Sums over pairs by the sign of their label difference: hinges and exponentials of score differences, O(n log n).

For rows i, j of a query with label y_i > y_j let z = f_i - f_j. CR (Werner, "A review on ranking problems in
statistical learning", 4.3 to 4.5) multiplies response differences into z, at O(n²); with their signs alone the
exponential factors into running sums over labels, and a hinge counts rows within a window of scores.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podium._compiled import ROW, SCORE, compiled, compiled_part
from podium._validation import Array
from podium.data import Graded
from podium.measures.sorting import by_query_threads, sort_queries


class PairSums(NamedTuple):
    """Sums over the pairs of each row and of each query.

    Attributes
    ----------
    pull : ndarray of float64, one per row
        ``Σ_j w_j a_ij (-φ'(z_ij))``, a_ij the sign or the difference of the labels.
    value : ndarray of float64, one per query
        ``Σ w_i w_j φ(z_ij)`` over its pairs of different labels, each counted once.
    """

    pull: Array
    value: Array


class SignPairs:
    """Pairs of graded feedback, each with the sign of its label difference.

    Parameters
    ----------
    feedback : Graded
    n_threads : int
        Threads share out whole queries.
    """

    def __init__(self, feedback: Graded, n_threads: int = 1) -> None:
        self.offsets, self.weight, self.n_threads = feedback.offsets, feedback.row_weight, n_threads
        query = np.repeat(np.arange(len(feedback.offsets) - 1), np.diff(feedback.offsets))
        self.by_label = np.lexsort((feedback.labels, query)).astype(ROW)
        self.level = _levels(feedback.labels, query, self.by_label)
        per_query = np.bincount(query, feedback.row_weight)
        self.reach = np.repeat(per_query, np.diff(feedback.offsets))

    def exponential(self, scores: Array) -> PairSums:
        """Sum φ(z) = exp(-z), in O(n)."""
        sums = self._empty_sums()
        by_query_threads(
            _exponential_sums, self.offsets, self.n_threads, self.offsets, self.by_label, self.level, scores,
            self.weight, *sums,
        )  # fmt: skip
        return sums

    def hinges(self, scores: Array, *margins: tuple[float, bool]) -> list[PairSums]:
        """Sum φ(z) = max(0, m - z) for each (m, closed): z = m pulls where the margin is closed. O(n log n)."""
        place, ordered = sort_queries(scores, self.offsets, self.n_threads)
        found = []
        for margin, closed in margins:
            found.append(self._empty_sums())
            by_query_threads(
                _hinge_sums, self.offsets, self.n_threads, self.offsets, place, ordered, self.level, self.weight,
                margin, closed, *found[-1],
            )  # fmt: skip
        return found

    def _empty_sums(self) -> PairSums:
        """Return room for the sums."""
        return PairSums(np.zeros(len(self.weight), SCORE), np.zeros(len(self.offsets) - 1, SCORE))


def _levels(labels: Array, query: Array, by_label: Array) -> Array:
    """Number the different labels of each query from 1, lowest first; return the number of each row."""
    sorted_query, sorted_labels = query[by_label], labels[by_label]
    new_query = np.append(True, sorted_query[1:] != sorted_query[:-1])
    new_level = new_query | np.append(True, sorted_labels[1:] != sorted_labels[:-1])
    count = np.cumsum(new_level)
    before = count[new_query] - 1
    level = np.empty(len(labels), ROW)
    level[by_label] = count - np.repeat(before, np.diff(np.append(np.flatnonzero(new_query), len(labels))))
    return level


@compiled
def _exponential_sums(
    offsets: Array,
    by_label: Array,
    level: Array,
    scores: Array,
    weight: Array,
    pull_out: Array,
    value_out: Array,
    first: int,
    last: int,
) -> None:
    """Do ``pull[i] = Σ_j w[j] sign(y[i] - y[j]) exp(-sign(y[i] - y[j]) (f[i] - f[j]))`` by running sums over labels."""
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        centre = 0.5 * scores[start:stop].min() + 0.5 * scores[start:stop].max()
        below = own = total = 0.0
        current = np.int64(0)
        for k in range(start, stop):
            row = by_label[k]
            if level[row] != current:
                below, own, current = below + own, 0.0, level[row]
            pull_out[row] = below * np.exp(centre - scores[row])
            total += weight[row] * pull_out[row]
            own += weight[row] * np.exp(scores[row] - centre)
        value_out[q] = total
        below = own = 0.0
        for k in range(stop - 1, start - 1, -1):
            row = by_label[k]
            if level[row] != current:
                below, own, current = below + own, 0.0, level[row]
            pull_out[row] -= below * np.exp(scores[row] - centre)
            own += weight[row] * np.exp(centre - scores[row])


@compiled
def _hinge_sums(
    offsets: Array,
    place: Array,
    ordered: Array,
    level: Array,
    weight: Array,
    margin: float,
    closed: bool,
    pull_out: Array,
    value_out: Array,
    first: int,
    last: int,
) -> None:
    """Do ``pull[i] = Σ_j w[j] sign(y[i] - y[j]) [sign(y[i] - y[j]) (f[i] - f[j]) < margin]`` by order statistics.

    Rows of a query pass from the highest score to the lowest, behind a second pointer that is a margin ahead; a
    Fenwick tree over the levels of labels holds the weights of the rows that the pointer has passed. So sums are of
    positive numbers alone, and the same set of rows gives the same bits at every margin.
    """
    for q in range(first, last):
        start, n = offsets[q], offsets[q + 1] - offsets[q]
        rows, scores = place[start : start + n], ordered[start : start + n]
        levels, weights, origin = level[start : start + n], weight[start : start + n], scores[n // 2]
        n_levels = levels.max()
        tree = np.zeros((n_levels + 1, 2))
        ahead, total = 0, 0.0
        for k in range(n):
            while ahead < n and _pulls(scores[k] - scores[ahead], margin, closed):
                own = weights[rows[ahead]]
                _add_to_tree(tree, levels[rows[ahead]], own, own * (scores[ahead] - origin))
                ahead += 1
            count, moment = _tree_sums(tree, levels[rows[k]] - 1)
            pull_out[start + rows[k]] = count
            total += weights[rows[k]] * (count * (margin - (scores[k] - origin)) + moment)
        value_out[q] = total
        tree[:] = 0.0
        ahead = n - 1
        for k in range(n - 1, -1, -1):
            while ahead >= 0 and _pulls(scores[ahead] - scores[k], margin, closed):
                _add_to_tree(tree, n_levels + 1 - levels[rows[ahead]], weights[rows[ahead]], 0.0)
                ahead -= 1
            pull_out[start + rows[k]] -= _tree_sums(tree, n_levels - levels[rows[k]])[0]


@compiled_part
def _pulls(difference: float, margin: float, closed: bool) -> bool:
    """Return whether a pair whose scores differ by so much, in the order of its labels, has a slope."""
    return difference < margin or (closed and difference == margin)


@compiled_part
def _add_to_tree(tree: Array, level: int, weight: float, moment: float) -> None:
    """Add to the sums of a level, counted from 1, in a Fenwick tree."""
    while level < len(tree):
        tree[level, 0] += weight
        tree[level, 1] += moment
        level += level & -level


@compiled_part
def _tree_sums(tree: Array, level: int) -> tuple[float, float]:
    """Return the sums over the levels up to and including one."""
    weight, moment = 0.0, 0.0
    while level > 0:
        weight += tree[level, 0]
        moment += tree[level, 1]
        level -= level & -level
    return weight, moment
