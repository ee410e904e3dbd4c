"""Every boosted ranker goes on: from an earlier model, from a checkpoint, or from nothing where nothing is learned."""

import contextlib
import errno
import os

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from boosted import BOOSTED, every, fit, fit_alone, story, three_grades
from podium import PodiumError, PRank, RankBoost, load
from podium.boosting import Checkpoint, Monitor
from podium.model_file import read_model


@pytest.fixture(scope="module")
def train():
    return three_grades(0)


@pytest.fixture(scope="module")
def noise():
    """Data without anything to learn, so that the measure is best early."""
    table = three_grades(1)
    return table._replace(y=np.random.default_rng(2).permutation(table.y))


@every
def test_going_on_from_a_model_ends_where_a_fit_at_once_does(name, train):
    whole, half = fit_alone(name, train), fit_alone(name, train, n_estimators=5)
    resumed = fit_alone(name, train, init_model=half)
    assert len(half.rounds_) == 5 < len(whole.rounds_)
    assert story(half) == story(whole, 5)
    assert story(resumed) == story(whole)
    np.testing.assert_array_equal(resumed.predict(train.X), whole.predict(train.X))
    assert resumed.stop_reason_ == whole.stop_reason_


@every
def test_a_fit_goes_on_from_the_rounds_that_predict_uses(name, train, noise):
    stopped = fit(name, train, noise, early_stopping_rounds=3)
    used = stopped.best_iteration_
    assert used < len(stopped.rounds_)
    same = fit_alone(name, noise, init_model=stopped, n_estimators=used)
    assert len(same.rounds_) == same.best_iteration_ == used
    assert story(same) == story(stopped, used)
    np.testing.assert_array_equal(same.predict(train.X), stopped.predict(train.X))
    further = fit_alone(name, noise, init_model=stopped, n_estimators=used + 1)  # of other data: another round
    assert story(further, used) == story(stopped, used)
    assert story(further) != story(stopped, used + 1)


@every
def test_too_few_rounds_in_all_are_refused_and_as_many_are_not(name, train):
    half = fit_alone(name, train, n_estimators=4)
    with pytest.raises(PodiumError, match=r"init_model has 4 rounds already; n_estimators.* got 3"):
        fit_alone(name, train, init_model=half, n_estimators=3)
    assert story(fit_alone(name, train, init_model=half, n_estimators=4)) == story(half)


@every
def test_a_model_of_another_kind_is_refused_unless_its_scores_are_a_start(name, train):
    other = fit_alone("ORBoost" if name != "ORBoost" else "AdaBoostOR", train, n_estimators=2)
    if name in ("LambdaMART", "MART"):
        model = fit_alone(name, train, init_model=other)
        scores = model.predict(train.X)
        other.fit(train.X[:, :3], 1 - train.y)
        np.testing.assert_array_equal(model.predict(train.X), scores)
        other = LinearRegression().fit(train.X, train.y)
    with pytest.raises(PodiumError, match="init_model must be a fitted"):
        fit_alone(name, train, init_model=other)


@every
def test_features_that_tell_nothing_are_warned_of_and_predictions_are_equal(name, train, tmp_path):
    flat = train._replace(X=np.ones((len(train.y), 3)))
    if name == "AdaBoostOR of perceptrons":
        model = fit_alone(name, flat)  # a constant grade is a perceptron too
    else:
        silent = name == "AdaBoostOR"  # and a stump
        warned = pytest.warns(UserWarning, match="Nothing was learned, so that all predictions are equal")
        with contextlib.nullcontext() if silent else warned:
            model = fit_alone(name, flat)
        assert silent or (model.rounds_, model.best_iteration_) == ([], 0)
    assert len(set(model.predict(train.X[:, :3]).tolist())) == 1
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(flat.X), model.predict(flat.X))
    assert loaded.stop_reason_ == model.stop_reason_


# Checkpoints


def rounds_in(path, model):
    """Return how many rounds a checkpoint of a fitted model has."""
    return len(model._rounds_from_content(read_model(path), path))


def lengths_written(monkeypatch):
    """Return a list that gets the number of rounds of each checkpoint that is kept."""
    lengths, save = [], Checkpoint.save

    def watch(self, rounds):
        before = self._n_kept
        save(self, rounds)
        lengths.extend([self._n_kept] if self._n_kept > before else [])

    monkeypatch.setattr(Checkpoint, "save", watch)
    return lengths


@every
def test_a_fit_killed_at_any_round_goes_on_from_its_checkpoint_bit_for_bit(name, train, noise, tmp_path, monkeypatch):
    whole, path, observe = fit(name, train, noise, n_estimators=24), tmp_path / "fit.checkpoint", Monitor.observe
    n_rounds = len(whole.rounds_)
    assert n_rounds > 10

    def kill(self, round_):
        observe(self, round_)
        if len(self.rounds) == 11:
            raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(Monitor, "observe", kill)
        with pytest.raises(MemoryError):
            fit(name, train, noise, n_estimators=24, checkpoint=path)
    assert rounds_in(path, whole) == 10
    lengths = lengths_written(monkeypatch)
    resumed = fit(name, train, noise, n_estimators=24, checkpoint=path)
    assert lengths == sorted({*range(20, n_rounds + 1, 10), n_rounds})  # the replay writes none
    assert story(resumed) == story(whole)
    assert resumed.evals_result_ == whole.evals_result_
    assert (resumed.best_iteration_, resumed.stop_reason_) == (whole.best_iteration_, whole.stop_reason_)
    np.testing.assert_array_equal(resumed.predict(noise.X), whole.predict(noise.X))


