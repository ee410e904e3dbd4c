"""Selectors of features: similarities and choices against definitions, error control by simulation, scikit-learn."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given as drawn
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import Lasso
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from peers import peer
from podium import (
    MART,
    BoostedStumpSelector,
    GengSelector,
    GradientFreeBoost,
    LambdaMART,
    PodiumError,
    RankBoost,
    StabilitySelector,
    evaluate,
)
from podium.data import RankingData
from podium.selection import FeatureRankings, error_control
from podium.selection.halves import complementary_halves
from podium.selection.stability import first_features
from profiles import examples
from reference import selection as twin

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes wrap around on purpose
]
STUMPS = BoostedStumpSelector(2, n_estimators=6, learning_rate=0.8, min_child_samples=2)
STABLE = StabilitySelector(GradientFreeBoost(6, singular_every=3), n_selected=2, threshold=0.6, n_resamples=4)
SELECTORS = [GengSelector(2), STUMPS, STABLE]
each_selector = pytest.mark.parametrize("selector", SELECTORS, ids=lambda one: " ".join(str(one).split()))


@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks(
    [
        GengSelector(),
        BoostedStumpSelector(n_estimators=3, min_child_samples=1),
        StabilitySelector(GradientFreeBoost(3), n_selected=1, n_resamples=2),
    ]
)
def test_estimator_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def table():
    """Ten queries; y follows features 0 (up) and 3 (down), 4 is nearly 0 again, the others are noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    X[:, 4] = X[:, 0] + 0.01 * rng.normal(size=120)
    y = np.digitize(X[:, 0] - 0.8 * X[:, 3] + 0.3 * rng.normal(size=120), [-1.0, 0.0, 1.0]).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y, np.repeat(np.arange(10), 12)


# Laws of all


@each_selector
def test_row_and_query_order_change_nothing(selector, table):
    X, y, qid = table
    rng = np.random.default_rng(1)
    shuffled, names = rng.permutation(120), rng.permutation(10)
    one = clone(selector).fit(X, y, qid=qid)
    two = clone(selector).fit(X[shuffled], y[shuffled], qid=names[qid][shuffled])
    np.testing.assert_array_equal(one.support_, two.support_)
    assert one.support_.sum() > 0
    for name in ("importances_", "frequencies_", "gains_"):
        np.testing.assert_array_equal(getattr(one, name, 0), getattr(two, name, 0))


@each_selector
def test_storage_of_features_changes_nothing(selector, table):
    X, y, qid = table
    pandas = peer("pandas")
    expected = clone(selector).fit(X, y, qid=qid).support_
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    known = ~np.isnan(X)
    for given in (np.asfortranarray(X), frame, sp.csr_array((X[known], np.nonzero(known)), X.shape)):
        np.testing.assert_array_equal(clone(selector).fit(given, y, qid=qid).support_, expected)
    fitted = clone(selector).fit(frame, y, qid=qid)
    assert fitted.get_feature_names_out().tolist() == [
        name for name, one in zip("abcdef", expected, strict=True) if one
    ]
    np.testing.assert_array_equal(fitted.transform(frame), X[:, expected])


@each_selector
def test_group_sizes_say_the_same_as_ids(selector, table):
    X, y, qid = table
    by_id, by_size = (clone(selector).fit(X, y, **given) for given in ({"qid": qid}, {"group": [12] * 10}))
    np.testing.assert_array_equal(by_id.support_, by_size.support_)


@pytest.mark.parametrize("selector", SELECTORS[:2], ids=["geng", "stumps"])
def test_a_weight_of_queries_equals_the_queries_as_often(selector, table):
    X, y, qid = table
    often = {query: 1 + 3 * (query < 2) for query in range(10)}
    copies = [(query, copy) for query, times in often.items() for copy in range(times)]
    rows = np.concatenate([np.flatnonzero(qid == query) for query, _ in copies])
    weighted = clone(selector).fit(X, y, qid=qid, query_weight=often)
    repeated = clone(selector).fit(X[rows], y[rows], qid=np.repeat(np.arange(len(copies)), 12))
    np.testing.assert_allclose(weighted.importances_, repeated.importances_, rtol=1e-6)
    assert np.abs(weighted.importances_ - clone(selector).fit(X, y, qid=qid).importances_).max() > 1e-3


