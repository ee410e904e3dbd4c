"""Commands that look at data and measure rankings: data, evaluate, evaluate-run, measures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from podium._validation import PodiumError
from podium.cli.files import feature_scores, load_table, read_scores
from podium.cli.options import Source
from podium.cli.output import show
from podium.cli.preferences import describe_pairs
from podium.evaluation import compare, evaluate, evaluate_run
from podium.measures import available
from podium.readers import read_qrels, read_run
from podium.report import describe


def describe_data(source: Source, pairs: Path | None, as_json: bool) -> None:
    """Say what a data file holds, and the pairs of its rows that another may hold."""
    if pairs is not None:
        describe_pairs(source, pairs, as_json)
        return
    table = load_table(*source)
    show(describe(table.X, np.asarray(table.y), qid=table.qid), as_json)


def evaluate_file(
    source: Source,
    scores: Path | None,
    against: Path | None,
    feature: int | None,
    rules: dict[str, Any],
    as_json: bool,
    per_query: bool,
) -> None:
    """Measure scores of a file, or a feature; or compare them with a second file of scores.

    `rules` are options of `evaluate`: measures, ties, relevant, convention.
    """
    if scores is not None and feature is not None:
        raise PodiumError("Give a file of scores or --feature, not both.")
    table = load_table(*source)
    given = read_scores(scores) if scores is not None else feature_scores(table, feature)
    labels, options = np.asarray(table.y), {"qid": table.qid, **rules}
    if against is not None:
        show(compare(labels, given, read_scores(against), **options), as_json)
    else:
        show(evaluate(labels, given, **options), as_json, per_query)


def evaluate_trec_run(qrels: Path, run: Path, measure: list[str], as_json: bool, per_query: bool) -> None:
    """Measure a TREC run against judgements."""
    show(evaluate_run(read_qrels(qrels), read_run(run), measures=measure), as_json, per_query)


def list_measures(as_json: bool) -> None:
    """List the measures."""
    known = available()
    if as_json:
        print(json.dumps(known, indent=2))
    else:
        width = max(map(len, known))
        print("\n".join(f"{name:{width}}  {text}" for name, text in known.items()))