@every
def test_a_checkpoint_of_other_data_parameters_or_start_is_refused(name, train, noise, tmp_path):
    path, half = tmp_path / "fit.checkpoint", fit_alone(name, train, n_estimators=2)
    fit_alone(name, train, n_estimators=4, checkpoint=path)
    for data, given in ((noise, {}), (train, {"init_model": half}), (train, OTHER[name])):
        with pytest.raises(PodiumError, match="belongs to other data or other parameters"):
            fit_alone(name, data, checkpoint=path, **given)
    fit_alone(name, train, n_estimators=6, checkpoint=path, verbose=0)


OTHER = {
    "RankBoost": {"learning_rate": 0.5},
    "RankBoostPlus": {"max_bins": 7},
    "PNormPush": {"p": 3},
    "LambdaMART": {"truncation": 3},
    "RankNet": {"learning_rate": 0.5},
    "LambdaRank": {"delta": "map"},
    "MART": {"random_state": 1},
    "GradientFreeBoost": {"singular_every": 4},
    "AdaBoostOR": {"cost": "squared"},
    "AdaBoostOR of perceptrons": {"estimator": PRank(epochs=21)},
    "ORBoost": {"variant": "left-right"},
}
"""A parameter of each ranker that changes its rounds."""


@pytest.mark.parametrize("name", [name for name, model in BOOSTED.items() if hasattr(model, "random_state")])
def test_a_checkpoint_needs_a_seed(name, train, tmp_path):
    for seed in (None, np.random.RandomState(0)):
        with pytest.raises(PodiumError, match="checkpoint needs an integer as random_state"):
            fit_alone(name, train, checkpoint=tmp_path / "file", random_state=seed)


def test_a_replay_of_an_earlier_model_writes_no_checkpoint(train, tmp_path, monkeypatch):
    path, half = tmp_path / "fit.checkpoint", RankBoost(25).fit(train.X, train.y, qid=train.qid)
    lengths = lengths_written(monkeypatch)
    RankBoost(32, checkpoint=path).fit(train.X, train.y, qid=train.qid, init_model=half)
    assert lengths == [30, 32]


@every
def test_a_fit_killed_while_it_replays_loses_nothing(name, train, tmp_path, monkeypatch):
    path, replay = tmp_path / "fit.checkpoint", Monitor.replay
    before = fit_alone(name, train, n_estimators=9, checkpoint=path)

    def fail_late(self, round_):
        if len(self.rounds) == 5:
            raise MemoryError
        replay(self, round_)

    monkeypatch.setattr(Monitor, "replay", fail_late)
    with pytest.raises(MemoryError):
        fit_alone(name, train, n_estimators=12, checkpoint=path)
    assert rounds_in(path, before) == len(before.rounds_)


@every
@pytest.mark.parametrize("n_before", [0, 3])
def test_a_checkpoint_serves_the_rows_in_any_order_and_no_others(name, train, tmp_path, n_before):
    path, order = tmp_path / "fit.checkpoint", np.random.default_rng(5).permutation(len(train.y))
    moved = train._replace(X=np.asarray(train.X)[order], y=train.y[order], qid=train.qid[order])

    def resumed(data, n_estimators):
        before = fit_alone(name, data, n_estimators=n_before) if n_before else None
        return fit_alone(name, data, before, n_estimators=n_estimators, checkpoint=path)

    half, found = resumed(train, 6), resumed(moved, 12)
    assert story(found, len(half.rounds_)) == story(half)
    assert story(found) == story(fit_alone(name, train))
    others = train._replace(y=np.append(train.y[1:], train.y[:1]))
    with pytest.raises(PodiumError, match="belongs to other data"):
        resumed(others, 12)


@every
def test_a_fit_of_fewer_rounds_keeps_the_longer_checkpoint(name, train, tmp_path):
    path = tmp_path / "fit.checkpoint"
    fit_alone(name, train, checkpoint=path)
    before = path.read_bytes()
    few = fit_alone(name, train, n_estimators=7, checkpoint=path)
    assert path.read_bytes() == before
    assert story(few) == story(fit_alone(name, train, n_estimators=7))


@every
def test_early_stopping_ends_a_longer_checkpoint_where_it_ends_a_fit(name, train, noise, tmp_path):
    path = tmp_path / "fit.checkpoint"
    long = fit(name, train, noise, n_estimators=20, checkpoint=path)
    at_once, resumed = (fit(name, train, noise, early_stopping_rounds=3, checkpoint=p) for p in (None, path))
    assert story(resumed) == story(at_once)
    assert (resumed.best_iteration_, resumed.stop_reason_) == (at_once.best_iteration_, at_once.stop_reason_)
    assert rounds_in(path, long) == len(long.rounds_)


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
    assert not after or rounds_in(path, model) == 10 * after


def test_a_disk_that_has_room_again_gets_the_checkpoint(train, tmp_path, monkeypatch):
    path, sync, calls = tmp_path / "fit.checkpoint", os.fsync, iter(range(100))

    def fill_once(number):
        if next(calls) == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(number)

    monkeypatch.setattr("os.fsync", fill_once)
    with pytest.warns(UserWarning, match="is not kept"):
        model = RankBoost(20, checkpoint=path).fit(train.X, train.y, qid=train.qid)
    assert rounds_in(path, model) == 20


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
