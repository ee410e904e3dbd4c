"""Files whose rows have names, on the command line: every command that reads data takes --item, pairs, and `-`."""

import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import podium
from podium import read_csv
from podium.cli import fusing
from podium.cli.searching import RunChoice
from podium.evaluation.pair_evaluation import DEFAULT_PAIR_MEASURES
from podium.evaluation.queries import DEFAULT_MEASURES
from podium.readers import open_unpacked

FIT = ("--ranker", "rankboost", "--set", "n_estimators=3", "--quiet")


@pytest.fixture
def items(command_line):
    """A CSV file whose rows have names, pairs of them, and a model."""
    x = np.random.default_rng(0).normal(size=(24, 2)).round(3)
    rows = [f"d{row},{row // 6},{int(a > 0)},{a},{b}" for row, (a, b) in enumerate(x)]
    Path("items.csv").write_text("\n".join(["id,qid,label,bm25,age", *rows]) + "\n")
    best, worst = np.argsort(-x[:, 0])[:12], np.argsort(-x[:, 0])[12:]
    lines = [f"d{a},d{b}" for a, b in zip(best, worst, strict=True)]
    Path("prefs.csv").write_text("\n".join(["better,worse", *lines]) + "\n")
    assert command_line("train", "items.csv", "-o", "m.podium", "--item", "id", *FIT)[0] == 0
    return read_csv("items.csv", label="label", qid="qid", docid="id")


@pytest.fixture
def pipe(command_line, monkeypatch):
    """Run the command line with the content of a file as standard input."""

    def call(path, *arguments):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(path).read_bytes())))
        return command_line(*arguments)

    return call


@pytest.mark.parametrize(
    "command",
    [
        ["data", "FILE", "--json"],
        ["doctor", "FILE", "--json"],
        ["doctor", "items.csv", "FILE", "--json"],
        ["evaluate", "FILE", "m.podium", "--json"],
        ["train", "FILE", "-o", "n.podium", "--json", *FIT],
    ],
    ids=" ".join,
)
def test_rows_that_pairs_name_come_from_standard_input(items, command_line, pipe, command):
    command = [*command, "--pairs", "prefs.csv", "--item", "id", "--format", "csv"]
    expected = command_line(*[one.replace("FILE", "items.csv") for one in command])
    assert expected[0] == 0
    code, out, err = pipe("items.csv", *[one.replace("FILE", "-") for one in command])
    assert (code, err) == (0, expected[2])
    if "train" not in command:
        assert out == expected[1]


def test_what_lacks_in_standard_input_is_said_of_it(items, pipe):
    Path("prefs.csv").write_text("better,worse\n1,2\n")
    Path("bare.csv").write_text("\n".join(line.partition(",")[2] for line in Path("items.csv").read_text().split()))
    said = pipe("bare.csv", "data", "-", "--format", "csv", "--pairs", "prefs.csv")[2]
    assert said.startswith("Without --item, pairs are read as row numbers of standard input, counted from 0;")
    Path("items.csv").write_text("id,bm25\nd1,1\n,2\n")
    said = pipe("items.csv", "data", "-", "--format", "csv", "--pairs", "prefs.csv", "--item", "id")[2]
    assert said == "podium: standard input must name an item in every row for --item; row 2 has none.\n"


@pytest.mark.parametrize(
    "command",
    [
        ["data", "items.csv", "--pairs", "FILE", "--json"],
        ["evaluate", "items.csv", "m.podium", "--pairs", "FILE", "--json"],
        ["train", "items.csv", "--pairs", "FILE", "-o", "n.podium", *FIT],
        ["train", "items.csv", "--eval-pairs", "FILE", "-o", "n.podium", *FIT],
    ],
    ids=" ".join,
)
def test_pairs_come_from_standard_input(items, command_line, pipe, command):
    Path("prefs").write_text(Path("prefs.csv").read_text().partition("\n")[2].replace(",", " "))
    command = [*command, "--item", "id"]
    expected = command_line(*[one.replace("FILE", "prefs") for one in command])
    code, out, err = pipe("prefs", *[one.replace("FILE", "-") for one in command])
    assert (code, err) == (0, expected[2])
    if "train" not in command:
        assert out == expected[1]
    elif "--eval-pairs" in command:
        assert "standard input pair_loss" in " ".join(out.split())


