"""The commands as a newcomer runs them: tables, JSON, and one sentence with exit code 2 on bad input."""

import json
import warnings

import numpy as np
import pytest

from peers import peer
from podium.cli import examining
from podium.cli import files as cli_files
from podium.data import ranking_data

LETOR = "2 qid:1 1:0.5 2:3\n0 qid:1 1:0.1 2:4\n1 qid:2 1:0.9 # docid = b\n0 qid:2 1:0.2 2:1\n"


@pytest.fixture
def run(command_line, tmp_path):
    """Run the command line in a folder with a data file and scores."""
    (tmp_path / "data.txt").write_text(LETOR)
    (tmp_path / "scores.txt").write_text("0.9\n0.1\n0.2\n0.8\n")
    return command_line


def test_data_says_what_there_is_to_learn(run):
    code, out, _ = run("data", "data.txt")
    assert code == 0
    assert "queries with nothing to learn" in out
    content = json.loads(run("data", "data.txt", "--json")[1])
    assert content["feedback"]["n_rows"] == 4
    assert content["feedback"]["label_pairs"] == 2
    assert content["labels"] == {"2.0": 1, "1.0": 1, "0.0": 2}


def test_evaluate_prints_a_table_or_json(run):
    code, out, _ = run("evaluate", "data.txt", "scores.txt", "-m", "mrr")
    assert code == 0
    assert "mrr" in out
    assert "0.7500" in out
    content = json.loads(run("evaluate", "data.txt", "scores.txt", "-m", "mrr", "--json", "--per-query")[1])
    assert content["measures"]["mrr"]["mean"] == 0.75
    assert content["per_query"]["mrr"] == {"1": 1.0, "2": 0.5}


def test_evaluate_takes_the_least_relevant_label_or_the_top_grade(run):
    def rank(*more):
        return run("evaluate", "data.txt", "scores.txt", "-m", "mrr", "--json", *more)

    assert json.loads(rank("--relevant", "2")[1])["measures"]["mrr"]["empty_queries"] == 1
    assert json.loads(rank("--relevant", "top")[1])["measures"]["mrr"]["empty_queries"] == 0
    code, _, error = rank("--relevant", "best")
    assert code == 2
    assert "relevant must be a finite number or \"top\"; got 'best'" in error


def test_evaluate_by_a_feature_and_its_reverse(run):
    up = json.loads(run("evaluate", "data.txt", "--feature", "1", "-m", "pair_loss", "--json")[1])
    down = json.loads(run("evaluate", "data.txt", "--feature", "-1", "-m", "pair_loss", "--json")[1])
    assert up["measures"]["pair_loss"]["mean"] == 0.0
    assert down["measures"]["pair_loss"]["mean"] == 1.0


def test_evaluate_against_a_second_file(run, tmp_path):
    (tmp_path / "other.txt").write_text("0\n1\n0\n1\n")
    content = json.loads(run("evaluate", "data.txt", "scores.txt", "--against", "other.txt", "--json")[1])
    assert content["measures"]["pair_loss"]["difference"] == -0.5


def test_evaluate_reads_csv_and_query_sizes(run, tmp_path):
    peer("pyarrow")
    (tmp_path / "data.csv").write_text("grade,topic,a\n1,x,0.5\n0,x,0.7\n")
    out = run("evaluate", "data.csv", "--label", "grade", "--qid", "topic", "--feature", 1, "-m", "mrr", "--json")
    assert json.loads(out[1])["measures"]["mrr"]["mean"] == 0.5
    (tmp_path / "plain.txt").write_text("1 1:1\n0 1:2\n0 1:5\n1 1:6\n")
    (tmp_path / "plain.query").write_text("2\n2\n")
    out = run("evaluate", "plain.txt", "--query-sizes", "plain.query", "--feature", 1, "-m", "mrr", "--json")
    assert json.loads(out[1])["measures"]["mrr"]["mean"] == 0.75


def test_one_query_is_said_by_an_empty_qid_and_warned_of_otherwise(run, tmp_path, monkeypatch):
    monkeypatch.setattr(ranking_data, "MAX_ROWS_UNWARNED", 3)
    (tmp_path / "plain.txt").write_text("1 1:3\n0 1:2\n0 1:1\n1 1:4\n0 1:5\n")
    warnings.simplefilter("always")
    command = ["evaluate", "plain.txt", "--feature", "1", "-m", "pair_loss"]
    code, _, err = run(*command)
    assert code == 0
    said = "the file names no queries: give them, or --query-sizes; if one query is meant, --qid '' says so."
    assert err == f"podium: All 5 rows are one query, because {said}\n"
    assert run(*command, "--qid", "")[2] == ""


def test_evaluate_run_scores_a_trec_run(run, tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "run").write_text("1 Q0 b 1 2.0 t\n1 Q0 a 2 1.0 t\n")
    content = json.loads(run("evaluate-run", "qrels", "run", "-m", "map", "--json")[1])
    assert content["measures"]["map"]["mean"] == 0.5


def test_measures_lists_every_name(run):
    assert "ndcg[@k]" in run("measures")[1]
    assert "pair_loss" in json.loads(run("measures", "--json")[1])


def test_version(run):
    from podium import __version__

    assert run("--version")[1].strip() == __version__


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data", "absent.txt"], "absent.txt: No such file or directory."),
        (["evaluate", "data.txt"], "Give a model or a file of scores, or --feature N"),
        (["evaluate", "data.txt", "--feature", "9"], "--feature must be 1 to 2"),
        (["evaluate", "data.txt", "short.txt"], "short.txt must have a score a row of data.txt: 4 expected, 1 given."),
        (["evaluate", "data.txt", "words.txt"], "words.txt must hold one score a line; value 2 is 'two'."),
        (["evaluate", "data.txt", "scores.txt", "-m", "ndgc@10"], "ndcg"),
        (["evaluate", "broken.txt", "scores.txt"], "broken.txt, line 1:"),
        (
            ["data", "data.txt", "--format", "xml"],
            "--format must be one of auto, letor, csv, parquet; got 'xml'",
        ),
        (["data", "data.txt", "--query-sizes", "short.txt"], "must sum to 4, the rows of data.txt; got 7."),
    ],
)
def test_bad_input_ends_with_a_sentence_and_code_two(run, tmp_path, arguments, message):
    (tmp_path / "short.txt").write_text("7\n")
    (tmp_path / "words.txt").write_text("1\ntwo\n")
    (tmp_path / "broken.txt").write_text("1 qid:1 one:1\n")
    code, out, err = run(*arguments)
    assert code == 2
    assert err.startswith("podium: ")
    assert message in err
    assert len(err.strip().split("\n")) == 1
    assert out == ""


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("Unable to allocate 8.00 GiB for an array", "not enough memory: Unable to allocate 8.00 GiB for an array."),
        ("", "There is not enough memory."),
    ],
)
def test_too_little_memory_ends_with_a_sentence_and_code_two(run, monkeypatch, message, sentence):
    def fail(*_):
        raise MemoryError(message)

    monkeypatch.setattr(examining, "load_table", fail)
    code, _, err = run("data", "data.txt")
    assert code == 2
    assert err.strip().endswith(sentence)
    assert err.count("\n") == 1


@pytest.mark.plain
def test_missing_features_stand_last():
    from podium.readers import RankingTable

    X = np.array([[np.nan], [1.0], [-5.0]])
    table = RankingTable(X, np.zeros(3), None, None, None)
    assert cli_files.feature_scores(table, 1).tolist() == [-np.inf, 1.0, -5.0]
    assert cli_files.feature_scores(table, -1).tolist() == [-np.inf, -1.0, 5.0]
