"""Cross-validation by query: folds, values, standard errors, Ctrl-C, every kind of ranker and of features."""

import math
import signal

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from peers import peer
from podium import (
    AdaBoostOR,
    LambdaMART,
    OrdinalThresholds,
    PodiumError,
    RankBoost,
    RankSVM,
    cross_validate,
    evaluate,
    make_search,
)
from podium.tuning.held_out import LabelledRows, query_folds
from podium.tuning.interruption import noticing_interrupts
from profiles import examples


@pytest.fixture(scope="module")
def data():
    return make_search(n_queries=20, docs_per_query=8, random_state=0)


@pytest.mark.plain
@examples(60)
@given(st.integers(2, 40), st.integers(2, 10), st.integers(0, 5))
def test_folds_part_all_queries_evenly(n_queries, n_folds, seed):
    if n_folds > n_queries:
        with pytest.raises(PodiumError, match="n_folds must be at most the number of queries"):
            query_folds(n_queries, n_folds, seed)
        return
    folds = query_folds(n_queries, n_folds, seed)
    counts = np.bincount(folds, minlength=n_folds)
    assert len(folds) == n_queries == counts.sum()
    assert counts.max() - counts.min() <= 1
    assert folds.tolist() == query_folds(n_queries, n_folds, seed).tolist()


def test_each_fold_is_measured_by_a_model_that_has_not_seen_it(data):
    result = cross_validate(RankBoost(5), data.X, data.y, qid=data.qid, n_folds=4, measures=["ndcg@5", "pair_loss"])
    folds = query_folds(20, 4, 0)[np.unique(data.qid, return_inverse=True)[1]]
    for number, fold in enumerate(result.folds):
        test = folds == number
        model = RankBoost(5).fit(data.X[~test], data.y[~test], qid=data.qid[~test])
        scores = model.predict(data.X[test])
        assert result.scores[test].tolist() == scores.tolist()
        expected = evaluate(data.y[test], scores, qid=data.qid[test], measures=["ndcg@5", "pair_loss"])
        assert fold.means == {name: expected[name] for name in expected}
        assert (fold.number, fold.train_queries, fold.test_queries, fold.rounds) == (number + 1, 15, 5, 5)
    values = result.values("nDCG@5")
    assert result["ndcg@5"] == pytest.approx(np.mean(values))
    assert result.standard_error("ndcg@5") == pytest.approx(np.std(values, ddof=1) / 2)
    assert not result.interrupted


def test_rows_in_any_order_give_the_same_folds_and_values(data):
    order = np.random.default_rng(0).permutation(len(data.y))
    one = cross_validate(RankBoost(3), data.X, data.y, qid=data.qid, n_folds=3)
    two = cross_validate(RankBoost(3), data.X[order], data.y[order], qid=data.qid[order], n_folds=3)
    assert [fold.means for fold in one.folds] == [fold.means for fold in two.folds]
    assert one.scores[order].tolist() == two.scores.tolist()
    other = cross_validate(RankBoost(3), data.X, data.y, qid=data.qid, n_folds=3, random_state=1)
    assert [fold.means for fold in other.folds] != [fold.means for fold in one.folds]


@pytest.mark.parametrize(
    "ranker",
    [LambdaMART(3, min_child_samples=2), "RankSVM", RankSVM, AdaBoostOR(n_estimators=3), OrdinalThresholds(RankSVM())],
    ids=str,
)
def test_any_ranker_can_be_cross_validated(data, ranker):
    result = cross_validate(ranker, data.X, data.y, qid=data.qid, n_folds=2, measures="ndcg@5")
    assert 0.3 < result["ndcg@5"] <= 1
    assert not hasattr(ranker, "n_features_in_")
    table = str(result)
    assert ("rounds" in table) == (result.folds[0].rounds is not None)
    assert "standard error" in table


def test_ordinal_rankers_are_measured_by_their_ranks(data):
    result = cross_validate(AdaBoostOR(n_estimators=3), data.X, data.y, qid=data.qid, n_folds=2)
    assert not set(result.scores.tolist()) <= set(data.y.tolist())


def test_features_of_any_kind_give_the_same_values(data):
    pandas, polars, pyarrow = peer("pandas"), peer("polars"), peer("pyarrow")
    names = [f"f{j}" for j in range(data.X.shape[1])]
    columns = dict(zip(names, data.X.T, strict=True))
    kinds = [data.X, pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns), data.X.tolist()]
    given = [cross_validate(RankBoost(2), X, data.y, qid=data.qid, n_folds=2, measures="map") for X in kinds]
    assert len({one["map"] for one in given}) == 1
    sparse = cross_validate(RankBoost(2), sp.csc_array(data.X), data.y, qid=data.qid, n_folds=2, measures="map")
    assert 0 < sparse["map"] <= 1


