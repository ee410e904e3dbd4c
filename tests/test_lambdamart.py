"""LambdaMART and MART as estimators: quality, laws, stopping, files, other models to go on from."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from podium import NoPairsError, ORStump, PodiumError, RankBoost, load, make_search
from podium.data.ranking_data import RankingData
from podium.measures import measure_queries
from podium.rankers.lambdamart import MART, LambdaMART
from reference import losses as twin

SMALL = {"n_estimators": 6, "min_child_samples": 3, "max_leaves": 7}
RANKERS = [
    LambdaMART(**SMALL),
    LambdaMART(**SMALL, delta="none"),
    LambdaMART(**SMALL, form="paper"),
    LambdaMART(**SMALL, normalize="both"),
    LambdaMART(**SMALL, delta="err", subsample=0.6, colsample_bytree=0.5, random_state=3),
    LambdaMART(**SMALL, quantized=False, max_depth=2, split_by="squares"),
    MART(**SMALL),
    MART(**SMALL, loss="logistic"),
    MART(**SMALL, loss="balanced", reg_lambda=1.0),
    MART(**SMALL, loss="cross_entropy"),
]
each_ranker = pytest.mark.parametrize("ranker", RANKERS, ids=lambda r: str(r).replace("\n", "").replace(" ", ""))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (240, 5)).astype(float)
    X[rng.random(X.shape) < 0.15] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1], nan=3) + rng.integers(0, 3, 240), [5, 8, 10])
    return X, y.astype(float), np.repeat(np.arange(20), 12)


def ndcg(model, X, y, qid):
    offsets = np.concatenate([[0], np.cumsum(np.unique(qid, return_counts=True)[1])])
    return measure_queries("ndcg@10", y, model.predict(X), offsets).mean


@each_ranker
def test_row_order_query_order_and_threads_change_no_bit(ranker, table, monkeypatch):
    for name, least in (("_compiled.CELLS_WORTH_THREADS", 0), ("trees.regression_tree.ROWS_PER_TASK", 50)):
        monkeypatch.setattr(f"podium.{name}", least)
    for name in ("SHARED_CELLS", "SHARED_ROWS"):  # so that threads share out what small data have
        monkeypatch.setattr(f"podium.trees.grower.{name}", 1)
    monkeypatch.setattr("podium.trees.grower.processors", lambda: 8)
    X, y, qid = table
    rng = np.random.default_rng(1)
    shuffled, names = rng.permutation(240), rng.permutation(20)
    one = clone(ranker).fit(X, y, qid=qid).predict(X)
    two = clone(ranker).set_params(n_jobs=3).fit(X[shuffled], y[shuffled], qid=names[qid][shuffled]).predict(X)
    np.testing.assert_array_equal(one, two)


@each_ranker
def test_ranker_finds_the_signal(ranker, table):
    X, y, qid = table
    model = clone(ranker).fit(X, y, qid=qid)
    chance = measure_queries("ndcg@10", y, np.zeros(240), np.arange(0, 241, 12)).mean
    assert ndcg(model, X, y, qid) > chance + 0.15
    assert model.score(X, y, qid=qid) == pytest.approx(ndcg(model, X, y, qid))


@each_ranker
def test_storage_changes_no_score(ranker, table):
    X, y, qid = table
    expected = clone(ranker).fit(X, y, qid=qid).predict(X)
    for given in (np.asfortranarray(X), X.astype(np.float32)):
        np.testing.assert_array_equal(clone(ranker).fit(given, y, qid=qid).predict(given), expected)


@pytest.mark.parametrize("ranker", RANKERS[6:9], ids=lambda r: str(r.loss))
def test_absent_entries_of_sparse_data_abstain_like_nan(ranker, table):
    X, y, qid = table
    stored = sp.csr_array(np.nan_to_num(X + 1))
    np.testing.assert_allclose(
        clone(ranker).fit(stored, y, qid=qid).predict(stored), clone(ranker).fit(X + 1, y, qid=qid).predict(X + 1)
    )


@each_ranker
def test_last_stage_is_the_prediction(ranker, table):
    X, y, qid = table
    model = clone(ranker).fit(X, y, qid=qid)
    stages = list(model.staged_predict(X))
    assert len(stages) == len(model.rounds_) == model.best_iteration_ == 6
    np.testing.assert_allclose(stages[-1], model.predict(X), rtol=1e-12, atol=1e-12)


def test_training_scores_equal_predictions_also_where_queries_are_drawn(table):
    X, y, qid = table
    kept = {}

    def keep(scores, feedback):
        kept["scores"], kept["labels"] = scores, feedback.labels
        return scores - feedback.labels, np.ones_like(scores)

    model = MART(4, loss=keep, subsample=0.5, min_child_samples=3).fit(X, y, qid=qid)
    before = list(model.staged_predict(X))[-2]
    np.testing.assert_allclose(np.sort(kept["scores"]), np.sort(before), rtol=1e-12)


def test_a_users_squared_loss_equals_the_built_in_one(table):
    X, y, qid = table
    mean = y.mean()
    own = MART(5, loss=lambda s, f: (s - (f.labels - mean), np.ones_like(s)), min_child_samples=3)
    built_in = MART(5, min_child_samples=3).fit(X, y, qid=qid)
    np.testing.assert_allclose(own.fit(X, y, qid=qid).predict(X) + mean, built_in.predict(X), rtol=1e-9)


@pytest.mark.parametrize(
    "ranker",
    [
        LambdaMART(8, min_child_weight=0, min_child_samples=3),
        MART(8, loss="logistic", min_child_weight=0, max_leaves=4),
    ],
)
def test_sigma_cancels(ranker, table):
    X, y, qid = table
    one = clone(ranker).set_params(sigma=1.0).fit(X, y, qid=qid).predict(X)
    two = clone(ranker).set_params(sigma=2.0).fit(X, y, qid=qid).predict(X)
    np.testing.assert_allclose(one, 2 * two, rtol=1e-5, atol=1e-6)


def test_rounding_keeps_equal_rows_that_are_far_below_a_unit():
    n = 600
    y, qid = np.tile([1.0, 0.0], n), np.repeat(np.arange(n), 2)
    wrong = np.random.default_rng(0).random(n) < 0.3
    X = np.column_stack([np.where(np.repeat(wrong, 2), 1 - y, y), np.zeros(2 * n)])
    X[:2] = [[2, 5], [2, 6]]
    weight = np.where(qid == 0, 2.0**26, 1.0)  # beside it no other query is a unit
    options = {"max_leaves": 4, "min_child_samples": 1, "min_child_weight": 0}
    rounded, exact = (
        LambdaMART(3, quantized=q, **options).fit(X, y, qid=qid, query_weight=weight) for q in (True, False)
    )
    assert [tree.n_leaves for tree in rounded.trees_] == [4, 4, 4]
    np.testing.assert_allclose(rounded.predict(X), exact.predict(X))


def test_early_stopping_keeps_the_best_round(table):
    X, y, qid = table
    model = LambdaMART(60, min_child_samples=3, early_stopping_rounds=5, eval_metric=["ndcg@3", "map"])
    rng = np.random.default_rng(2)
    noisy = rng.permutation(y)
    model.fit(X, y, qid=qid, eval_set=[(X, noisy)], eval_qid=[qid])
    values = model.evals_result_["validation_0"]["ndcg@3"]
    assert len(values) == len(model.rounds_) < 60
    assert model.best_iteration_ == 1 + int(np.argmax(values)) == len(values) - 5
    np.testing.assert_allclose(list(model.staged_predict(X))[model.best_iteration_ - 1], model.predict(X))
    assert "was highest after round" in model.stop_reason_


def test_going_on_from_a_model_equals_one_fit(table):
    X, y, qid = table
    whole = LambdaMART(7, min_child_samples=3).fit(X, y, qid=qid)
    half = LambdaMART(3, min_child_samples=3).fit(X, y, qid=qid)
    joined = LambdaMART(7, min_child_samples=3).fit(X, y, qid=qid, init_model=half)
    assert all(one is other for one, other in zip(half.trees_, joined.trees_, strict=False))  # not learned again
    np.testing.assert_allclose(joined.predict(X), whole.predict(X), rtol=1e-9)


@pytest.mark.parametrize("ranker", [LambdaMART, MART])
def test_more_rounds_to_go_on_from_than_in_all_are_refused(ranker, table):
    X, y, qid = table
    half = ranker(3, min_child_samples=3).fit(X, y, qid=qid)
    with pytest.raises(PodiumError, match=r"init_model has 3 rounds already; n_estimators.* at least that: got 2"):
        ranker(2, min_child_samples=3).fit(X, y, qid=qid, init_model=half)
    assert len(ranker(3, min_child_samples=3).fit(X, y, qid=qid, init_model=half).rounds_) == 3


def test_trees_go_on_from_the_ranks_of_an_ordinal_ranker(table):
    X, y, qid = table
    base = ORStump().fit(X, np.array(["a", "b", "c", "d"])[y.astype(int)])
    model = LambdaMART(1, min_child_samples=3).fit(X, y, qid=qid, init_model=base)
    np.testing.assert_allclose(model.predict(X) - model.trees_[0].predict(X), base.predict_rank(X), atol=1e-12)


def test_adaptation_starts_at_the_base_models_quality(table, tmp_path):
    X, y, qid = table
    base = RankBoost(5).fit(X, y, qid=qid)
    model = LambdaMART(3, min_child_samples=3).fit(X, y, qid=qid, init_model=base, eval_set=[(X, y)], eval_qid=[qid])
    first = next(iter(model.staged_predict(X)))
    np.testing.assert_allclose(first - model.trees_[0].predict(X), base.predict(X), atol=1e-12)
    assert model.evals_result_["validation_0"]["ndcg@10"][0] >= ndcg(base, X, y, qid) - 0.02
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


def test_explicit_pairs_are_learned_and_add_to_labels(table):
    X, y, qid = table
    better, worse = np.nonzero((y[:, None] > y) & (qid[:, None] == qid))
    pairs = LambdaMART(10, min_child_samples=3).fit(X, pairs=(better, worse))
    ranknet = LambdaMART(10, min_child_samples=3, delta="none").fit(X, y, qid=qid)
    np.testing.assert_allclose(pairs.predict(X), ranknet.predict(X), rtol=1e-3, atol=1e-4)
    both = LambdaMART(10, min_child_samples=3).fit(X, y, qid=qid, pairs=(better[:5], worse[:5]))
    assert not np.array_equal(both.predict(X), LambdaMART(10, min_child_samples=3).fit(X, y, qid=qid).predict(X))


def test_contradictory_pairs_are_netted_on_request(table):
    X, y, qid = table
    better, worse = np.nonzero((y[:, None] > y) & (qid[:, None] == qid))
    against = (np.append(better, worse[:50]), np.append(worse, better[:50]))
    netted = LambdaMART(5, min_child_samples=3, contradictions="net").fit(X, pairs=against)
    alone = LambdaMART(5, min_child_samples=3).fit(X, pairs=(better[50:], worse[50:]))
    np.testing.assert_allclose(netted.predict(X), alone.predict(X), rtol=1e-3, atol=1e-4)


def test_splits_by_squares_are_newtons_where_every_curvature_is_the_weight(table):
    X, y, qid = table
    weight = 1.0 + np.arange(240) % 3
    newton, squares = (MART(5, split_by=by).fit(X, y, qid=qid, sample_weight=weight) for by in ("newton", "squares"))
    np.testing.assert_array_equal(newton.predict(X), squares.predict(X))
    by = [LambdaMART(5, split_by=by, min_child_samples=3).fit(X, y, qid=qid).predict(X) for by in ("newton", "squares")]
    assert not np.allclose(*by)


def test_splits_by_squares_count_a_query_of_weight_two_twice(table):
    X, y, qid = table
    weight = 1.0 + qid % 2
    twice = np.concatenate([np.arange(240), np.flatnonzero(qid % 2)])
    names = np.concatenate([qid, 100 + qid[qid % 2 == 1]])
    model = LambdaMART(4, split_by="squares", min_child_samples=1, min_child_weight=9, max_leaves=6, quantized=False)
    one = clone(model).fit(X, y, qid=qid, query_weight=weight).predict(X)
    np.testing.assert_allclose(one, clone(model).fit(X[twice], y[twice], qid=names).predict(X), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", [{"delta": "none"}, {"form": "paper"}, {"form": "paper", "delta": "none"}])
def test_the_papers_forms_are_its_gradients_on_queries_longer_than_the_tuned_truncation(options):
    rng = np.random.default_rng(4)
    labels, scores, sigma = rng.choice([0.0, 1.0, 3.0], 45), rng.normal(size=45), 0.8
    data = RankingData.from_arrays(rng.random((45, 1)), labels)
    labels = data.labels
    found = LambdaMART(**options, sigma=sigma)._make_loss(data, 1, 0).derivatives(scores)[0]
    if options.get("delta") == "none":
        expected = twin.ranknet(labels, scores, sigma)
    else:
        expected = twin.lambdas(twin.pair_weights(labels, scores, "ndcg", None, np.ones(45)), scores, sigma)[0]
    np.testing.assert_allclose(found, expected, atol=2e-5 * abs(expected).max())


def test_autos_mean_the_tuned_lambda_and_may_be_written_out(table):
    X, y, qid = table
    written = LambdaMART(**SMALL, truncation=30, normalize="query").fit(X, y, qid=qid)
    np.testing.assert_array_equal(LambdaMART(**SMALL).fit(X, y, qid=qid).predict(X), written.predict(X))
    paper = LambdaMART(**SMALL, form="paper", truncation=None, normalize="none").fit(X, y, qid=qid)
    assert not np.array_equal(paper.predict(X), written.predict(X))
    shown = LambdaMART(**SMALL, truncation=None, normalize="none").fit(X, y, qid=qid)
    np.testing.assert_array_equal(paper.predict(X), shown.predict(X))


@pytest.mark.parametrize("split_by", ["newton", "squares"])
def test_monotone_constraints_hold_on_a_grid(split_by):
    data = make_search(n_queries=30, random_state=0)
    n_features = data.X.shape[1]
    model = LambdaMART(15, monotone_constraints=[1, -1] + [0] * (n_features - 2), split_by=split_by)
    model.fit(data.X, data.y, qid=data.qid)
    base = np.nanmedian(data.X, axis=0)
    for feature, sign in ((0, 1), (1, -1)):
        grid = np.tile(base, (50, 1))
        grid[:, feature] = np.linspace(np.nanmin(data.X[:, feature]), np.nanmax(data.X[:, feature]), 50)
        assert np.all(sign * np.diff(model.predict(grid)) >= 0)


def test_bins_hold_equal_weight_of_rows_and_queries():
    X, y, qid = np.arange(200.0)[:, None], np.tile([0.0, 1.0], 100), np.repeat([0, 1], 100)
    options = {"max_bins": 2, "max_leaves": 2, "min_child_samples": 1}
    cuts = {
        heavy: MART(1, **options).fit(X, y + qid, qid=qid, query_weight={0: 1.0, 1: heavy}).trees_[0].threshold[0]
        for heavy in (1.0, 3.0)
    }
    assert cuts == {1.0: 99.0, 3.0: 132.0}


def test_quantized_histograms_rank_as_well_as_exact_ones():
    train, test = (make_search(n_queries=60, random_state=seed) for seed in (1, 2))
    scores = {
        quantized: [
            LambdaMART(10, quantized=quantized, random_state=seed)
            .fit(train.X, train.y, qid=train.qid)
            .score(test.X, test.y, qid=test.qid)
            for seed in range(3)
        ]
        for quantized in (True, False)
    }
    assert abs(np.mean(scores[True]) - np.mean(scores[False])) < 0.02


def test_bad_input_is_refused_in_one_sentence(table):
    X, y, qid = table
    cases = [
        (LambdaMART(delta="dcg"), {}, "'delta' parameter"),
        (LambdaMART(max_leaves=1), {}, "'max_leaves' parameter"),
        (LambdaMART(monotone_constraints=[1]), {}, "one entry per feature, 5; got 1"),
        (LambdaMART(early_stopping_rounds=3), {}, "needs an eval_set"),
        (LambdaMART(), {"init_model": 3}, "must be a fitted ranker; got int"),
        (MART(), {"pairs": ([0], [1])}, "use LambdaMART for pairs"),
        (LambdaMART(gain="log"), {}, "'gain' parameter"),
        (MART(split_by="gini"), {}, "'split_by' parameter"),
        (LambdaMART(normalize=True), {}, "'normalize' parameter"),
        (LambdaMART(truncation="all"), {}, "'truncation' parameter"),
        (LambdaMART(form="paper", truncation=30), {}, 'truncation must be "auto" or None with form="paper".*got 30'),
        (LambdaMART(form="paper", normalize="both"), {}, "normalize must be \"auto\" or 'none' with .*got 'both'"),
    ]
    for ranker, given, message in cases:
        with pytest.raises(PodiumError, match=message):
            ranker.fit(X, y, qid=qid, **given)
    for ranker in (LambdaMART(), MART()):
        with pytest.raises(NoPairsError, match="the same label"):
            ranker.fit(X, np.ones(240), qid=qid)


def test_a_fit_without_a_split_warns_and_says_why(table):
    X, y, qid = table
    with pytest.warns(UserWarning, match="consider a smaller min_child_samples"):
        model = LambdaMART(min_child_samples=200).fit(X, y, qid=qid)
    assert np.all(model.predict(X) == 0)
    with pytest.warns(UserWarning, match="no split of any feature"):
        LambdaMART().fit(np.ones((240, 2)), y, qid=qid)
    with pytest.warns(UserWarning, match=r"these labels teach nothing, since no query has both relevant rows"):
        LambdaMART(delta="map").fit(X, y - 5, qid=qid)


def test_ranknets_cost_can_be_watched(table):
    X, y, qid = table
    model = LambdaMART(**SMALL, delta="none", eval_metric=["ranknet"])
    model.fit(X, y, qid=qid, eval_set=[(X, y)], eval_qid=[qid])
    offsets = np.arange(0, 241, 12)
    costs = [measure_queries("ranknet", y, scores, offsets).mean for scores in model.staged_predict(X)]
    np.testing.assert_allclose(model.evals_result_["validation_0"]["ranknet"], costs, rtol=1e-12)
    assert costs == sorted(costs, reverse=True)
    assert model.best_iteration_ == 6


@pytest.mark.parametrize("loss", [{"gain": "exp2"}, {"gain": "linear"}, {"delta": "err"}], ids=str)
def test_labels_below_zero_teach_about_what_labels_from_zero_do(table, loss):
    """The labels have a part in the canonical order, by which tied rows stand, so not the same model."""
    X, y, qid = table
    lowest = np.minimum.reduceat(y, np.arange(0, 240, 12)).repeat(12)
    above, below = (LambdaMART(**SMALL, **loss).fit(X, labels, qid=qid) for labels in (y - lowest, y - lowest - 10))
    quality = [ndcg(model, X, y, qid) for model in (above, below)]
    assert min(quality) > 0.85
    assert abs(quality[0] - quality[1]) < 0.05
    assert min(ndcg(model, X, y - lowest - 10, qid) for model in (above, below)) > 0.85


def test_a_query_of_more_rows_than_all_their_pairs_have_room_for_can_be_learned_from():
    rng = np.random.default_rng(3)
    X = rng.random((100_001, 1)).astype(np.float32)
    model = LambdaMART(1, max_leaves=2).fit(X, np.round(3 * X[:, 0]), group=[len(X)])
    assert model.trees_[0].n_leaves == 2
