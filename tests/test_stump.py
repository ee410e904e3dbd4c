"""Tests of podium.pairs.weak_ranking: stumps and scaled features, against trying every one of them."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from podium._validation import PodiumError
from podium.binning import bin_features
from podium.data.feedback import FeedbackSum, Graded, Pairs
from podium.pairs.alpha import RULES
from podium.pairs.distribution import Distribution
from podium.pairs.weak_ranking import WeakResult
from podium.stumps.crossing import CrossingWeights
from podium.stumps.scaled_feature import FeatureLearner, ScaledFeature
from podium.stumps.stump import Cumulative, Stump, StumpLearner
from profiles import examples
from reference import rankboost as twin

NAN = np.nan


def as_sparse(X):
    ranked = ~np.isnan(X)
    return sp.csc_array((X[ranked], np.nonzero(ranked)), shape=X.shape)


def as_features(X):
    """Columns as lists with None for NaN, as the twin reads them."""
    return [[None if math.isnan(x) else x for x in column] for column in X.T.tolist()]


def make_task(seed, n_rows=14, n_features=3, grades=3, missing=0.3, kind="graded"):
    """Small data with ties and missing values: X, feedback, and the same feedback as triples."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n_rows, n_features)), 1)
    X[rng.random(X.shape) < missing] = NAN
    query = np.sort(rng.integers(0, 2, n_rows))
    query[0], query[-1] = 0, 1
    labels = rng.integers(0, grades, n_rows).astype(float) if grades else rng.random(n_rows)
    labels[0], labels[1] = 0.0, 1.0
    query[1] = 0
    offsets = np.array([0, np.count_nonzero(query == 0), n_rows])
    graded = Graded(labels, offsets, rng.integers(1, 4, n_rows).astype(float), np.array([1.0, 2.0]))
    better = rng.integers(0, n_rows, 3 * n_rows)
    worse = (better + rng.integers(1, n_rows, 3 * n_rows)) % n_rows
    pairs = Pairs(better, worse, rng.random(3 * n_rows))
    triples = {
        "graded": twin.graded_triples(labels.tolist(), query.tolist(), graded.row_weight.tolist(), [1.0, 2.0]),
        "pairs": list(zip(pairs.worse.tolist(), pairs.better.tolist(), pairs.weight.tolist(), strict=True)),
    }
    triples["sum"] = triples["graded"] + triples["pairs"]
    arrays = (labels.tolist(), query.tolist(), graded.row_weight.tolist(), [1.0, 2.0])
    triples["differences"] = twin.graded_triples(*arrays, by_difference=True)
    feedback = {"graded": graded, "pairs": pairs, "sum": FeedbackSum((graded, pairs))}
    feedback["differences"] = replace(graded, by_difference=True)
    return X, feedback[kind], triples[kind]


def fit(X, feedback, n_rounds, alpha="r", form="dense", weigh=None, **parameters):
    """RankBoost on stumps: the stumps, (α, Z, r) of each round, and the distribution left."""
    bins = bin_features(as_sparse(X) if form == "sparse" else X, max_bins=None if form == "columns" else 255)
    distribution = Distribution(feedback, len(X), parameters.get("n_threads", 1))
    learner = StumpLearner(bins, **parameters)
    stumps, numbers = [], []
    for _ in range(n_rounds):
        found = learner.search(distribution.potentials(), distribution)
        if found is None:
            break
        np.testing.assert_array_equal(found.values, found.ranking.predict(X))
        weight = RULES[alpha](found, distribution)
        stumps.append(found.ranking)
        if learner.cumulative is not None:
            learner.cumulative.add(found.ranking, weight)
        numbers.append((weight, distribution.update(weight * found.values), found.r))
    return stumps, np.array(numbers).reshape(-1, 3), distribution


CASES = st.tuples(
    st.integers(0, 10**6),
    st.sampled_from(["graded", "pairs", "sum", "differences"]),
    st.sampled_from([2, 5, 0]),
    st.sampled_from([0.0, 0.3]),
)


