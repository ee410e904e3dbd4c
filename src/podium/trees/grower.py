"""Growth of a regression tree, best leaf first."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, lru_cache, partial
from itertools import pairwise

import numpy as np

from podium._compiled import JIT_DISABLED, even_ranges, processors, run_beside
from podium._exchange import ALONE, Exchange
from podium._validation import Array
from podium.binning import BlockBins
from podium.trees.category_split import CategorySplits, beats, table_of
from podium.trees.division import help_leader, lead
from podium.trees.frozen_records import Grown, frozen
from podium.trees.growth_state import (
    DIVISION,
    FULL,
    GROWN,
    GROWTH,
    LEAF,
    RANGE,
    STOPPED,
    TASK,
    WORK,
    Buffers,
    GrowingTree,
    Shared,
    TreeData,
)
from podium.trees.histogram import (
    BINS,
    FEATURES_PER_HALF,
    FEATURES_PER_WORD,
    WORDS_PER_LINE,
    Packed,
    as_lines,
    empty_histograms,
    pack_gradients,
)
from podium.trees.leaf_values import leaf_sums, newton_values, room_for_sums
from podium.trees.shared_growth import SharedGrowth, nodes_at_most
from podium.trees.split import COLUMN, SPLIT, UNCONSTRAINED, Limits, Record, Records, SplitContext

SHARED_CELLS = 100_000
"""Rows times features from which helpers are called."""
SHARED_ROWS = 4096
"""Rows of a leaf from which threads share what is done row by row."""
FIRST_HISTOGRAMS = 64
"""Leaves that histograms are allocated for at first; 128 leaves of 136 features, the most that a tree of 255 needs at
once, take 36 MB."""
CELLS_PER_CALL = 2**31
"""Rows times features times divisions of one call of a kernel: about a second, for Ctrl-C is heard between calls."""


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
    exchange : Exchange
        With the parts that have other rows: all grow the same trees, those that one part with all rows would grow.
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
        exchange: Exchange = ALONE,
    ) -> None:
        self.bins, self.exact, self.n_threads, self.categories = bins, exact, n_threads, categories
        self.exchange = exchange
        self.keys = np.arange(bins.n_rows, dtype=np.uint64) if keys is None else keys
        self.max_leaves = min(max_leaves, max(exchange.count(bins.n_rows), 1))
        given = np.empty(0, np.int8) if monotone is None else np.asarray(monotone, np.int8)
        self.monotone = given if given.any() else np.empty(0, np.int8)
        self.words, self.weight = as_lines(bins, n_threads), weight
        self.limits, self.reg_lambda = limits.of_gains(by_squares=weight is not None), float(limits.reg_lambda)
        self.n_words = -(-bins.cuts.n_features // FEATURES_PER_WORD)
        self.max_depth = max_leaves if max_depth is None else max_depth
        self.columns = self._columns()
        self.n_rows, self.least_gain = exchange.count(bins.n_rows), np.inf
        self.all_features = np.arange(bins.cuts.n_features)
        self._ranges: dict[int, Records] = {}
        self._spare_rows = np.empty(bins.n_rows, np.uint32)
        self._values = np.empty((0, bins.n_rows), np.int64)
        self._histograms = empty_histograms(0, 1, self.n_words)

    def _columns(self) -> Records:
        """Return what searches know of each feature."""
        cuts = self.bins.cuts
        columns = np.recarray(cuts.n_features, COLUMN)
        columns.n_bins, columns.first_cut = cuts.n_bins, cuts.first
        columns.direction = self.monotone if len(self.monotone) else UNCONSTRAINED
        return columns

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
        used = self.all_features if features is None else features
        weight, by_squares = (curvature, False) if self.weight is None else (self.weight, True)
        packed = pack_gradients(  # 1
            gradient, weight, self.keys, salt, self.exact, self.n_threads, by_squares, self.exchange
        )
        growing = Growing(self, packed, own, used, gradient, curvature)
        growing.run()  # 2, 3
        grown = growing.finish()
        self.least_gain = float(grown.tree.gain.min(initial=np.inf))
        return grown

    def ranges(self, numeric: Array, used: Array, n_threads: int) -> Records:
        """Return the items of a search of some features; those of all are kept, which take as long as a small leaf."""
        if numeric is not self.all_features:
            return _item_ranges(numeric, used, n_threads)
        if n_threads not in self._ranges:
            self._ranges[n_threads] = _item_ranges(numeric, used, n_threads)
        return self._ranges[n_threads]

    @cached_property
    def growing_tree(self) -> GrowingTree:
        """Records of the tree that grows, kept from one to the next: they are slow to allocate."""
        n = self.max_leaves if self.exchange.size == 1 else nodes_at_most(self.max_leaves)
        tables = np.empty((1 if self.categories is None else n, BINS), np.bool_)
        leaves, best, splits, divided = (np.recarray(n, dtype) for dtype in (LEAF, SPLIT, SPLIT, LEAF))
        return GrowingTree(leaves, best, tables, splits, divided, *room_for_sums(n))

    def buffers(self, rows: Array, n_planes: int, n_histograms: int) -> Buffers:
        """Return buffers for so many planes and the histograms of so many leaves; what stands in them stays."""
        if len(self._values) < n_planes:
            self._values = np.empty((n_planes, self.bins.n_rows), np.int64)
        if len(self._histograms) < n_histograms:
            more = empty_histograms(n_histograms, n_planes, self.n_words)
            more[: len(self._histograms)] = self._histograms
            self._histograms = more
        return Buffers(rows, self._spare_rows, self._values, self._histograms)


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
        used[features // FEATURES_PER_WORD] = True
        alone = len(rows) * len(features) < SHARED_CELLS or JIT_DISABLED
        n_threads = 1 if alone else min(grower.n_threads, processors(), int(used.sum()))
        self._steps = max(1, CELLS_PER_CALL // max(1, len(rows) * len(features)))
        self.n_helpers, n_chunks = n_threads - 1, 2 * n_threads if n_threads > 1 else 1
        self.shares = even_ranges(grower.n_words, grower.exchange.size)
        own = self.shares[grower.exchange.rank]
        numeric = features if grower.categories is None else grower.categories.take(features, packed, own)
        ranges = grower.ranges(numeric, used, n_threads)
        searched = ranges if grower.exchange.size == 1 else self._own_range(numeric)
        bins, together = grower.bins, grower.exchange.size > 1
        self.tree, n = grower.growing_tree, len(grower.growing_tree.leaves)
        self.data = TreeData(
            bins.codes, grower.words, packed.planes, gradient, curvature, used, ranges, searched,
            numeric.astype(np.int64),
        )  # fmt: skip
        self.context = SplitContext(grower.columns, packed.layout, grower.limits, len(grower.monotone) > 0)
        self.growth = _record(
            GROWTH, max_leaves=grower.max_leaves, max_depth=grower.max_depth, together=together,
            min_rows=max(2, 2 * grower.limits.min_child_samples), min_shared_rows=SHARED_ROWS,
            n_rows=grower.exchange.count(len(rows)),
        )  # fmt: skip
        self.shared = Shared(
            _record(WORK), _record(TASK), self.growth, np.empty(BINS, np.bool_), np.empty(n_chunks, np.int64),
            _apart(n if together else len(searched)), np.recarray(n if together else 0, DIVISION),
        )  # fmt: skip
        self.sets: dict[int, Array] = {}
        self.split_sets: list[Array] = []

    def _own_range(self, numeric: Array) -> Records:
        """Return the one item of a search where several parts share out the features."""
        halves = [2 * word for word in self.shares[self.grower.exchange.rank]]
        own = np.recarray(1, RANGE)
        own[0] = (*halves, *np.searchsorted(numeric // FEATURES_PER_HALF, halves).tolist())
        return own

    def run(self) -> None:
        """Divide leaves until the tree is grown; after each division look for sets of categories, if there are any."""
        growth, categories, grower = self.growth, self.grower.categories, self.grower
        if grower.exchange.size > 1:
            known = grower.exchange, self.shared, self.tree, self.shares, grower.least_gain
            search = None if categories is None else partial(categories.search, limits=grower.limits)
            self.split_sets = SharedGrowth(*known, self._lead, search).run()
            return
        allocated = max(FIRST_HISTOGRAMS, len(grower._histograms))
        growth.n_histograms, growth.end = min(grower.max_leaves, allocated), STOPPED
        while growth.end != GROWN:
            before = growth.n_leaves
            growth.steps_left = self._steps if categories is None else 1
            self._lead()
            if growth.end == FULL:
                growth.n_histograms = min(2 * growth.n_histograms, self.grower.max_leaves)
            if categories is not None and growth.n_leaves > before:
                self._search_categories(categories)

    def _lead(self) -> Array:
        """Let one thread lead and the others help it; return the histograms."""
        buffers = self.grower.buffers(self.rows, len(self.packed.planes), self.growth.n_histograms)
        work = _record(WORK)  # a new one: a helper that comes late must find its own over
        known = self.data, self.context, buffers, self.shared._replace(work=work), self.tree
        run_beside(
            partial(lead, *known, self.n_helpers), partial(help_leader, *known), self.n_helpers,
            self.grower.n_threads, partial(setattr, work, "over", 1),
        )  # fmt: skip
        return buffers.histograms

    def _search_categories(self, categories: CategorySplits) -> None:
        """Replace the best splits of the newest leaves by better ones of categorical features."""
        divided, n_leaves, leaves = int(self.growth.divided), int(self.growth.n_leaves), self.tree.leaves
        newest = [0] if n_leaves == 1 else [divided, n_leaves - 1]
        if n_leaves > 1 and (left_set := self.sets.pop(divided, None)) is not None:
            self.split_sets.append(left_set)
        wanted = [one for one in newest if self._may_be_divided(leaves[one])]
        nodes = [
            (self.grower._histograms[leaf.histogram], float(leaf.lowest), float(leaf.highest))
            for leaf in leaves[wanted]
        ]
        found = categories.search(nodes, self.grower.limits)
        for one, split in zip(wanted, found, strict=True):
            if split is not None and split.left_set is not None and beats(split, self.tree.best[one]):
                self.tree.best[one], self.sets[one] = (*split[:-1], -1, False), split.left_set
                self.tree.tables[one] = table_of(split.left_set, split.missing_left)

    def _may_be_divided(self, leaf: Record) -> bool:
        """Say whether a leaf is neither too deep nor too small, and the tree not full."""
        growth = self.growth
        enough = leaf.count >= growth.min_rows
        return bool(growth.n_leaves < growth.max_leaves and leaf.depth < growth.max_depth and enough)

    def finish(self) -> Grown:
        """Return the frozen tree, whose leaves go from left to right; child numbers from 0 are splits, ~i is leaf i."""
        grower, n_leaves = self.grower, int(self.growth.n_leaves)
        alone = grower.exchange.size == 1
        sums = self.tree.sums[:n_leaves] if alone else leaf_sums(self.tree.digits[:n_leaves], grower.exchange)
        grown = frozen(self.tree, self.rows, sums, grower.bins.cuts, grower.reg_lambda)
        if self.split_sets:
            grown = grown.with_sets(self.split_sets)
        if grower.weight is not None and len(grower.monotone):
            gradient, curvature = sums[self.tree.leaves.first[:n_leaves].argsort()].T
            values = newton_values(grown.tree, gradient, curvature, grower.reg_lambda, grower.monotone)
            grown = replace(grown, tree=grown.tree.with_values(values))
        return grown


def _record(dtype: np.dtype[np.void], **values: int) -> Record:
    """Allocate one record, zeros but for some values, which a record itself takes seven times as long to set."""
    made = np.zeros(1, dtype)
    for name, value in values.items():
        made[name] = value
    return made.view(np.recarray)[0]


def _apart(n_items: int) -> Records:
    """Allocate two splits for each item, no cache line for two items: threads would wait for each other's writes."""
    return np.recarray((n_items, 4), SPLIT)[:, :2]


