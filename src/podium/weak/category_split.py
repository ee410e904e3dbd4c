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
    order, cells = np.empty(BINS, np.int64), np.empty((2, BINS), np.int64)
    sums, counts = np.empty((4, BINS)), np.empty((2, BINS), np.int64)
    left, rows, gains = np.empty((2, 2 * BINS)), np.empty(2 * BINS, np.int64), np.empty(2 * BINS)
    found_out[0] = -1.0
    for feature in features:
        own = histogram[:, feature // 8, feature % 8]
        size = _sort_categories(own[0], own[n_planes - 1], n_categories[feature], layout, units, smoothing, order)
        for i in range(size + 1):
            cells[0, i], cells[1, i] = own[0, order[i]], own[n_planes - 1, order[i]]
        _running_sums(cells[0], cells[1], size + 1, layout, units, sums, counts)
        whole = sums[0, size], sums[1, size], counts[0, size]
        missing = counts[0, 0]
        for side in range(2 if missing > 0 else 1):
            _fill_candidates(sums[2 * side : 2 * side + 2], counts[side], size, left, rows)
            n_sets = 2 * size + 1
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
def _sort_categories(
    tops: Array, lows: Array, n_categories: int, layout: Array, units: Array, smoothing: float, order_out: Array
) -> int:
    """Write 0 (missing), then the codes of the categories that occur, by rising gradient; return their number.

    Slow line: ``sorted(codes, key=lambda c: (G[c] + s * G.mean()) / (H[c] + s * H.mean()))``, means over rows.
    """
    keys = np.empty(BINS)
    g, h, n = _unpacked(tops[: n_categories + 1].sum(), lows[: n_categories + 1].sum(), layout, units)
    rise, bend = smoothing * g / max(n, 1), smoothing * h / max(n, 1)
    size = 0
    order_out[0] = 0
    for code in range(1, n_categories + 1):
        g, h, n = _unpacked(tops[code], lows[code], layout, units)
        if n == 0:
            continue
        key = (g + rise) / (h + bend) if h + bend > 0.0 else 0.0
        place = size + 1
        while place > 1 and keys[place - 1] > key:
            keys[place], order_out[place] = keys[place - 1], order_out[place - 1]
            place -= 1
        keys[place], order_out[place] = key, code
        size += 1
    return size


@compiled
def _unpacked(top: int, low: int, layout: Array, units: Array) -> tuple[float, float, int]:
    """Gradient, curvature and rows of one packed sum."""
    return (top >> layout[0]) * units[0], ((low >> layout[1]) & layout[2]) * units[1], low & layout[3]


@compiled
def _fill_candidates(sums: Array, counts: Array, size: int, left_out: Array, rows_out: Array) -> None:
    """Write the sums on the left: of the first i categories for i = 0, ..., size, then of each category alone.

    The sums start with those of the missing values that go left, which belong to each candidate.
    """
    for i in range(size + 1):
        left_out[0, i], left_out[1, i], rows_out[i] = sums[0, i], sums[1, i], counts[i]
    for i in range(1, size + 1):
        for part in range(2):
            left_out[part, size + i] = sums[part, i] - sums[part, i - 1] + sums[part, 0]
        rows_out[size + i] = counts[i] - counts[i - 1] + counts[0]


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
