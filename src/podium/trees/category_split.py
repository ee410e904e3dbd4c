"""Search of a node's best split by a set of categories.

Each category of a node has sums G of gradients and H of curvatures. Two kinds of sets are tried, each with the
missing values on either side: every category against the rest; and, with the categories sorted by G/H, every first
part of them against the others. The best of all sets is among the latter where no limit acts (Fisher 1958, "On
grouping for maximum homogeneity"), so that k categories need k candidates, not 2^(k-1).

The best of so many sets is in part the best by chance: a column of noise with 200 categories would be split before
any number. So the mean gradient of each category is shrunk towards that of the node by `smoothing`
pseudo-rows, each like the node's average: G' = H (m + (G/H - m) H/(H + s h)), with the node's means m of
G/H and h of the curvature of a row. The gain is that of the shrunk sums; leaf values come from the gradients as they
are. On made data this is worth more than LightGBM's rules for the same purpose (see benchmarks/README.md).
"""

from __future__ import annotations

import numpy as np

from podium._compiled import compiled, compiled_part, run_threads
from podium._types import Array, Int
from podium.trees.category_walk import tables_of
from podium.trees.histogram import BINS, FEATURES_PER_WORD, Packed, SumLayout
from podium.trees.split import SPLIT, Limits, Record, Split, Sums

WORDS_PER_SET = 8
"""Words of 32 bits in a set."""
LEAST_CURVATURE = 1e-300
"""Least sum of curvatures of a side where none is asked for: without any, a side has no value."""