@each_selector
def test_selectors_stand_before_rankers_in_pipelines(selector, table):
    X, y, qid = table
    with config_context(enable_metadata_routing=True):
        ranker = RankBoost(4).set_fit_request(qid=True).set_score_request(qid=True)
        pipeline = make_pipeline(clone(selector).set_fit_request(qid=True), ranker)
        params = {"qid": qid, "groups": qid}
        scores = cross_validate(pipeline, X, y, cv=GroupKFold(2), params=params, error_score="raise")["test_score"]
        assert np.all(scores > -0.5)
        pipeline.fit(X, y, qid=qid)
    chosen = clone(selector).fit(X, y, qid=qid)
    np.testing.assert_array_equal(pipeline[0].support_, chosen.support_)
    np.testing.assert_allclose(
        pipeline.predict(X), RankBoost(4).fit(X[:, chosen.support_], y, qid=qid).predict(X[:, chosen.support_])
    )


@pytest.mark.parametrize("selector", SELECTORS[:2], ids=["geng", "stumps"])
def test_more_features_than_there_are_cannot_be_chosen(selector, table):
    X, y, qid = table
    with pytest.raises(PodiumError, match="n_features_to_select must be at most the number of features, 6; got 7"):
        clone(selector).set_params(n_features_to_select=7).fit(X, y, qid=qid)
    half = clone(selector).set_params(n_features_to_select=None).fit(X, y, qid=qid)
    assert half.support_.sum() == 3


@each_selector
def test_bad_input_is_refused_and_leaves_the_fitted_selector_as_it_was(selector, table):
    X, y, qid = table
    fitted = clone(selector).fit(X, y, qid=qid)
    before = vars(fitted).copy()
    for given, message in (
        ({"y": None}, "requires y to be passed, but the target y is None"),
        ({"query_weight": dict.fromkeys(range(10), 0)}, "positive"),
        ({"X": X[:50]}, "120"),
    ):
        with pytest.raises(PodiumError, match=message):
            fitted.fit(**{"X": X, "y": y, "qid": qid, **given})
    assert vars(fitted) == before


# Geng et al.


@drawn(st.integers(0, 10**6), st.sampled_from(["tau", "absolute", "concordant"]), st.booleans())
@examples(60, plain=25)
def test_similarities_are_those_of_all_pairs(seed, kind, tied):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 14))
    X = rng.integers(0, 4, (n, 2)).astype(float) if tied else rng.normal(size=(n, 2))
    qid, weight = rng.integers(0, 3, n), {0: 1.0, 1: 2.5, 2: 0.5}
    weight = {query: weight[query] for query in set(qid.tolist())}
    data = RankingData.from_arrays(X, np.zeros(n), qid=qid, query_weight=weight)
    expected = twin.similarity(*X.T.tolist(), qid.tolist(), weight, kind)
    assert FeatureRankings(data).similarity(0, 1, kind) == pytest.approx(expected, abs=1e-12)


def test_similarities_of_long_queries_are_those_of_all_pairs():
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(460, 2)), 2)
    X[:, 1] += X[:, 0]
    data = RankingData.from_arrays(X, np.zeros(460))
    expected = twin.similarity(*X.T.tolist(), [0] * 460, {0: 1.0}, "tau")
    assert FeatureRankings(data).similarity(0, 1, "tau") == pytest.approx(expected, abs=1e-12)


