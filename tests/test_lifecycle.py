"""What every boosted ranker does around its rounds: evaluation sets, early stopping, interruption, checkpoints."""

import copy
import errno
import os
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from podium import MART, AdaBoostOR, LambdaMART, ORBoost, PodiumError, RankBoost, RankBoostPlus, load, make_search
from podium.boosting import EvaluationSet, Monitor
from podium.model_file import read_model, write_model

TREES = {"max_leaves": 4, "min_child_samples": 3, "learning_rate": 0.5}
BOOSTED = {
    "RankBoost": RankBoost(12, eval_metric="ndcg@5"),
    "RankBoostPlus": RankBoostPlus(12, eval_metric="ndcg@5"),
    "LambdaMART": LambdaMART(12, eval_metric="ndcg@5", **TREES),
    "MART": MART(12, eval_metric="ndcg@5", **TREES),
    "AdaBoostOR": AdaBoostOR(n_estimators=12),
    "ORBoost": ORBoost(12),
}
ORDINAL = ("AdaBoostOR", "ORBoost")
RESUMABLE = {"RankBoost": RankBoost, "RankBoostPlus": RankBoostPlus}
"""Rankers that take a checkpoint."""

every = pytest.mark.parametrize("name", BOOSTED)
with_checkpoint = pytest.mark.parametrize("kind", RESUMABLE.values(), ids=RESUMABLE)


def three_grades(seed):
    table = make_search(n_queries=12, docs_per_query=8, n_features=5, random_state=seed)
    return table._replace(y=np.minimum(table.y, 2.0))


@pytest.fixture(scope="module")
def train():
    return three_grades(0)


@pytest.fixture(scope="module")
def noise():
    """Data without anything to learn, so that the measure is best early."""
    table = three_grades(1)
    return table._replace(y=np.random.default_rng(2).permutation(table.y))


def fit(name, train, noise, **parameters):
    """Fit a ranker with `noise` as its evaluation set."""
    model, sets = clone(BOOSTED[name]).set_params(**parameters), {"eval_set": [(noise.X, noise.y)]}
    if name in ORDINAL:
        return model.fit(train.X, train.y, **sets)
    return model.fit(train.X, train.y, qid=train.qid, **sets, eval_qid=[noise.qid])


def history_of(model):
    [values] = model.evals_result_["validation_0"].values()
    return values


def best_place(name, values):
    """Return the number of rounds with the best value: a cost is best where it is lowest."""
    return 1 + int(np.argmin(values) if name in ORDINAL else np.argmax(values))


@every
def test_an_evaluation_set_alone_leaves_all_rounds_in_use(name, train, noise):
    measured, plain = fit(name, train, noise), clone(BOOSTED[name])
    plain.fit(train.X, train.y, **({} if name in ORDINAL else {"qid": train.qid}))
    assert best_place(name, history_of(measured)) < len(measured.rounds_)
    assert measured.best_iteration_ == len(measured.rounds_) == len(plain.rounds_)
    np.testing.assert_array_equal(measured.predict(train.X), plain.predict(train.X))
    np.testing.assert_allclose([*measured.staged_predict(train.X)][-1], plain.predict(train.X), atol=1e-9)


@every
def test_early_stopping_uses_the_rounds_up_to_the_best(name, train, noise):
    model = fit(name, train, noise, early_stopping_rounds=3)
    assert model.best_iteration_ == best_place(name, history_of(model)) < len(model.rounds_)
    stages = [*model.staged_predict(train.X)]
    np.testing.assert_allclose(stages[model.best_iteration_ - 1], model.predict(train.X), atol=1e-9)


@every
@pytest.mark.parametrize("patience", [None, 100])
def test_interrupted_all_rounds_are_used_or_with_early_stopping_the_best(name, train, noise, patience, monkeypatch):
    observe = Monitor.observe

    def interrupt_late(self, done):
        if len(self.rounds) == 9:
            raise KeyboardInterrupt
        observe(self, done)

    monkeypatch.setattr(Monitor, "observe", interrupt_late)
    with pytest.warns(UserWarning, match="Interrupted: the 9 rounds learned so far are kept"):
        model = fit(name, train, noise, early_stopping_rounds=patience)
    assert len(model.rounds_) == len(history_of(model)) == 9
    assert model.best_iteration_ == (9 if patience is None else best_place(name, history_of(model)))


