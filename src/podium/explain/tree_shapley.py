"""Shapley values of a sum of trees, exact and in polynomial time.

A Shapley value is what a feature adds to a score, the mean over all orders in which features may be added. That a
feature is not there yet may mean two things (Lundberg et al. 2020, "From local explanations to global understanding
with explainable AI for trees"):

- Interventional, against one other row b: the feature has b's value. A leaf is reached by the sets of features that
  hold all of U, where only a's values go towards it, and none of V, where only b's do. So it gives each feature of U
  (|U| - 1)! |V|!/(|U| + |V|)! of its value and takes |U|! (|V| - 1)!/(|U| + |V|)! from each of V. One walk over the
  nodes that either row can reach: O(leaves * depth) a tree. Values add up to score(a) - score(b).
- Path-dependent: a split on the feature is followed on both sides, by their shares of the training rows. The way to a
  node keeps the weight of the sets that let the row through, by their size, and is updated from node to node:
  O(leaves * depth²) a tree. Values add up to the score less its mean over the training rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from podium._compiled import ROW, SCORE, compiled, compiled_part, even_ranges, run_threads
from podium._validation import Array
from podium.trees import Forest, RegressionTree, code_of, tree_depths

A_SIDE, B_SIDE = 1, 2
"""Which row a feature of the way belongs to."""


class Splits(NamedTuple):
    """The splits of all trees, as the kernels ask for them; see `Forest`."""

    feature: Array
    threshold: Array
    missing_left: Array
    child: Array
    set_of: Array
    tables: Array


class TreeShapley:
    """Shapley values of a sum of trees.

    Parameters
    ----------
    trees : sequence of RegressionTree
    n_features : int
    """

    def __init__(self, trees: Sequence[RegressionTree], n_features: int) -> None:
        self.forest, self.n_features = Forest.of(trees), n_features
        forest, n_leaves = self.forest, np.array([tree.n_leaves for tree in trees], ROW)
        self.counts = np.concatenate([np.empty(0, ROW), *(tree.count for tree in trees)])
        self.splits = Splits(
            forest.feature, forest.threshold, forest.missing_left, forest.child, forest.set_of, forest.tables
        )
        self.depth = int(tree_depths(forest.child[:, 0], forest.child[:, 1], n_leaves).max(initial=0))

    @property
    def has_counts(self) -> bool:
        """Whether every leaf has training rows, which path-dependent values need."""
        return bool(np.all(self.counts > 0))

    def of_pair(self, a: Array, b: Array) -> Array:
        """Return what each feature adds to score(a) - score(b), with b's values in the place of missing features."""
        out = np.zeros(self.n_features, SCORE)
        _pair_values(self.splits, self.forest.value, self.forest.root, a, b, _shares(self.depth + 1), self.depth, out)
        return out

    def of_rows(self, rows: Array, n_threads: int = 1) -> Array:
        """Return the path-dependent value of each feature in the score of each row."""
        out = np.zeros((len(rows), self.n_features), SCORE)
        covers = np.empty(len(self.forest.feature), SCORE)
        _fill_covers(self.forest.child, self.counts, covers)
        trees = self.splits, self.forest.value, self.forest.root, self.counts, covers, _ratios(self.depth), self.depth
        calls = [(*trees, rows[first:last], out[first:last]) for first, last in even_ranges(len(rows), 4 * n_threads)]
        run_threads(_path_values, calls, n_threads)
        return out


def _shares(size: int) -> Array:
    """Return p! q!/(p + q + 1)! for p and q below a size."""
    shares = np.empty((size + 1, size + 1), SCORE)
    shares[0] = 1.0 / np.arange(1.0, size + 2.0)
    for p in range(1, size + 1):
        shares[p] = shares[p - 1] * p / np.arange(p + 1.0, p + size + 2.0)
    return shares


