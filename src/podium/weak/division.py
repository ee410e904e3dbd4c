"""Division of a tree's leaves: partition of the rows, histograms of the children, search of their best splits.

Each division costs the histogram of the smaller child; the larger child's is the difference to their parent's.
Threads share out the features of a large leaf, and in its partition runs of rows; of small leaves each thread
takes one as a whole, because starting threads costs as much as 2,000 rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from podium._compiled import ROW, SCORE, compiled, prefetch, run_threads
from podium._validation import Array
from podium.binning import BLOCK, BlockBins
from podium.weak.category_split import CategorySplits
from podium.weak.category_walk import tables_of
from podium.weak.histogram import BINS, HALF, Packed, fill_histograms, subtract_histograms
from podium.weak.split import FIELDS, Limits, Split, child_bounds, search_splits
from podium.weak.sums import half_blocks

LONG = 16_384
"""Rows of a leaf from which threads share its features and rows."""
NEVER = 2**62
"""More rows than a leaf has."""


@dataclass(slots=True)
class Leaf:
    """A leaf while the tree grows.

    Attributes
    ----------
    start, stop : int
        Its rows stand there in the divider's row list.
    slot : int
        Place of its histograms.
    depth : int
    bounds : ndarray of float64
        Lowest and highest value allowed.
    parent : int
        Split above it, -1 for the root; `on_left` says on which side.
    split : Split or None
        Its best split.
    children : pair of leaves or None
        What it was divided into; the tree takes them only when it is this leaf's turn.
    """

    start: int
    stop: int
    slot: int
    depth: int
    bounds: Array
    parent: int = -1
    on_left: bool = False
    split: Split | None = None
    children: tuple[Leaf, Leaf] | None = None

    @property
    def count(self) -> int:
        """Number of rows."""
        return self.stop - self.start

    @property
    def known_split(self) -> Split:
        """Its best split, which it must have."""
        if self.split is None:
            raise ValueError("a leaf without a split was to be divided")
        return self.split

    @property
    def known_children(self) -> tuple[Leaf, Leaf]:
        """What it was divided into, which it must have been."""
        if self.children is None:
            raise ValueError("a leaf was to be divided and was not")
        return self.children


class Divider:
    """Divides leaves.

    Parameters
    ----------
    bins : BlockBins
    limits : Limits
    max_depth : int
    monotone : ndarray of int8
        1, -1 or 0 for each feature; empty if none is constrained.
    n_threads : int
    categories : CategorySplits, optional
        Finds the splits of categorical features.
    """

    def __init__(
        self,
        bins: BlockBins,
        limits: Limits,
        max_depth: int,
        monotone: Array,
        n_threads: int,
        categories: CategorySplits | None = None,
    ) -> None:
        self.bins, self.limits, self.max_depth, self.n_threads = bins, limits, max_depth, n_threads
        self.monotone, self.words = monotone, half_blocks(bins)
        self.least = max(2, 2 * limits.min_child_samples)
        self.categories = categories
        self._limits = limits.as_array()
        self._slots: list[Array] = []
        self._spare = np.empty(bins.n_rows, np.uint32)

    def root(self, packed: Packed, rows: Array, features: Array) -> Leaf:
        """Begin a tree on some rows, which the divider reorders, and features: return its first leaf."""
        self.packed, self.rows = packed, rows
        cuts = self.bins.cuts
        self._terms = packed.layout, packed.units, cuts.n_bins, cuts.first, self.monotone, self._limits
        halves = np.unique(features // HALF)
        numeric = features if self.categories is None else self.categories.take(features, packed)
        self._whole = self._share(numeric, halves)
        self._shares = [self._share(numeric, part) for part in np.array_split(halves, self.n_threads) if len(part)]
        self._slots_used = 0
        leaf = Leaf(0, len(rows), self._new_slot(), 0, np.array([-np.inf, np.inf]))
        self._search_together([leaf])
        return leaf

    def divide(self, leaves: list[Leaf], searched: bool) -> None:
        """Give leaves that have a split their children, and these, if wanted, their best splits."""
        if self.n_threads > 1 and len(leaves) == 1 and leaves[0].count >= LONG:
            self._divide_together(leaves[0], searched)
        else:
            self._divide_apart(leaves, searched)

    def _share(self, features: Array, halves: Array) -> tuple[Array, Array]:
        """Return which halves of blocks are among `halves`, and the features in them."""
        used = np.zeros(2 * len(self.words), np.bool_)
        used[halves] = True
        return used, features[used[features // HALF]].astype(np.int64)

    def _new_slot(self) -> int:
        """Return the number of a place for histograms, made when first asked for and used again by later trees."""
        if len(self._slots) == self._slots_used:
            shape = len(self.packed.planes), 2 * len(self.words), HALF, BINS
            self._slots.append(np.empty(shape, np.int64))
        self._slots_used += 1
        return self._slots_used - 1

    def _divide_apart(self, leaves: list[Leaf], searched: bool) -> None:
        """Divide each leaf in one call."""
        found = np.empty((len(leaves), 2, FIELDS), SCORE)
        made = [self._children(leaf) for leaf in leaves]
        calls = [
            (
                *self._partition_call(leaf, leaf.start, leaf.stop), self.words, *self._whole, self.packed.planes,
                self._slots[left.slot], self._slots[right.slot], self.least if self._deeper(left, searched) else NEVER,
                *self._terms, np.array([left.bounds, right.bounds]), out,
            )
            for leaf, (left, right), out in zip(leaves, made, found, strict=True)
        ]  # fmt: skip
        sizes = run_threads(_divide_leaf, calls, self.n_threads)
        for leaf, (left, right), size, out in zip(leaves, made, sizes, found, strict=True):
            self._settle(leaf, left, right, size)
            smaller, larger = by_size(left, right)
            smaller.split, larger.split = split_of(out[0]), split_of(out[1])
            if self._deeper(left, searched):
                self._search_categories([smaller, larger])

    def _divide_together(self, leaf: Leaf, searched: bool) -> None:
        """Divide a leaf by all threads."""
        left, right = self._children(leaf)
        bounds = [leaf.start + leaf.count * part // self.n_threads for part in range(self.n_threads + 1)]
        calls = [self._partition_call(leaf, a, b) for a, b in pairwise(bounds)]
        sizes = run_threads(_partition_rows, calls, self.n_threads)
        self._settle(leaf, left, right, _join_parts(self.rows, self._spare, bounds, sizes))
        if self._deeper(left, searched):
            self._search_together(list(by_size(left, right)))

    def _children(self, leaf: Leaf) -> tuple[Leaf, Leaf]:
        """Return the children of a leaf, whose rows are not parted yet."""
        split = leaf.known_split
        direction = 0 if len(self.monotone) == 0 else int(self.monotone[int(split.feature)])
        below, above = child_bounds(split, direction, self.limits.reg_lambda, leaf.bounds)
        left = Leaf(leaf.start, leaf.stop, leaf.slot, leaf.depth + 1, below)
        return left, Leaf(leaf.start, leaf.stop, self._new_slot(), leaf.depth + 1, above)

    def _settle(self, leaf: Leaf, left: Leaf, right: Leaf, n_left: int) -> None:
        """Part a leaf's rows; the larger child keeps the place of its parent's histograms."""
        left.stop = right.start = leaf.start + n_left
        if right.count > left.count:
            left.slot, right.slot = right.slot, left.slot
        leaf.children = left, right

    def _deeper(self, leaf: Leaf, searched: bool) -> bool:
        """Say whether a leaf may be divided again as far as its depth goes."""
        return searched and leaf.depth < self.max_depth

    def _search_together(self, leaves: list[Leaf]) -> None:
        """Find the best splits of one leaf, or of two (the smaller first) whose histograms add up to the second's."""
        slots = [self._slots[leaf.slot] for leaf in leaves]
        wanted = np.array([leaf.count >= self.least for leaf in leaves])
        found = np.empty((len(self._shares), len(leaves), FIELDS), SCORE)
        shared = (self.rows[leaves[0].start : leaves[0].stop], self.packed.planes, slots[0], slots[-1], wanted)
        bounds = np.array([leaf.bounds for leaf in leaves])
        calls = [
            (self.words, *share, *shared, *self._terms, bounds, out)
            for share, out in zip(self._shares, found, strict=True)
        ]
        run_threads(_search_children, calls, self.n_threads)
        for i, leaf in enumerate(leaves):
            leaf.split = split_of(found[np.argmax(found[:, i, 0]), i])
        self._search_categories(leaves)

    def _search_categories(self, leaves: list[Leaf]) -> None:
        """Replace the best splits of leaves by better ones of categorical features."""
        if self.categories is not None:
            searched = [leaf for leaf in leaves if leaf.count >= self.least]
            nodes = [(self._slots[leaf.slot], leaf.bounds) for leaf in searched]
            for leaf, found in zip(searched, self.categories.search(nodes, self._limits), strict=True):
                leaf.split = first_of_best(leaf.split, found)

    def _partition_call(self, leaf: Leaf, start: int, stop: int) -> tuple[Any, ...]:
        """Return the arguments of `_partition_rows` for some of a leaf's rows."""
        split = leaf.known_split
        block, column = divmod(int(split.feature), BLOCK)
        return self.bins.codes[block], column, goes_left(split), self.rows[start:stop], self._spare[start:stop]


