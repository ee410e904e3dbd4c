"""Commands that read and write models of other programs: import, export."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from podium.cli.files import columns_for, load_ranker, load_unlabelled, read_names
from podium.cli.options import Source, setting
from podium.cli.output import STANDARD_OUTPUT, check_output, show_lines
from podium.export import check_options
from podium.rankers import import_model
from podium.report import export_report


def import_file(
    foreign: Path, output: Path, file_format: str, n_features: int | None, names: Path | None, as_json: bool
) -> None:
    """Save a model of another program as one of ours."""
    check_output(output, foreign, names)
    given = None if names is None else read_names(names)
    model = import_model(foreign, file_format, feature_names=given, n_features=n_features)
    model.save(output)
    show_lines({**model.source_, "features": model.n_features_in_, "model": str(output)}, as_json)


def export_file(
    model_file: Path,
    model_format: str,
    output: Path,
    options: Sequence[str],
    names: Path | None,
    check: Source | None,
    as_json: bool,
) -> None:
    """Write a model for another program; with data to `check`, say what would change there."""
    to_output = str(output) == "-"
    target = STANDARD_OUTPUT if to_output else output
    check_output(target, model_file, names, *(() if check is None else check.files))
    given = dict(map(setting, options))
    check_options(model_format, given)
    model = load_ranker(model_file)
    called = None if names is None else read_names(names)
    model.export(target, model_format, feature_names=called, **given)
    said = sys.stderr if to_output else sys.stdout
    if check is None:
        print(json.dumps({"model": str(output)}) if as_json else f"model: {output}", file=said)
        return
    table = load_unlabelled(check, model, with_queries=True)
    rows = columns_for(model, table)
    report = export_report(model, rows, model_format, qid=table.qid, feature_names=called, **given)
    print(json.dumps(report.to_dict(), indent=2) if as_json else report, file=said)
