"""Decimal numbers from bytes: the value of ``float(token)``, to the last bit, without the interpreter.

Up to 19 digits w and an exponent q give w · 10^q. Where w ≤ 2^53 and |q| ≤ 22 both are exact doubles and one
rounded operation gives the answer (Clinger, How to read floating point numbers accurately, 1990). Else the
product of w with the first 128 bits of 5^q decides it (Lemire, Number parsing at a gigabyte per second, 2021,
algorithm 1). What is left (more digits, extreme exponents, nan, inf, and what is no number at all) is
answered by Python itself.

Kernels take bytes by unsigned places: by signed ones they would ask of each whether it counts from the end, a tenth of
the time.
"""

from __future__ import annotations

import math

import numpy as np

from podium._compiled import INDEX, compiled, compiled_part

_PLUS, _MINUS, _POINT, _LOWER_E = 43, 45, 46, 101
_MOST_DIGITS = 19  # 10^19 - 1 < 2^64
_EXACT_INTEGER = np.uint64(2**53)
_EXACT_TENS = 22  # 10^22 is the largest power of ten that is a double
# Within these 10^q ≤ w · 10^q < 10^(q + 20) is a normal double: no rule for subnormals or overflow is needed.
_LOWEST_POWER, _HIGHEST_POWER = -300, 288
_LOW_HALF = np.uint64(2**32 - 1)
_HALF = np.uint64(32)
_FULL = np.uint64(2**64 - 1)
_ONE = np.uint64(1)
_TEN = np.uint64(10)


def _power_of_five(q: int) -> int:
    """First 128 bits of 5^q, cut off; rounded up where -27 ≤ q < 0 (Lemire 2021, section 5)."""
    power: int = 5 ** abs(q)
    if q >= 0:
        return power << 128 >> power.bit_length()
    # Down to -27 the inverse's 128 bits rounded up tell half-way cases apart; below there are none.
    return (1 << (power.bit_length() + 127)) // power + (q >= -27)


# Constants of the kernels rather than arguments: an array that is passed on to the reading of each number is
# counted in and out again, which took a third of the time.
_TENS = np.array([float(10**i) for i in range(_EXACT_TENS + 1)])
_FIVES = [_power_of_five(q) for q in range(_LOWEST_POWER, _HIGHEST_POWER + 1)]
_HIGH = np.array([power >> 64 for power in _FIVES], np.uint64)
_LOW = np.array([power & (2**64 - 1) for power in _FIVES], np.uint64)


def python_float(token: bytes) -> float | None:
    """Give ``float(token)``, or None where `token` is no number; underscores are Python's, not a file's."""
    if b"_" in token:
        return None
    try:
        return float(token)
    except ValueError:
        return None


def python_integer(token: bytes) -> int | None:
    """Give ``int(token)``, or None where `token` is no integer of 64 bits."""
    if not token.lstrip(b"+-").isdigit() or len(token) > 20:
        return None
    try:
        value = int(token)
    except ValueError:
        return None
    return value if -(2**63) <= value < 2**63 else None


@compiled_part
def is_digit(byte: int) -> bool:
    """``chr(byte) in "0123456789"``."""
    return 48 <= byte <= 57


@compiled_part
def ends_token(byte: int) -> bool:
    r"""``chr(byte) in " \t\n\v\f\r#"``: blanks, and the start of a comment."""
    return byte == 32 or 9 <= byte <= 13 or byte == 35


@compiled
def token_end(text: np.ndarray, at: int) -> int:
    r"""``at + len(re.match(rb"[^ \t\n\v\f\r#]*", text[at:])[0])``."""
    while not ends_token(text[INDEX(at)]):
        at += 1
    return at


@compiled
def read_decimal(text: np.ndarray, at: int) -> tuple[float, int, bool]:
    """``float(token), end of token, True`` for the token at `at`; False where Python must read it.

    A token ends at a blank or ``#``, of which one must follow in `text`.
    """
    start = at
    if text[INDEX(at)] == _MINUS or text[INDEX(at)] == _PLUS:
        at += 1
    digits_start = at
    mantissa, at = read_digits(text, at, np.uint64(0))
    n_digits = at - digits_start
    exponent = 0
    if text[INDEX(at)] == _POINT:
        mantissa, after = read_digits(text, at + 1, mantissa)
        exponent = at + 1 - after
        n_digits -= exponent
        at = after
    if text[INDEX(at)] | 32 == _LOWER_E:
        shift, at = read_exponent(text, at + 1)
        exponent += shift
    if n_digits > _MOST_DIGITS:
        n_digits -= count_leading_zeros(text, digits_start)
    if n_digits < 1 or n_digits > _MOST_DIGITS or not ends_token(text[INDEX(at)]):
        return 0.0, token_end(text, start), False
    value, exact = scale(mantissa, exponent)
    return (-value if text[INDEX(start)] == _MINUS else value), at, exact