@drawn(st.integers(0, 10**6), st.sampled_from(["tau", "absolute", "concordant"]), st.sampled_from([0.0, 0.1, 1.0]))
@examples(20, plain=8)
def test_the_choice_is_that_of_the_greedy_objective(seed, kind, trade_off):
    rng = np.random.default_rng(seed)
    X, y, qid = rng.normal(size=(18, 5)), rng.integers(0, 3, 18).astype(float), np.repeat([0, 1], 9)
    X[:, 0] += y
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    model = GengSelector(4, measure="ndcg@5", trade_off=trade_off, similarity=kind).fit(X, y, qid=qid)
    importances = [max(quality(sign * X[:, f], y, qid, "ndcg@5") for sign in (1, -1)) for f in range(5)]
    np.testing.assert_allclose(model.importances_, importances, rtol=1e-12)
    alike = [[twin.similarity(a, b, qid.tolist(), {0: 1, 1: 1}, kind) for b in X.T.tolist()] for a in X.T.tolist()]
    order, gains = twin.greedy(importances, alike, trade_off, 4)
    assert model.order_.tolist() == order
    np.testing.assert_allclose(model.gains_, gains, rtol=1e-9, atol=1e-12)
    assert sum(gains) == pytest.approx(twin.objective(order, importances, alike, trade_off))


def quality(scores, y, qid, measure):
    return evaluate(y, scores, qid=qid, measures=measure, n_resamples=0)[measure]


def test_a_feature_like_a_chosen_one_gives_way_to_one_that_says_something_else(table):
    X, y, qid = table
    assert set(GengSelector(2, trade_off=0.0).fit(X, y, qid=qid).order_) == {0, 4}
    assert 3 in GengSelector(2, trade_off=0.5).fit(X, y, qid=qid).order_


def test_a_missing_value_counts_as_the_average(table):
    X, y, qid = table
    weights = np.where(qid < 3, 2.0, 1.0)
    known = ~np.isnan(X)
    averages = [np.average(X[known[:, f], f], weights=weights[known[:, f]]) for f in range(6)]
    gaps, filled = (
        GengSelector(4).fit(one, y, qid=qid, query_weight=weights) for one in (X, np.where(known, X, averages))
    )
    np.testing.assert_array_equal(gaps.importances_, filled.importances_)
    np.testing.assert_allclose(gaps.gains_, filled.gains_)


def test_a_measure_without_values_is_refused():
    with pytest.raises(PodiumError, match=r"pair_loss is undefined: no query .* two different labels; got 3 sample"):
        GengSelector().fit([[1.0], [2.0], [3.0]], [1, 1, 1])


# Boosted stumps


@pytest.mark.parametrize(("loss", "trees"), [("squared", MART), ("lambda", LambdaMART)])
def test_importance_is_the_root_of_the_gains_of_stumps(loss, trees, table):
    X, y, qid = table
    selector = BoostedStumpSelector(3, n_estimators=8, loss=loss, learning_rate=0.3).fit(X, y, qid=qid)
    boosted = trees(8, max_leaves=2, learning_rate=0.3, min_child_samples=20).fit(X, y, qid=qid)
    influence = np.zeros(6)
    for tree in boosted.trees_:
        influence[tree.feature[0]] += tree.gain[0]
    np.testing.assert_allclose(selector.importances_, 100 * np.sqrt(influence / influence.max()), rtol=1e-12)
    assert selector.importances_[selector.order_[0]] == 100


def test_features_that_no_stump_splits_are_not_chosen(table):
    X, y, qid = table
    selector = BoostedStumpSelector(6, n_estimators=1).fit(X, y, qid=qid)
    assert selector.support_.sum() == len(selector.order_) == 1


def test_weights_of_rows_reach_the_stumps(table):
    X, y, qid = table
    weight = 1.0 + 9.0 * (X[:, 3] > 0)
    one, two = (
        BoostedStumpSelector(2, n_estimators=8).fit(X, y, qid=qid, sample_weight=given) for given in (None, weight)
    )
    expected = MART(8, max_leaves=2, learning_rate=0.1, min_child_samples=20).fit(X, y, qid=qid, sample_weight=weight)
    shares = expected.feature_importances_
    np.testing.assert_allclose(two.importances_, 100 * np.sqrt(shares / shares.max()))
    assert np.abs(one.importances_ - two.importances_).max() > 1


