"""Histograms of gradients for regression trees: three sums in one integer, so that a cell costs one add.

Gradient, curvature and 1 (to count rows) of a row are rounded to whole multiples and packed into one 64-bit
integer. Integer sums do not depend on their order, so neither threads nor row order change a bit of a tree, and
the histogram of a node's larger child is exactly that of the node less that of the smaller child.

The multiples are chosen from the sums of absolute values, not from n times the largest: at 300,000 rows a mean
gradient is then some 26 multiples and a mean curvature 7, where a scale by the largest leaves about one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from podium._compiled import SCORE, compiled, prefetch, run_threads, threads_for
from podium._validation import Array

BINS = 256
"""Cells of a feature: codes 0 (missing) to 255."""
HALF = 8
"""Features in half a block: their cells fill half of the first-level cache."""
AHEAD = 1024
"""Rows whose codes are fetched together: one pass over memory serves both halves of a block."""
LARGE = 2**21
"""Rows beyond which gradients and curvatures get an integer each: packed, too few bits would be left."""


@dataclass(frozen=True, eq=False)
class Packed:
    """Gradients and curvatures of all rows as whole numbers, and how to read sums of them.

    Attributes
    ----------
    planes : ndarray of int64, shape (1 or 2, n_rows)
        One plane holds gradient, curvature and count; of two, the first holds the gradient alone.
    layout : ndarray of int64
        Shift of the gradient; shift and mask of the curvature; mask of the count; highest bit of the gradient.
        The curvature and the count are read from the last plane, the gradient from the first.
    units : ndarray of float64
        What 1 of the whole numbers stands for: gradient, curvature.
    """

    planes: Array
    layout: Array
    units: Array


def pack(gradient: Array, curvature: Array, salt: int, exact: bool = False, n_threads: int = 1) -> Packed:
    """Round gradients and curvatures to whole multiples, up or down by chance so that sums are right on average.

    The chance comes from a hash of the value and `salt` (the number of the round), not from the row's place.

    Parameters
    ----------
    gradient, curvature : ndarray of float64
        Curvatures are not negative.
    salt : int
    exact : bool
        Use an integer for the gradient and one for the curvature, which takes twice the time; sums have 51 bits.
    n_threads : int
    """
    n = len(gradient)
    count_bits = max(n, 1).bit_length()
    two = exact or n > LARGE
    # no more than 51 bits, which a float holds exactly
    curvature_bits = min(62 - count_bits, 51) if two else (64 - count_bits) * 8 // 17
    gradient_bits = 51 if two else 64 - count_bits - curvature_bits
    shift = 0 if two else count_bits + curvature_bits
    highest = shift + gradient_bits - 1
    layout = np.array([shift, count_bits, 2**curvature_bits - 1, 2**count_bits - 1, highest], np.int64)
    planes = np.empty((1 + two, n), np.int64)
    room = np.array([2.0 ** (gradient_bits - 1) - 1, 2.0**curvature_bits - 1])
    sums = np.array([np.abs(gradient).sum(), curvature.sum()])
    scales = np.maximum(room - n, room / 2) / np.where(sums > 0, sums, 1.0)
    n_threads = threads_for(n_threads, 16 * n)  # a row takes as long as 16 cells
    bounds = np.linspace(0, n, n_threads + 1).astype(np.int64)
    while True:
        calls = [
            (gradient[a:b], curvature[a:b], scales, layout, np.uint64(salt), planes[:, a:b])
            for a, b in pairwise(bounds)
        ]
        totals = np.sum(run_threads(_pack_rows, calls, n_threads), axis=0)
        if np.all(totals <= room):
            return Packed(planes, layout, 1.0 / scales)
        scales = scales * np.where(totals > room, 0.75, 1.0)


@compiled
def _pack_rows(
    gradient: Array, curvature: Array, scales: Array, layout: Array, salt: int, planes_out: Array
) -> tuple[float, float]:
    """Write ``floor(value * scale + chance)`` of each value, packed; return the sums of their absolute values."""
    low, first, last = np.uint64(0xFFFFFFFF), planes_out[0], planes_out[len(planes_out) - 1]
    bits, other = gradient.view(np.uint64), curvature.view(np.uint64)
    key = (salt + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    steepness, bend = np.int64(0), np.int64(0)
    for i in range(len(gradient)):
        mixed = (bits[i] ^ (other[i] << np.uint64(1)) ^ key) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(29)
        g = np.int64(np.floor(gradient[i] * scales[0] + np.float64(np.int64(mixed & low)) * 2.0**-32))
        h = np.int64(np.floor(curvature[i] * scales[1] + np.float64(np.int64(mixed >> np.uint64(32))) * 2.0**-32))
        steepness += abs(g)
        bend += h
        last[i] = (h << layout[1]) + 1
        if len(planes_out) == 1:
            last[i] += g << layout[0]
        else:
            first[i] = g
    return float(steepness), float(bend)


@compiled
def fill_histograms(
    words: Array, used: Array, rows: Array, values: Array, first: int, last: int, histogram_out: Array
) -> None:
    """Do ``histogram[f // 8, f % 8, code[row, f]] += value of row`` over the rows, for some halves of blocks.

    0.5 ns a cell. Eight features at a time keep their cells in half of the first-level cache; the rows of a
    node lie scattered, so that the codes of the row 16 ahead are asked for in advance (without: 3 to 7 ns in
    small nodes).

    Parameters
    ----------
    words : uint64[n_blocks, n_rows, 2]
        Codes of eight features a word, the first in its lowest byte.
    used : bool[2 * n_blocks]
        Halves to fill; others are left as they are.
    rows : uint32[m]
    values : int64[m]
        Packed gradients and curvatures of these rows.
    first, last : int
        Only halves from the first up to, not including, the last are filled.
    histogram_out : int64[2 * n_blocks, 8, 256]
    """
    fetched = np.empty((2, AHEAD), np.uint64)
    for block in range(first // 2, (last + 1) // 2):
        low, high = max(first, 2 * block), min(last, 2 * block + 2)
        any_used = False
        for half in range(low, high):
            if used[half]:
                any_used = True
                histogram_out[half, :, :] = 0
        for start in range(0, len(rows) if any_used else 0, AHEAD):
            size = min(AHEAD, len(rows) - start)
            _fetch(words[block], rows[start:], size, fetched)
            for half in range(low, high):
                if used[half]:
                    _add_half(fetched[half % 2, :size], values[start : start + size], histogram_out[half])


@compiled
def _fetch(words: Array, rows: Array, size: int, fetched_out: Array) -> None:
    """Do ``fetched_out[:, :size] = words[rows[:size]].T``."""
    flat, ahead = words.reshape(-1), len(rows) - 1
    for i in range(size):
        prefetch(flat, np.int64(rows[min(i + 16, ahead)]) * 2)
        row = rows[i]
        fetched_out[0, i] = words[row, 0]
        fetched_out[1, i] = words[row, 1]


@compiled
def _add_half(words: Array, values: Array, histogram: Array) -> None:
    """Do ``histogram[j, byte j of words[i]] += values[i]`` for the eight bytes of each word."""
    byte = np.uint64(255)
    for i in range(len(values)):
        value, word = values[i], words[i]
        histogram[0, word & byte] += value
        histogram[1, (word >> np.uint64(8)) & byte] += value
        histogram[2, (word >> np.uint64(16)) & byte] += value
        histogram[3, (word >> np.uint64(24)) & byte] += value
        histogram[4, (word >> np.uint64(32)) & byte] += value
        histogram[5, (word >> np.uint64(40)) & byte] += value
        histogram[6, (word >> np.uint64(48)) & byte] += value
        histogram[7, word >> np.uint64(56)] += value


@compiled
def subtract_histograms(smaller: Array, used: Array, first: int, last: int, node_out: Array) -> None:
    """Turn some of a node's histograms into those of its larger child: ``node_out[used] -= smaller[used]``."""
    for half in range(first, last):
        if used[half]:
            node, part = node_out[half].reshape(-1), smaller[half].reshape(-1)
            for i in range(len(node)):
                node[i] -= part[i]


def unpack(sums: Array, packed: Packed) -> tuple[Array, Array, Array]:
    """Return gradient, curvature and count of packed sums of shape (planes, ...)."""
    shift, count_bits, mask, count_mask, _ = packed.layout
    gradient = (sums[0] >> shift).astype(SCORE) * packed.units[0]
    curvature = ((sums[-1] >> count_bits) & mask).astype(SCORE) * packed.units[1]
    return gradient, curvature, sums[-1] & count_mask
