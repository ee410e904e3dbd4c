"""Exact sums against `math.fsum`, in any order and any parts; and what parts tell one another."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts import run_parts
from podium import PodiumError, _exact
from podium._exact import DIGITS, digits_of, exact_sum, fixed_scale, fixed_sums, rounded
from podium._exchange import ALONE
from profiles import examples

pytestmark = [pytest.mark.plain, pytest.mark.filterwarnings("ignore:overflow encountered")]

finite = st.floats(allow_nan=False, allow_infinity=False)
halves = st.builds(lambda whole, power: whole * 2.0**power, st.integers(-3, 3), st.integers(-60, 60))


@pytest.fixture(params=["short", "long"], autouse=True, scope="module")
def length(request):
    """Take short sums the way of long ones too."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "long":
            patch.setattr(_exact, "SHORT", -1)
        yield request.param


def fsum(values):
    try:
        return math.fsum(values)
    except OverflowError:
        return None


@examples(300, plain=40)
@given(st.lists(st.one_of(finite, halves, st.floats(-1, 1)), max_size=20), st.randoms(use_true_random=False))
def test_sums_are_those_of_fsum_in_any_order(values, random):
    expected = fsum(values)
    random.shuffle(values)
    if expected is not None:
        assert exact_sum(np.array(values)) == expected
        doubled = [*values, *(-one for one in values)]
        assert exact_sum(np.array(doubled)) == 0.0


@examples(60, plain=10)
@given(st.integers(0, 10_000), st.integers(1, 7))
def test_digits_of_parts_add_up_to_those_of_the_whole(seed, n_parts):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=50) * 2.0 ** rng.integers(-300, 300, 50)
    parts = rng.integers(0, n_parts, 50)
    digits = np.sum([digits_of(values[parts == part]) for part in range(n_parts)], axis=0)
    assert rounded(digits[None]) == [math.fsum(values)]


@pytest.mark.parametrize("n", [1023, 1024, 1025, 5000])
def test_many_terms_are_carried_over_in_time(n):
    values = np.full(n, np.nextafter(4.0, 0.0))  # whose upper digit is as large as one can be
    assert exact_sum(values) == math.fsum(values)
    assert exact_sum(-values, n_threads=3) == -math.fsum(values)


@pytest.mark.parametrize(
    "values",
    [[], [0.0, -0.0], [5e-324], [-5e-324, 5e-324, 5e-324], [2.0**53, 1.0], [2.0**53, 1.0, 2.0**-1000], [2.0**53, 3.0]],
)
def test_rounding_is_to_nearest_and_ties_to_even(values):
    assert exact_sum(np.array(values)) == math.fsum(values)


def test_any_bit_below_breaks_a_tie():
    for power in range(-140, 0):
        values = np.array([2.0**53, 1.0, 2.0**power])
        assert exact_sum(values) == math.fsum(values) == 2.0**53 + 2


@pytest.mark.parametrize("largest", [2.0**-1022, 2.0**-971, 2.0**-970, 1.0, 2.0**51, 2.0**52, 2.0**1000])
def test_terms_of_every_size_beside_a_largest_one_are_added(largest):
    rng = np.random.default_rng(4)
    for power in (0, -40, -51, -52, -53, -104, -105, -600):
        small = -largest * (1.0 + rng.random(1100)) * 2.0**power
        for values in (np.append(largest, small), np.concatenate([[largest, 5e-324], small[:9], [-largest]])):
            assert exact_sum(values) == math.fsum(values)
            assert exact_sum(np.append(-values, 3 * largest)) == math.fsum([*-values, 3 * largest])


def test_the_smallest_float_is_left_where_large_ones_cancel_out():
    for largest in (1e290, 1e20, 1.0, 1e-290):
        assert exact_sum(np.array([largest, 5e-324, -largest])) == 5e-324


def test_a_sum_beyond_all_floats_is_infinite_and_what_is_not_finite_is_refused():
    assert exact_sum(np.array([1.7e308, 1.7e308])) == math.inf
    assert exact_sum(np.array([1.7e308, 1.7e308, -1.7e308])) == 1.7e308
    for wrong in (math.inf, -math.inf, math.nan):
        with pytest.raises(PodiumError, match="finite"):
            exact_sum(np.array([1.0, wrong]))


def test_digits_of_any_size_and_sign_mean_their_sum():
    digits = np.zeros(DIGITS, np.int64)
    digits[30], digits[31], digits[33], digits[35] = 2**62, -5, -(2**62), 7
    exact = sum(int(digit) << (32 * place) for place, digit in enumerate(digits))
    assert rounded(digits[None]) == [exact / 2**1074]
    assert rounded(-digits[None]) == [-exact / 2**1074]
    digits[-1] = 2**62
    assert rounded(np.array([digits, -digits])) == [math.inf, -math.inf]


@pytest.mark.parametrize("place", [29, 0])
def test_digits_that_no_float_holds_are_not_rounded_by_themselves(place):
    digits = np.zeros(DIGITS, np.int64)
    digits[30], digits[place] = 2**54 + 2, 1  # half-way between two floats, and a little more
    assert rounded(digits[None]) == [math.ldexp(2**54 + 4, 32 * 30 - 1074)]


def test_naive_sums_differ_by_their_parts_where_exact_ones_do_not():
    rng = np.random.default_rng(0)
    naive, exact = set(), set()
    for _ in range(20):
        values = (rng.permutation(1000) + 0.5) * 0.1
        cut = int(rng.integers(1, 999))
        naive.add(float(values[:cut].sum()) + float(values[cut:].sum()))
        exact.update(rounded((digits_of(values[:cut]) + digits_of(values[cut:]))[None]))
    assert len(exact) == 1 < len(naive)


@pytest.mark.parametrize("size", [1e-300, 1e-3, 1.0, 1e99])
def test_fixed_sums_are_near_and_fit_into_62_bits(size):
    values = np.random.default_rng(1).normal(size=300) * size
    largest = float(np.abs(values).max())
    scale = fixed_scale(largest, 300)
    (total,) = fixed_sums([values], [scale])
    assert 0 < total < 2**62
    assert total / scale == pytest.approx(np.abs(values).sum(), rel=1e-9 if size > 1e-200 else 1)


@pytest.mark.parametrize("n_parts", [1, 2, 5])
def test_parts_tell_one_another_what_one_part_alone_would_know(n_parts):
    rng = np.random.default_rng(n_parts)
    values, keys = rng.normal(size=200) / 3, rng.integers(0, 2**64, 200, np.uint64)
    keys[:50] >>= np.uint64(40)  # many in one coarse count
    owner = rng.integers(0, n_parts, 200) if n_parts > 1 else np.zeros(200, int)

    def tell(rows, exchange):
        smallest = [exchange.smallest(keys[rows], number) for number in (1, 7, 50, 51, 200)]
        sums = exchange.sizes([values[rows], values[rows] ** 2], 200)
        return exchange.count(len(rows)), exchange.total(values[rows]), smallest, sums.tolist()

    expected = tell(np.arange(200), ALONE)
    assert expected[:2] == (200, math.fsum(values))
    assert expected[2] == np.sort(keys)[[0, 6, 49, 50, 199]].tolist()
    for found in run_parts(tell, [np.flatnonzero(owner == part) for part in range(n_parts)]):
        assert found == expected


def test_rows_of_parts_come_by_rank_whatever_their_number():
    parts = [np.arange(3.0), np.empty(0), np.array([7.0])]
    for found in run_parts(lambda own, exchange: exchange.gather_rows(own), parts):
        np.testing.assert_array_equal(found, [0.0, 1.0, 2.0, 7.0])
