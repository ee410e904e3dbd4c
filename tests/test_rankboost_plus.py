"""RankBoost+: against the plain reference round by round, the paper's guarantees, independence, losses, bad input."""

import numpy as np
import pytest
from scipy.optimize import minimize

from podium import PodiumError, RankBoost, evaluate, make_preferences, make_search
from podium.measures import pair_losses
from podium.rankers.rankboost_plus import RankBoostPlus, exponential_losses, slope_bound
from reference import rankboost as plain
from reference import rankboost_plus as reference

pytestmark = pytest.mark.plain
both = pytest.mark.parametrize("search", ["efficient", "optimal"])


def small_data(seed, missing=0.2):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (24, 3)).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X, rng.integers(0, 3, 24).astype(float), np.repeat([0, 1, 2], 8), rng.integers(1, 4, 24).astype(float)


def columns_of(X):
    return [[None if np.isnan(x) else x for x in column] for column in X.T]


def story(model):
    return [(r.feature, r.threshold, r.abstain, r.alpha, r.Z, r.r) for r in model.rounds_]


@pytest.fixture(scope="module")
def taste():
    return make_preferences(40, 14, random_state=2)


@pytest.fixture(scope="module")
def search_data():
    return make_search(n_queries=10, docs_per_query=9, n_features=6, random_state=0)


@both
@pytest.mark.parametrize("seed", range(3))
def test_rounds_equal_the_reference(seed, search):
    X, y, qid, weight = small_data(seed)
    expected = reference.rank_boost_plus(plain.graded_triples(y, qid, weight), columns_of(X), 20, search)
    model = RankBoostPlus(20, search=search, max_bins=None).fit(X, y, qid=qid, sample_weight=weight)
    np.testing.assert_allclose(np.array(story(model)), np.array(expected), rtol=1e-6, atol=1e-9)


def test_weights_of_differences_and_netted_pairs_equal_the_reference():
    X, y, qid, weight = small_data(1)
    triples = plain.graded_triples(y, qid, weight, by_difference=True)
    model = RankBoostPlus(12, max_bins=None, pair_weight="differences").fit(X, y, qid=qid, sample_weight=weight)
    expected = reference.rank_boost_plus(triples, columns_of(X), 12, "efficient")
    np.testing.assert_allclose(np.array(story(model)), np.array(expected), rtol=1e-6, atol=1e-9)
    loss = exponential_losses(model, X, y, qid=qid, sample_weight=weight, pair_weight="differences")["E2"]
    np.testing.assert_allclose(loss, model.certificate()["bound"], rtol=1e-9)
    pairs = (np.array([0, 1, 1, 2, 2, 3, 4, 5]), np.array([1, 0, 2, 1, 3, 4, 5, 0]), np.arange(1.0, 9))
    netted = plain.netted(list(zip(pairs[1].tolist(), pairs[0].tolist(), pairs[2].tolist(), strict=True)))
    model = RankBoostPlus(12, max_bins=None, contradictions="net").fit(X, pairs=pairs)
    expected = reference.rank_boost_plus(netted, columns_of(X), 12, "efficient")
    np.testing.assert_allclose(np.array(story(model)), np.array(expected), rtol=1e-6, atol=1e-9)
    loss = exponential_losses(model, X, pairs=pairs, contradictions="net")["E2"]
    np.testing.assert_allclose(loss, model.certificate()["bound"], rtol=1e-9)


