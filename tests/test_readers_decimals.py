"""Numbers from bytes: every bit as `float` has it."""

import math
import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from podium.readers.decimals import python_float, python_integer, read_decimal
from podium.readers.spans import parse_integers
from profiles import examples
from reference import readers as twin

pytestmark = pytest.mark.plain

digits = st.text("0123456789", min_size=0, max_size=25)
decimals = st.builds(
    lambda sign, whole, point, part, exponent: f"{sign}{whole}{point}{part}{exponent}",
    st.sampled_from(["", "-", "+"]),
    digits,
    st.sampled_from(["", "."]),
    digits,
    st.one_of(st.just(""), st.integers(-345, 345).map("e{}".format), st.integers(0, 30).map("E+{}".format)),
)


def read(token):
    with np.errstate(over="ignore"):
        value, stop, exact = read_decimal(np.frombuffer(token + b" ", np.uint8), 0)
    assert stop == len(token)
    return value, exact


def bits(value):
    return struct.pack("d", value)


@examples(400)
@given(st.one_of(decimals, st.floats(allow_nan=False, allow_infinity=False).map(repr)))
@example("0.1")
@example("-0.0")
@example("9007199254740993")
@example("9007199254740993e22")
@example("1e23")
@example("8.98846567431158e307")
@example("2.2250738585072014e-308")
@example("0.000000000000000000000000012345678901234567")
@example("18446744073709551615")
@example("18446744073709551616")
@example("1e")
@example("1e+")
@example(".")
@example("0e400")
def test_a_token_read_as_exact_has_the_bits_of_float(text):
    token = text.encode()
    value, exact = read(token)
    if exact:
        assert bits(value) == bits(twin.number(token))


@pytest.mark.parametrize("exponent", range(-30, 31))
def test_half_way_between_two_doubles_goes_to_the_even_one(exponent):
    rng = np.random.default_rng(exponent + 100)
    for odd in (2 * rng.integers(2**52, 2**53, 20) + 1).tolist():
        token = str(odd * 2**exponent) if exponent >= 0 else f"{odd * 5**-exponent}e{exponent}"
        value, exact = read(token.encode())
        assert not exact or bits(value) == bits(float(token))


@pytest.mark.parametrize("odd", [3, 5, 1001, 2**40 + 1, 2**51 + 3])
def test_next_to_half_way_between_two_subnormal_numbers_is_rounded_once(odd):
    digits = str(odd * 5**1075)  # of odd / 2^1075, which lies between two multiples of 2^-1074
    exponent = len(digits) - 1075 - 19
    for mantissa in (int(digits[:19]), int(digits[:19]) + 1):  # just below, and just above
        value, exact = read(f"{mantissa}e{exponent}".encode())
        assert not exact or bits(value) == bits(float(f"{mantissa}e{exponent}"))


def test_usual_numbers_need_no_help_from_python():
    values = np.random.default_rng(0).random(500) * 10.0 ** np.arange(-250, 250)
    tokens = [repr(value) for value in values.tolist()] + ["0", "1.000000", "-3", "+4.5", "12345678901234567"]
    assert all(read(token.encode())[1] for token in tokens)


@pytest.mark.parametrize("token", [b"nan", b"inf", b"1_0", b"1.5x", b"1:2", b"--1", b"", b"1.2.3", b"0x1", b"e5"])
def test_what_is_no_plain_decimal_is_left_to_python(token):
    assert not read(token)[1]


def test_python_reads_nan_and_inf_but_no_underscores():
    assert math.isnan(python_float(b"NaN"))
    assert python_float(b"-Infinity") == -math.inf
    assert python_float(b"1_0") is None
    assert python_float(b"one") is None


@given(st.one_of(st.integers(-(10**19), 10**19).map(str), st.from_regex(r"[+-]?[0-9]{0,3}x?", fullmatch=True)))
@example("9223372036854775807")
@example("9223372036854775808")
@example("-9223372036854775808")
@example("+-1")
def test_integers_are_those_that_python_writes_back(text):
    token = text.encode()
    start, stop = np.zeros(1, np.int64), np.array([len(token)])
    values, bad = parse_integers(token + b" ", start, stop)
    kept = twin.ids([text])
    assert [None if bad[0] else values[0]] == [kept[0] if isinstance(kept[0], int) else None]
    whole = python_integer(token)
    assert bad[0] or whole == values[0]
    assert whole is None or whole == int(text)