# Stability selection


@drawn(st.integers(1, 200), st.integers(1, 200), st.floats(0.51, 1.0))
def test_the_third_number_follows_from_two(n_features, n_selected, threshold):
    n_selected = min(n_selected, n_features)
    control = error_control(n_features, n_selected, threshold)
    assert control.pfer == pytest.approx(n_selected**2 / ((2 * threshold - 1) * n_features))
    assert error_control(n_features, n_selected, pfer=control.pfer).threshold == pytest.approx(threshold)
    assert error_control(n_features, threshold=threshold, pfer=control.pfer).n_selected == n_selected


def test_what_is_not_given_is_filled_and_what_cannot_be_kept_is_refused():
    assert error_control(50) == (5, 0.75, 1.0)
    assert error_control(50, n_selected=10) == (10, 0.75, 4.0)
    assert error_control(100, threshold=0.6) == (4, 0.6, pytest.approx(16 / 20))
    assert error_control(50, pfer=4.0) == (10, 0.75, 4.0)
    assert error_control(4, pfer=100.0).n_selected == 4
    for given, message in (
        ({"n_selected": 3, "threshold": 0.7, "pfer": 1.0}, "Give two of n_selected, threshold and pfer"),
        ({"n_selected": 51}, "n_selected must be at most the number of features, 50; got 51"),
        ({"pfer": 0.01}, "lets no feature be selected where n_features = 50; pfer must be at least 0.04"),
        ({"n_selected": 8, "pfer": 1.0}, "n_selected must be at most 7"),
    ):
        with pytest.raises(PodiumError, match=message):
            error_control(50, **given)


def test_halves_are_of_whole_queries_and_complement_each_other():
    qid = np.repeat(np.arange(7), 3)
    data = RankingData.from_arrays(np.arange(21.0)[:, None], np.arange(21.0), qid=qid)
    halves = list(complementary_halves(data, 4, 0))
    assert len(halves) == 8
    for one, other in zip(halves[::2], halves[1::2], strict=True):
        queries = [set(np.searchsorted(data.queries.offsets, half, side="right")) for half in (one, other)]
        assert [len(half) for half in queries] == [3, 3]
        assert len(one) == len(other) == 9
        assert not queries[0] & queries[1]
    assert len({tuple(half) for half in halves}) > 4
    alone = RankingData.from_arrays(np.arange(9.0)[:, None], np.arange(9.0))
    assert [len(half) for half in complementary_halves(alone, 1, 0)] == [4, 4]
    with pytest.raises(PodiumError, match="needs two queries, or two rows of one query"):
        list(complementary_halves(RankingData.from_arrays([[1.0]], [1.0]), 1, 0))


def test_frequencies_are_those_of_fits_of_the_halves(table):
    X, y, qid = table
    ranker = GradientFreeBoost(9, singular_every=2)
    selector = StabilitySelector(ranker, n_selected=2, threshold=0.6, n_resamples=3, random_state=5).fit(X, y, qid=qid)
    data, counts = RankingData.from_arrays(X, y, qid=qid), np.zeros(6)
    for half in complementary_halves(data, 3, 5):
        rows = data.queries.rows[half]
        used = dict.fromkeys(one.feature for one in clone(ranker).fit(X[rows], y[rows], qid=qid[rows]).rounds_)
        counts[[*used][:2]] += 1
    np.testing.assert_array_equal(selector.frequencies_, counts / 6)
    np.testing.assert_array_equal(selector.support_, counts / 6 >= 0.6)
    assert (selector.n_selected_, selector.threshold_) == (2, 0.6)
    assert selector.pfer_ == pytest.approx(4 / (0.2 * 6))


