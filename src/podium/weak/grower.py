"""Growth of a regression tree, best leaf first."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush, nsmallest

import numpy as np

from podium._compiled import SCORE, compiled, even_chunks, run_threads
from podium._validation import Array
from podium.binning import BlockBins
from podium.weak.category_split import WORDS, CategorySplits
from podium.weak.division import LONG, Divider, Leaf
from podium.weak.histogram import pack
from podium.weak.regression_tree import RegressionTree
from podium.weak.split import FIELDS, Limits, Split

EARLY = 2
"""Leaves for each thread that are divided at a time: with more, more are divided whose turn never comes."""


@dataclass(frozen=True, eq=False)
class Growing:
    """A tree that grows.

    Attributes
    ----------
    leaves : list of Leaf
    splits : list
        Of each division its split, the number of the split above and whether it is on its left.
    queue : list of (float, int)
        Heap of the leaves that may be divided: less the gain, place among the leaves.
    """

    leaves: list[Leaf] = field(default_factory=list)
    splits: list[tuple[Split, int, bool]] = field(default_factory=list)
    queue: list[tuple[float, int]] = field(default_factory=list)

    def put(self, leaf: Leaf, place: int) -> None:
        """Put a leaf at its place, and into the queue if it may be divided."""
        self.leaves[place : place + 1] = [leaf]
        if leaf.split is not None:
            heappush(self.queue, (-leaf.split.gain, place))

    def replace(self, place: int, children: tuple[Leaf, Leaf]) -> None:
        """Put a leaf's children into the tree: the left one at its place, the right one after all others."""
        leaf, number = self.leaves[place], len(self.splits)
        self.splits.append((leaf.known_split, leaf.parent, leaf.on_left))
        for child, at in zip(children, (place, len(self.leaves)), strict=True):
            child.parent, child.on_left = number, at == place
            self.put(child, at)


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
        self.bins, self.limits, self.exact, self.n_threads = bins, limits, exact, n_threads
        self.max_leaves = min(max_leaves, max(bins.n_rows, 1))
        given = np.empty(0, np.int8) if monotone is None else np.asarray(monotone, np.int8)
        constrained = given if given.any() else np.empty(0, np.int8)
        depth = max_leaves if max_depth is None else max_depth
        self.divider = Divider(bins, limits, depth, constrained, n_threads, categories)

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
        packed = pack(gradient, curvature, salt, self.exact, self.n_threads)  # 1
        growing = Growing()
        growing.put(self.divider.root(packed, own, used), 0)
        while growing.queue and len(growing.leaves) < self.max_leaves:  # 2
            place = heappop(growing.queue)[1]
            children = growing.leaves[place].children or self._divide(growing, place)
            growing.replace(place, children)
        return self._finish(growing, own, gradient, curvature)  # 3

    def _divide(self, growing: Growing, place: int) -> tuple[Leaf, Leaf]:
        """Divide a leaf, and where there are threads for them, others whose turn is likely to come soon."""
        best, more = growing.leaves[place], self.max_leaves - len(growing.leaves)
        chosen = [best]
        if self.n_threads > 1 and best.count < LONG:
            n_others = min(EARLY * self.n_threads, more // 2) - 1
            others = [growing.leaves[one] for _, one in nsmallest(max(n_others, 0), growing.queue)]
            chosen += [leaf for leaf in others if leaf.children is None and leaf.count < LONG]
        self.divider.divide(chosen, more > 1)
        return best.known_children

    def _finish(self, growing: Growing, rows: Array, gradient: Array, curvature: Array) -> Grown:
        """Compute leaf values and put the tree together."""
        leaves = sorted(growing.leaves, key=lambda leaf: leaf.start)
        for leaf in leaves:
            if leaf.children is not None:  # divided, but its turn never came
                rows[leaf.start : leaf.stop].sort()
        offsets = np.array([leaf.start for leaf in leaves] + [len(rows)], np.int64)
        bounds = np.array([leaf.bounds for leaf in leaves])
        values = np.empty(len(leaves), SCORE)
        shared = (rows, offsets, gradient, curvature, self.limits.reg_lambda, bounds, values)
        calls = [(*shared, first, last) for first, last in even_chunks(offsets, self.n_threads)]
        run_threads(_leaf_values, calls, self.n_threads)
        tree = _assemble(leaves, growing.splits, values, np.diff(offsets), self.bins)
        return Grown(tree, rows, offsets)


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
    sets = [split.left_set for split, _, _ in splits if split.left_set is not None]
    by_set = cuts < 0
    thresholds = np.where(by_set, np.nan, bins.cuts.thresholds[bins.cuts.offsets[features] + cuts])
    return RegressionTree(
        features, thresholds, found[:, 3] > 0, left, right, values, found[:, 0].copy(), counts.copy(), cuts,
        np.where(by_set, np.cumsum(by_set) - 1, -1).astype(np.int32), np.array(sets, np.uint32).reshape(-1, WORDS),
    )  # fmt: skip


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
