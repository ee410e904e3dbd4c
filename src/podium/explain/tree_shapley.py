"""Shapley values of a sum of trees, exact and in polynomial time.

A Shapley value is what a feature adds to a score, the mean over all orders in which features may be added. That a
feature is not there yet may mean two things (Lundberg et al. 2020, "From local explanations to global understanding
with explainable AI for trees"):

- Interventional, against one other row b: the feature has b's value. A leaf is reached by the sets of features that
  hold all of U, where only a's values go towards it, and none of V, where only b's do. So it gives each feature of U
  (|U| - 1)! |V|!/(|U| + |V|)! of its value and takes |U|! (|V| - 1)!/(|U| + |V|)! from each of V. One walk over the
  nodes that either row can reach: O(leaves * depth) a tree; see `mask_shapley` for trees of up to 64 leaves. Values add
  up to score(a) - score(b).
- Path-dependent: a split on the feature is followed on both sides; see `path_shapley`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from podium._compiled import ROW, SCORE, compiled, compiled_part
from podium._validation import Array
from podium.explain.mask_shapley import MOST_LEAVES, MaskShapley
from podium.explain.pair_parts import PairParts, share_table
from podium.explain.path_shapley import PathShapley
from podium.explain.split_sides import Splits, goes_left, splits_of
from podium.trees import Forest, RegressionTree, tree_depths

A_SIDE, B_SIDE = 1, 2
"""Which row a feature of the way belongs to."""


class TreeShapley:
    """Shapley values of a sum of trees.

    Parameters
    ----------
    trees : sequence of RegressionTree
    n_features : int

    Attributes
    ----------
    has_counts : bool
        Whether every leaf has training rows, which path-dependent values need.
    """

    def __init__(self, trees: Sequence[RegressionTree], n_features: int) -> None:
        self.forest, self.n_features = Forest.of(trees), n_features
        forest, n_leaves = self.forest, np.array([tree.n_leaves for tree in trees], ROW)
        self.covers = np.concatenate([np.empty(0), *(tree.cover for tree in trees)])
        self.splits = splits_of(forest)
        self.depth = int(tree_depths(forest.child[:, 0], forest.child[:, 1], n_leaves).max(initial=0))
        self.n_leaves, self.has_counts = n_leaves, bool(np.all(self.covers > 0))

    @cached_property
    def _by_paths(self) -> PathShapley:
        """What computes path-dependent values."""
        return PathShapley(self.splits, self.forest.value, self.forest.root, self.covers, self.n_features)

    @cached_property
    def _by_masks(self) -> MaskShapley | None:
        """What computes interventional values; None where a tree is too large for masks, or none has a split."""
        if self.depth == 0 or self.n_leaves.max() > MOST_LEAVES:
            return None
        return MaskShapley(self.splits, self.forest.value, self.n_leaves, self.n_features)

    def of_pair(self, a: Array, b: Array) -> PairParts:
        """Return what each feature adds to score(a) - score(b), with b's values in the place of missing features."""
        return self._walked_pair(a, b) if self._by_masks is None else self._by_masks.of_pair(a, b)

    def _walked_pair(self, a: Array, b: Array) -> PairParts:
        """Return the same of trees of any size, by a walk."""
        out, shares = np.zeros(self.n_features, SCORE), share_table(self.depth + 1)
        _pair_values(self.splits, self.forest.value, self.forest.root, a, b, shares, self.depth, out)
        return PairParts(out)

    def of_rows(self, rows: Array, n_threads: int = 1) -> Array:
        """Return the path-dependent value of each feature in the score of each row."""
        return self._by_paths.of_rows(rows, n_threads)


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
            left_a, left_b = goes_left(splits, at, a[feature]), goes_left(splits, at, b[feature])
            if known > 0 or left_a == left_b:
                to_left = left_b if known == B_SIDE else left_a
                top += 1
                node[top], length[top], side[top] = splits.child[at, 0 if to_left else 1], n, 0
                continue
            for row in (A_SIDE, B_SIDE):
                to_left = left_a if row == A_SIDE else left_b
                top += 1
                node[top], length[top], side[top] = splits.child[at, 0 if to_left else 1], n + 1, row
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
