"""Shapley values of a sum of trees, exact and in polynomial time.

A Shapley value is what a feature adds to a score, the mean over all orders in which features may be added. That a
feature is not there yet may mean two things (Lundberg et al. 2020, "From local explanations to global understanding
with explainable AI for trees"):

- Interventional, against one other row b: the feature has b's value. A leaf is reached by the sets of features that
  hold all of U, where only a's values go towards it, and none of V, where only b's do. So it gives each feature of U
  (|U| - 1)! |V|!/(|U| + |V|)! of its value and takes |U|! (|V| - 1)!/(|U| + |V|)! from each of V. One walk over the
  nodes that either row can reach: O(leaves * depth) a tree. Values add up to score(a) - score(b).
- Path-dependent: a split on the feature is followed on both sides, by their shares of the training rows. With z_j the
  share that the splits on feature j let through on the way to a leaf of value v, and o_j 1 or 0 for whether they let
  the row through, feature i gets v (o_i - z_i) ∫ Π_{j≠i} (o_j t + z_j (1 - t)) dt over t from 0 to 1. The product is a
  polynomial, so that Gauss's quadrature with half as many nodes as features is exact, and products are handed down and
  sums up the tree edge by edge: O(leaves * depth) a tree (the idea of Linear TreeSHAP, Yu et al. 2022, by values at
  nodes in place of coefficients). Values add up to the score less its mean over the training rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
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


class Buffers(NamedTuple):
    """What one tree and row need of each edge, for paths.

    Attributes
    ----------
    shown : ndarray of float64
        o: 1 where the splits on the edge's feature let the row through, down to the edge.
    inverse : ndarray of float64, shape (n_edges, n_nodes)
        1/f at the nodes of the quadrature, for f(t) = o t + z (1 - t).
    product : ndarray of float64, shape (n_edges, n_nodes)
        Product of the f of all features on the way, each at its lowest edge.
    total : ndarray of float64, shape (n_edges, n_nodes)
        Sum over the leaves below.
    into : ndarray of int64
        The edge that leads to each split.
    """

    shown: Array
    inverse: Array
    product: Array
    total: Array
    into: Array


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

    @cached_property
    def _starts(self) -> Array:
        """First split of each tree that has any, and past the last."""
        roots = self.forest.root
        return np.append(roots[roots >= 0], len(self.forest.feature)).astype(ROW)

    @cached_property
    def _edges(self) -> tuple[Array, Array]:
        """What paths need of each edge: the edge above of the same feature, and the share of rows let through."""
        n_splits = len(self.forest.feature)
        above, hidden = np.empty(2 * n_splits, ROW), np.empty(2 * n_splits, SCORE)
        covers = np.empty(n_splits, SCORE)
        _fill_edges(self.forest.child, self.forest.feature, self.counts, self._starts, covers, above, hidden)
        return above, hidden

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
        nodes, weights = np.polynomial.legendre.leggauss(self.depth // 2 + 1)
        quadrature = (nodes + 1.0) / 2.0, weights / 2.0
        trees = self.splits, self.forest.value, self._starts, *self._edges, *quadrature
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
def _fill_edges(
    child: Array, feature: Array, counts: Array, start: Array, covers: Array, above: Array, hidden: Array
) -> None:
    """Write, for the edge from split s to its side c, number 2 s + c, what does not depend on a row.

    Parameters
    ----------
    child, feature : ndarray
        Of all splits; a child has a higher number than its parent.
    counts : ndarray
        Training rows of each leaf.
    start : ndarray
        First split of each tree, and past the last.
    covers : ndarray of float64
        Takes the training rows of each split.
    above : ndarray of int64
        Takes the nearest edge above that belongs to a split on the same feature; -1 where there is none.
    hidden : ndarray of float64
        Takes the share of training rows that the splits on this feature let through, down to this edge.
    """
    for at in range(len(child) - 1, -1, -1):
        covers[at] = 0.0
        for side in range(2):
            below = child[at, side]
            covers[at] += covers[below] if below >= 0 else counts[~below]
    into = np.full(len(child), -1, np.int64)
    for tree in range(len(start) - 1):
        for at in range(start[tree], start[tree + 1]):
            same = into[at]
            while same >= 0 and feature[same >> 1] != feature[at]:
                same = into[same >> 1]
            for side in range(2):
                below, edge = child[at, side], 2 * at + side
                share = (covers[below] if below >= 0 else counts[~below]) / covers[at]
                above[edge], hidden[edge] = same, share * (hidden[same] if same >= 0 else 1.0)
                if below >= 0:
                    into[below] = edge


@compiled
def _path_values(
    splits: Splits,
    value: Array,
    start: Array,
    above: Array,
    hidden: Array,
    nodes: Array,
    weights: Array,
    rows: Array,
    out: Array,
) -> None:
    """Add the path-dependent values of each row, tree after tree: down for the factors, up for the sums."""
    most, n = 0, len(nodes)
    for tree in range(len(start) - 1):
        most = max(most, 2 * (start[tree + 1] - start[tree]))
    buffers = Buffers(
        np.empty(most), np.empty((most, n)), np.empty((most, n)), np.empty((most, n)), np.empty(most, np.int64)
    )
    for i in range(len(rows)):
        for tree in range(len(start) - 1):
            first, last = start[tree], start[tree + 1]
            _walk_down(splits, first, last, above, hidden, nodes, rows[i], buffers)
            _sum_up(splits, value, first, last, above, hidden, weights, buffers, out[i])


@compiled_part
def _walk_down(
    splits: Splits, first: int, last: int, above: Array, hidden: Array, nodes: Array, row: Array, buffers: Buffers
) -> None:
    """Fill, for each edge of a tree: whether the row gets through, 1/f, and the product of the factors above it."""
    shown, inverse, product = buffers.shown, buffers.inverse, buffers.product
    for at in range(first, last):
        taken = 0 if _goes_left(splits, at, row[splits.feature[at]]) else 1
        for side in range(2):
            edge, below, same = 2 * (at - first) + side, splits.child[at, side], above[2 * at + side]
            let, z = shown[same - 2 * first] if same >= 0 else 1.0, hidden[2 * at + side]
            shown[edge] = let if side == taken else 0.0
            for k in range(len(nodes)):
                factor = shown[edge] * nodes[k] + z * (1.0 - nodes[k])
                inverse[edge, k], product[edge, k] = 1.0 / factor, factor
            if at > first:
                _multiply(product[edge], product[buffers.into[at - first]])
            if same >= 0:
                _multiply(product[edge], inverse[same - 2 * first])
            if below >= 0:
                buffers.into[below - first] = edge


@compiled_part
def _multiply(values_out: Array, factors: Array) -> None:
    """Do ``values_out *= factors``."""
    for k in range(len(factors)):
        values_out[k] *= factors[k]


@compiled_part
def _sum_up(
    splits: Splits,
    value: Array,
    first: int,
    last: int,
    above: Array,
    hidden: Array,
    weights: Array,
    buffers: Buffers,
    out: Array,
) -> None:
    """Sum value times product over the leaves below each edge: S.

    An edge gives (o - z) Σ w S/f to its feature, and takes back what the edge above of the same feature gave for these
    leaves.
    """
    shown, inverse, total = buffers.shown, buffers.inverse, buffers.total
    for at in range(last - 1, first - 1, -1):
        for side in range(2):
            edge, below, same = 2 * (at - first) + side, splits.child[at, side], above[2 * at + side]
            given = taken_back = 0.0
            for k in range(len(weights)):
                if below >= 0:
                    total[edge, k] = total[2 * (below - first), k] + total[2 * (below - first) + 1, k]
                else:
                    total[edge, k] = value[~below] * buffers.product[edge, k]
                given += weights[k] * total[edge, k] * inverse[edge, k]
            given *= shown[edge] - hidden[2 * at + side]
            if same >= 0:
                for k in range(len(weights)):
                    taken_back += weights[k] * total[edge, k] * inverse[same - 2 * first, k]
                taken_back *= shown[same - 2 * first] - hidden[same]
            out[splits.feature[at]] += given - taken_back
