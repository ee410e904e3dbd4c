"""What every boosted ranker does around its rounds: evaluation sets, early stopping, interruption; what is kept."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from boosted import BOOSTED, ORDINAL, best_place, every, fit, history_of, three_grades
from podium import RankBoost, load
from podium.boosting import EvaluationSet, Monitor


@pytest.fixture(scope="module")
def train():
    return three_grades(0)


@pytest.fixture(scope="module")
def noise():
    """Data without anything to learn, so that the measure is best early."""
    table = three_grades(1)
    return table._replace(y=np.random.default_rng(2).permutation(table.y))


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


# What scoring computes once


@pytest.fixture
def sums(monkeypatch):
    """Count the step functions that are computed."""
    from podium.stumps import additive_model as model

    calls, compute = [], model._sum_of_stumps
    monkeypatch.setattr(model, "_sum_of_stumps", lambda *given: (calls.append(1), compute(*given))[1])
    return calls


@pytest.mark.parametrize("name", ["RankBoost", "RankBoostPlus", "PNormPush", "ORBoost"])
@pytest.mark.parametrize("patience", [None, 3])
def test_two_predictions_compute_the_steps_once(name, patience, train, noise, sums):
    model = fit(name, train, noise, early_stopping_rounds=patience)
    assert not sums
    first = model.predict(train.X)
    n_features = len({done.feature for done in model.rounds_[: model.best_iteration_]})
    np.testing.assert_array_equal(model.predict(train.X), first)
    assert len(sums) == n_features


def test_scores_follow_a_change_of_the_rounds_in_use(train, noise):
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