def test_query_sizes_and_evaluation_sets_come_from_standard_input(items, command_line, pipe):
    Path("sizes").write_text("6\n6\n6\n6\n")
    asked = ["items.csv", "--item", "id", "--qid", "", "--json"]
    Path("items.csv").write_text(Path("items.csv").read_text().replace("qid", "group"))
    expected = command_line("data", *asked, "--query-sizes", "sizes")
    assert expected[0] == 0
    assert pipe("sizes", "data", *asked, "--query-sizes", "-") == expected
    Path("sizes").write_text("5\n")
    said = pipe("sizes", "data", *asked, "--query-sizes", "-")[2]
    assert said == "podium: The sizes in standard input must sum to 24, the rows of items.csv; got 5.\n"
    given = ("--item", "id", "--qid", "group", "--eval", "-", *FIT)
    code, out, _ = pipe("items.csv", "train", "items.csv", "-o", "n.podium", "--format", "csv", *given)
    assert code == 0
    assert "standard input pair_loss" in " ".join(out.split())


def test_models_of_fewer_and_more_features_score_standard_input(command_line, pipe):
    Path("full.txt").write_text("1 qid:1 1:1 2:2\n0 qid:1 1:2 2:1\n")
    Path("wide.txt").write_text("1 qid:1 1:1 3:1\n0 qid:1 1:2\n")
    for name in ("full", "wide"):
        assert command_line("train", f"{name}.txt", "-o", f"{name}.podium", *FIT)[0] == 0
    models = ("full.podium", "wide.podium", "-m", "mrr", "--json")
    expected = command_line("evaluate", "full.txt", *models)
    assert expected[0] == 0
    assert pipe("full.txt", "evaluate", "-", *models) == expected


def test_scores_of_standard_input_are_called_so(items, pipe):
    asked = ("evaluate", "items.csv", "-", "--item", "id")
    for content, message in (
        ("1\n", "standard input must have a score a row of items.csv: 24 expected, 1 given."),
        ("1\ntwo\n", "standard input must hold one score a line; value 2 is 'two'."),
    ):
        Path("scores").write_text(content)
        assert pipe("scores", *asked) == (2, "", f"podium: {message}\n")
    Path("scores").write_text("\n".join(map(str, range(24))))
    code, out, _ = pipe("scores", "evaluate", "items.csv", "-", "m.podium", "--item", "id", "--json")
    assert code == 0
    assert "standard input" in out


@pytest.mark.parametrize(
    "command",
    [
        ["doctor", "items.csv"],
        ["compare", "items.csv", "m.podium", "scores.txt"],
        ["cv", "items.csv", "--folds", "2", *FIT],
        ["explain", "m.podium", "items.csv", "--query", "1"],
        ["export", "m.podium", "--format", "python", "-o", "m.py", "--check", "items.csv"],
    ],
)
def test_the_column_of_names_is_no_feature_with_item(items, command, command_line):
    Path("scores.txt").write_text("\n".join(map(str, range(24))))
    code, _, err = command_line(*command)
    assert code == 2
    assert err.endswith(
        "column 'id' must hold numbers but has 'd0' in row 1; if it names the rows, give --item id, else --ignore id.\n"
    )
    assert command_line(*command, "--item", "id")[0] == 0


def test_the_doctor_looks_at_pairs_of_items_as_python_does(items, command_line):
    Path("prefs.csv").write_text("better,worse\nd1,d2\nd2,d1\nd3,d9\nd3,d9\n")
    call = ("doctor", "items.csv", "--pairs", "prefs.csv", "--item", "id", "--json")
    code, out, err = command_line(*call)
    assert (code, err) == (0, "")
    frame = pd.DataFrame(items.X, columns=items.feature_names)
    pairs = [("d1", "d2"), ("d2", "d1"), ("d3", "d9"), ("d3", "d9")]
    found = podium.doctor(frame, items.y, qid=items.qid, pairs=pairs, items=items.docid)
    assert {"contradictory-pairs", "repeated-pairs", "crossing-pairs"} <= set(found.codes)
    assert json.loads(out)["findings"] == json.loads(json.dumps(found.to_dict()))["findings"]


def test_the_doctor_needs_no_labels_and_queries_beside_pairs(items, command_line):
    for name, rows in (("bare.csv", items.X[:12]), ("other.csv", items.X[12:])):
        lines = [f"d{row},{a},{b}" for row, (a, b) in enumerate(rows.tolist())]
        Path(name).write_text("\n".join(["id,bm25,age", *lines]) + "\n")
    Path("prefs.csv").write_text("better,worse,weight\nd1,d2,1\nd3,d9,2\n")
    call = ("doctor", "bare.csv", "other.csv", "--pairs", "prefs.csv", "--item", "id", "--json")
    code, out, err = command_line(*call)
    assert (code, err) == (0, "")
    assert json.loads(out)["findings"] == []
    Path("rows.csv").write_text("better,worse\n1,2\n3,9\n")
    Path("numbers.csv").write_text("\n".join(line[1:] for line in Path("bare.csv").read_text().split()))
    assert "--item COLUMN reads ids" in command_line("doctor", "numbers.csv", "--pairs", "rows.csv")[2]
    assert "there is no column 'label'" in command_line("doctor", "bare.csv", "--item", "id")[2]


