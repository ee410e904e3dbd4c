"""Regression trees as frozen records, and the scoring of rows by many of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from podium._compiled import ROW, SCORE, compiled, run_threads
from podium._validation import Array
from podium.weak.category_walk import TOGETHER, tables_of, walk_codes_and_sets, walk_values_and_sets
from podium.weak.tree_shape import join_children, left_sides, tree_depths, tree_roots

ROWS_PER_TASK = 4096
"""Rows scored in one task."""


DE_BRUIJN = np.uint32(0x077CB531)
"""Times a power of two, its five upper bits are another number for each power: the place of a bit in a table."""


@dataclass(frozen=True, eq=False)
class RegressionTree:
    """A binary tree: rows with a value above the threshold go right, missing values the way they learned.

    A split of a categorical feature sends the categories of a set left, the others right.

    Attributes
    ----------
    feature : ndarray of int32
        Column of each split; the first split is the root. A tree without splits is one leaf.
    threshold : ndarray of float64
        NaN for a split by a set.
    missing_left : ndarray of bool
    left, right : ndarray of int32
        Child of each split: a split if not negative, else leaf ``~child``.
    value : ndarray of float64
        Of each leaf, from left to right.
    gain : ndarray of float64
        Of each split.
    count : ndarray of int64
        Training rows of each leaf.
    cut : ndarray of int32
        The threshold as a cut of the training bins.
    set_of : ndarray of int32
        Row of `sets` of each split by a set, 0, 1, … in the order of the splits; -1 for a split by a threshold.
    sets : ndarray of uint32, shape (n_sets, 8)
        Bit c % 32 of word c // 32 is set if the category of code c goes left; what is no category is missing.
    """

    feature: Array
    threshold: Array
    missing_left: Array
    left: Array
    right: Array
    value: Array
    gain: Array
    count: Array
    cut: Array
    set_of: Array = field(default_factory=lambda: np.empty(0, np.int32))
    sets: Array = field(default_factory=lambda: np.empty((0, 8), np.uint32))

    def __post_init__(self) -> None:
        if len(self.set_of) < len(self.feature):
            object.__setattr__(self, "set_of", np.full(len(self.feature), -1, np.int32))

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.value)

    @cached_property
    def depth(self) -> int:
        """Splits on the longest way from the root to a leaf."""
        return int(tree_depths(self.left, self.right, np.array([self.n_leaves]))[0])

    def scaled(self, factor: float) -> RegressionTree:
        """Return the tree with every value times `factor`."""
        return replace(self, value=self.value * factor)

    def with_values(self, value: Array) -> RegressionTree:
        """Return the tree with other leaf values."""
        return replace(self, value=value)

    def predict(self, X: Any) -> Array:
        """Return the value of the leaf of each row of a checked matrix."""
        return Forest.of([self]).score(X)

    def leaves_of_codes(self, codes: Array, rows: Array) -> Array:
        """Return the leaf of some training rows, by their codes."""
        leaves = np.empty(len(rows), np.int32)
        splits = (self.feature, self.cut, self.missing_left, self.left, self.right)
        if len(self.sets):
            walk_codes_and_sets(*splits, self.set_of, self.tables, codes, rows, leaves)
        else:
            _leaves_of_codes(*splits, codes, rows, leaves)
        return leaves

    @cached_property
    def tables(self) -> Array:
        """For each set which codes of training bins go left: bool[n_sets, 256]."""
        return tables_of(self.sets, self.missing_left[self.set_of >= 0])


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees joined for scoring: one array for each attribute.

    Attributes
    ----------
    feature, threshold, missing_left, left, right
        Of all splits, one tree after the other; children are numbers in these arrays, leaves ``~i`` of `value`.
    value : ndarray of float64
    root : ndarray of int64
        Root of each tree, negative for a tree of one leaf.
    depth : ndarray of int64
    masks : Masks or None
        For trees of at most 32 leaves.
    set_of : ndarray of int32
        Row of `tables` of each split, -1 for a split by a threshold.
    tables : ndarray of bool, shape (n_sets, 256)
        Which codes of a categorical column go left.
    """

    feature: Array
    threshold: Array
    missing_left: Array
    left: Array
    right: Array
    value: Array
    root: Array
    depth: Array
    masks: Masks | None
    set_of: Array
    tables: Array

    @classmethod
    def of(cls, trees: Sequence[RegressionTree]) -> Forest:
        """Join trees."""
        n_leaves = np.array([tree.n_leaves for tree in trees], ROW)

        def joined(name: str, dtype: Any) -> Array:
            """One column of all trees."""
            return np.concatenate([np.empty(0, dtype), *(getattr(tree, name) for tree in trees)]).astype(dtype)

        left, right = (join_children(joined(name, np.int32), n_leaves).astype(np.int32) for name in ("left", "right"))
        value, set_of = joined("value", SCORE), joined("set_of", np.int32)
        return cls(
            joined("feature", np.int32), joined("threshold", SCORE), joined("missing_left", np.bool_), left, right,
            value, tree_roots(n_leaves), tree_depths(left, right, n_leaves), make_masks(left, right, value, n_leaves),
            np.where(set_of >= 0, np.cumsum(set_of >= 0) - 1, -1).astype(np.int32),
            np.concatenate([np.empty((0, 256), np.bool_), *(tree.tables for tree in trees)]),
        )  # fmt: skip

    def score(self, features: Any, n_threads: int = 1, start: float | np.floating[Any] = 0.0) -> Array:
        """Return the sum of all trees for each row of a checked matrix.

        It begins with `start` and is of its kind: with a float32 it is rounded after each tree, as in programs
        that add up so.
        """
        scores = np.full(features.shape[0], start)
        _add_trees(self, features, n_threads, scores)
        return scores