@compiled_part
def read_digits(text: np.ndarray, at: int, mantissa: np.uint64) -> tuple[np.uint64, int]:
    """``int(str(mantissa) + digits) % 2**64, end of digits``."""
    while is_digit(text[INDEX(at)]):
        mantissa = mantissa * _TEN + np.uint64(text[INDEX(at)] - 48)
        at += 1
    return mantissa, at


@compiled_part
def read_exponent(text: np.ndarray, at: int) -> tuple[int, int]:
    """``int(digits), end of digits``; where there are none or too many, the end is before the last.

    An end that stands on the sign, the ``e`` or a digit is no end of a token, so that Python is asked.
    """
    negative = text[INDEX(at)] == _MINUS
    if negative or text[INDEX(at)] == _PLUS:
        at += 1
    start = at
    value = np.int64(0)
    while is_digit(text[INDEX(at)]) and at - start < 5:
        value = value * 10 + np.int64(text[INDEX(at)] - 48)
        at += 1
    return int(-value if negative else value), (at if at > start else start - 1)


@compiled_part
def count_leading_zeros(text: np.ndarray, at: int) -> int:
    """``len(re.match(rb"[0.]*", text[at:])[0].replace(b".", b""))``."""
    zeros = 0
    while text[INDEX(at)] == 48 or text[INDEX(at)] == _POINT:
        zeros += text[INDEX(at)] == 48
        at += 1
    return zeros


@compiled
def scale(mantissa: np.uint64, exponent: int) -> tuple[float, bool]:
    """``float(f"{mantissa}e{exponent}"), True``, or False where the tables do not decide it."""
    if mantissa <= _EXACT_INTEGER and -_EXACT_TENS <= exponent <= _EXACT_TENS:
        if exponent < 0:
            return np.float64(mantissa) / _TENS[-exponent], True
        return np.float64(mantissa) * _TENS[exponent], True
    if mantissa == np.uint64(0):
        return 0.0, True
    if exponent < _LOWEST_POWER or exponent > _HIGHEST_POWER:
        return 0.0, False
    value, exact = scale_wide(mantissa, exponent)
    return value, exact


@compiled_part
def scale_wide(mantissa: np.uint64, exponent: int) -> tuple[float, bool]:
    """``float(f"{mantissa}e{exponent}")`` by Lemire's algorithm 1, for a mantissa above 0."""
    shift = leading_zero_bits(mantissa)
    w = mantissa << np.uint64(shift)
    # 1. The product's upper 128 bits; the second half of the power counts only where the first leaves doubt.
    high, low = multiply(w, _HIGH[exponent - _LOWEST_POWER])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        more, _ = multiply(w, _LOW[exponent - _LOWEST_POWER])
        carry = more > _FULL - low
        low = more - (_FULL - low) - _ONE if carry else low + more
        high += _ONE if carry else np.uint64(0)
    if low == _FULL and (exponent < -27 or exponent > 55):
        return 0.0, False
    # 2. 54 bits of it: a double's 53 and one to round by.
    upper = np.int64(high >> np.uint64(63))
    bits = high >> np.uint64(upper + 9)
    # 3. Half-way cases go to the even neighbour.
    halfway = low <= _ONE and -4 <= exponent <= 23 and bits & np.uint64(3) == _ONE
    if halfway and bits << np.uint64(upper + 9) == high:
        bits -= _ONE
    bits = (bits + (bits & _ONE)) >> _ONE
    # 4. floor(log2(10^q)) = (217706 q) >> 16 for every q of the tables (Lemire 2021); 11 = 63 - 52.
    power = ((217706 * exponent) >> 16) + upper - shift + 11
    return math.ldexp(np.float64(bits), int(power)), True


@compiled_part
def leading_zero_bits(value: np.uint64) -> int:
    """``64 - value.bit_length()`` for a value above 0."""
    zeros = 0
    for step in (32, 16, 8, 4, 2, 1):
        if value >> np.uint64(64 - step) == np.uint64(0):
            value = value << np.uint64(step)
            zeros += step
    return zeros


@compiled_part
def multiply(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """``divmod(int(a) * int(b), 2**64)``, by halves: no machine type holds 128 bits."""
    a_high, a_low, b_high, b_low = a >> _HALF, a & _LOW_HALF, b >> _HALF, b & _LOW_HALF
    bottom = a_low * b_low
    middle = a_high * b_low + (bottom >> _HALF)
    other = a_low * b_high + (middle & _LOW_HALF)
    return a_high * b_high + (middle >> _HALF) + (other >> _HALF), (other << _HALF) | (bottom & _LOW_HALF)