@pytest.mark.parametrize(("query", "shared"), [("", False), (" qid:1", True)])
def test_rows_that_are_one_query_by_an_option_share_no_query_with_the_test_data(command_line, query, shared):
    for name, shift in (("a", 0.0), ("b", 0.5)):
        lines = [f"{row % 2}{query} 1:{row + shift} 2:{-row * row}\n" for row in range(6)]
        Path(name).write_text("".join(lines))
        Path(f"{name}.csv").write_text(f"label,x,y\n0,1,2\n1,2,{shift}\n")
    for files in (("a", "b"), *([] if shared else [("a.csv", "b.csv")])):
        found = json.loads(command_line("doctor", *files, "--qid", "", "--json")[1])["findings"]
        assert ("shared-ids" in [one["code"] for one in found]) == shared


def test_documents_of_a_csv_file_are_explained_by_their_names(items, command_line):
    scores = podium.load("m.podium").predict(items.X)[6:12]
    a, b = 6 + int(scores.argmax()), 6 + int(scores.argmin())
    call = ("explain", "m.podium", "items.csv", "--item", "id", "--query", "1", "--docs")
    assert command_line(*call, f"d{a}", f"d{b}")[1].startswith(f"Why d{a} stands above d{b}: ")
    assert "'dd9' is not one (did you mean d9?)" in command_line(*call, "d8", "dd9")[2]
    assert command_line(*call, "d8", "d8")[2] == "podium: --docs must name two different documents; both are d8.\n"


def test_people_read_that_no_single_change_swaps(items, command_line, monkeypatch):
    monkeypatch.setattr(type(podium.load("m.podium")), "what_if", lambda *_: [])
    scores = podium.load("m.podium").predict(items.X)[6:12]
    docs = f"d{6 + int(scores.argmax())}", f"d{6 + int(scores.argmin())}"
    _, out, _ = command_line("explain", "m.podium", "items.csv", "--item", "id", "--query", "1", "--docs", *docs)
    assert out.endswith(f"No change of one feature of {docs[0]} alone would swap them.\n")


def test_models_and_scores_are_measured_against_pairs(items, command_line):
    assert command_line("score", "m.podium", "items.csv", "--item", "id", "-o", "s.txt")[0] == 0
    call = ("evaluate", "items.csv", "m.podium", "s.txt", "--pairs", "prefs.csv", "--item", "id")
    found = json.loads(command_line(*call, "--json")[1])["rankings"]
    assert found["m.podium"] == found["s.txt"]
    scores = dict(zip(items.docid.tolist(), podium.load("m.podium").predict(items.X).tolist(), strict=True))
    lines = [line.split(",") for line in Path("prefs.csv").read_text().split()[1:]]
    losses = [0.5 if scores[a] == scores[b] else float(scores[a] < scores[b]) for a, b in lines]
    assert found["s.txt"]["measures"]["pair_loss"]["mean"] == pytest.approx(np.mean(losses))
    assert [line for line in command_line(*call)[1].splitlines() if line in found] == ["m.podium", "s.txt"]
    assert "Give a model or a file of scores, or --feature N" in command_line("evaluate", "items.csv", *call[4:])[2]
    assert (
        command_line(*call, "--feature", "1")[2] == "podium: Give models and files of scores or --feature, not both.\n"
    )


def test_a_feature_is_measured_against_pairs(items, command_line):
    call = ("evaluate", "items.csv", "--pairs", "prefs.csv", "--item", "id", "--json", "--feature")
    losses = [json.loads(command_line(*call, number)[1])["measures"]["pair_loss"]["mean"] for number in (1, -1, 2)]
    assert losses[:2] == [0.0, 1.0]
    assert 0.0 < losses[2] < 1.0


