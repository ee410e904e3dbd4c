"""Growth of a regression tree, best leaf first: histogram, split search, partition of the rows.

Each split costs the histogram of the smaller child; the larger child's is the difference to their parent's.
Threads share out halves of feature blocks, and in the partition runs of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from podium._compiled import ROW, SCORE, compiled, prefetch, run_threads
from podium._validation import Array
from podium.binning import BLOCK, BlockBins
from podium.weak.category_split import WORDS, CategorySplits
from podium.weak.category_walk import partition_by_table, tables_of
from podium.weak.histogram import HALF, Packed, fill_histograms, pack, subtract_histograms
from podium.weak.regression_tree import RegressionTree
from podium.weak.split import FIELDS, Limits, Split, child_bounds, search_splits
from podium.weak.sums import half_blocks

LONG = 16_384
"""Rows of a node from which threads share its partition: below, starting them costs more."""


@dataclass
class Leaf:
    """A leaf while the tree grows.

    Attributes
    ----------
    start, stop : int
        Its rows stand there in the grower's row list.
    slot : int
        Place of its histograms.
    depth : int
    bounds : ndarray of float64
        Lowest and highest value allowed.
    parent : int
        Split above it, -1 for the root; `on_left` says on which side.
    split : Split or None
        Its best split.
    """

    start: int
    stop: int
    slot: int
    depth: int
    bounds: Array
    parent: int = -1
    on_left: bool = False
    split: Split | None = None

    @property
    def count(self) -> int:
        """Number of rows."""
        return self.stop - self.start


@dataclass(frozen=True, eq=False)
class Grown:
    """A tree and the training rows of its leaves.

    Attributes
    ----------
    tree : RegressionTree
    rows : ndarray of uint32
        Rows leaf after leaf, ascending within a leaf; valid until the next tree is grown.
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
    ) -> None:
        self.categories = categories
        self.bins, self.limits, self.exact, self.n_threads = bins, limits, exact, n_threads
        self.max_leaves = min(max_leaves, max(bins.n_rows, 1))
        self.max_depth = max_leaves if max_depth is None else max_depth
        self.words, self.n_bins = half_blocks(bins), bins.cuts.n_bins
        given = np.empty(0, np.int8) if monotone is None else np.asarray(monotone, np.int8)
        self.monotone = given if given.any() else np.empty(0, np.int8)
        self._limits = limits.as_array()
        self._slots: list[Array] = []
        self._spare = np.empty(bins.n_rows, np.uint32)

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
        self.rows = np.arange(self.bins.n_rows, dtype=np.uint32) if rows is None else rows.copy()
        self._share_out(np.arange(self.bins.cuts.n_features) if features is None else features)
        if self.categories is not None and self.categories.smooth0 < 0:
            self.categories.smoothing = self.categories.smooth0 * (gradient @ gradient) / curvature.sum()
        packed = pack(gradient, curvature, salt, self.exact, self.n_threads)  # 1
        root = Leaf(0, len(self.rows), 0, 0, np.array([-np.inf, np.inf]))
        leaves, splits = [root], []
        self._search(packed, root, None)
        while len(leaves) < self.max_leaves:  # 2
            leaf = max(leaves, key=_gain)
            if leaf.split is None:
                break
            splits.append((leaf.split, leaf.parent, leaf.on_left))
            leaves.append(self._divide(packed, leaf, len(splits) - 1, len(leaves)))
        return self._finish(leaves, splits, gradient, curvature)  # 3

    def _share_out(self, features: Array) -> None:
        """Give each thread about equally many of the halves of blocks that hold features in use."""
        halves = np.unique(features // HALF)
        numeric = features if self.categories is None else self.categories.take(features)
        self._shares = []
        for part in np.array_split(halves, min(self.n_threads, len(halves))):
            used = np.zeros(2 * len(self.words), np.bool_)
            used[part] = True
            self._shares.append((used, numeric[used[numeric // HALF]].astype(np.int64)))

    def _slot(self, number: int, n_planes: int) -> Array:
        """Return the histograms of a slot, made when first asked for and used again by later trees."""
        while len(self._slots) <= number:
            self._slots.append(np.empty((n_planes, 2 * len(self.words), HALF, 256), np.int64))
        return self._slots[number]

    def _divide(self, packed: Packed, leaf: Leaf, number: int, n_leaves: int) -> Leaf:
        """Split a leaf, which becomes the left child, and return the right one."""
        split = leaf.split
        if split is None:
            raise ValueError("a leaf without a split was to be divided")
        middle = leaf.start + self._partition(leaf, split)
        direction = 0 if len(self.monotone) == 0 else int(self.monotone[int(split.feature)])
        below, above = child_bounds(split, direction, self.limits.reg_lambda, leaf.bounds)
        depth = leaf.depth + 1
        left = Leaf(leaf.start, middle, leaf.slot, depth, below, number, True)
        right = Leaf(middle, leaf.stop, n_leaves, depth, above, number, False)
        if right.count > left.count:
            left.slot, right.slot = right.slot, left.slot
        if n_leaves + 1 < self.max_leaves and (self._may_split(left) or self._may_split(right)):
            smaller, larger = (right, left) if right.count <= left.count else (left, right)
            self._search(packed, smaller, larger)
        leaf.__dict__.update(left.__dict__)
        return right

    def _may_split(self, leaf: Leaf) -> bool:
        """Say whether a leaf has rows and depth enough for two children."""
        return leaf.count >= max(2, 2 * self.limits.min_child_samples) and leaf.depth < self.max_depth

    def _search(self, packed: Packed, smaller: Leaf, larger: Leaf | None) -> None:
        """Fill the smaller leaf's histograms, make the larger one's of its parent's, and find their best splits."""
        leaves = [smaller] if larger is None else [smaller, larger]
        slots = [self._slot(leaf.slot, len(packed.planes)) for leaf in leaves]
        wanted = np.array([self._may_split(leaf) for leaf in leaves])
        found = np.empty((len(self._shares), len(leaves), FIELDS), SCORE)
        bounds = np.array([leaf.bounds for leaf in leaves])
        cuts = self.bins.cuts
        calls = [
            (
                self.words, used, features, self.rows[smaller.start : smaller.stop], packed.planes,
                slots[0], slots[-1], wanted, packed.layout, packed.units, self.n_bins, cuts.first,
                self.monotone, self._limits, bounds, found[share],
            )
            for share, (used, features) in enumerate(self._shares)
        ]  # fmt: skip
        run_threads(_search_children, calls, self.n_threads)
        for i, leaf in enumerate(leaves):
            best = found[np.argmax(found[:, i, 0]), i]
            leaf.split = Split(*best.tolist()) if wanted[i] and best[0] > 0 else None
            if self.categories is not None and wanted[i]:
                leaf.split = self.categories.best(slots[i], packed, self._limits, leaf.bounds, leaf.split)

    def _partition(self, leaf: Leaf, split: Split) -> int:
        """Move the rows that go left before those that go right, each in their order; return how many go left."""
        feature = int(split.feature)
        block = self.bins.codes[feature // BLOCK]
        n_parts = self.n_threads if leaf.count >= LONG else 1
        bounds = [leaf.start + leaf.count * part // n_parts for part in range(n_parts + 1)]
        kernel, rule = _rule_of(split)
        calls = [(block, feature % BLOCK, *rule, self.rows[a:b], self._spare[a:b]) for a, b in pairwise(bounds)]
        sizes = run_threads(kernel, calls, self.n_threads)
        return _join_parts(self.rows, self._spare, bounds, sizes)

    def _finish(
        self, leaves: list[Leaf], splits: list[tuple[Split, int, bool]], gradient: Array, curvature: Array
    ) -> Grown:
        """Compute leaf values and put the tree together."""
        order = sorted(range(len(leaves)), key=lambda i: leaves[i].start)
        offsets = np.array([leaves[i].start for i in order] + [len(self.rows)], np.int64)
        bounds = np.array([leaves[i].bounds for i in order])
        ridge = self.limits.reg_lambda
        values = np.empty(len(leaves), SCORE)
        parts = np.linspace(0, len(leaves), min(self.n_threads, len(leaves)) + 1).astype(np.int64)
        calls = [(self.rows, offsets, gradient, curvature, ridge, bounds, values, a, b) for a, b in pairwise(parts)]
        run_threads(_leaf_values, calls, self.n_threads)
        tree = _assemble([leaves[i] for i in order], splits, values, np.diff(offsets), self.bins)
        return Grown(tree, self.rows, offsets)


def _gain(leaf: Leaf) -> float:
    """Gain of a leaf's best split, -1 where it has none."""
    return -1.0 if leaf.split is None else leaf.split.gain


def _rule_of(split: Split) -> tuple[Any, tuple[Any, ...]]:
    """Return the kernel that parts rows by a split, and what it must know of the split."""
    if split.left_set is None:
        return _partition_rows, (int(split.cut), split.missing_left > 0)
    return partition_by_table, (tables_of(split.left_set[None], np.array([split.missing_left > 0]))[0],)


def _join_parts(rows: Array, spare: Array, bounds: list[int], sizes: list[int]) -> int:
    """Join the left parts, then the right parts, of runs that were partitioned apart; return the left rows."""
    place = bounds[0]
    for (start, _), size in zip(pairwise(bounds), sizes, strict=True):
        rows[place : place + size] = rows[start : start + size]
        place += size
    n_left = place - bounds[0]
    for (start, stop), size in zip(pairwise(bounds), sizes, strict=True):
        rows[place : place + stop - start - size] = spare[start : stop - size]
        place += stop - start - size
    return n_left


def _assemble(
    leaves: list[Leaf], splits: list[tuple[Split, int, bool]], values: Array, counts: Array, bins: BlockBins
) -> RegressionTree:
    """Return the frozen tree; child numbers from 0 are splits, ~i is leaf i."""
    left, right = np.zeros(len(splits), np.int32), np.zeros(len(splits), np.int32)
    for number, (_, parent, on_left) in enumerate(splits):
        if parent >= 0:
            (left if on_left else right)[parent] = number
    for i, leaf in enumerate(leaves):
        if leaf.parent >= 0:
            (left if leaf.on_left else right)[leaf.parent] = ~i
    found = np.array([split[:FIELDS] for split, _, _ in splits], SCORE).reshape(-1, FIELDS)
    features, cuts = found[:, 1].astype(np.int32), found[:, 2].astype(np.int32)
    thresholds = np.where(cuts < 0, np.nan, bins.cuts.thresholds[bins.cuts.offsets[features] + cuts])
    sets = [split.left_set for split, _, _ in splits if split.left_set is not None]
    set_of = np.where(cuts < 0, np.cumsum(cuts < 0) - 1, -1).astype(np.int32)
    return RegressionTree(
        features, thresholds, found[:, 3] > 0, left, right, values, found[:, 0].copy(), counts.copy(), cuts,
        set_of, np.array(sets, np.uint32).reshape(-1, WORDS),
    )  # fmt: skip


@compiled
def _search_children(
    words: Array,
    used: Array,
    features: Array,
    rows: Array,
    planes: Array,
    smaller_out: Array,
    larger_out: Array,
    wanted: Array,
    layout: Array,
    units: Array,
    n_bins: Array,
    first_cut: Array,
    monotone: Array,
    limits: Array,
    bounds: Array,
    found_out: Array,
) -> None:
    """Do one thread's share of features: histograms of the smaller child, of the larger, and both searches."""
    for plane in range(len(planes)):
        fill_histograms(words, used, rows, planes[plane], smaller_out[plane])
        if len(wanted) == 2:
            subtract_histograms(smaller_out[plane], used, larger_out[plane])
    for child in range(len(wanted)):
        histogram = smaller_out if child == 0 else larger_out
        found_out[child, 0] = -1.0
        if wanted[child]:
            search_splits(
                histogram, layout, units, features, n_bins, first_cut, monotone, limits, bounds[child],
                found_out[child],
            )  # fmt: skip


@compiled
def _partition_rows(codes: Array, column: int, cut: int, missing_left: bool, rows: Array, spare_out: Array) -> int:
    """Leave the rows that go left at the start of `rows`, the others in `spare_out`; return how many go left.

    Slow line: ``left = np.where(code == 0, missing_left, code <= cut)``. A missing code less 1 is 255, above
    every cut, so that one comparison without a branch serves either side.
    """
    shift = np.uint8(0) if missing_left else np.uint8(1)
    most = np.uint8(cut) - shift
    flat, ahead = codes.reshape(-1), len(rows) - 1
    n_left, n_right = ROW(0), ROW(0)
    for i in range(len(rows)):
        prefetch(flat, np.int64(rows[min(i + 24, ahead)]) * BLOCK)
        row = rows[i]
        left = np.uint8(codes[row, column] - shift) <= np.uint8(most)
        rows[n_left] = row
        spare_out[n_right] = row
        n_left += left
        n_right += not left
    return int(n_left)


@compiled
def _leaf_values(
    rows: Array,
    offsets: Array,
    gradient: Array,
    curvature: Array,
    ridge: float,
    bounds: Array,
    values_out: Array,
    first: int,
    last: int,
) -> None:
    """Newton's value of some leaves: ``-gradient[own].sum() / (curvature[own].sum() + λ)``, within the bounds."""
    for leaf in range(first, last):
        g, h = 0.0, 0.0
        for row in rows[offsets[leaf] : offsets[leaf + 1]]:
            g += gradient[row]
            h += curvature[row]
        value = -g / (h + ridge) if h + ridge > 0.0 else 0.0
        values_out[leaf] = min(max(value, bounds[leaf, 0]), bounds[leaf, 1])
