"""The exact blend of two rankers against a fine grid."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium._compiled import JIT_DISABLED
from podium.blending import blend, crossings
from podium.measures import measure_queries


def table(seed, n_queries=4, size=6):
    rng = np.random.default_rng(seed)
    n = n_queries * size
    return (
        rng.normal(size=n),
        rng.normal(size=n),
        rng.integers(0, 3, n).astype(float),
        np.repeat(np.arange(n_queries), size),
    )


@pytest.mark.plain
@settings(max_examples=3 if JIT_DISABLED else 25, deadline=None)
@given(seed=st.integers(0, 10_000), measure=st.sampled_from(["ndcg@3", "map", "pair_loss"]))
def test_no_alpha_of_a_fine_grid_is_better(seed, measure):
    one, two, y, qid = table(seed)
    found = blend(one, two, y, qid=qid, measure=measure)
    offsets = np.arange(0, 25, 6)
    sign = -1 if measure == "pair_loss" else 1

    def value(alpha):
        return measure_queries(measure, y, alpha * one + (1 - alpha) * two, offsets).mean

    assert value(found.alpha) == pytest.approx(found.value)
    assert sign * found.value >= max(sign * value(alpha) for alpha in np.linspace(0, 1, 60)) - 1e-12


@pytest.mark.plain
def test_orders_change_at_crossings_alone():
    one, two, _, _ = table(1, 1, 7)
    edges = np.concatenate([[0], crossings(one, two), [1]])
    orders = [np.argsort(a * one + (1 - a) * two).tolist() for a in (edges[1:] + edges[:-1]) / 2]
    assert all(before != after for before, after in pairwise(orders))
    for low, high, order in zip(edges, edges[1:], orders, strict=False):
        for a in np.linspace(low, high, 7)[1:-1]:
            assert np.argsort(a * one + (1 - a) * two).tolist() == order


@pytest.mark.plain
def test_row_order_changes_nothing_and_one_good_ranker_wins():
    one, two, y, qid = table(2)
    shuffled = np.random.default_rng(0).permutation(len(y))
    here = blend(one, two, y, qid=qid)
    there = blend(one[shuffled], two[shuffled], y[shuffled], qid=qid[shuffled])
    assert here.alpha == there.alpha
    perfect = blend(y, -y, y, qid=qid)
    assert perfect.value == 1.0
    assert perfect.alpha > 0.5
