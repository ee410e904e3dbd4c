"""Exact sums of floats: neither the order of the terms nor how they are parted changes a bit.

A sum is kept as an integer multiple of 2⁻¹⁰⁷⁴, the smallest float, in digits of 32 bits (Kulisch's superaccumulator;
Neal 2015, "Fast exact summation using small and large superaccumulators"). Digits are int64, so that a thousand terms
go in before a carry is due, and the digits of parts add up as integers. Rounded once, at the end, a sum is that of
`math.fsum`, bit for bit.

Where a sum is wanted to some digits alone, `fixed_sums` is quicker: multiples of a unit, which add up as integers too.
"""

from __future__ import annotations

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
KEPT, DROPPED = 53, 11
"""Bits of a float's significand, and of 64 bits those beyond them."""


def exact_sum(values: Array, n_threads: int = 1) -> float:
    """Return the sum of finite floats, rounded once; slow line: ``math.fsum(values)``.

    A sum beyond the largest float is infinite, a sum of nothing 0.

    Examples
    --------
    >>> exact_sum(np.array([1e100, 1.0, -1e100]))
    1.0
    """
    return float(rounded(digits_of(values, n_threads)[None])[0])


def digits_of(values: Array, n_threads: int = 1) -> Array:
    """Return the digits of the sum of finite floats: int64[DIGITS]; those of several parts may be added up."""
    given = np.ascontiguousarray(values, SCORE)
    n_threads = threads_for(n_threads, 4 * len(given))  # a value takes as long as 4 cells of a histogram
    runs = even_ranges(len(given), n_threads)
    parts = np.zeros((len(runs), DIGITS), np.int64)
    calls = [(given[start:stop], part) for (start, stop), part in zip(runs, parts, strict=True)]
    if not all(run_threads(_add_values, calls, n_threads)):
        raise PodiumError("Only finite numbers have an exact sum; got an infinite one or NaN.")
    digits: Array = settled(parts.sum(axis=0))
    return digits


def digits_of_columns(columns: Sequence[Array] | Array) -> Array:
    """Return the digits of the sum of each of some columns of finite floats: int64[n, DIGITS]; one thread will do."""
    digits = np.zeros((len(columns), DIGITS), np.int64)
    for column, out in zip(columns, digits, strict=True):
        if not _add_values(np.ascontiguousarray(column, SCORE), out):
            raise PodiumError("Only finite numbers have an exact sum; got an infinite one or NaN.")
    return digits


def settled(digits: Array) -> Array:
    """Return the same sums with every digit but the last from 0 to 2³² - 1, so that 2³¹ of them may be added up."""
    settled_digits = np.array(digits, np.int64)
    _settle(settled_digits.reshape(-1, DIGITS))
    return settled_digits


def rounded(digits: Array) -> Array:
    """Return sums as floats, to nearest, ties to even: float64[n] of int64[n, DIGITS]."""
    sums = np.empty(len(digits), SCORE)
    _round(settled(digits), sums)
    return sums


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
    """Carry what is beyond 32 bits of a digit to the next; due after `TERMS_PER_CARRY` terms."""
    carry = np.int64(0)
    for place in range(DIGITS - 1):
        carry += digits_out[place]
        digits_out[place] = carry & np.int64(0xFFFFFFFF)
        carry >>= DIGIT_BITS
    digits_out[DIGITS - 1] += carry


@linked_part
def add_rows(values: Array, rows: Array, digits_out: Array) -> None:
    """Add ``values[rows]``, finite floats, to the digits of a sum."""
    bits = values.view(np.int64)
    for start in range(0, len(rows), TERMS_PER_CARRY):
        for i in range(INDEX(start), INDEX(min(start + TERMS_PER_CARRY, len(rows)))):
            add_exactly(bits[rows[i]], digits_out)
        carry_over(digits_out)


@compiled
def _settle(digits: Array) -> None:
    """Carry over in each sum."""
    for row in range(len(digits)):
        carry_over(digits[row])


@compiled
def _round(digits: Array, sums_out: Array) -> None:
    """Round settled sums to floats; the digits are changed.

    1. Turn a negative sum into a positive one: only its last digit may be negative.
    2. Find the first digit that is not 0; it and the next two make 64 bits, the first of which is 1.
    3. Round them to 53, by the eleven that are dropped and by whether any bit after these is 1.
    """
    for row in range(len(digits)):
        own = digits[row]
        negative = own[DIGITS - 1] < 0
        carry = np.int64(0)
        for place in range(DIGITS if negative else 0):  # 1
            carry -= own[place]
            own[place] = carry & np.int64(0xFFFFFFFF) if place < DIGITS - 1 else carry
            carry >>= DIGIT_BITS
        top = DIGITS - 1  # 2
        while top > 0 and own[top] == 0:
            top -= 1
        second, third = own[top - 1] if top > 0 else 0, own[top - 2] if top > 1 else 0
        space = np.int64(0)
        while own[top] != 0 and (own[top] << space) < 1 << (DIGIT_BITS - 1):
            space += 1
        bits = (((own[top] << DIGIT_BITS) | second) << space) | (third >> (DIGIT_BITS - space))
        after = (third << space) & np.int64(0xFFFFFFFF)
        for place in range(top - 2):
            after |= own[place]
        half, rest = np.int64(1) << (DROPPED - 1), bits & ((np.int64(1) << DROPPED) - 1)  # 3
        kept = (bits >> DROPPED) & ((np.int64(1) << KEPT) - 1)
        kept += np.int64(rest > half or (rest == half and (after != 0 or kept & 1 != 0)))
        power = np.int64(DIGIT_BITS * (top - 1) - space + DROPPED + LOWEST_POWER)
        sums_out[row] = -np.ldexp(float(kept), power) if negative else np.ldexp(float(kept), power)
