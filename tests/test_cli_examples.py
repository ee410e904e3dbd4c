"""Every command of the documents, and the example in each command's help, runs as it stands."""

import contextlib
import io
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

import podium
from peers import peer
from podium.cli import app, compiling

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "command-line.md"
README = DOCUMENT.parents[1] / "README.md"
CONFIG = re.compile(r"```toml\n(.*?)```", re.S)


def commands_in(text):
    """The commands of the shell blocks of a document."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M)
    return [line for block in blocks for line in block.splitlines() if line.startswith("podium ")]


def examples_in_help():
    """The examples of all commands, by the name of the command."""
    docs = {one.name: one.callback.__doc__ or "" for one in app.registered_commands}
    return {name: re.findall(r"^ +(podium .*)$", doc, re.M) for name, doc in docs.items()}


def write_runs(folder):
    """Write judgements of twelve queries and runs of two systems that see them through noise."""
    rng = np.random.default_rng(0)
    judged = [(query, doc, int(rng.random() < 0.3)) for query in range(12) for doc in range(20)]
    (folder / "qrels.txt").write_text("".join(f"{query} 0 d{doc} {grade}\n" for query, doc, grade in judged))
    for name in ("run.txt", "a.run", "b.run", "c.run"):
        scores = sorted((query, -grade - rng.normal(), doc) for query, doc, grade in judged)
        lines = [f"{query} Q0 d{doc} {place} {-score} {name}\n" for place, (query, score, doc) in enumerate(scores, 1)]
        (folder / name).write_text("".join(lines))


def write_items(folder):
    """Write items with ids, and preferences between them."""
    items = [f"i{number},{number % 7},{number}\n" for number in range(20)]
    (folder / "items.csv").write_text(f"id,age,price\n{''.join(items)}")
    prefs = [f"i{number},i{number + 2}\n" for number in range(18)]
    (folder / "prefs.csv").write_text(f"better,worse\n{''.join(prefs)}")


@pytest.fixture
def session(command_line, tmp_path, monkeypatch):
    """Run commands in a folder with the files that the documents name."""
    peer("pyarrow")
    monkeypatch.setattr(compiling, "run_jobs", lambda names, n_processes: names)
    for seed, name in enumerate(("train", "valid", "test")):
        table = podium.make_search(n_queries=30, docs_per_query=8, n_features=6, random_state=seed)
        rows = list(zip(table.X.tolist(), table.y.tolist(), table.qid.tolist(), strict=True))
        cells = [" ".join(f"{j + 1}:{value:.5g}" for j, value in enumerate(x)) for x, _, _ in rows]
        letor = [f"{y:g} qid:{qid} {own}\n" for (_, y, qid), own in zip(rows, cells, strict=True)]
        (tmp_path / f"{name}.txt").write_text("".join(letor))
        lines = [f"{y:g},{qid},{','.join(f'{value:.5g}' for value in x)}\n" for x, y, qid in rows]
        (tmp_path / f"{name}.csv").write_text(f"grade,query,{','.join(table.feature_names)}\n{''.join(lines)}")
    write_runs(tmp_path)
    write_items(tmp_path)
    (tmp_path / "run.toml").write_text(CONFIG.search(DOCUMENT.read_text("utf-8"))[1])
    for name in ("scores.txt", "bm25.txt"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in range(len(rows))))
    model = podium.RankBoost(4).fit(table.X, table.y, qid=table.qid)
    for name in ("m", "a", "b"):
        model.save(tmp_path / f"{name}.podium")
    model.export(tmp_path / "lightgbm.txt", "lightgbm")

    def run(line):
        words = shlex.split(line, comments=True)
        with contextlib.ExitStack() as files:
            if "<" in words:
                content = (tmp_path / words[words.index("<") + 1]).read_bytes()
                files.enter_context(monkeypatch.context()).setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
            plain = words[1 : min([words.index(sign) for sign in "<>" if sign in words], default=None)]
            code, out, err = command_line(*plain)
        assert code == 0, f"{line}\n{err}"
        if ">" in words:
            (tmp_path / words[words.index(">") + 1]).write_text(out)
        return out

    return run


@pytest.mark.filterwarnings("ignore:No value was missing in training")
@pytest.mark.parametrize("document", [DOCUMENT, README], ids=["command-line", "readme"])
def test_the_commands_of_the_documents_run_in_their_order(session, tmp_path, document):
    commands = commands_in(document.read_text("utf-8"))
    assert len(commands) >= 8
    for line in commands:
        session(line)
    if document == DOCUMENT:
        assert (tmp_path / "again.txt").read_text() == (tmp_path / "scores.txt").read_text()
        assert {shlex.split(line)[1] for line in commands} >= {one.name for one in app.registered_commands}


@pytest.mark.parametrize("name", [one.name for one in app.registered_commands])
def test_the_help_of_each_command_has_an_example_that_runs(session, name):
    examples = examples_in_help()[name]
    assert examples
    for line in examples:
        assert line.startswith(f"podium {name}")
        session(line)
