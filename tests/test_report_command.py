"""The command that writes a page: the same page as Python writes, one sentence where it fails."""

import io
import json
import re
import sys
from hashlib import sha256

import pytest

from podium import (
    PlackettLuce,
    RankBoost,
    evaluate,
    make_search,
)
from podium.report import reproduction


@pytest.fixture(scope="module")
def tables():
    return [make_search(n_queries=12, docs_per_query=8, n_features=5, random_state=seed) for seed in (0, 1)]


@pytest.fixture(scope="module")
def model(tables):
    train, test = tables
    sets = {"eval_set": [(test.X, test.y)], "eval_qid": [test.qid]}
    return RankBoost(n_estimators=15, eval_metric="map").fit(train.X, train.y, qid=train.qid, **sets)


@pytest.fixture
def files(tmp_path, tables, model):
    """A LETOR file with hostile names of documents, and a model for it."""
    test = tables[1]
    lines = [
        f"{y:g} qid:{q} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x)) + f" #docid = </script>{i}"
        for i, (x, y, q) in enumerate(zip(test.X.tolist(), test.y.tolist(), test.qid.tolist(), strict=True))
    ]
    (tmp_path / "test.txt").write_text("\n".join(lines) + "\n")
    model.save(tmp_path / "m.podium")
    return tmp_path


def test_the_command_writes_the_same_page(files, command_line, model, tables, monkeypatch):
    monkeypatch.setattr(reproduction, "BYTES_AT_ONCE", 100)
    code, out, err = command_line("report", files / "m.podium", files / "test.txt", "-o", "r.html", "-m", "ndcg@5")
    assert (code, err) == (0, "")
    assert out == f"r.html: {(files / 'r.html').stat().st_size / 1e6:.1f} MB, the rankings of 12 queries\n"
    text = (files / "r.html").read_text("utf-8")
    found = json.loads(re.search(r'id="content">(.*?)</script>', text, re.S)[1])
    test = tables[1]
    result = evaluate(test.y, model.predict(test.X), qid=test.qid, measures=["ndcg@5"])
    assert found["quality"]["rows"][0]["mean"] == result["ndcg@5"]
    assert found["queries"]["features"][0].startswith("feature ")
    assert found["queries"]["queries"][0]["names"][0].startswith("</script>")
    told = [(name, sha256((files / name).read_bytes()).hexdigest()) for name in ("m.podium", "test.txt")]
    assert [(name, digest) for name, _, digest in found["reproduction"]["files"]] == told
    assert found["reproduction"]["commands"] == ["podium report m.podium test.txt -o r.html -m ndcg@5"]
    assert str(files) not in text
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((files / "test.txt").read_bytes())))
    assert command_line("report", files / "m.podium", "-", "-o", "piped.html", "-m", "ndcg@5")[0] == 0
    piped = json.loads(re.search(r'id="content">(.*?)</script>', (files / "piped.html").read_text("utf-8"), re.S)[1])
    assert piped["reproduction"]["commands"] == ["podium report m.podium - -o piped.html -m ndcg@5"]
    assert [one[0] for one in piped["reproduction"]["files"]] == ["m.podium", "standard input"]
    assert piped["reproduction"]["files"][1][1:] == found["reproduction"]["files"][1][1:]
    assert (piped["quality"], piped["queries"]) == (found["quality"], found["queries"])
    seeded = command_line(
        "report", files / "m.podium", files / "test.txt", "-o", "seeded.html", "-m", "map", "--seed", "3"
    )
    assert seeded[0] == 0
    assert "podium report m.podium test.txt -o seeded.html -m map --seed 3" in (files / "seeded.html").read_text(
        "utf-8"
    )
    refused = command_line("report", files / "m.podium", files / "test.txt", "-o", "seeded.html", "--seed", "-1")
    assert refused == (2, "", "podium: --seed must be an integer of at least 0; got -1.\n")
    again = command_line("report", files / "m.podium", files / "test.txt", "-o", "again.html", "-m", "ndcg@5")
    assert again[0] == 0
    assert (files / "again.html").read_text("utf-8") == text.replace("-o r.html", "-o again.html")


def test_programs_read_where_the_page_is_and_what_it_measures(files, command_line, model, tables):
    code, out, err = command_line(
        "report", files / "m.podium", files / "test.txt", "-o", "r.html", "-m", "ndcg@5,map", "--json"
    )
    assert (code, err) == (0, "")
    test = tables[1]
    result = evaluate(test.y, model.predict(test.X), qid=test.qid, measures=["ndcg@5", "map"]).to_dict()["measures"]
    measured = {name: {key: one[key] for key in ("mean", "low", "high")} for name, one in result.items()}
    sizes = {"bytes": (files / "r.html").stat().st_size, "queries": 12, "queries_shown": 12}
    assert json.loads(out) == {"page": "r.html", **sizes, "measures": measured}


def test_a_command_that_fails_says_one_sentence_and_leaves_the_old_page(files, command_line):
    (files / "r.html").write_text("old")
    (files / "bad.txt").write_text("0 qid:1 1:0.5\n0 qid:1 1:0.7\n")
    code, out, err = command_line("report", files / "m.podium", files / "bad.txt", "-o", "r.html")
    assert (code, out) == (2, "")
    assert re.fullmatch("podium: There is nothing to report: ndcg@10 is undefined, because no query has .*\\.\n", err)
    assert (files / "r.html").read_text() == "old"
    assert sorted(path.name for path in files.iterdir()) == ["bad.txt", "m.podium", "r.html", "test.txt"]
    (files / "bad.txt").write_text("0 qid:1 1:0.5\n1 qid:1 9:0.7\n")
    code, _, err = command_line("report", files / "m.podium", files / "bad.txt", "-o", "r.html")
    assert code == 2
    assert err.count("\n") == 1
    assert "9" in err
    assert (files / "r.html").read_text() == "old"
    code, _, err = command_line("report", files / "m.podium", files / "test.txt", "-o", "no/such/r.html")
    assert (code, err) == (2, "podium: The folder of no/such/r.html does not exist.\n")
    PlackettLuce().fit([["a", "b"], ["b", "a"]]).save(files / "items.podium")
    code, _, err = command_line("report", files / "items.podium", files / "test.txt", "-o", "r.html")
    assert code == 2
    assert "which ranks items" in err
