"""Search and cross-validation of scikit-learn by query: folds, splits, scorers, and qid without homework."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from podium import GengSelector, LambdaMART, OrdinalThresholds, PodiumError, RankBoost, RankSVM, evaluate, make_search
from podium.model_selection import QueryKFold, ranking_scorer, train_test_split
from profiles import examples

DATA = make_search(24, docs_per_query=8, n_features=5, random_state=0)
ROUTED = config_context(enable_metadata_routing=True)


@pytest.fixture
def routed():
    with config_context(enable_metadata_routing=True):
        yield


@examples(40)
@given(st.lists(st.integers(0, 9), min_size=10, max_size=60), st.integers(2, 4), st.booleans(), st.integers(0, 5))
def test_folds_hold_whole_queries_and_each_row_once(qid, n_splits, shuffle, seed):
    qid = np.array(qid)
    if len(np.unique(qid)) < n_splits:
        return
    folds = list(QueryKFold(n_splits, shuffle=shuffle, random_state=seed).split(np.zeros((len(qid), 1)), qid=qid))
    assert len(folds) == n_splits
    assert sorted(np.concatenate([test for _, test in folds]).tolist()) == list(range(len(qid)))
    for train, test in folds:
        assert not set(qid[train]) & set(qid[test])
        assert len(test)
        assert sorted([*train, *test]) == list(range(len(qid)))


@pytest.mark.parametrize("shuffle", [False, True])
def test_folds_do_not_hang_on_the_order_of_rows(shuffle):
    rng = np.random.default_rng(0)
    order = rng.permutation(len(DATA.y))
    splitter = QueryKFold(4, shuffle=shuffle, random_state=3)
    one = [set(DATA.qid[test]) for _, test in splitter.split(DATA.X, DATA.y, DATA.qid)]
    two = [set(DATA.qid[order][test]) for _, test in splitter.split(DATA.X[order], qid=DATA.qid[order])]
    assert one == two
    assert splitter.get_n_splits() == 4
    other = [
        set(DATA.qid[test]) for _, test in QueryKFold(4, shuffle=shuffle, random_state=4).split(DATA.X, qid=DATA.qid)
    ]
    assert (one == other) is not shuffle


def test_folds_are_of_about_equal_rows_without_shuffling():
    qid = np.repeat(np.arange(7), [6, 10, 10, 20, 20, 30, 60])
    sizes = [len(test) for _, test in QueryKFold(3).split(qid, qid=qid)]
    assert sizes == [60, 50, 46]
    dealt = QueryKFold(3, shuffle=True, random_state=0).split(qid, qid=qid)
    assert sorted(len(np.unique(qid[test])) for _, test in dealt) == [2, 2, 3]


def test_folds_that_cannot_be():
    with pytest.raises(PodiumError, match="n_splits must be"):
        next(QueryKFold(1).split(DATA.X, qid=DATA.qid))
    with pytest.raises(PodiumError, match="n_splits must not be above the number of queries, 2; got 5"):
        next(QueryKFold().split(np.zeros((4, 1)), qid=[1, 1, 2, 2]))
    with pytest.raises(PodiumError, match="QueryKFold needs the query of each row"):
        next(QueryKFold().split(DATA.X))


def test_a_split_keeps_queries_whole_in_arrays_of_every_kind():
    frame = pd.DataFrame(DATA.X)
    kinds = [DATA.X, frame, pl.DataFrame(DATA.X), sp.csr_array(DATA.X), DATA.y.tolist()]
    parts = train_test_split(*kinds, qid=DATA.qid, random_state=0)
    train, test = parts[-2:]
    assert not set(train) & set(test)
    assert len(np.unique(test)) == 6
    rows = np.isin(DATA.qid, test)
    for number, of_test in ((0, False), (1, True)):
        np.testing.assert_array_equal(parts[number], DATA.X[rows == of_test])
        np.testing.assert_array_equal(parts[2 + number].to_numpy(), DATA.X[rows == of_test])
        np.testing.assert_array_equal(parts[4 + number].to_numpy(), DATA.X[rows == of_test])
        np.testing.assert_array_equal(parts[6 + number].toarray(), DATA.X[rows == of_test])
        assert parts[8 + number] == DATA.y[rows == of_test].tolist()
    order = np.random.default_rng(1).permutation(len(DATA.y))
    assert set(train_test_split(qid=DATA.qid[order], random_state=0)[1]) == set(test)
    assert set(train_test_split(qid=DATA.qid, random_state=1)[1]) != set(test)
    assert len(np.unique(train_test_split(qid=DATA.qid, test_size=5, random_state=0)[1])) == 5


@pytest.mark.parametrize("size", [0, 24, 0.001, 0.999, 2.5, "half", True, -1])
def test_splits_that_leave_nothing_are_refused(size):
    with pytest.raises(PodiumError, match="test_size must"):
        train_test_split(DATA.X, qid=DATA.qid, test_size=size)


def test_arrays_of_other_lengths_are_refused():
    with pytest.raises(PodiumError, match="Array 1 must have as many rows as qid: 192 expected, 3 given"):
        train_test_split(DATA.X, [1, 2, 3], qid=DATA.qid)


@pytest.mark.parametrize("measure", ["ndcg@5", "pair_loss", "map"])
def test_scores_of_folds_are_those_of_evaluate(routed, measure):
    folds = QueryKFold(3, shuffle=True, random_state=0)
    ranker = RankBoost(5)
    found = cross_validate(
        ranker, DATA.X, DATA.y, cv=folds, scoring=ranking_scorer(measure), params={"qid": DATA.qid}, error_score="raise"
    )
    sign = -1 if measure == "pair_loss" else 1
    for (train, test), score in zip(folds.split(DATA.X, qid=DATA.qid), found["test_score"], strict=True):
        model = clone(ranker).fit(DATA.X[train], DATA.y[train], qid=DATA.qid[train])
        expected = evaluate(DATA.y[test], model.predict(DATA.X[test]), qid=DATA.qid[test], measures=measure)
        assert score == pytest.approx(sign * expected[measure], abs=1e-12)


def test_qid_is_routed_to_searches_pipelines_and_selectors_by_itself(routed):
    folds = QueryKFold(3)
    search = GridSearchCV(RankBoost(eval_metric="ndcg@5"), {"n_estimators": [1, 8]}, cv=folds, error_score="raise")
    search.fit(DATA.X, DATA.y, qid=DATA.qid)
    assert search.score(DATA.X, DATA.y, qid=DATA.qid) == pytest.approx(
        evaluate(DATA.y, search.predict(DATA.X), qid=DATA.qid, measures="ndcg@5")["ndcg@5"]
    )
    pipeline = make_pipeline(StandardScaler(), GengSelector(3), RankSVM(eval_metric="ndcg@5"))
    several = {"a": ranking_scorer("ndcg@5"), "b": ranking_scorer("pair_loss")}
    found = cross_validate(
        pipeline, DATA.X, DATA.y, cv=folds, scoring=several, params={"qid": DATA.qid}, error_score="raise"
    )
    plain = cross_val_score(pipeline, DATA.X, DATA.y, cv=folds, params={"qid": DATA.qid}, error_score="raise")
    np.testing.assert_allclose(found["test_a"], plain, atol=1e-12)
    grades = OrdinalThresholds(RankBoost(3))
    assert grades.get_metadata_routing().fit.requests["qid"] is True


def test_rankers_of_other_libraries_are_scored_too(routed):
    regression = LinearRegression()
    found = cross_val_score(
        regression,
        DATA.X,
        DATA.y,
        cv=QueryKFold(3),
        scoring=ranking_scorer("ndcg@5"),
        params={"qid": DATA.qid},
        error_score="raise",
    )
    assert np.all(found > 0)


def test_options_and_weights_of_a_scorer():
    model = RankBoost(3).fit(DATA.X, DATA.y, qid=DATA.qid)
    linear = ranking_scorer("ndcg@5", gain="linear")(model, DATA.X, DATA.y, qid=DATA.qid)
    assert linear == evaluate(DATA.y, model.predict(DATA.X), qid=DATA.qid, measures="ndcg@5", gain="linear")["ndcg@5"]
    weight = np.where(DATA.qid == DATA.qid[0], 1.0, 1e-30)
    heavy = ranking_scorer("ndcg@5")(model, DATA.X, DATA.y, qid=DATA.qid, sample_weight=weight)
    per_query = evaluate(DATA.y, model.predict(DATA.X), qid=DATA.qid, measures="ndcg@5").per_query("ndcg@5")
    assert heavy == pytest.approx(per_query[DATA.qid[0]])
    assert repr(ranking_scorer("NDCG@5")) == "ranking_scorer('ndcg@5')"
    with pytest.raises(PodiumError, match="unknown"):
        ranking_scorer("ndgc")


def test_folds_that_cut_queries_are_warned_of(routed):
    given = {"scoring": ranking_scorer("ndcg@5"), "params": {"qid": DATA.qid}, "error_score": "raise"}
    for ranker in (RankBoost(2), make_pipeline(StandardScaler(), RankBoost(2))):
        with pytest.warns(UserWarning, match="have other rows in the training data: the folds cut queries in two"):
            cross_val_score(ranker, DATA.X, DATA.y, cv=KFold(5, shuffle=True, random_state=0), **given)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cross_val_score(ranker, DATA.X, DATA.y, cv=QueryKFold(5), **given)
            cross_validate(ranker, DATA.X, DATA.y, cv=QueryKFold(5), **given, return_train_score=True)


def test_without_routing_groups_fold_and_qid_teaches_but_scorers_refuse():
    search = GridSearchCV(RankBoost(), {"n_estimators": [1, 8]}, cv=QueryKFold(3), error_score="raise")
    search.fit(DATA.X, DATA.y, groups=DATA.qid, qid=DATA.qid)
    with config_context(enable_metadata_routing=True):
        same = clone(search).fit(DATA.X, DATA.y, qid=DATA.qid)
    np.testing.assert_array_equal(
        search.best_estimator_.set_params(n_estimators=8).fit(DATA.X, DATA.y, qid=DATA.qid).predict(DATA.X),
        same.best_estimator_.set_params(n_estimators=8).fit(DATA.X, DATA.y, qid=DATA.qid).predict(DATA.X),
    )
    refused = GridSearchCV(
        RankBoost(), {"n_estimators": [1]}, cv=QueryKFold(3), scoring=ranking_scorer("map"), error_score="raise"
    )
    with pytest.raises(PodiumError, match="needs qid, the query of each row: switch on routing"):
        refused.fit(DATA.X, DATA.y, groups=DATA.qid, qid=DATA.qid)


def test_labels_in_other_row_orders_are_no_cut():
    rng = np.random.default_rng(0)
    y = rng.normal(size=len(DATA.y))
    model = LambdaMART(2, min_child_samples=5).fit(DATA.X, y, qid=DATA.qid)
    order = rng.permutation(len(y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranking_scorer("kendall")(model, DATA.X[order], y[order], qid=DATA.qid[order])


def test_halves_of_a_query_with_as_many_rows_are_a_cut():
    X, qid = np.arange(8.0).reshape(-1, 1), np.zeros(8)
    model = RankBoost(2).fit(X[:4], [0, 1, 0, 1], qid=qid[:4])
    with pytest.warns(UserWarning, match="1 of 1 queries to be scored, such as 0.0, have other rows"):
        ranking_scorer("map")(model, X[4:], [0, 2, 0, 1], qid=qid[4:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranking_scorer("map")(model, X[4:], [1, 0, -0.0, 1], qid=qid[4:])


@pytest.mark.parametrize("ranker", [LambdaMART(), RankBoost()])
def test_queries_reach_fit_and_score_unasked(ranker):
    requests = ranker.get_metadata_routing()
    assert requests.fit.requests["qid"] is True
    assert requests.score.requests["qid"] is True
