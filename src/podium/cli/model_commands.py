"""Commands on models, as the help shows them: which there are, train, score, look into, exchange."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.cli.options import (
    EXPORT_FORMATS,
    IMPORT_FORMATS,
    ConfigFile,
    DataFile,
    Format,
    Ignore,
    Item,
    Json,
    Label,
    Measures,
    ModelFile,
    ModelOutput,
    PairsFile,
    Qid,
    Quiet,
    Settings,
    Sizes,
    Source,
    TrainedRanker,
    measure_names,
)
from podium.cli.ranker_table import matching_rankers


def rankers_command(
    name: Annotated[
        str | None, typer.Argument(help="A ranker, to see its parameters.", autocompletion=matching_rankers)
    ] = None,
    as_json: Json = False,
) -> None:
    """List the rankers, or the parameters of one with their defaults.

    podium rankers LambdaMART
    """
    from podium.cli.ranker_help import list_rankers

    list_rankers(name, as_json)


def train_command(
    file: DataFile,
    output: ModelOutput,
    ranker: TrainedRanker = None,
    settings: Settings = [],  # noqa: B006 (typer copies it)
    config: ConfigFile = None,
    eval_files: Annotated[
        list[Path], typer.Option("--eval", help="Data to measure each round on; the last one decides.")
    ] = [],  # noqa: B006 (typer copies it)
    eval_sizes: Annotated[
        list[Path], typer.Option("--eval-query-sizes", help="File of query sizes of each --eval.")
    ] = [],  # noqa: B006 (typer copies it)
    pairs: PairsFile = None,
    eval_pairs: Annotated[
        Path | None, typer.Option("--eval-pairs", help="Pairs held out to measure each round on, as --pairs.")
    ] = None,
    item: Item = None,
    ignore: Ignore = [],  # noqa: B006 (typer copies it)
    quiet: Quiet = False,
    file_format: Format = "auto",
    label: Label = "label",
    qid: Qid = "qid",
    query_sizes: Sizes = None,
    as_json: Json = False,
) -> None:
    """Learn a ranker from a data file and save it.

    podium train train.txt -o m.podium --ranker lambdamart --eval valid.txt --set early_stopping_rounds=20

    podium train items.csv -o m.podium --pairs prefs.csv --item id
    """
    from podium.cli.preferences import PairOptions
    from podium.cli.training import train

    chosen = PairOptions(pairs, eval_pairs)
    source = Source(file, file_format, label, qid, query_sizes, item, ignore)
    train(source, output, ranker, settings, config, eval_files, eval_sizes, chosen, quiet, as_json)


def score_command(
    model_file: ModelFile,
    file: DataFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File for the scores, packed where it ends in .gz, .xz or .zst."),
    ] = None,
    file_format: Format = "auto",
    label: Label = "label",
    qid: Qid = "qid",
    item: Item = None,
    ignore: Ignore = [],  # noqa: B006 (typer copies it)
    as_json: Json = False,
) -> None:
    """Score the rows of a data file, one score (or grade) a line, to a file or to standard output.

    CSV and Parquet files need no labels and no queries: all columns but theirs are features.

    podium score m.podium test.txt -o scores.txt
    """
    from podium.cli.training import score

    score(model_file, Source(file, file_format, label, qid, item=item, ignore=ignore), output, as_json)


def info_command(
    model_file: ModelFile,
    as_toml: Annotated[bool, typer.Option("--toml", help="Print the settings as a file for train --config.")] = False,
    as_json: Json = False,
) -> None:
    """Say what a model file holds: ranker, parameters, features, rounds, what early stopping watched, size.

    podium info m.podium
    """
    from podium.cli.model_info import show_info

    show_info(model_file, as_json, as_toml)


def explain_command(
    model_file: ModelFile,
    file: DataFile,
    query: Annotated[str | None, typer.Option(help="The query; needed where the file has several.")] = None,
    docs: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Two documents by name, or by place in the query, from 1 on, where the file has no names."),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="What leaving out a feature of trees means: interventional or path.")
    ] = None,
    file_format: Format = "auto",
    label: Label = "label",
    qid: Qid = "qid",
    item: Item = None,
    ignore: Ignore = [],  # noqa: B006 (typer copies it)
    as_json: Json = False,
) -> None:
    """Say why one document stands above another: what each feature adds, and which changes would swap them.

    Without --docs: what each feature adds to the score of each document of the query, against their mean.

    podium explain m.podium test.txt --query 10 --docs 1 4
    """
    from podium.cli.explaining import explain

    explain(model_file, Source(file, file_format, label, qid, item=item, ignore=ignore), query, docs, method, as_json)


def report_command(
    model_file: ModelFile,
    file: DataFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the page.")],
    measure: Measures = ["ndcg@10", "map", "mrr", "pair_loss"],  # noqa: B006 (typer copies it)
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the queries drawn where they are many.")] = 0,
    file_format: Format = "auto",
    label: Label = "label",
    qid: Qid = "qid",
    query_sizes: Sizes = None,
    item: Item = None,
    ignore: Ignore = [],  # noqa: B006 (typer copies it)
    as_json: Json = False,
) -> None:
    """Make one page on a model: how good it is, where it fails, why one document stands above another.

    The page opens without a network, on a phone too: send it to people who will never install anything.

    podium report m.podium test.txt -o report.html
    """
    from podium.cli.reporting import report_file

    source = Source(file, file_format, label, qid, query_sizes, item, ignore)
    report_file(model_file, source, output, measure_names(measure), title, seed, as_json)


def import_command(
    foreign: Annotated[Path, typer.Argument(help="Model file of LightGBM, XGBoost or RankLib.")],
    output: ModelOutput,
    file_format: Annotated[str, typer.Option("--format", help=f"auto, {', '.join(IMPORT_FORMATS)}.")] = "auto",
    n_features: Annotated[int | None, typer.Option(help="Columns of the data, where the file does not say.")] = None,
    names: Annotated[Path | None, typer.Option("--feature-names", help="File of column names, one a line.")] = None,
    as_json: Json = False,
) -> None:
    """Save a model that another program has trained as one of ours.

    podium import lightgbm.txt -o theirs.podium
    """
    from podium.cli.exchange import import_file

    import_file(foreign, output, file_format, n_features, names, as_json)


def export_command(
    model_file: ModelFile,
    model_format: Annotated[str, typer.Option("--format", help=f"{', '.join(EXPORT_FORMATS)}.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write; - is standard output.")],
    options: Annotated[
        list[str], typer.Option("--set", help="An option of the format, as name=value, such as missing=zero.")
    ] = [],  # noqa: B006 (typer copies it)
    names: Annotated[Path | None, typer.Option("--feature-names", help="File of feature names, one a line.")] = None,
    check: Annotated[Path | None, typer.Option(help="Data to score as the reader of the file will.")] = None,
    file_format: Annotated[str, typer.Option("--check-format", help="auto, letor, csv or parquet.")] = "auto",
    label: Label = "label",
    qid: Qid = "qid",
    item: Item = None,
    ignore: Ignore = [],  # noqa: B006 (typer copies it)
    as_json: Json = False,
) -> None:
    """Write a model as a file of another program, and say what would change there.

    podium export m.podium --format sql -o m.sql --check test.txt
    """
    from podium.cli.exchange import export_file

    source = None if check is None else Source(check, file_format, label, qid, item=item, ignore=ignore)
    export_file(model_file, model_format, output, options, names, source, as_json)
