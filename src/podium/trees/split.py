"""Search of a node's best split: over features, cuts, and the side that missing values take.

The gain of a split into left and right is Newton's fall of the loss, G²/(H + λ) of each side less that of the
node, for sums G of gradients and H of curvatures (twice the fall of the quadratic approximation, as LightGBM
counts it). With the weights of the rows in place of their curvatures, and λ = 0, it is the fall of the squared error of
a constant for each side (LM Eq. 11): G²/n of each side less that of the node.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from podium._compiled import ROW, SCORE, linked_part
from podium._types import Array, Int
from podium.trees.histogram import FEATURES_PER_WORD, SumLayout

Record: TypeAlias = Any
"""A np.record: kernels read and write its fields by name."""
Records: TypeAlias = Any
"""A np.recarray."""

UNCONSTRAINED = 2
"""Direction of every feature where none is constrained."""
GAIN_ROUNDING = 1e-14
"""Error of a gain under constraints, which is a difference of sums, as a share of these."""
FLOAT_BITS, TWO_52 = np.uint64(0x4330000000000000), 2.0**52
"""2**52 as a float, whose last bits count the units: added as bits, they make a float of an integer below 2**52, for
want of an instruction."""
SIGNED_BITS, SIGNED_ZERO = 0x4338000000000000, 1.5 * 2.0**52
"""The same for integers from -2**51 up to, not including, 2**51."""
CODES_AT_ONCE = 32
"""Codes that a step of a search compares: four times as many as a register holds."""

SPLIT = np.dtype(
    [("gain", SCORE), ("feature", ROW), ("cut", ROW), ("missing_left", np.bool_), ("left_count", SCORE)]
    + [(f"{side}_{name}", SCORE) for side in ("left", "right") for name in ("gradient", "curvature")]
    + [("parent", ROW), ("on_left", np.bool_)],
    align=True,
)
"""Record of a split: the fields of `Split`; then, once it is made, the split above it and on which side of that."""
COLUMN = np.dtype([("n_bins", ROW), ("first_cut", ROW), ("direction", ROW)], align=True)
"""Record of a feature: its bins, its first cut in use, and its monotone constraint 1, -1 or 0, or UNCONSTRAINED."""


class Split(NamedTuple):
    """A node's best split; rows with codes above `cut` go right, or, of a categorical feature, those not in a set.

    Attributes
    ----------
    gain : float
        -1 where nothing may be split.
    feature, cut : int
        The feature is -1 where none was found, the cut where a set splits.
    missing_left : bool
        Whether rows without the feature go left.
    left_count : float
    left_gradient, left_curvature, right_gradient, right_curvature : float
        Sums over the sides, as rounded for the histograms.
    left_set : ndarray of uint32 or None
        Bit c is set if category c goes left; None for a split by a cut.
    """

    gain: float
    feature: int
    cut: int
    missing_left: bool
    left_count: float
    left_gradient: float
    left_curvature: float
    right_gradient: float
    right_curvature: float
    left_set: Array | None = None


class Limits(NamedTuple):
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

    def of_gains(self, by_squares: bool = False) -> Limits:
        """Return the limits for kernels, whose types are always the same: with the λ of gains."""
        ridge = 0.0 if by_squares else float(self.reg_lambda)
        return Limits(int(self.min_child_samples), float(self.min_child_weight), ridge, float(self.min_split_gain))


class SplitContext(NamedTuple):
    """What the searches of all nodes of a tree have in common.

    Attributes
    ----------
    columns : COLUMN[n_features]
    layout : SumLayout
    limits : Limits
    constrained : bool
        Whether a feature is.
    """

    columns: Records
    layout: SumLayout
    limits: Limits
    constrained: bool


class Sums(NamedTuple):
    """Sums over some rows, gradient and curvature in multiples of their units."""

    gradient: float
    curvature: float
    n_rows: float


class NodeTerms(NamedTuple):
    """What the gains of a node's cuts have in common, gradients and curvatures in multiples of their units.

    With a = H_left + λ, S = H + 2λ, and μ = G/S, the gain of a cut is S r + G²/S - G²/(H + λ) for
    r = (G_left - μ a)²/(a (S - a)): a sum of two fractions and a difference less than in the definition.

    Attributes
    ----------
    G, H, n_rows : float
        Sums over the node.
    ridge, S, mean : float
        λ, S and μ.
    factor, rest : float
        The gain of a cut is ``factor * r + rest``.
    min_rows, min_curvature, min_gain : float
        Limits of a side, and of the gain.
    slack : float
        What gains may be off by rounding.
    """

    G: float
    H: float
    n_rows: float
    ridge: float
    S: float
    mean: float
    factor: float
    rest: float
    min_rows: float
    min_curvature: float
    min_gain: float
    slack: float


@linked_part
def search_splits(
    histogram: Array,
    features: Array,
    first: int,
    last: int,
    context: SplitContext,
    lowest: float,
    highest: float,
    split_out: Record,
) -> None:
    """Find a node's best split; slow line: ``max((gain(f, c, m), f, c, m) for f, c, m in all)``.

    1. Sum up the node.
    2. For missing values on the left, then on the right: compare the cuts of a feature with the best so far, which
       takes no division and eight cuts at a time (0.25 ns a cut; dividing for each took 2.9).
    3. Only where one may be better, leave off the cuts that the limits forbid.
    4. Take gains; here constraints have their say.

    Of equal gains the first feature wins, then missing values to the left, then the lowest cut. Where no row of
    the node lacks the feature, missing values take the side with more rows.

    Parameters
    ----------
    histogram : int64[planes, words, 8, 256]
        Running sums over the codes of each feature, see `running_sums`.
    features : int64
        Ascending; those from number `first` up to, not including, `last` are looked at.
    first, last : int
    context : SplitContext
    lowest, highest : float
        Bounds of the values that leaves below the node may have.
    split_out : SPLIT
        What stands there stays unless a split of these features has a higher gain.
    """
    if first >= last:
        return
    layout, n_planes, rounding = context.layout, len(histogram), GAIN_ROUNDING if context.constrained else 0.0
    node = _node_terms(histogram, features[first], context, rounding)  # 1
    bound = _least_ratio(node, split_out.gain)
    for i in range(first, last):
        feature = features[i]
        column, word, place = context.columns[feature], feature // FEATURES_PER_WORD, feature % FEATURES_PER_WORD
        tops, lows = histogram[0, word, place], histogram[n_planes - 1, word, place]
        has_missing = lows[0] & layout.count_mask > 0
        for side in range(2 if has_missing else 1):
            apart = _sums_at(tops, lows, 0, layout) if side == 1 else Sums(0.0, 0.0, 0.0)
            if _any_better(tops, lows, column.n_bins, layout, apart, node, bound):  # 2
                # missing values alone are the left side of cut 0, or else the right side of the last one
                start = max(column.first_cut, side)
                stop = max(start, column.n_bins if column.first_cut == 0 else column.n_bins + 1)
                start, stop = _allowed_cuts(lows, start, stop, layout, apart, node)  # 3
                before = split_out.gain
                _take_best(
                    tops, lows, start, stop, layout, apart, node, column.direction, lowest, highest, split_out
                )  # 4
                if split_out.gain > before:
                    heavier = 2 * split_out.left_count >= node.n_rows
                    split_out.feature, split_out.missing_left = feature, side == 0 if has_missing else heavier
                    bound = _least_ratio(node, split_out.gain)


@linked_part
def _node_terms(histogram: Array, feature: int, context: SplitContext, rounding: float) -> NodeTerms:
    """Sum up a node by one of its features; gains are off by rounding by a share `rounding` of G²/(H + λ)."""
    layout, limits, last = context.layout, context.limits, context.columns[feature].n_bins
    top = histogram[0, feature // FEATURES_PER_WORD, feature % FEATURES_PER_WORD, last]
    low = histogram[len(histogram) - 1, feature // FEATURES_PER_WORD, feature % FEATURES_PER_WORD, last]
    G = np.float64(top >> layout.gradient_shift)
    H = np.float64((low >> layout.curvature_shift) & layout.curvature_mask)
    ridge = limits.reg_lambda / layout.curvature_unit
    S = H + 2.0 * ridge
    scale = layout.gradient_unit * layout.gradient_unit / layout.curvature_unit
    mean, rest = (G / S, scale * (G * G / S - G * G / (H + ridge))) if S > 0.0 else (0.0, 0.0)
    slack = rounding * scale * G * G / (H + ridge) if S > 0.0 else 0.0
    min_curvature = max(limits.min_child_weight / layout.curvature_unit, 1.0)
    min_rows, n_rows = np.float64(max(limits.min_child_samples, 1)), np.float64(low & layout.count_mask)
    min_gain = limits.min_split_gain
    return NodeTerms(G, H, n_rows, ridge, S, mean, scale * S, rest, min_rows, min_curvature, min_gain, slack)


@linked_part
def _gradient(top: np.int64, layout: SumLayout) -> float:
    """Gradient of a sum; slow line: ``float(top >> layout.gradient_shift)``."""
    return np.int64((top >> layout.gradient_shift) + SIGNED_BITS).view(np.float64) - SIGNED_ZERO


@linked_part
def _curvature(low: np.int64, layout: SumLayout) -> float:
    """Curvature of a sum; slow line: ``float((low >> layout.curvature_shift) & layout.curvature_mask)``."""
    number = (np.uint64(low) >> np.uint64(layout.curvature_shift)) & np.uint64(layout.curvature_mask)
    return np.uint64(number | FLOAT_BITS).view(np.float64) - TWO_52


@linked_part
def _sums_at(tops: Array, lows: Array, cut: int, layout: SumLayout) -> Sums:
    """Gradient, curvature and count of the rows up to a cut."""
    n_rows = np.float64(lows[cut] & layout.count_mask)
    return Sums(_gradient(tops[cut], layout), _curvature(lows[cut], layout), n_rows)


@linked_part
def _allowed_cuts(
    lows: Array, start: int, stop: int, layout: SumLayout, apart: Sums, node: NodeTerms
) -> tuple[int, int]:
    """Leave off the cuts at both ends whose smaller side has too few rows or too little curvature."""
    fewest, most = np.int64(apart.n_rows + node.min_rows), np.int64(apart.n_rows + node.n_rows - node.min_rows)
    while start < stop and lows[start] & layout.count_mask < fewest:
        start += 1
    while start < stop and lows[stop - 1] & layout.count_mask > most:
        stop -= 1
    while start < stop and _curvature(lows[start], layout) - apart.curvature < node.min_curvature:
        start += 1
    while start < stop and node.H - (_curvature(lows[stop - 1], layout) - apart.curvature) < node.min_curvature:
        stop -= 1
    return start, stop


@linked_part
def _any_better(
    tops: Array, lows: Array, n_bins: int, layout: SumLayout, apart: Sums, node: NodeTerms, bound: float
) -> bool:
    """Say whether a cut that leaves enough rows on either side may be better, without a branch or a division.

    It may be wrong about the first cut and the last, about curvatures that are too small, and by rounding, but only by
    calling a cut better. Codes are taken up to a multiple of `CODES_AT_ONCE`: those beyond the last bin have no rows.
    """
    ridge, S, mean = node.ridge, node.S, node.mean
    fewest, spare = np.int64(apart.n_rows + node.min_rows), np.int64(node.n_rows - 2.0 * node.min_rows)
    better: Int = 0
    for code in range((n_bins // CODES_AT_ONCE + 1) * CODES_AT_ONCE if spare >= 0 else 0):
        a = (_curvature(lows[code], layout) - apart.curvature) + ridge
        x = (_gradient(tops[code], layout) - apart.gradient) - mean * a
        enough = np.uint64((lows[code] & layout.count_mask) - fewest) <= np.uint64(spare)
        better += (x * x > bound * (a * (S - a))) & enough
    return bool(better > 0)


@linked_part
def _take_best(
    tops: Array,
    lows: Array,
    start: int,
    stop: int,
    layout: SumLayout,
    apart: Sums,
    node: NodeTerms,
    direction: int,
    lowest: float,
    highest: float,
    split_out: Record,
) -> None:
    """Write the best of some cuts, where it is better than what was found so far."""
    bound = _least_ratio(node, split_out.gain)
    for cut in range(start, stop):
        upto = _sums_at(tops, lows, cut, layout)
        g, h = upto.gradient - apart.gradient, upto.curvature - apart.curvature
        a = h + node.ridge
        x, q = g - node.mean * a, a * (node.S - a)
        if x * x > bound * q:
            gain = node.factor * (x * x / q) + node.rest
            left_gradient, left_curvature = g * layout.gradient_unit, h * layout.curvature_unit
            right_gradient, right_curvature = (node.G - g) * layout.gradient_unit, (node.H - h) * layout.curvature_unit
            if direction != UNCONSTRAINED:
                gain = _bounded_gain(
                    left_gradient, left_curvature, right_gradient, right_curvature, node.G * layout.gradient_unit,
                    node.ridge * layout.curvature_unit, direction, lowest, highest,
                )  # fmt: skip
            if gain > max(split_out.gain, node.min_gain):
                bound = _least_ratio(node, gain)
                split_out.gain, split_out.cut, split_out.left_count = gain, cut, upto.n_rows - apart.n_rows
                split_out.left_gradient, split_out.left_curvature = left_gradient, left_curvature
                split_out.right_gradient, split_out.right_curvature = right_gradient, right_curvature


@linked_part
def _least_ratio(node: NodeTerms, best: float) -> float:
    """Ratio r of a cut, a trifle less for the rounding, from which its gain may exceed the best so far."""
    return float((max(best, node.min_gain) - node.rest - node.slack) / node.factor * (1.0 - 1e-12))


@linked_part
def _bounded_gain(
    left_gradient: float,
    left_curvature: float,
    right_gradient: float,
    right_curvature: float,
    whole: float,
    ridge: float,
    direction: int,
    lowest: float,
    highest: float,
) -> float:
    """Fall of the loss with values held within bounds; -inf where a monotone feature's sides are the wrong way."""
    a, b = left_curvature + ridge, right_curvature + ridge
    left = min(max(-left_gradient / a, lowest), highest)
    right = min(max(-right_gradient / b, lowest), highest)
    if direction * (right - left) < 0.0:
        return -np.inf
    fall = -(2.0 * left_gradient * left + a * left * left) - (2.0 * right_gradient * right + b * right * right)
    return float(fall - whole * whole / (left_curvature + right_curvature + ridge))


@linked_part
def fill_child_bounds(split: Record, direction: int, reg_lambda: float, left_out: Record, right_out: Record) -> None:
    """Part the bounds of a node, which both children have, where its feature is constrained: midway of their values.

    Parameters
    ----------
    split : SPLIT
    direction : int
        1, -1, 0 or UNCONSTRAINED.
    reg_lambda : float
    left_out, right_out : record with lowest and highest
        Bounds of the values of the leaves on either side.
    """
    if direction == 0 or direction == UNCONSTRAINED:
        return
    lowest, highest = left_out.lowest, left_out.highest
    left = min(max(-split.left_gradient / (split.left_curvature + reg_lambda), lowest), highest)
    right = min(max(-split.right_gradient / (split.right_curvature + reg_lambda), lowest), highest)
    if direction > 0:
        left_out.highest = right_out.lowest = (left + right) / 2
    else:
        left_out.lowest = right_out.highest = (left + right) / 2
