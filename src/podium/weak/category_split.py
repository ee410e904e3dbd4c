"""Search of a node's best split by a set of categories.

Each category of the node has sums G of gradients and H of curvatures. Two kinds of sets are tried, each with the
missing values on either side: every category against the rest; and, with the categories sorted by G/H, every first
part of them against the others. For squared loss the best of all sets is among the latter (Fisher 1958, "On grouping
for maximum homogeneity"), so that k categories need k candidates, not 2^(k-1).

Sorted by their own gradients, rare categories would stand at either end by chance. So `smoothing` average rows of the
node are added to each category before the sort.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from podium._compiled import SCORE, compiled, run_threads
from podium._validation import Array
from podium.weak.histogram import BINS, Packed
from podium.weak.split import FIELDS, Split, _fill_bounded_gains, _fill_gains, _running_sums

WORDS = 8
"""Words of 32 bits in a set."""


class CategorySplits:
    """Finds the best splits of categorical features.

    Parameters
    ----------
    n_categories : ndarray of int64
        Categories of each feature, -1 for a number.
    smoothing : float
        Average rows of the node added to each category before the sort.
    n_threads : int
        Threads share out features.
    """

    def __init__(self, n_categories: Array, smoothing: float = 10.0, n_threads: int = 1) -> None:
        self.n_categories, self.smoothing, self.n_threads = n_categories, smoothing, n_threads
        self.smooth0 = smoothing
        self.used = np.flatnonzero(n_categories >= 0)

    def take(self, features: Array) -> Array:
        """Note which of the features in use are categorical, and return the others."""
        categorical = self.n_categories[features] >= 0
        self.used = features[categorical].astype(np.int64)
        return features[~categorical]

    def best(self, histogram: Array, packed: Packed, limits: Array, bounds: Array, other: Split | None) -> Split | None:
        """Return the best split by a set of categories, or `other` if that is better.

        Of equal gains the first feature wins, whichever kind it is of.
        """
        parts = np.linspace(0, len(self.used), min(self.n_threads, len(self.used)) + 1).astype(np.int64)
        found, sets = np.empty((len(parts), FIELDS), SCORE), np.empty((len(parts), WORDS), np.uint32)
        calls = [
            (
                histogram, packed.layout, packed.units, self.used[a:b], self.n_categories, self.smoothing, limits,
                bounds, found[i], sets[i],
            )
            for i, (a, b) in enumerate(pairwise(parts))
        ]  # fmt: skip
        run_threads(search_category_splits, calls, self.n_threads)
        best = other
        for i in range(len(calls)):
            split = Split(*found[i].tolist())._replace(left_set=sets[i])
            if split.gain > 0 and (best is None or (split.gain, -split.feature) > (best.gain, -best.feature)):
                best = split
        return best


@compiled
def search_category_splits(
    histogram: Array,
    layout: Array,
    units: Array,
    features: Array,
    n_categories: Array,
    smoothing: float,
    limits: Array,
    bounds: Array,
    found_out: Array,
    set_out: Array,
) -> None:
    """Write the best split over some features; slow line: ``max((gain(f, left), f, left) for f, left in all)``.

    Of equal gains the first feature wins, then missing values to the left, then first parts of the sorted
    categories, the shortest before others, then single categories. Categories that the node lacks go the way of
    missing values, and those, where no row of the node lacks the feature, take the side with more rows.

    Parameters
    ----------
    histogram, layout, units, limits, bounds : as in `search_splits`
    features : int64
        Categorical features, ascending.
    n_categories : int64[n_features]
    smoothing : float
    found_out : float64[9]
        See `Split`; the cut is -1.
    set_out : uint32[8]
        Bit c is set if category c goes left.
    """
    n_planes = len(histogram)
    order, sums, counts = np.empty(BINS, np.int64), np.empty((2, BINS)), np.empty(BINS, np.int64)
    left, rows, gains = np.empty((2, 2 * BINS)), np.empty(2 * BINS, np.int64), np.empty(2 * BINS)
    found_out[0] = -1.0
    for feature in features:
        own = histogram[:, feature // 8, feature % 8]
        size = _category_sums(own[0], own[n_planes - 1], n_categories[feature], layout, units, sums, counts, order)
        _draw_to_mean(sums, counts, size, smoothing)
        _sort_categories(sums, counts, size, order)
        whole = sums[0, : size + 1].sum(), sums[1, : size + 1].sum(), counts[: size + 1].sum()
        missing = counts[0]
        for side in range(2 if missing > 0 else 1):
            n_sets = _fill_candidates(sums, counts, size, side == 0, left, rows)
            _fill_gains(left[0, :n_sets], left[1, :n_sets], rows[:n_sets], whole, limits, gains[:n_sets])
            if bounds[0] > -np.inf or bounds[1] < np.inf:
                _fill_bounded_gains(left[0, :n_sets], left[1, :n_sets], whole, limits[2], 0, bounds, gains[:n_sets])
            for i in range(n_sets):
                if gains[i] > max(found_out[0], limits[3]):
                    missing_left = 2 * rows[i] >= whole[2] if missing == 0 else side == 0
                    found_out[0], found_out[1], found_out[2], found_out[3] = gains[i], feature, -1.0, missing_left
                    found_out[4], found_out[5], found_out[6] = rows[i], left[0, i], left[1, i]
                    found_out[7], found_out[8] = whole[0] - left[0, i], whole[1] - left[1, i]
                    _write_set(order, size, i, missing_left, n_categories[feature], set_out)


@compiled
def _category_sums(
    tops: Array, lows: Array, n_categories: int, layout: Array, units: Array, sums_out: Array, counts_out: Array,
    order_out: Array,
) -> int:
    """Unpack the sums of the missing values, then of each category that occurs; return how many do."""
    size = 0
    for code in range(n_categories + 1):
        n = lows[code] & layout[3]
        if code == 0 or n > 0:
            order_out[size], counts_out[size] = code, n
            sums_out[0, size] = (tops[code] >> layout[0]) * units[0]
            sums_out[1, size] = ((lows[code] >> layout[1]) & layout[2]) * units[1]
            size += 1
    return size - 1


@compiled
def _draw_to_mean(sums: Array, counts: Array, size: int, smoothing: float) -> None:
    """Draw."""
    g, h, n = sums[0, 1 : size + 1].sum(), sums[1, 1 : size + 1].sum(), counts[1 : size + 1].sum()
    if not h > 0.0:
        return
    mean, extra = g / h, smoothing * h / n
    if smoothing < 0:
        nu = -smoothing
        between, squares = 0.0, 0.0
        for i in range(1, size + 1):
            if sums[1, i] > 0:
                between += (sums[0, i] - mean * sums[1, i]) ** 2 / sums[1, i]
                squares += sums[1, i] ** 2
        excess = (between - (size - 1) * nu) / max(h - squares / h, 1e-300)
        extra = nu / max(excess, 1e-300)
    for i in range(1, size + 1):
        own = sums[1, i]
        if own > 0.0:
            sums[0, i] = mean * own + (sums[0, i] - mean * own) * own / (own + extra)


@compiled
def _sort_categories(sums: Array, counts: Array, size: int, order: Array) -> None:
    """Sort."""
    for i in range(2, size + 1):
        g, h, n, code = sums[0, i], sums[1, i], counts[i], order[i]
        key = g / h if h > 0 else 0.0
        place = i
        while place > 1 and (sums[0, place - 1] / sums[1, place - 1] if sums[1, place - 1] > 0 else 0.0) > key:
            sums[0, place], sums[1, place] = sums[0, place - 1], sums[1, place - 1]
            counts[place], order[place] = counts[place - 1], order[place - 1]
            place -= 1
        sums[0, place], sums[1, place], counts[place], order[place] = g, h, n, code


@compiled
def _fill_candidates(sums: Array, counts: Array, size: int, missing_left: bool, left_out: Array, rows_out: Array) -> int:
    """Write the sums on the left: of the first i categories for i = 0, ..., size, then of each category alone."""
    g, h, n = (sums[0, 0], sums[1, 0], counts[0]) if missing_left else (0.0, 0.0, 0)
    left_out[0, 0], left_out[1, 0], rows_out[0] = g, h, n
    for i in range(1, size + 1):
        left_out[0, i] = left_out[0, i - 1] + sums[0, i]
        left_out[1, i] = left_out[1, i - 1] + sums[1, i]
        rows_out[i] = rows_out[i - 1] + counts[i]
        left_out[0, size + i], left_out[1, size + i], rows_out[size + i] = g + sums[0, i], h + sums[1, i], n + counts[i]
    return 2 * size + 1


@compiled
def _write_set(order: Array, size: int, candidate: int, missing_left: bool, n_categories: int, set_out: Array) -> None:
    """Write the bits of the categories that go left; those that the node lacks go the way of missing values."""
    goes_left = np.zeros(BINS, np.bool_)
    goes_left[1 : n_categories + 1] = missing_left
    for i in range(1, size + 1):
        goes_left[order[i]] = i <= candidate if candidate <= size else i == candidate - size
    set_out[:] = 0
    for code in range(1, n_categories + 1):
        if goes_left[code]:
            set_out[(code - 1) // 32] |= np.uint32(1) << np.uint32((code - 1) % 32)
