"""Regression trees as frozen records, and the scoring of rows by many of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from podium._compiled import ROW, SCORE, compiled, run_threads
from podium._sparse import dense_rows, is_sparse
from podium._types import Features
from podium._validation import Array
from podium.binning import BLOCK
from podium.trees.category_walk import CODES_PER_COLUMN, tables_of, walk_codes_and_sets, walk_values_and_sets
from podium.trees.node_walk import Nodes, add_nodes, pack_nodes
from podium.trees.tree_shape import join_children, tree_depths, tree_roots

ROWS_PER_TASK = 4096
"""Rows scored in one task."""


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
    cover : ndarray of float64
        What each leaf weighs among its training rows: their number, or the sum of curvatures that XGBoost's files hold.
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
    cover: Array = field(default_factory=lambda: np.empty(0, SCORE))

    def __post_init__(self) -> None:
        if len(self.cover) < len(self.value):
            object.__setattr__(self, "cover", self.count.astype(SCORE))
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

    def predict(self, X: Features) -> Array:
        """Return the value of the leaf of each row of a checked matrix."""
        return Forest.of([self]).score(X)

    def leaves_of_codes(self, codes: Array, rows: Array) -> Array:
        """Return the leaf of some training rows, by their codes."""
        leaves = np.empty(len(rows), np.int32)
        splits = (self.feature, self.cut, self.missing_left, self.left, self.right)
        if len(self.sets):
            walk_codes_and_sets(*splits, self.set_of, self.tables, codes, rows, leaves)
        else:
            walk_codes(*splits, codes, rows, leaves)
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
    feature, threshold, missing_left
        Of all splits, one tree after the other.
    child : ndarray of int32, shape (n_splits, 2)
        Left and right child of each split: a number among all splits, or ``~i`` for leaf i of `value`.
    value : ndarray of float64
    set_of : ndarray of int32
        Row of `tables` of each split, -1 for a split by a threshold.
    tables : ndarray of bool, shape (n_sets, 256)
        Which codes of a categorical column go left.
    root : ndarray of int64
        Root of each tree, negative for a tree of one leaf.
    n_leaves : ndarray of int64
        Leaves of each tree.
    """

    feature: Array
    threshold: Array
    missing_left: Array
    child: Array
    value: Array
    set_of: Array
    tables: Array
    root: Array
    n_leaves: Array

    @classmethod
    def of(cls, trees: Sequence[RegressionTree]) -> Forest:
        """Join trees."""
        n_leaves = np.array([tree.n_leaves for tree in trees], ROW)

        def joined(name: str, dtype: type[np.generic]) -> Array:
            """One column of all trees."""
            return np.concatenate([np.empty(0, dtype), *(getattr(tree, name) for tree in trees)]).astype(dtype)

        child = np.column_stack([join_children(joined(name, np.int32), n_leaves) for name in ("left", "right")])
        set_of = joined("set_of", np.int32)
        return cls(
            joined("feature", np.int32), joined("threshold", SCORE), joined("missing_left", np.bool_),
            child.astype(np.int32), joined("value", SCORE),
            np.where(set_of >= 0, np.cumsum(set_of >= 0) - 1, -1).astype(np.int32),
            np.concatenate([np.empty((0, CODES_PER_COLUMN), np.bool_), *(tree.tables for tree in trees)]),
            tree_roots(n_leaves), n_leaves,
        )  # fmt: skip

    @cached_property
    def threshold32(self) -> Array:
        """The thresholds for features of float32."""
        return rounded_down(self.threshold)

    @cached_property
    def nodes32(self) -> Nodes:
        """The trees as nodes for features of float32."""
        return self._nodes(self.threshold32)

    @cached_property
    def nodes64(self) -> Nodes:
        """The trees as nodes for features of float64."""
        return self._nodes(self.threshold)

    def _nodes(self, threshold: Array) -> Nodes:
        """Return the trees as nodes for features of the thresholds' kind."""
        return pack_nodes(self.feature, threshold, self.missing_left, self.child, self.value, self.n_leaves)

    def score(self, features: Features, n_threads: int = 1, start: float | np.floating = 0.0) -> Array:
        """Return the sum of all trees for each row of a checked matrix.

        It begins with `start` and is of its kind: with a float32 it is rounded after each tree, as in programs
        that add up so.
        """
        scores = np.full(features.shape[0], start)
        _add_trees(self, features, n_threads, scores)
        return scores


def _add_trees(forest: Forest, features: Features, n_threads: int, scores: Array) -> None:
    """Score rows in tasks."""
    matrix = sp.csr_array(features) if is_sparse(features) else features
    calls = [
        (forest, matrix[start : start + ROWS_PER_TASK], scores[start : start + ROWS_PER_TASK])
        for start in range(0, len(scores), ROWS_PER_TASK)
    ]
    run_threads(_score_rows, calls, n_threads)


def _score_rows(forest: Forest, rows: Array | sp.csr_array, scores_out: Array) -> None:
    """Score the rows of one task."""
    dense = dense_rows(rows)
    single = dense.dtype == np.float32
    if len(forest.tables):
        thresholds = forest.threshold32 if single else forest.threshold
        splits = (forest.feature, thresholds, forest.missing_left, forest.child, forest.value)
        walk_values_and_sets(*splits, forest.root, forest.set_of, forest.tables, dense, scores_out)
    else:
        add_nodes(forest.nodes32 if single else forest.nodes64, dense, scores_out)


def rounded_down(thresholds: Array) -> Array:
    """Return the highest float32 not above each threshold: x > t says the same of both for a float32 x."""
    with np.errstate(over="ignore"):
        nearest = thresholds.astype(np.float32)
        return np.where(nearest > thresholds, np.nextafter(nearest, np.float32(-np.inf)), nearest)


def staged_scores(trees: Sequence[RegressionTree], features: Features, start: Array) -> Iterator[Array]:
    """Yield the scores after each tree."""
    scores = start
    for tree in trees:
        scores = scores + tree.predict(features)
        yield scores


@compiled
def walk_codes(
    feature: Array,
    cut: Array,
    missing_left: Array,
    left: Array,
    right: Array,
    codes: Array,
    rows: Array,
    leaves_out: Array,
) -> None:
    """Write the leaf of some training rows, walked down the splits by their codes: missing is code 0."""
    for i in range(len(rows)):
        at = np.int64(0) if len(feature) > 0 else np.int64(-1)
        while at >= 0:
            code = codes[feature[at] // BLOCK, rows[i], feature[at] % BLOCK]
            goes_right = code > cut[at] if code > 0 else not missing_left[at]
            at = np.int64(right[at] if goes_right else left[at])
        leaves_out[i] = ~at
