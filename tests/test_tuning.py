"""Tuning: trials by a seed, resumed or not, pruned by the Monitor, ended by Ctrl-C."""

import json
import signal
import sys
import tomllib

import numpy as np
import pandas as pd
import pytest

import podium
from peers import peer
from podium import LambdaMART, PodiumError, RankBoost, RankSVM, evaluate, make_search, tune
from podium.boosting import Monitor
from podium.tuning import Choice, Real, Tuning, TuningTrial, Whole, parameter_search
from podium.tuning.held_out import query_folds
from podium.tuning.trial_pruning import PRUNED, REPORT_EVERY, PrunedMonitor

optuna = peer("optuna")

SPACE = {"learning_rate": Real(0.1, 1.0, log=True), "criterion": Choice(("r", "z"))}


@pytest.fixture(scope="module")
def data():
    return make_search(n_queries=25, docs_per_query=8, random_state=0)


@pytest.fixture(scope="module")
def valid():
    return make_search(n_queries=10, docs_per_query=8, random_state=1)


def facts(result):
    """Everything but the times."""
    return [(one.number, one.parameters, one.value, one.pruned, one.rounds) for one in result.trials]


def search(data, ranker=None, **options):
    """A quick search."""
    given = {"space": SPACE, "n_trials": 4, **options}
    return tune(RankBoost(12) if ranker is None else ranker, data.X, data.y, qid=data.qid, **given)


def test_the_first_trial_has_the_rankers_own_parameters(data):
    result = search(data, RankBoost(12, learning_rate=0.5))
    assert result.trials[0].parameters == {"learning_rate": 0.5, "criterion": "r"}
    assert len({str(one.parameters) for one in result.trials}) == 4


def test_a_trial_is_one_fit_measured_on_the_queries_held_out(data):
    result = search(data)
    held_out = (query_folds(25, 5, 0) == 0)[np.unique(data.qid, return_inverse=True)[1]]
    train, test = ~held_out, held_out
    for trial in result.trials:
        model = RankBoost(12, **trial.parameters, eval_metric="ndcg@10", early_stopping_rounds=20)
        given = {"eval_set": [(data.X[test], data.y[test])], "eval_qid": [data.qid[test]]}
        model.fit(data.X[train], data.y[train], qid=data.qid[train], **given)
        expected = evaluate(data.y[test], model.predict(data.X[test]), qid=data.qid[test], measures="ndcg@10")
        assert (trial.value, trial.rounds) == (expected["ndcg@10"], model.best_iteration_)


def test_the_same_seed_makes_the_same_trials_in_any_row_order(data):
    order = np.random.default_rng(0).permutation(len(data.y))
    moved = data._replace(X=data.X[order], y=data.y[order], qid=data.qid[order])
    assert facts(search(data)) == facts(search(data)) == facts(search(moved))
    assert facts(search(data, random_state=1)) != facts(search(data))


def test_the_seed_decides_on_what_is_tried_and_the_order_of_rows_not_on_the_data(data, valid, tmp_path):
    given = {"eval_set": [(valid.X, valid.y)], "eval_qid": [valid.qid], "n_trials": 3}
    one = search(data, storage=tmp_path / "trials", **given)
    assert [trial.parameters for trial in search(data, random_state=1, **given).trials[1:]] != [
        trial.parameters for trial in one.trials[1:]
    ]
    order = np.random.default_rng(0).permutation(len(data.y))
    moved = data._replace(X=data.X[order], y=data.y[order], qid=data.qid[order])
    assert search(moved, storage=tmp_path / "trials", **given).trials == one.trials


def test_an_evaluation_set_takes_the_place_of_held_out_queries(data, valid):
    given = {"eval_set": [(valid.X, valid.y)], "eval_qid": [valid.qid]}
    result = search(data, n_trials=1, **given)
    model = RankBoost(12, eval_metric="ndcg@10", early_stopping_rounds=20).fit(data.X, data.y, qid=data.qid, **given)
    expected = evaluate(valid.y, model.predict(valid.X), qid=valid.qid, measures="ndcg@10")["ndcg@10"]
    assert result.best_value == expected
    sizes = {"eval_set": [(valid.X, valid.y)], "eval_group": [np.bincount(valid.qid - valid.qid.min())]}
    assert search(data, n_trials=1, **sizes).best_value == expected


