"""Gradient and curvature of the pairs of one row with all rows below it, or of all rows of a query, in float32."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium._compiled import INDEX, linked_part
from podium._types import Array, Int

SETTLED_DISTANCE = np.float32(6.0)
"""Half of sigma (s_i - s_j) beyond which a pair counts as settled: tanh there is 1 - 1e-5."""
FEW_ROWS, LANES = 32, 16
"""Rows of a query up to which pairs are taken from both of their sides, and how many rows then at a time."""
DISTANCE_OFFSET = 0.01
"""Added to the distance of a pair's scores before |ΔZ| is divided by it."""


class PairSums(NamedTuple):
    """Sums over the pairs of a query, row by row, highest score first, and scratch: float32[n + 7] each.

    Attributes
    ----------
    near
        Half of σ times the scores; the seven places more are as the last one.
    delta
        Δ of one row with each row, positive where the other is the better; 0 beyond row n. Overwritten if divided.
    gradient, curvature, sizes
        Sums so far, in units of σ/2, σ²/4 and σ/2; of `sizes` only the sum over all rows means something.
    gradients, curvatures
        Scratch: of the pairs of one row.
    """

    near: Array
    delta: Array
    gradient: Array
    curvature: Array
    sizes: Array
    gradients: Array
    curvatures: Array


@linked_part
def clear_sums(n: int, sums: PairSums) -> None:
    """Set the sums to 0, and let the seven places after row n be as `add_pairs` wants them."""
    for i in range(n, n + 7):
        sums.near[i], sums.delta[i] = sums.near[n - 1], 0.0
    for i in range(n + 7):
        sums.gradient[i] = sums.curvature[i] = sums.sizes[i] = 0.0


