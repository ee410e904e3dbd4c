"""Pull and curvature of the pairs of one row with all rows below it, or of all rows of a short query, in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium._compiled import INDEX, compiled_part
from podium._validation import Array

FAR = np.float32(6.0)
"""Half of sigma (s_i - s_j) beyond which a pair counts as settled: tanh there is 1 - 1e-5."""
FEW_ROWS, LANES = 32, 16
"""Rows of a query up to which pairs are taken from both of their sides, and how many rows then at a time."""
LEAST = 0.01
"""Added to the distance of a pair's scores before |ΔZ| is divided by it."""


@compiled_part
def clear_sums(n: int, near: Array, delta: Array, pull_out: Array, bend_out: Array) -> None:
    """Set the sums to 0, and let the seven places after row n be as `add_pairs` wants them."""
    for i in range(n, n + 7):
        near[i], delta[i] = near[n - 1], 0.0
    for i in range(n + 7):
        pull_out[i] = bend_out[i] = 0.0


@compiled_part
def add_pairs(
    i: int, n: int, near: Array, delta: Array, damp: bool, ours: Array, theirs: Array, pull: Array, bend: Array
) -> None:
    """Add the pairs of row i with the rows below it, up to row n, to the sums of both.

    Slow lines: ``up, curve = _pair(near[i] - near[j], delta[j], ...)``, ``pull[i] += up; pull[j] -= up`` and
    ``bend[[i, j]] += curve`` for each j.

    Parameters
    ----------
    i, n : int
    near : float32[n + 7]
        Half of σ times the scores, highest first; the seven places more are as the last one.
    delta : float32[n + 7]
        Δ of row i with each row, positive where the other is the better; 0 beyond row n.
    damp : bool
        Divide Δ by the distance of the scores.
    ours, theirs : float32[n + 7]
        Scratch.
    pull, bend : float32[n + 7]
        Sums so far, in units of σ/2 and σ²/4.
    """
    first, stop = INDEX(i + 1), INDEX(i + 1 + (n - 1 - i + 7) // 8 * 8)
    least, slope = _damping(damp)
    for j in range(first, stop):
        ours[j], theirs[j] = _pair(near[i] - near[j], delta[j], least, slope)
    for j in range(first, stop):
        pull[j] -= ours[j]
    for j in range(first, stop):
        bend[j] += theirs[j]
    pull[i] += _sum_of_eights(first, stop, ours)
    bend[i] += _sum_of_eights(first, stop, theirs)


@compiled_part
def fill_square(n: int, top: int, deltas: Array, weights: Array, square_out: Array) -> None:
    """Write Δ of each row of a short query with all rows, 0 where there is no pair, for `add_all_pairs`.

    Parameters
    ----------
    n, top : int
        Rows, and how many of them have pairs with the rows below.
    deltas : float64[top, n]
        Δ of each row with the rows below it, positive where the other is the better.
    weights : float64[n]
        A pair weighs what its rows do.
    square_out : float32[FEW_ROWS, FEW_ROWS // LANES, LANES]
    """
    for i in range(n):
        for block in range((n + LANES - 1) // LANES):
            for j in range(LANES):
                square_out[i, block, j] = 0.0
    for i in range(top):
        for j in range(i + 1, n):
            delta = np.float32(deltas[i, j] * weights[i] * weights[j])
            square_out[i, j // LANES, j % LANES] = square_out[j, i // LANES, i % LANES] = delta


@compiled_part
def add_all_pairs(
    n: int, near: Array, square: Array, damp: bool, lanes: Array, pull_out: Array, bend_out: Array
) -> None:
    """Sum the pairs of all rows of a short query, each pair seen from both of its rows.

    Parameters
    ----------
    n : int
    near : float32[n]
        Half of σ times the scores, highest first.
    square : float32[FEW_ROWS, FEW_ROWS // LANES, LANES]
        See `fill_square`.
    damp : bool
        Divide Δ by the distance of the scores.
    lanes : float32[3 * LANES]
        Scratch.
    pull_out, bend_out : float32[n]
        In units of σ/2 and σ²/4.
    """
    for block in range((n + LANES - 1) // LANES):
        first, last = LANES * block, min(n, LANES * block + LANES)
        for j in range(LANES, 3 * LANES):
            lanes[j] = 0.0
        for j in range(first, last):
            lanes[j - first] = near[j]
        for i in range(n):
            _add_to_lanes(near[i], i - first, square, i, block, damp, lanes)
        for j in range(first, last):
            pull_out[j], bend_out[j] = lanes[LANES + j - first], lanes[2 * LANES + j - first]


@compiled_part
def _add_to_lanes(here: float, place: int, square: Array, i: int, block: int, damp: bool, lanes: Array) -> None:
    """Add the pairs of one row, at `place`, with LANES rows to those rows: their `near`, pull and bend lie in `lanes`.

    One array and a number of rows that the compiler knows: so it takes eight at a time without asking whether
    arrays overlap.
    """
    least, slope = _damping(damp)
    for j in range(LANES):
        up, curve = _pair(abs(here - lanes[j]), square[i, block, j], least, slope)
        lanes[LANES + j] += up if j < place else -up
        lanes[2 * LANES + j] += curve


@compiled_part
def _damping(damp: bool) -> tuple[Any, Any]:
    """Return what |Δ| is divided by: the first, plus the second times half of σ (s_i - s_j)."""
    return (np.float32(LEAST), np.float32(2.0)) if damp else (np.float32(1.0), np.float32(0.0))


@compiled_part
def _pair(d: Any, delta: Any, least: Any, slope: Any) -> tuple[Any, Any]:
    """Return pull and curvature of a pair with d = σ (s_i - s_j)/2 not below 0.

    With t = tanh(d) and Δ positive where j is the better, the pair pulls j up by Δ + |Δ| t and has the curvature
    |Δ| (1 - t²), in units of σ/2 and σ²/4. tanh is its continued fraction to x¹⁷, in float32, where exp in float64
    takes six times as long.
    """
    one = np.float32(1.0)
    x = min(d, FAR)
    q = x * x
    upper = ((np.float32(2.9019637e-8) * q + np.float32(2.8729440e-5)) * q + np.float32(3.9215686e-3)) * q
    upper = (upper + np.float32(0.13725490)) * q + one
    lower = ((np.float32(1.3058837e-6) * q + np.float32(4.0221217e-4)) * q + np.float32(2.7450980e-2)) * q
    lower = (lower + np.float32(0.47058824)) * q + one
    t = x * upper / lower
    change = delta / (least + slope * d)
    size = abs(change)
    return change + size * t, size * (one - t * t)


@compiled_part
def _sum_of_eights(start: int, stop: int, values: Array) -> float:
    """Do ``values[start:stop].sum()``, a multiple of eight values, in eight sums: one would wait for each add."""
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
    return float(((a + b) + (c + d)) + ((e + f) + (g + h)))
