"""The command line speaks of options and files: errors, warnings, packed files, standard input, Ctrl-C, --debug."""

import gzip
import io
import json
import lzma
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

from peers import peer
from podium import FormatError, LambdaMART, PodiumError, RankBoost, cli, load, read_letor
from podium.boosting import EvaluationSet
from podium.cli import app, preferences, standard_input
from podium.cli.command_groups import GROUPS
from podium.cli.wording import WORDS, features_named, in_options
from podium.readers import open_unpacked

pytestmark = pytest.mark.plain

QUICK = ["--set", "n_estimators=3", "--quiet"]
LETOR = "2 qid:1 1:0.5 2:3\n0 qid:1 1:0.1 2:4\n1 qid:2 1:0.9 2:2\n0 qid:2 1:0.2 2:1\n"


@pytest.fixture
def trained(command_line, tmp_path):
    """A model `m` of data.txt, in the folder where commands run."""
    (tmp_path / "data.txt").write_text(LETOR)
    assert command_line("train", "data.txt", "-o", "m", *QUICK)[0] == 0
    return command_line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "data.txt", "-o", "n", "--set", "early_stopping_rounds=3"],
         "early_stopping_rounds needs data to measure each round on: give --eval."),
        (["train", "data.txt", "-o", "n", "--eval", "plain.txt"],
         "plain.txt must have queries, as the training rows have: give --eval-query-sizes, or a file with queries."),
        (["train", "plain.txt", "-o", "n", "--eval", "data.txt"],
         "The training rows must have queries, as data.txt has: give --query-sizes, or a file with queries."),
        (["train", "data.txt", "-o", "n", "--eval", "alike.txt", "--set", "eval_metric=map"],
         "map is not defined on alike.txt: no query there has anything to measure; give another --eval, or another "
         "--set eval_metric."),
        (["train", "data.txt", "-o", "n", "--set", "n_estimators=0"],
         "--set n_estimators of RankBoost must be an int in the range [1, inf). Got 0 instead."),
        (["train", "absent", "-o", "n", "--set", "weak=feature", "--set", "max_bins=10"],
         "--set max_bins goes with stumps only; leave it out with --set weak=feature."),
        (["train", "absent", "-o", "n", "--set", "weak=feature", "--set", "alpha=z"],
         "--set alpha=z goes with stumps only; leave it out with --set weak=feature."),
        (["train", "data.txt", "-o", "n", "--set", "n_jobs=0"],
         "--set n_jobs must be null or an integer other than 0 (-1 is all processors); got 0."),
        (["score", "m", "wide.csv"], "The data has 3 features, but RankBoost is expecting 2 as the model has."),
        (["score", "m", "wide.txt"],
         "wide.txt, line 1: feature number 3 is larger than 2, the last one of the training data: "
         "'1 qid:1 1:1 3:1'."),
        (["train", "large.txt", "-o", "n"],
         "large.txt, line 1: feature number 3000000000 is larger than 2147483647, the largest that can be read: "
         "'1 qid:1 3000000000:1'."),
        (["score", "absent", "data.txt"], "absent: No such file or directory."),
        (["train", "absent.csv", "-o", "n"], "absent.csv: No such file or directory."),
        (["train", "wide.csv", "-o", "n", "--qid", "query"],
         "wide.csv: there is no column 'label' among a, b, c; --label and --qid name those of labels and queries."),
        (["export", "m", "--format", "sql", "-o", "n", "--set", "name=x"],
         "The format sql takes no options beside --feature-names; got --set name=x."),
        (["export", "m", "--format", "sql", "-o", "n", "--feature-names", "names"],
         "--feature-names must be a list of 2 names; got 1."),
    ],
)  # fmt: skip
def test_hints_are_options_and_sets_are_files(trained, tmp_path, arguments, said):
    peer("pyarrow")
    (tmp_path / "plain.txt").write_text(re.sub(r"qid:\d ", "", LETOR))
    (tmp_path / "alike.txt").write_text(re.sub(r"^\d", "0", LETOR, flags=re.M))
    (tmp_path / "wide.txt").write_text("1 qid:1 1:1 3:1\n0 qid:1 1:0\n")
    (tmp_path / "large.txt").write_text("1 qid:1 3000000000:1\n0 qid:1 1:0\n")
    (tmp_path / "wide.csv").write_text("a,b,c\n1,2,3\n")
    (tmp_path / "names").write_text("a\n")
    code, out, err = trained(*arguments)
    assert (code, out) == (2, "")
    assert err == f"podium: {said}\n"
    assert not (tmp_path / "n").exists()