def _item_ranges(numeric: Array, used: Array, n_threads: int) -> Records:
    """Return the items of a search: for one thread one, of all words; else a line or, if need be, a part of one."""
    ends = _item_ends(len(used), n_threads)
    first = np.searchsorted(numeric // FEATURES_PER_HALF, ends)
    ranges = np.recarray(len(ends) - 1, RANGE)
    ranges.half_start, ranges.half_stop, ranges.feature_start, ranges.feature_stop = (
        ends[:-1], ends[1:], first[:-1], first[1:]
    )  # fmt: skip
    return ranges[[bool(used[a // 2 : (b + 1) // 2].any()) for a, b in pairwise(ends)]]


@lru_cache(maxsize=64)
def _item_ends(n_words: int, n_threads: int) -> Array:
    """Return the ends of the items of a search, in halves of words: no thread may have many more than another."""
    if n_threads == 1:
        return np.array([0, 2 * n_words])
    widths = [WORDS_PER_LINE, WORDS_PER_LINE // 2, WORDS_PER_LINE // 4, 1]
    return min((_ends(n_words, width) for width in widths), key=lambda ends: _longest_share(ends, n_threads))


def _ends(n_words: int, width: int) -> Array:
    """Return the ends of parts of so many words, then of two parts that have what is left: in halves of words."""
    ends = 2 * np.append(np.arange(0, n_words, width), n_words)
    left = n_words % width
    return np.insert(ends, -1, ends[-1] - left) if left else ends


def _longest_share(ends: Array, n_threads: int) -> int:
    """Return how many halves of words one thread has at most, if each takes the next part when it is done with one."""
    shares = [0] * n_threads
    for size in np.diff(ends).tolist():
        shares[shares.index(min(shares))] += size
    return max(shares)