def test_losses_are_searched_downwards(data, tmp_path):
    result = search(data, measure="pair_loss", n_trials=6, storage=tmp_path / "trials")
    backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "trials"))
    study = optuna.load_study(study_name="podium", storage=optuna.storages.JournalStorage(backend))
    assert (study.direction.name, study.best_value) == ("MAXIMIZE", -result.best_value)
    assert not result.higher_is_better
    assert result.best_value == min(one.value for one in result.trials if not one.pruned)
    assert [one.value for one in result.ordered if not one.pruned] == sorted(
        one.value for one in result.trials if not one.pruned
    )


def test_rankers_without_rounds_are_tuned(data):
    result = tune(RankSVM, data.X, data.y, qid=data.qid, n_trials=3)
    assert "n_estimators" not in result.best_parameters
    assert all(one.rounds is None for one in result.trials)
    assert "rounds" not in str(result)


def test_ordinal_rankers_are_tuned(data):
    result = tune("ORBoost", data.X, data.y, qid=data.qid, n_trials=2, random_state=3)
    assert result.best_ranker().n_estimators == result.best.rounds


def test_the_best_ranker_reaches_the_best_value_again(data):
    result = search(data, RankBoost(12, max_bins=16, early_stopping_rounds=5))
    held_out = (query_folds(25, 5, 0) == 0)[np.unique(data.qid, return_inverse=True)[1]]
    model = result.best_ranker()
    assert model.max_bins == 16
    assert model.early_stopping_rounds is None
    model.fit(data.X[~held_out], data.y[~held_out], qid=data.qid[~held_out])
    scores = model.predict(data.X[held_out])
    assert evaluate(data.y[held_out], scores, qid=data.qid[held_out])["ndcg@10"] == result.best_value


def test_rankers_of_the_best_trials_come_best_first_and_each_once():
    def trial(number, value, rate, pruned=False):
        return TuningTrial(number, {"learning_rate": rate}, value, pruned, 10 * number, 0.1)

    trials = (trial(1, 0.5, 0.1), trial(2, 0.7, 0.2), trial(3, 0.7, 0.2), trial(4, 0.9, 0.3, True), trial(5, 0.6, 0.4))
    result = Tuning("RankBoost", "ndcg@10", True, trials, 5, {"max_bins": 16})
    found = [(one.learning_rate, one.n_estimators, one.max_bins) for one in result.best_rankers()]
    assert found == [(0.2, 20, 16), (0.4, 50, 16), (0.1, 10, 16)]
    assert [one.learning_rate for one in result.best_rankers(2)] == [0.2, 0.4]
    only_pruned = Tuning("RankBoost", "ndcg@10", True, trials[3:4], 1, {})
    assert only_pruned.best_ranker().learning_rate == 0.3
    with pytest.raises(PodiumError, match="n_best"):
        result.best_rankers(0)


def test_a_settings_file_holds_ranker_and_parameters(data, tmp_path):
    result = search(data, RankBoost(12, max_bins=16))
    result.save(tmp_path / "best.toml")
    content = tomllib.loads((tmp_path / "best.toml").read_text("utf-8"))
    assert content == {"ranker": "RankBoost", "parameters": result.best_parameters}
    assert content["parameters"]["max_bins"] == 16
    assert (tmp_path / "best.toml").read_text("utf-8") == result.toml()