def _ratios(depth: int) -> Array:
    """Return (n - 1 - k)/n at [n, k] and its inverse at [k, n], for k < n - 1 and ways of up to n places."""
    n, k = np.tril_indices(depth + 2, -2)
    ratios = np.ones((depth + 2, depth + 2), SCORE)
    ratios[n, k] = (n - 1 - k) / n
    ratios[k, n] = n / (n - 1 - k)
    return ratios


@compiled_part
def _goes_left(splits: Splits, at: int, x: float) -> bool:
    """Say where a value goes at a split."""
    if splits.set_of[at] >= 0:
        return bool(splits.tables[splits.set_of[at], code_of(x)])
    return bool(x <= splits.threshold[at] or (x != x and splits.missing_left[at]))


@compiled
def _pair_values(
    splits: Splits, value: Array, root: Array, a: Array, b: Array, shares: Array, depth: int, out: Array
) -> None:
    """Add the interventional values of row a against row b, tree after tree.

    Slow line: ``out[i] += mean over all orders of score(with a[i]) - score(before)``. The way to a node holds each
    feature that parted the rows once, with the row that it belongs to; on later splits that row alone decides.
    """
    node, length, side = np.empty(depth + 2, np.int64), np.empty(depth + 2, np.int64), np.empty(depth + 2, np.int64)
    way, owner = np.empty(depth + 1, np.int64), np.empty(depth + 1, np.int64)
    last = np.empty(depth + 2, np.int64)
    for tree in range(len(root)):
        top = 0
        node[0], length[0], side[0] = root[tree], 0, 0
        while top >= 0:
            at, n, own = node[top], length[top], side[top]
            if own > 0:
                way[n - 1], owner[n - 1] = last[top], own
            top -= 1
            if at < 0:
                _give_leaf(value[~at], way, owner, n, shares, out)
                continue
            feature, known = splits.feature[at], 0
            for k in range(n):
                known = owner[k] if way[k] == feature else known
            left_a, left_b = _goes_left(splits, at, a[feature]), _goes_left(splits, at, b[feature])
            if known > 0 or left_a == left_b:
                goes_left = left_b if known == B_SIDE else left_a
                top += 1
                node[top], length[top], side[top] = splits.child[at, 0 if goes_left else 1], n, 0
                continue
            for row in (A_SIDE, B_SIDE):
                goes_left = left_a if row == A_SIDE else left_b
                top += 1
                node[top], length[top], side[top] = splits.child[at, 0 if goes_left else 1], n + 1, row
                last[top] = feature


@compiled_part
def _give_leaf(value: float, way: Array, owner: Array, n: int, shares: Array, out: Array) -> None:
    """Share out the value of a leaf among the features of the way to it."""
    n_a = 0
    for k in range(n):
        n_a += owner[k] == A_SIDE
    for k in range(n):
        if owner[k] == A_SIDE:
            out[way[k]] += value * shares[n_a - 1, n - n_a]
        else:
            out[way[k]] -= value * shares[n_a, n - n_a - 1]


@compiled
def _fill_covers(child: Array, counts: Array, covers_out: Array) -> None:
    """Write the training rows of each split; a child has a higher number than its parent."""
    for at in range(len(child) - 1, -1, -1):
        covers_out[at] = 0.0
        for side in range(2):
            below = child[at, side]
            covers_out[at] += covers_out[below] if below >= 0 else counts[~below]


