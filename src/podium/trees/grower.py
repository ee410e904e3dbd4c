"""Growth of a regression tree, best leaf first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from podium._compiled import JIT_DISABLED, ROW, processors, run_beside
from podium._validation import Array
from podium.binning import BlockBins
from podium.trees.category_split import WORDS, CategorySplits
from podium.trees.category_walk import tables_of
from podium.trees.division import (
    COUNTERS,
    DEPTH,
    END,
    FULL,
    GROWN,
    LEAF_FIELDS,
    LEAST,
    MAX_DEPTH,
    MAX_LEAVES,
    N_LEAVES,
    ON_LEFT,
    OVER,
    PARENT,
    PLACE,
    SHARED,
    SLOT,
    START,
    STEPS,
    STOP,
    STOPPED,
    TASK_FIELDS,
    help_leader,
    lead,
)
from podium.trees.histogram import BINS, LINE, WORD, Packed, as_lines, pack
from podium.trees.leaf_values import newton_values
from podium.trees.regression_tree import RegressionTree
from podium.trees.split import FIELDS, Limits, Split

SHARED_CELLS = 100_000
"""Rows times features from which helpers are called."""
SHARED_ROWS = 4096
"""Rows of a leaf from which threads share what is done row by row."""
FIRST_SLOTS = 64
"""Leaves that there is room for at first; 255 leaves of 136 features need 80 MB."""
CELLS_PER_CALL = 2**31
"""Rows times features times divisions of one call of a kernel: about a second, for Ctrl-C is heard between calls."""


@dataclass(frozen=True, eq=False)
class Grown:
    """A tree and the training rows of its leaves.

    Attributes
    ----------
    tree : RegressionTree
    rows : ndarray of uint32
        Rows leaf after leaf, ascending within a leaf.
    offsets : ndarray of int64
        Leaf i has ``rows[offsets[i] : offsets[i + 1]]``.
    """

    tree: RegressionTree
    rows: Array
    offsets: Array


class TreeGrower:
    """Grows trees on binned features.

    Parameters
    ----------
    bins : BlockBins
    limits : Limits
    max_leaves : int
    max_depth : int, optional
    monotone : sequence of int, optional
        1, -1 or 0 for each feature.
    exact : bool
        Histograms of near full precision, at twice the time.
    n_threads : int
    categories : CategorySplits, optional
        Finds the splits of categorical features.
    keys : ndarray of uint64, optional
        Another one for each row, for the rounding (see `Queries.place_keys`); the row's number by default.
    weight : ndarray of float64, optional
        Weights of the rows, which make splits go by squares: they stand for the curvatures in the search of splits.
        Leaf values are Newton's all the same, and bounds of constrained leaves are found anew from these.
    """

    def __init__(
        self,
        bins: BlockBins,
        limits: Limits,
        max_leaves: int = 31,
        max_depth: int | None = None,
        monotone: Array | None = None,
        exact: bool = False,
        n_threads: int = 1,
        categories: CategorySplits | None = None,
        keys: Array | None = None,
        weight: Array | None = None,
    ) -> None:
        self.bins, self.exact, self.n_threads, self.categories = bins, exact, n_threads, categories
        self.keys = np.arange(bins.n_rows, dtype=np.uint64) if keys is None else keys
        self.max_leaves = min(max_leaves, max(bins.n_rows, 1))
        given = np.empty(0, np.int8) if monotone is None else np.asarray(monotone, np.int8)
        self.monotone = given if given.any() else np.empty(0, np.int8)
        self.words, self.limits, self.weight = as_lines(bins, n_threads), limits.as_array(weight is not None), weight
        self.n_words = -(-bins.cuts.n_features // WORD)
        depth = max_leaves if max_depth is None else max_depth
        self.growth = self.max_leaves, depth, max(2, 2 * limits.min_child_samples)
        self._spare = np.empty(bins.n_rows, np.uint32)
        self._values = np.empty((0, bins.n_rows), np.int64)
        self._histograms = np.empty((0, 1, self.n_words, WORD, BINS), np.int64)

    def grow(
        self,
        gradient: Array,
        curvature: Array,
        salt: int = 0,
        rows: Array | None = None,
        features: Array | None = None,
    ) -> Grown:
        """Grow one tree that follows -gradient/curvature.

        1. Pack gradients and curvatures; find the best split of the root.
        2. Split the leaf of the largest gain, until no leaf may be split or `max_leaves` is reached.
        3. Give each leaf Newton's value -G/(H + λ), from the gradients as they are.

        Parameters
        ----------
        gradient, curvature : ndarray of float64
            Of each row.
        salt : int
            Number of the round, for the rounding.
        rows : ndarray of uint32, optional
            Rows to learn from, ascending; all by default.
        features : ndarray of int64, optional
            Features to use, ascending; all by default.
        """
        own = np.arange(self.bins.n_rows, dtype=np.uint32) if rows is None else rows.copy()
        used = np.arange(self.bins.cuts.n_features) if features is None else features
        bends = curvature if self.weight is None else self.weight
        whole = self.weight is not None
        packed = pack(gradient, bends, self.keys, salt, self.exact, self.n_threads, whole)  # 1
        growing = Growing(self, packed, own, used, gradient, curvature)
        growing.run()  # 2, 3
        return growing.finish()

    def room(self, n_planes: int, n_slots: int) -> tuple[Array, Array]:
        """Return places for gathered planes and for the histograms of leaves; what stands in them stays."""
        if len(self._values) < n_planes:
            self._values = np.empty((n_planes, self.bins.n_rows), np.int64)
        if len(self._histograms) < n_slots:
            more = np.empty((n_slots, n_planes, *self._histograms.shape[2:]), np.int64)
            more[: len(self._histograms)] = self._histograms
            self._histograms = more
        return self._values, self._histograms


class Growing:
    """A tree that grows.

    Parameters
    ----------
    grower : TreeGrower
    packed : Packed
    rows : ndarray of uint32
        Rows to learn from; they are reordered.
    features : ndarray of int64
    gradient, curvature : ndarray of float64
    """

    def __init__(
        self, grower: TreeGrower, packed: Packed, rows: Array, features: Array, gradient: Array, curvature: Array
    ) -> None:
        self.grower, self.packed, self.rows = grower, packed, rows
        used = np.zeros(grower.n_words, np.bool_)
        used[features // WORD] = True
        alone = len(rows) * len(features) < SHARED_CELLS or JIT_DISABLED
        n_threads = 1 if alone else min(grower.n_threads, processors(), int(used.sum()))
        self._steps = max(1, CELLS_PER_CALL // max(1, len(rows) * len(features)))
        self.n_helpers, n_chunks = n_threads - 1, 2 * n_threads if n_threads > 1 else 1
        numeric = features if grower.categories is None else grower.categories.take(features, packed)
        ranges = self._ranges(used, numeric)
        bins, n = grower.bins, grower.max_leaves
        self._data = (
            bins.codes, grower.words, packed.planes, gradient, curvature, used, ranges, numeric.astype(np.int64)
        )  # fmt: skip
        self._terms = packed.layout, packed.units, bins.cuts.n_bins, bins.cuts.first, grower.monotone, grower.limits
        self._task = np.zeros(TASK_FIELDS, np.int64)
        self._task[[MAX_LEAVES, MAX_DEPTH, LEAST, SHARED]] = *grower.growth, SHARED_ROWS
        self._desk = (
            np.zeros(COUNTERS, np.int64), self._task, np.empty(BINS, np.bool_),
            np.array([[-np.inf, np.inf]] * 2), np.empty(n_chunks, np.int64), np.empty((len(ranges), 2, FIELDS)),
        )  # fmt: skip
        self.leaves, self.bounds, self.best = np.empty((n, LEAF_FIELDS), ROW), np.empty((n, 2)), np.empty((n, FIELDS))
        self.tables = np.empty((1 if grower.categories is None else n, BINS), np.bool_)
        self.derivatives = gradient, curvature
        self.values, self.splits, self.ways = np.empty(n), np.empty((n, FIELDS)), np.empty((n, 2), ROW)
        self.sets: dict[int, Array] = {}
        self.split_sets: list[Array] = []

    def _ranges(self, used: Array, numeric: Array) -> Array:
        """Return what one item of a search is: a range of words, and of the numeric features in them.

        For one thread it is all of them; else a line, or a part of one if threads could not share lines out evenly.
        """
        n_words, n_threads = len(used), self.n_helpers + 1
        ends = np.array([0, n_words])
        if n_threads > 1:
            widths = [LINE, LINE // 2, LINE // 4, 1]
            ends = min((_ends(n_words, width) for width in widths), key=lambda ends: _longest_share(ends, n_threads))
        first = np.searchsorted(numeric // WORD, ends)
        ranges = np.column_stack([ends[:-1], ends[1:], first[:-1], first[1:]])
        return ranges[[used[a:b].any() for a, b in ranges[:, :2]]].astype(ROW)

    def run(self) -> None:
        """Divide leaves until the tree is grown; after each division look for sets of categories, if there are any."""
        n_slots, categories = min(self.grower.max_leaves, FIRST_SLOTS), self.grower.categories
        self._task[END] = STOPPED
        while self._task[END] != GROWN:
            before = self.n_leaves
            self._task[STEPS] = self._steps if categories is None else 1
            self._lead(n_slots)
            if self._task[END] == FULL:
                n_slots = min(2 * n_slots, self.grower.max_leaves)
            if categories is not None and self.n_leaves > before:
                self._search_categories(categories, int(self._task[PLACE]))

    @property
    def n_leaves(self) -> int:
        """Leaves so far."""
        return int(self._task[N_LEAVES])

    def _lead(self, n_slots: int) -> None:
        """Let one thread lead and the others help it."""
        room = (self.rows, self.grower._spare, *self.grower.room(len(self.packed.planes), n_slots))
        tree = self.leaves, self.bounds, self.best, self.tables, self.values, self.splits, self.ways
        shared: tuple[Any, ...] = (self._data, self._terms, room, self._desk, tree)
        counters = self._desk[0]
        counters[:] = 0
        run_beside(
            partial(lead, *shared, self.n_helpers), partial(_help_or_end, counters, *shared), self.n_helpers,
            self.grower.n_threads, partial(counters.__setitem__, OVER, 1),
        )  # fmt: skip

    def _search_categories(self, categories: CategorySplits, place: int) -> None:
        """Replace the best splits of the newest leaves by better ones of categorical features."""
        newest = [0] if self.n_leaves == 1 else [place, self.n_leaves - 1]
        if self.n_leaves > 1 and (left_set := self.sets.pop(place, None)) is not None:
            self.split_sets.append(left_set)
        wanted = [one for one in newest if self._may_be_divided(one)]
        nodes = [(self.grower._histograms[self.leaves[one, SLOT]], self.bounds[one]) for one in wanted]
        found = categories.search(nodes, self.grower.limits)
        for one, split in zip(wanted, found, strict=True):
            if split is not None and split.left_set is not None and beats(split, self.best[one]):
                self.best[one], self.sets[one] = split[:FIELDS], split.left_set
                self.tables[one] = tables_of(split.left_set[None], np.array([split.missing_left > 0]))[0]

    def _may_be_divided(self, leaf: int) -> bool:
        """Say whether a leaf is neither too deep nor too small, and the tree not full."""
        max_leaves, max_depth, least = self._task[[MAX_LEAVES, MAX_DEPTH, LEAST]]
        start, stop, depth = self.leaves[leaf, [START, STOP, DEPTH]]
        return bool(self.n_leaves < max_leaves and depth < max_depth and stop - start >= least)

    def finish(self) -> Grown:
        """Return the frozen tree, whose leaves go from left to right; child numbers from 0 are splits, ~i is leaf i."""
        n_leaves, cuts = self.n_leaves, self.grower.bins.cuts
        order = np.argsort(self.leaves[:n_leaves, START])
        leaves = self.leaves[order]
        offsets = np.append(leaves[:, START], len(self.rows))
        found, ways = self.splits[: n_leaves - 1], self.ways[: n_leaves - 1]
        children = np.zeros((n_leaves - 1, 2), np.int32)
        children[ways[1:, 0], 1 - ways[1:, 1]] = np.arange(1, n_leaves - 1)
        if n_leaves > 1:
            children[leaves[:, PARENT], 1 - leaves[:, ON_LEFT]] = ~np.arange(n_leaves)
        features, codes = found[:, 1].astype(np.int32), found[:, 2].astype(np.int32)
        by_set = codes < 0
        thresholds = np.where(by_set, np.nan, cuts.thresholds[cuts.offsets[features] + codes])
        tree = RegressionTree(
            features, thresholds, found[:, 3] > 0, children[:, 0].copy(), children[:, 1].copy(), self.values[order],
            found[:, 0].copy(), np.diff(offsets), codes, np.where(by_set, np.cumsum(by_set) - 1, -1).astype(np.int32),
            np.array(self.split_sets, np.uint32).reshape(-1, WORDS),
        )  # fmt: skip
        if self.grower.weight is not None and len(self.grower.monotone):
            pull, bend = (np.add.reduceat(one[self.rows], offsets[:-1]) for one in self.derivatives)
            tree = tree.with_values(newton_values(tree, pull, bend, self.grower.limits[4], self.grower.monotone))
        return Grown(tree, self.rows, offsets)


def _help_or_end(counters: Array, *shared: Any) -> None:
    """Help the leader; on an error make it and the other helpers leave, for it would wait for this thread's item."""
    try:
        help_leader(*shared)
    except BaseException:
        counters[OVER] = 1
        raise


def _ends(n_words: int, width: int) -> Array:
    """Return the ends of parts of so many words, the last part what is left."""
    return np.append(np.arange(0, n_words, width), n_words)


def _longest_share(ends: Array, n_threads: int) -> int:
    """Return how many words one thread has at most, if each takes the next part when it is done with one."""
    shares = [0] * n_threads
    for size in np.diff(ends).tolist():
        shares[shares.index(min(shares))] += size
    return max(shares)


def beats(split: Split, found: Array) -> bool:
    """Say whether a split is better than one found before: by its gain, of equals by the lower feature."""
    return bool(split.gain > found[0] or (split.gain == found[0] and split.feature < found[1]))
