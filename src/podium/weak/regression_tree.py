"""Regression trees as frozen records, and the scoring of rows by many of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from podium._compiled import ROW, SCORE, compiled, run_threads
from podium._validation import Array

ROWS_PER_TASK = 4096
"""Rows scored in one task."""
TOGETHER = 32
"""Rows that go through a tree side by side, so that the wait of one for memory is filled by the others."""


DE_BRUIJN = np.uint32(0x077CB531)
"""Times a power of two, its five upper bits are another number for each power: the place of a bit in a table."""


@dataclass(frozen=True, eq=False)
class RegressionTree:
    """A binary tree: rows with a value above the threshold go right, missing values the way they learned.

    Attributes
    ----------
    feature : ndarray of int32
        Column of each split; the first split is the root. A tree without splits is one leaf.
    threshold : ndarray of float64
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

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.value)

    @cached_property
    def depth(self) -> int:
        """Splits on the longest way from the root to a leaf."""
        depths = np.zeros(len(self.feature) + 1, ROW)
        for i in range(len(self.feature) - 1, -1, -1):
            depths[i] = 1 + max((depths[child] for child in (self.left[i], self.right[i]) if child >= 0), default=0)
        return int(depths[0])

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
        _leaves_of_codes(self.feature, self.cut, self.missing_left, self.left, self.right, codes, rows, leaves)
        return leaves


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

    @classmethod
    def of(cls, trees: Sequence[RegressionTree]) -> Forest:
        """Join trees."""
        splits = np.cumsum([0] + [len(tree.feature) for tree in trees])
        leaves = np.cumsum([0] + [tree.n_leaves for tree in trees])

        def joined(name: str, dtype: Any) -> Array:
            """One column of all trees."""
            return np.concatenate([np.empty(0, dtype), *(getattr(tree, name) for tree in trees)]).astype(dtype)

        def children(name: str) -> Array:
            """Children of all trees, renumbered among all splits and leaves."""
            moved = [
                np.where(getattr(tree, name) >= 0, getattr(tree, name) + split, getattr(tree, name) - leaf)
                for tree, split, leaf in zip(trees, splits, leaves, strict=False)
            ]
            return np.concatenate([np.empty(0, np.int32), *moved]).astype(np.int32)

        roots = [
            split if len(tree.feature) else ~leaf for tree, split, leaf in zip(trees, splits, leaves, strict=False)
        ]
        return cls(
            joined("feature", np.int32), joined("threshold", SCORE), joined("missing_left", np.bool_),
            children("left"), children("right"), joined("value", SCORE), np.array(roots, ROW),
            np.array([tree.depth for tree in trees], ROW), make_masks(trees),
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
    if forest.masks is not None:
        _apply_masks(*splits, *forest.masks, dense, scores[start:stop])
    else:
        walk = (forest.left, forest.right, forest.value, forest.root, forest.depth)
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


def make_masks(trees: Sequence[RegressionTree]) -> Masks | None:
    """Return the masks of trees; None if one has more than 32 leaves."""
    if max((tree.n_leaves for tree in trees), default=1) > 32:
        return None
    places = [(int(DE_BRUIJN) << i) % 2**32 >> 27 for i in range(32)]
    masks, values = [], np.zeros((len(trees), 32))
    for number, tree in enumerate(trees):
        masks += [2**32 - 1 - (2**last - 2**first) for first, last in left_leaves(tree)]
        values[number, places[: tree.n_leaves]] = tree.value
    start = np.cumsum([0] + [len(tree.feature) for tree in trees]).astype(ROW)
    return Masks(np.array(masks, np.uint32), start, values)


def left_leaves(tree: RegressionTree) -> list[tuple[int, int]]:
    """Return the first leaf, and the one past the last, on the left of each split; leaves run from left to right."""
    first, last = np.zeros(len(tree.feature), ROW), np.zeros(len(tree.feature), ROW)
    for i in range(len(tree.feature) - 1, -1, -1):
        left, right = tree.left[i], tree.right[i]
        first[i] = first[left] if left >= 0 else ~left
        last[i] = last[right] if right >= 0 else ~right + 1
    ends = [last[left] if left >= 0 else ~left + 1 for left in tree.left]
    return [(int(one), int(end)) for one, end in zip(first, ends, strict=True)]


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