def _add_trees(forest: Forest, features: Any, n_threads: int, scores: Array) -> None:
    """Score rows in tasks."""
    matrix = sp.csr_array(features) if sp.issparse(features) else features
    thresholds = rounded_down(forest.threshold) if matrix.dtype == np.float32 else forest.threshold
    calls = [
        (forest, thresholds, matrix, start, min(start + ROWS_PER_TASK, len(scores)), scores)
        for start in range(0, len(scores), ROWS_PER_TASK)
    ]
    run_threads(_score_rows, calls, n_threads)


def _score_rows(forest: Forest, thresholds: Array, matrix: Any, start: int, stop: int, scores: Array) -> None:
    """Score the rows of one task: by masks where a word holds a tree's leaves, else step by step."""
    rows = matrix[start:stop]
    dense = dense_rows(rows) if sp.issparse(rows) else np.ascontiguousarray(rows)
    splits = (forest.feature, thresholds, forest.missing_left)
    walk = (forest.left, forest.right, forest.value, forest.root, forest.depth)
    if len(forest.tables):
        walk_values_and_sets(*splits, *walk, forest.set_of, forest.tables, dense, scores[start:stop])
    elif forest.masks is not None:
        _apply_masks(*splits, *forest.masks, dense, scores[start:stop])
    else:
        _walk_trees(*splits, *walk, dense, scores[start:stop])


class Masks(NamedTuple):
    """What `_apply_masks` needs beside the splits.

    Attributes
    ----------
    mask : ndarray of uint32
        Leaves that stay, as bits, when a row goes right at a split: all but those of its left side.
    start : ndarray of int64
        Splits of tree i: ``start[i]`` up to, not including, ``start[i + 1]``.
    value : ndarray of float64, shape (n_trees, 32)
        Value of leaf i at the place ``DE_BRUIJN << i >> 27``.
    """

    mask: Array
    start: Array
    value: Array


def make_masks(left: Array, right: Array, value: Array, n_leaves: Array) -> Masks | None:
    """Return the masks of joined trees; None if one has more than 32 leaves."""
    if n_leaves.max(initial=1) > 32:
        return None
    places = np.array([(int(DE_BRUIJN) << i) % 2**32 >> 27 for i in range(32)])
    offsets = np.cumsum(n_leaves) - n_leaves
    values = np.zeros((len(n_leaves), 32))
    leaf = np.arange(len(value)) - np.repeat(offsets, n_leaves)
    values[np.repeat(np.arange(len(n_leaves)), n_leaves), places[leaf]] = value
    bits = [(ends - np.repeat(offsets, n_leaves - 1)).astype(np.uint64) for ends in left_sides(left, right)]
    one, every = np.uint64(1), np.uint64(2**32 - 1)
    mask = every - ((one << bits[1]) - (one << bits[0]))
    start = np.concatenate([[0], np.cumsum(n_leaves - 1)]).astype(ROW)
    return Masks(mask.astype(np.uint32), start, values)


def dense_rows(rows: Any) -> Array:
    """Return sparse rows as a dense matrix, absent entries as NaN."""
    dense = np.full(rows.shape, np.nan, rows.dtype)
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    dense[row, rows.indices] = rows.data
    return dense


