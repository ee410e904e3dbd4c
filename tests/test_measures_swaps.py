"""Swap deltas against measuring again after the swap, for all pairs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium._compiled import SCORE
from podium.measures import measure_queries
from podium.measures.conventions import Rules
from podium.measures.graded import custom_gains
from podium.measures.order_swaps import ORDER_SWAPS
from podium.measures.swaps import STATE_ROWS, SWAPS, place_units
from podium.measures.ties import ranked
from profiles import examples
from reference import measures as twin


def pairs_in_order(labels, k):
    """Share of pairs in order."""
    return 1.0 - twin.misordered(labels) / twin.comparable(labels) if twin.comparable(labels) else 0.0


def top_in_order(labels, k):
    """The localized loss, turned round."""
    return -twin.localized_loss(labels, len(labels) if k is None else k)


TWINS = {
    "ndcg": twin.ndcg,
    "map": twin.average_precision,
    "mrr": twin.reciprocal_rank,
    "err": twin.err,
    "auc": pairs_in_order,
    "localized": top_in_order,
}
ALL_SWAPS = {**SWAPS, **ORDER_SWAPS}


def swap_deltas(name, labels, k=None, gain="exp2", relevant=None, max_grade=None):
    """What the kernels say: ``[i, j]`` is the change of a measure if the rows at places i and j change places."""
    labels = np.asarray(labels, SCORE)
    n, swap = len(labels), ALL_SWAPS[name]
    if not (isinstance(gain, str) or name != "ndcg"):
        labels, gain = custom_gains(labels, gain), "linear"
    places = ranked(labels, -np.arange(n, dtype=SCORE), np.array([0, n]), "stable")
    values = swap.row_values(places, Rules(gain=gain, relevant=relevant, max_grade=max_grade)).values
    units = place_units(n, k, swap.logarithmic)
    state, deltas = np.zeros((STATE_ROWS, n + 1)), np.zeros((n, n))
    scale = swap.fill_state(n, values, units, n if k is None else k, state)
    swap.fill_rows(n, 0, n - 1, values, units, state, scale, deltas)
    return deltas + deltas.T


def deltas_by_measuring_again(measure, labels, k):
    n = len(labels)
    deltas = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            swapped = list(labels)
            swapped[i], swapped[j] = labels[j], labels[i]
            deltas[i, j] = measure(swapped, k) - measure(labels, k)
    return np.nan_to_num(deltas)


@pytest.mark.plain
@pytest.mark.parametrize("k", [None, 1, 3, 4, 9])
def test_each_place_has_its_unit_and_places_after_the_cut_have_none(k):
    paid = np.arange(4) < (4 if k is None else k)
    np.testing.assert_allclose(place_units(4, k, False), paid / [1, 2, 3, 4], rtol=1e-15)
    np.testing.assert_allclose(place_units(4, k, True), paid / np.log2([2, 3, 4, 5]), rtol=1e-15)


@pytest.mark.plain
@pytest.mark.parametrize("name", TWINS)
@examples(150, plain=20)
@given(
    labels=st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, 0.5, -2.0]), min_size=1, max_size=8),
    k=st.sampled_from([None, 1, 3, 20]),
)
def test_swap_deltas_equal_measuring_again(name, labels, k):
    more = {"max_grade": 3.0} if name == "err" else {}
    expected = deltas_by_measuring_again(TWINS[name], labels, k)
    np.testing.assert_allclose(swap_deltas(name, labels, k, **more), expected, atol=1e-13)


@pytest.mark.plain
def test_err_deltas_hold_where_a_row_stops_every_user():
    labels = [1.0, 60.0, 0.0, 60.0, 2.0]  # (2^60 - 1)/2^60 rounds to 1: T = 0

    def measure(order, k):
        return twin.err(order, k, max_grade=60.0)

    expected = deltas_by_measuring_again(measure, labels, None)
    assert math.isclose(measure(labels, None), 0.5, rel_tol=1e-12)
    np.testing.assert_allclose(swap_deltas("err", labels), expected, atol=1e-13)


@pytest.mark.plain
def test_ndcg_deltas_follow_the_gain():
    labels = np.array([0.0, 2.0, 1.0, 0.0])
    gains = {0.0: 0.0, 1.0: 5.0, 2.0: 7.0}
    swapped = labels[[1, 0, 2, 3]]
    before, after = (
        measure_queries("ndcg", order, -np.arange(4.0), np.array([0, 4]), gain=gains).values[0]
        for order in (labels, swapped)
    )
    assert math.isclose(swap_deltas("ndcg", labels, gain=gains)[0, 1], after - before, rel_tol=1e-12)
