"""All rankers × all laws: order, threads, storage, files, scikit-learn's own checks, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from peers import peer
from podium import (
    MART,
    CRank,
    GradientFreeBoost,
    InfinitePush,
    L1Boost,
    L2Boost,
    LambdaMART,
    LambdaRank,
    LinearPlackettLuce,
    NearestNeighbor,
    PairBoost,
    PlugInRanker,
    PNormPush,
    PodiumError,
    PreferenceRegression,
    RankBoost,
    RankBoostPlus,
    RankNet,
    RankOver,
    RankRLS,
    RankSVM,
    RSRank,
    TreeRank,
    TreeRankForest,
    TreeRankTournament,
    VectorSimilarity,
    _compiled,
    load,
)
from podium.rankers.boosted import Boosted

RANKERS = [
    RankBoost(n_estimators=8),
    RankBoost(n_estimators=8, criterion="z"),
    RankBoost(n_estimators=8, cumulative=True, alpha="numeric"),
    RankBoost(n_estimators=8, max_bins=None),
    RankBoost(n_estimators=8, pair_weight="queries", max_bins=4, learning_rate=0.5),
    RankBoost(n_estimators=8, weak="feature"),
    RankBoostPlus(n_estimators=8),
    RankBoostPlus(n_estimators=8, search="optimal", max_bins=None),
    LambdaMART(n_estimators=5, max_leaves=4, min_child_samples=5),
    LambdaMART(n_estimators=5, max_leaves=4, min_child_samples=5, delta="map", subsample=0.7, colsample_bytree=0.6),
    MART(n_estimators=5, max_leaves=4, min_child_samples=5),
    LambdaMART(n_estimators=5, max_leaves=4, min_child_samples=5, delta="localized", truncation=5),
    PNormPush(n_estimators=8),
    PNormPush(n_estimators=8, p=1.5, weak="feature", query_scale="sum", learning_rate=0.5),
    GradientFreeBoost(n_estimators=8, singular_every=3),
    PairBoost(n_estimators=8),
    PairBoost(n_estimators=8, surrogate="hinge", pairs="products", response="expit", select="updated"),
    PairBoost(n_estimators=5, surrogate="ramp", interval="closed", base="tree", max_leaves=4),
    L1Boost(n_estimators=5, base="stump"),
    L2Boost(n_estimators=8),
    RSRank(n_estimators=8, importance="ndcg"),
    RSRank(n_estimators=8, importance="none", delta=0.5, learning_rate=0.5, alpha=0.01),
    NearestNeighbor(),
    PreferenceRegression(),
    VectorSimilarity(),
    NearestNeighbor(n_neighbors=2),
    InfinitePush(alpha=0.01),
    LinearPlackettLuce(),
    TreeRank(max_leaves=6, leafrank_depth=1, pruning_folds=0),
    TreeRank(max_leaves=8, pruning_folds=3, min_child_weight=2.0),
    TreeRankForest(n_estimators=4, bootstrap=False, max_features=2, leafrank_depth=3),
    TreeRankForest(n_estimators=5, bootstrap=False, max_leaves=4, consensus="median"),
    TreeRankTournament(n_estimators=2, bootstrap=False, max_features=3, duels="adjacent", max_leaves=5),
    RankOver(max_leaves=6),
    CRank(max_leaves=8, pruning_folds=3),
    CRank(max_leaves=8, measure="triples", split="measure", pruning_folds=0),
    RankSVM(tol=1e-13),
    RankSVM(30.0, penalty="l1", tol=1e-13),
    RankSVM(kernel="rbf", tol=1e-13, pair_weight="queries"),
    RankRLS(),
    RankRLS(kernel="laplacian"),
    PlugInRanker(tol=1e-12),
    RankNet(8, hidden=(6,), batch_size=4, learning_rate=0.03),
    RankNet(8, hidden=(), tie_weight=0.3, pair_weight="pairs", scale="standard", learning_rate=0.03),
    LambdaRank(8, hidden=(5, 3), batch_size=4, learning_rate=0.03, dropout=0.1, scale="log1p"),
]

BOOSTED = [ranker for ranker in RANKERS if isinstance(ranker, Boosted)]
AT_ONCE = [ranker for ranker in RANKERS if not isinstance(ranker, Boosted)]
SHARED_OUT = [ranker for ranker in BOOSTED if not isinstance(ranker, L2Boost)]  # whose lines are products of matrices

NETS = RankNet | LambdaRank
ROUNDED = "gradients of rows are rounded to single precision, and batches count queries; see test_neural_rankers"
REPEATED_ROWS = "a repeated row takes a place of its own in the ranking, and so in the measure that weighs pairs"


def checks_that_cannot_apply(estimator):
    """Reason for each check of scikit-learn that contradicts what a ranker does."""
    if not isinstance(estimator, LambdaMART | NETS):
        return {}
    why = ROUNDED if isinstance(estimator, NETS) else REPEATED_ROWS
    return {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in ("dense", "sparse")}


@pytest.mark.filterwarnings("ignore:Nothing was learned")  # from labels that are noise
@parametrize_with_checks(
    [
        RankBoost(n_estimators=3),
        RankBoostPlus(n_estimators=3),
        LambdaMART(n_estimators=3, min_child_samples=1),
        MART(n_estimators=3, min_child_samples=1),
        PNormPush(n_estimators=3),
        InfinitePush(),
        GradientFreeBoost(n_estimators=3),
        PairBoost(n_estimators=3),
        PairBoost(n_estimators=3, surrogate="hinge", pairs="products", base="tree", min_child_samples=1),
        L1Boost(n_estimators=3),
        L2Boost(n_estimators=3),
        RSRank(n_estimators=3),
        NearestNeighbor(),
        PreferenceRegression(),
        VectorSimilarity(),
        LinearPlackettLuce(),
        TreeRank(min_child_weight=1.0, pruning_folds=0),
        TreeRankForest(n_estimators=3, bootstrap=False),
        TreeRankTournament(n_estimators=1, duels="adjacent", bootstrap=False),
        RankOver(),
        CRank(min_child_weight=1.0, pruning_folds=0),
        RankSVM(tol=1e-10),
        RankRLS(),
        PlugInRanker(),
        RankNet(3, hidden=(4,)),
        LambdaRank(3, hidden=(4,)),
    ],
    expected_failed_checks=checks_that_cannot_apply,
)
def test_estimator_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (120, 5)).astype(float)
    X[rng.random(X.shape) < 0.15] = np.nan
    y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1], nan=3) + rng.integers(0, 4, 120)
    return X, y, np.repeat(np.arange(10), 12)


each_ranker = pytest.mark.parametrize("ranker", RANKERS, ids=lambda r: str(r).replace("\n", ""))


@each_ranker
def test_row_and_query_order_change_no_bit(ranker, table):
    X, y, qid = table
    rng = np.random.default_rng(1)
    shuffled, names = rng.permutation(120), rng.permutation(10)
    one = clone(ranker).fit(X, y, qid=qid).predict(X)
    two = clone(ranker).fit(X[shuffled], y[shuffled], qid=names[qid][shuffled]).predict(X)
    np.testing.assert_array_equal(one, two)


@pytest.mark.filterwarnings("ignore:Nothing was learned")  # cells of less than min_child_weight
@each_ranker
def test_tiny_weights_give_the_model_of_their_ratios(ranker, table):
    weight, of_queries = np.arange(1, 121) % 7 / 8, (1.0 + table[2] % 3) / 4
    found = [
        clone(ranker).fit(*table[:2], qid=table[2], sample_weight=weight * tiny, query_weight=of_queries * tiny)
        for tiny in (1.0, 2.0**-600)
    ]
    np.testing.assert_array_equal(found[1].predict(table[0]), found[0].predict(table[0]))


@each_ranker
def test_a_rows_score_does_not_depend_on_the_rows_beside_it(ranker, table):
    rng = np.random.default_rng(2)
    X = np.column_stack([table[0], rng.normal(size=(120, 14))])
    model = clone(ranker).fit(X, *table[1:2], qid=table[2])
    rows = rng.permutation(np.repeat(np.arange(40), 3))
    alone = np.concatenate([model.predict(X[i : i + 1]) for i in range(40)])
    np.testing.assert_array_equal(model.predict(X[rows]), alone[rows])
    np.testing.assert_array_equal(model.predict(np.asfortranarray(X[rows])), alone[rows])


@pytest.fixture
def helpers(monkeypatch):
    """Number of helping threads of each shared work; small work is shared too."""
    started, run_beside = [], _compiled.run_beside

    def count(function, helper, n_helpers, *others):
        started.append(n_helpers)
        return run_beside(function, helper, n_helpers, *others)

    monkeypatch.setattr(_compiled, "CELLS_WORTH_THREADS", 0)
    monkeypatch.setattr(_compiled, "run_beside", count)
    return started


@pytest.mark.parametrize("ranker", SHARED_OUT, ids=lambda r: str(r).replace("\n", ""))
def test_thread_count_changes_no_bit(ranker, table, helpers):
    X, y, qid = table
    X = np.column_stack([X, np.random.default_rng(2).integers(0, 9, (120, 36))])  # three blocks of features
    one = clone(ranker).set_params(n_jobs=1).fit(X, y, qid=qid).predict(X)
    assert not helpers
    three = clone(ranker).set_params(n_jobs=3).fit(X, y, qid=qid).predict(X)
    assert max(helpers) > 0
    np.testing.assert_array_equal(one, three)


@each_ranker
def test_storage_of_features_changes_no_score(ranker, table):
    X, y, qid = table
    expected = clone(ranker).fit(X, y, qid=qid).predict(X)
    pandas = peer("pandas")
    frame = pandas.DataFrame(X, columns=list("abcde"))
    for given in (np.asfortranarray(X), X.astype(np.float32), frame):
        np.testing.assert_allclose(clone(ranker).fit(given, y, qid=qid).predict(given), expected, rtol=1e-9)


@each_ranker
def test_absent_entries_of_sparse_data_abstain_like_nan(ranker, table):
    X, y, qid = table
    X = X + 1
    stored = sp.csr_array(np.nan_to_num(X))
    expected = clone(ranker).fit(X, y, qid=qid).predict(X)
    np.testing.assert_allclose(clone(ranker).fit(stored, y, qid=qid).predict(stored), expected, rtol=1e-9)


@each_ranker
def test_group_sizes_say_the_same_as_ids(ranker, table):
    X, y, qid = table
    by_id = clone(ranker).fit(X, y, qid=qid).predict(X)
    np.testing.assert_array_equal(clone(ranker).fit(X, y, group=[12] * 10).predict(X), by_id)


@each_ranker
def test_saving_and_loading_change_nothing(ranker, table, tmp_path):
    X, y, qid = table
    fitted = clone(ranker).fit(X, y, qid=qid)
    fitted.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert type(loaded) is type(fitted)
    assert loaded.get_params() == fitted.get_params()
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.training_summary_ == fitted.training_summary_
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


def fails_by_magnitude(ranker):
    """Whether it computes with the values of features; the others fail for labels that make no pair."""
    return isinstance(ranker, PreferenceRegression | VectorSimilarity)


@pytest.mark.parametrize("ranker", AT_ONCE)
def test_a_failed_fit_leaves_the_fitted_ranker_as_it_was(ranker, table):
    X, y, qid = table
    fitted = clone(ranker).fit(X, y, qid=qid)
    before = fitted.predict(X)
    with pytest.raises(PodiumError):
        fitted.fit(np.where(np.isnan(X), 1e200, X)[:, :3], y if fails_by_magnitude(ranker) else y * 0, qid=qid)
    np.testing.assert_array_equal(fitted.predict(X), before)


@pytest.mark.parametrize("ranker", BOOSTED, ids=lambda r: str(r).replace("\n", ""))
def test_a_fit_that_fails_in_its_rounds_leaves_the_fitted_ranker_as_it_was(ranker, table):
    X, y, qid = table
    fitted = clone(ranker).fit(X, y, qid=qid)
    before = fitted.predict(X)
    with pytest.raises(PodiumError, match="is not defined on validation_0"):
        fitted.fit(X, 3 * y, qid=qid, eval_set=[(X, np.zeros(120))], eval_qid=[qid])
    np.testing.assert_array_equal(fitted.predict(X), before)


def lawful(ranker):
    """The ranker without what counts or draws rows whatever they weigh."""
    counting = {"min_child_samples": 1, "subsample": 1.0}
    return clone(ranker).set_params(**{name: counting[name] for name in counting if hasattr(ranker, name)})


BINNED = [one for one in RANKERS if hasattr(one, "max_bins") and getattr(one, "weak", "stump") != "feature"]
WITH_BINS = [lawful(ranker).set_params(max_bins=4) for ranker in BINNED]
each_law_abiding_ranker = pytest.mark.parametrize(
    "ranker", [*map(lawful, RANKERS), *WITH_BINS], ids=lambda r: str(r).replace("\n", "")
)

AVERAGES = "averages of features count the rows of a query as they are, so that a query of weight 0 counts in them"


def in_four_bins(seed=7):
    """Rows whose quantiles, and so bins, move where some rows or queries count several times."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(60, 3)), 2)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) + rng.normal(0, 0.5, 60), [-1.0, 0.0, 1.0])
    times = np.where(np.nan_to_num(X[:, 0]) > 0.4, 5, rng.integers(1, 3, 60))
    return X, y, np.repeat(np.arange(6), 10), times


