"""Fits on Dask: the local model, bit for bit, and what is refused."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from parts import assert_same, in_chunks, mixed_rows
from podium import MART, AdaBoostOR, LambdaMART, PodiumError, RankBoost, RankSVM, evaluate, make_search
from podium.distributed import fit, predict, team
from podium.distributed.held_part import _HELD
from podium.distributed.team_learning import TeamBoosting

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:distributed"),
]


@pytest.fixture(scope="module")
def rows():
    return mixed_rows()


@pytest.mark.parametrize("size", [10_000, 400, 90])
def test_a_fit_on_arrays_is_the_local_fit(client, rows, size):
    X, y, qid, weight = rows
    local = LambdaMART(4, subsample=0.8).fit(X, y, qid=qid, sample_weight=weight)
    chunks = in_chunks(size, X, y, qid, weight)
    found = fit(LambdaMART(4, subsample=0.8), *chunks[:2], qid=chunks[2], sample_weight=chunks[3], client=client)
    assert_same(found, local, X)
    scores = predict(found, chunks[0]) if size > 90 else found.predict(chunks[0])
    assert hasattr(scores, "dask")
    np.testing.assert_array_equal(scores.compute(), local.predict(X))


def test_sparse_blocks_are_regrouped_and_fitted_as_locally(client, rows):
    X, y, qid, weight = rows
    stored = ~np.isnan(X) & (np.random.default_rng(4).random(X.shape) < 0.5)
    sparse = sp.csr_array((X[stored], np.nonzero(stored)), X.shape)
    local = LambdaMART(2).fit(sparse, y, qid=qid, sample_weight=weight, eval_set=[(sparse, y)], eval_qid=[qid])
    places, labels, queries, weights = in_chunks(700, np.arange(len(y))[:, None], y, qid, weight)
    lazy = places.map_blocks(lambda own: sparse[own[:, 0]], dtype=float, chunks=(places.chunks[0], (X.shape[1],)))
    given = {"qid": queries, "sample_weight": weights, "client": client}
    found = fit(LambdaMART(2), lazy, labels, eval_set=[(lazy, labels)], eval_qid=[queries], **given)
    assert_same(found, local, sparse)
    np.testing.assert_array_equal(predict(found, lazy).compute(), local.predict(sparse))
    stumps = RankBoost(2, criterion="z").fit(sparse, y, qid=qid, sample_weight=weight)
    assert fit(RankBoost(2, criterion="z"), lazy, labels, **given).rounds_ == stumps.rounds_
    sets, options = {"eval_set": [(sparse, y)]}, {"n_estimators": 3, "random_state": 1}
    votes = AdaBoostOR(**options).fit(sparse, y, sample_weight=weight, **sets)
    del given["qid"]
    again = fit(AdaBoostOR(**options), lazy, labels, eval_set=[(lazy, labels)], **given)
    np.testing.assert_array_equal(again.predict(sparse), votes.predict(sparse))
    assert again.evals_result_ == votes.evals_result_
    assert again.training_summary_ == votes.training_summary_


def test_a_rankers_own_fit_takes_collections_and_refuses_what_cannot_be_given_with_them(client, rows):
    X, y, qid, _ = rows
    chunks = in_chunks(500, X, y, qid)
    with client.as_current():
        found = LambdaMART(2).fit(chunks[0], chunks[1], qid=chunks[2])
        with pytest.raises(PodiumError, match="group must not be given where X is a Dask collection"):
            LambdaMART(2).fit(chunks[0], chunks[1], group=[len(y)])
        with pytest.raises(PodiumError, match="sample_cost must not be given where X is a Dask collection"):
            AdaBoostOR(2).fit(chunks[0], chunks[1], sample_cost=np.ones((len(y), 5)))
        with pytest.raises(PodiumError, match=r"can be trained on Dask; got RankSVM"):
            RankSVM().fit(chunks[0], chunks[1], qid=chunks[2])
    assert_same(found, LambdaMART(2).fit(X, y, qid=qid), X)


def test_measures_of_collections_are_those_of_all_rows(client, rows):
    X, y, qid, weight = rows
    scores = X[:, 0] + np.round(weight, 1)
    measures = ["ndcg@5", "err@10", "map", "pair_loss"]
    expected = evaluate(y, scores, qid=qid, measures=measures)
    chunks = in_chunks(300, y, scores, qid)
    with client.as_current():
        found = evaluate(chunks[0], chunks[1], qid=chunks[2], measures=measures)
        with pytest.raises(PodiumError, match="group must not be given where y is a Dask collection"):
            evaluate(chunks[0], chunks[1], group=[len(y)])
    np.testing.assert_array_equal(found.queries, expected.queries)
    assert str(found) == str(expected)
    for name in measures:
        assert found[name] == expected[name]
        assert found.per_query(name) == expected.per_query(name)


def test_workers_that_may_not_talk_unencrypted_talk_by_dask_and_find_the_same(client, rows, monkeypatch):
    monkeypatch.setattr(team, "_host", lambda worker: None)
    X, y, qid, weight = rows
    chunks = in_chunks(400, X, y, qid, weight)
    found = fit(LambdaMART(2), *chunks[:2], qid=chunks[2], sample_weight=chunks[3], client=client)
    assert_same(found, LambdaMART(2).fit(X, y, qid=qid, sample_weight=weight), X)


def test_early_stopping_is_decided_as_locally(client, rows):
    X, y, qid, _ = rows
    measures = ["err@5", "ndcg@5", "map"]
    options = {"n_estimators": 30, "early_stopping_rounds": 2, "eval_metric": measures, "learning_rate": 0.5}
    other = make_search(n_queries=12, random_state=9)
    others = np.asarray(other.X)[:, :10], np.asarray(other.y).copy(), np.asarray(other.qid)
    others[1][others[2] < 11] = np.minimum(others[1][others[2] < 11], 2)  # the highest grade is in one part alone
    local = LambdaMART(**options).fit(X, y, qid=qid, eval_set=[(X, y), others[:2]], eval_qid=[qid, others[2]])
    assert local.best_iteration_ < 30
    chunks, eval_chunks = in_chunks(300, X, y, qid), in_chunks(100, *others)
    found = fit(
        LambdaMART(**options), *chunks[:2], qid=chunks[2], eval_set=[tuple(chunks[:2]), tuple(eval_chunks[:2])],
        eval_qid=[chunks[2], eval_chunks[2]], client=client,
    )  # fmt: skip
    assert_same(found, local, X)


def test_frames_and_parquet_files_name_their_columns(client, rows, tmp_path):
    import dask.dataframe as dd

    X, y, qid, weight = rows
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(10)])
    local = MART(3).fit(frame, y, qid=qid, sample_weight=weight)
    whole = frame.assign(label=y, query=qid, weight=weight).sort_values("query")
    lazy = dd.from_pandas(whole, npartitions=4, sort=False)
    names = {"y": "label", "qid": "query", "sample_weight": "weight"}
    assert_same(fit(MART(3), lazy, **names, client=client), local, frame)
    for number, part in enumerate(np.array_split(np.arange(len(whole)), 3)):
        whole.iloc[part].to_parquet(tmp_path / f"part-{number}.parquet")
    found = fit(MART(3), sorted(map(str, tmp_path.glob("*.parquet"))), **names, client=client)
    assert_same(found, local, frame)
    assert found.feature_names_in_.tolist() == frame.columns.tolist()
    scores = predict(found, dd.from_pandas(frame, npartitions=3)).compute()
    np.testing.assert_array_equal(scores.to_numpy(), local.predict(frame))


def test_a_fit_goes_on_from_a_model_and_a_checkpoint_of_other_parts(client, rows, tmp_path):
    X, y, qid, _ = rows
    path = tmp_path / "kept.podium"
    local = LambdaMART(5).fit(X, y, qid=qid)
    chunks = in_chunks(500, X, y, qid)
    first = fit(LambdaMART(3, checkpoint=path), *chunks[:2], qid=chunks[2], client=client)
    assert path.exists()
    again = in_chunks(10_000, X, y, qid)
    for ranker, before in ((LambdaMART(5, checkpoint=path), None), (LambdaMART(5), first)):
        found = fit(ranker, *again[:2], qid=again[2], init_model=before, client=client)
        np.testing.assert_array_equal(found.predict(X), local.predict(X))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of Dask, whose scheduler is gone
def test_a_lost_scheduler_leaves_a_checkpoint_that_another_cluster_goes_on_from(client, rows, tmp_path, monkeypatch):
    import dask
    from distributed import Client, LocalCluster

    X, y, qid, _ = rows
    path, chunks, step = tmp_path / "kept.podium", in_chunks(500, X, y, qid), TeamBoosting.step
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    brief = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
    with brief, LocalCluster(**options) as cluster, Client(cluster, timeout=1) as other:

        def lose_scheduler(self, number):
            if number == 3:
                cluster.sync(cluster.scheduler.close)
            return step(self, number)

        monkeypatch.setattr(TeamBoosting, "step", lose_scheduler)
        with pytest.raises(PodiumError, match="with a checkpoint, a new fit on another cluster goes on from it"):
            fit(LambdaMART(4, checkpoint=path), *chunks[:2], qid=chunks[2], client=other)
    numbers = []
    monkeypatch.setattr(TeamBoosting, "step", lambda self, number: (numbers.append(number), step(self, number))[1])
    found = fit(LambdaMART(4, checkpoint=path), *chunks[:2], qid=chunks[2], client=client)
    assert numbers == [3, 4]
    np.testing.assert_array_equal(found.predict(X), LambdaMART(4).fit(X, y, qid=qid).predict(X))


def test_nothing_is_held_after_a_fit(client, rows):
    X, y, qid, _ = rows
    chunks, before = in_chunks(500, X, y, qid), set(_HELD)
    fit(MART(1), *chunks[:2], qid=chunks[2], client=client)
    assert set(_HELD) <= before


def test_a_model_of_other_columns_is_not_gone_on_from(client, rows):
    X, y, qid, _ = rows
    chunks, other = in_chunks(500, X, y, qid), LambdaMART(1).fit(X[:, :4], y, qid=qid)
    with pytest.raises(PodiumError, match="init_model must have the columns of X: 10 expected, 4 given"):
        fit(LambdaMART(2), *chunks[:2], qid=chunks[2], init_model=other, client=client)


def test_split_queries_are_refused_by_name_where_they_may_not_be_regrouped(client, rows):
    X, y, qid, _ = rows
    order = np.argsort(qid, kind="stable")
    sizes = np.bincount(qid.astype(int))
    chunks = in_chunks(int(sizes[:2].sum()) + 1, X[order], y[order], qid[order])
    with pytest.raises(PodiumError, match=r"query 2 lies in parts \[0, 1\]"):
        fit(MART(1), *chunks[:2], qid=chunks[2], regroup=False, client=client)


def test_split_queries_are_refused_also_where_one_worker_has_all_of_their_parts(client, rows):
    X, y, qid, _ = rows
    order = np.argsort(qid, kind="stable")
    starts = np.searchsorted(qid[order], np.unique(qid))[::5]
    sizes = tuple(np.diff(np.append(starts, len(qid))).tolist())
    for part in range(1, len(sizes)):  # one of them is with the same worker as part 0
        split = qid[order]
        split[starts[part]] = split[0]
        chunks = in_chunks(sizes, X[order], y[order], split)
        with pytest.raises(PodiumError, match=rf"lies in parts \[0, {part}\]"):
            fit(MART(1), *chunks[:2], qid=chunks[2], regroup=False, client=client)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qid": None}, "qid must be given"),
        ({"y": None}, "y must be given"),
        ({"qid": "query"}, "qid names the column 'query', which X does not have"),
        ({"X": np.zeros((4, 2))}, "X must be a Dask array or dataframe"),
        ({"query_weight": [1.0]}, "query_weight must be a Dask collection"),
        ({"eval_qid": [None, None]}, "eval_qid must have one entry per eval_set: 0 expected, 2 given"),
        ({"X": "no/such/*.parquet"}, r"X must name Parquet files with columns; there are none at 'no/such/\*.parquet'"),
        ({"X": ["no/such.parquet"]}, "X names Parquet files that cannot be read"),
        ({"X": []}, "X must be a Dask array or dataframe, or paths of Parquet files; got list"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(client, rows, change, message):
    chunks = in_chunks(500, *rows[:3])
    given = {"X": chunks[0], "y": chunks[1], "qid": chunks[2], "client": client} | change
    with pytest.raises(PodiumError, match=message):
        fit(MART(1), given.pop("X"), given.pop("y"), **given)


def test_a_bad_label_is_named_by_part_and_row_and_other_rankers_are_refused(client, rows):
    from podium import ORBoost

    X, y, qid, _ = rows
    wrong = y.copy()
    wrong[403] = np.nan
    chunks = in_chunks(400, X, wrong, qid)
    with pytest.raises(PodiumError, match="Part 1: y must be finite; got nan in row 3"):
        fit(MART(1), *chunks[:2], qid=chunks[2], client=client)
    good = in_chunks(400, X, y, qid)
    given = {"eval_set": [tuple(chunks[:2])], "eval_qid": [chunks[2]]}
    with pytest.raises(PodiumError, match=r"eval_set\[0\]: Part 1: y must be finite; got nan in row 3"):
        fit(MART(1), *good[:2], qid=good[2], **given, client=client)
    with pytest.raises(PodiumError, match=r"eval_set\[0\] must have the columns of X: 10 columns .* 4 columns"):
        fit(MART(1), *good[:2], qid=good[2], eval_set=[(good[0][:, :4], good[1])], eval_qid=[good[2]], client=client)
    with pytest.raises(PodiumError, match="Only LambdaMART, MART"):
        fit(ORBoost(), *chunks[:2], qid=chunks[2], client=client)


def test_a_part_may_have_no_pairs_but_not_all_of_them(client, rows):
    X, y, qid, _ = rows
    flat = np.where(qid > 20, y, 1.0)
    order = np.argsort(qid, kind="stable")
    local = LambdaMART(2).fit(X, flat, qid=qid)
    chunks = in_chunks(500, X[order], flat[order], qid[order])
    assert_same(fit(LambdaMART(2), *chunks[:2], qid=chunks[2], client=client), local, X)
    alike = in_chunks(500, np.ones(len(y)))[0]
    with pytest.raises(PodiumError, match="nothing to rank: in no query of any part"):
        fit(LambdaMART(2), chunks[0], alike, qid=chunks[2], client=client)


def test_what_keeps_the_first_tree_from_growing_is_said_of_all_rows(client, rows):
    X, y, qid, _ = rows
    chunks = in_chunks(500, X, y, qid)
    with pytest.warns(UserWarning, match=f"{len(y)} rows cannot be split into two of min_child_samples=1000"):
        found = fit(MART(2, min_child_samples=1000), *chunks[:2], qid=chunks[2], client=client)
    assert not found.rounds_
    kinds = np.where(qid > 15, 1.0, 0.0)
    order = np.argsort(qid, kind="stable")
    parts = in_chunks(800, X[order], (kinds + y / 10 * (qid == 29))[order], qid[order])
    fit(MART(1, loss="logistic"), *parts[:2], qid=parts[2], client=client)
