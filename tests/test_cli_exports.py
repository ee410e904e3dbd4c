"""`podium export`: files of other programs, what changes there, and hints as options."""

import json

import pytest

from peers import peer
from podium import cli


def test_an_export_is_checked_on_data_without_labels(command_line, tmp_path):
    peer("pyarrow")
    (tmp_path / "data.csv").write_text("label,qid,a\n1,x,5\n0,x,4\n0,x,3\n")
    (tmp_path / "new.csv").write_text("qid,a\nx,5\nx,4\ny,4\n")
    assert command_line("train", "data.csv", "-o", "m", "--quiet")[0] == 0
    code, out, _ = command_line("export", "m", "--format", "sql", "-o", "m.sql", "--check", "new.csv", "--json")
    assert (code, json.loads(out)["n_queries"]) == (0, 2)


def test_export_writes_a_file_and_says_what_changes(command_line, search_files, tmp_path):
    command_line("train", "train.txt", "-o", "m.podium", "--set", "n_estimators=5", "--quiet")
    code, out, _ = command_line("export", "m.podium", "--format", "sql", "--output", "m.sql")
    assert (code, out) == (0, "model: m.sql\n")
    assert "CASE WHEN" in (tmp_path / "m.sql").read_text()
    setting = ["--set", "missing=absent"]
    code, out, _ = command_line(
        "export", "m.podium", "--format", "ranklib", "-o", "m.txt", "--check", "train.txt", *setting
    )
    assert code == 0
    assert out.startswith("ranklib: 0 of 199 scores change")
    assert (tmp_path / "m.txt").read_text().startswith("## RankBoost")
    report = command_line("export", "m.podium", "--format", "onnx", "-o", "m.onnx", "--check", "train.txt", "--json")[1]
    assert json.loads(report)["n_queries"] == 20


def test_export_takes_names_from_a_file(command_line, search_files, tmp_path):
    from podium import load

    command_line("train", "train.txt", "-o", "m.podium", "--set", "n_estimators=5", "--quiet")
    n_features = load(tmp_path / "m.podium").n_features_in_
    (tmp_path / "names.txt").write_text("".join(f"column {i}\n" for i in range(n_features)))
    assert command_line("export", "m.podium", "--format", "sql", "-o", "m.sql", "--feature-names", "names.txt")[0] == 0
    assert '"column ' in (tmp_path / "m.sql").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "sqll", "-o", "m.sql"], "did you mean sql?"),
        (["--format", "sql", "-o", "no/m.sql"], "The folder of no/m.sql does not exist."),
        (["--format", "sql", "-o", "m.sql", "--set", "path=x"], "The format sql takes no options"),
        (["--format", "scorecard", "-o", "m.pdf"], "The ending of a scorecard must be one of csv, html; got 'pdf'"),
    ],
)
def test_bad_exports_end_with_a_sentence_and_code_two(command_line, search_files, arguments, message):
    command_line("train", "train.txt", "-o", "m.podium", "--set", "n_estimators=5", "--quiet")
    code, _, err = command_line("export", "m.podium", *arguments)
    assert code == 2
    assert message in err
    assert len(err.strip().split("\n")) == 1


def test_an_export_goes_to_standard_output_and_its_report_elsewhere(search_files, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    train = ["train", "train.txt", "-o", "m", "--set", "n_estimators=2", "--quiet"]
    export = ["export", "m", "--format", "sql", "--check", "valid.txt", "-o"]
    for arguments in (train, [*export, "m.sql"], [*export, "-"]):
        capfd.readouterr()
        monkeypatch.setattr("sys.argv", ["podium", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code
    out, err = capfd.readouterr()
    assert out == (tmp_path / "m.sql").read_text()
    assert err.startswith("sql: 0 of ")
