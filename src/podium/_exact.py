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
    prefetch,
    run_threads,
    threads_for,
)
from podium._types import Int
from podium._validation import Array, PodiumError

DIGITS = 68
"""Digits of a sum: 2098 bits hold any float, and 31 more the sum of 2³¹ of them."""
DIGIT_BITS, LOW = 32, np.int64(0xFFFFFFFF)
"""Bits of a digit, and the mask of these."""
TERMS_PER_CARRY = 1024
"""Terms after which digits are carried over: each adds up to 2⁵² to a digit of 63 bits."""
TERMS_AHEAD = 128
"""Terms that are asked for in advance: those of a large leaf come from far, and without it take twice the time."""
LARGEST_SCALE_POWER = 1000
"""Power of the largest scale: sums of the smallest numbers have fewer digits instead of an infinite scale."""
FRACTION_BITS, EXPONENT_MASK, SPECIAL = 52, 2047, 2047
"""Bits of a float's fraction, its exponent, and the exponent of infinities and NaN."""
LOWEST_FIXED, HIGHEST_FIXED = 52, 1074
"""Exponents of the largest of some terms between which they are added up as multiples of two powers of two. For lower
ones the second would be below all floats; for higher ones small terms would be scaled down to less than floats are."""
SCALED = 2097
"""Sum of a float's exponent and that of the power of two by which it is multiplied to be a number of 52 bits."""
INFINITE_DIGIT = 66
"""First digit that is beyond the largest float."""
LOWEST_POWER = -1074
"""Power of two that 1 of the first digit stands for."""
SIGN, SIGN_BIT = np.int64(-(2**63)), np.uint64(1 << 63)
SHORT = 4096
"""Terms up to which `math.fsum` adds up: 15 ns a term, where a kernel takes 0.4 but a second of compiling."""


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
    n_threads = threads_for(n_threads, len(given))  # a value takes as long as a cell of a histogram
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
    """Return sums as floats, to nearest, ties to even, from int64[n, DIGITS]; beyond the largest float, infinity."""
    sums = np.empty(len(digits), SCORE)
    _round_sums(digits.copy(), sums)
    found: list[float] = sums.tolist()
    return found


@compiled
def _round_sums(digits: Array, sums_out: Array) -> None:
    """Round several sums; their digits are overwritten."""
    for i in range(len(digits)):
        carry_over(digits[i])
        sums_out[i] = _nearest(digits[i])


def fixed_scale(largest: float, n_terms: int) -> float:
    """Return a power of two by which so many terms of such a size may be multiplied, to add them up in 62 bits."""
    power = 62 - max(n_terms, 1).bit_length() - int(np.frexp(largest)[1])
    return float(2.0 ** min(power, LARGEST_SCALE_POWER))


@compiled
def largest_size(values: Array) -> float:
    """Return ``np.abs(values).max(initial=0.0)`` of finite floats."""
    return float(np.int64(_largest_bits(values.view(np.int64))).view(np.float64))


@linked_part
def _largest_bits(bits: Array) -> np.int64:
    """Return the bits of the largest size of some floats, which are in the order of their sizes."""
    largest = np.int64(0)
    for i in range(len(bits)):
        largest = max(largest, bits[i] & ~SIGN)
    return largest


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
    sign = bits >> 63
    exponent, fraction = (bits >> FRACTION_BITS) & EXPONENT_MASK, bits & ((np.int64(1) << FRACTION_BITS) - 1)
    normal = np.int64(exponent > 0)
    fraction |= normal << FRACTION_BITS
    place = exponent - normal
    first, shift = INDEX(place >> 5), place & 31
    digits_out[first] += (((fraction << shift) & LOW) ^ sign) - sign
    digits_out[first + INDEX(1)] += ((fraction >> (DIGIT_BITS - shift)) ^ sign) - sign
    return bool(exponent != SPECIAL)


@compiled
def _add_values(values: Array, digits_out: Array) -> bool:
    """Add values to the digits of a sum; False where one is not finite."""
    finite = True
    for start in range(0, len(values), TERMS_PER_CARRY):
        finite &= _add_terms(values[start : start + TERMS_PER_CARRY], digits_out)
    return finite


