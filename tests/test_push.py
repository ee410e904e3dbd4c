"""The p-norm push and its limit against their definitions, pair by pair, and what they do to the top of the list."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium import InfinitePush, NoPairsError, PNormPush, PodiumError, RankBoost, evaluate, make_search
from podium.data import Graded
from podium.pairs import WeakResult, alpha_numeric
from podium.push import PushDistribution, offender_pairs
from podium.push.push_distribution import log_sum
from profiles import examples
from rankboost_data import columns_of
from reference import push as twin
from reference import rankboost_plus as plus

pytestmark = pytest.mark.plain

ROWS = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 1, 2]),
        st.sampled_from([0.0, 0.0, 1.0, 1.0, 2.0, 3.5]),
        st.sampled_from([-1.5, 0.0, 0.0, 0.3, 2.0]),
        st.sampled_from([0.5, 1.0, 2.0]),
    ),
    min_size=2,
    max_size=14,
)
"""Query, label, score and weight of each row."""


def case(rows):
    """Columns of the rows, sorted by query as `Graded` wants them; None where there is no pair."""
    qid, labels, scores, weight = (np.array(column) for column in zip(*sorted(rows), strict=True))
    return (qid, labels, scores, weight) if twin.offenders(labels, qid) else None


def graded(qid, labels, weight, query_weight):
    ids, sizes = np.unique(qid, return_counts=True)
    return Graded(labels, np.r_[0, np.cumsum(sizes)], weight, np.array([query_weight[q] for q in ids]))


@examples(120, plain=25)
@given(rows=ROWS, p=st.sampled_from([1.0, 1.5, 4.0, 7.0]), equal=st.booleans())
def test_loss_potentials_and_moments_equal_the_sums_over_pairs(rows, p, equal):
    if (columns := case(rows)) is None:
        return
    qid, labels, scores, weight = columns
    query_weight = {0: 2.0, 1: 0.5, 2: 1.0}
    distribution = PushDistribution(graded(qid, labels, weight, query_weight), p, equal)
    before = twin.push_loss(labels, qid, np.zeros(len(qid)), p, weight, query_weight, equal)
    assert distribution.log_total == pytest.approx(math.log(before), abs=1e-12)

    def loss(at):
        return twin.push_loss(labels, qid, at, p, weight, query_weight, equal)

    assert distribution.update(scores) == pytest.approx(loss(scores) / before, rel=1e-12)
    expected = np.zeros(len(qid))
    for (low, high), share in twin.push_shares(labels, qid, scores, p, weight, query_weight, equal).items():
        expected[high] += share
        expected[low] -= share
    np.testing.assert_allclose(distribution.potentials(), expected, atol=1e-14)
    h, step = np.cos(np.arange(len(qid))), 1e-4
    value, slope, curvature = distribution.moments(h, 0.7)
    around = [loss(scores + (0.7 + change) * h) for change in (-step, 0.0, step)]
    assert value == pytest.approx(math.log(around[1] / loss(scores)), abs=1e-12)
    assert slope == pytest.approx((around[2] - around[0]) / (2 * step) / around[1], rel=1e-4, abs=1e-6)
    assert curvature == pytest.approx((around[2] - 2 * around[1] + around[0]) / step**2 / around[1], rel=1e-3, abs=1e-5)


@examples(60, plain=15)
@given(rows=ROWS, p=st.sampled_from([1.0, 4.0, 1000.0]))
def test_scores_far_apart_leave_finite_numbers_that_shifts_of_a_query_do_not_change(rows, p):
    if (columns := case(rows)) is None:
        return
    qid, labels, scores, weight = columns
    feedback = graded(qid, labels, weight, {0: 1.0, 1: 1.0, 2: 1.0})
    one, two = PushDistribution(feedback, p), PushDistribution(feedback, p)
    one.update(1e3 * scores)
    two.update(1e3 * scores + 512.0 * qid)
    assert math.isfinite(one.log_total)
    assert one.log_total == pytest.approx(two.log_total, rel=1e-12, abs=1e-9)
    np.testing.assert_allclose(one.potentials(), two.potentials(), atol=1e-6)
    assert abs(one.potentials().sum()) < 1e-9
    assert np.isfinite(one.moments(scores, 3.0)).all()


def test_values_with_a_large_common_part_keep_their_moments():
    feedback = Graded(np.array([0.0, 0.0, 1.0, 2.0]), np.array([0, 4]), np.ones(4), np.ones(1))
    distribution, h = PushDistribution(feedback, 3.0), np.array([0.0, 1.0, 0.5, 2.0])
    near, far = (distribution.moments(h + shift, 0.0) for shift in (0.0, 2.0**40))
    np.testing.assert_allclose(far, near, rtol=1e-12)


def table(seed=0, **options):
    return make_search(n_queries=12, docs_per_query=10, n_features=6, random_state=seed, **options)


@pytest.mark.parametrize(("scale", "pair_weight"), [("sum", "pairs"), ("loss", "queries")])
@pytest.mark.parametrize("grades", [1.0, 9.0])
def test_power_one_is_rankboost(scale, pair_weight, grades):
    data = table()
    y = np.minimum(data.y, grades)
    push = PNormPush(10, p=1, query_scale=scale).fit(data.X, y, qid=data.qid)
    boost = RankBoost(10, alpha="numeric", pair_weight=pair_weight).fit(data.X, y, qid=data.qid)
    for one, other in zip(push.rounds_, boost.rounds_, strict=True):
        assert one.ranking == other.ranking
        assert (one.alpha, one.Z, one.r) == pytest.approx((other.alpha, other.Z, other.r), rel=1e-9)


def loss_of(model, data, scores, **more):
    weight, ids = np.ones(len(data.y)), np.unique(data.qid)
    arguments = data.y, data.qid, scores, model.p, weight, dict.fromkeys(ids.tolist(), 1.0)
    return twin.push_loss(*arguments, equal_queries=model.query_scale == "loss", **more)


@pytest.mark.parametrize("weak", ["stump", "feature"])
@pytest.mark.parametrize("scale", ["loss", "sum"])
def test_each_round_goes_to_the_minimum_along_its_ranking(weak, scale):
    data = table(1)
    model = PNormPush(6, p=3, weak=weak, query_scale=scale).fit(data.X, data.y, qid=data.qid)
    before = np.zeros(len(data.y))
    for done, scores in zip(model.rounds_, model.staged_predict(data.X), strict=True):
        h = done.ranking.predict(data.X)
        np.testing.assert_allclose(scores, before + done.alpha * h, atol=1e-12)
        reached = loss_of(model, data, scores)
        assert reached / loss_of(model, data, before) == pytest.approx(done.Z, rel=1e-9)
        assert done.Z < 1
        for factor in (0.98, 1.02):
            assert loss_of(model, data, before + factor * done.alpha * h) > reached
        before = scores


def test_each_round_takes_the_stump_along_which_the_loss_falls_steepest():
    data = table(2)
    X = np.round(data.X, 1)
    model = PNormPush(5, p=4).fit(X, data.y, qid=data.qid)
    weight, ones = np.ones(len(X)), dict.fromkeys(np.unique(data.qid).tolist(), 1.0)
    stumps = [np.array(h) for h in plus.all_stumps(columns_of(X), (0,)).values()]
    before = np.zeros(len(X))
    for done, scores in zip(model.rounds_, model.staged_predict(X), strict=True):
        shares = twin.push_shares(data.y, data.qid, before, 4, weight, ones, equal_queries=True)
        pi = np.zeros(len(X))
        for (low, high), share in shares.items():
            pi[high] += share
            pi[low] -= share
        assert abs(done.r) == pytest.approx(max(abs(h @ pi) for h in stumps), abs=1e-9)
        before = scores


def test_a_large_power_lowers_the_largest_loss_of_a_row_and_power_one_the_sum():
    rng = np.random.default_rng(3)
    X, qid = rng.normal(size=(60, 3)), np.zeros(60)
    y = (X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=60) > 0.7).astype(float)
    found = {}
    for p in (1, 8):
        scores = PNormPush(60, p=p, weak="feature").fit(X, y, qid=qid).predict(X)
        rows = twin.offenders(y, qid).items()
        found[p] = [sum(math.exp(scores[i] - scores[j]) for j in better) for i, better in rows]
    assert max(found[8]) < 0.8 * max(found[1])
    assert sum(found[1]) < 0.8 * sum(found[8])


@pytest.mark.parametrize("weak", ["stump", "feature"])
def test_a_weight_of_two_is_the_row_twice(weak):
    data, rng = table(4), np.random.default_rng(0)
    times = rng.integers(0, 3, len(data.y))
    model = PNormPush(5, weak=weak, **({"max_bins": None} if weak == "stump" else {}))
    weighted = model.fit(data.X, data.y, qid=data.qid, sample_weight=times).predict(data.X)
    rows = np.repeat(np.arange(len(times)), times)
    repeated = model.fit(data.X[rows], data.y[rows], qid=data.qid[rows]).predict(data.X)
    if weak == "stump":  # a feature is scaled by all rows, also those of weight 0
        np.testing.assert_allclose(np.diff(weighted), np.diff(repeated), rtol=1e-7, atol=1e-9)
    heavy = model.fit(data.X, data.y, qid=data.qid, sample_weight=np.full(len(times), 2.0)).predict(data.X)
    twice = model.fit(np.r_[data.X, data.X], np.r_[data.y, data.y], qid=np.r_[data.qid, data.qid]).predict(data.X)
    np.testing.assert_allclose(heavy, twice, rtol=1e-9)


def test_thresholds_without_stumps_are_refused():
    data = table(4)
    with pytest.raises(PodiumError, match="max_bins goes with stumps only; leave it out with weak='feature'"):
        PNormPush(5, weak="feature", max_bins=9).fit(data.X, data.y, qid=data.qid)


def test_continuous_labels_are_ranked():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] - 0.5 * X[:, 1] + 0.1 * rng.normal(size=60)
    model = PNormPush(60, weak="feature").fit(X, y)
    assert evaluate(y, model.predict(X), measures="kendall", n_resamples=0)["kendall"] > 0.8


def test_what_cannot_be_pushed_is_refused_in_a_sentence():
    X, y = np.arange(6.0)[:, None], np.array([0, 1, 0, 1, 0, 1])
    with pytest.raises(PodiumError, match="so pairs must be None: give labels y, or use RankBoost"):
        PNormPush().fit(X, pairs=([0], [1]))
    with pytest.raises(PodiumError, match="so pairs must be None"):
        InfinitePush().fit(X, y, pairs=([0], [1]))
    for ranker in (PNormPush(), InfinitePush()):
        with pytest.raises(NoPairsError, match="the same label"):
            ranker.fit(X, np.ones(6))
    with pytest.raises(PodiumError, match="'p' parameter of PNormPush"):
        PNormPush(p=0.5).fit(X, y)
    for p in (float("inf"), 1001):
        with pytest.raises(PodiumError, match=f"p must be from 1 to 1,000; got {p}: .* which InfinitePush solves"):
            PNormPush(p=p).fit(X, y)
    with pytest.raises(PodiumError, match="There are 9 pairs, more than the 8 that max_pairs allows"):
        InfinitePush(max_pairs=8).fit(X, y)


def test_alpha_of_the_search_is_where_the_slope_is_zero():
    feedback = Graded(np.array([0.0, 1.0, 0.0, 1.0]), np.array([0, 4]), np.ones(4), np.ones(1))
    distribution, h = PushDistribution(feedback, 5.0), np.array([0.0, 1.0, 0.6, 0.4])
    alpha = alpha_numeric(WeakResult(None, h, float(h @ distribution.potentials())), distribution)
    assert distribution.moments(h, alpha).slope == pytest.approx(0.0, abs=1e-9)
    assert distribution.moments(h, alpha).log_value < 0


@examples(60, plain=20)
@given(rows=ROWS)
def test_pairs_of_offenders_are_all_pairs_with_their_shares(rows):
    if (columns := case(rows)) is None:
        return
    qid, labels, _, weight = columns
    query_weight = {0: 2.0, 1: 0.5, 2: 1.0}
    pairs = offender_pairs(graded(qid, labels, weight, query_weight))
    found = {
        (int(pairs.rows[i]), int(pairs.rows[j])): share
        for i, j, share in zip(pairs.low, pairs.high, pairs.share, strict=True)
    }
    expected = {}
    for i, better in twin.offenders(labels, qid).items():
        expected |= {(i, j): weight[j] / sum(weight[k] for k in better) for j in better}
    assert len(found) == len(pairs.low)
    assert found == pytest.approx(expected)
    queries = [q for q in (0, 1, 2) if any(qid[i] == q for i, _ in expected)]
    total = sum(query_weight[q] for q in queries)
    np.testing.assert_allclose(pairs.query_share, [query_weight[q] / total for q in queries])


def scaled(X, weight):
    """Features less their mean, over the greatest distance from it."""
    centred = X - np.average(X, axis=0, weights=weight)
    return centred / np.abs(centred).max(axis=0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("alpha", [0.003, 0.03])
def test_infinite_push_reaches_the_minimum(seed, alpha):
    rng = np.random.default_rng(seed)
    X, qid = rng.normal(size=(24, 4)) * [1.0, 10.0, 0.1, 1.0], np.repeat([0, 1, 2], 8)
    y = np.digitize(X[:, 0] + 0.05 * X[:, 1] + 0.3 * rng.normal(size=24), [-0.5, 0.5, 1.5])
    weight, query_weight = rng.choice([1.0, 2.0], 24), {0: 1.0, 1: 3.0, 2: 0.5}
    model = InfinitePush(alpha).fit(X, y, qid=qid, sample_weight=weight, query_weight=query_weight)
    features = scaled(X, weight * [query_weight[q] for q in qid])
    least = twin.infinite_minimum(features, y, qid, alpha, weight, query_weight)
    coef = np.linalg.lstsq(features, model.predict(X), rcond=None)[0]
    reached = twin.infinite_objective(y, qid, model.predict(X), coef, alpha, weight, query_weight)
    assert model.objective_ == pytest.approx(least, abs=1e-8)
    assert reached == pytest.approx(least, abs=1e-8)
    assert 0 <= model.gap_ < 1e-8
    assert 0 < np.count_nonzero(model.coef_) <= 4


def test_a_larger_penalty_keeps_fewer_features_and_a_large_one_none():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 8))
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=40) > 0.5).astype(float)
    used = [np.count_nonzero(InfinitePush(alpha).fit(X, y).coef_) for alpha in (1e-4, 0.1)]
    assert used[0] > used[1] > 0
    with pytest.warns(UserWarning, match="no linear ranker has a lower objective than none with alpha=2"):
        model = InfinitePush(2.0).fit(X, y)
    assert np.ptp(model.predict(X)) == 0
    assert model.objective_ == pytest.approx(1.0)


def test_infinite_push_fills_what_is_missing_with_the_mean():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 3))
    y = (X[:, 0] > 0.5).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = InfinitePush(0.01).fit(X, y)
    means = np.nanmean(X, axis=0)
    filled = np.where(np.isnan(X), means, X)
    np.testing.assert_allclose(model.averages_, means)
    np.testing.assert_allclose(model.predict(X), (filled - means) @ model.coef_, atol=1e-12)
    np.testing.assert_allclose(InfinitePush(0.01).fit(filled, y).predict(filled), model.predict(X), atol=1e-7)


def test_log_sum_is_that_of_exponentials_beyond_floats():
    assert log_sum(np.array([1000.0, 1000.0])) == pytest.approx(1000 + math.log(2))
    assert log_sum(np.array([-np.inf, -2000.0])) == -2000.0


def test_rows_of_weight_zero_are_left_out_of_the_infinite_push():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(30, 3))
    y = (X[:, 0] + 0.4 * rng.normal(size=30) > 0.5).astype(float)
    X[:5] *= 20.0
    weight = np.r_[np.zeros(5), np.ones(25)]
    whole, rest = InfinitePush(0.02).fit(X, y, sample_weight=weight), InfinitePush(0.02).fit(X[5:], y[5:])
    assert whole.objective_ == pytest.approx(rest.objective_, abs=1e-9)
    np.testing.assert_allclose(whole.coef_, rest.coef_, atol=1e-8)
