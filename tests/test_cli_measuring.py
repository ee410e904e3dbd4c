"""`podium evaluate`, `compare` and `evaluate-run` of several rankings: the numbers of Python, named by files."""

import inspect
import io
import json
import re
import sys

import numpy as np
import pytest

from peers import peer
from podium import (
    AdaBoostOR,
    LambdaMART,
    RankBoost,
    compare,
    evaluate_runs,
    leaderboard,
    make_search,
    read_letor,
    read_qrels,
    read_run,
)
from podium.cli import app

COMMANDS = {command.name: command.callback for command in app.registered_commands}


@pytest.fixture
def files(tmp_path):
    """Data with models and scores of its rows; return the data and the scores by file name."""
    made = make_search(n_queries=15, docs_per_query=8, random_state=0)
    lines = [
        f"{y:g} qid:{qid} {' '.join(f'{j + 1}:{value:.3f}' for j, value in enumerate(x))}\n"
        for x, y, qid in zip(made.X[:, :6].tolist(), made.y.tolist(), made.qid.tolist(), strict=True)
    ]
    (tmp_path / "data.txt").write_text("".join(lines))
    table = read_letor(tmp_path / "data.txt")
    models = {
        "trees.podium": LambdaMART(5, min_child_samples=2).fit(table.X, table.y, qid=table.qid),
        "stumps": RankBoost(5).fit(table.X, table.y, qid=table.qid),
    }
    scores = {"x.txt": np.random.default_rng(0).normal(size=len(table.y))}
    for name, model in models.items():
        model.save(tmp_path / name)
        scores[name] = model.predict(table.X)
    (tmp_path / "x.txt").write_text("\n".join(map(repr, scores["x.txt"].tolist())))
    return table, scores


def test_evaluate_makes_a_leaderboard_of_models_and_scores(files, command_line):
    table, scores = files
    code, out, err = command_line("evaluate", "data.txt", *scores, "-m", "ndcg@5,map", "-m", "mrr", "--json")
    board = leaderboard(table.y, scores, qid=table.qid, measures=["ndcg@5", "map", "mrr"])
    assert (code, err) == (0, "")
    assert json.loads(out) == board.to_dict()
    assert list(json.loads(out)["rankings"]) == list(board)
    shown = command_line("evaluate", "data.txt", *scores, "-m", "ndcg@5, map")[1]
    assert [name for line in shown.splitlines() for name in scores if line.strip().startswith(name)] == list(board)


def test_one_model_is_evaluated_as_one_file_of_scores(files, command_line, tmp_path):
    _, scores = files
    (tmp_path / "s").write_text("\n".join(map(repr, scores["stumps"].tolist())))
    by_model, by_scores = (command_line("evaluate", "data.txt", name, "--json") for name in ("stumps", "s"))
    assert by_model == by_scores
    assert by_model[0] == 0


def test_evaluate_tests_each_against_one(files, command_line):
    table, scores = files
    given = {"qid": table.qid, "measures": ["ndcg@5"]}
    board = leaderboard(table.y, scores, **given)
    others = [name for name in scores if name != "x.txt"]
    command = ["evaluate", "data.txt", *others, "--against", "x.txt", "-m", "ndcg@5"]
    assert json.loads(command_line(*command, "--json")[1]) == board.against("x.txt").to_dict()
    assert "against x.txt" in command_line(*command)[1]
    assert command_line(*command[:2], "x.txt", *command[2:]) == command_line(*command)
    code, out, _ = command_line("evaluate", "data.txt", "stumps", "--against", "x.txt", "-m", "ndcg@5", "--json")
    expected = compare(table.y, scores["stumps"], scores["x.txt"], names=("stumps", "x.txt"), **given)
    assert (code, json.loads(out)) == (0, expected.to_dict())
    shown = command_line("evaluate", "data.txt", "--feature", "1", "--against", "x.txt")[1]
    assert "feature 1 against x.txt" in shown
    assert "second" not in shown


