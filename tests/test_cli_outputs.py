"""Files that commands write: never one that they read, and refused before any work where they cannot be written."""

import pytest

import podium
from podium.model_file import try_writing

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered"),  # random bits, in plain kernels
]
RUN = "1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n"


@pytest.fixture
def files(search_files, tmp_path):
    """Write a model, two runs and judgements beside the data."""
    train = podium.read_letor(tmp_path / "train.txt")
    podium.RankBoost(2).fit(train.X, train.y, qid=train.qid).save(tmp_path / "m.podium")
    for name in ("a.run", "b.run"):
        (tmp_path / name).write_text(RUN)
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    (tmp_path / "x.json").write_text("{}")


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "train.txt", "-o", "train.txt"],
        ["train", "train.txt", "--eval", "valid.txt", "-o", "./valid.txt"],
        ["train", "train.txt", "--pairs", "a.run", "--eval-pairs", "b.run", "-o", "b.run"],
        ["train", "train.txt", "--query-sizes", "qrels", "-o", "qrels"],
        ["score", "m.podium", "valid.txt", "-o", "valid.txt"],
        ["report", "m.podium", "valid.txt", "-o", "m.podium"],
        ["export", "m.podium", "--format", "sql", "-o", "m.podium"],
        ["export", "m.podium", "--format", "sql", "--check", "valid.txt", "-o", "valid.txt"],
        ["import", "x.json", "--format", "xgboost-json", "-o", "x.json"],
        ["fuse", "a.run", "b.run", "-o", "b.run"],
        ["fuse", "a.run", "b.run", "--qrels", "qrels", "-o", "qrels"],
        ["tune", "train.txt", "--trials", "1", "-o", "train.txt"],
    ],
    ids=" ".join,
)
def test_a_file_that_a_command_reads_is_not_written_over(arguments, files, command_line, tmp_path):
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    output = arguments[-1].removeprefix("./")
    said = f"podium: {output} is a file that this command reads; name another one.\n"
    assert command_line(*arguments) == (2, "", said)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    "arguments",
    [["train", "none.txt"], ["report", "none", "none.txt"], ["tune", "none.txt"], ["score", "none", "n.txt"]],
)
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_read(arguments, command_line):
    code, out, err = command_line(*arguments, "-o", "/proc/model")
    assert (code, out) == (2, "")
    assert err.startswith("podium: /proc/model: ")


def test_trying_leaves_nothing_and_an_old_file_as_it_was(tmp_path):
    try_writing(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old").write_text("old")
    try_writing(tmp_path / "old")
    try_writing("/dev/stdout")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_ctrl_c_speaks_of_checkpoints_where_there_may_be_one(command_line, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("podium.cli.training.load_items", interrupted)
    monkeypatch.setattr("podium.cli.examining.load_table", interrupted)
    said = "podium: Interrupted; nothing was written but a checkpoint, if --set checkpoint=FILE names one.\n"
    assert command_line("train", "train.txt", "-o", "m")[2] == said
    assert command_line("doctor", "train.txt")[2] == "podium: Interrupted; nothing was written.\n"