class CategorySplits:
    """Finds the best splits of categorical features.

    Parameters
    ----------
    n_categories : ndarray of int64
        Categories of each feature, -1 for a number.
    smoothing : float
        Average rows added to each category.
    n_threads : int
        Threads share out nodes.
    """

    def __init__(self, n_categories: Array, smoothing: float, n_threads: int = 1) -> None:
        self.n_categories, self.smoothing, self.n_threads = n_categories, smoothing, n_threads

    def take(self, features: Array, packed: Packed, words: tuple[int, int]) -> Array:
        """Begin a tree: keep the categorical ones among its features and in a range of words; return the numbers."""
        categorical = self.n_categories[features] >= 0
        own = features[categorical].astype(np.int64)
        own = own[(own // FEATURES_PER_WORD >= words[0]) & (own // FEATURES_PER_WORD < words[1])]
        self._terms = packed.layout, own, self.n_categories, float(self.smoothing)
        return features[~categorical]

    def search(self, nodes: list[tuple[Array, float, float]], limits: Limits) -> list[Split | None]:
        """Return the best split of each node.

        Parameters
        ----------
        nodes : list of (histogram, lowest, highest)
            As in `search_splits`.
        limits : Limits
        """
        found, sets = np.recarray(len(nodes), SPLIT), np.empty((len(nodes), WORDS_PER_SET), np.uint32)
        calls = [(*node, *self._terms, limits, out, words) for node, out, words in zip(nodes, found, sets, strict=True)]
        run_threads(search_category_splits, calls, self.n_threads)
        numbers = found[list(Split._fields[:-1])].tolist()
        splits = [Split._make((*fields, words)) for fields, words in zip(numbers, sets, strict=True)]
        return [split if split.gain > 0 else None for split in splits]


def beats(split: Split, found: Record | Split) -> bool:
    """Say whether a split is better than one found before: by its gain, of equals by the lower feature."""
    return bool(split.gain > found.gain or (split.gain == found.gain and split.feature < found.feature))


def table_of(left_set: Array, missing_left: bool) -> Array:
    """Return which codes a split by a set sends left: bool[256]."""
    table: Array = tables_of(left_set[None], np.array([missing_left]))[0]
    return table


@compiled
def search_category_splits(
    histogram: Array,
    lowest: float,
    highest: float,
    layout: SumLayout,
    features: Array,
    n_categories: Array,
    smoothing: float,
    limits: Limits,
    split_out: Record,
    set_out: Array,
) -> None:
    """Write a node's best split by a set; slow line: ``max((gain(f, left), f, left) for f, left in all)``.

    1. Sum up the categories of a feature, draw them to their mean, and sort them by it.
    2. For missing values on the left, then on the right: take the gains of all sets.
    3. Keep the best set.

    Of equal gains the first feature wins, then missing values to the left, then first parts of the sorted
    categories, the shortest before others, then single categories. Categories that the node lacks go the way of
    missing values, and those, where no row of the node lacks the feature, take the side with more rows.

    Parameters
    ----------
    histogram, lowest, highest, layout, limits : as in `search_splits`
    features : int64
        Categorical features, ascending.
    n_categories : int64[n_features]
    smoothing : float
    split_out : SPLIT
        The cut is -1.
    set_out : uint32[8]
        Bit c is set if category c goes left.
    """
    sums, codes = np.empty((3, BINS)), np.empty(BINS, np.int64)
    left, gains = np.empty((3, 2 * BINS)), np.empty(2 * BINS)
    split_out.gain = -1.0
    for feature in features:
        size = _category_sums(  # 1
            histogram[:, feature // FEATURES_PER_WORD, feature % FEATURES_PER_WORD],
            n_categories[feature],
            layout,
            sums,
            codes,
        )
        _shrink_to_mean(sums[:, 1 : size + 1], smoothing)
        _sort_by_mean(sums[:, 1 : size + 1], codes[1 : size + 1])
        whole = Sums(sums[0, : size + 1].sum(), sums[1, : size + 1].sum(), sums[2, : size + 1].sum())
        missing = sums[2, 0]
        for side in range(2 if missing > 0.0 else 1):
            n_sets = _fill_candidates(sums, size, side == 0, left)  # 2
            _fill_gains(left[:, :n_sets], whole, limits, lowest, highest, gains)
            i = np.argmax(gains[:n_sets])
            if gains[i] > max(split_out.gain, limits.min_split_gain):  # 3
                missing_left = side == 0 if missing > 0.0 else 2.0 * left[2, i] >= whole.n_rows
                split_out.gain, split_out.feature, split_out.cut = gains[i], feature, -1
                split_out.missing_left, split_out.left_count = missing_left, left[2, i]
                split_out.left_gradient, split_out.left_curvature = left[0, i], left[1, i]
                split_out.right_gradient, split_out.right_curvature = (
                    whole.gradient - left[0, i],
                    whole.curvature - left[1, i],
                )
                _write_set(codes, size, i, missing_left, n_categories[feature], set_out)


@compiled_part
def _category_sums(cells: Array, n_categories: int, layout: SumLayout, sums_out: Array, codes_out: Array) -> int:
    """Write gradient, curvature and rows of the missing values, then of each category that occurs; return how many."""
    size = 0
    for code in range(n_categories + 1):
        top, low = cells[0, code], cells[len(cells) - 1, code]
        rows = low & layout.count_mask
        if code == 0 or rows > 0:
            codes_out[size] = code
            sums_out[0, size] = (top >> layout.gradient_shift) * layout.gradient_unit
            sums_out[1, size] = ((low >> layout.curvature_shift) & layout.curvature_mask) * layout.curvature_unit
            sums_out[2, size] = rows
            size += 1
    return size - 1


@compiled_part
def _shrink_to_mean(sums: Array, smoothing: float) -> None:
    """Do ``G[:] = H * (m + (G / H - m) * H / (H + smoothing * H.sum() / rows.sum()))`` for m = G.sum() / H.sum()."""
    H = sums[1].sum()
    if H <= 0.0 or smoothing == 0.0:
        return
    mean, more = sums[0].sum() / H, smoothing * H / sums[2].sum()
    for i in range(sums.shape[1]):
        h = sums[1, i]
        sums[0, i] = mean * h + (sums[0, i] - mean * h) * h / (h + more)


@compiled_part
def _sort_by_mean(sums: Array, codes: Array) -> None:
    """Sort the columns by G/H (0 for a category without curvature), equal ones in the order of their codes."""
    keys = np.empty(len(codes))
    for i in range(len(codes)):
        keys[i] = sums[0, i] / sums[1, i] if sums[1, i] > 0.0 else 0.0
    order = np.argsort(keys, kind="mergesort")
    for part in range(len(sums)):
        for i in range(len(codes)):
            keys[i] = sums[part, i]
        for i in range(len(codes)):
            sums[part, i] = keys[order[i]]
    before = codes.copy()
    for i in range(len(codes)):
        codes[i] = before[order[i]]


@compiled_part
def _fill_candidates(sums: Array, size: int, missing_left: bool, left_out: Array) -> int:
    """Write the sums on the left: of the first i categories for i = 0, ..., size, then of each category alone.

    Returns the number of these sets. Missing values that go left belong to each of them.
    """
    for part in range(3):
        apart = sums[part, 0] if missing_left else 0.0
        left_out[part, 0] = apart
        for i in range(1, size + 1):
            left_out[part, i] = left_out[part, i - 1] + sums[part, i]
            left_out[part, size + i] = apart + sums[part, i]
    return 2 * size + 1


@compiled_part
def _fill_gains(left: Array, whole: Sums, limits: Limits, lowest: float, highest: float, gains_out: Array) -> None:
    """Fall of the loss by each set with values held within bounds, -1 where a limit forbids it."""
    G, H, ridge = whole.gradient, whole.curvature, limits.reg_lambda
    least, weight = max(limits.min_child_samples, 1), max(limits.min_child_weight, LEAST_CURVATURE)
    base = G * G / (H + ridge) if H + ridge > 0.0 else 0.0
    for i in range(left.shape[1]):
        g, h, n = left[0, i], left[1, i], left[2, i]
        gains_out[i] = -1.0
        if n >= least and whole.n_rows - n >= least and h >= weight and H - h >= weight:
            rest = _fall(G - g, H - h + ridge, lowest, highest)
            gains_out[i] = _fall(g, h + ridge, lowest, highest) + rest - base


@compiled_part
def _fall(g: float, h: float, lowest: float, highest: float) -> float:
    """Twice the fall of g v + h v²/2 at the best v within bounds: g²/h where they leave it free."""
    value = min(max(-g / h, lowest), highest)
    return float(-(2.0 * g * value + h * value * value))


@compiled_part
def _write_set(codes: Array, size: int, candidate: Int, missing_left: bool, n_categories: int, set_out: Array) -> None:
    """Write the bits of the categories that go left; those that the node lacks go the way of missing values."""
    goes_left = np.zeros(BINS, np.bool_)
    goes_left[1 : n_categories + 1] = missing_left
    for i in range(1, size + 1):
        goes_left[codes[i]] = i <= candidate if candidate <= size else i == candidate - size
    set_out[:] = 0
    for code in range(1, n_categories + 1):
        if goes_left[code]:
            set_out[(code - 1) // 32] |= np.uint32(1) << np.uint32((code - 1) % 32)