@both
def test_rounds_that_use_up_all_directions_equal_the_reference(search):
    X = np.random.default_rng(3).integers(0, 3, (6, 3)).astype(float)
    pairs = [(0, 1), (1, 2), (2, 3), (3, 4), (5, 4), (4, 0), (5, 1)]
    expected = reference.rank_boost_plus([(b, a, 1.0) for a, b in pairs], columns_of(X), 40, search)
    model = RankBoostPlus(40, search=search, max_bins=None).fit(X, pairs=tuple(np.array(pairs).T))
    assert len({done.ranking for done in model.rounds_}) >= 5, "the graph's rank is 5"
    np.testing.assert_allclose(np.array(story(model)), np.array(expected), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("abstain", [0, 1])
def test_fixed_abstention_equals_the_reference(abstain):
    X, y, qid, _ = small_data(5)
    expected = reference.rank_boost_plus(plain.graded_triples(y, qid), columns_of(X), 15, q_defs=(abstain,))
    model = RankBoostPlus(15, abstain=abstain, max_bins=None).fit(X, y, qid=qid)
    np.testing.assert_allclose(np.array(story(model)), np.array(expected), rtol=1e-6, atol=1e-9)


def test_labels_with_weighted_pairs_across_queries_equal_the_reference():
    X, y, qid, _ = small_data(7)
    rng = np.random.default_rng(1)
    pairs = (rng.permutation(24)[:10], rng.permutation(24)[:10], rng.random(10) + 0.1)
    kept = pairs[0] != pairs[1]
    pairs = tuple(side[kept] for side in pairs)
    triples = plain.graded_triples(y, qid) + list(zip(pairs[1], pairs[0], pairs[2], strict=True))
    expected = reference.rank_boost_plus(triples, columns_of(X), 15)
    model = RankBoostPlus(15, max_bins=None).fit(X, y, qid=qid, pairs=pairs)
    np.testing.assert_allclose(np.array(story(model)), np.array(expected), rtol=1e-6, atol=1e-9)


def test_product_of_z_is_the_loss_of_the_accumulated_weights():
    X, y, qid, weight = small_data(3)
    model = RankBoostPlus(60, max_bins=None).fit(X, y, qid=qid, sample_weight=weight)
    etas: dict = {}
    D1 = plain.initial_distribution(plain.graded_triples(y, qid, weight))
    for done, bound in zip(model.rounds_, model.certificate()["bound"], strict=True):
        etas[done.ranking] = etas.get(done.ranking, 0.0) + done.alpha
        rankings = [ranking.predict(X).tolist() for ranking in etas]
        assert bound == pytest.approx(reference.loss_2(D1, rankings, etas.values()), rel=1e-12)
    assert len(etas) < 60, "some ranking must have been used again"


@both
def test_loss_never_rises_and_bounds_the_ranking_loss(search, taste):
    better, worse, weight = taste.pairs
    model = RankBoostPlus(30, search=search).fit(taste.X, pairs=tuple(taste.pairs))
    certificate = model.certificate()
    assert np.all(certificate["Z"] <= 1)
    assert np.all(certificate["bound"] <= certificate["edge_bound"] * (1 + 1e-12))
    for scores, bound in zip(model.staged_predict(taste.X), certificate["bound"], strict=True):
        assert pair_losses(better, worse, weight, scores)[1] <= bound * (1 + 1e-12)


def test_edge_bound_is_that_of_theorem_2():
    X, y, qid, _ = small_data(4)
    D, etas, deltas = plain.initial_distribution(plain.graded_triples(y, qid)), {}, []
    model = RankBoostPlus(20, max_bins=None).fit(X, y, qid=qid)
    for done in model.rounds_:
        h, before = done.ranking.predict(X).tolist(), etas.get(done.ranking, 0.0)
        deltas.append(reference.slope(D, h, before))
        after = etas[done.ranking] = before + done.alpha
        _, D = reference.updated(
            D, lambda p, h=h, b=before, a=after: reference.omega(h, a, p) / reference.omega(h, b, p)
        )
    expected = np.exp(-0.5 * np.cumsum(np.square(deltas)))
    np.testing.assert_allclose(slope_bound(deltas), expected, rtol=1e-12)
    np.testing.assert_allclose(model.certificate()["edge_bound"], expected, rtol=1e-9)


def independent_case():
    """Five features of two values, independent over the pairs and none without reverse rankings."""
    X = np.random.default_rng(11).integers(0, 2, (14, 5)).astype(float)
    pairs = np.array([(i, j) for i in range(14) for j in range(14) if i != j and (i * j + i) % 3 < 2 and i < j]).T
    return X, pairs


@both
def test_rounds_converge_to_the_minimum_found_by_a_convex_solver(search):
    X, pairs = independent_case()
    D1 = {(int(worse), int(better)): 1 / pairs.shape[1] for better, worse in pairs.T}
    columns = X.T.tolist()
    assert np.linalg.matrix_rank(X[pairs[0]] - X[pairs[1]]) == 5
    found = minimize(lambda eta: reference.loss_2(D1, columns, eta), np.zeros(5), method="BFGS", options={"gtol": 1e-9})
    model = RankBoostPlus(3000, search=search).fit(X, pairs=tuple(pairs))
    weights = [sum(r.alpha for r in model.rounds_ if r.feature == f) for f in range(5)]
    assert model.certificate()["bound"][-1] == pytest.approx(found.fun, rel=1e-12)
    np.testing.assert_allclose(weights, found.x, atol=1e-6)
    assert model.stop_reason_ == "no weak ranking is better than chance"


def test_losses_of_rank_boost_follow_section_5():
    X, y, qid, _ = small_data(9)
    D1 = plain.initial_distribution(plain.graded_triples(y, qid))
    model = RankBoost(30, max_bins=None).fit(X, y, qid=qid)
    losses = exponential_losses(model, X, y, qid=qid)
    np.testing.assert_allclose(losses["E1"], model.certificate()["bound"], rtol=1e-12)
    members, etas, pairs = [], [], list(D1)
    for t, done in enumerate(model.rounds_):
        h = done.ranking.predict(X).tolist()
        beta = reference.combination(h, members, pairs)
        if beta is None:
            members, etas, beta = [*members, h], np.append(etas, 0.0), np.eye(len(members) + 1)[-1]
        etas = etas + done.alpha * beta
        assert losses["E2"][t] == pytest.approx(reference.loss_2(D1, members, etas), rel=1e-9)


def test_a_query_of_weight_two_counts_in_losses_as_the_query_twice():
    X, y, qid, _ = small_data(9)
    model = RankBoost(10, max_bins=None).fit(X, y, qid=qid)
    weighted = exponential_losses(model, X, y, qid=qid, query_weight={0: 1.0, 1: 2.0, 2: 1.0})
    rows = np.r_[np.arange(len(y)), np.flatnonzero(qid == 1)]
    twice = exponential_losses(model, X[rows], y[rows], qid=np.r_[qid, np.full(8, 3)])
    alike = exponential_losses(model, X, y, qid=qid)
    for name in ("E1", "E2"):
        np.testing.assert_allclose(weighted[name], twice[name], rtol=1e-12)
        assert np.abs(weighted[name] - alike[name]).max() > 1e-3


def test_rank_boost_plus_has_the_least_loss_2_and_rank_boost_the_least_loss_1(taste):
    pairs = tuple(taste.pairs)
    models = [RankBoost(30, alpha="z"), RankBoost(30, alpha="r"), RankBoostPlus(30)]
    losses = [exponential_losses(model.fit(taste.X, pairs=pairs), taste.X, pairs=pairs) for model in models]
    assert losses[2]["E2"][-1] < min(losses[0]["E2"][-1], losses[1]["E2"][-1])
    assert losses[0]["E1"][-1] < losses[2]["E1"][-1]


def test_losses_need_rankings_of_two_values(taste):
    model = RankBoost(3, weak="feature").fit(taste.X, pairs=tuple(taste.pairs))
    with pytest.raises(PodiumError, match="weak rankings of values 0 and 1 only"):
        exponential_losses(model, taste.X, pairs=tuple(taste.pairs))


@both
def test_features_constant_within_queries_change_nothing(search, search_data):
    X, y, qid = search_data.X, search_data.y, search_data.qid
    level = np.random.default_rng(5).random(len(np.unique(qid)))[np.unique(qid, return_inverse=True)[1]]
    with_level = np.column_stack([level, X])
    one = RankBoostPlus(20, search=search, max_bins=8).fit(X, y, qid=qid)
    two = RankBoostPlus(20, search=search, max_bins=8).fit(with_level, y, qid=qid)
    assert [r.feature + 1 for r in one.rounds_] == [r.feature for r in two.rounds_]
    np.testing.assert_allclose([r.alpha for r in one.rounds_], [r.alpha for r in two.rounds_], rtol=1e-7)


def test_a_feature_twice_changes_nothing(taste):
    one = RankBoostPlus(20).fit(taste.X, pairs=tuple(taste.pairs))
    two = RankBoostPlus(20).fit(np.column_stack([taste.X, -taste.X]), pairs=tuple(taste.pairs))
    np.testing.assert_allclose(story(one), story(two), rtol=1e-7)


@both
def test_row_order_and_threads_change_no_bit(search, taste, monkeypatch):
    monkeypatch.setattr("podium._compiled.CELLS_WORTH_THREADS", 0)
    monkeypatch.setattr("podium.pairs.explicit_part.PAIRS_PER_CHUNK", 100)
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(len(taste.X))
    place = np.argsort(shuffled)
    better, worse, weight = taste.pairs
    one = RankBoostPlus(20, search=search).fit(taste.X, pairs=(better, worse, weight))
    two = RankBoostPlus(20, search=search, n_jobs=3).fit(taste.X[shuffled], pairs=(place[better], place[worse], weight))
    assert story(one) == story(two)


def test_row_of_weight_two_is_the_row_twice():
    X, y, qid, weight = small_data(1)
    twice = np.repeat(np.arange(24), weight.astype(int))
    weighted = RankBoostPlus(12, max_bins=None).fit(X, y, qid=qid, sample_weight=weight)
    doubled = RankBoostPlus(12, max_bins=None).fit(X[twice], y[twice], qid=qid[twice])
    np.testing.assert_allclose(story(weighted), story(doubled), rtol=1e-7)


def test_first_round_is_that_of_rank_boost(taste):
    pairs = tuple(taste.pairs)
    one, two = (ranker.fit(taste.X, pairs=pairs).rounds_[0] for ranker in (RankBoost(1), RankBoostPlus(1)))
    assert one.ranking == two.ranking
    assert one.alpha == pytest.approx(two.alpha, rel=1e-12)


@both
def test_going_on_from_a_model_ends_where_one_fit_ends(search, taste):
    pairs = tuple(taste.pairs)
    half, whole = (RankBoostPlus(n, search=search).fit(taste.X, pairs=pairs) for n in (12, 25))
    gone_on = RankBoostPlus(25, search=search).fit(taste.X, pairs=pairs, init_model=half)
    assert story(gone_on) == story(whole)


def test_a_checkpoint_is_gone_on_from(taste, tmp_path):
    pairs, path = tuple(taste.pairs), tmp_path / "fit.checkpoint"
    RankBoostPlus(10, checkpoint=path).fit(taste.X, pairs=pairs)
    gone_on = RankBoostPlus(20, checkpoint=path).fit(taste.X, pairs=pairs)
    assert story(gone_on) == story(RankBoostPlus(20).fit(taste.X, pairs=pairs))


def test_early_stopping_keeps_the_best_round(search_data):
    X, y, qid = search_data.X, search_data.y, search_data.qid
    valid = make_search(n_queries=10, docs_per_query=9, n_features=6, random_state=1)
    model = RankBoostPlus(300, early_stopping_rounds=5, eval_metric="ndcg@5").fit(
        X, y, qid=qid, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid]
    )
    history = model.evals_result_["validation_0"]["ndcg@5"]
    assert len(history) == len(model.rounds_) == model.best_iteration_ + 5
    value = evaluate(valid.y, model.predict(valid.X), qid=valid.qid, measures="ndcg@5", n_resamples=0)["ndcg@5"]
    assert value == pytest.approx(max(history), abs=1e-9)