@linked_part
def add_pairs(i: int, n: int, divide: bool, sums: PairSums) -> None:
    """Add the pairs of row i with the rows below it, up to row n, to the sums of both.

    Slow lines: ``g, h = _pair(near[i] - near[j], delta[j])``, ``gradient[i] += g; gradient[j] -= g``,
    ``curvature[[i, j]] += h`` and ``sizes[j] += abs(g)`` for each j. With `divide`, Δ is first divided by the distance
    of the scores.
    """
    near, delta, gradients, curvatures = sums.near, sums.delta, sums.gradients, sums.curvatures
    gradient, curvature, sizes = sums.gradient, sums.curvature, sums.sizes
    first, stop = INDEX(i + 1), INDEX(i + 1 + (n - 1 - i + 7) // 8 * 8)
    if divide:
        for j in range(first, stop):
            delta[j] /= np.float32(DISTANCE_OFFSET) + np.float32(2.0) * (near[i] - near[j])
    for j in range(first, stop):
        gradients[j], curvatures[j] = _pair(min(near[i] - near[j], SETTLED_DISTANCE), delta[j])
    for j in range(first, stop):
        gradient[j] -= gradients[j]
        sizes[j] += abs(gradients[j])
        curvature[j] += curvatures[j]
    gradient[i] += _sum_of_eights(first, stop, gradients)
    curvature[i] += _sum_of_eights(first, stop, curvatures)


@linked_part
def sum_of_sizes(n: int, sizes: Array) -> float:
    """Do ``sizes[:n].sum()`` in float64: a sum of single precision over a long query would lose small ones."""
    total = 0.0
    for i in range(n):
        total += sizes[i]
    return total


@linked_part
def fill_square(n: int, top: int, near: Array, deltas: Array, weights: Array, divide: bool, square_out: Array) -> None:
    """Write what each row of a short query gains from each other, 0 where there is no pair, for `add_all_pairs`.

    ``square[i, j]`` of row i with row j is positive where j is to go down: -Δ for j below i, Δ for j above.

    Parameters
    ----------
    n, top : int
        Rows, and how many of them have pairs with the rows below.
    near : float32[n]
        Half of σ times the scores, highest first.
    deltas : float64[top, n]
        Δ of each row with the rows below it, positive where the other is the better.
    weights : float64[n]
        A pair weighs what its rows do.
    divide : bool
        Divide Δ by the distance of the scores.
    square_out : float32[FEW_ROWS, FEW_ROWS // LANES, LANES]
    """
    for i in range(n):
        for block in range((n + LANES - 1) // LANES):
            for j in range(LANES):
                square_out[i, block, j] = 0.0
    for i in range(top):
        for j in range(i + 1, n):
            delta = deltas[i, j] * weights[i] * weights[j]
            if divide:
                delta /= DISTANCE_OFFSET + 2.0 * (near[i] - near[j])
            square_out[i, j // LANES, j % LANES], square_out[j, i // LANES, i % LANES] = -delta, delta


@linked_part
def add_all_pairs(n: int, near: Array, square: Array, lanes: Array, gradient_out: Array, curvature_out: Array) -> float:
    """Sum the pairs of all rows of a short query, each pair seen from both of its rows; return the sum of |gradient|.

    Parameters
    ----------
    n : int
    near : float32[n]
        Half of σ times the scores, highest first.
    square : float32[FEW_ROWS, FEW_ROWS // LANES, LANES]
        See `fill_square`.
    lanes : float32[4 * LANES]
        Scratch.
    gradient_out, curvature_out : float32[n]
        In units of σ/2 and σ²/4.
    """
    twice = 0.0
    for block in range((n + LANES - 1) // LANES):
        first, last = LANES * block, min(n, LANES * block + LANES)
        for j in range(4 * LANES):
            lanes[j] = 0.0
        for j in range(first, last):
            lanes[j - first] = near[j]
        for i in range(n):
            _add_to_lanes(near[i], square, i, block, lanes)
        for j in range(first, last):
            gradient_out[j], curvature_out[j] = lanes[LANES + j - first], lanes[2 * LANES + j - first]
            twice += lanes[3 * LANES + j - first]
    return 0.5 * twice


@linked_part
def _add_to_lanes(here: float, square: Array, i: int, block: int, lanes: Array) -> None:
    """Add the pairs of one row with LANES rows to those rows: `lanes` has near, gradient, curvature, |gradient|.

    One array and a number of rows that the compiler knows: so it takes eight at a time without asking whether
    arrays overlap.
    """
    for j in range(LANES):
        gradient, curvature = _pair(min(max(lanes[j] - here, -SETTLED_DISTANCE), SETTLED_DISTANCE), square[i, block, j])
        lanes[LANES + j] += gradient
        lanes[2 * LANES + j] += curvature
        lanes[3 * LANES + j] += abs(gradient)


@linked_part
def _pair(x: Any, delta: Any) -> tuple[Any, Any]:
    """Return gradient and curvature of a pair with x = σ (s_i - s_j)/2, which must lie within ±SETTLED_DISTANCE.

    With t = tanh(x) and Δ positive where j is the better, the pair moves j up by Δ + |Δ| t and has the curvature
    |Δ| (1 - t²), in units of σ/2 and σ²/4. tanh is its continued fraction to x¹⁷, in float32, where exp in float64
    takes six times as long.
    """
    one = np.float32(1.0)
    q = x * x
    upper = ((np.float32(2.9019637e-8) * q + np.float32(2.8729440e-5)) * q + np.float32(3.9215686e-3)) * q
    upper = (upper + np.float32(0.13725490)) * q + one
    lower = ((np.float32(1.3058837e-6) * q + np.float32(4.0221217e-4)) * q + np.float32(2.7450980e-2)) * q
    lower = (lower + np.float32(0.47058824)) * q + one
    t = x * upper / lower
    size = abs(delta)
    return delta + size * t, size * (one - t * t)


@linked_part
def _sum_of_eights(start: Int, stop: Int, values: Array) -> float:
    """Do ``values[start:stop].sum()``, a multiple of eight values, in eight sums: one would wait for each add.

    The eight are written over the first values so that the compiler holds them side by side in this order; from how
    they are added up in the end it would take another, and shuffle all values into it.
    """
    a = b = c = d = e = f = g = h = np.float32(0.0)
    for i in range(start, stop, INDEX(8)):
        a += values[i]
        b += values[i + INDEX(1)]
        c += values[i + INDEX(2)]
        d += values[i + INDEX(3)]
        e += values[i + INDEX(4)]
        f += values[i + INDEX(5)]
        g += values[i + INDEX(6)]
        h += values[i + INDEX(7)]
    values[start] = a
    values[start + INDEX(1)] = b
    values[start + INDEX(2)] = c
    values[start + INDEX(3)] = d
    values[start + INDEX(4)] = e
    values[start + INDEX(5)] = f
    values[start + INDEX(6)] = g
    values[start + INDEX(7)] = h
    return float(((a + b) + (c + d)) + ((e + f) + (g + h)))