def test_a_search_goes_on_from_its_file_as_if_it_had_not_stopped(data, tmp_path):
    whole = search(data, n_trials=6)
    first = search(data, n_trials=2, storage=tmp_path / "trials")
    made = []
    rest = search(data, n_trials=6, storage=tmp_path / "trials", on_trial=made.append)
    assert facts(first) == facts(whole)[:2]
    assert facts(rest) == facts(whole)
    assert [one.number for one in made] == [3, 4, 5, 6]
    again = search(data, n_trials=6, storage=tmp_path / "trials")
    assert facts(again) == facts(whole)
    assert all(json.loads(line) for line in (tmp_path / "trials").read_text("utf-8").splitlines())


def test_ctrl_c_keeps_the_trials_and_a_later_search_goes_on(data, tmp_path, monkeypatch):
    whole = search(data, n_trials=5)
    observed = []
    monkeypatch.setattr(Monitor, "observe", lambda self, round_: _interrupt(self, round_, observed))
    part = search(data, n_trials=5, storage=tmp_path / "trials")
    monkeypatch.undo()
    assert part.interrupted
    assert 1 <= len(part.trials) < 5
    assert facts(part) == facts(whole)[: len(part.trials)]
    assert f"{len(part.trials)} of 5 trials" in str(part)
    assert facts(search(data, n_trials=5, storage=tmp_path / "trials")) == facts(whole)


def _interrupt(monitor, round_, observed):
    """Press Ctrl-C in the 20th round of all."""
    observed.append(round_)
    if len(observed) == 20:
        signal.raise_signal(signal.SIGINT)
    monitor.replay(round_)