@pytest.mark.plain
@examples(25)
@given(
    CASES,
    st.sampled_from(["dense", "columns", "sparse"]),
    st.sampled_from(["r", "z"]),
    st.sampled_from(["learn", 0, 1]),
)
def test_every_round_takes_the_stump_that_trying_all_of_them_takes(case, form, criterion, abstain):
    seed, kind, grades, missing = case
    X, feedback, triples = make_task(seed, grades=grades, missing=missing, kind=kind)
    q_defs = (0, 1) if abstain == "learn" else (abstain,)
    D = twin.initial_distribution(triples)
    stumps, numbers, _ = fit(X, feedback, 3, form=form, criterion=criterion, abstain=abstain)
    for stump, (alpha, Z, r) in zip(stumps, numbers, strict=True):
        index, threshold, q_def = twin.best_stump(D, as_features(X), criterion, q_defs)
        h = stump.predict(X).tolist()
        best = twin.stump(as_features(X)[index], threshold, q_def)
        # By what the criterion says, not by name: stumps that are equal but for rounding are equally good.
        assert abs(twin.r_of(D, h)) >= abs(twin.r_of(D, best)) - 1e-9 or criterion == "z"
        assert twin.z_of(D, h) <= twin.z_of(D, best) + 1e-7 or criterion == "r"
        assert r == pytest.approx(twin.r_of(D, h), abs=1e-12)
        expected_z, D = twin.updated(D, alpha, h)
        assert pytest.approx(expected_z, rel=1e-10) == Z
    left = twin.best_stump(D, as_features(X), criterion, q_defs) if len(stumps) < 3 else None
    if left is not None:
        best = twin.stump(as_features(X)[left[0]], *left[1:])
        assert abs(twin.r_of(D, best)) <= 1e-9 or criterion == "z"
        assert twin.z_of(D, best) >= 1 - 1e-7 or criterion == "r"


@pytest.mark.plain
@pytest.mark.parametrize("alpha", ["r", "numeric"])
@pytest.mark.parametrize("kind", ["graded", "pairs", "sum", "differences"])
def test_rounds_equal_those_of_plain_rankboost(kind, alpha):
    X, feedback, triples = make_task(5, n_rows=40, n_features=5, kind=kind)
    expected = twin.rank_boost(triples, as_features(X), 6, "r", alpha)
    stumps, numbers, _ = fit(X, feedback, 6, alpha)
    assert [(s.feature, s.threshold, s.abstain) for s in stumps] == [e[:3] for e in expected]
    np.testing.assert_allclose(numbers, [e[3:] for e in expected], rtol=1e-7)


@pytest.mark.plain
@examples(15)
@given(CASES, st.sampled_from(["dense", "columns", "sparse"]), st.sampled_from([1.0, 1e3]))
def test_weights_of_all_stumps_equal_those_computed_one_by_one(case, form, size):
    seed, kind, grades, missing = case
    X, feedback, _ = make_task(seed, n_rows=20, grades=grades, missing=missing, kind=kind)
    assert_weights_right(X, feedback, form, size)


@pytest.mark.parametrize("form", ["dense", "columns"])
@pytest.mark.parametrize(("grades", "kind"), [(2, "graded"), (5, "graded"), (0, "graded"), (5, "differences")])
def test_weights_of_all_stumps_are_right_in_queries_of_more_than_256_rows(grades, kind, form):
    X, feedback, _ = make_task(0, n_rows=1200, n_features=2, grades=grades, kind=kind)
    assert_weights_right(X, feedback, form, 1.0)


def assert_weights_right(X, feedback, form, size):
    bins = bin_features(as_sparse(X) if form == "sparse" else X, max_bins=None if form == "columns" else 255)
    distribution = Distribution(feedback, len(X))
    distribution.update(np.random.default_rng(1).uniform(-size, size, len(X)))
    minus, plus = CrossingWeights(bins)(distribution)
    for feature in range(X.shape[1]):
        for cut in range(bins.cuts.n_bins[feature] + 1):
            for abstain in (0, 1):
                weights = distribution.ranking_weights(bins.indicator(feature, cut, abstain))
                place = bins.cuts.offsets[feature] + cut
                assert minus[abstain, place] == pytest.approx(weights.minus, abs=1e-12)
                assert plus[abstain, place] == pytest.approx(weights.plus, abs=1e-12)