def test_compare_prints_all_tests_with_the_numbers_of_python(files, command_line):
    table, scores = files
    board = leaderboard(table.y, scores, qid=table.qid, measures=["ndcg@5", "pair_loss"])
    code, out, err = command_line("compare", "data.txt", *scores, "-m", "ndcg@5,pair_loss", "--json")
    assert (code, err) == (0, "")
    contests = {name: board.contest(name).to_dict() for name in ("ndcg@5", "pair_loss")}
    assert json.loads(out) == {**board.to_dict(), "contests": contests}
    shown = command_line("compare", "data.txt", *scores, "-m", "ndcg@5")[1]
    contest = board.contest("ndcg@5")
    for text in (contest.summary(), contest.diagram("nemenyi"), contest.diagram("wilcoxon")):
        assert text in shown


def test_compare_draws_a_chart(files, command_line, tmp_path):
    peer("altair")
    _, scores = files
    for ending, start in (("html", b"<!DOCTYPE html>"), ("json", b"{"), ("svg", b"<svg"), ("png", b"\x89PNG")):
        code, _, err = command_line("compare", "data.txt", *scores, "--chart", f"cd.{ending}", "--json")
        assert (code, err) == (0, "")
        written = (tmp_path / f"cd.{ending}").read_bytes()
        assert written.strip().startswith(start)
        assert ending == "png" or b"trees.podium" in written


def test_models_of_wider_data_and_of_grades_are_measured(files, command_line, tmp_path):
    """The file lacks a last feature that one model has; grades are ranked by real numbers."""
    table, _ = files
    wide = np.column_stack([table.X, np.zeros(len(table.y))])
    RankBoost(3).fit(wide, table.y, qid=table.qid).save(tmp_path / "wide")
    grades = AdaBoostOR(n_estimators=3).fit(table.X, table.y.astype(int))
    grades.save(tmp_path / "grades")
    code, out, _ = command_line("evaluate", "data.txt", "wide", "grades", "stumps", "--json", "-m", "pair_loss")
    assert code == 0
    found = {name: one["pair_loss"]["mean"] for name, one in json.loads(out)["rankings"].items()}
    expected = leaderboard(table.y, {"g": grades.predict_rank(table.X)}, qid=table.qid, measures="pair_loss")
    assert found["grades"] == expected["g"]["pair_loss"]


def test_files_of_one_name_are_called_by_their_folders(files, command_line, tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.txt").write_text((tmp_path / "x.txt").read_text())
    out = command_line("evaluate", "data.txt", "one/x.txt", "two/x.txt", "--json")[1]
    assert list(json.loads(out)["rankings"]) == ["one/x.txt", "two/x.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "data.txt", "x.txt"], "compare needs at least two models or files of scores; got 1."),
        (["compare", "data.txt", "x.txt", "x.txt"], "x.txt is given twice; name each file once."),
        (["compare", "data.txt", "x.txt", "absent"], "absent: No such file or directory."),
        (["compare", "data.txt", "x.txt", "short"], "short must have a score a row of data.txt: "),
        (["compare", "data.txt", "x.txt", "stumps", "-m", "ndgc"], "measure 'ndgc' is unknown"),
        (["compare", "data.txt", "x.txt", "stumps", "-m", ","], "measures must name at least one measure"),
        (["compare", "data.txt", "x.txt", "stumps", "--chart", "cd.gif"], "The ending of --chart must be one of html"),
        (["compare", "data.txt", "x.txt", "stumps", "--chart", "no/cd.html"], "The folder of no/cd.html does not"),
        (["evaluate", "data.txt", "narrow", "x.txt"], "narrow: "),
        (["evaluate", "data.txt", "stumps", "x.txt", "--per-query"], "--per-query shows one ranking at a time; got 2"),
        (
            ["evaluate", "data.txt", "--feature", "1", "--against", "x.txt", "--per-query"],
            "--per-query shows one ranking at a time; got 2",
        ),
        (["evaluate", "data.txt", "zip", "x.txt"], "zip: "),
    ],
)
def test_bad_rankings_end_with_a_sentence_and_code_two(files, command_line, tmp_path, arguments, message):
    table, _ = files
    (tmp_path / "short").write_text("1\n2\n")
    (tmp_path / "zip").write_bytes(b"PK\x03\x04 and no more")
    RankBoost(2).fit(table.X[:, :2], table.y, qid=table.qid).save(tmp_path / "narrow")
    code, out, err = command_line(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"podium: {message}")
    assert err.count("\n") == 1