def test_ctrl_c_in_the_first_trial_is_said_and_the_next_search_starts_anew(data, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(parameter_search, "fit_on", stop)
    with pytest.raises(PodiumError, match="Interrupted before the first trial was done"):
        search(data, storage=tmp_path / "trials")
    monkeypatch.undo()
    assert facts(search(data, storage=tmp_path / "trials")) == facts(search(data))


def test_trials_that_fall_behind_are_pruned(data, valid, monkeypatch):
    """Rates so low that nothing is learned, after trials that learn."""
    values = iter([0.3, 0.3, 0.3, 0.3, 0.3, 1e-9, 0.3])

    class Given(Real):
        def suggest(self, trial, name):
            return trial.suggest_float(name, *[next(values)] * 2)

    class Seven(Given):
        pass

    given = {"eval_set": [(valid.X, valid.y)], "eval_qid": [valid.qid]}
    model = LambdaMART(60, max_leaves=4, min_child_samples=2, early_stopping_rounds=60)
    space = {"learning_rate": Seven(0.0, 1.0)}
    monkeypatch.setattr(parameter_search.ParameterSearch, "start", lambda self: {})
    result = tune(model, data.X, data.y, qid=data.qid, n_trials=7, space=space, **given)
    assert [one.pruned for one in result.trials] == [False] * 5 + [True, False]
    assert not result.best.pruned
    assert result.ordered[-1].number == 6
    assert "1 of them pruned" in str(result)


def test_a_pruned_trial_is_never_the_best():
    trials = TuningTrial(1, {}, 0.5, False, 3, 1.0), TuningTrial(2, {}, 0.9, True, 5, 1.0)
    result = Tuning("RankBoost", "map", True, trials, 2, {})
    assert (result.best.number, result.best_parameters) == (1, {"n_estimators": 3})


class Reported:
    """A trial that notes what it is told."""

    def __init__(self, prune_at=None):
        self.told, self.prune_at = [], prune_at

    def report(self, value, step):
        self.told.append((step, value))

    def should_prune(self):
        return self.told[-1][0] == self.prune_at


def test_the_monitor_reports_gains_and_stops_where_a_trial_is_pruned(data, valid):
    given = {"qid": data.qid, "eval_set": [(valid.X, valid.y)], "eval_qid": [valid.qid]}
    for metric, sign in (("pair_loss", -1), ("ndcg@10", 1)):
        trial = Reported(prune_at=2 * REPORT_EVERY)
        model = RankBoost(30, eval_metric=metric, early_stopping_rounds=30)
        model._make_monitor = lambda *rest, trial=trial: PrunedMonitor(trial, *rest)
        model.fit(data.X, data.y, **given)
        history = model.evals_result_["validation_0"][metric]
        assert len(history) == 2 * REPORT_EVERY
        steps = [REPORT_EVERY, 2 * REPORT_EVERY]
        assert trial.told == [(step, sign * history[step - 1]) for step in steps]
        assert model.stop_reason_ == PRUNED
    alone = RankBoost(7)
    alone._make_monitor = lambda *rest: PrunedMonitor(trial, *rest)
    assert len(alone.fit(data.X, data.y, qid=data.qid).rounds_) == 7


def test_a_trial_that_learns_nothing_is_a_value_and_no_warning(data):
    space = {"min_child_samples": Choice((20, 10_000))}
    result = tune(LambdaMART(2), data.X, data.y, qid=data.qid, n_trials=8, space=space)
    values = {one.parameters["min_child_samples"]: one.value for one in result.trials}
    assert values[10_000] != values[20]


def test_rounds_and_patience_are_set_where_they_are_not_given(data, monkeypatch):
    seen = []

    def note(model, *rest):
        seen.append((model.n_estimators, model.early_stopping_rounds, model.eval_metric, model.verbose))
        raise KeyboardInterrupt

    monkeypatch.setattr(parameter_search, "fit_on", note)
    for ranker in (RankBoost(verbose=1), RankBoost(40, early_stopping_rounds=3)):
        with pytest.raises(PodiumError, match="Interrupted"):
            search(data, ranker, measure="map")
    assert seen == [(300, 20, "map", 0), (40, 3, "map", 0)]


def test_other_settings_than_those_of_the_file_are_refused(data, tmp_path):
    path = tmp_path / "trials"
    search(data, n_trials=1, storage=path)
    other = data._replace(y=data.y[::-1].copy())
    moved = data.X.copy()
    moved[3, 2] += 1.0
    for given, what in (
        ({"ranker": RankBoost(13)}, "parameter"),
        ({"measure": "map"}, "measure"),
        ({"random_state": 1}, "random_state and data"),
        ({"space": {"criterion": Choice(("r", "z"))}}, "parameter and search space"),
        ({"data": other}, "data"),
        ({"data": data._replace(X=moved)}, "data"),
    ):
        with pytest.raises(PodiumError, match=f"holds trials with another (parameter and )?{what}; give the same"):
            search(**{"data": data, "storage": path, **given})
    assert len(search(data, RankBoost(12, n_jobs=1), n_trials=2, storage=path).trials) == 2


def test_a_frame_with_categories_is_searched_and_known_again(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=80), "site": pd.Categorical(rng.choice(["a", "b", "c"], 80))})
    y, qid = rng.integers(0, 3, 80), np.repeat(np.arange(8), 10)
    given = {"qid": qid, "space": {"max_leaves": Whole(2, 4)}, "n_trials": 1, "storage": tmp_path / "trials"}
    first = tune(LambdaMART(5), frame, y, **given)
    assert tune(LambdaMART(5), frame, y, **given).trials == first.trials
    other = frame.assign(site=frame["site"].cat.codes.map({0: "b", 1: "c", 2: "a"}).astype("category"))
    with pytest.raises(PodiumError, match="another data"):
        tune(LambdaMART(5), other, y, **given)


@pytest.mark.parametrize("content", ["{}\n", "[1]\n", "hello\n", "1\n", '{"op_code": "x"}\n', '{"op_code": 99}\n'])
def test_a_file_that_is_no_storage_is_refused_and_stays_as_it_was(data, tmp_path, content):
    (tmp_path / "notes").write_text(content)
    with pytest.raises(PodiumError, match="is no storage file of `tune`"):
        search(data, storage=tmp_path / "notes")
    assert (tmp_path / "notes").read_text() == content