@each_law_abiding_ranker
def test_a_weight_of_rows_equals_the_rows_as_often(ranker):
    if isinstance(ranker, LambdaMART | GradientFreeBoost) or getattr(ranker, "importance", "none") != "none":
        pytest.skip(REPEATED_ROWS)
    if isinstance(ranker, NETS):
        pytest.skip(ROUNDED)
    X, y, qid, times = in_four_bins()
    weighted = clone(ranker).fit(X, y, qid=qid, sample_weight=times)
    repeated = clone(ranker).fit(np.repeat(X, times, axis=0), np.repeat(y, times), qid=np.repeat(qid, times))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9, atol=1e-12)


@each_law_abiding_ranker
def test_a_weight_of_queries_equals_the_queries_as_often(ranker):
    if isinstance(ranker, NearestNeighbor | PreferenceRegression | VectorSimilarity):
        pytest.skip(AVERAGES)
    if isinstance(ranker, NETS):
        pytest.skip(ROUNDED)
    X, y, qid, _ = in_four_bins()
    often = {0: 6, 1: 2, 2: 1, 3: 1, 4: 1, 5: 2}
    copies = [(query, copy) for query, times in often.items() for copy in range(times)]
    rows = np.concatenate([np.flatnonzero(qid == query) for query, _ in copies])
    weighted = clone(ranker).fit(X, y, qid=qid, query_weight=often)
    repeated = clone(ranker).fit(X[rows], y[rows], qid=np.repeat(np.arange(len(copies)), 10))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9, atol=1e-12)


