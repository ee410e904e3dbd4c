"""RankBoost's lifecycle: evaluation sets, early stopping, going on, checkpoints, interruptions."""

import numpy as np
import pytest

from podium import (
    PodiumError,
    RankBoost,
    evaluate,
    make_search,
)
from podium.boosting.monitor import Monitor
from podium.stumps.stump import StumpLearner
from rankboost_data import story

pytestmark = pytest.mark.plain


@pytest.fixture(scope="module")
def search():
    return make_search(n_queries=14, docs_per_query=9, n_features=8, random_state=0)


@pytest.fixture(scope="module")
def valid():
    return make_search(n_queries=14, docs_per_query=9, n_features=8, random_state=1)


def test_evaluation_sets_follow_the_rounds(search, valid):
    shuffled = np.random.default_rng(0).permutation(len(valid.y))
    valid = valid._replace(X=valid.X[shuffled], y=valid.y[shuffled], qid=valid.qid[shuffled])
    sets, names = (search, valid), ["ndcg@10", "pair_loss"]
    model = RankBoost(8, eval_metric=names).fit(
        search.X, search.y, qid=search.qid, eval_set=[(one.X, one.y) for one in sets],
        eval_qid=[one.qid for one in sets],
    )  # fmt: skip
    assert {name: list(values) for name, values in model.evals_result_.items()} == {
        "validation_0": names,
        "validation_1": names,
    }
    for number, data in enumerate(sets):
        for t, scores in enumerate(model.staged_predict(data.X)):
            expected = evaluate(data.y, scores, qid=data.qid, measures=names, n_resamples=0)
            for name in names:
                value = model.evals_result_[f"validation_{number}"][name][t]
                assert value == pytest.approx(expected[name], abs=1e-9)


def test_early_stopping_keeps_the_best_round(search, valid):
    model = RankBoost(400, early_stopping_rounds=5, eval_metric="ndcg@5", learning_rate=1.0).fit(
        search.X, search.y, qid=search.qid, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid]
    )
    history = model.evals_result_["validation_0"]["ndcg@5"]
    assert len(history) == len(model.rounds_) == model.best_iteration_ + 5
    assert history[model.best_iteration_ - 1] == max(history)
    assert model.stop_reason_ == f"ndcg@5 of validation_0 was highest after round {model.best_iteration_}"
    assert model.score(valid.X, valid.y, qid=valid.qid) == pytest.approx(max(history), abs=1e-12)


def count_searches(monkeypatch):
    """Return a list that gets an entry for each round that is searched, not replayed."""
    search, searched = StumpLearner.search, []
    monkeypatch.setattr(StumpLearner, "search", lambda *given: searched.append(1) or search(*given))
    return searched


@pytest.mark.parametrize("options", [{}, {"criterion": "z"}, {"cumulative": True}])
def test_going_on_from_a_model_searches_the_missing_rounds_and_ends_where_one_fit_ends(search, options, monkeypatch):
    half = RankBoost(6, **options).fit(search.X, search.y, qid=search.qid)
    whole = RankBoost(14, **options).fit(search.X, search.y, qid=search.qid)
    searched = count_searches(monkeypatch)
    gone_on = RankBoost(14, **options).fit(search.X, search.y, qid=search.qid, init_model=half)
    assert story(gone_on) == story(whole)
    assert len(searched) == 8


def test_going_on_from_a_model_of_other_data_keeps_its_rounds(search, valid):
    first = RankBoost(4).fit(search.X, search.y, qid=search.qid)
    gone_on = RankBoost(8).fit(valid.X, valid.y, qid=valid.qid, init_model=first)
    alone = RankBoost(8).fit(valid.X, valid.y, qid=valid.qid)
    assert story(gone_on)[:4] == story(first)
    assert not {*story(gone_on)[4:]} & {*story(alone)}
    before, after = (list(model.staged_predict(valid.X)) for model in (first, gone_on))
    np.testing.assert_array_equal(after[:4], before)


@pytest.mark.parametrize("options", [{}, {"cumulative": True}, {"criterion": "z", "max_bins": None}])
def test_a_killed_fit_goes_on_from_its_checkpoint(search, tmp_path, monkeypatch, options):
    whole = RankBoost(15, **options).fit(search.X, search.y, qid=search.qid)
    path = tmp_path / "fit.checkpoint"
    killed = RankBoost(15, checkpoint=path, **options)

    observe = Monitor.observe

    def fail_late(self, done):
        if len(self.rounds) == 12:
            raise MemoryError
        observe(self, done)

    monkeypatch.setattr(Monitor, "observe", fail_late)
    with pytest.raises(MemoryError):
        killed.fit(search.X, search.y, qid=search.qid)
    monkeypatch.undo()
    searched = count_searches(monkeypatch)
    resumed = killed.fit(search.X, search.y, qid=search.qid)
    assert story(resumed) == story(whole)
    assert len(searched) == 5, "the checkpoint has the first ten rounds"


def test_a_checkpoint_of_other_data_is_refused(search, tmp_path):
    path = tmp_path / "fit.checkpoint"
    RankBoost(3, checkpoint=path).fit(search.X, search.y, qid=search.qid)
    with pytest.raises(PodiumError, match="belongs to other data or other parameters"):
        RankBoost(3, checkpoint=path).fit(search.X + 1, search.y, qid=search.qid)
    with pytest.raises(PodiumError, match="belongs to other data or other parameters"):
        RankBoost(3, checkpoint=path, criterion="z").fit(search.X, search.y, qid=search.qid)
    assert len(RankBoost(5, checkpoint=path).fit(search.X, search.y, qid=search.qid).rounds_) == 5


def test_interrupting_keeps_what_was_learned(search, monkeypatch):
    weigh, calls = RankBoost._weigh, iter(range(10_000))

    def interrupt_late(self, *arguments):
        if next(calls) == 7:
            raise KeyboardInterrupt
        return weigh(self, *arguments)

    monkeypatch.setattr(RankBoost, "_weigh", interrupt_late)
    model = RankBoost(50)
    with pytest.warns(UserWarning, match="Interrupted: the 7 rounds learned so far are kept"):
        model.fit(search.X, search.y, qid=search.qid)
    assert model.stop_reason_ == "it was interrupted"
    assert len(model.rounds_) == model.best_iteration_ == 7
    assert np.isfinite(model.predict(search.X)).all()


def test_going_on_refuses_other_columns_and_fewer_rounds(search):
    model = RankBoost(5).fit(search.X, search.y, qid=search.qid)
    with pytest.raises(PodiumError, match="init_model must have the columns of X: 3 expected, 8 given"):
        RankBoost(9).fit(search.X[:, :3], search.y, qid=search.qid, init_model=model)
    with pytest.raises(PodiumError, match="init_model has 5 rounds already"):
        RankBoost(4).fit(search.X, search.y, qid=search.qid, init_model=model)


def test_interrupting_before_the_first_round_interrupts(search, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(RankBoost, "_weigh", interrupt)
    with pytest.raises(KeyboardInterrupt):
        RankBoost(5).fit(search.X, search.y, qid=search.qid)