def test_bad_input_is_refused_in_a_sentence(data, valid):
    for given, message in (
        (
            {"ranker": "AdaBoostOR", "space": None},
            "AdaBoostOR has no search space of its own: give space to tune; those",
        ),
        ({"space": {}}, "There is nothing to search"),
        ({"space": {"rate": Real(0, 1)}}, "A parameter of RankBoost must be one of"),
        ({"space": {"learning_rate": (0, 1)}}, "space must map parameters to Real, Whole or Choice; learning_rate"),
        (
            {"space": {"max_bins": Whole(8, 255), "weak": Choice(("stump", "feature"))}},
            "refused, as max_bins=8 and weak='feature' would be: max_bins goes with stumps only; leave it out",
        ),
        ({"space": {"max_bins": Whole(0, 9)}}, "refused, as max_bins=0 would be: The 'max_bins' parameter"),
        ({"n_trials": 0}, "n_trials must be"),
        ({"measure": "ndgc"}, "measure 'ndgc' is unknown"),
        ({"eval_set": [(valid.X, valid.y)] * 2}, r"eval_set must have one entry, such as .*; got 2\."),
        ({"eval_set": []}, r"eval_set must have one entry, such as .*; got 0\."),
        ({"eval_qid": [valid.qid]}, "eval_qid must have one entry per eval_set: 0 expected, 1 given"),
        ({"eval_group": [[5]]}, "eval_group must have one entry per eval_set: 0 expected, 1 given"),
        ({"eval_set": [(valid.X, valid.y)], "eval_qid": "q"}, "eval_qid must be a list with an entry per eval_set"),
        (
            {"eval_set": (valid.X, valid.y), "eval_qid": [valid.qid]},
            r"eval_set must be a list of \(X, y\), .*; got tuple",
        ),
        ({"eval_set": [(valid.X, valid.y, valid.qid)]}, r"got a tuple of 3 \(queries are given in eval_qid\)"),
        ({"eval_set": [5]}, "got an entry of type int"),
        ({"eval_set": [(valid.X, valid.y)]}, "eval_set must have at least two queries"),
        (
            {"eval_set": [(valid.X[:, 0], valid.y)], "eval_qid": [valid.qid]},
            r"eval_set must be a matrix .* got an array of 1 dimension\(s\)",
        ),
        ({"storage": "no/trials"}, "The folder of no/trials does not exist"),
    ):
        with pytest.raises(PodiumError, match=message):
            search(data, **given)
    for X in (data.X[:, 0], data.X[:, 0].tolist(), data.X[None], 5):
        with pytest.raises(PodiumError, match=r"X must be a matrix of rows and features; got an array of \d dim"):
            tune(RankBoost(2), X, data.y, qid=data.qid, n_trials=1)
    for make, message in (
        (lambda: Real(1.0, 1.0), "A range needs low < high; got 1.0 to 1.0"),
        (lambda: Whole(0, 5, log=True), "A range needs 0 < low < high; got 0 to 5"),
        (lambda: Choice(()), "A Choice needs a tuple of values"),
    ):
        with pytest.raises(PodiumError, match=message):
            make()


def test_a_measure_without_a_value_is_refused(data):
    with pytest.warns(UserWarning, match="undefined"), pytest.raises(PodiumError, match="has no value on the held-out"):
        tune(RankSVM, data.X, -1.0 - data.y, qid=data.qid, measure="map", n_trials=1)


def test_a_missing_optuna_is_named(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r'Tuning needs Optuna: install it with pip install "podium\[tune\]"'):
        search(data)


def test_optuna_is_as_loud_as_before(data):
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        search(data, n_trials=1)
        assert optuna.logging.get_verbosity() == optuna.logging.WARNING
    finally:
        optuna.logging.set_verbosity(before)


def test_results_as_values_and_frames(data):
    peer("pandas")
    peer("polars")
    result = search(data, n_trials=2)
    content = result.to_dict()
    assert content["best"]["parameters"] == result.best_parameters
    assert json.loads(json.dumps(content))["trials"][1]["value"] == result.trials[1].value
    assert result.to_pandas()["learning_rate"].tolist() == [one.parameters["learning_rate"] for one in result.trials]
    assert result.to_polars()["value"].to_list() == [one.value for one in result.trials]
    assert podium.Tuning is type(result)
