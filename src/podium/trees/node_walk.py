"""The way of rows through many trees: packed nodes, and a step down without a branch.

A row's values become keys, unsigned integers in the order of the values: 0 where one is missing, then -inf, and so on.
A step is then one comparison for every kind of split::

    node = child + (key - bias > threshold)          modulo 2**32, or 2**64

With bias 0 a missing value goes left. With bias 1 its key wraps around to the highest and it goes right, while the
other keys and the threshold move down together. The children of a split stand side by side. A leaf is its own child,
and nothing is above its threshold: a row that has reached its leaf stays there, so that all take as many steps as the
deepest tree and no step depends on the one before in another row.

A step takes 1 ns. Going down with a branch at each split takes 3 to 5; asking all splits of a tree and striking out
leaves (QuickScorer) takes as long as this for 10 leaves, and more from 31.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podium._compiled import INDEX, JIT_DISABLED, SCORE, compiled, compiled_part
from podium._types import Array, Int
from podium.trees.tree_shape import tree_depths

PAIRS_PER_WALK = 64
"""Rows times trees that are on their way side by side, so that the wait of one for memory is filled by the others."""
STEPS_PER_CHECK = 16
"""Steps after which a walk ends if all rows have reached their leaves: few trees are deeper."""


class Bits(NamedTuple):
    """How a kind of float is written in bits: the integers that hold them, the sign's bit, and infinity."""

    kind: type[np.unsignedinteger]
    sign: np.unsignedinteger
    infinity: np.unsignedinteger

    @classmethod
    def of(cls, kind: type[np.unsignedinteger], infinity: np.floating) -> Bits:
        """Read them off the infinity of a kind of float."""
        return cls(kind, kind(1 << (8 * infinity.itemsize - 1)), infinity.view(kind))


BITS = {
    np.dtype(np.float32): Bits.of(np.uint32, np.float32(np.inf)),
    np.dtype(np.float64): Bits.of(np.uint64, np.float64(np.inf)),
}
"""Of each kind of value."""


class Nodes(NamedTuple):
    """Trees as packed nodes, splits and leaves alike, one tree after the other.

    Attributes
    ----------
    node : record of threshold, bias, feature and child
        `child` is the number of the left child, after which the right one follows.
    value : ndarray of float64
        Of each leaf; splits have 0.
    root : ndarray of uint32
        First node of each tree.
    depth : ndarray of int64
        Steps to the deepest leaf of each tree.
    """

    node: Array
    value: Array
    root: Array
    depth: Array


def order_keys(values: Array) -> Array:
    """Return unsigned integers in the order of float32 or float64 values; 0 for NaN, one for both zeros."""
    kind, sign, _ = BITS[values.dtype]
    bits = values.view(kind)
    keys = np.where(bits > sign, ~bits, bits | sign)
    return np.where(np.isnan(values), kind(0), keys)


def pack_nodes(
    feature: Array, threshold: Array, missing_left: Array, child: Array, value: Array, n_leaves: Array
) -> Nodes:
    """Return joined trees as nodes for rows of the thresholds' kind; see `Forest` for the columns.

    Split s of tree t has its children at 1 + t + 2s and after it: a tree of n splits has 2n + 1 nodes.
    """
    sizes = n_leaves - 1
    tree = np.repeat(np.arange(len(sizes)), sizes)
    first = 1 + tree + 2 * np.arange(len(feature))
    root = np.arange(len(sizes)) + 2 * (np.cumsum(sizes) - sizes)
    place, leaf_place = np.empty(len(feature), np.int64), np.empty(len(value), np.int64)
    place[(np.cumsum(sizes) - sizes)[sizes > 0]] = root[sizes > 0]
    leaf_place[(np.cumsum(n_leaves) - n_leaves)[sizes == 0]] = root[sizes == 0]
    for side in range(2):
        is_split = child[:, side] >= 0
        place[child[is_split, side]] = first[is_split] + side
        leaf_place[~child[~is_split, side]] = first[~is_split] + side
    keys, bias = order_keys(threshold), (~missing_left).astype(BITS[threshold.dtype].kind)
    node = np.zeros(len(place) + len(leaf_place), _record(keys.dtype))
    node["child"], node["threshold"] = np.arange(len(node)), np.iinfo(keys.dtype).max
    node["threshold"][place], node["bias"][place] = keys - bias, bias
    node["feature"][place], node["child"][place] = feature, first
    values = np.zeros(len(node), SCORE)
    values[leaf_place] = value
    named = node.view(np.recarray) if JIT_DISABLED else node  # compiled kernels name fields of both
    return Nodes(named, values, root.astype(np.uint32), tree_depths(child[:, 0], child[:, 1], n_leaves))


