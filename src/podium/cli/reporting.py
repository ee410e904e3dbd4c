"""The command that makes a page on a model: report."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from podium._validation import PodiumError
from podium.cli.files import load_ranker, load_table, named_columns, opened
from podium.cli.options import Source
from podium.cli.output import check_output, show_json
from podium.diagnosis import doctor
from podium.readers import RankingTable
from podium.report.page import Report, report


def report_file(
    model_file: Path,
    source: Source,
    output: Path,
    measures: Sequence[str],
    title: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Write a page on a model and the rows of a data file; a file that cannot be written is refused at once."""
    check_output(output, model_file, *source.files)
    model = load_ranker(model_file)
    with opened(source) as data:
        table = load_table(*data, n_features=model.n_features_in_, sparse=model.sparse_input_)
        if table.y is None:
            raise PodiumError(f"{data.file} must have labels to report on.")
        page = report(
            model,
            named_columns(table),
            np.asarray(table.y),
            qid=table.qid,
            docid=table.docid,
            measures=measures,
            title=title,
            feature_names=model._names() or tuple(f"feature {j + 1}" for j in range(model.n_features_in_)),
            findings=_findings(table),
            files=[model_file, data.file],
            commands=[_command(model_file, source, output, measures, title, seed)],
            random_state=seed,
        )
    page.save(output)
    if as_json:
        show_json(_summary(page, output))
    else:
        print(f"{output}: {output.stat().st_size / 1e6:.1f} MB, the rankings of {page.n_shown:,} queries")


def _summary(page: Report, path: Path) -> dict[str, object]:
    """Return what the command says for programs: where the page is, how large, and what it shows and measures."""
    content: dict[str, Any] = page.content
    rows = content["quality"]["rows"]
    measured = {row["name"]: {key: row[key] for key in ("mean", "low", "high")} for row in rows}
    sizes = {"queries": content["summary"]["queries"], "queries_shown": page.n_shown}
    return {"page": str(path), "bytes": path.stat().st_size, **sizes, "measures": measured}


def _findings(table: RankingTable) -> list[str]:
    """Return what the doctor finds in the data, a sentence each."""
    found = doctor(named_columns(table), np.asarray(table.y), qid=table.qid, n_jobs=-1)
    return [finding.sentence for finding in found.findings]


def _command(
    model_file: Path, source: Source, output: Path, measures: Sequence[str], title: str | None, seed: int
) -> str:
    """Return the command that makes the page, files without their folders, options that are not the defaults."""
    words = ["podium", "report", model_file.name, Path(source.file).name, "-o", output.name]
    for measure in measures:
        words += ["-m", measure]
    for name in source.ignore:
        words += ["--ignore", name]
    given = {
        "--title": (title, None),
        "--seed": (str(seed), "0"),
        "--format": (source.file_format, "auto"),
        "--label": (source.label, "label"),
        "--qid": (source.qid, "qid"),
        "--query-sizes": (None if source.query_sizes is None else source.query_sizes.name, None),
        "--item": (source.item, None),
    }
    for option, (value, default) in given.items():
        words += [] if value is None or value == default else [option, value]
    return shlex.join(words)