def by_size(left: Leaf, right: Leaf) -> tuple[Leaf, Leaf]:
    """Return the smaller leaf, then the larger; of equal ones the right, then the left."""
    return (right, left) if right.count <= left.count else (left, right)


def split_of(found: Array) -> Split | None:
    """Return what a search has written as a split, if it is one."""
    return Split(*found.tolist()) if found[0] > 0 else None


def first_of_best(one: Split | None, other: Split | None) -> Split | None:
    """Return the split of the higher gain, of equal ones that of the first feature."""
    given = [split for split in (one, other) if split is not None]
    return max(given, key=lambda split: (split.gain, -split.feature), default=None)


def goes_left(split: Split) -> Array:
    """For each code whether its rows go left."""
    if split.left_set is not None:
        return tables_of(split.left_set[None], np.array([split.missing_left > 0])).ravel()
    table = np.arange(BINS) <= split.cut
    table[0] = split.missing_left > 0
    return table


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


@compiled
def _divide_leaf(
    codes: Array,
    column: int,
    table: Array,
    rows: Array,
    spare: Array,
    words: Array,
    used: Array,
    features: Array,
    planes: Array,
    node_out: Array,
    smaller_out: Array,
    least: int,
    layout: Array,
    units: Array,
    n_bins: Array,
    first_cut: Array,
    monotone: Array,
    limits: Array,
    bounds: Array,
    found_out: Array,
) -> int:
    """Part a leaf's rows and search its children of at least so many rows, the smaller first; return the left rows."""
    n_left = _partition_rows(codes, column, table, rows, spare)
    n_right = len(rows) - n_left
    for i in range(n_right):
        rows[n_left + i] = spare[i]
    wanted, ordered = np.empty(2, np.bool_), np.empty((2, 2))
    wanted[0], wanted[1] = min(n_left, n_right) >= least, max(n_left, n_right) >= least
    found_out[0, 0] = found_out[1, 0] = -1.0
    if wanted[1]:
        left_first = n_left < n_right
        smaller = rows[:n_left] if left_first else rows[n_left:]
        for child in range(2):
            side = child if left_first else 1 - child
            # numbers, not rows: to assign rows, the text of an error about shapes is compiled, which takes 2 s
            ordered[child, 0], ordered[child, 1] = bounds[side, 0], bounds[side, 1]
        _search_children(
            words, used, features, smaller, planes, smaller_out, node_out, wanted, layout, units, n_bins, first_cut,
            monotone, limits, ordered, found_out,
        )  # fmt: skip
    return int(n_left)


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
def _partition_rows(codes: Array, column: int, table: Array, rows: Array, spare_out: Array) -> int:
    """Leave the rows that go left at the start of `rows`, the others in `spare_out`; return how many go left.

    Slow line: ``left = table[codes[rows, column]]``; each row is written to both places, without a branch.
    """
    flat, ahead = codes.reshape(-1), len(rows) - 1
    n_left, n_right = ROW(0), ROW(0)
    for i in range(len(rows)):
        prefetch(flat, np.int64(rows[min(i + 24, ahead)]) * BLOCK)
        row = rows[i]
        left = table[codes[row, column]]
        rows[n_left] = row
        spare_out[n_right] = row
        n_left += left
        n_right += not left
    return int(n_left)
