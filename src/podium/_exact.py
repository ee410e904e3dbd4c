"""Exact sums of floats: neither the order of the terms nor how they are parted changes a bit.

A sum is kept as an integer multiple of 2⁻¹⁰⁷⁴, the smallest float, in digits of 32 bits (Kulisch's superaccumulator;
Neal 2015, "Fast exact summation using small and large superaccumulators"). Digits are int64, so that a thousand terms
go in before a carry is due, and the digits of parts add up as integers. Rounded once, at the end, a sum is that of
`math.fsum`, bit for bit; short sums are left to it.

Where a sum is wanted to some digits alone, `fixed_sums` is quicker: multiples of a unit, which add up as integers too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from podium._compiled import (
    INDEX,
    SCORE,
    compiled,
    even_ranges,
    inlined_part,
    linked_part,
    run_threads,
    threads_for,
)
from podium._validation import Array, PodiumError

DIGITS = 68
"""Digits of a sum: 2098 bits hold any float, and 31 more the sum of 2³¹ of them."""
DIGIT_BITS = 32
TERMS_PER_CARRY = 1024
"""Terms after which digits are carried over: each adds up to 2⁵² to a digit of 63 bits."""
LARGEST_SCALE_POWER = 1000
"""Power of the largest scale: sums of the smallest numbers have fewer digits instead of an infinite scale."""
FRACTION_BITS, EXPONENT_MASK, SPECIAL = 52, 2047, 2047
"""Bits of a float's fraction, its exponent, and the exponent of infinities and NaN."""
LOWEST_POWER = -1074
"""Power of two that 1 of the first digit stands for."""
FLOAT_INTEGERS = 2**53
"""Integers up to this are floats."""
HIGHEST_DIGITS = 4
"""Digits at the upper end that may stand for more than the largest float."""
ENOUGH_BITS = 128
"""Bits of a sum from which it is rounded, the last of which says whether any is left out."""
SIGN_BIT = np.uint64(1 << 63)
SIGN_BITS = sum(int(SIGN_BIT) << (DIGIT_BITS * place) for place in range(DIGITS))
"""What a number grows by where `SIGN_BIT` is added to each digit."""
SHORT = 4096
"""Terms up to which `math.fsum` adds up: 15 ns a term, where a kernel takes 2 but a second of compiling."""


def exact_sum(values: Array, n_threads: int = 1) -> float:
    """Return the sum of finite floats, rounded once; slow line: ``math.fsum(values)``.

    A sum beyond the largest float is infinite, a sum of nothing 0.

    Examples
    --------
    >>> exact_sum(np.array([1e100, 1.0, -1e100]))
    1.0
    """
    if len(values) <= SHORT:
        try:
            total = math.fsum(values.tolist())
        except (OverflowError, ValueError):  # on the way, or at infinities
            total = math.nan
        if math.isfinite(total):
            return total
    return rounded(digits_of(values, n_threads)[None])[0]


def digits_of(values: Array, n_threads: int = 1) -> Array:
    """Return the digits of the sum of finite floats: int64[DIGITS]; those of several parts may be added up."""
    given = np.ascontiguousarray(values, SCORE)
    n_threads = threads_for(n_threads, 4 * len(given))  # a value takes as long as 4 cells of a histogram
    runs = even_ranges(len(given), n_threads)
    parts = np.zeros((len(runs), DIGITS), np.int64)
    calls = [(given[start:stop], part) for (start, stop), part in zip(runs, parts, strict=True)]
    if not all(run_threads(_add_values, calls, n_threads)):
        raise PodiumError("Only finite numbers have an exact sum; got an infinite one or NaN.")
    digits: Array = parts.sum(axis=0)
    return digits


def digits_of_columns(columns: Sequence[Array] | Array) -> Array:
    """Return the digits of the sum of each of some columns of finite floats: int64[n, DIGITS]; one thread will do."""
    return np.array([digits_of(column) for column in columns], np.int64).reshape(-1, DIGITS)


def rounded(digits: Array) -> list[float]:
    """Return sums as floats, to nearest, ties to even, from int64[n, DIGITS]; beyond the largest float, infinity.

    Digits that have been carried over are exact floats, of which few are not 0: `math.fsum` rounds their sum. For
    others, and those of the largest floats, see `_rounded_integers`, which takes five times as long.
    """
    places = np.flatnonzero(digits.any(axis=0))
    first, stop = (int(places[0]), int(places[-1]) + 1) if len(places) else (0, 0)
    own = digits[:, first:stop]
    if stop > DIGITS - HIGHEST_DIGITS or max(own.max(initial=0), -own.min(initial=0)) > FLOAT_INTEGERS:
        return _rounded_integers(digits)
    terms = np.ldexp(own.astype(SCORE), DIGIT_BITS * np.arange(first, stop) + LOWEST_POWER)
    return [math.fsum(row) for row in terms.tolist()]


