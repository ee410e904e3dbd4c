"""What RankBoost+ is made of: listed pairs, ties by bits, independence on rows, distinct stumps, D_t and its losses."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium import NoPairsError, make_preferences
from podium.binning import bin_features
from podium.data.feedback import Graded, Pairs
from podium.pairs.explicit_part import PairOrder
from podium.plus.independence import IndependentSet, PairGraph
from podium.plus.materialized_pairs import materialize_pairs
from podium.plus.plus_distribution import PlusDistribution
from podium.plus.plus_search import EfficientLearner, OptimalLearner, distinct_stumps
from podium.plus.tied_pairs import TieWeights, pack_bits, tie_tables
from profiles import examples
from reference import rankboost as plain
from reference import rankboost_plus as reference


@pytest.fixture(scope="module")
def taste():
    return make_preferences(80, 25, random_state=2)


def columns_of(X):
    return [[None if np.isnan(x) else x for x in column] for column in X.T]


@pytest.mark.plain
def test_long_steps_do_not_overflow():
    state = PlusDistribution(order_of(np.array([[0, 1, 2], [1, 2, 0]]), 3), 3)
    assert state.update(1000.0 * np.array([1.0, 0.0, 0.0])) == np.inf
    assert state.log_loss == pytest.approx(1000 - np.log(3) + np.log1p(0.5 * (1 + np.exp(-2000.0))), rel=1e-12)


@st.composite
def rankings_and_pairs(draw):
    n_rows, n_rankings = draw(st.integers(2, 9)), draw(st.integers(1, 12))
    rows = st.integers(0, n_rows - 1)
    pairs = draw(st.lists(st.tuples(rows, rows).filter(lambda p: p[0] != p[1]), min_size=1, max_size=12))
    bits = st.lists(st.integers(0, 1), min_size=n_rows, max_size=n_rows)
    rankings = draw(st.lists(bits, min_size=n_rankings, max_size=n_rankings))
    return np.array(rankings, float), np.array(pairs).T


def order_of(pairs, n_rows):
    return materialize_pairs(
        Pairs(pairs[0].astype(np.int64), pairs[1].astype(np.int64), np.ones(pairs.shape[1])), n_rows
    )


@pytest.mark.plain
@examples(150, plain=40)
@given(rankings_and_pairs())
def test_independence_on_rows_is_the_rank_over_pairs(case):
    rankings, pairs = case
    vectors = rankings[:, pairs[0]] - rankings[:, pairs[1]]
    graph = PairGraph.of(order_of(pairs, rankings.shape[1]), rankings.shape[1])
    members, chosen = IndependentSet(graph), []
    for i, values in enumerate(rankings):
        coefficients, left = members.split(values)
        if left.any():
            members.extend(coefficients, left)
            chosen.append(i)
        assert members.size == np.linalg.matrix_rank(vectors[: i + 1]) <= graph.rank
    for values, vector in zip(rankings, vectors, strict=True):
        coefficients, left = members.split(values)
        assert not left.any()
        np.testing.assert_allclose(members.solve(coefficients) @ vectors[chosen], vector, atol=1e-9)


@pytest.mark.plain
@examples(60, plain=25)
@given(rankings_and_pairs())
def test_distinct_stumps_order_some_pair_and_each_differently(case):
    rankings, pairs = case
    X = (rankings + 2 * np.roll(rankings, 1, axis=0)).T
    X[rankings.T * np.roll(rankings, 2, axis=0).T == 1] = np.nan
    learner_order = order_of(pairs, len(X))
    bins = bin_features(X, max_bins=None)
    codes = distinct_stumps(bins, PairGraph.of(learner_order, len(X)), np.array([0, 1]))
    learner = EfficientLearner(bins, PlusDistribution(learner_order, len(X)))
    found = [(s.feature, s.threshold, s.abstain) for s, _ in (learner._stump(code) for code in codes)]
    critical = [(int(worse), int(better)) for better, worse in pairs.T]
    assert found == list(reference.distinct(reference.all_stumps(columns_of(X)), critical))


@pytest.mark.plain
def test_bits_say_which_rankings_tie():
    rng = np.random.default_rng(0)
    values, pairs = rng.integers(0, 2, (11, 30)).astype(float), rng.integers(0, 30, (2, 80))
    weights = TieWeights(order_of(pairs, 30), 30)
    expected = (values[:, pairs[0]] == values[:, pairs[1]]).mean(axis=1)
    np.testing.assert_allclose(weights.tied(pack_bits(values)).ravel()[:11], expected, rtol=1e-12)
    tables = tie_tables(np.arange(1.0, 12.0))
    assert tables.shape == (2, 256)
    assert tables[0, 0] == 36
    assert tables[1, 1] == 10 + 11


def test_members_are_passed_over_only_where_that_cannot_change_the_choice(taste):
    order = materialize_pairs(Pairs(*taste.pairs), len(taste.X))
    state = PlusDistribution(order, len(taste.X))
    learner = EfficientLearner(bin_features(taste.X), state)
    passes = 0
    for _ in range(60):
        potentials = state.potentials()
        found = learner.search(potentials, state)
        passes += int((state._drift[:] == 0).sum())
        stale, tied = state._drift.copy(), state._tied.copy()
        sizes = np.abs(state.member_edges(potentials))
        state._drift, state._tied = stale, tied
        edge = state.edge(found.values, found.r)
        assert sizes.max(initial=0.0) <= abs(edge) + 1e-12
        state.update(np.arctanh(edge) * found.values)
        learner.add(found.ranking, 0.0)
    assert passes < 60 * len(state.eta) / 2


def test_moments_are_derivatives_of_the_loss(taste):
    order = materialize_pairs(Pairs(*taste.pairs), len(taste.X))
    state = PlusDistribution(order, len(taste.X))
    X = np.nan_to_num(taste.X)
    for feature, alpha in ((0, 0.3), (1, -0.2), (2, 0.1)):
        state.update(alpha * (X[:, feature] > 2))
    values = (X[:, 0] > 2).astype(float)
    low, middle, high = (state.moments(values, alpha) for alpha in (0.4 - 1e-5, 0.4, 0.4 + 1e-5))
    assert middle.slope == pytest.approx((high.log_value - low.log_value) / 2e-5, rel=1e-6)
    Z = [math.exp(moment.log_value) for moment in (low, middle, high)]
    assert middle.curvature == pytest.approx((high.slope * Z[2] - low.slope * Z[0]) / 2e-5 / Z[1], rel=1e-6)
    assert state.update(0.4 * values) == pytest.approx(Z[1], rel=1e-12)


@pytest.mark.plain
@pytest.mark.parametrize("by_difference", [False, True])
def test_list_of_graded_pairs_is_that_of_the_labels(by_difference):
    rng = np.random.default_rng(2)
    y, weight, qid = rng.integers(0, 3, 24).astype(float), rng.integers(1, 4, 24).astype(float), np.repeat([0, 1, 2], 8)
    graded = Graded(y, np.array([0, 8, 16, 24]), weight, np.array([1.0, 2.0, 0.5]), by_difference)
    order = materialize_pairs(graded, 24)
    total = order.weight.sum()
    found = {}
    for b, row in enumerate(order.better):
        for p in range(order.start[b], order.start[b + 1]):
            found[int(order.worse[p]), int(row)] = order.weight[p] / total
    expected = plain.initial_distribution(plain.graded_triples(y, qid, weight, [1.0, 2.0, 0.5], by_difference))
    assert found == pytest.approx(expected)


@pytest.mark.plain
def test_pairs_without_weight_are_nothing_to_rank():
    with pytest.raises(NoPairsError, match="no pair of the feedback has a positive weight"):
        materialize_pairs(Pairs(np.array([0, 1]), np.array([1, 2]), np.zeros(2)), 3)


@pytest.mark.plain
def test_step_along_a_combination_of_many_members_moves_all_of_them():
    # Ten rankings of one row each; the ranking of all ten rows is their sum.
    rng, n = np.random.default_rng(1), 12
    pairs = np.concatenate([rng.integers(0, n, (2, 40)), [range(n - 1), range(1, n)]], axis=1)
    pairs = pairs[:, pairs[0] != pairs[1]]
    state, rows, etas = PlusDistribution(order_of(pairs, n), n), np.eye(n)[:10], rng.normal(size=10)
    for eta, row in zip(etas, rows, strict=True):
        state.update(eta * row)
    state.update(0.3 * rows.sum(axis=0))
    state.update(0.7 * rows[3])
    expected = etas + 0.3 + 0.7 * (np.arange(10) == 3)
    np.testing.assert_allclose(state.eta, expected, atol=1e-9)
    D1 = plain.initial_distribution([(int(worse), int(better), 1.0) for better, worse in pairs.T])
    assert state.log_loss == pytest.approx(math.log(reference.loss_2(D1, rows.tolist(), expected)), rel=1e-9)


@pytest.mark.plain
def test_step_along_a_constant_changes_nothing():
    state = PlusDistribution(order_of(np.array([[0, 2], [1, 3]]), 4), 4)
    before = state.potentials()
    assert state.update(np.array([0.5, 0.5, 0.0, 0.0])) == 1.0
    np.testing.assert_array_equal(state.potentials(), before)


@pytest.mark.plain
@pytest.mark.parametrize(("first", "second"), [(266801235712, 320835980489), (301504553306, 286075015061)])
def test_of_stumps_that_are_equally_steep_but_for_rounding_the_lowest_feature_is_taken(first, second):
    # Over pairs with row 3, stumps on rows 0 and 1 and on row 2 have the slope (w0 + w1) / 2**41 = w2 / 2**41: an odd
    # multiple of 2**-41, which rounding may take to either of the two multiples of 2**-40 beside it.
    weight = 0.1 * np.array([first, second, first + second, 2**41 - 2 * (first + second)], float)
    pairs = Pairs(np.array([0, 1, 2, 4]), np.full(4, 3), weight)
    columns = np.array([[1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0]])
    for X in (columns.T, columns[::-1].T):
        state = PlusDistribution(PairOrder.of(pairs, 5), 5)
        found = EfficientLearner(bin_features(np.ascontiguousarray(X)), state).search(state.potentials(), state)
        assert found.ranking.feature == 0


@pytest.mark.plain
def test_all_stumps_that_depend_on_the_members_are_found():
    rng = np.random.default_rng(0)
    # Stumps of the level x = 1 are differences of the stumps x > 0 and x > 1, and so for x = 2.
    levels, n = rng.integers(0, 4, (60, 2)), 60
    X = np.column_stack([levels, levels == 1, levels == 2]).astype(float)
    better = rng.integers(0, n, 150)
    worse = (better + rng.integers(1, n, 150)) % n
    state = PlusDistribution(PairOrder.of(Pairs(better, worse, rng.random(150) + 0.1), n), n)
    learner = OptimalLearner(bin_features(X), state)
    stumps = {code: learner._stump(code)[1] for code in learner.candidates.tolist()}
    assert len(stumps) == 10
    for values in list(stumps.values())[:6]:
        state.update(0.1 * values)
        learner._find_dependent()
        members = [state.values(member) for member in range(len(state.eta))]
        dependent = []
        for code, one in stumps.items():
            differences = np.array([f[better] - f[worse] for f in [*members, one]])
            dependent += [code] * bool(np.linalg.matrix_rank(differences) == len(members))
        assert sorted(learner.dependent.tolist()) == dependent
    assert len(dependent) == 10


@pytest.mark.plain
def test_rounding_in_a_probe_of_which_little_is_left_hides_no_dependent_stump():
    groups = np.arange(30) % 5
    X = np.column_stack([groups == 0, groups == 1, groups < 2, groups == 3]).astype(float)
    distribution = PlusDistribution(order_of(np.array([np.arange(29), np.arange(1, 30)]), 30), 30)
    learner = OptimalLearner(bin_features(X), distribution)
    for feature in (0, 1):
        distribution.update(0.1 * X[:, feature])
    learner._find_dependent()
    member, other, their_sum = learner.dependent.tolist()  # the third stump is the sum of the first two
    [fourth] = learner.candidates.tolist()
    learner.candidates = np.array([member, other, their_sum, fourth])
    basis = distribution.independent.basis
    learner._probe = 1e-6 * learner._probe + 1e-16 * basis[0]
    assert learner._suspects().tolist() == [member, other, their_sum]
