"""The shape of many trees at once: depths, and the leaves below each split.

Trees stand one after the other in the columns `left` and `right`: a child is the number of a split if not negative,
else leaf ``~child``. Ways through a tree are followed by doubling: each step goes as far again as all steps before, so
that a tree of depth d takes log d passes over the columns.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import ROW
from podium._validation import Array


def join_children(children: Array, n_leaves: Array) -> Array:
    """Return children that count from the start of their tree as ones that count from the start of all trees."""
    sizes = n_leaves - 1
    splits, leaves = np.cumsum(sizes) - sizes, np.cumsum(n_leaves) - n_leaves
    return children + np.where(children >= 0, np.repeat(splits, sizes), -np.repeat(leaves, sizes))


def is_shape_of_trees(left: Array, right: Array, n_leaves: Array) -> bool:
    """Say whether children, counted within each tree, make trees whose leaves are numbered from left to right.

    Every split but the first of its tree, and every leaf, must be the child of one split; a split that is a child must
    have a higher number than its parent, so that no way is a circle.
    """
    sizes = n_leaves - 1
    own = np.arange(len(left)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    for children in (left, right):
        high, low = np.repeat(sizes, sizes), -np.repeat(n_leaves, sizes)
        if np.any(children >= high) or np.any(children < low) or np.any((children >= 0) & (children <= own)):
            return False
    joined_left, joined_right = join_children(left, n_leaves), join_children(right, n_leaves)
    below = np.concatenate([joined_left, joined_right])
    seen = np.bincount(np.where(below >= 0, below, len(left) + ~below), minlength=len(left) + int(n_leaves.sum()))
    roots = np.concatenate([own == 0, np.repeat(n_leaves == 1, n_leaves)])
    return bool(np.array_equal(seen, ~roots)) and _leaves_ascend(joined_left, joined_right)


def _leaves_ascend(left: Array, right: Array) -> bool:
    """Say whether leaves are numbered from left to right: at each split the right side goes on where the left ends."""
    first, end = left_sides(left, right)
    return bool(np.all(end == _leaf_of_child(right, first)))


def left_sides(left: Array, right: Array) -> tuple[Array, Array]:
    """Return the first leaf, and the one past the last, on the left of each split; leaves run from left to right."""
    first, middle, _ = leaf_bounds(left, right)
    return first, middle


def leaf_bounds(left: Array, right: Array) -> tuple[Array, Array, Array]:
    """Return the first leaf of each split, the first one on its right, and the one past its last."""
    last = ~_follow(right)
    return ~_follow(left), 1 + _leaf_of_child(left, last), 1 + last


def tree_roots(n_leaves: Array) -> Array:
    """Return the first split of each tree; ``~leaf`` of a tree without splits."""
    sizes = n_leaves - 1
    return np.where(sizes > 0, np.cumsum(sizes) - sizes, ~(np.cumsum(n_leaves) - n_leaves)).astype(ROW)


def _follow(children: Array) -> Array:
    """Return ``~leaf`` that each split leads to by such children; slow line: ``while at >= 0: at = children[at]``."""
    at = children.copy()
    while (inner := np.flatnonzero(at >= 0)).size:
        at[inner] = at[at[inner]]
    return at


def _leaf_of_child(children: Array, leaf_of_split: Array) -> Array:
    """Return each child that is a leaf, and the leaf of each child that is a split."""
    leaves = ~children
    inner = np.flatnonzero(children >= 0)
    leaves[inner] = leaf_of_split[children[inner]]
    return leaves


def tree_depths(left: Array, right: Array, n_leaves: Array) -> Array:
    """Return the splits on the longest way of each tree."""
    parent = np.arange(len(left))
    for children in (left, right):
        inner = np.flatnonzero(children >= 0)
        parent[children[inner]] = inner
    above = (parent != np.arange(len(left))).astype(ROW)
    while np.any(parent[parent] != parent):
        above += above[parent]
        parent = parent[parent]
    sizes = n_leaves - 1
    depths = np.zeros(len(n_leaves), ROW)
    if len(left):
        depths[sizes > 0] = 1 + np.maximum.reduceat(above, (np.cumsum(sizes) - sizes)[sizes > 0])
    return depths