@pytest.mark.plain
@examples(20)
@given(CASES, st.sampled_from(["r", "z"]), st.sampled_from(["r", "z", "numeric"]))
def test_no_round_raises_the_loss(case, criterion, alpha):
    seed, kind, grades, missing = case
    X, feedback, _ = make_task(seed, grades=grades, missing=missing, kind=kind)
    _, numbers, distribution = fit(X, feedback, 6, alpha, criterion=criterion)
    assert np.all(np.isfinite(numbers))
    assert np.all(numbers[:, 1] <= 1 + 1e-9)
    assert np.sum(np.log(numbers[:, 1])) == pytest.approx(distribution.log_loss, abs=1e-9)


@pytest.mark.parametrize("criterion", ["r", "z"])
@pytest.mark.parametrize("kind", ["graded", "pairs", "sum", "differences"])
def test_sparse_columns_and_cuts_at_every_value_give_the_stumps_of_dense_data(kind, criterion):
    X, feedback, _ = make_task(7, n_rows=80, n_features=20, kind=kind, missing=0.6)
    dense, numbers, _ = fit(X, feedback, 10, criterion=criterion)
    assert len(dense) == 10
    for form in ("columns", "sparse"):
        stumps, others, _ = fit(X, feedback, 10, form=form, criterion=criterion)
        assert stumps == dense
        np.testing.assert_allclose(others, numbers, rtol=1e-9)