def test_interrupted_while_measuring_no_round_is_without_its_values(train, noise, monkeypatch):
    add, calls = EvaluationSet.add, iter(range(100))

    def interrupt_late(self, done):
        if next(calls) == 4:
            raise KeyboardInterrupt
        return add(self, done)

    monkeypatch.setattr(EvaluationSet, "add", interrupt_late)
    with pytest.warns(UserWarning, match="Interrupted: the 4 rounds"):
        model = fit("RankBoost", train, noise)
    assert len(model.rounds_) == len(history_of(model)) == model.best_iteration_ == 4


# Checkpoints


def lengths_written(monkeypatch):
    """Return a list that gets the number of rounds of each checkpoint that is written."""
    lengths = []

    def write(path, content):
        lengths.append(len(content["rounds"]["alpha"]))
        write_model(path, content)

    monkeypatch.setattr("podium.boosting.checkpoint.write_model", write)
    return lengths


def rounds_in(path):
    return len(read_model(path)["rounds"]["alpha"])


@with_checkpoint
def test_a_replay_writes_no_checkpoint(kind, train, tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    kind(25, checkpoint=path).fit(train.X, train.y, qid=train.qid)
    lengths = lengths_written(monkeypatch)
    kind(32, checkpoint=path).fit(train.X, train.y, qid=train.qid)
    assert lengths == [30, 32]


def test_a_replay_of_an_earlier_model_writes_no_checkpoint(train, tmp_path, monkeypatch):
    path, half = tmp_path / "fit.checkpoint", RankBoost(25).fit(train.X, train.y, qid=train.qid)
    lengths = lengths_written(monkeypatch)
    RankBoost(32, checkpoint=path).fit(train.X, train.y, qid=train.qid, init_model=half)
    assert lengths == [30, 32]


@with_checkpoint
def test_a_fit_killed_while_it_replays_loses_nothing(kind, train, tmp_path, monkeypatch):
    path, replay = tmp_path / "fit.checkpoint", Monitor.replay
    kind(25, checkpoint=path).fit(train.X, train.y, qid=train.qid)

    def fail_late(self, done):
        if len(self.rounds) == 15:
            raise MemoryError
        replay(self, done)

    monkeypatch.setattr(Monitor, "replay", fail_late)
    with pytest.raises(MemoryError):
        kind(40, checkpoint=path).fit(train.X, train.y, qid=train.qid)
    assert rounds_in(path) == 25


@with_checkpoint
def test_a_fit_of_fewer_rounds_keeps_the_longer_checkpoint(kind, train, tmp_path):
    path = tmp_path / "fit.checkpoint"
    kind(25, checkpoint=path).fit(train.X, train.y, qid=train.qid)
    before = path.read_bytes()
    few = kind(12, checkpoint=path).fit(train.X, train.y, qid=train.qid)
    assert path.read_bytes() == before
    assert few.rounds_ == kind(12).fit(train.X, train.y, qid=train.qid).rounds_


def test_early_stopping_ends_a_longer_checkpoint_where_it_ends_a_fit(train, noise, tmp_path):
    path = tmp_path / "fit.checkpoint"
    fit("RankBoost", train, noise, n_estimators=25, checkpoint=path)
    at_once, resumed = (fit("RankBoost", train, noise, early_stopping_rounds=3, checkpoint=p) for p in (None, path))
    assert resumed.rounds_ == at_once.rounds_
    assert (resumed.best_iteration_, resumed.stop_reason_) == (at_once.best_iteration_, at_once.stop_reason_)
    assert rounds_in(path) == 25


@pytest.mark.parametrize("after", [0, 2])
def test_a_full_disk_warns_once_and_the_fit_goes_on(after, train, tmp_path, monkeypatch):
    path, sync, calls = tmp_path / "fit.checkpoint", os.fsync, iter(range(100))

    def fill(number):
        if next(calls) >= after:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(number)

    monkeypatch.setattr("os.fsync", fill)
    with pytest.warns(UserWarning, match="is not kept") as caught:
        model = RankBoost(45, checkpoint=path).fit(train.X, train.y, qid=train.qid)
    assert [str(one.message) for one in caught] == [
        f"The checkpoint {path} is not kept (No space left on device); the fit goes on."
    ]
    assert model.rounds_ == RankBoost(45).fit(train.X, train.y, qid=train.qid).rounds_
    assert [file.name for file in tmp_path.iterdir()] == ([path.name] if after else [])
    assert not after or rounds_in(path) == 10 * after


def test_a_disk_that_has_room_again_gets_the_checkpoint(train, tmp_path, monkeypatch):
    path, sync, calls = tmp_path / "fit.checkpoint", os.fsync, iter(range(100))

    def fill_once(number):
        if next(calls) == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(number)

    monkeypatch.setattr("os.fsync", fill_once)
    with pytest.warns(UserWarning, match="is not kept"):
        RankBoost(20, checkpoint=path).fit(train.X, train.y, qid=train.qid)
    assert rounds_in(path) == 20


def test_a_folder_that_goes_away_warns_and_the_fit_goes_on(train, tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    observe = Monitor.observe

    def remove_early(self, done):
        if not self.rounds:
            folder.rmdir()
        observe(self, done)

    monkeypatch.setattr(Monitor, "observe", remove_early)
    with pytest.warns(UserWarning, match=r"is not kept \(The folder of .* does not exist\); the fit goes on"):
        model = RankBoost(12, checkpoint=folder / "file").fit(train.X, train.y, qid=train.qid)
    assert len(model.rounds_) == 12


def test_a_checkpoint_that_cannot_be_read_again_is_refused(train, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PodiumError, match=r"checkpoint must name a file that can be read again; .* is a pipe"):
        RankBoost(3, checkpoint=tmp_path / "pipe").fit(train.X, train.y, qid=train.qid)


# What scoring computes once


@pytest.fixture
def sums(monkeypatch):
    """Count the step functions that are computed."""
    from podium.stumps import additive_model as model

    calls, compute = [], model._sum_of_stumps
    monkeypatch.setattr(model, "_sum_of_stumps", lambda *given: (calls.append(1), compute(*given))[1])
    return calls


@pytest.mark.parametrize("name", ["RankBoost", "RankBoostPlus", "ORBoost"])
@pytest.mark.parametrize("patience", [None, 3])
def test_two_predictions_compute_the_steps_once(name, patience, train, noise, sums):
    model = fit(name, train, noise, early_stopping_rounds=patience)
    assert not sums
    first = model.predict(train.X)
    n_features = len({done.feature for done in model.rounds_[: model.best_iteration_]})
    np.testing.assert_array_equal(model.predict(train.X), first)
    assert len(sums) == n_features


def test_scores_follow_a_change_of_the_rounds_in_use(train, noise, tmp_path):
    model = fit("RankBoost", train, noise)
    stages = [*model.staged_predict(train.X)]
    for n_rounds in (12, 5, 7, 5, 12, 0):
        model.best_iteration_ = n_rounds
        expected = stages[n_rounds - 1] if n_rounds else np.zeros(len(train.y))
        np.testing.assert_allclose(model.predict(train.X), expected, atol=1e-12)


def test_scores_follow_a_second_fit_and_a_file(train, noise, tmp_path):
    model = RankBoost(6).fit(train.X, train.y, qid=train.qid)
    model.predict(train.X)
    model.fit(noise.X, -noise.X[:, 0])
    fresh = RankBoost(6).fit(noise.X, -noise.X[:, 0])
    np.testing.assert_array_equal(model.predict(train.X), fresh.predict(train.X))
    model.save(tmp_path / "used")
    fresh.save(tmp_path / "fresh")
    assert (tmp_path / "used").read_bytes() == (tmp_path / "fresh").read_bytes()
    np.testing.assert_array_equal(load(tmp_path / "used").predict(train.X), fresh.predict(train.X))


def test_copies_and_pickles_carry_no_steps_and_score_alike(train, noise):
    model = fit("RankBoost", train, noise, early_stopping_rounds=3)
    before = pickle.dumps(model)
    scores = model.predict(train.X)
    assert pickle.dumps(model) == before
    for other in (pickle.loads(before), copy.deepcopy(model), copy.copy(model)):
        np.testing.assert_array_equal(other.predict(train.X), scores)
    assert not hasattr(clone(model), "model_")
