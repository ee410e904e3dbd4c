"""What is left of the records of a grown tree: its columns, and its leaves from left to right.

One kernel writes them all: as NumPy calls, each on thirty numbers, they took as long as a tenth of a small tree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from podium._compiled import ROW, compiled, linked_part
from podium._types import Int
from podium._validation import Array
from podium.binning import Cuts
from podium.trees.growth_state import GrowingTree
from podium.trees.regression_tree import RegressionTree
from podium.trees.split import Record, Records


@dataclass(frozen=True, eq=False)
class Grown:
    """A tree and the training rows of its leaves.

    Attributes
    ----------
    tree : RegressionTree
    rows : ndarray of uint32
        Rows of this part, leaf after leaf, ascending within a leaf.
    offsets : ndarray of int64
        Leaf i has ``rows[offsets[i] : offsets[i + 1]]``.
    """

    tree: RegressionTree
    rows: Array
    offsets: Array

    def with_sets(self, sets: list[Array]) -> Grown:
        """Return the tree with the sets by which it splits categories, in the order of its splits."""
        by_set = self.tree.cut < 0
        set_of = np.where(by_set, np.cumsum(by_set) - 1, -1).astype(np.int32)
        return replace(self, tree=replace(self.tree, set_of=set_of, sets=np.array(sets, np.uint32)))


class FrozenColumns(NamedTuple):
    """The columns of a `RegressionTree`, and where the rows of its leaves begin.

    Attributes
    ----------
    feature, left, right, cut : int32[n_splits]
    threshold, gain : float64[n_splits]
    missing_left : bool[n_splits]
    value : float64[n_leaves]
    n_rows : int64[n_leaves]
    offsets : int64[n_leaves + 1]
        Leaf i has the rows ``rows[offsets[i] : offsets[i + 1]]``.
    """

    feature: Array
    threshold: Array
    missing_left: Array
    left: Array
    right: Array
    value: Array
    gain: Array
    n_rows: Array
    cut: Array
    offsets: Array


def frozen(tree: GrowingTree, rows: Array, sums: Array, cuts: Cuts, reg_lambda: float) -> Grown:
    """Return a grown tree; thresholds of splits by sets are NaN.

    Parameters
    ----------
    tree : GrowingTree
    rows : ndarray of uint32
        Rows of this part, leaf after leaf.
    sums : float64[n_leaves, 2]
        Σ gradient and Σ curvature of each leaf, by its place in the records.
    cuts : Cuts
    reg_lambda : float
    """
    n_leaves = len(sums)
    n_splits = n_leaves - 1
    (feature, left, right, cut), scratch = np.empty((4, n_splits), np.int32), np.empty((2, n_splits), ROW)
    (threshold, gain), missing_left = np.empty((2, n_splits)), np.empty(n_splits, np.bool_)
    value, count, offsets = np.empty(n_leaves), np.empty(n_leaves, ROW), np.empty(n_leaves + 1, ROW)
    offsets[n_leaves] = len(rows)
    columns = FrozenColumns(feature, threshold, missing_left, left, right, value, gain, count, cut, offsets)
    _fill_columns(tree.leaves, tree.splits, sums, cuts.thresholds, cuts.offsets, reg_lambda, scratch, columns)
    found = RegressionTree(feature, threshold, missing_left, left, right, value, gain, count, cut)
    return Grown(found, rows, offsets)


@compiled
def _fill_columns(
    leaves: Records,
    splits: Records,
    sums: Array,
    thresholds: Array,
    first_threshold: Array,
    reg_lambda: float,
    below: Array,
    out: FrozenColumns,
) -> None:
    """Write the columns; `below` is scratch: how many leaves are below each split, and the first of them.

    1. Splits, and what hangs on them: later splits, or ``~place`` of a leaf.
    2. Leaves below each split, from the last split up.
    3. Leaves from left to right, from the root down.
    """
    n_splits, n_leaves = len(out.feature), len(out.value)
    for i in range(n_splits):  # 1
        split = splits[i]
        out.feature[i], out.cut[i], out.gain[i] = split.feature, split.cut, split.gain
        out.missing_left[i] = split.missing_left
        out.threshold[i] = thresholds[first_threshold[split.feature] + split.cut] if split.cut >= 0 else np.nan
        if i > 0:
            (out.left if split.on_left else out.right)[split.parent] = i
    for place in range(n_leaves if n_splits > 0 else 0):
        leaf = leaves[place]
        (out.left if leaf.on_left else out.right)[leaf.parent] = ~place
    for i in range(n_splits - 1, -1, -1):  # 2
        below[0, i] = _n_leaves(out.left[i], below) + _n_leaves(out.right[i], below)
    if n_splits == 0:  # 3
        _fill_leaf(np.int64(0), leaves[0], sums[0], reg_lambda, out)
    for i in range(n_splits):
        begin = below[1, i] if i > 0 else np.int64(0)
        middle = begin + _n_leaves(out.left[i], below)
        for side in range(2):
            children, number = (out.left, begin) if side == 0 else (out.right, middle)
            child = children[i]
            if child >= 0:
                below[1, child] = number
            else:
                _fill_leaf(number, leaves[~child], sums[~child], reg_lambda, out)
                children[i] = ~number


@linked_part
def _n_leaves(child: Int, below: Array) -> int:
    """Return how many leaves a child is or has below it."""
    return int(below[0, child]) if child >= 0 else 1


@linked_part
def _fill_leaf(number: Int, leaf: Record, sums: Array, reg_lambda: float, out: FrozenColumns) -> None:
    """Write a leaf: Newton's value -G/(H + λ), 0 where nothing is known, within its bounds."""
    curvature = sums[1] + reg_lambda
    value = -sums[0] / curvature if curvature > 0.0 else 0.0
    out.value[number] = min(max(value, leaf.lowest), leaf.highest)
    out.n_rows[number], out.offsets[number] = leaf.count, leaf.start