def rounded_down(thresholds: Array) -> Array:
    """Return the highest float32 not above each threshold: x > t says the same of both for a float32 x."""
    with np.errstate(over="ignore"):
        nearest = thresholds.astype(np.float32)
        return np.where(nearest > thresholds, np.nextafter(nearest, np.float32(-np.inf)), nearest)


def staged_scores(trees: Sequence[RegressionTree], features: Any, start: Array) -> Iterator[Array]:
    """Yield the scores after each tree."""
    scores = start
    for tree in trees:
        scores = scores + tree.predict(features)
        yield scores


@compiled
def _apply_masks(
    feature: Array,
    threshold: Array,
    missing_left: Array,
    mask: Array,
    start: Array,
    value: Array,
    X: Array,
    scores_out: Array,
) -> None:
    """Add every tree's value of each row; slow line: ``scores += tree.predict(X) for tree in trees``.

    All splits of a tree are asked for a group of rows at once, without a branch: where a row goes right, the
    leaves on the left are struck out, and the leftmost leaf that stays is the row's (Lucchese et al. 2015,
    QuickScorer). A tree of 31 leaves takes 5 ns a row, where going down step by step takes 25.
    """
    columns, left = np.zeros((X.shape[1], TOGETHER), X.dtype), np.empty(TOGETHER, np.uint32)
    places = np.empty(TOGETHER, np.uint32)
    for first in range(0, len(X), TOGETHER):
        size = min(TOGETHER, len(X) - first)
        for k in range(size):
            for f in range(X.shape[1]):
                columns[f, k] = X[first + k, f]
        for tree in range(len(start) - 1):
            left[:] = np.uint32(0xFFFFFFFF)
            for split in range(start[tree], start[tree + 1]):
                _strike_out(columns[feature[split]], threshold[split], missing_left[split], mask[split], left)
            _table_places(left, places)
            for k in range(size):
                scores_out[first + k] += value[tree, places[k]]


@compiled
def _strike_out(column: Array, threshold: float, missing_left: bool, mask: int, left: Array) -> None:
    """Do ``left[goes right] &= mask``; NaN is neither above the threshold nor below it."""
    if missing_left:
        for k in range(len(left)):
            left[k] = np.uint32(left[k] & mask) if column[k] > threshold else left[k]
    else:
        for k in range(len(left)):
            left[k] = left[k] if column[k] <= threshold else np.uint32(left[k] & mask)


@compiled
def _table_places(left: Array, places_out: Array) -> None:
    """Write ``DE_BRUIJN * (lowest bit) >> 27`` in 32 bits."""
    for k in range(len(left)):
        word = np.int32(left[k])
        places_out[k] = np.uint32(np.uint32(word & -word) * DE_BRUIJN) >> np.uint32(27)


@compiled
def _walk_trees(
    feature: Array,
    threshold: Array,
    missing_left: Array,
    left: Array,
    right: Array,
    value: Array,
    root: Array,
    depth: Array,
    X: Array,
    scores_out: Array,
) -> None:
    """Add every tree's value of each row; slow line: ``scores += tree.predict(X) for tree in trees``.

    A group of rows goes down a tree step by step together; a row that has reached its leaf stays there.
    """
    node = np.empty(TOGETHER, np.int32)
    for start in range(0, len(X), TOGETHER):
        size = min(TOGETHER, len(X) - start)
        for tree in range(len(root)):
            node[:] = root[tree]
            for _ in range(depth[tree]):
                for k in range(size):
                    at = node[k]
                    if at >= 0:
                        x = X[start + k, feature[at]]
                        goes_right = x > threshold[at] or (x != x and not missing_left[at])
                        node[k] = right[at] if goes_right else left[at]
            for k in range(size):
                scores_out[start + k] += value[~node[k]]


@compiled
def _leaves_of_codes(
    feature: Array,
    cut: Array,
    missing_left: Array,
    left: Array,
    right: Array,
    codes: Array,
    rows: Array,
    leaves_out: Array,
) -> None:
    """Walk the tree by codes: missing is code 0."""
    for i in range(len(rows)):
        at = np.int64(0) if len(feature) > 0 else np.int64(-1)
        while at >= 0:
            code = codes[feature[at] // 16, rows[i], feature[at] % 16]
            goes_right = code > cut[at] if code > 0 else not missing_left[at]
            at = np.int64(right[at] if goes_right else left[at])
        leaves_out[i] = ~at