def test_every_pattern_of_the_wording_is_one_and_other_words_stay():
    assert all(re.compile(pattern) for pattern, _ in WORDS)
    assert in_options("The answer is 42.") == "The answer is 42."
    assert in_options("eval_set[1] must have x; eval_set[0] has.", [Path("a"), Path("b")]) == "b must have x; a has."
    assert in_options("eval_set[2] must") == "--eval 3 must"
    assert in_options("feature 0 does not", names=["7", "9"]) == "feature 7 does not"


def test_errors_of_features_name_them_as_the_file_does(command_line, tmp_path):
    (tmp_path / "data.txt").write_text("1 qid:1 1:1 2:1e101\n0 qid:1 1:2 2:3\n")
    code, _, err = command_line("train", "data.txt", "-o", "m", "--ranker", "rankrls")
    assert code == 2
    assert "; feature 2 does not: " in err


def test_complete_rows_are_exported_to_ranklib_with_a_line_that_says_so(command_line, search_files, tmp_path):
    assert command_line("train", "train.txt", "-o", "m", *QUICK)[0] == 0
    warnings.simplefilter("always")
    code, out, err = command_line("export", "m", "--format", "ranklib", "-o", "m.txt")
    assert (code, out) == (0, "model: m.txt\n")
    assert err.startswith("podium: No value was missing in training, so --set missing=absent was taken for the format")
    assert err.count("\n") == 1
    assert command_line("export", "m", "--format", "ranklib", "-o", "n.txt", "--set", "missing=absent")[2] == ""
    assert (tmp_path / "m.txt").read_text() == (tmp_path / "n.txt").read_text()
    code, _, err = command_line("export", "m", "--format", "ranklib", "-o", "n.txt", "--set", "missing=zero")
    assert code == 2
    assert "if no value is ever missing, give --set missing=absent, or choose a format that keeps it." in err
    assert re.search(r"sends a missing '\d+' (left|right)", err)  # the number of the file


def test_rows_with_missing_values_are_refused_as_before(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(float)
    model = RankBoost(5).fit(X, y, group=[60])
    assert model.training_summary_["missing"] == 0
    with pytest.warns(UserWarning, match='so missing="absent" was taken for the format ranklib'):
        model.export(tmp_path / "m", "ranklib")
    X[3, 1] = np.nan
    model = RankBoost(5).fit(X, y, group=[60])
    assert model.training_summary_["missing"] == 1
    with pytest.raises(PodiumError, match="RankLib reads a missing value as 0"):
        model.export(tmp_path / "m", "ranklib")


def zstandard(data):
    """Pack by pyarrow."""
    sink = peer("pyarrow").BufferOutputStream()
    with peer("pyarrow").CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


PACKERS = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "zst": zstandard,
}


