"""RankBoost's weights of pairs: differences of labels, netted contradictions, and the certificate of weighed data."""

import numpy as np
import pytest

from podium import RankBoost, make_preferences, make_search
from rankboost_data import columns_of, small_data, story
from reference import rankboost as reference

pytestmark = pytest.mark.plain


@pytest.fixture(scope="module")
def search():
    return make_search(n_queries=40, docs_per_query=15, n_features=8, random_state=0)


@pytest.fixture(scope="module")
def valid():
    return make_search(n_queries=40, docs_per_query=15, n_features=8, random_state=1)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("max_bins", [None, 255])
@pytest.mark.parametrize(("criterion", "alpha"), [("r", "r"), ("z", "z"), ("z", "numeric")])
def test_pairs_weighed_by_differences_of_labels_equal_the_reference(seed, max_bins, criterion, alpha):
    X, y, qid, weight = small_data(seed, continuous=seed % 2 == 1)
    triples = reference.graded_triples(y, qid, weight, by_difference=True)
    expected = reference.rank_boost(triples, columns_of(X), 6, criterion, alpha)
    model = RankBoost(6, criterion=criterion, alpha=alpha, max_bins=max_bins, pair_weight="differences")
    model.fit(X, y, qid=qid, sample_weight=weight)
    np.testing.assert_allclose(np.array(story(model)), np.array(expected), rtol=1e-9, atol=1e-12)


def test_unit_of_labels_does_not_matter_to_their_differences(search):
    one = story(RankBoost(8, pair_weight="differences").fit(search.X, search.y + 7, qid=search.qid))
    for unit in (1e-300, 1e300):
        two = RankBoost(8, pair_weight="differences").fit(search.X, unit * search.y, qid=search.qid)
        np.testing.assert_allclose(story(two), one, rtol=1e-9)


def test_contradictory_pairs_are_netted_on_request():
    data = make_preferences(40, 12, random_state=1)
    better, worse, weight = data.pairs
    doubled = (np.append(better, worse[:20]), np.append(worse, better[:20]), np.append(weight, 0.25 * weight[:20]))
    triples = list(zip(doubled[1].tolist(), doubled[0].tolist(), doubled[2].tolist(), strict=True))
    worse, better, weight = (np.array(side) for side in zip(*reference.netted(triples), strict=True))
    netted = RankBoost(8, contradictions="net").fit(data.X, pairs=doubled)
    alone = RankBoost(8).fit(data.X, pairs=(better, worse, weight))
    np.testing.assert_allclose(story(netted), story(alone), rtol=1e-9)
    assert story(netted) != story(RankBoost(8).fit(data.X, pairs=doubled))
    certificate = netted.certificate(data.X, pairs=doubled)
    np.testing.assert_allclose(certificate["bound"], netted.certificate()["bound"], rtol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_certificate_of_weighed_data_bounds_their_loss(seed):
    rng = np.random.default_rng(seed)
    X, y, qid, _ = small_data(seed, continuous=seed % 2 == 1)
    better, worse = rng.permutation(42)[:20].reshape(2, 10)
    given = {
        "sample_weight": rng.random(42) ** 6 * (rng.random(42) > 0.2),
        "query_weight": dict(enumerate(rng.random(3) ** 4 + 1e-3)),
        "pairs": (better, worse, rng.random(10) ** 4 + 1e-6),
    }
    kind = ("pairs", "queries", "differences")[seed % 3]
    criterion = "rz"[seed % 2]
    model = RankBoost(25, criterion=criterion, pair_weight=kind, max_bins=None).fit(X, y, qid=qid, **given)
    certificate = model.certificate(X, y, qid=qid, **given)
    assert np.all(certificate["loss"] <= certificate["bound"] * (1 + 1e-12))
    np.testing.assert_allclose(certificate["bound"], model.certificate()["bound"], rtol=1e-9)
    if kind == "queries":
        return
    weights = [given["query_weight"][q] for q in range(3)]
    triples = reference.graded_triples(y, qid, given["sample_weight"], weights, kind == "differences")
    triples += list(zip(worse, better, given["pairs"][2], strict=True))
    for scores, loss in zip(model.staged_predict(X), certificate["loss"], strict=True):
        assert loss == pytest.approx(reference.ranking_loss(triples, scores), rel=1e-9)


def test_certificate_bounds_the_loss_of_other_data_and_of_a_model_gone_on_with(search, valid):
    first = RankBoost(5).fit(search.X, search.y, qid=search.qid)
    model = RankBoost(10).fit(valid.X, valid.y, qid=valid.qid, init_model=first)
    for data in (search, valid):
        certificate = model.certificate(data.X, data.y, qid=data.qid)
        assert np.all(certificate["loss"] <= certificate["bound"] * (1 + 1e-12))


@pytest.mark.parametrize("criterion", ["r", "z"])
def test_order_of_rows_and_pairs_and_thread_count_change_no_bit(search, criterion, monkeypatch):
    monkeypatch.setattr("podium.rankers.rankboost.threads_for", lambda n_jobs, work: n_jobs)
    rng = np.random.default_rng(0)
    n_rows = len(search.y)
    high, low = rng.integers(0, n_rows, (2, 400))
    agreeing = (search.qid[high] != search.qid[low]) | (search.y[high] > search.y[low])
    better, worse, weight = high[agreeing], low[agreeing], rng.random(agreeing.sum()) + 0.1
    other = search.qid[better] != search.qid[worse]
    pairs = (
        np.append(better, worse[other]),
        np.append(worse, better[other]),
        np.append(weight, rng.random(other.sum())),
    )
    options = {"criterion": criterion, "pair_weight": "differences", "contradictions": "net"}
    expected = RankBoost(6, n_jobs=1, **options).fit(search.X, search.y, qid=search.qid, pairs=pairs)
    order, shuffle = rng.permutation(n_rows), rng.permutation(len(pairs[0]))
    place = np.argsort(order)
    shuffled = (place[pairs[0][shuffle]], place[pairs[1][shuffle]], pairs[2][shuffle])
    model = RankBoost(6, n_jobs=3, **options)
    model.fit(search.X[order], search.y[order], qid=search.qid[order], pairs=shuffled)
    assert story(model) == story(expected)
