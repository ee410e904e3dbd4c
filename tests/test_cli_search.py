"""`podium cv` and `podium tune`: the numbers of Python, what a run takes, Ctrl-C, resuming, bad input."""

import inspect
import json
import re
import sys
import tomllib

import numpy as np
import pytest

from peers import peer
from podium import LambdaMART, RankBoost, cross_validate, make_search, read_letor, tune
from podium.cli import app, searching
from podium.tuning import SPACES, TuningTrial, cross_validation, parameter_search


@pytest.fixture
def files(tmp_path):
    """A training and an evaluation file, as tables."""
    for name, seed in (("train.txt", 0), ("valid.txt", 1)):
        made = make_search(n_queries=15, docs_per_query=8, random_state=seed)
        lines = [
            f"{y:g} qid:{qid} {' '.join(f'{j + 1}:{value:.3f}' for j, value in enumerate(x))}\n"
            for x, y, qid in zip(made.X[:, :6].tolist(), made.y.tolist(), made.qid.tolist(), strict=True)
        ]
        (tmp_path / name).write_text("".join(lines))
    return read_letor(tmp_path / "train.txt"), read_letor(tmp_path / "valid.txt")


def untimed(content):
    """Leave out the seconds of each fit."""
    if isinstance(content, dict):
        return {name: untimed(one) for name, one in content.items() if name != "seconds"}
    return [untimed(one) for one in content] if isinstance(content, list | tuple) else content


CV = ["cv", "train.txt", "--ranker", "RankBoost", "--set", "n_estimators=4", "--folds", "3", "-m", "ndcg@5,map"]


def test_cv_gives_the_numbers_of_python(files, command_line):
    table, _ = files
    code, out, err = command_line(*CV, "--json", "--seed", "2")
    given = {"qid": table.qid, "n_folds": 3, "measures": ["ndcg@5", "map"], "random_state": 2}
    expected = cross_validate(RankBoost(4), table.X, table.y, **given).to_dict()
    assert (code, untimed(json.loads(out))) == (0, untimed(expected))
    assert err.startswith("3 folds, each a fit of RankBoost on about ")
    assert "in all. Fold 1 took " in " ".join(err.split())
    assert "2 more take about" in err
    code, out, err = command_line(*CV, "--quiet")
    assert (code, err) == (0, "")
    assert "standard error" in out


def test_cv_shows_the_folds_done_before_ctrl_c(files, command_line, monkeypatch):
    fit = cross_validation._fit_fold

    def stop(number, *rest):
        if number == 3:
            raise KeyboardInterrupt
        return fit(number, *rest)

    monkeypatch.setattr(cross_validation, "_fit_fold", stop)
    code, out, err = command_line(*CV, "--quiet", "--json")
    assert (code, err) == (2, "podium: Interrupted: 2 of 3 folds are done, and shown.\n")
    assert json.loads(out)["interrupted"]
    assert len(json.loads(out)["folds"]) == 2


TUNE = ["tune", "train.txt", "--ranker", "RankBoost", "--set", "n_estimators=8", "--trials", "3"]


def test_tune_gives_the_numbers_of_python_and_a_settings_file(files, command_line, tmp_path):
    peer("optuna")
    table, valid = files
    code, out, err = command_line(*TUNE, "--eval", "valid.txt", "-o", "best.toml", "--json", "--seed", "1")
    given = {"eval_set": [(valid.X, valid.y)], "eval_qid": [valid.qid], "n_trials": 3, "random_state": 1}
    expected = tune(RankBoost(8), table.X, table.y, qid=table.qid, **given)
    assert code == 0
    assert untimed(json.loads(out)) == untimed(expected.to_dict())
    assert err.startswith("3 trials, each a fit of RankBoost on about ")
    assert "Ctrl-C keeps what is done." in err
    content = tomllib.loads((tmp_path / "best.toml").read_text("utf-8"))
    assert content == {"ranker": "RankBoost", "parameters": expected.best_parameters}


def test_queries_of_both_files_may_be_given_by_sizes(files, command_line, tmp_path):
    peer("optuna")
    expected = json.loads(command_line(*TUNE, "--eval", "valid.txt", "--json")[1])
    for name, table in zip(("train", "valid"), files, strict=True):
        text = (tmp_path / f"{name}.txt").read_text()
        (tmp_path / f"{name}.txt").write_text(re.sub(r"qid:\d+ ", "", text))
        sizes = np.unique(table.qid, return_counts=True)[1]
        (tmp_path / f"{name}.sizes").write_text("\n".join(map(str, sizes)))
    sizes = ["--query-sizes", "train.sizes", "--eval-query-sizes", "valid.sizes"]
    assert untimed(json.loads(command_line(*TUNE, "--eval", "valid.txt", "--json", *sizes)[1])) == untimed(expected)


def test_what_is_set_is_not_searched(files, command_line):
    peer("optuna")
    code, out, _ = command_line(*TUNE, "--set", "learning_rate=0.5", "--set", "weak=stump", "--json")
    assert code == 0
    content = json.loads(out)
    assert all(list(one["parameters"]) == ["pair_weight"] for one in content["trials"])
    assert content["best"]["parameters"]["learning_rate"] == 0.5
    settings = [text for name in SPACES["RankBoost"] for text in ("--set", f"{name}={RankBoost().get_params()[name]}")]
    code, _, err = command_line(*TUNE, *settings)
    assert (code, err.split(":")[1]) == (2, " There is nothing to search")


