"""Commands that learn a ranker and score with it: train, score."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from podium._validation import PodiumError
from podium.cli.files import (
    as_called,
    column_names,
    columns_for,
    load_ranker,
    load_table,
    load_unlabelled,
    named_columns,
)
from podium.cli.options import Source
from podium.cli.output import check_output, show
from podium.cli.preferences import PairOptions, load_items, pairs_for_fit
from podium.cli.run_settings import make_ranker, number_columns, read_config, run_content
from podium.cli.wording import features_named, in_options
from podium.model_file import write_bytes, write_model
from podium.rankers import Estimator, OrdinalThresholds, Ranker
from podium.rankers.boosted import Boosted
from podium.readers import RankingTable, packed_for
from podium.report import INTERRUPTED, training_report


def train(
    source: Source,
    output: Path,
    ranker: str | None,
    settings: Sequence[str],
    config: Path | None,
    eval_files: Sequence[Path],
    eval_sizes: Sequence[Path],
    pairs: PairOptions,
    quiet: bool,
    as_json: bool,
) -> None:
    """Learn a ranker from a data file and save it; what cannot be done is refused before data are read."""
    check_output(output, *source.files, config, *eval_files, *eval_sizes, *pairs)
    model = make_ranker(ranker, settings, read_config(config), verbose=0 if quiet or as_json else 1)
    model._check_trainable()
    table, items = load_items(source, pairs)
    number_columns(model, table.feature_names)
    evals, shown = _load_evals(source, eval_files, eval_sizes, table), as_called(eval_files)
    given = {
        **pairs_for_fit(model, pairs, items), **_evaluation_sets(model, evals, shown),
        **_queries_for(model, table, evals),
    }  # fmt: skip
    names = column_names(table)
    with features_named(names, shown):
        model.fit(named_columns(table), table.y, **given)
    if hasattr(model, "stop_reason_"):
        model.stop_reason_ = in_options(model.stop_reason_, shown, names)
    # A LETOR file numbers its features: these are their names from here on, in reports, errors and exports.
    model.feature_names_in_ = np.array(names, object)
    write_model(output, {**model.content(), "run": run_content(source, eval_files, pairs.pairs)})
    show(training_report(model, output), as_json)
    if getattr(model, "stop_reason_", "") == INTERRUPTED:
        raise SystemExit(2)


def score(model_file: Path, source: Source, output: Path | None, as_json: bool) -> None:
    """Score the rows of a data file, one score (or grade) a line, or a JSON list of them."""
    target = None if output is None or str(output) == "-" else output
    if target is not None:
        check_output(target, model_file, *source.files)
    model = load_ranker(model_file)
    table = load_unlabelled(source, model)
    scores = model.predict(columns_for(model, table)).tolist()
    text = json.dumps({"scores": scores}) if as_json else "\n".join(map(repr, scores))
    if target is None:
        print(text)
    else:
        write_bytes(target, packed_for(target, f"{text}\n".encode()))


def _load_evals(
    source: Source, eval_files: Sequence[Path], eval_sizes: Sequence[Path], table: RankingTable
) -> list[RankingTable]:
    """Return the data of --eval, read like the training data."""
    if eval_sizes and len(eval_sizes) != len(eval_files):
        raise PodiumError(f"Give --eval-query-sizes for each of {len(eval_files)} --eval; got {len(eval_sizes)}.")
    sizes: Sequence[Path | None] = eval_sizes or [None] * len(eval_files)
    like = {"n_features": table.X.shape[1], "sparse": sp.issparse(table.X)}
    return [
        load_table(*source._replace(file=path, query_sizes=own), **like)
        for path, own in zip(eval_files, sizes, strict=True)
    ]


def _evaluation_sets(model: Estimator, evals: Sequence[RankingTable], eval_files: Sequence[Path]) -> dict[str, Any]:
    """Return what --eval gives to `fit`: sets that are called by their files."""
    if not evals:
        return {}
    if not isinstance(model, Ranker | Boosted):
        raise PodiumError(f"{type(model).__name__} does not take --eval: it does not learn in rounds.")
    return {"eval_set": [(named_columns(one), one.y) for one in evals], "eval_names": _set_names(eval_files)}


def _set_names(eval_files: Sequence[Path]) -> list[str]:
    """Return the names of evaluation sets: those of their files, with folders or numbers where they would be alike."""
    short = len({path.name for path in eval_files}) == len(eval_files)
    names = [path.name if short else str(path) for path in eval_files]
    again = [names[:place].count(name) for place, name in enumerate(names)]
    return [f"{name} ({count + 1})" if count else name for name, count in zip(names, again, strict=True)]


def _queries_for(model: Estimator, table: RankingTable, evals: Sequence[RankingTable]) -> dict[str, Any]:
    """Return the queries of the data for rankers that know queries; grades stand for themselves."""
    if not isinstance(model, Ranker | OrdinalThresholds):
        return {}
    return {"qid": table.qid, **({"eval_qid": [one.qid for one in evals]} if evals else {})}