@linked_part
def sum_rows(values: Array, rows: Array, rounds: bool, terms: Array, digits_out: Array) -> float:
    """Write the digits of ``values[rows].sum()``, of finite floats; return it rounded, if asked for, without digits.

    `terms` is scratch for `TERMS_PER_CARRY` floats.
    """
    digits_out[:] = 0
    last = INDEX(max(len(rows) - 1, 0))
    for start in range(0, len(rows), TERMS_PER_CARRY):
        count = min(len(rows) - start, TERMS_PER_CARRY)
        for i in range(count):
            place = INDEX(start) + INDEX(i)
            prefetch(values, INDEX(rows[min(place + INDEX(TERMS_AHEAD), last)]))
            terms[i] = values[rows[place]]
        _add_terms(terms[:count], digits_out)
    return _nearest(digits_out) if rounds else np.nan


@linked_part
def _add_terms(terms: Array, digits_out: Array) -> bool:
    """Add at most `TERMS_PER_CARRY` floats to the digits of a sum; False where one is not finite.

    1. As multiples of 2⁻⁵² and 2⁻¹⁰⁴ of a power of two above the largest: two sums of integers of 52 bits.
    2. One by one, where the largest is beyond what may be multiplied so, or a term has smaller bits.
    """
    bits, finite = terms.view(np.int64), True
    place = _largest_bits(bits) >> FRACTION_BITS
    in_reach = LOWEST_FIXED <= place <= HIGHEST_FIXED
    scale = np.int64((SCALED - place if in_reach else 0) << FRACTION_BITS).view(np.float64)
    high, low, n_left = np.int64(0), np.int64(0), np.int64(0)
    for i in range(len(terms) if in_reach else 0):  # 1
        term = terms[i] * scale
        whole = np.int64(term)
        term = (term - whole) * 2.0**FRACTION_BITS
        part = np.int64(term)
        high, low, n_left = high + whole, low + part, n_left + (term != part)
    if in_reach and n_left == 0:
        _add_integer(high, place, digits_out)
        _add_integer(low, place - FRACTION_BITS, digits_out)
    else:
        for i in range(len(bits)):  # 2
            finite &= add_exactly(bits[i], digits_out)
    carry_over(digits_out)
    return finite


@linked_part
def _add_integer(number: Int, place: Int, digits_out: Array) -> None:
    """Add ``number * 2**place`` smallest floats to the digits of a sum."""
    first, shift = place >> 5, place & 31
    lower, upper = (number & LOW) << shift, (number >> DIGIT_BITS) << shift
    digits_out[first] += lower & LOW
    digits_out[first + 1] += (lower >> DIGIT_BITS) + (upper & LOW)
    digits_out[first + 2] += upper >> DIGIT_BITS


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
def _nearest(digits: Array) -> float:
    """Return the float nearest to a sum, ties to even; beyond the largest float, infinity.

    Digits must have been carried over, and are overwritten.

    1. The highest digit has the sign of the sum, which is turned if negative.
    2. Borrow, so that no digit is negative.
    3. Take 64 bits from the highest on, and round to 53; of those below, only whether any is set matters.
    """
    top, borrowed, below = DIGITS - 1, np.int64(0), np.int64(0)
    while top > 0 and digits[top] == 0:  # 1
        top -= 1
    sign = np.int64(-1 if digits[top] < 0 else 1)
    if top >= INFINITE_DIGIT:
        return float(sign * np.inf)
    for place in range(top + 1):  # 2
        digit = sign * digits[place] + borrowed
        borrowed, digits[place] = digit >> DIGIT_BITS, digit & LOW
    while top > 0 and digits[top] == 0:
        top -= 1
    for place in range(top - 2):
        below |= digits[place]
    next_, after = digits[top - 1] if top > 0 else np.int64(0), digits[top - 2] if top > 1 else np.int64(0)  # 3
    bits, power = (np.uint64(digits[top]) << np.uint64(DIGIT_BITS)) | np.uint64(next_), DIGIT_BITS * (top - 1)
    while bits > 0 and bits < SIGN_BIT:
        bits = (bits << np.uint64(1)) | np.uint64(after >> (DIGIT_BITS - 1))
        after, power = (after << 1) & LOW, power - 1
    dropped, kept = np.int64(bits & np.uint64(2047)), np.int64(bits >> np.uint64(11))
    kept += dropped > 1024 or (dropped == 1024 and (after | below > 0 or kept % 2 == 1))
    return float(np.ldexp(np.float64(sign * kept), power + 11 + LOWEST_POWER))