def test_frames_and_plain_values_hold_the_folds(data):
    peer("pandas")
    peer("polars")
    result = cross_validate(RankBoost(2), data.X, data.y, qid=data.qid, n_folds=2, measures="map")
    frame = result.to_pandas()
    assert frame["map"].tolist() == result.values("map") == result.to_polars()["map"].to_list()
    content = result.to_dict()
    assert content["measures"]["map"] == {"mean": result["map"], "standard_error": result.standard_error("map")}
    assert [fold["means"]["map"] for fold in content["folds"]] == result.values("map")


@pytest.mark.parametrize("raised_by", ["fit", "signal"])
def test_ctrl_c_keeps_the_folds_that_are_done(data, raised_by):
    """A boosted fit hears the signal itself, ends early and keeps its rounds: such a fold counts as not done."""
    seen = []

    class Stopped(RankBoost):
        def _learn(self, *given):
            if len(seen) == 2:
                if raised_by == "fit":
                    raise KeyboardInterrupt
                signal.raise_signal(signal.SIGINT)
            super()._learn(*given)

    before = signal.getsignal(signal.SIGINT)
    result = cross_validate(Stopped(2), data.X, data.y, qid=data.qid, n_folds=4, measures="map", on_fold=seen.append)
    assert signal.getsignal(signal.SIGINT) is before
    assert (len(result.folds), result.n_folds, result.interrupted) == (2, 4, True)
    folds = query_folds(20, 4, 0)[np.unique(data.qid, return_inverse=True)[1]]
    assert np.isnan(result.scores).tolist() == (folds >= 2).tolist()
    assert "2 of 4 folds" in str(result)
    assert list(result.folds) == seen


def test_a_fit_that_swallows_ctrl_c_counts_as_not_done(data, monkeypatch):
    rounds = []

    def observe(self, round_):
        rounds.append(round_)
        if len(rounds) == 7:
            signal.raise_signal(signal.SIGINT)
        return Monitor.replay(self, round_)

    from podium.boosting import Monitor

    monkeypatch.setattr(Monitor, "observe", observe)
    result = cross_validate(RankBoost(5), data.X, data.y, qid=data.qid, n_folds=3, measures="map")
    assert len(result.folds) == 1
    assert math.isnan(result.standard_error("map"))


def test_ctrl_c_in_the_first_fold_is_said(data):
    class Stopped(RankBoost):
        def _learn(self, *given):
            raise KeyboardInterrupt

    with pytest.raises(PodiumError, match="Interrupted before the first fold was done"):
        cross_validate(Stopped(2), data.X, data.y, qid=data.qid)


@pytest.mark.plain
def test_only_the_main_thread_listens_for_ctrl_c():
    from threading import Thread

    seen = []

    def listen():
        with noticing_interrupts() as interruption:
            interruption.check()
            seen.append(interruption.seen)

    thread = Thread(target=listen)
    thread.start()
    thread.join()
    assert seen == [False]


@pytest.mark.plain
def test_bad_input_is_refused_in_a_sentence(data):
    def run(ranker=RankBoost, y=data.y, **options):
        return cross_validate(ranker, data.X, y, **{"qid": data.qid, **options})

    for options, message in (
        ({"ranker": "RankBost"}, "ranker must be one of .* .did you mean RankBoost"),
        ({"ranker": 3}, "ranker must be a ranker of Podium, its class or its name; got 3"),
        ({"ranker": RankBoost(0)}, "n_estimators"),
        ({"ranker": "ImportedTrees"}, "ImportedTrees"),
        ({"y": data.y[1:]}, "y must have one value per row"),
        ({"n_folds": 1}, "n_folds must be"),
        ({"n_folds": 21}, "n_folds must be at most the number of queries, 20; got 21"),
        ({"measures": "ndgc"}, "measure 'ndgc' is unknown"),
        ({"tie": 1}, "An option of cross_validate must be one of"),
        ({"qid": None}, "X must have at least two queries"),
        ({"random_state": -1}, "random_state"),
    ):
        with pytest.raises(PodiumError, match=message):
            run(**options)


def test_folds_leave_the_checkpoint_of_a_ranker_alone(data, tmp_path):
    ranker = RankBoost(2, checkpoint=tmp_path / "rounds")
    assert len(cross_validate(ranker, data.X, data.y, qid=data.qid, n_folds=2).folds) == 2
    assert not (tmp_path / "rounds").exists()
    assert ranker.checkpoint == tmp_path / "rounds"


@pytest.mark.plain
def test_values_of_a_measure_that_was_not_taken_are_refused(data):
    result = cross_validate(RankBoost(1), data.X, data.y, qid=data.qid, n_folds=2, measures="map")
    with pytest.raises(PodiumError, match="'mrr' was not measured; measured were map"):
        result["mrr"]


@pytest.mark.plain
def test_queries_by_sizes_or_by_ids():
    rows = LabelledRows.of(np.zeros((4, 1)), [1, 0, 1, 0], None, [2, 2])
    assert rows.qid.tolist() == [0, 0, 1, 1]
    assert rows.take(np.array([False, False, True, True])).qid.tolist() == [1, 1]
