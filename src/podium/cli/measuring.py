"""Commands that measure rankings: evaluate, compare, evaluate-run, measures."""

from __future__ import annotations

import json
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np

from podium._validation import PodiumError, check_choice
from podium.cli.options import Source, measure_names
from podium.cli.output import console_for, show, show_json
from podium.cli.ranking_files import check_rankings, feature_ranking, names_of, read_rankings, with_last
from podium.cli.standard_input import read_from
from podium.evaluation import Contest, Leaderboard, compare, evaluate, evaluate_run, evaluate_runs, leaderboard
from podium.measures import available
from podium.model_file import check_writable, write_bytes
from podium.readers import read_qrels, read_run

CHART_FORMATS = ("html", "json", "svg", "png")


def evaluate_file(
    source: Source,
    rankings: list[Path],
    against: Path | None,
    feature: int | None,
    rules: dict[str, Any],
    as_json: bool,
    per_query: bool,
) -> None:
    """Measure models and files of scores, or a feature; several as a leaderboard, or against one of them.

    `rules` are options of `evaluate`: measures, ties, relevant, convention.
    """
    check_rankings(rankings, feature)
    files = with_last(rankings, against)
    _check_per_query(per_query, len(files) + (feature is not None))
    table, scores = read_rankings(source, files)
    scores = {**feature_ranking(table, feature), **scores}
    labels, options = np.asarray(table.y), {"qid": table.qid, **rules}
    if against is not None and len(scores) == 2:
        (first, one), (second, two) = scores.items()
        show(compare(labels, one, two, names=(first, second), **options), as_json)
    elif len(scores) > 1:
        board = leaderboard(labels, scores, **options)
        show(board if against is None else board.against(list(scores)[-1]), as_json)
    else:
        show(evaluate(labels, next(iter(scores.values())), **options), as_json, per_query)


def compare_files(
    source: Source, rankings: list[Path], rules: dict[str, Any], chart: Path | None, as_json: bool
) -> None:
    """Test models and files of scores against each other, on each measure."""
    if len(rankings) < 2:
        raise PodiumError(f"compare needs at least two models or files of scores; got {len(rankings)}.")
    if chart is not None:
        _check_chart(chart)
    table, scores = read_rankings(source, rankings)
    show_contests(leaderboard(np.asarray(table.y), scores, qid=table.qid, **rules), chart, as_json)


def show_contests(board: Leaderboard, chart: Path | None, as_json: bool) -> None:
    """Print a leaderboard and all tests of it; the chart is that of the first measure."""
    contests = [board.contest(measure) for measure in board.measures]
    if chart is not None:
        _write_chart(contests[0], chart)
    if as_json:
        show_json({**board.to_dict(), "contests": {one.measure: one.to_dict() for one in contests}})
        return
    console = console_for()
    console.print(board.table())
    for one in contests:
        console.print(one.table())
        for text in (one.summary(), one.diagram("nemenyi"), one.diagram("wilcoxon")):
            print(f"{text}\n")


def evaluate_trec_runs(
    qrels: Path, runs: list[Path], against: Path | None, measure: list[str], as_json: bool, per_query: bool
) -> None:
    """Measure TREC runs against judgements; several as a leaderboard, or each against one of them."""
    judged, measures = read_from(qrels, read_qrels), measure_names(measure)
    if len(runs) == 1 and against is None:
        show(evaluate_run(judged, read_from(runs[0], read_run), measures=measures), as_json, per_query)
        return
    files = with_last(runs, against)
    _check_per_query(per_query, len(files))
    names = names_of(files)
    found = {name: read_from(path, read_run) for name, path in zip(names, files, strict=True)}
    board = evaluate_runs(judged, found, measures=measures)
    show(board if against is None else board.against(names[-1]), as_json)


def list_measures(as_json: bool) -> None:
    """List the measures."""
    known = available()
    if as_json:
        print(json.dumps(known, indent=2))
    else:
        width = max(map(len, known))
        print("\n".join(f"{name:{width}}  {text}" for name, text in known.items()))


def _check_per_query(per_query: bool, n_rankings: int) -> None:
    """Refuse --per-query of several rankings."""
    if per_query and n_rankings > 1:
        raise PodiumError(f"--per-query shows one ranking at a time; got {n_rankings} of them.")


def _check_chart(path: Path) -> None:
    """Refuse, before any work is done, a chart that could not be written."""
    check_choice(path.suffix.lower().lstrip("."), CHART_FORMATS, "The ending of --chart")
    check_writable(path)


def _write_chart(contest: Contest, path: Path) -> None:
    """Write the critical-difference diagram of a contest, whole or not at all."""
    from podium.plots import critical_difference

    kind: Any = path.suffix.lower().lstrip(".")
    picture, text = BytesIO(), StringIO()
    try:
        critical_difference(contest).save(picture if kind == "png" else text, format=kind)
    except ImportError as error:
        raise PodiumError(str(error)) from None
    write_bytes(path, picture.getvalue() or text.getvalue().encode())