def _record(key: np.dtype[np.unsignedinteger]) -> np.dtype[np.void]:
    """Return the type of a node: 16 bytes for keys of 4 bytes, four nodes in a line of memory."""
    return np.dtype([("threshold", key), ("bias", key), ("feature", np.uint32), ("child", np.uint32)])


def add_nodes(nodes: Nodes, X: Array, scores_out: Array) -> None:
    """Add the value of every tree to the score of each row of a dense matrix of the thresholds' kind."""
    kind, sign, infinity = BITS[X.dtype]
    with np.errstate(over="ignore"):  # keys of missing values wrap round, of which plain Python warns
        _add_trees(*nodes, X.view(kind), sign, infinity, scores_out)


@compiled
def _add_trees(
    node: Array,
    value: Array,
    root: Array,
    depth: Array,
    bits: Array,
    sign: Int,
    infinity: Int,
    scores_out: Array,
) -> None:
    """Add every tree's value of each row; slow line: ``scores += tree.predict(X) for tree in trees``.

    Many rows go through one tree after the other; few rows through several trees at once. A row's sum takes the trees
    in their order all the same.
    """
    n_rows, n_features = bits.shape
    keys = np.empty(min(PAIRS_PER_WALK, n_rows) * n_features, bits.dtype)
    at, base = np.empty(PAIRS_PER_WALK, np.uint32), np.empty(PAIRS_PER_WALK, np.uint32)
    for start in range(0, n_rows, PAIRS_PER_WALK):
        size = min(PAIRS_PER_WALK, n_rows - start)
        for row in range(size):
            _fill_keys(bits[start + row], sign, infinity, keys[row * n_features : (row + 1) * n_features])
        together = PAIRS_PER_WALK // size
        for k in range(together * size):
            base[k] = k % size * n_features
        for first in range(0, len(root), together):
            last, steps = min(first + together, len(root)), 0
            for tree in range(first, last):
                steps = max(steps, depth[tree])
                for row in range(size):
                    at[(tree - first) * size + row] = root[tree]
            _walk(node, keys, base, (last - first) * size, steps, at)
            for tree in range(first, last):
                for row in range(size):
                    scores_out[start + row] += value[INDEX(at[(tree - first) * size + row])]


@compiled_part
def _fill_keys(bits: Array, sign: Int, infinity: Int, keys_out: Array) -> None:
    """Do ``keys_out[:] = order_keys(values)`` for the values of such bits."""
    kind = keys_out.dtype.type  # a plain 1 would make floats of 64 bits
    for f in range(len(bits)):
        size = bits[f] & (sign - kind(1))
        key = ~bits[f] if bits[f] > sign else size | sign
        keys_out[f] = key if size <= infinity else kind(0)


@compiled_part
def _walk(node: Array, keys: Array, base: Array, n: int, steps: int, at: Array) -> None:
    """Take pairs of a row, whose keys begin at its base, and a tree down to the row's leaf."""
    kind = keys.dtype.type
    for step in range(steps):
        for k in range(n):
            here = node[INDEX(at[k])]
            key = keys[INDEX(base[k]) + INDEX(here.feature)]
            at[k] = INDEX(here.child) + INDEX(kind(key - here.bias) > here.threshold)
        if step % STEPS_PER_CHECK == STEPS_PER_CHECK - 1 and _all_at_leaves(node, n, at):
            return


@compiled_part
def _all_at_leaves(node: Array, n: int, at: Array) -> bool:
    """Say whether each of n nodes is a leaf, its own child."""
    n_splits = 0
    for k in range(n):
        n_splits += node[INDEX(at[k])].child != at[k]
    return n_splits == 0