def _rounded_integers(digits: Array) -> list[float]:
    """Return sums of any digits as floats.

    With its sign bit turned no digit is negative. Every other digit then stands side by side in one long integer.
    """
    positive = (digits.view(np.uint64) + SIGN_BIT).astype("<u8")
    halves = [[row.tobytes() for row in positive[:, first::2]] for first in range(2)]
    return [
        _nearest(int.from_bytes(even, "little") + (int.from_bytes(odd, "little") << DIGIT_BITS) - SIGN_BITS)
        for even, odd in zip(*halves, strict=True)
    ]


def _nearest(units: int) -> float:
    """Return so many times the smallest float; slow line: ``units / 2**1074``, which takes three times as long."""
    dropped = max(units.bit_length() - ENOUGH_BITS, 0)
    kept = units >> dropped
    try:
        return math.ldexp(kept | (kept << dropped != units), dropped + LOWEST_POWER)
    except OverflowError:
        return math.inf if units > 0 else -math.inf


def fixed_scale(largest: float, n_terms: int) -> float:
    """Return a power of two by which so many terms of such a size may be multiplied, to add them up in 62 bits."""
    power = 62 - max(n_terms, 1).bit_length() - int(np.frexp(largest)[1])
    return float(2.0 ** min(power, LARGEST_SCALE_POWER))


def fixed_sums(columns: Sequence[Array], scales: Sequence[float]) -> Array:
    """Return ``np.floor(np.abs(column) * scale).sum()`` of each column: int64, the same for any order of the rows."""
    return np.array([_fixed_sum(column, scale) for column, scale in zip(columns, scales, strict=True)], np.int64)


@compiled
def _fixed_sum(values: Array, scale: float) -> int:
    """Sum multiples of a unit."""
    total = np.int64(0)
    for i in range(len(values)):
        total += np.int64(abs(values[i]) * scale)
    return int(total)


@inlined_part
def add_exactly(bits: int, digits_out: Array) -> bool:
    """Add a float, given as the int64 of its bits, to the digits of a sum; False where it is not finite."""
    low, sign = np.int64(0xFFFFFFFF), bits >> 63
    exponent, fraction = (bits >> FRACTION_BITS) & EXPONENT_MASK, bits & ((np.int64(1) << FRACTION_BITS) - 1)
    normal = np.int64(exponent > 0)
    fraction |= normal << FRACTION_BITS
    place = exponent - normal
    first, shift = INDEX(place >> 5), place & 31
    digits_out[first] += (((fraction << shift) & low) ^ sign) - sign
    digits_out[first + INDEX(1)] += ((fraction >> (DIGIT_BITS - shift)) ^ sign) - sign
    return bool(exponent != SPECIAL)


@compiled
def _add_values(values: Array, digits_out: Array) -> bool:
    """Add values to the digits of a sum; False where one is not finite."""
    bits, finite, start = values.view(np.int64), True, 0
    while start < len(bits):
        stop = min(start + TERMS_PER_CARRY, len(bits))
        for i in range(INDEX(start), INDEX(stop)):
            finite &= add_exactly(bits[i], digits_out)
        carry_over(digits_out)
        start = stop
    return finite


@linked_part
def carry_over(digits_out: Array) -> None:
    """Carry what is beyond 32 bits of a digit to the next; due after `TERMS_PER_CARRY` terms.

    Digits then lie in [-2³¹, 2³¹). If none were negative, all the upper ones of a negative sum would differ from 0.
    """
    carry, half = np.int64(0), np.int64(1) << (DIGIT_BITS - 1)
    for place in range(DIGITS - 1):
        total = digits_out[place] + carry
        carry = (total + half) >> DIGIT_BITS
        digits_out[place] = total - (carry << DIGIT_BITS)
    digits_out[DIGITS - 1] += carry


@linked_part
def add_rows(values: Array, rows: Array, digits_out: Array) -> None:
    """Add ``values[rows]``, finite floats, to the digits of a sum."""
    bits = values.view(np.int64)
    for start in range(0, len(rows), TERMS_PER_CARRY):
        for i in range(INDEX(start), INDEX(min(start + TERMS_PER_CARRY, len(rows)))):
            add_exactly(bits[rows[i]], digits_out)
        carry_over(digits_out)