def test_the_default_ranker_ends_with_the_features_wanted(table):
    X, y, qid = table
    selector = StabilitySelector(n_selected=2, n_resamples=2).fit(X, y, qid=qid)
    same = StabilitySelector(GradientFreeBoost(), n_selected=2, n_resamples=2).fit(X, y, qid=qid)
    np.testing.assert_array_equal(selector.frequencies_, same.frequencies_)


def test_any_ranker_may_select(table):
    X, y, qid = table
    filled = np.nan_to_num(X)
    for ranker in (RankBoost(6), LambdaMART(3, max_leaves=3, min_child_samples=3), Lasso(0.1)):
        selector = StabilitySelector(ranker, n_selected=2, threshold=0.6, n_resamples=3).fit(filled, y, qid=qid)
        assert 1 < selector.frequencies_[[0, 3, 4]].sum() <= selector.frequencies_.sum() <= 2 + 1e-12
        assert selector.frequencies_[[1, 2, 5]].sum() < 0.5
    with pytest.raises(PodiumError, match="must have rounds_, feature_importances_ or coef_ once fitted; KNeigh"):
        StabilitySelector(KNeighborsRegressor(), n_selected=2).fit(filled, y, qid=qid)
    with pytest.raises(PodiumError, match="query_weight must be None with Lasso, whose fit does not take it"):
        StabilitySelector(Lasso(), n_selected=2).fit(filled, y, qid=qid, query_weight=1.0 + (qid > 3))


def test_weights_reach_the_ranker(table):
    X, y, qid = table
    seen = []

    class Spy(GradientFreeBoost):
        def fit(self, X, y=None, **given):
            seen.append((X, y, given))
            return super().fit(X, y, **given)

    weight, queries = 1.0 + np.abs(np.nan_to_num(X[:, 0])), 1.0 + (qid > 3)
    spied = StabilitySelector(Spy(4), n_selected=2, n_resamples=1)
    spied.fit(X, y, qid=qid, sample_weight=weight, query_weight=queries)
    for rows, labels, given in seen:
        places = [int(np.flatnonzero(np.all((row == X) | np.isnan(X) & np.isnan(row), axis=1))[0]) for row in rows]
        np.testing.assert_array_equal(labels, y[places])
        np.testing.assert_array_equal(given["sample_weight"], weight[places])
        np.testing.assert_array_equal(given["query_weight"], queries[places])
        assert len({(own, name) for own, name in zip(qid[places], given["qid"], strict=True)}) == 5


def test_the_first_features_are_those_of_largest_size_without_zeros():
    class Fitted:
        coef_ = np.array([[0.0, -3.0, 1.0, 2.0], [0.0, 0.0, 0.0, -4.0]])

    assert first_features(Fitted(), 2).tolist() == [3, 1]
    assert first_features(Fitted(), 4).tolist() == [3, 1, 2]


def test_one_query_is_warned_of_at_the_call(monkeypatch):
    monkeypatch.setattr("podium.data.ranking_data.MAX_ROWS_UNWARNED", 20)
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 3
    with pytest.warns(UserWarning, match="All 30 rows are one query") as caught:
        clone(STABLE).fit(X, y)
    assert [one.filename for one in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(STABLE).fit(X, y, group=[30])


def test_false_choices_on_noise_keep_the_bound():
    """Means over 40 tables of 12 features of noise: V, whose bound is q²/((2π - 1) p) = 0.83."""
    false = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y, qid = rng.normal(size=(40, 12)), rng.normal(size=40), np.repeat(np.arange(10), 4)
        selector = StabilitySelector(
            GradientFreeBoost(20, max_features=2, singular_every=5), n_selected=2, threshold=0.7, n_resamples=4
        )
        false.append(selector.fit(X, y, qid=qid).support_.sum())
    assert selector.pfer_ == pytest.approx(4 / (0.4 * 12))
    assert np.mean(false) <= selector.pfer_
    assert np.sum(false) > 0
