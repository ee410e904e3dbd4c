"""Pull and curvature of the pairs of one row with all rows below it, in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium._compiled import compiled
from podium._validation import Array

FAR = np.float32(6.0)
"""Half of sigma (s_i - s_j) beyond which a pair counts as settled: tanh there is 1 - 1e-5."""
FEW_PAIRS = 16
"""Pairs of a row up to which one after the other is quicker than eight at a time, which 120 ns go before."""
LEAST = 0.01
"""Added to the distance of a pair's scores before |ΔZ| is divided by it."""


@compiled
def add_pairs(i: int, n: int, near: Array, delta: Array, damp: bool, scratch: Array, pull: Array, bend: Array) -> None:
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
    scratch : float32[2, n + 7]
    pull, bend : float32[n + 7]
        Sums so far, in units of σ/2 and σ²/4.
    """
    if n - 1 - i <= FEW_PAIRS:
        _add_few(i, n, near, delta, damp, pull, bend)
    else:
        _add_many(i, (n - 1 - i + 7) // 8 * 8, near, delta, damp, scratch, pull, bend)


@compiled
def _add_many(
    i: int, size: int, near: Array, delta: Array, damp: bool, scratch: Array, pull: Array, bend: Array
) -> None:
    """Add the pairs of row i with the `size` rows below it to the sums of both."""
    below = slice(i + 1, i + 1 + size)
    ours, theirs = scratch[0, :size], scratch[1, :size]
    _pair_terms(near[i], near[below], delta[below], damp, ours, theirs)
    _add_rows(ours, theirs, pull[below], bend[below])
    pull[i] += _sum_of_eights(ours)
    bend[i] += _sum_of_eights(theirs)


@compiled
def _add_few(i: int, n: int, near: Array, delta: Array, damp: bool, pull: Array, bend: Array) -> None:
    """Add the pairs of row i with all rows below it to the sums of both, one after the other."""
    least, slope = _damping(damp)
    own_pull = own_bend = np.float32(0.0)
    for j in range(i + 1, n):
        up, curve = _pair(near[i] - near[j], delta[j], least, slope)
        pull[j] -= up
        bend[j] += curve
        own_pull += up
        own_bend += curve
    pull[i] += own_pull
    bend[i] += own_bend


@compiled
def _pair_terms(top: float, near: Array, delta: Array, damp: bool, pull_out: Array, bend_out: Array) -> None:
    """Pull and curvature of the pairs of one row with all rows below it."""
    least, slope = _damping(damp)
    for j in range(len(near)):
        pull_out[j], bend_out[j] = _pair(top - near[j], delta[j], least, slope)


@compiled
def _damping(damp: bool) -> tuple[Any, Any]:
    """Return what |Δ| is divided by: the first, plus the second times half of σ (s_i - s_j)."""
    return (np.float32(LEAST), np.float32(2.0)) if damp else (np.float32(1.0), np.float32(0.0))


@compiled
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


@compiled
def _add_rows(ours: Array, theirs: Array, pull: Array, bend: Array) -> None:
    """Do ``pull -= ours; bend += theirs``."""
    for j in range(len(pull)):
        pull[j] -= ours[j]
    for j in range(len(bend)):
        bend[j] += theirs[j]


@compiled
def _sum_of_eights(values: Array) -> float:
    """Do ``values.sum()`` for a length that eight divides, in eight sums: one would wait for each add."""
    a = b = c = d = e = f = g = h = np.float32(0.0)
    for i in range(0, len(values), 8):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
        e += values[i + 4]
        f += values[i + 5]
        g += values[i + 6]
        h += values[i + 7]
    return float(((a + b) + (c + d)) + ((e + f) + (g + h)))