def test_too_many_pairs_are_refused_with_their_number_and_memory(search_data):
    with pytest.raises(PodiumError, match=r"There are [\d,]+ pairs, which need about .* MB .* max_pairs") as caught:
        RankBoostPlus(2, max_pairs=100).fit(search_data.X, search_data.y, qid=search_data.qid)
    y, qid = search_data.y, search_data.qid
    n_pairs = int(((y[:, None] > y) & (qid[:, None] == qid)).sum())
    assert f"{n_pairs:,} pairs" in str(caught.value)


def test_parameters_that_would_be_ignored_are_refused(taste):
    pairs = tuple(taste.pairs)
    with pytest.raises(PodiumError, match="needs an eval_set"):
        RankBoostPlus(2, early_stopping_rounds=3).fit(taste.X, pairs=pairs)
    with pytest.raises(PodiumError, match="init_model must be a fitted RankBoostPlus; got RankBoost"):
        RankBoostPlus(2).fit(taste.X, pairs=pairs, init_model=RankBoost(2).fit(taste.X, pairs=pairs))
    with pytest.raises(PodiumError, match="search"):
        RankBoostPlus(search="random").fit(taste.X, pairs=pairs)


def test_nothing_to_learn_is_said():
    with pytest.warns(UserWarning, match="all 1 features are constant"):
        RankBoostPlus().fit(np.ones((4, 1)), [0, 1, 0, 1])


@pytest.mark.plain
def test_perfect_ranking_ends_with_a_finite_weight():
    model = RankBoostPlus(50).fit(np.arange(4.0)[:, None] > 1, [0, 0, 1, 1])
    assert np.isfinite(model.rounds_[0].alpha)
    assert np.prod([r.Z for r in model.rounds_]) < 1e-5


def test_undefined_weights_of_rank_boost_stop_or_are_smoothed():
    X, y = np.array([[0.0, 1], [1, 0], [1, 1], [2, 0]]), np.array([0.0, 1, 2, 3])
    with pytest.warns(UserWarning, match=r"Nothing was learned.*: .* no reverse ranking.* consider undefined="):
        RankBoost(5, alpha="z", undefined="stop").fit(X, y)
    assert len(RankBoost(5, alpha="z", undefined="smooth").fit(X, y).rounds_) > 0
    with pytest.raises(PodiumError, match='goes with stumps and alpha="z" or "numeric"'):
        RankBoost(5, undefined="stop").fit(X, y)