@pytest.mark.parametrize(
    "given",
    [
        {"--against": ["s.txt"]},
        {"--relevant": ["1"]},
        {"--convention": ["nonsense"]},
        {"--per-query": []},
        {"--query-sizes": ["sizes"]},
        {"--against": ["absent"], "--convention": ["trec"], "--per-query": []},
    ],
)
def test_options_of_grades_and_queries_are_refused_beside_pairs(items, command_line, given):
    call = ("evaluate", "items.csv", "m.podium", "--pairs", "prefs.csv", "--item", "id")
    code, out, err = command_line(*call, *(word for name, words in given.items() for word in (name, *words)))
    assert (code, out) == (2, "")
    assert err.startswith(f"podium: {', '.join(given)} must not be given beside --pairs, ")
    assert err.count("\n") == 1


def test_tie_rules_of_pairs_are_an_option(items, command_line):
    call = (
        "evaluate",
        "items.csv",
        "s.txt",
        "--pairs",
        "prefs.csv",
        "--item",
        "id",
        "-m",
        "pair_loss",
        "--json",
        "--ties",
    )
    Path("s.txt").write_text("1\n" * 24)
    assert json.loads(command_line(*call, "pessimistic")[1])["measures"]["pair_loss"]["mean"] == 1.0
    said = "podium: --ties, beside --pairs, must be one of expected, optimistic, pessimistic; got 'stable'.\n"
    assert command_line(*call, "stable") == (2, "", said)


def test_the_default_measures_of_labels_are_refused_beside_pairs_where_they_are_asked_for(items, command_line):
    call = ("evaluate", "items.csv", "m.podium", "--pairs", "prefs.csv", "--item", "id")
    said = json.loads(command_line(*call, "--json")[1])
    assert tuple(said["measures"]) == DEFAULT_PAIR_MEASURES
    code, out, err = command_line(*call, "-m", ",".join(DEFAULT_MEASURES))
    assert (code, out) == (2, "")
    assert err.startswith("podium: ndcg@10 needs labels, and there are pairs alone: ")
    assert err.endswith("; leave out --pairs for others.\n")


def test_the_help_of_evaluate_names_the_measures_it_takes_by_itself(command_line):
    said = " ".join(command_line("evaluate", "--help")[1].split())
    assert f"{', '.join(DEFAULT_MEASURES)}; of --pairs: {', '.join(DEFAULT_PAIR_MEASURES)}" in said


def test_pairs_held_out_are_called_by_their_file(items, command_line):
    pairs = ("--pairs", "prefs.csv", "--eval-pairs", "prefs.csv", "--item", "id")
    code, out, _ = command_line("train", "items.csv", "-o", "p.podium", *pairs, *FIT)
    assert code == 0
    assert "prefs.csv pair_loss" in out
    assert "validation_0" not in out


def test_a_fused_run_goes_to_standard_output(command_line, monkeypatch):
    monkeypatch.setattr(fusing, "STANDARD_OUTPUT", Path("stdout"))
    for name in ("a", "b"):
        Path(f"{name}.run").write_text(f"1 Q0 d1 1 2.0 {name}\n1 Q0 d2 2 1.0 {name}\n")
    code, out, err = command_line("fuse", "a.run", "b.run", "-o", "-")
    assert code == 0
    assert not Path("-").exists()
    assert out == ""
    assert "fused by" in err
    Path("qrels").write_text("1 0 d1 1\n1 0 d2 0\n")
    judged = ("fuse", "a.run", "b.run", "-o", "-", "--method", "rrf", "--qrels", "qrels", "--json")
    assert command_line(*judged, "-m", "map,mrr") == command_line(*judged, "-m", "map", "-m", "mrr")
    assert command_line(*judged, "-m", "map,mrr")[0] == 0
    assert [line.split()[2] for line in Path("stdout").read_text().splitlines()] == ["d1", "d2"]


@pytest.mark.parametrize("ending", ["gz", "xz", "zst"])
def test_scores_are_packed_as_the_name_of_their_file_says(items, ending, command_line):
    for name in ("s.txt", f"s.txt.{ending}"):
        assert command_line("score", "m.podium", "items.csv", "--item", "id", "-o", name)[0] == 0
    assert Path(f"s.txt.{ending}").read_bytes() != Path("s.txt").read_bytes()
    with open_unpacked(f"s.txt.{ending}") as (stream, _):
        assert stream.read() == Path("s.txt").read_bytes()


def test_a_settings_file_is_cross_validated_as_its_options(items, command_line):
    Path("run.toml").write_text('ranker = "rankboost"\n[parameters]\nn_estimators = 3\n')
    call = ("cv", "items.csv", "--item", "id", "--folds", "2", "--quiet", "--json", "-m", "map")
    by_file, by_options = command_line(*call, "--config", "run.toml"), command_line(*call, *FIT)
    assert by_file[0] == 0
    values = [[fold["means"] for fold in json.loads(one[1])["folds"]] for one in (by_file, by_options)]
    assert values[0] == values[1]


