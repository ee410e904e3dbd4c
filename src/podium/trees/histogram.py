"""Histograms of gradients for regression trees: three sums in one integer, so that a cell costs one add.

Gradient, curvature and 1 (to count rows) of a row are rounded to integer multiples and packed into one 64-bit
integer. Integer sums do not depend on their order, so neither threads nor row order change a bit of a tree, and
the histogram of a node's larger child is exactly that of the node less that of the smaller child.

The multiples are chosen from the sums of absolute values, not from n times the largest: at 300,000 rows a mean
gradient is then some 26 multiples and a mean curvature 7, where a scale by the largest leaves about one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from podium._compiled import (
    INDEX,
    compiled,
    even_ranges,
    inlined_part,
    linked_part,
    prefetch,
    run_threads,
    threads_for,
)
from podium._exchange import ALONE, Exchange
from podium._memory import enough_memory
from podium._validation import Array
from podium.binning import BlockBins
from podium.stumps import half_blocks

BINS = 256
"""Cells of a feature: codes 0 (missing) to 255."""
FEATURES_PER_WORD = 8
"""Features in a word of codes: their cells fill half of the first-level cache."""
FEATURES_PER_HALF = 4
"""Features in half a word, the least that a thread fills: with 17 words of features, two threads have 8.5 each."""
ROWS_PER_FETCH = 512
"""Rows whose codes are fetched together: one pass over memory serves all words of a line."""
ROWS_AHEAD = 128
"""Rows whose codes are asked for in advance: memory may answer after 100 ns, and a row takes 1 ns where threads read
rows alone. With 32, trees of 300,000 rows took 8 % more time."""
WORDS_PER_LINE = 8
"""Words of eight codes in a line of memory."""
FETCH_STRIDE = ROWS_PER_FETCH + 8
"""Places from the fetched codes of a word to those of the next: 8 more, so that the words of a row do not share a
cache set."""
FETCHED = WORDS_PER_LINE * FETCH_STRIDE
"""Places of the scratch for fetched codes."""
CELLS_PER_WORD = BINS * FEATURES_PER_WORD
"""Cells of the features of a word."""
CELLS_PER_LINE = WORDS_PER_LINE * CELLS_PER_WORD
"""Cells of the features of a line: 128 KB, which stay in the second-level cache until they are summed up."""
BYTE, EIGHT = np.uint64(255), INDEX(FEATURES_PER_WORD)
"""Bits of a code, and features of a word, for kernels that find cells by codes."""
ROUNDING_SLACK_UNITS = 8.0
"""Units times √n that are kept free for the rounding of sums over n rows: sixteen standard deviations."""
LEAST_SUM = 1e-250
"""Sums up to this are taken for zero: nothing can be divided by the smallest numbers."""
MAX_ROWS_PACKED = 2**21
"""Rows beyond which gradients and curvatures get an integer each, which takes twice the time.