@each_ranker
def test_rank_gives_positions_within_queries(ranker, table):
    X, y, qid = table
    model = clone(ranker).fit(X, y, qid=qid)
    scores, places = model.predict(X), model.rank(X, qid=qid)
    for i in range(len(X)):
        assert places[i] == 1 + sum(scores[j] > scores[i] for j in range(len(X)) if qid[j] == qid[i])


@each_ranker
def test_ranker_finds_the_signal(ranker, table):
    X, y, qid = table
    assert -clone(ranker).fit(X, y, qid=qid).score(X, y, qid=qid) < 0.4


def test_score_weighs_queries_by_their_rows(table):
    X, y, qid = table
    model = RankBoost(4, eval_metric="disagreement").fit(X, y, qid=qid)
    weight = np.where(qid == 3, 1.0, 0.0)
    assert model.score(X, y, qid=qid, sample_weight=weight) == model.score(X[qid == 3], y[qid == 3])


def test_queries_route_through_scikit_learn(table):
    X, y, qid = table
    with config_context(enable_metadata_routing=True):
        ranker = RankBoost(4).set_fit_request(qid=True).set_score_request(qid=True)
        params = {"qid": qid, "groups": qid}
        scores = cross_validate(ranker, X, y, cv=GroupKFold(3), params=params, error_score="raise")["test_score"]
        np.testing.assert_allclose(scores, fold_scores(4, *table), rtol=1e-12)
        search = GridSearchCV(ranker, {"n_estimators": [1, 8]}, cv=GroupKFold(3), error_score="raise")
        search.fit(X, y, **params)
        means = [np.mean(fold_scores(n, *table)) for n in (1, 8)]
        np.testing.assert_allclose(search.cv_results_["mean_test_score"], means, rtol=1e-12)
        assert search.best_params_["n_estimators"] == (1, 8)[int(np.argmax(means))]
        pipeline = make_pipeline(MaxAbsScaler(), ranker)
        scaled = cross_validate(pipeline, X, y, cv=GroupKFold(3), params=params, error_score="raise")["test_score"]
        np.testing.assert_allclose(scaled, scores, rtol=1e-9)
        np.testing.assert_array_equal(
            pipeline.fit(X, y, qid=qid).predict(X) > 0, ranker.fit(X, y, qid=qid).predict(X) > 0
        )