@pytest.mark.parametrize("criterion", ["r", "z"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_thread_count_changes_no_bit(form, criterion):
    X, feedback, _ = make_task(3, n_rows=300, n_features=37, grades=5, kind="sum")
    answers = [fit(X, feedback, 4, form=form, criterion=criterion, n_threads=n)[:2] for n in (1, 3)]
    assert len(answers[0][0]) == 4
    assert answers[0][0] == answers[1][0]
    assert answers[0][1].tobytes() == answers[1][1].tobytes()


@pytest.mark.plain
def test_row_of_weight_two_gives_the_rounds_of_the_row_twice():
    X, graded, _ = make_task(2, n_rows=20)
    weight = np.where(np.arange(20) % 3 == 0, 2.0, 1.0)
    rows = np.repeat(np.arange(20), weight.astype(int))
    offsets = np.searchsorted(rows, graded.offsets)
    weighted = Graded(graded.labels, graded.offsets, weight, graded.query_weight)
    doubled = Graded(graded.labels[rows], offsets, np.ones(len(rows)), graded.query_weight)
    one, two = fit(X, weighted, 5), fit(X[rows], doubled, 5)
    assert one[0] == two[0]
    np.testing.assert_allclose(one[1], two[1], rtol=1e-9)


@pytest.mark.plain
def test_of_equal_stumps_the_lowest_feature_threshold_and_default_is_taken():
    # Every threshold from 0 to 2 parts rows 0 and 1 of the only pair; the second feature is the first again.
    X = np.array([[0.0, 0.0], [3.0, 3.0], [1.0, 1.0], [2.0, 2.0], [NAN, NAN]])
    feedback = Pairs(np.array([1]), np.array([0]), np.ones(1))
    for criterion in ("r", "z"):
        stumps, _, _ = fit(X, feedback, 1, criterion=criterion)
        assert stumps == [Stump(0, 0.0, 0)]


@pytest.mark.plain
@pytest.mark.parametrize("criterion", ["r", "z"])
@pytest.mark.parametrize("form", ["dense", "columns"])
def test_nothing_is_found_in_constant_missing_or_query_level_features(form, criterion):
    query = np.repeat([0.0, 1.0, 2.0], 10)
    X = np.stack([np.ones(30), np.full(30, NAN), query, np.where(query == 1, NAN, 0.0)], axis=1)
    feedback = Graded(np.tile(np.arange(10.0), 3), np.array([0, 10, 20, 30]), np.full(30, 0.1), np.ones(3))
    assert fit(X, feedback, 1, form=form, criterion=criterion)[0] == []


@pytest.mark.plain
@pytest.mark.parametrize("form", ["dense", "columns"])
def test_minus_infinity_is_a_value_and_not_missing(form):
    X = np.array([[-np.inf], [1.0], [NAN]])
    feedback = Pairs(np.array([1]), np.array([0]), np.ones(1))
    stumps, _, _ = fit(X, feedback, 1, form=form)
    assert stumps == [Stump(0, -np.inf, 0)]


@pytest.mark.plain
@pytest.mark.parametrize("criterion", ["r", "z"])
def test_monotone_constraints_keep_the_sign_of_alpha(criterion):
    X, feedback, _ = make_task(1, n_rows=40, n_features=3)
    stumps, numbers, _ = fit(X, feedback, 15, criterion=criterion, monotone_constraints=[1, -1, 0])
    sign = np.array([1, -1, 0])[[stump.feature for stump in stumps]]
    assert set(sign) == {1, -1, 0}
    assert np.all(sign * numbers[:, 0] >= 0)
    free, numbers, _ = fit(X, feedback, 15, criterion=criterion)
    used = {(stump.feature, bool(alpha > 0)) for stump, alpha in zip(free, numbers[:, 0], strict=True)}
    assert used & {(0, False), (1, True)}, "without constraints a sign is broken"


@pytest.mark.parametrize("criterion", ["r", "z"])
@pytest.mark.parametrize("alpha", ["r", "z", "numeric"])
def test_cumulative_weights_stay_positive(criterion, alpha):
    for seed in range(3):
        X, feedback, _ = make_task(seed, n_rows=30)
        cumulative = Cumulative(RULES[alpha])
        stumps, _, _ = fit(X, feedback, 30, alpha, criterion=criterion, cumulative=cumulative)
        assert len(stumps) > 5
        assert min(cumulative.weights.values()) > 0


def test_stump_used_before_may_take_a_negative_weight_that_its_cumulative_weight_outlasts():
    X, feedback, _ = make_task(0, n_rows=30)
    cumulative = Cumulative(RULES["z"])
    _, numbers, _ = fit(X, feedback, 60, "z", criterion="z", cumulative=cumulative)
    assert np.any(numbers[:, 0] < 0)
    assert min(cumulative.weights.values()) > 0


@pytest.mark.plain
def test_cumulative_takes_the_best_of_the_stumps_it_may_take():
    X, feedback, triples = make_task(4, n_rows=25, n_features=3)
    features, D, used = as_features(X), twin.initial_distribution(triples), {}
    cumulative = Cumulative(RULES["r"])
    stumps, numbers, _ = fit(X, feedback, 12, cumulative=cumulative)
    assert len(stumps) == 12

    def allowed(index, threshold, q_def, r):
        return used.get((index, threshold, q_def), 0.0) + np.arctanh(r) > 0

    for stump, (alpha, _, r) in zip(stumps, numbers, strict=True):
        key = twin.best_stump(D, features, allowed=allowed)
        assert abs(r) == pytest.approx(abs(twin.r_of(D, twin.stump(features[key[0]], *key[1:]))), abs=1e-12)
        name = (stump.feature, stump.threshold, stump.abstain)
        used[name] = used.get(name, 0.0) + alpha
        _, D = twin.updated(D, alpha, stump.predict(X).tolist())


@pytest.mark.plain
def test_stump_reads_sparse_rows_as_it_reads_dense_ones():
    X = np.array([[NAN, 2.0], [1.0, NAN], [0.0, 3.0]])
    for abstain in (0, 1):
        for threshold in (-np.inf, 0.0, 2.0):
            stump = Stump(1, threshold, abstain)
            np.testing.assert_array_equal(stump.predict(as_sparse(X)), stump.predict(X))


@pytest.mark.plain
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"criterion": "w"}, "criterion must be one of 'r', 'z'; got 'w'."),
        ({"abstain": 2}, "abstain must be one of 'learn', 0, 1; got 2."),
        ({"monotone_constraints": [1]}, "monotone_constraints must have one entry per feature, 3; got 1."),
        (
            {"monotone_constraints": {0: 1}},
            "monotone_constraints must be a list with 1, -1 or 0 for each of the 3 features, in the order of the "
            "columns; got the mapping {0: 1}.",
        ),
        ({"monotone_constraints": [1, 0, 5]}, "monotone_constraints must be -1, 0 or 1; got 5."),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, feedback, _ = make_task(0)
    with pytest.raises(PodiumError) as caught:
        fit(X, feedback, 1, **parameters)
    assert str(caught.value) == message


