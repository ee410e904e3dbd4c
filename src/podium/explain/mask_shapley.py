"""Interventional Shapley values of two rows against each other, by masks of the splits of small trees.

The splits of a tree of up to 64 leaves are the bits of a word, those on one feature side by side. What a row decides at
all splits is one word a tree: splits stand sorted by threshold, so that those where the row goes right are the first of
each column (the idea of QuickScorer, Lucchese et al. 2015), and the second row differs from the first at those between.
What a row misses on the way to a leaf is then an "and" of words, and a feature of the way belongs to

- row a alone, if only b goes astray at a split on it; to row b alone, if only a does;
- neither, if both do: no mix of the two rows reaches the leaf.

With |U| features of a and |V| of b on the way, a leaf gives each of the first (|U| - 1)! |V|!/(|U| + |V|)! of its
value and takes |U|! (|V| - 1)!/(|U| + |V|)! from each of the second, as in `tree_shapley`. All leaves below a split
that parts the rows have its feature in common, and leaves stand from left to right, so that sums of a run of leaves,
each the difference of two running sums, give all parts: no tree is walked, and no branch is guessed wrong.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podium._compiled import INDEX, JIT_DISABLED, ROW, SCORE, compiled, inlined_part
from podium._validation import Array
from podium.explain.pair_parts import PairParts, share_table
from podium.explain.split_sides import Splits
from podium.trees import code_of, leaf_bounds

MOST_LEAVES = 64
"""Leaves of a tree that has masks: with one split less, counts of features are below 64, a row of weights."""
LEAVES_AT_ONCE = 8
"""The leaves of a tree are filled up to a multiple of this, which the processor takes side by side."""
NO_BITS, ONE = np.uint64(0), np.uint64(1)
TWO, FOUR, WIDTH, TOP_BYTE = np.uint64(2), np.uint64(4), np.uint64(6), np.uint64(56)
PAIRS, QUADS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
HALVES, BYTES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
"""Masks that count the bits of a word."""

COLUMN = np.dtype([("feature", ROW), ("missing_left", ROW), ("set_of", ROW), ("start", ROW)])
"""What decides splits: a feature and the side of what is missing, by thresholds; or a set of categories, else -1."""
STRIKE = np.dtype([("tree", np.uint64), ("bit", np.uint64)])
"""A split, sorted by column and threshold: its tree, and its bit in the word of that tree."""
SPLIT = np.dtype(
    [("above", np.uint64), ("feature", np.uint64), ("start", np.uint8), ("middle", np.uint8), ("end", np.uint8)],
    align=True,
)
"""A split, by tree and bit: splits above on the same feature; its leaves, those on the left ending in the middle."""
TREE = np.dtype([("tops", np.uint64), ("split", ROW), ("leaf", ROW)])
"""The last bit of each feature of a tree; its first split and first leaf."""
PARTS = np.dtype([("given", SCORE), ("taken", SCORE)])
"""What a leaf gives each feature of row a and takes from each of row b, as shares or as values."""


class Masks(NamedTuple):
    """Trees as the kernel takes them, one by one: to tell the types of arrays in tuples takes 20 µs a call.

    Attributes
    ----------
    columns : ndarray of records
        What decides splits, with one more that ends the last.
    thresholds : ndarray of float64
        Of all splits, ascending within a column.
    tables : ndarray of bool
        Which codes of a categorical feature go left, by sets.
    strikes, splits, trees : ndarray of records
        Splits by column, splits by tree and bit, and trees, with one more that ends the last.
    way, right : ndarray of uint64
        Splits on the way to each leaf, and those of them where it goes right; none where a leaf only fills up.
    value : ndarray of float64
        Of the leaves.
    """

    columns: Array
    thresholds: Array
    tables: Array
    strikes: Array
    splits: Array
    trees: Array
    way: Array
    right: Array
    value: Array


class MaskShapley:
    """Interventional Shapley values of joined trees of up to 64 leaves.

    Parameters
    ----------
    splits : Splits
    value : ndarray of float64
        Of all leaves.
    n_leaves : ndarray of int64
        Of each tree.
    n_features : int
    """

    def __init__(self, splits: Splits, value: Array, n_leaves: Array, n_features: int) -> None:
        self.n_features, self.masks = n_features, _masks(splits, value, n_leaves)
        self.weights = _weights(MOST_LEAVES)

    def of_pair(self, a: Array, b: Array) -> PairParts:
        """Return what each feature adds to score(a) - score(b), and the sums of all trees for both rows."""
        out, sums = np.zeros(self.n_features, SCORE), np.zeros(2, SCORE)
        _pair_by_masks(*self.masks, self.weights, a, b, out, sums)
        return PairParts(out, sums)


def _columns(splits: Splits) -> tuple[Array, Array]:
    """Return what decides splits, and the splits in the order of columns and thresholds; each set is a column."""
    by_value = 2 * splits.feature.astype(ROW) + splits.missing_left
    key = np.where(splits.set_of < 0, by_value, -1 - splits.set_of.astype(ROW))
    order = np.lexsort((splits.threshold, key))
    start = np.flatnonzero(np.diff(key[order], prepend=np.iinfo(ROW).min))
    columns = _records(len(start) + 1, COLUMN)
    columns["start"] = np.append(start, len(order))
    for name in ("feature", "missing_left", "set_of"):
        columns[name][:-1] = getattr(splits, name)[order[start]]
    return columns, order


def _masks(splits: Splits, value: Array, n_leaves: Array) -> Masks:
    """Return trees as masks."""
    columns, by_column = _columns(splits)
    filled = -(-n_leaves // LEAVES_AT_ONCE) * LEAVES_AT_ONCE
    trees = _records(len(n_leaves) + 1, TREE)
    trees["split"][1:], trees["leaf"][1:] = np.cumsum(n_leaves - 1), np.cumsum(filled)
    first_leaf = np.cumsum(n_leaves) - n_leaves
    place = np.arange(len(value)) + np.repeat(trees["leaf"][:-1] - first_leaf, n_leaves)
    owner = np.repeat(np.arange(len(n_leaves)), n_leaves - 1)
    order = np.lexsort((splits.feature, owner))
    bit, ways = np.empty(len(owner), np.uint64), np.empty((2, len(owner)), np.uint64)
    bit[order] = ONE << (np.arange(len(owner)) - trees["split"][owner]).astype(np.uint64)
    masks = Masks(
        columns, splits.threshold[by_column], splits.tables, _records(len(owner), STRIKE), _records(len(owner), SPLIT),
        trees, np.zeros(filled.sum(), np.uint64), np.zeros(filled.sum(), np.uint64), np.zeros(filled.sum(), SCORE),
    )  # fmt: skip
    masks.value[place] = value
    masks.strikes["tree"], masks.strikes["bit"] = owner[by_column], bit[by_column]
    _fill_ways(splits.child, trees["split"][:-1], bit, place, ways[0], ways[1], masks.way, masks.right)
    _fill_splits(splits, order, owner, bit, ways[0], masks)
    for name, bound in zip(("start", "middle", "end"), leaf_bounds(*splits.child.T), strict=True):
        masks.splits[name] = (bound - first_leaf[owner])[order]
    return masks


def _fill_splits(splits: Splits, order: Array, owner: Array, bit: Array, way: Array, masks: Masks) -> None:
    """Write the features of splits, the splits above on the same feature, and the last bit of each feature."""
    feature, tree = splits.feature[order], owner[order]
    start = np.flatnonzero((np.diff(feature, prepend=-1) != 0) | (np.diff(tree, prepend=-1) != 0))
    size = np.diff(start, append=len(order))
    masks.splits["feature"] = feature
    masks.splits["above"] = way[order] & np.repeat(np.bitwise_or.reduceat(bit[order], start), size)
    np.bitwise_or.at(masks.trees["tops"], tree[start], bit[order][start + size - 1])


def _records(size: int, kind: np.dtype[np.void]) -> Array:
    """Return records of zeros; plain Python reads fields by name in a class that Numba takes 10 µs to tell."""
    records = np.zeros(size, kind)
    return records.view(np.recarray) if JIT_DISABLED else records


def _weights(size: int) -> Array:
    """Return the shares of a leaf by |U| and |V|, in rows of 64; none where a and b do not differ on the way."""
    shares = _records(size * size, PARTS).reshape(size, size)
    table = share_table(size)
    shares["given"][1:], shares["taken"][:, 1:] = table[: size - 1, :size], table[:size, : size - 1]
    return shares.ravel()


@compiled
def _fill_ways(
    child: Array, first: Array, bit: Array, place: Array, way: Array, right: Array, way_out: Array, right_out: Array
) -> None:
    """Write the splits on the way to each leaf; a child has a higher number than its parent.

    Slow line: ``way_out[leaf] = sum of the bits of the splits above``; `way` and `right` take those of splits.
    """
    for at in first:
        if at < len(child):
            way[at], right[at] = NO_BITS, NO_BITS
    for at in range(len(child)):
        for side in range(2):
            below, to, turned = child[at, side], way[at] | bit[at], right[at]
            turned = turned | bit[at] if side == 1 else turned
            if below >= 0:
                way[below], right[below] = to, turned
            else:
                way_out[place[~below]], right_out[place[~below]] = to, turned


@compiled
def _pair_by_masks(
    columns: Array,
    thresholds: Array,
    tables: Array,
    strikes: Array,
    splits: Array,
    trees: Array,
    way: Array,
    right: Array,
    value: Array,
    weights: Array,
    a: Array,
    b: Array,
    out: Array,
    sums_out: Array,
) -> None:
    """Add the interventional values of row a against row b, and each row's leaves, tree after tree.

    Slow line: ``out[i] += mean over all orders of score(with a[i]) - score(before)``.
    """
    n_trees = len(trees) - 1
    words, differ = np.zeros(n_trees, np.uint64), np.zeros(n_trees, np.uint64)
    counts, given, taken = np.empty(MOST_LEAVES, np.uint64), np.zeros(MOST_LEAVES + 1), np.zeros(MOST_LEAVES + 1)
    sum_a = sum_b = 0.0
    _decide(columns, thresholds, tables, strikes, a, b, words, differ)
    for tree in range(n_trees):
        word_a, word_b = words[tree], words[tree] ^ differ[tree]
        first, last = INDEX(trees[tree].leaf), INDEX(trees[tree + 1].leaf)
        leaf_a, leaf_b = _count_owners(way, right, trees[tree].tops, first, last, word_a, word_b, counts)
        sum_a, sum_b = sum_a + value[first + leaf_a], sum_b + value[first + leaf_b]
        if differ[tree] != NO_BITS:
            _sum_leaves(value, weights, first, last, counts, given, taken)
            _give_splits(splits, INDEX(trees[tree].split), word_a, differ[tree], given, taken, out)
    sums_out[0], sums_out[1] = sum_a, sum_b


@inlined_part
def _decide(
    columns: Array,
    thresholds: Array,
    tables: Array,
    strikes: Array,
    a: Array,
    b: Array,
    words_out: Array,
    differ_out: Array,
) -> None:
    """Write the splits of each tree where row a goes right, and those where the rows part."""
    for number in range(len(columns) - 1):
        column, end = columns[number], columns[number + 1].start
        start, set_of, missing_left = column.start, column.set_of, column.missing_left
        one = _first_left(set_of, missing_left, start, end, thresholds, tables, a[column.feature])
        other = _first_left(set_of, missing_left, start, end, thresholds, tables, b[column.feature])
        for at in range(INDEX(column.start), INDEX(one)):
            words_out[strikes[at].tree] |= strikes[at].bit
        for at in range(INDEX(min(one, other)), INDEX(max(one, other))):
            differ_out[strikes[at].tree] |= strikes[at].bit


@inlined_part
def _first_left(set_of: int, missing_left: int, low: int, high: int, thresholds: Array, tables: Array, x: float) -> int:
    """Return the first split of a column where a row goes left; slow line: ``low + sum(thresholds[low:high] < x)``."""
    if set_of >= 0:
        low = low if tables[set_of, code_of(x)] else high
    elif x != x:
        low = low if missing_left else high
    else:
        while low < high:
            middle = (low + high) >> 1
            if thresholds[middle] < x:
                low = middle + 1
            else:
                high = middle
    return low


@inlined_part
def _count_owners(
    way: Array,
    right: Array,
    tops: np.uint64,
    first: np.uint64,
    last: np.uint64,
    word_a: np.uint64,
    word_b: np.uint64,
    counts_out: Array,
) -> tuple[np.uint64, np.uint64]:
    """Write 64 |U| + |V| of each leaf, 0 where no mix of the rows comes; return the leaves of both rows.

    A sum carries into the last bit of a feature where any bit of it is set.
    """
    lower, leaf_a, leaf_b = ~tops, NO_BITS, NO_BITS
    for leaf in range(last - first):
        on_way, to_right = way[first + leaf], right[first + leaf]
        miss_a, miss_b = (word_a ^ to_right) & on_way, (word_b ^ to_right) & on_way
        shut_a, shut_b = (((miss_a & lower) + lower) | miss_a) & tops, (((miss_b & lower) + lower) | miss_b) & tops
        counts = (_bit_count(shut_b & ~shut_a) << WIDTH) | _bit_count(shut_a & ~shut_b)
        counts_out[leaf] = NO_BITS if (shut_a & shut_b) != NO_BITS else counts
        leaf_a |= leaf if shut_a == NO_BITS and on_way != NO_BITS else NO_BITS
        leaf_b |= leaf if shut_b == NO_BITS and on_way != NO_BITS else NO_BITS
    return leaf_a, leaf_b


@inlined_part
def _bit_count(word: np.uint64) -> np.uint64:
    """Return the bits of a word that are set, by a sum of bytes, for which processors have one instruction."""
    word = word - ((word >> ONE) & PAIRS)
    word = (word & QUADS) + ((word >> TWO) & QUADS)
    return (((word + (word >> FOUR)) & HALVES) * BYTES) >> TOP_BYTE


@inlined_part
def _sum_leaves(
    value: Array, weights: Array, first: np.uint64, last: np.uint64, counts: Array, given_out: Array, taken_out: Array
) -> None:
    """Write the running sums of what leaves give and take; the first sum, of none, is 0."""
    given = taken = 0.0
    for leaf in range(last - first):
        share = weights[counts[leaf]]
        given += value[first + leaf] * share.given
        taken += value[first + leaf] * share.taken
        given_out[leaf + ONE], taken_out[leaf + ONE] = given, taken


@inlined_part
def _give_splits(
    splits: Array, first: np.uint64, word_a: np.uint64, differ: np.uint64, given: Array, taken: Array, out: Array
) -> None:
    """Give the feature of each split that parts the rows, and did not above, what the leaves on both sides say."""
    left = differ
    while left != NO_BITS:
        lowest = left & (~left + ONE)
        left ^= lowest
        split = splits[first + _bit_count(lowest - ONE)]
        start, middle, end = INDEX(split.start), INDEX(split.middle), INDEX(split.end)
        a_right = (given[end] - given[middle]) - (taken[middle] - taken[start])
        a_left = (given[middle] - given[start]) - (taken[end] - taken[middle])
        part = a_right if (word_a & lowest) != NO_BITS else a_left
        out[split.feature] += part if (differ & split.above) == NO_BITS else 0.0
