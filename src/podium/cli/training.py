"""Commands that learn a ranker and score with it: train, score."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from podium._validation import PodiumError, check_choice
from podium.cli.files import load_ranker, load_table, load_unlabelled, named_columns
from podium.cli.options import Source, setting
from podium.cli.output import show
from podium.cli.preferences import PairOptions, load_items, pairs_for_fit
from podium.model_file import check_writable, write_text
from podium.rankers import RANKERS, Estimator, OrdinalThresholds, Ranker
from podium.rankers.boosted import Boosted
from podium.readers import RankingTable
from podium.report import training_report


def train(
    source: Source,
    output: Path,
    ranker: str,
    settings: Sequence[str],
    eval_files: Sequence[Path],
    eval_sizes: Sequence[Path],
    pairs: PairOptions,
    quiet: bool,
    as_json: bool,
) -> None:
    """Learn a ranker from a data file and save it; what cannot be done is refused before data are read."""
    check_writable(output)
    model = make_ranker(ranker, settings, verbose=0 if quiet or as_json else 1)
    model._check_trainable()
    table, items = load_items(source, pairs)
    evals = _load_evals(source, eval_files, eval_sizes, table)
    given = pairs_for_fit(model, pairs, items) | _evaluation_sets(model, evals) | _queries_for(model, table, evals)
    model.fit(named_columns(table), table.y, **given)
    model.save(output)
    show(training_report(model, output), as_json)


def score(model_file: Path, source: Source, output: Path | None) -> None:
    """Score the rows of a data file, one score (or grade) a line."""
    model = load_ranker(model_file)
    table = load_unlabelled(source, model)
    lines = "\n".join(map(repr, model.predict(named_columns(table)).tolist())) + "\n"
    if output is None:
        print(lines, end="")
    else:
        write_text(output, lines)


def make_ranker(name: str, settings: Sequence[str], **defaults: Any) -> Estimator:
    """Return a ranker by name with parameters given as name=value."""
    kind = RANKERS[check_choice(name, RANKERS, "--ranker")]
    known = kind().get_params(deep=False)
    chosen = {key: value for key, value in defaults.items() if key in known}
    for key, value in map(setting, settings):
        chosen[check_choice(key, known, f"A parameter of {name}")] = value
    return kind(**chosen)


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


def _evaluation_sets(model: Estimator, evals: Sequence[RankingTable]) -> dict[str, Any]:
    """Return what --eval gives to `fit`."""
    if not evals:
        return {}
    if not isinstance(model, Ranker | Boosted):
        raise PodiumError(f"{type(model).__name__} does not take --eval: it does not learn in rounds.")
    return {"eval_set": [(named_columns(one), one.y) for one in evals]}


def _queries_for(model: Estimator, table: RankingTable, evals: Sequence[RankingTable]) -> dict[str, Any]:
    """Return the queries of the data for rankers that know queries; grades stand for themselves."""
    if not isinstance(model, Ranker | OrdinalThresholds):
        return {}
    return {"qid": table.qid, **({"eval_qid": [one.qid for one in evals]} if evals else {})}
