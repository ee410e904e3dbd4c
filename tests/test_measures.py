"""Every measure against its plain twin, and a list of laws for all of them."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom, kendalltau

from podium.measures import DEFINITIONS, available, measure_many, measure_queries, parse_measure, ranked
from profiles import examples
from reference import measures as twin

KS = {"no": (None,), "may": (None, 2, 9), "must": (2, 9)}
EXAMPLES = examples(80, plain=15)


def names_of(base):
    return [base if k is None else f"{base}@{k}" for k in KS[DEFINITIONS[base].takes_k]]


WITH_TWIN = [name for base in twin.PLAIN for name in names_of(base)]
ALL = [name for base in DEFINITIONS for name in names_of(base)]


def split(name):
    base, _, k = name.partition("@")
    return base, int(k) if k else None


def options(names):
    return {"max_grade": 3.0} if any(name.startswith("err") for name in names) else {}


def one_query(names, labels, scores, **more):
    offsets = np.array([0, len(labels)])
    values = measure_many(names, np.array(labels), np.array(scores), offsets, **options(names), **more)
    return {name: float(values[name].values[0]) for name in names}


def same(value, expected):
    if math.isnan(expected):
        return math.isnan(value)
    return math.isclose(value, expected, rel_tol=1e-12, abs_tol=1e-12)


@st.composite
def queries(draw, max_rows=6):
    n = draw(st.integers(1, max_rows))
    label = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0])
    labels = draw(st.lists(label, min_size=n, max_size=n))
    scores = draw(st.lists(st.sampled_from([-1.0, 0.0, -0.0, 0.25]), min_size=n, max_size=n))
    return labels, scores


@pytest.mark.plain
@EXAMPLES
@given(queries())
def test_expected_is_the_mean_over_all_tie_orders(query):
    labels, scores = query
    values = one_query(WITH_TWIN, labels, scores)
    lists = list(twin.orders(labels, scores))
    for name in WITH_TWIN:
        base, k = split(name)
        mean = math.fsum(twin.PLAIN[base](order, k) for order in lists) / len(lists)
        assert same(values[name], mean), name


@pytest.mark.plain
@pytest.mark.parametrize("scores", [[0.0] * 7, [1.0] + [0.0] * 6, [2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]])
def test_expected_is_the_mean_over_all_tie_orders_of_seven_rows(scores):
    labels = [0.0, 2.0, 1.0, 0.0, 3.0, 1.0, 0.0]
    values = one_query(WITH_TWIN, labels, scores)
    lists = Counter(tuple(order) for order in twin.orders(labels, scores))
    for name in WITH_TWIN:
        base, k = split(name)
        mean = math.fsum(n * twin.PLAIN[base](list(order), k) for order, n in lists.items()) / lists.total()
        assert same(values[name], mean), name


@pytest.mark.plain
@pytest.mark.parametrize("ties", ["stable", "optimistic", "pessimistic"])
@EXAMPLES
@given(query=queries(max_rows=9))
def test_ordering_tie_rules_equal_the_twin_on_the_order_they_make(ties, query):
    labels, scores = query
    values = one_query(WITH_TWIN, labels, scores, ties=ties)
    order = twin.ordered(labels, scores, ties)
    for name in WITH_TWIN:
        base, k = split(name)
        assert same(values[name], twin.PLAIN[base](order, k)), name


@pytest.mark.plain
@EXAMPLES
@given(queries(max_rows=8))
def test_pair_loss_1_counts_ties_as_errors_and_pair_loss_2_as_halves(query):
    labels, scores = query
    pairs = [(i, j) for i, x in enumerate(labels) for j, y in enumerate(labels) if x > y]
    values = one_query(["pair_loss_1", "pair_loss_2"], labels, scores)
    if not pairs:
        assert math.isnan(values["pair_loss_1"])
        return
    wrong = sum(scores[i] < scores[j] for i, j in pairs)
    tied = sum(scores[i] == scores[j] for i, j in pairs)
    assert same(values["pair_loss_1"], (wrong + tied) / len(pairs))
    assert same(values["pair_loss_2"], (wrong + tied / 2) / len(pairs))


@pytest.mark.plain
@EXAMPLES
@given(queries(max_rows=9))
def test_kendall_b_is_scipys_where_scipy_has_a_value(query):
    labels, scores = query
    value = one_query(["kendall_b"], labels, scores)["kendall_b"]
    if len(set(labels)) == 1:
        assert math.isnan(value)
    elif len(set(scores)) == 1:
        assert value == 0.0
    else:
        assert same(value, float(kendalltau(labels, scores).statistic))


@pytest.mark.plain
@EXAMPLES
@given(queries(max_rows=9))
def test_expected_map_is_equation_22(query):
    flags, scores = [float(y > 0) for y in query[0]], query[1]
    value = one_query(["map"], flags, scores)["map"]
    if not any(flags):
        assert math.isnan(value)
    else:
        assert same(value, twin.average_precision_by_eq_22([int(f) for f in flags], scores))


@pytest.mark.plain
@EXAMPLES
@given(query=queries(max_rows=8), sigma=st.sampled_from([0.5, 1.0, 40.0]))
def test_ranknet_is_the_mean_cost_of_the_pairs(query, sigma):
    labels, scores = query
    value = one_query(["ranknet"], labels, scores, sigma=sigma)["ranknet"]
    assert same(value, twin.ranknet(labels, scores, sigma))


@pytest.fixture(scope="module")
def search():
    """Queries of 1 to 40 rows and one of 1,500, five grades, scores with many ties."""
    rng = np.random.default_rng(5)
    sizes = np.r_[rng.integers(1, 40, 60), 1500]
    offsets = np.r_[0, np.cumsum(sizes)]
    labels = rng.choice(5, offsets[-1], p=[0.5, 0.2, 0.15, 0.1, 0.05]).astype(float)
    scores = np.round(labels + 2.0 * rng.normal(size=len(labels)), 1)
    return labels, scores, offsets


def assert_same_bits(left, right, names=ALL):
    for name in names:
        np.testing.assert_array_equal(left[name].values, right[name].values, err_msg=name)
        np.testing.assert_array_equal(left[name].weights, right[name].weights, err_msg=name)


@pytest.mark.parametrize("ties", ["expected", "optimistic", "pessimistic"])
def test_row_order_changes_no_bit(search, ties):
    labels, scores, offsets = search
    rng = np.random.default_rng(0)
    shuffled = np.concatenate([s + rng.permutation(e - s) for s, e in pairwise(offsets)])
    before = measure_many(ALL, labels, scores, offsets, ties=ties)
    assert_same_bits(before, measure_many(ALL, labels[shuffled], scores[shuffled], offsets, ties=ties))


def test_query_order_changes_no_bit(search):
    labels, scores, offsets = search
    queries = np.random.default_rng(1).permutation(len(offsets) - 1)
    rows = np.concatenate([np.arange(offsets[q], offsets[q + 1]) for q in queries])
    moved = np.r_[0, np.cumsum(np.diff(offsets)[queries])]
    before = measure_many(ALL, labels, scores, offsets)
    after = measure_many(ALL, labels[rows], scores[rows], moved)
    for name in ALL:
        np.testing.assert_array_equal(before[name].values[queries], after[name].values, err_msg=name)


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_number_of_threads_changes_no_bit(search, n_jobs):
    assert_same_bits(measure_many(ALL, *search), measure_many(ALL, *search, n_jobs=n_jobs))


def test_several_measures_together_equal_each_alone(search):
    together = measure_many(ALL, *search)
    assert_same_bits(together, {name: measure_queries(name, *search) for name in ALL})


BOUNDS = {
    "dcg": (0, math.inf),
    "ranknet": (0, math.inf),
    "avg_rank": (1, math.inf),
    "kendall": (-1, 1),
    "kendall_b": (-1, 1),
}


@pytest.mark.parametrize("name", ALL)
def test_values_lie_within_bounds(search, name):
    low, high = BOUNDS.get(split(name)[0], (0, 1))
    values = measure_queries(name, *search).values
    assert np.nanmin(values) >= low
    assert np.nanmax(values) <= high


BY_ORDER = [name for name in ALL if DEFINITIONS[split(name)[0]].by_order]


@pytest.mark.parametrize("name", BY_ORDER)
def test_no_ranking_is_better_than_the_perfect_one(search, name):
    labels, scores, offsets = search
    perfect = measure_queries(name, labels, labels, offsets).values
    given = measure_queries(name, labels, scores, offsets).values
    sign = 1 if parse_measure(name).higher_is_better else -1
    assert np.nanmin(sign * (perfect - given)) >= -1e-12


BEST = {
    "ndcg": 1,
    "map": 1,
    "mrr": 1,
    "auc": 1,
    "prot": 1,
    "coverage": 1,
    "kendall_b": 1,
    "iauc": 1,
    "vus": 1,
} | {base: 0 for base in DEFINITIONS if base.endswith(("loss", "norm", "_1", "_2", "disagreement"))}


@pytest.mark.parametrize("name", [name for name in ALL if split(name)[0] in BEST])
def test_perfect_ranking_has_the_best_value(search, name):
    labels, _, offsets = search
    values = measure_queries(name, labels, labels, offsets).values
    np.testing.assert_allclose(values[~np.isnan(values)], BEST[split(name)[0]], atol=1e-12)


# The localized loss may grow when a better row enters the predicted top: worse ones stand above it there.
MONOTONE = [n for n in ALL if DEFINITIONS[split(n)[0]].ties is None and not n.startswith("localized")]


@pytest.mark.parametrize("name", MONOTONE)
def test_expected_lies_between_pessimistic_and_optimistic(search, name):
    sign = 1 if parse_measure(name).higher_is_better else -1
    worst, mean, best = (
        sign * measure_queries(name, *search, ties=ties).values for ties in ("pessimistic", "expected", "optimistic")
    )
    assert np.nanmin(best - mean) >= -1e-12
    assert np.nanmin(mean - worst) >= -1e-12


@pytest.mark.parametrize("name", BY_ORDER)
def test_scores_in_the_same_order_have_the_same_value(search, name):
    labels, scores, offsets = search
    before, after = (measure_queries(name, labels, s, offsets).values for s in (scores, np.arctan(scores)))
    np.testing.assert_array_equal(before, after)


@pytest.mark.plain
@pytest.mark.parametrize("n", [1, 2, 255, 256, 257, 1000])
@pytest.mark.parametrize("decimals", [0, 17])
def test_ranked_is_a_stable_sort(n, decimals):
    rng = np.random.default_rng(n)
    labels, scores = rng.integers(0, 4, n).astype(float), np.round(rng.normal(size=n), decimals)
    for ties, second in (("stable", 0 * labels), ("expected", -labels), ("pessimistic", labels)):
        expected = np.lexsort((np.arange(n), second, -scores))
        np.testing.assert_array_equal(ranked(labels, scores, np.array([0, n]), ties).order, expected)


@pytest.mark.plain
@pytest.mark.parametrize("n", [400, 401, 512, 1024, 3000])
@pytest.mark.parametrize("levels", [2, 7, 10**6])
def test_pair_measures_of_long_queries_equal_scipys_kendall(n, levels):
    rng = np.random.default_rng(n)
    labels, scores = rng.integers(0, levels, n).astype(float), rng.integers(0, n // 3, n).astype(float)
    values = one_query(["kendall", "kendall_b", "hard_loss", "disagreement"], labels, scores)
    tau_b = float(kendalltau(labels, scores).statistic)
    pairs = sum(math.comb(c, 2) for c in np.unique(labels, return_counts=True)[1])
    separated = sum(math.comb(c, 2) for c in np.unique(scores, return_counts=True)[1])
    every = math.comb(n, 2)
    tau = tau_b * math.sqrt((every - pairs) * (every - separated)) / every
    assert same(values["kendall_b"], tau_b)
    assert same(values["kendall"], tau)
    assert same(values["hard_loss"], ((every - pairs) / every - tau) / 2)
    assert same(values["disagreement"], values["hard_loss"] * every / (every - pairs))


@pytest.mark.parametrize("n", [50, 2000])
def test_integrated_auc_of_long_queries_is_the_mean_of_its_aucs(n):
    rng = np.random.default_rng(n)
    labels = np.round(rng.normal(size=n), 1)
    scores = np.round(labels + rng.normal(size=n), 1)
    aucs, weights = [], []
    for y in np.unique(labels)[1:-1]:
        keep = labels != y
        shifted = np.where(labels > y, 1.0, 0.0)[keep]
        aucs.append(one_query(["auc"], shifted, scores[keep])["auc"])
        weights.append(int((~keep).sum()))
    assert same(one_query(["iauc"], labels, scores)["iauc"], float(np.average(aucs, weights=weights)))


@pytest.mark.plain
def test_weak_loss_of_a_large_tied_block_is_a_hypergeometric_mean():
    n, k, places = 2000, 300, 100
    labels = np.repeat([2.0, 1.0, 0.0], [k - places, 800, n - k + places - 800])
    found = hypergeom(n, 800, k)
    t = np.arange(k + 1)
    expected = k - k * (k - places) / n - (found.pmf(t) * np.minimum(t, places)).sum()
    value = one_query([f"weak_loss_norm@{k}"], labels, np.zeros(n))[f"weak_loss_norm@{k}"]
    assert math.isclose(value, expected / k, rel_tol=1e-9)


def test_expected_err_of_a_large_tied_block_is_the_mean_of_many_draws():
    rng = np.random.default_rng(0)
    labels = rng.choice(4, 3000, p=[0.6, 0.2, 0.1, 0.1]).astype(float)
    exact = one_query(["err"], labels, np.zeros(3000))["err"]
    draws = [one_query(["err"], labels, rng.permutation(3000).astype(float))["err"] for _ in range(400)]
    assert abs(exact - np.mean(draws)) < 5 * np.std(draws) / math.sqrt(len(draws))


def test_every_measure_is_listed_with_a_line_on_it():
    assert len(available()) == len(DEFINITIONS)
    assert all(about for about in available().values())
    assert "ndcg[@k]" in available()
    assert "p@k" in available()