@pytest.mark.parametrize("ending", PACKERS)
def test_packed_files_are_read_as_they_come(trained, tmp_path, ending):
    packed = PACKERS[ending](LETOR.encode())
    (tmp_path / f"data.txt.{ending}").write_bytes(packed)
    assert trained("score", "m", f"data.txt.{ending}") == trained("score", "m", "data.txt")
    (tmp_path / "whatever").write_bytes(packed)
    assert read_letor(tmp_path / "whatever").y.tolist() == [2, 0, 1, 0]
    (tmp_path / "cut").write_bytes(packed[: len(packed) // 2])
    code, _, err = trained("score", "m", "cut")
    assert code == 2
    assert err.startswith(f"podium: cut: the .{ending} ")


@pytest.mark.parametrize("ending", PACKERS)
def test_unpacked_bytes_are_those_that_were_packed_and_damage_is_named(tmp_path, ending):
    text = "".join(f"{ending} {number} {number**3 % 997}\n" for number in range(4000)).encode()
    packed = bytearray(PACKERS[ending](text))
    (tmp_path / "whole").write_bytes(packed)
    with open_unpacked(tmp_path / "whole") as (stream, _):
        assert stream.read(7) + stream.read() == text
    packed[len(packed) // 2 : len(packed) // 2 + 40] = bytes(40)
    (tmp_path / "hurt").write_bytes(packed)
    with (
        pytest.raises(FormatError, match=rf"hurt: the \.{ending} is damaged"),
        open_unpacked(tmp_path / "hurt") as (s, _),
    ):
        s.read()


def test_text_that_begins_like_a_packed_file_is_text(tmp_path):
    (tmp_path / "text").write_text("(1 qid:1 1:1\n")
    with pytest.raises(FormatError, match="text, line 1: "):
        read_letor(tmp_path / "text")


def test_a_packed_csv_file_and_packed_scores_are_read(trained, tmp_path):
    peer("pyarrow")
    text = "label,qid,a,b\n2,1,0.5,3\n0,1,0.1,4\n1,2,0.9,2\n0,2,0.2,1\n"
    (tmp_path / "data.csv.xz").write_bytes(lzma.compress(text.encode()))
    assert json.loads(trained("data", "data.csv.xz", "--json")[1])["feedback"]["n_rows"] == 4
    (tmp_path / "scores.gz").write_bytes(gzip.compress(b"3\n2\n1\n0\n"))
    assert trained("evaluate", "data.txt", "scores.gz", "-m", "mrr")[0] == 0


def test_scores_come_from_standard_input(trained, monkeypatch, tmp_path):
    (tmp_path / "scores").write_text("3\n2\n1\n0\n")
    (tmp_path / "pairs").write_text("0 1\n")
    for options in ([], ["--pairs", "pairs"]):
        expected = trained("evaluate", "data.txt", "scores", "--json", *options)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"3\n2\n1\n0\n")))
        assert trained("evaluate", "data.txt", "-", "--json", *options) == expected
        assert expected[0] == 0
        assert trained("evaluate", "-", "-", *options) == (
            2, "", "podium: Standard input holds the data or the scores, not both; name a file for one of them.\n",
        )  # fmt: skip


def test_a_dash_is_standard_input_or_output(trained, monkeypatch, tmp_path):
    expected = trained("score", "m", "data.txt")
    for data in (LETOR.encode(), gzip.compress(LETOR.encode())):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert trained("score", "m", "-", "-o", "-") == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 qid:1 one:1\n")))
    code, _, err = trained("data", "-")
    assert code == 2
    assert err.startswith("podium: standard input, line 1: ")
    scores = json.loads(trained("score", "m", "data.txt", "--json")[1])["scores"]
    assert [repr(one) for one in scores] == expected[1].split()
    with standard_input.file_or_input(tmp_path / "x") as file:
        assert file == tmp_path / "x"


def test_features_of_a_letor_file_go_by_its_numbers(trained, tmp_path):
    assert list(load("m").feature_names_in_) == ["1", "2"]
    assert trained("export", "m", "--format", "sql", "-o", "m.sql")[0] == 0
    names = set(re.findall(r'"(\w+)"', (tmp_path / "m.sql").read_text()))
    assert names
    assert names <= {"1", "2"}
    (tmp_path / "flat.txt").write_text("1 qid:1 1:5 2:7\n0 qid:1 1:4 2:7\n")
    assert json.loads(trained("data", "flat.txt", "--json")[1])["constant_features"] == ["2"]
    assert "most important features feature " in " ".join(trained("train", "data.txt", "-o", "m", *QUICK)[1].split())


