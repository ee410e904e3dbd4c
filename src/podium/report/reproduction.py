"""What a page says of how to get the same again: versions, files, commands, a few lines of Python."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import version
from os import PathLike
from pathlib import Path

from podium._types import Json
from podium._version import __version__
from podium.rankers import Estimator
from podium.report.model_facts import parameters

PACKAGES = ("numpy", "numba", "scikit-learn", "scipy")
BYTES_AT_ONCE = 2**20


def reproduction(
    model: Estimator, measures: Sequence[str], files: Sequence[str | PathLike[str]], commands: Sequence[str]
) -> dict[str, Json]:
    """Return how to make the model and the page again, ready for JSON.

    Parameters
    ----------
    model : fitted ranker
    measures : sequence of str
    files : sequence of path
        Files of the model and of the rows: named on the page, without their folders, with their sizes and SHA-256.
    commands : sequence of str
        Commands that made the page.
    """
    installed: list[Json] = [["Podium", __version__], ["Python", platform.python_version()]]
    installed += [[name, version(name)] for name in PACKAGES]
    return {
        "versions": installed,
        "files": [_fingerprint(file) for file in files],
        "commands": list(commands),
        "code": _code(model, measures),
    }


def _code(model: Estimator, measures: Sequence[str]) -> str:
    """Return lines of Python that learn, measure and report again."""
    name = type(model).__name__
    chosen = {key: text for key, text, changed in parameters(model) if changed and key != "verbose"}
    given = ", ".join(f"{key}={text}" for key, text in chosen.items())
    queries = "" if hasattr(model, "classes_") else ", qid=train_qid"
    if "early_stopping_rounds" in chosen:
        queries += ", eval_set=[(valid_X, valid_y)]" + (queries and ", eval_qid=[valid_qid]")
    scores = "model.predict_rank(X)" if hasattr(model, "predict_rank") else "model.predict(X)"
    learned = f"model = podium.{name}({given}).fit(train_X, train_y{queries})"
    if name.startswith("Imported"):
        learned = 'model = podium.load("model.podium")'
    return "\n".join(
        [
            "import podium",
            "",
            learned,
            f"print(podium.evaluate(y, {scores}, qid=qid, measures={list(measures)!r}))",
            'podium.report(model, X, y, qid=qid).save("report.html")',
        ]
    )


def _fingerprint(path: str | PathLike[str]) -> list[Json]:
    """Return the name, size and SHA-256 of a file."""
    digest, size = sha256(), 0
    with open(path, "rb") as file:
        while block := file.read(BYTES_AT_ONCE):
            digest.update(block)
            size += len(block)
    return [getattr(path, "name", Path(path).name), f"{size:,} bytes", digest.hexdigest()]