def test_what_a_settings_file_sets_is_not_searched(items):
    Path("run.toml").write_text('ranker = "rankboost"\n[parameters]\ncriterion = "z"\n')
    chosen, given = RunChoice(None, ["n_estimators=3"], Path("run.toml")).ranker_and_parameters()
    assert (type(chosen).__name__, chosen.criterion, chosen.n_estimators) == ("RankBoost", "z", 3)
    assert given == {"criterion", "n_estimators"}
    assert type(RunChoice(None, [], None).ranker_and_parameters()[0]).__name__ == "LambdaMART"


def test_limits_are_worded_as_options(items, command_line):
    assert "podium: --folds must be" in command_line("cv", "items.csv", "--item", "id", "--folds", "99", *FIT)[2]
    assert "podium: --trials must be" in command_line("tune", "items.csv", "--item", "id", "--trials", "0")[2]


@pytest.mark.parametrize(
    "command",
    [
        ["data", "FILE", "--json"],
        ["data", "FILE", "--pairs", "prefs.csv", "--json"],
        ["doctor", "FILE", "FILE", "--json"],
        ["doctor", "FILE", "--pairs", "prefs.csv", "--json"],
        ["train", "FILE", "-o", "n.podium", "--eval", "FILE", "--json", *FIT],
        ["score", "m.podium", "FILE"],
        ["evaluate", "FILE", "m.podium", "--json"],
        ["compare", "FILE", "m.podium", "o.podium", "--json"],
        ["explain", "m.podium", "FILE", "--query", "1", "--json"],
        ["export", "m.podium", "--format", "sql", "-o", "m.sql", "--check", "FILE", "--json"],
        ["cv", "FILE", "--folds", "2", "--json", *FIT],
        ["tune", "FILE", "--trials", "1", "--eval", "FILE", "--ranker", "rankboost", "--quiet", "--json"],
    ],
    ids=" ".join,
)
def test_columns_to_ignore_are_no_features_for_any_command(items, command_line, command):
    other = ("--item", "id", "--ranker", "rankboost", "--set", "n_estimators=1", "--quiet")
    assert command_line("train", "items.csv", "-o", "o.podium", *other)[0] == 0
    lines = Path("items.csv").read_text().splitlines()
    texts = ["title,url", *(f"a title {row},u{row}" for row in range(len(lines) - 1))]
    Path("texts.csv").write_text("\n".join(f"{line},{text}" for line, text in zip(lines, texts, strict=True)) + "\n")
    plain = command_line(*[one.replace("FILE", "items.csv") for one in command], "--item", "id")
    with_texts = [one.replace("FILE", "texts.csv") for one in command] + ["--item", "id"]
    found = command_line(*with_texts, "--ignore", "title", "--ignore", "url")
    assert found[0] == plain[0] == 0
    assert what_is_said(found[1]) == what_is_said(plain[1])
    code, _, err = command_line(*with_texts)
    assert code == 2
    assert "but has 'a title 0' in row 1; if it names the rows, give --item title, else --ignore title." in err


def what_is_said(text):
    """Return output without the file's name and without seconds, which differ from run to run."""
    return re.sub(r'"(\w*seconds\w*)": [^,}\n]+', r'"\1": 0', text.replace("texts.csv", "items.csv"))


def test_the_command_of_a_report_has_the_columns_to_ignore(items, command_line):
    Path("texts.csv").write_text(Path("items.csv").read_text().replace("age", "a title"))
    given = ("--item", "id", "--ignore", "a title")
    assert command_line("train", "texts.csv", "-o", "n.podium", *given, *FIT)[0] == 0
    assert command_line("report", "n.podium", "texts.csv", "-o", "page.html", *given)[0] == 0
    assert "--ignore 'a title'" in Path("page.html").read_text()


def test_what_is_to_be_ignored_must_be_there(items, command_line):
    code, _, said = command_line("data", "items.csv", "--item", "id", "--ignore", "ages")
    assert (code, said) == (2, "podium: --ignore ages: items.csv has no such column (did you mean age?).\n")
    Path("full.txt").write_text("1 qid:1 1:1 2:2\n0 qid:1 1:2 2:1\n")
    code, _, said = command_line("data", "full.txt", "--ignore", "2")
    sentence = "podium: --ignore is for the columns of CSV and Parquet files; full.txt is a LETOR file.\n"
    assert (code, said) == (2, sentence)