@compiled
def _path_values(
    splits: Splits,
    value: Array,
    root: Array,
    counts: Array,
    covers: Array,
    ratios: Array,
    depth: int,
    rows: Array,
    out: Array,
) -> None:
    """Add the path-dependent values of each row, tree after tree.

    The way to a node, at its level of `ways`, holds for each distinct feature its number, the share of training rows
    that it lets through, and 1 or 0 for whether it lets the row through; by place k besides, the weight of the sets of
    k features that let the row through. A node's way is made from its parent's, which stays until both sides are done.
    """
    ways, size = np.empty((depth + 2, depth + 2, 4), np.float64), np.empty(depth + 2, np.int64)
    node, level, above = np.empty(depth + 2, np.int64), np.empty(depth + 2, np.int64), np.empty((depth + 2, 3))
    for i in range(len(rows)):
        for tree in range(len(root)):
            top = 0
            node[0], level[0], size[0] = root[tree], 0, 0
            while top >= 0:
                at, deep = node[top], level[top]
                way = ways[deep]
                if deep > 0:
                    size[deep] = size[deep - 1]
                    way[: size[deep]] = ways[deep - 1, : size[deep]]
                    size[deep] = _lengthen(way, size[deep], above[top, 0], above[top, 1], above[top, 2])
                else:
                    size[0] = _lengthen(way, 0, -1.0, 1.0, 1.0)
                top -= 1
                if at < 0:
                    _give_way(value[~at], way, size[deep], ratios, out[i])
                    continue
                feature, hidden, shown = splits.feature[at], 1.0, 1.0
                for k in range(1, size[deep]):
                    if way[k, 0] == feature:
                        hidden, shown = way[k, 1], way[k, 2]
                        size[deep] = _shorten(way, size[deep], k)
                        break
                taken = 0 if _goes_left(splits, at, rows[i, feature]) else 1
                for side in range(2):
                    below = splits.child[at, side]
                    share = (covers[below] if below >= 0 else float(counts[~below])) / covers[at]
                    top += 1
                    node[top], level[top] = below, deep + 1
                    above[top, 0], above[top, 1] = feature, hidden * share
                    above[top, 2] = shown if side == taken else 0.0


@compiled_part
def _lengthen(way: Array, n: int, feature: float, hidden: float, shown: float) -> int:
    """Add a feature to a way of n places: each set gets it or does not."""
    way[n, 0], way[n, 1], way[n, 2], way[n, 3] = feature, hidden, shown, 1.0 if n == 0 else 0.0
    for k in range(n - 1, -1, -1):
        way[k + 1, 3] += shown * way[k, 3] * (k + 1.0) / (n + 1.0)
        way[k, 3] *= hidden * (n - k) / (n + 1.0)
    return n + 1


@compiled_part
def _shorten(way: Array, n: int, place: int) -> int:
    """Take the feature at a place out of a way of n places: undo `_lengthen`."""
    hidden, shown, carried = way[place, 1], way[place, 2], way[n - 1, 3]
    for k in range(n - 2, -1, -1):
        if shown != 0.0:
            before = way[k, 3]
            way[k, 3] = carried * n / ((k + 1.0) * shown)
            carried = before - way[k, 3] * hidden * (n - 1.0 - k) / n
        else:
            way[k, 3] = way[k, 3] * n / (hidden * (n - 1.0 - k))
    for k in range(place, n - 1):
        way[k, 0], way[k, 1], way[k, 2] = way[k + 1, 0], way[k + 1, 1], way[k + 1, 2]
    return n - 1


@compiled_part
def _give_way(value: float, way: Array, n: int, ratios: Array, out: Array) -> None:
    """Share out the value of a leaf: to each feature of the way by the weight of the sets of all others.

    The weights are those that `_shorten` would leave. ``ratios[n, k]`` is (n - 1 - k)/n and ``ratios[k, n]`` its
    inverse, so that the inner loop has no division.
    """
    for place in range(1, n):
        hidden, total = way[place, 1], 0.0
        if way[place, 2] != 0.0:
            carried = way[n - 1, 3]
            for k in range(n - 2, -1, -1):
                weight = carried * ratios[n - 2 - k, n]
                total += weight
                carried = way[k, 3] - weight * hidden * ratios[n, k]
            out[int(way[place, 0])] += total * (1.0 - hidden) * value
        else:
            for k in range(n - 1):
                total += way[k, 3] * ratios[k, n]
            out[int(way[place, 0])] -= total * value
