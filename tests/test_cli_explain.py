"""`podium explain`: documents by name or place, numbers as in Python, one sentence for what cannot be explained."""

import json

import numpy as np
import pandas as pd
import pytest

import podium
from podium import RankBoost, read_csv, read_letor


@pytest.fixture
def letor(tmp_path):
    """A LETOR file with names of documents, and a model trained on it."""
    rng = np.random.default_rng(0)
    lines = [
        f"{rng.integers(0, 3)} qid:{10 + row // 6} 1:{rng.normal():.2f} 3:{rng.normal():.2f} #docid = D{row}"
        for row in range(18)
    ]
    path = tmp_path / "data.txt"
    path.write_text("\n".join(lines) + "\n")
    table = read_letor(path)
    RankBoost(12).fit(table.X, table.y, qid=table.qid).save(tmp_path / "m.podium")
    return path


def ends(path):
    """The first and the last row of query 11."""
    scores = podium.load(path.parent / "m.podium").predict(read_letor(path).X)[6:12]
    assert scores.max() > scores.min()
    return 6 + int(scores.argmax()), 6 + int(scores.argmin())


def test_two_documents_are_explained_as_in_python(letor, command_line):
    a, b = ends(letor)
    code, out, err = command_line("explain", "m.podium", letor, "--query", "11", "--docs", f"D{a}", f"D{b}", "--json")
    assert (code, err) == (0, "")
    said, table, model = json.loads(out), read_letor(letor), podium.load(letor.parent / "m.podium")
    assert table.docid[[a, b]].tolist() == [f"D{a}", f"D{b}"]
    found = model.explain(table.X, a, b)
    assert said["scores"] == list(found.scores)
    assert [one["contribution"] for one in said["features"]] == [x for x in found.contributions[found.order] if x != 0]
    assert {one["feature"] for one in said["features"]} <= {"feature 1", "feature 2", "feature 3"}
    assert len(said["swaps"]) == len(model.what_if(table.X, a, b))


def test_people_get_a_table_and_what_would_swap_the_two(letor, command_line):
    a, b = ends(letor)
    code, out, _ = command_line("explain", "m.podium", letor, "--query", "11", "--docs", f"D{a}", f"D{b}")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith(f"Why D{a} stands above D{b}: ")
    assert any(line.split()[1:2] == ["feature"] for line in lines[1:])
    swaps = podium.load(letor.parent / "m.podium").what_if(read_letor(letor).X, a, b)
    assert (f"Any one of these changes of D{a} would swap them:" in lines) == bool(swaps)


def test_a_whole_query_is_explained_without_documents(letor, command_line):
    code, out, _ = command_line("explain", "m.podium", letor, "--query", "12")
    assert code == 0
    assert out.startswith("6 rows against their mean score of ")
    assert {line.split(":")[0].strip() for line in out.splitlines()[1:]} == {f"D{row}" for row in range(12, 18)}
    said = json.loads(command_line("explain", "m.podium", letor, "--query", "12", "--json")[1])
    scores = [one["score"] for one in said["rows"]]
    for one in said["rows"]:
        assert sum(one["contributions"]) == pytest.approx(one["score"] - np.mean(scores))


def test_documents_without_names_go_by_their_place(tmp_path, command_line):
    rng = np.random.default_rng(1)
    rows = "".join(f"{rng.integers(0, 3)},q{row // 5},{rng.normal():.2f},{rng.normal():.2f}\n" for row in range(10))
    (tmp_path / "data.csv").write_text(f"label,qid,price,clicks\n{rows}")
    table = read_csv(tmp_path / "data.csv", label="label", qid="qid")
    frame = {"price": table.X[:, 0], "clicks": table.X[:, 1]}
    RankBoost(8).fit(pd.DataFrame(frame), table.y, qid=table.qid).save(tmp_path / "m.podium")
    code, out, _ = command_line("explain", "m.podium", "data.csv", "--query", "q1", "--docs", "1", "5", "--json")
    assert code == 0
    said = json.loads(out)
    assert (said["rows"], said["docs"]) == ([5, 9], ["document 1", "document 5"])
    assert {one["feature"] for one in said["features"]} <= {"price", "clicks"}
    asked = command_line("explain", "m.podium", "data.csv", "--query", "q1", "--docs", "0", "5")
    assert asked == (2, "", "podium: --docs must be places in the query, from 1 to 5; got '0'.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give --query: the file has 3 queries, such as 10."),
        (["--query", "1"], "--query must be one of the file's; '1' is not (did you mean "),
        (["--query", "11", "--docs", "D7", "D2"], "--docs must name documents of the query; 'D2' is not one"),
        (["--query", "11", "--docs", "D7", "D7"], "--docs must name two different documents; both are D7."),
        (["--query", "11", "--method", "x"], "method must be one of interventional, path; got 'x'."),
    ],
)
def test_what_cannot_be_explained_is_said_in_a_sentence(letor, command_line, arguments, message):
    code, out, err = command_line("explain", "m.podium", letor, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"podium: {message}")
