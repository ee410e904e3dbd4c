"""LeafRank: the part of a cell that is to stand above the rest, by a stump or a small tree of costs.

Rows have potentials π (`pair_gains`), positive for those that gain on top. A region of the largest Σ π is sought among
unions of the leaves of a tree: leaves of positive sum are the upper part. All levels but the last split by Gini's
criterion, ``Σ S²/A`` over both sides with S = Σ π and A = Σ |π|, which finds what only several splits together show;
the last splits by the gain itself, ``Σ |S|``. A tree of one level is thus the best stump, exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from podium._compiled import ROW, SCORE, compiled, inlined_part
from podium._validation import Array
from podium.binning import BLOCK, BlockBins
from podium.trees import BINS, walk_codes

UPPER, LOWER = -1, -2
"""Where a split leads that leads to no further split."""
GAIN_TOLERANCE = 1e-10
"""Gains that differ by less than this share of Σ |π| are equal: the first feature and its lowest cut are taken."""

DrawFeatures = Callable[[], Array]
"""Returns the features, ascending, that a search looks at."""


@dataclass(frozen=True, eq=False)
class Region:
    """The upper part of a cell, as a tree of splits: values above the threshold go right.

    Attributes
    ----------
    feature, cut : ndarray of int32
        Of each split, parents before children.
    threshold : ndarray of float64
    missing_left : ndarray of bool
    left, right : ndarray of int32
        A split, `UPPER` or `LOWER`.
    """

    feature: Array
    cut: Array
    threshold: Array
    missing_left: Array
    left: Array
    right: Array

    def holds(self, codes: Array, rows: Array) -> Array:
        """Say which of some training rows are in it."""
        leaves = np.empty(len(rows), np.int32)
        walk_codes(self.feature, self.cut, self.missing_left, self.left, self.right, codes, rows, leaves)
        upper: Array = leaves == ~UPPER
        return upper


@dataclass(frozen=True, eq=False)
class LeafRank:
    """The search for regions.

    Attributes
    ----------
    bins : BlockBins
    max_depth : int
        Levels of a region's tree; 1 is a stump.
    min_child_weight : float
        Least weight of the rows on either side of a split.
    draw_features : callable
        Returns the features for the next search.
    """

    bins: BlockBins
    max_depth: int
    min_child_weight: float
    draw_features: DrawFeatures

    def search(self, rows: Array, potentials: Array, mass: Array) -> Region | None:
        """Return the region of the largest sum of potentials that was found; None if no split gains anything."""
        splits: list[list[int]] = []
        self._grow(rows, potentials, mass, self.max_depth, splits)
        if not splits:
            return None
        feature, cut, missing_left, left, right = np.ascontiguousarray(np.array(splits, np.int32).T)
        thresholds = np.array([self.bins.cuts.threshold(*one[:2]) for one in splits], SCORE)
        return Region(feature, cut, thresholds, missing_left.astype(np.bool_), left, right)

    def _grow(self, rows: Array, potentials: Array, mass: Array, levels: int, splits: list[list[int]]) -> int:
        """Add the splits of some rows, and return what leads to them."""
        leaf = UPPER if potentials.sum() > 0 else LOWER
        if levels == 0 or potentials.max() <= 0 or potentials.min() >= 0:
            return leaf
        found = np.zeros(3, ROW)
        exact = levels == 1
        features, n_bins = self.draw_features(), self.bins.cuts.n_bins
        if not _best_cut(
            self.bins.codes, rows, potentials, mass, features, n_bins, float(self.min_child_weight), exact, found
        ):
            return leaf
        own = [*found.tolist(), leaf, leaf]
        splits.append(own)
        number, left = len(splits) - 1, goes_left(self.bins.codes, rows, *found.tolist())
        for place, side in ((3, left), (4, ~left)):
            own[place] = self._grow(rows[side], potentials[side], mass[side], levels - 1, splits)
        if own[3] == own[4]:
            splits.pop()
            return own[3]
        return number


def goes_left(codes: Array, rows: Array, feature: int, cut: int, missing_left: int) -> Array:
    """Say which rows a split sends left."""
    own = codes[feature // BLOCK, rows, feature % BLOCK]
    left: Array = np.where(own == 0, bool(missing_left), own <= cut)
    return left


@compiled
def _best_cut(
    codes: Array,
    rows: Array,
    potentials: Array,
    mass: Array,
    features: Array,
    n_bins: Array,
    min_mass: float,
    exact: bool,
    found_out: Array,
) -> bool:
    """Write feature, cut and side of the missing values of the best split; say whether there is one.

    Slow line: the largest ``worth(left) + worth(right) - worth(all)`` over all features, cuts and sides.
    """
    sums = np.empty((BINS, 3))
    all_s = all_a = all_m = 0.0
    for i in range(len(rows)):
        all_s += potentials[i]
        all_a += abs(potentials[i])
        all_m += mass[i]
    best, margin = 0.0, GAIN_TOLERANCE * all_a
    before = _worth(all_s, all_a, margin, exact)
    for f in features:
        sums[:] = 0.0
        block, column = f // BLOCK, f % BLOCK
        for i in range(len(rows)):
            code = codes[block, rows[i], column]
            sums[code, 0] += potentials[i]
            sums[code, 1] += abs(potentials[i])
            sums[code, 2] += mass[i]
        s = a = m = 0.0
        for cut in range(1, n_bins[f] + 1):
            if sums[cut, 2] == 0.0:
                continue  # parts the rows as the cut before it does
            s, a, m = s + sums[cut, 0], a + sums[cut, 1], m + sums[cut, 2]
            for missing_left in range(2 if sums[0, 2] > 0.0 else 1):
                left_s, left_a, left_m = s, a, m
                if missing_left == 1:
                    left_s, left_a, left_m = s + sums[0, 0], a + sums[0, 1], m + sums[0, 2]
                right_s, right_a, right_m = all_s - left_s, all_a - left_a, all_m - left_m
                empty = 1e-12 * all_m
                if left_m <= empty or right_m <= empty or left_m < min_mass or right_m < min_mass:
                    continue
                gain = _worth(left_s, left_a, margin, exact) + _worth(right_s, right_a, margin, exact) - before
                if gain > best + margin:
                    best = gain
                    found_out[0], found_out[1] = f, cut
                    found_out[2] = missing_left if sums[0, 2] > 0.0 else left_m >= right_m
    return best > 0.0


@inlined_part
def _worth(total: float, size: float, margin: float, exact: bool) -> float:
    """What one side of a split counts: |S|, or S²/A."""
    if exact:
        return abs(total)
    return total * total / size if size > margin else 0.0
