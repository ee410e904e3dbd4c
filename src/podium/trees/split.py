"""Search of a node's best split: over features, cuts, and the side that missing values take.

The gain of a split into left and right is Newton's fall of the loss, G²/(H + λ) of each side less that of the
node, for sums G of gradients and H of curvatures (twice the fall of the quadratic approximation, as LightGBM
counts it). With the weights of the rows in place of their curvatures, and λ = 0, it is the fall of the squared error of
a constant for each side (LM Eq. 11): G²/n of each side less that of the node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from podium._compiled import SCORE, compiled_part
from podium._validation import Array
from podium.trees.histogram import BINS

FIELDS = 9
"""Numbers that describe a split, beside its set of categories."""
FREE = 2
"""Direction of every feature where none is constrained."""
ROUNDING = 1e-14
"""Error of a gain under constraints, which is a difference of sums, as a share of these."""
FLOAT_BITS, TWO_52 = np.uint64(0x4330000000000000), 2.0**52
"""2**52 as a float, whose last bits count the units."""


class Split(NamedTuple):
    """A node's best split; rows with codes above `cut` go right, or, of a categorical feature, those not in a set.

    Attributes
    ----------
    gain : float
        -1 where nothing may be split.
    feature, cut : float
        Integers.
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
        λ, added to every sum of curvatures; where splits go by squares, to those of leaf values alone.
    min_split_gain : float
        The gain must exceed it.
    """

    min_child_samples: int = 20
    min_child_weight: float = 1e-3
    reg_lambda: float = 0.0
    min_split_gain: float = 0.0

    def as_array(self, by_squares: bool = False) -> Array:
        """Return the limits for kernels, in the order of the attributes: with λ of gains, and last λ of leaf values."""
        ridge = 0.0 if by_squares else self.reg_lambda
        limits = self.min_child_samples, self.min_child_weight, ridge, self.min_split_gain, self.reg_lambda
        return np.array(limits, SCORE)


@compiled_part
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
    sums: Array,
    found_out: Array,
) -> None:
    """Find a node's best split; slow line: ``max((gain(f, c, m), f, c, m) for f, c, m in all)``.

    Of equal gains the first feature wins, then missing values to the left, then the lowest cut. Where no row of
    the node lacks the feature, missing values take the side with more rows.

    A cut is first compared with the best so far, which takes no division and four cuts at a time (0.9 ns a cut
    with the running sums; dividing for each took 2.9); only a feature that has a better one is looked at closely.

    Parameters
    ----------
    histogram : int64[planes, words, 8, 256]
    layout, units : as in `Packed`
    features : int64
        The features to look at, ascending.
    n_bins, first_cut : int64[n_features]
        Bins of each feature, and its first cut in use.
    monotone : int8[n_features]
        1, -1 or 0; empty if no feature is constrained.
    limits : float64[5]
        See `Limits.as_array`.
    bounds : float64[2]
        Lowest and highest value that leaves below the node may have.
    sums : uint64[2, 256]
        Scratch.
    found_out : float64[9]
        See `Split`. What stands there stays unless a split of these features has a higher gain.
    """
    if len(features) == 0:
        return
    node = _node_terms(histogram, features[0], layout, units, limits, ROUNDING if len(monotone) > 0 else 0.0)
    n_planes, tops, lows = len(histogram), sums[0], sums[len(histogram) - 1]
    for feature in features:
        half, column, size = feature // 8, feature % 8, n_bins[feature] + 1
        _running_sums(histogram[0, half, column, :size], np.uint64(1) << np.uint64(layout[4]), tops)
        if n_planes == 2:
            _running_sums(histogram[1, half, column, :size], np.uint64(0), lows)
        missing = lows[0] & np.uint64(layout[3])
        direction = monotone[feature] if len(monotone) > 0 else FREE
        for side in range(2 if missing > 0 else 1):
            # missing values alone are the left side of cut 0, or else the right side of the last one
            start = max(first_cut[feature], side)
            stop = max(start, size - 1 if first_cut[feature] == 0 else size)
            apart = _sums_at(tops, lows, 0, layout) if side == 1 else (0.0, 0.0, 0.0)
            start, stop = _allowed_cuts(lows, start, stop, layout, apart, node)
            if _any_better(tops[start:stop], lows[start:stop], layout, apart, node, found_out[0]):
                before = found_out[0]
                _take_best(tops, lows, start, stop, layout, units, apart, node, direction, bounds, found_out)
                if found_out[0] > before:
                    heavier = 2 * found_out[4] >= node[2]
                    found_out[1], found_out[3] = feature, heavier if missing == 0 else side == 0


@compiled_part
def _node_terms(
    histogram: Array, feature: int, layout: Array, units: Array, limits: Array, rounding: float
) -> tuple[float, ...]:
    """What the gains of a node's cuts have in common, gradients and curvatures in multiples of their units.

    With a = H_left + λ, S = H + 2λ, and μ = G/S, the gain of a cut is S r + G²/S - G²/(H + λ) for
    r = (G_left - μ a)²/(a (S - a)): a sum of two fractions and a difference less than in the definition.

    Returns
    -------
    G, H, rows, λ, S, μ : float
    factor, rest : float
        The gain of a cut is ``factor * r + rest``.
    least_rows, least_curvature, least_gain : float
        Limits of a side, and of the gain.
    slack : float
        What gains may be off by rounding, as a share `rounding` of G²/(H + λ).
    """
    top, low = np.int64(0), np.int64(0)
    for code in range(BINS):
        top += histogram[0, feature // 8, feature % 8, code]
        low += histogram[len(histogram) - 1, feature // 8, feature % 8, code]
    G, H = np.float64(top >> layout[0]), np.float64((low >> layout[1]) & layout[2])
    ridge = limits[2] / units[1]
    S = H + 2.0 * ridge
    scale = units[0] * units[0] / units[1]
    mean, rest = (G / S, scale * (G * G / S - G * G / (H + ridge))) if S > 0.0 else (0.0, 0.0)
    slack = rounding * scale * G * G / (H + ridge) if S > 0.0 else 0.0
    least_rows, least_curvature = max(limits[0], 1.0), max(limits[1] / units[1], 1.0)
    rows = np.float64(low & layout[3])
    return G, H, rows, ridge, S, mean, scale * S, rest, least_rows, least_curvature, limits[3], slack


@compiled_part
def _running_sums(cells: Array, start: Any, sums_out: Array) -> None:
    """Do ``sums_out[: len(cells)] = start + np.cumsum(cells)``, modulo 2**64."""
    total = start
    for code in range(len(cells)):
        total += np.uint64(cells[code])
        sums_out[code] = total


@compiled_part
def _gradient(top: Any, layout: Array) -> Any:
    """Gradient of a running sum."""
    return _as_float(top >> np.uint64(layout[0])) - np.float64(np.int64(1) << (layout[4] - layout[0]))


@compiled_part
def _curvature(low: Any, layout: Array) -> Any:
    """Curvature of a running sum."""
    return _as_float((low >> np.uint64(layout[1])) & np.uint64(layout[2]))


@compiled_part
def _as_float(number: Any) -> Any:
    """Do ``float(number)`` for a number below 2**52: as bits of 2**52 + number, for want of an instruction."""
    return np.uint64(number | FLOAT_BITS).view(np.float64) - TWO_52


@compiled_part
def _sums_at(tops: Array, lows: Array, cut: int, layout: Array) -> tuple[float, float, float]:
    """Gradient, curvature and count of the rows up to a cut."""
    count = np.float64(np.int64(lows[cut] & np.uint64(layout[3])))
    return _gradient(tops[cut], layout), _curvature(lows[cut], layout), count


@compiled_part
def _allowed_cuts(
    lows: Array, start: int, stop: int, layout: Array, apart: tuple[float, ...], node: tuple[float, ...]
) -> tuple[int, int]:
    """Leave off the cuts at both ends whose smaller side has too few rows or too little curvature."""
    H, rows, least_rows, least_curvature = node[1], node[2], node[8], node[9]
    count_mask = np.uint64(layout[3])
    fewest, most = np.int64(apart[2] + least_rows), np.int64(apart[2] + rows - least_rows)
    while start < stop and np.int64(lows[start] & count_mask) < fewest:
        start += 1
    while start < stop and np.int64(lows[stop - 1] & count_mask) > most:
        stop -= 1
    while start < stop and _curvature(lows[start], layout) - apart[1] < least_curvature:
        start += 1
    while start < stop and H - (_curvature(lows[stop - 1], layout) - apart[1]) < least_curvature:
        stop -= 1
    return start, stop


@compiled_part
def _any_better(
    tops: Array, lows: Array, layout: Array, apart: tuple[float, ...], node: tuple[float, ...], best: float
) -> bool:
    """Say whether a cut may have a higher gain than the best so far, without a branch or a division."""
    ridge, S, mean, bound = node[3], node[4], node[5], _least_ratio(node, best)
    g_apart, h_apart = apart[0], apart[1]
    better = 0
    for i in range(len(tops)):
        a = (_curvature(lows[i], layout) - h_apart) + ridge
        x = (_gradient(tops[i], layout) - g_apart) - mean * a
        better += x * x > bound * (a * (S - a))
    return better > 0


@compiled_part
def _take_best(
    tops: Array,
    lows: Array,
    start: int,
    stop: int,
    layout: Array,
    units: Array,
    apart: tuple[float, ...],
    node: tuple[float, ...],
    direction: int,
    bounds: Array,
    found_out: Array,
) -> None:
    """Write the best of some cuts, where it is better than what was found so far."""
    G, H, _, ridge, S, mean, factor, rest, _, _, least, _ = node
    bound = _least_ratio(node, found_out[0])
    for cut in range(start, stop):
        g, h, n = _sums_at(tops, lows, cut, layout)
        g, h, n = g - apart[0], h - apart[1], n - apart[2]
        a = h + ridge
        x, q = g - mean * a, a * (S - a)
        if x * x > bound * q:
            gain = factor * (x * x / q) + rest
            left, right = (g * units[0], h * units[1]), ((G - g) * units[0], (H - h) * units[1])
            if direction != FREE:
                gain = _bounded_gain(left, right, G * units[0], ridge * units[1], direction, bounds)
            if gain > max(found_out[0], least):
                bound = _least_ratio(node, gain)
                found_out[0], found_out[2], found_out[4] = gain, cut, n
                found_out[5], found_out[6], found_out[7], found_out[8] = left[0], left[1], right[0], right[1]


@compiled_part
def _least_ratio(node: tuple[float, ...], best: float) -> float:
    """Ratio r of a cut, a trifle less for the rounding, from which its gain may exceed the best so far."""
    factor, rest, least, slack = node[6], node[7], node[10], node[11]
    return float((max(best, least) - rest - slack) / factor * (1.0 - 1e-12))


@compiled_part
def _bounded_gain(
    left: tuple[float, float],
    right: tuple[float, float],
    whole: float,
    ridge: float,
    direction: int,
    bounds: Array,
) -> float:
    """Fall of the loss with values held within bounds; -inf where a monotone feature's sides are the wrong way."""
    a, b = left[1] + ridge, right[1] + ridge
    below = min(max(-left[0] / a, bounds[0]), bounds[1])
    above = min(max(-right[0] / b, bounds[0]), bounds[1])
    if direction * (above - below) < 0.0:
        return -np.inf
    fall = -(2.0 * left[0] * below + a * below * below) - (2.0 * right[0] * above + b * above * above)
    return float(fall - whole * whole / (left[1] + right[1] + ridge))


@compiled_part
def fill_child_bounds(split: Array, direction: int, reg_lambda: float, left_out: Array, right_out: Array) -> None:
    """Part the bounds of a node, which both children have, where its feature is constrained: midway of their values.

    Parameters
    ----------
    split : float64[9]
        See `Split`.
    direction : int
        1, -1 or 0.
    reg_lambda : float
    left_out, right_out : float64[2]
        Lowest and highest value of the leaves on either side.
    """
    if direction == 0:
        return
    left = min(max(-split[5] / (split[6] + reg_lambda), left_out[0]), left_out[1])
    right = min(max(-split[7] / (split[8] + reg_lambda), left_out[0]), left_out[1])
    upper = 1 if direction > 0 else 0
    left_out[upper] = right_out[1 - upper] = (left + right) / 2
