"""Commands that fit a ranker many times, as the help shows them: cv, tune."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.cli.options import (
    ConfigFile,
    DataFile,
    Format,
    Ignore,
    Item,
    Json,
    Label,
    Measures,
    Qid,
    Quiet,
    SearchedRanker,
    Seed,
    Settings,
    Sizes,
    Source,
    measure_names,
)


def cv_command(
    file: DataFile,
    ranker: SearchedRanker = None,
    folds: Annotated[int, typer.Option(help="Folds; no query is in two of them.")] = 5,
    measure: Measures = ["ndcg@10", "map", "mrr", "pair_loss"],  # noqa: B006 (typer copies it)
    settings: Settings = [],  # noqa: B006 (typer copies it)
    config: ConfigFile = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    file_format: Format = "auto",
    label: Label = "label",
    qid: Qid = "qid",
    query_sizes: Sizes = None,
    item: Item = None,
    ignore: Ignore = [],  # noqa: B006 (typer copies it)
    as_json: Json = False,
) -> None:
    """Cross-validate a ranker by query: each fold measured by a model that has not seen its queries.

    Ctrl-C ends it with the folds that are done.

    podium cv train.txt --ranker LambdaMART --folds 5 -m ndcg@10,map
    """
    from podium.cli.searching import RunChoice, run_folds

    source = Source(file, file_format, label, qid, query_sizes, item, ignore)
    run_folds(source, RunChoice(ranker, settings, config), folds, measure_names(measure), seed, quiet, as_json)


def tune_command(
    file: DataFile,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="TOML file for the best parameters.")] = None,
    ranker: SearchedRanker = None,
    trials: Annotated[int, typer.Option(help="Trials in all, those of --storage counted.")] = 30,
    measure: Annotated[str, typer.Option("--measure", "-m", help="What to search the best of.")] = "ndcg@10",
    eval_file: Annotated[
        Path | None, typer.Option("--eval", help="Data to measure trials on; else a fifth of the queries.")
    ] = None,
    eval_sizes: Annotated[
        Path | None, typer.Option("--eval-query-sizes", help="File of query sizes of --eval.")
    ] = None,
    storage: Annotated[
        Path | None, typer.Option(help="File that keeps every trial; the same command goes on from it.")
    ] = None,
    settings: Settings = [],  # noqa: B006 (typer copies it)
    config: ConfigFile = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    file_format: Format = "auto",
    label: Label = "label",
    qid: Qid = "qid",
    query_sizes: Sizes = None,
    item: Item = None,
    ignore: Ignore = [],  # noqa: B006 (typer copies it)
    as_json: Json = False,
) -> None:
    """Search the best parameters of a ranker with Optuna, on queries held out.

    What --set or --config sets is not searched. Ctrl-C ends it with the best so far.

    podium tune train.txt --eval valid.txt --trials 30 --storage trials.log -o best.toml
    """
    from podium.cli.searching import RunChoice, run_trials

    source = Source(file, file_format, label, qid, query_sizes, item, ignore)
    held_out = None if eval_file is None else source._replace(file=eval_file, query_sizes=eval_sizes)
    run_trials(
        source, held_out, RunChoice(ranker, settings, config), trials, measure, storage, output, seed, quiet, as_json
    )