def fold_scores(n_estimators, X, y, qid):
    """Scores on three parts of the queries of rankers that learned from the others."""
    return [
        RankBoost(n_estimators).fit(X[train], y[train], qid=qid[train]).score(X[test], y[test], qid=qid[test])
        for train, test in GroupKFold(3).split(X, y, qid)
    ]


def test_predict_refuses_other_columns(table):
    X, y, qid = table
    model = RankBoost(2).fit(X, y, qid=qid)
    with pytest.raises(PodiumError, match="X has 3 features, but RankBoost is expecting 5 features"):
        model.predict(X[:, :3])
    pandas = peer("pandas")
    named = RankBoost(2).fit(pandas.DataFrame(X, columns=list("abcde")), y, qid=qid)
    for columns, message in (("abcdf", "'e' is missing"), ("abced", "they stand in another order")):
        with pytest.raises(PodiumError, match=message):
            named.predict(pandas.DataFrame(X, columns=list(columns)))


@pytest.mark.parametrize("ranker", AT_ONCE)
def test_rankers_without_rounds_refuse_what_goes_with_rounds(ranker, table):
    X, y, qid = table
    with pytest.raises(PodiumError, match="rounds"):
        clone(ranker).fit(X, y, qid=qid, eval_set=[(X, y)], eval_qid=[qid])