Packed, a mean gradient is still two units there and a mean curvature a quarter of one. At 2,000,000 rows AUC is within
0.0005 of that of exact sums, with 31 leaves and with 255 (benchmarks/quantized.py).
"""


class SumLayout(NamedTuple):
    """How to read sums of packed rows: the gradient from the first plane, curvature and count from the last.

    Attributes
    ----------
    gradient_shift, curvature_shift : int
        Lowest bit of each.
    curvature_mask, count_mask : int
        Bits of each, after the shift.
    gradient_unit, curvature_unit : float
        What 1 of the integers stands for.
    """

    gradient_shift: int
    curvature_shift: int
    curvature_mask: int
    count_mask: int
    gradient_unit: float
    curvature_unit: float


class Packed(NamedTuple):
    """Gradients and curvatures of all rows as integers, and how to read sums of them.

    Attributes
    ----------
    planes : ndarray of int64, shape (1 or 2, n_rows)
        One plane holds gradient, curvature and count; of two, the first holds the gradient alone.
    layout : SumLayout
    """

    planes: Array
    layout: SumLayout


def empty_histograms(n_leaves: int, n_planes: int, n_words: int) -> Array:
    """Return room for the histograms of some leaves; refuse more than the machine has."""
    shape = n_leaves, n_planes, n_words, FEATURES_PER_WORD, BINS
    what, advice = (
        f"A tree of {n_words * FEATURES_PER_WORD} features",
        "take fewer features or max_leaves, or use RankBoost",
    )
    with enough_memory(8 * math.prod(shape), what, advice):
        return np.empty(shape, np.int64)


def pack_gradients(
    gradient: Array,
    curvature: Array,
    keys: Array,
    salt: int,
    exact: bool = False,
    n_threads: int = 1,
    whole: bool = False,
    exchange: Exchange = ALONE,
) -> Packed:
    """Round gradients and curvatures to integer multiples, up or down by chance so that sums are right on average.

    A value x becomes floor(x/u + c) units u with c uniform in [0, 1), so that its mean is x, and a sum over m rows is
    off by at most √m/2 units in standard deviation. The chance c comes from a hash of the row's key and `salt` (the
    number of the round). From the values alone equal ones would all be rounded alike, and those below a unit vanish.

    Parameters
    ----------
    gradient, curvature : ndarray of float64
        Curvatures are not negative.
    keys : ndarray of uint64
        Another one for each row; see `Queries.place_keys`.
    salt : int
    exact : bool
        Use an integer for the gradient and one for the curvature, which takes twice the time; sums have 51 bits.
    n_threads : int
    whole : bool
        Let the unit of curvatures be a power of two, so that integers are not rounded as long as it is 1 or less.
    exchange : Exchange
        With the parts that have other rows: units are those of all rows.
    """
    n = exchange.count(len(gradient))
    slack = ROUNDING_SLACK_UNITS * np.sqrt(n)
    if exact:  # equal values may well be rounded alike: sums are off by n of 2**50 units at most
        keys, slack = gradient.view(np.uint64) ^ (curvature.view(np.uint64) << np.uint64(1)), n
    count_bits = max(n, 1).bit_length()
    two = exact or n > MAX_ROWS_PACKED
    # no more than 51 bits, which a float holds exactly
    curvature_bits = min(62 - count_bits, 51) if two else (64 - count_bits) * 8 // 17
    gradient_bits = 51 if two else 64 - count_bits - curvature_bits
    shift = 0 if two else count_bits + curvature_bits
    bits = shift, count_bits, 2**curvature_bits - 1, 2**count_bits - 1
    planes = np.empty((1 + two, len(gradient)), np.int64)
    largest = np.array([2.0 ** (gradient_bits - 1) - 1, 2.0**curvature_bits - 1])
    sums = exchange.sizes([gradient, curvature], n)
    scales = np.maximum(largest - slack, largest / 2) / np.where(sums > LEAST_SUM, sums, 1.0)
    if whole:
        scales[1] = 2.0 ** np.floor(np.log2(scales[1]))
    n_threads = threads_for(n_threads, 16 * len(gradient))  # a row takes as long as 16 cells
    runs = even_ranges(len(gradient), n_threads)
    while True:
        layout = SumLayout(*bits, *(1.0 / scales).tolist())
        calls = [(gradient, curvature, keys, *run, *scales.tolist(), layout, np.uint64(salt), planes) for run in runs]
        totals = exchange.sum(np.array(run_threads(_pack_rows, calls, n_threads)).sum(axis=0))
        if np.all(totals <= largest):
            return Packed(planes, layout)
        scales = scales * np.where(totals > largest, 0.75, 1.0)


@compiled
def _pack_rows(
    gradient: Array,
    curvature: Array,
    keys: Array,
    start: int,
    stop: int,
    gradient_scale: float,
    curvature_scale: float,
    layout: SumLayout,
    salt: int,
    planes_out: Array,
) -> tuple[int, int]:
    """Write ``floor(value * scale + chance)`` of each value, packed; return the sums of their absolute values.

    Curvatures first, then gradients: loops that each write to one plane take eight rows at a time.
    """
    last = len(planes_out) - 1
    own = (salt + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    gradients, curvatures = np.int64(0), np.int64(0)
    for i in range(INDEX(start), INDEX(stop)):
        chance = np.float64(np.int64(_mixed(keys[i] ^ own) >> np.uint64(32))) * 2.0**-32
        h = np.int64(np.floor(curvature[i] * curvature_scale + chance))
        curvatures += h
        planes_out[last, i] = (h << layout.curvature_shift) + 1
    for i in range(INDEX(start), INDEX(stop)):
        chance = np.float64(np.int64(_mixed(keys[i] ^ own) & np.uint64(0xFFFFFFFF))) * 2.0**-32
        g = np.int64(np.floor(gradient[i] * gradient_scale + chance))
        gradients += abs(g)
        planes_out[0, i] = (g << layout.gradient_shift) + (planes_out[0, i] if last == 0 else 0)
    return int(gradients), int(curvatures)


@inlined_part
def _mixed(key: np.uint64) -> np.uint64:
    """Hash a key."""
    mixed = key * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(29))


def as_lines(bins: BlockBins, n_threads: int = 1) -> Array:
    """Return the codes in lines of sixty-four features, as 64-bit words of eight features.

    The rows of a leaf lie scattered, and memory comes in lines of 64 bytes: a row's codes of sixty-four features cost
    what those of sixteen do. In blocks of sixteen, small leaves take up to twice as long.

    Returns
    -------
    uint64[lengths of a row's lines * n_rows]
        The lines of the first sixty-four features of each row, then those of the next. Lines have eight words; the
        last ones have four, two or one if that is enough. None lies in two lines of memory.
    """
    n_words, n_rows = -(-bins.cuts.n_features // FEATURES_PER_WORD), bins.n_rows
    lengths = [
        min(WORDS_PER_LINE, 1 << (n_words - first - 1).bit_length()) for first in range(0, n_words, WORDS_PER_LINE)
    ]
    room = bins.allocate(n_rows * sum(lengths) + WORDS_PER_LINE)
    words = room[-room.ctypes.data // 8 % WORDS_PER_LINE :][: n_rows * sum(lengths)]
    n_threads = threads_for(n_threads, n_rows * n_words)
    parts = [slice(*run) for run in even_ranges(n_rows, n_threads)]
    run_threads(_fill_lines, [(half_blocks(bins), lengths, part, n_words, words) for part in parts], n_threads)
    return words


def _fill_lines(blocks: Array, lengths: list[int], rows: slice, n_words: int, words_out: Array) -> None:
    """Write the lines of some rows."""
    n_rows = blocks.shape[1]
    for number, length in enumerate(lengths):
        first = WORDS_PER_LINE * number
        lines = words_out[first * n_rows : (first + length) * n_rows].reshape(n_rows, length)
        for word in range(first, min(first + length, n_words)):
            lines[rows, word - first] = blocks[word // 2, rows, word % 2]


@linked_part
def fill_cells(
    words: Array,
    used: Array,
    rows: Array,
    values: Array,
    line: int,
    first: int,
    last: int,
    n_rows: int,
    fetched: Array,
    cells_out: Array,
) -> None:
    """Do ``cells[f // 8, code[row, f], f % 8] += value of row`` over the rows, for features f of a line.

    0.26 ns a cell, about one store a cycle. Eight features at a time keep their cells in half of the first-level cache;
    the rows of a node lie scattered, so that codes are asked for in advance (without: 3 to 7 ns in small nodes). The
    cells of a code stand side by side: where neighbouring features have the same code, such as that of their zeros,
    two stores go to one line of the cache.

    Parameters
    ----------
    words : uint64
        See `as_lines`.
    used : bool[n_words]
        Words, of eight features each, to fill; others are left as they are.
    rows : uint32[m]
    values : int64[m]
        Packed gradients and curvatures of these rows.
    line : int
    first, last : int
        Only halves of words from the first up to, not including, the last are filled, of all features.
    n_rows : int
    fetched : uint64[FETCHED]
        Scratch.
    cells_out : int64[CELLS_PER_LINE]
        Of the line's words: int64[8, 256, 8].
    """
    low, high = max(first // 2 - WORDS_PER_LINE * line, 0), min((last + 1) // 2 - WORDS_PER_LINE * line, WORDS_PER_LINE)
    width, any_used = min(WORDS_PER_LINE, len(words) // n_rows - WORDS_PER_LINE * line), False
    for word in range(low, high):
        if used[WORDS_PER_LINE * line + word]:
            any_used = True
            _clear_word(cells_out, word)
    for start in range(0, len(rows) if any_used else 0, ROWS_PER_FETCH):
        size = min(ROWS_PER_FETCH, len(rows) - start)
        if width == WORDS_PER_LINE and high - low > WORDS_PER_LINE // 2:
            _fetch_lines(words, WORDS_PER_LINE * line * n_rows, rows, start, size, fetched)
        else:
            for word in range(low, high):
                _fetch_word(words, WORDS_PER_LINE * line * n_rows + word, width, rows, start, size, fetched, word)
        for word in range(low, high):
            if used[WORDS_PER_LINE * line + word]:
                half = 2 * (WORDS_PER_LINE * line + word)
                if first <= half and half + 2 <= last:
                    _add_word(fetched, word, values, start, size, cells_out)
                else:
                    _add_half(fetched, word, values, start, size, INDEX(first > half), cells_out)


@linked_part
def _clear_word(cells_out: Array, word: int) -> None:
    """Set the cells of a word to 0."""
    for cell in range(INDEX(CELLS_PER_WORD * word), INDEX(CELLS_PER_WORD * (word + 1))):
        cells_out[cell] = 0


@linked_part
def _fetch_lines(words: Array, base: int, rows: Array, start: int, size: int, fetched_out: Array) -> None:
    """Do ``fetched_out[:, :size] = words[base:].reshape(-1, WORDS_PER_LINE)[rows[start : start + size]].T``."""
    first, end, last = INDEX(start), INDEX(base), INDEX(len(rows) - 1)
    for i in range(INDEX(size)):
        at = first + i
        prefetch(words, end + INDEX(rows[min(at + INDEX(ROWS_AHEAD), last)]) * INDEX(WORDS_PER_LINE))
        place = end + INDEX(rows[at]) * INDEX(WORDS_PER_LINE)
        for word in range(WORDS_PER_LINE):
            fetched_out[INDEX(FETCH_STRIDE * word) + i] = words[place + INDEX(word)]


@linked_part
def _fetch_word(
    words: Array, base: int, width: int, rows: Array, start: int, size: int, fetched_out: Array, word: int
) -> None:
    """Do ``fetched_out[word, :size] = words[base::width][rows[start : start + size]]``."""
    first, end, stride, last = INDEX(start), INDEX(base), INDEX(width), INDEX(len(rows) - 1)
    to = INDEX(FETCH_STRIDE * word)
    for i in range(INDEX(size)):
        at = first + i
        prefetch(words, end + INDEX(rows[min(at + INDEX(ROWS_AHEAD), last)]) * stride)
        fetched_out[to + i] = words[end + INDEX(rows[at]) * stride]


@linked_part
def _add_word(fetched: Array, word: int, values: Array, start: int, size: int, cells_out: Array) -> None:
    """Do ``cells_out[word, byte j of fetched[word, i], j] += values[start + i]`` for the eight bytes of each."""
    first, at, cell = INDEX(start), INDEX(FETCH_STRIDE * word), INDEX(CELLS_PER_WORD * word)
    for i in range(INDEX(size)):
        value, codes = values[first + i], fetched[at + i]
        cells_out[cell + EIGHT * (codes & BYTE)] += value
        cells_out[cell + EIGHT * ((codes >> np.uint64(8)) & BYTE) + INDEX(1)] += value
        cells_out[cell + EIGHT * ((codes >> np.uint64(16)) & BYTE) + INDEX(2)] += value
        cells_out[cell + EIGHT * ((codes >> np.uint64(24)) & BYTE) + INDEX(3)] += value
        cells_out[cell + EIGHT * ((codes >> np.uint64(32)) & BYTE) + INDEX(4)] += value
        cells_out[cell + EIGHT * ((codes >> np.uint64(40)) & BYTE) + INDEX(5)] += value
        cells_out[cell + EIGHT * ((codes >> np.uint64(48)) & BYTE) + INDEX(6)] += value
        cells_out[cell + EIGHT * (codes >> np.uint64(56)) + INDEX(7)] += value


@linked_part
def _add_half(
    fetched: Array, word: int, values: Array, start: int, size: int, half: np.uint64, cells_out: Array
) -> None:
    """Do what `_add_word` does for four bytes, the lower ones or the upper ones."""
    first, at, shift = INDEX(start), INDEX(FETCH_STRIDE * word), np.uint64(32) * half
    cell = INDEX(CELLS_PER_WORD * word) + INDEX(FEATURES_PER_HALF) * half
    for i in range(INDEX(size)):
        value, codes = values[first + i], fetched[at + i] >> shift
        cells_out[cell + EIGHT * (codes & BYTE)] += value
        cells_out[cell + EIGHT * ((codes >> np.uint64(8)) & BYTE) + INDEX(1)] += value
        cells_out[cell + EIGHT * ((codes >> np.uint64(16)) & BYTE) + INDEX(2)] += value
        cells_out[cell + EIGHT * ((codes >> np.uint64(24)) & BYTE) + INDEX(3)] += value