def best_feature(X, potentials):
    """Try every feature and q_def: the largest |r| of the values scaled to [0, 1]."""
    best = 0.0
    for x in X.T:
        finite = x[np.isfinite(x)]
        if len(finite) and finite.min() < finite.max():
            scaled = (np.clip(x, finite.min(), finite.max()) - finite.min()) / np.ptp(finite)
            best = max([best] + [abs(np.sum(np.where(np.isnan(x), q, scaled) * potentials)) for q in (0, 1)])
    return best


@pytest.mark.plain
@examples(30)
@given(st.integers(0, 10**6), st.sampled_from(["rows", "columns", "sparse"]), st.sampled_from([0.0, 0.3]))
def test_scaled_feature_with_the_largest_r_is_found(seed, form, missing):
    X, feedback, _ = make_task(seed, missing=missing)
    order = np.random.default_rng(seed).permutation(len(X))
    given_rows = np.empty_like(X)
    given_rows[order] = X
    stored = {"rows": given_rows, "columns": np.asfortranarray(given_rows), "sparse": as_sparse(given_rows)}[form]
    distribution = Distribution(feedback, len(X))
    potentials = distribution.potentials()
    found = FeatureLearner(stored, order).search(potentials, distribution)
    assert abs(found.r) == pytest.approx(best_feature(X, potentials), abs=1e-12)
    np.testing.assert_allclose(found.values, found.ranking.predict(X), atol=1e-15)
    assert found.values.min() >= 0
    assert found.values.max() <= 1
    held = FeatureLearner(stored, order, monotone_constraints=[-1] * X.shape[1]).search(potentials, distribution)
    assert held is None or held.r < 0
    assert held is not None or found.r > 0


@pytest.mark.plain
def test_scaled_feature_holds_values_beyond_the_training_range_within_0_and_1():
    ranking = ScaledFeature(0, -1.0, 3.0, 1)
    X = np.array([[-np.inf], [-5.0], [0.0], [3.0], [1e300], [np.inf], [NAN]])
    np.testing.assert_allclose(ranking.predict(X), [0, 0, 0.25, 1, 1, 1, 1])


@pytest.mark.plain
def test_no_scaled_feature_is_found_among_constant_and_missing_ones():
    X = np.stack([np.ones(4), np.full(4, NAN)], axis=1)
    distribution = Distribution(Pairs(np.array([0]), np.array([1]), np.ones(1)), 4)
    assert FeatureLearner(X, np.arange(4)).search(distribution.potentials(), distribution) is None


@pytest.mark.plain
def test_any_object_with_search_serves_as_weak_learner():
    class Fixed:
        """Always the same ranking."""

        def search(self, potentials, distribution):
            values = np.array([0.0, 1.0, 0.5])
            return WeakResult(self, values, float(np.sum(values * potentials)))

        def predict(self, X):
            return X[:, 0]

    distribution = Distribution(Pairs(np.array([1, 2]), np.array([0, 1]), np.array([2.0, 1.0])), 3)
    found = Fixed().search(distribution.potentials(), distribution)
    assert distribution.update(RULES["numeric"](found, distribution) * found.values) < 1