@pytest.fixture
def runs(tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 a 1\n2 0 c 0\n")
    (tmp_path / "one.run").write_text("1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n2 Q0 a 1 2 t\n")
    (tmp_path / "two.run").write_text("1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n2 Q0 c 1 2 t\n")
    qrels = read_qrels(tmp_path / "qrels")
    return qrels, {name: read_run(tmp_path / name) for name in ("one.run", "two.run")}


def test_several_runs_are_a_leaderboard(runs, command_line):
    qrels, given = runs
    measures = ["P_5", "bpref", "map"]
    code, out, _ = command_line("evaluate-run", "qrels", *given, "-m", "P_5,bpref", "-m", "map", "--json")
    board = evaluate_runs(qrels, given, measures=measures)
    assert (code, json.loads(out)) == (0, board.to_dict())
    assert list(board) == ["one.run", "two.run"]
    out = command_line("evaluate-run", "qrels", "two.run", "--against", "one.run", "-m", ",".join(measures), "--json")
    assert json.loads(out[1]) == board.against("one.run").to_dict()
    out = command_line("evaluate-run", "qrels", "one.run", "-m", "P_5,infAP", "--json", "--per-query")[1]
    assert json.loads(out)["per_query"]["P_5"] == {"1": 0.2, "2": 0.2}
    code, _, err = command_line("evaluate-run", "qrels", "one.run", "one.run")
    assert (code, err) == (2, "podium: one.run is given twice; name each file once.\n")


def test_runs_and_judgements_come_from_standard_input(runs, command_line, monkeypatch, tmp_path):
    def pipe(content, *words):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
        return command_line(*words)

    judged, one = ((tmp_path / name).read_text() for name in ("qrels", "one.run"))
    expected = command_line("evaluate-run", "qrels", "one.run", "--json")
    assert expected[0] == 0
    assert pipe(one, "evaluate-run", "qrels", "-", "--json") == expected
    assert pipe(judged, "evaluate-run", "-", "one.run", "--json") == expected
    fused = command_line("fuse", "one.run", "two.run", "-o", "-")[1]
    assert pipe(one, "fuse", "-", "two.run", "-o", "-")[1] == fused
    assert pipe(judged, "fuse", "one.run", "two.run", "--qrels", "-", "-o", "-", "--method", "rrf")[0] == 0
    told = "podium: Standard input is empty; it can be read once, so give - for one file alone.\n"
    assert pipe(judged, "evaluate-run", "-", "-") == (2, "", told)


def test_the_examples_of_the_help_run(files, runs, command_line, tmp_path):
    for old, new in {
        "data.txt": "test.txt",
        "trees.podium": "a.podium",
        "stumps": "b.podium",
        "x.txt": "bm25.txt",
    }.items():
        (tmp_path / old).rename(tmp_path / new)
    for old, new in {"qrels": "qrels.txt", "one.run": "a.run", "two.run": "b.run"}.items():
        (tmp_path / old).rename(tmp_path / new)
    for name in ("evaluate", "compare", "evaluate-run"):
        [example] = re.findall(rf"podium ({name} .+)", inspect.getdoc(COMMANDS[name]))
        code, out, err = command_line(*example.split())
        assert (code, err) == (0, "")
        assert out


def test_scores_alone_need_no_rankers(files, tmp_path):
    """Rankers take longer to import than all else that measures scores."""
    import subprocess
    import sys

    code = (
        "import sys\nfrom podium.cli import app\n"
        "try:\n    app(['evaluate', 'data.txt', 'x.txt', 'y.txt', '-m', 'mrr'])\nexcept SystemExit:\n    pass\n"
        "print('podium.rankers' in sys.modules, 'sklearn' in sys.modules, file=sys.stderr)"
    )
    (tmp_path / "y.txt").write_text((tmp_path / "x.txt").read_text())
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "x.txt" in said.stdout
    assert said.stderr == "False False\n"