def test_ctrl_c_ends_with_a_sentence_and_keeps_what_was_learned(trained, monkeypatch, tmp_path):
    monkeypatch.setattr(preferences, "load_table", interrupt)
    code, out, err = trained("train", "data.txt", "-o", "n")
    assert (code, out) == (2, "")
    assert err == "podium: Interrupted; nothing was written but a checkpoint, if --set checkpoint=FILE names one.\n"
    assert not (tmp_path / "n").exists()
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.txt").write_text(LETOR.replace("\n", "\n1 qid:3 1:0.4 2:2\n0 qid:3 1:0.7 2:3\n", 1))
    calls = []
    add = EvaluationSet.add

    def add_some(self, round_):
        calls.append(round_)
        return add(self, round_) if len(calls) < 3 else interrupt()

    monkeypatch.setattr(EvaluationSet, "add", add_some)
    warnings.simplefilter("always")
    given = ["--quiet", "--set", "n_estimators=50", "--set", "checkpoint=kept", "--eval", "data.txt"]
    code, out, err = trained("train", "data.txt", "-o", "n", *given)
    assert code == 2
    assert err == "podium: Interrupted: the 2 rounds learned so far are kept.\n"
    assert "it was interrupted" in out
    assert len(load("n").rounds_) == 2
    assert (tmp_path / "kept").exists()


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_debug_shows_the_traceback_wherever_it_stands(monkeypatch):
    for arguments in (["--debug", "data", "absent"], ["data", "absent", "--debug"]):
        monkeypatch.setattr(sys, "argv", ["podium", *arguments])
        with pytest.raises(FileNotFoundError):
            cli.main()


@pytest.mark.parametrize("words", ["rankers", "train --ranker", "cv --ranker", "tune --ranker"])
def test_shells_complete_the_names_of_rankers(words):
    place = str(1 + len(words.split()))
    asked = {"_PODIUM_COMPLETE": "complete_bash", "COMP_WORDS": f"podium {words} Lam", "COMP_CWORD": place}
    code = "import sys; from podium.cli import main; sys.argv = ['podium']; main()"
    said = subprocess.run([sys.executable, "-c", code], env={**os.environ, **asked}, capture_output=True, text=True)
    assert said.stdout.split() == ["LambdaMART", "LambdaRank"]


@pytest.mark.parametrize(
    ("names", "said"),
    [(["a"], "eval_names must be 2 strings"), (["a", "a"], "differ"), ("ab", "eval_names"), ([1, 2], "strings")],
)
def test_evaluation_sets_are_called_as_eval_names_says(tmp_path, names, said):
    (tmp_path / "data.txt").write_text(LETOR)
    table = read_letor(tmp_path / "data.txt")
    given = {"qid": table.qid, "eval_set": [(table.X, table.y)] * 2, "eval_qid": [table.qid] * 2}
    model = RankBoost(2).fit(table.X, table.y, **given, eval_names=["one", "two"])
    assert list(model.evals_result_) == ["one", "two"]
    with pytest.raises(PodiumError, match=said):
        RankBoost(2).fit(table.X, table.y, **given, eval_names=names)
    assert "eval_names" in LambdaMART.fit.__doc__


def options_of(command):
    """The names of each option of a command, by its parameter."""
    return {one.name: {*one.opts, *one.secondary_opts} for one in command.params if one.opts[0].startswith("-")}


COMMANDS = get_command(app).commands


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_has_the_same_names_in_every_command(name):
    options = options_of(COMMANDS[name])
    assert options["as_json"] == {"--json"}
    assert options.get("output", {"--output", "-o"}) == {"--output", "-o"}
    assert options.get("seed", {"--seed"}) == {"--seed"}
    assert not {"--random-state", "--out"} & set().union(*options.values())


def test_every_command_stands_in_one_group_of_the_help_with_its_whole_sentence(command_line):
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted(one.name for one in app.registered_commands)
    code, out, _ = command_line("--help")
    assert code == 0
    assert "..." not in out.split("Look at data:")[1]


def test_warnings_and_errors_name_features_as_the_file_does():
    with pytest.warns(UserWarning, match="took feature 17, so") as caught, features_named(["12", "17"]):
        warnings.warn("Every one of 20 rounds took feature 1, so that", stacklevel=1)
    assert len(caught) == 1
    with pytest.raises(PodiumError, match="feature 12 does not"), features_named(["12", "17"]):
        raise PodiumError("feature 0 does not")


def test_pairs_of_numbers_without_item_are_said_to_be_rows(command_line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,x\n1,0.5\n2,0.1\n0,0.7\n")
    Path("prefs.csv").write_text("better,worse\n0,1\n")
    said = "Without --item, pairs are read as row numbers of items.csv, counted from 0; --item COLUMN reads ids.\n"
    assert command_line("data", "items.csv", "--pairs", "prefs.csv")[2] == said
    assert command_line("data", "items.csv", "--pairs", "prefs.csv", "--item", "id")[2] == ""