def test_tune_prints_the_settings_without_an_output(files, command_line):
    peer("optuna")
    out = command_line(*TUNE, "--quiet")[1]
    content = tomllib.loads(out[out.index("# trial") :])
    assert content["ranker"] == "RankBoost"


def test_tune_keeps_what_was_done_before_ctrl_c_and_goes_on(files, command_line, monkeypatch, tmp_path):
    peer("optuna")
    whole = json.loads(command_line(*TUNE, "--json", "--quiet")[1])
    fit, fits = parameter_search.fit_on, []

    def stop(*given):
        fits.append(given)
        if len(fits) == 2:
            raise KeyboardInterrupt
        return fit(*given)

    monkeypatch.setattr(parameter_search, "fit_on", stop)
    command = [*TUNE, "--storage", "trials", "-o", "best.toml", "--quiet", "--json"]
    code, out, err = command_line(*command)
    assert code == 2
    assert err == "podium: Interrupted: 1 of 3 trials are done, and kept; the same command goes on from there.\n"
    assert len(json.loads(out)["trials"]) == 1
    assert tomllib.loads((tmp_path / "best.toml").read_text("utf-8"))["ranker"] == "RankBoost"
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert untimed(json.loads(command_line(*command)[1])) == untimed(whole)


@pytest.mark.parametrize(("name", "less"), [("cv", ["--set", "n_estimators=2"]), ("tune", ["--trials", "2"])])
def test_the_example_of_the_help_runs(files, command_line, name, less):
    peer("optuna")
    command = {one.name: one.callback for one in app.registered_commands}[name]
    [example] = re.findall(rf"podium ({name} .+)", inspect.getdoc(command))
    assert command_line(*example.split(), *less, "--quiet")[0] == 0


def test_csv_files_are_searched(files, command_line, tmp_path):
    peer("optuna")
    peer("pyarrow")
    table, _ = files
    header = ["label", "qid", *(f"f{j}" for j in range(6))]
    rows = np.column_stack([table.y, table.qid, table.X])
    text = "\n".join(",".join(map(str, row)) for row in rows.tolist())
    (tmp_path / "train.csv").write_text(",".join(header) + "\n" + text + "\n")
    command = [part.replace("train.txt", "train.csv") for part in TUNE]
    assert command_line(*command, "--quiet", "--set", "weak=stump")[0] == 0
    assert command_line("cv", "train.csv", "--ranker", "RankSVM", "--folds", "2", "--quiet")[0] == 0


def test_a_missing_optuna_is_a_sentence(files, command_line, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    code, _, err = command_line(*TUNE)
    assert (code, err) == (2, 'podium: Tuning needs Optuna: install it with pip install "podium[tune]".\n')


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cv", "absent.txt"], "absent.txt: No such file or directory."),
        (["cv", "train.txt", "--ranker", "RankBost"], "There is no ranker 'RankBost' (did you mean RankBoost"),
        (["cv", "train.txt", "--folds", "1"], "--folds must be"),
        (["cv", "train.txt", "--folds", "99"], "--folds must be at most the number of queries, 15; got 99."),
        (
            ["cv", "train.txt", "--set", "early_stopping_rounds=3"],
            "early_stopping_rounds needs data to measure each round on",
        ),
        (["cv", "train.txt", "-m", "ndgc"], "measure 'ndgc' is unknown"),
        (["tune", "train.txt", "--trials", "0"], "--trials must be"),
        (["tune", "absent.txt", "--ranker", "orstump"], "ORStump has nothing that podium tune searches; it searches"),
        (["tune", "train.txt", "-o", "no/best.toml"], "The folder of no/best.toml does not exist."),
        (["tune", "train.txt", "--storage", "train.txt"], "train.txt is no storage file of `tune`"),
        (["tune", "train.txt", "--eval", "absent.txt"], "absent.txt: No such file or directory."),
        (["tune", "train.txt", "--set", "n_estimator=3"], "A parameter of LambdaMART must be one of"),
    ],
)
def test_bad_input_ends_with_a_sentence_and_code_two(files, command_line, arguments, message):
    peer("optuna")
    code, out, err = command_line(*arguments)
    assert (code, out) == (2, "")
    _, begun, said = err.rpartition("podium: ")
    assert said.startswith(message)
    assert said.count("\n") == 1
    assert err.startswith(begun) or "early_stopping_rounds" in message  # which a fit says, not what is checked before


@pytest.mark.plain
def test_what_a_run_takes_is_said_once_after_its_first_fit(capsys):
    with searching.FitProgress(10, "trial", quiet=False) as progress:
        for number in (4, 5):
            progress.trial(TuningTrial(number, {}, 0.5, False, None, 2.0))
    said = "Trial 4 took 2.0 s; 6 more take about 12.0 s. Ctrl-C keeps what is done.\n"
    assert " ".join(capsys.readouterr().err.split()) == said.strip()


@pytest.mark.plain
@pytest.mark.parametrize(
    ("seconds", "text"), [(0.51, "0.5 s"), (59.0, "59.0 s"), (90.0, "2 min"), (5399.0, "90 min"), (7200.0, "2.0 h")]
)
def test_times_are_said_as_people_say_them(seconds, text):
    assert searching._duration(seconds) == text


def test_the_default_ranker_is_lambdamart(files, command_line):
    table, _ = files
    code, out, _ = command_line("cv", "train.txt", "--folds", "2", "--json", "-m", "map", "--set", "n_estimators=2")
    expected = cross_validate(LambdaMART(2), table.X, table.y, qid=table.qid, n_folds=2, measures="map")
    assert (code, json.loads(out)["measures"]["map"]["mean"]) == (0, expected["map"])
