"""Search of a node's best split: over features, cuts, and the side that missing values take.

The gain of a split into left and right is Newton's fall of the loss, G²/(H + λ) of each side less that of the
node, for sums G of gradients and H of curvatures (twice the fall of the quadratic approximation, as LightGBM
counts it).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from podium._compiled import SCORE, compiled
from podium._validation import Array
from podium.weak.histogram import BINS

TINY = 1e-300
"""Least sum of curvatures of a side where none is asked for: without any, a side has no value."""
FIELDS = 9
"""Numbers that describe a split, beside its set of categories."""


class Split(NamedTuple):
    """A node's best split; rows with codes above `cut` go right, or, of a categorical feature, those not in a set.

    Attributes
    ----------
    gain : float
        -1 where nothing may be split.
    feature, cut : float
        Whole numbers.
    missing_left : float
        1 if rows without the feature go left.
    left_count : float
    left_gradient, left_curvature, right_gradient, right_curvature : float
        Sums over the sides, as rounded for the histograms.
    left_set : ndarray of uint32 or None
        Bit c is set if category c goes left; None for a split by a cut.
    """

    gain: float
    feature: float
    cut: float
    missing_left: float
    left_count: float
    left_gradient: float
    left_curvature: float
    right_gradient: float
    right_curvature: float
    left_set: Array | None = None


@dataclass(frozen=True)
class Limits:
    """What a split must satisfy.

    Attributes
    ----------
    min_child_samples : int
        Least rows of a side.
    min_child_weight : float
        Least sum of curvatures of a side.
    reg_lambda : float
        λ, added to every sum of curvatures.
    min_split_gain : float
        The gain must exceed it.
    """

    min_child_samples: int = 20
    min_child_weight: float = 1e-3
    reg_lambda: float = 0.0
    min_split_gain: float = 0.0

    def as_array(self) -> Array:
        """Return the limits in the order of the attributes, for kernels."""
        return np.array([self.min_child_samples, self.min_child_weight, self.reg_lambda, self.min_split_gain], SCORE)


@compiled
def search_splits(
    histogram: Array,
    layout: Array,
    units: Array,
    features: Array,
    n_bins: Array,
    first_cut: Array,
    monotone: Array,
    limits: Array,
    bounds: Array,
    found_out: Array,
) -> None:
    """Write the best split over some features; slow line: ``max((gain(f, c, m), f, c, m) for f, c, m in all)``.

    Of equal gains the first feature wins, then the lowest cut, then missing values to the left. Where no row of
    the node lacks the feature, missing values take the side with more rows.

    Parameters
    ----------
    histogram : int64[planes, halves, 8, 256]
    layout, units : as in `Packed`
    features : int64
        The features to look at, ascending.
    n_bins, first_cut : int64[n_features]
        Bins of each feature, and its first cut in use.
    monotone : int8[n_features]
        1, -1 or 0; empty if no feature is constrained.
    limits : float64[4]
        See `Limits`.
    bounds : float64[2]
        Lowest and highest value that leaves below the node may have.
    found_out : float64[9]
        See `Split`.
    """
    n_planes = len(histogram)
    sums, counts, gains = np.empty((4, BINS)), np.empty((2, BINS), np.int64), np.empty(BINS)
    bounded = len(monotone) > 0
    found_out[0] = -1.0
    for feature in features:
        first, last = first_cut[feature], n_bins[feature]
        own = histogram[:, feature // 8, feature % 8]
        _running_sums(own[0], own[n_planes - 1], last + 1, layout, units, sums, counts)
        direction = monotone[feature] if bounded else 0
        missing = counts[0, 0]
        for side in range(2 if missing > 0 else 1):
            # missing values alone are the left side of cut 0, or else the right side of the last one
            start = max(first, side)
            stop = max(start, last if first == 0 else last + 1)
            left = slice(start, stop)
            g, h, n = sums[2 * side, left], sums[2 * side + 1, left], counts[side, left]
            whole = sums[0, last], sums[1, last], counts[0, last]
            _fill_gains(g, h, n, whole, limits, gains[: stop - start])
            if bounded:
                _fill_bounded_gains(g, h, whole, limits[2], direction, bounds, gains[: stop - start])
            for i in range(stop - start):
                if gains[i] > max(found_out[0], limits[3]):
                    heavier = 2 * n[i] >= whole[2]
                    found_out[0], found_out[1], found_out[2] = gains[i], feature, start + i
                    found_out[3] = heavier if missing == 0 else side == 0
                    found_out[4], found_out[5], found_out[6] = n[i], g[i], h[i]
                    found_out[7], found_out[8] = whole[0] - g[i], whole[1] - h[i]


@compiled
def _running_sums(
    tops: Array, lows: Array, size: int, layout: Array, units: Array, sums_out: Array, counts_out: Array
) -> None:
    """Unpack ``np.cumsum`` of the cells: gradients and curvatures, missing values (code 0) among them and not."""
    shift, count_bits, mask, count_mask = layout[0], layout[1], layout[2], layout[3]
    top, low = np.int64(0), np.int64(0)
    for code in range(size):
        top += tops[code]
        low += lows[code]
        sums_out[0, code] = (top >> shift) * units[0]
        sums_out[1, code] = ((low >> count_bits) & mask) * units[1]
        counts_out[0, code] = low & count_mask
    if counts_out[0, 0] > 0:
        for code in range(size):
            sums_out[2, code] = sums_out[0, code] - sums_out[0, 0]
            sums_out[3, code] = sums_out[1, code] - sums_out[1, 0]
            counts_out[1, code] = counts_out[0, code] - counts_out[0, 0]


@compiled
def _fill_gains(g: Array, h: Array, n: Array, whole: tuple[float, float, int], limits: Array, gains_out: Array) -> None:
    """Gain of each cut, -1 where a limit forbids it; no branch, so that four cuts are done at a time."""
    G, H, rows = whole
    ridge, least = limits[2], max(np.int64(limits[0]), np.int64(1))
    weight = max(limits[1], TINY)
    base = G * G / (H + ridge) if H + ridge > 0.0 else 0.0
    for i in range(len(gains_out)):
        a, b = h[i] + ridge, H - h[i] + ridge
        rest = G - g[i]
        # one division, not two: x/a + y/b = (x b + y a)/(a b)
        gain = (g[i] * g[i] * b + rest * rest * a) / max(a * b, TINY) - base
        allowed = (n[i] >= least) & (rows - n[i] >= least) & (h[i] >= weight) & (H - h[i] >= weight)
        gains_out[i] = gain if allowed else -1.0


@compiled
def _fill_bounded_gains(
    g: Array,
    h: Array,
    whole: tuple[float, float, int],
    ridge: float,
    direction: int,
    bounds: Array,
    gains_out: Array,
) -> None:
    """Replace the gains that limits allow by those of values held within bounds."""
    G, H = whole[0], whole[1]
    base = G * G / (H + ridge) if H + ridge > 0.0 else 0.0
    for i in range(len(gains_out)):
        if gains_out[i] > 0.0:
            gains_out[i] = _bounded_gain(g[i], h[i] + ridge, G - g[i], H - h[i] + ridge, direction, bounds) - base


@compiled
def _bounded_gain(g_left: float, a: float, g_right: float, b: float, direction: int, bounds: Array) -> float:
    """Fall of the loss with values held within bounds; -inf where a monotone feature's sides are the wrong way."""
    left = min(max(-g_left / a, bounds[0]), bounds[1])
    right = min(max(-g_right / b, bounds[0]), bounds[1])
    if direction * (right - left) < 0.0:
        return -np.inf
    return float(-(2.0 * g_left * left + a * left * left) - (2.0 * g_right * right + b * right * right))


def child_bounds(split: Split, direction: int, reg_lambda: float, bounds: Array) -> tuple[Array, Array]:
    """Bounds of the leaves on either side: a constrained feature's sides part at the middle of their values."""
    if direction == 0:
        return bounds, bounds
    left = -split.left_gradient / (split.left_curvature + reg_lambda)
    right = -split.right_gradient / (split.right_curvature + reg_lambda)
    middle = float(np.clip(left, *bounds) + np.clip(right, *bounds)) / 2
    below, above = np.array([bounds[0], middle]), np.array([middle, bounds[1]])
    return (below, above) if direction > 0 else (above, below)
