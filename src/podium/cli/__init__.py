"""The command line: files in, a table or JSON out; one sentence and exit code 2 on bad input.

Here are the commands as the help shows them. What they do stands in the modules that they import when they run, so
that help and version come at once: scikit-learn, SciPy and Numba take two seconds to import.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from podium._errors import PodiumError
from podium._version import __version__
from podium.cli.measure_commands import compare_command, evaluate_command, evaluate_run_command, measures_command
from podium.cli.options import (
    EXPORT_FORMATS,
    FUSION_METHODS,
    IMPORT_FORMATS,
    DataFile,
    Format,
    Item,
    Json,
    Label,
    Measures,
    ModelFile,
    ModelOutput,
    PairsFile,
    Qid,
    Sizes,
    Source,
)
from podium.cli.ranker_table import DEFAULT_RANKER, TABLE, matching_rankers
from podium.cli.search_commands import cv_command, tune_command
from podium.cli.wording import in_options


class Commands(TyperGroup):
    """The commands, any of which Ctrl-C ends with a sentence."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise PodiumError(
                "Interrupted; nothing was written but a checkpoint, if --set checkpoint=FILE names one."
            ) from None


app = typer.Typer(
    name="podium",
    cls=Commands,
    help="Learning to rank by boosting: look at data, train, score, measure.",
    rich_markup_mode=None,  # plain help comes in half the time
    pretty_exceptions_enable=False,
)
RANKER_HELP = f"In any case; podium rankers NAME lists parameters. One of {', '.join(TABLE)}. [{DEFAULT_RANKER}]"


def main() -> None:
    """Run the command line; bad input ends with a sentence on standard error and exit code 2."""
    debug, sys.argv[1:] = "--debug" in sys.argv, [one for one in sys.argv[1:] if one != "--debug"]
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            app()
    except (PodiumError, OSError, MemoryError) as error:
        if debug:
            raise
        print(f"podium: {_sentence(error)}", file=sys.stderr)
        raise SystemExit(2) from None


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where in the code an error arose.")] = False,
) -> None:
    """Learning to rank by boosting: look at data, train, score, measure."""
    if version:
        print(__version__)
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


@app.command("data")
def data_command(
    file: DataFile,
    file_format: Format = "auto",
    label: Label = "label",
    qid: Qid = "qid",
    query_sizes: Sizes = None,
    pairs: PairsFile = None,
    item: Item = None,
    as_json: Json = False,
) -> None:
    """Say what a data file holds, and what there is to learn from it.

    podium data train.txt

    podium data items.csv --pairs prefs.csv --item id
    """
    from podium.cli.measuring import describe_data

    describe_data(Source(file, file_format, label, qid, query_sizes, item), pairs, as_json)


@app.command("rankers")
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


@app.command("train")
def train_command(
    file: DataFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to save the model to.")],
    ranker: Annotated[str | None, typer.Option(help=RANKER_HELP, autocompletion=matching_rankers)] = None,
    settings: Annotated[list[str], typer.Option("--set", help="A parameter, as name=value; repeat for several.")] = [],  # noqa: B006 (typer copies it)
    config: Annotated[
        Path | None, typer.Option(help="TOML file with ranker = NAME and [parameters]; --ranker and --set go first.")
    ] = None,
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
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
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
    source = Source(file, file_format, label, qid, query_sizes, item)
    train(source, output, ranker, settings, config, eval_files, eval_sizes, chosen, quiet, as_json)


@app.command("score")
def score_command(
    model_file: ModelFile,
    file: DataFile,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File for the scores.")] = None,
    file_format: Format = "auto",
    label: Label = "label",
    qid: Qid = "qid",
    item: Item = None,
    as_json: Json = False,
) -> None:
    """Score the rows of a data file, one score (or grade) a line, to a file or to standard output.

    CSV and Parquet files need no labels and no queries: all columns but theirs are features.

    podium score m.podium test.txt -o scores.txt
    """
    from podium.cli.training import score

    score(model_file, Source(file, file_format, label, qid, item=item), output, as_json)


@app.command("info")
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


@app.command("explain")
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
    as_json: Json = False,
) -> None:
    """Say why one document stands above another: what each feature adds, and which changes would swap them.

    Without --docs: what each feature adds to the score of each document of the query, against their mean.

    podium explain m.podium test.txt --query 10 --docs 1 4
    """
    from podium.cli.explaining import explain

    explain(model_file, Source(file, file_format, label, qid), query, docs, method, as_json)


@app.command("report")
def report_command(
    model_file: ModelFile,
    file: DataFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the page.")],
    measure: Measures = ["ndcg@10", "map", "mrr", "pair_loss"],  # noqa: B006 (typer copies it)
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    random_state: Annotated[int, typer.Option(help="Seed of the queries drawn where they are many.")] = 0,
    file_format: Format = "auto",
    label: Label = "label",
    qid: Qid = "qid",
    query_sizes: Sizes = None,
) -> None:
    """Make one page on a model: how good it is, where it fails, why one document stands above another.

    The page opens without a network, on a phone too: send it to people who will never install anything.

    podium report m.podium test.txt -o report.html
    """
    from podium.cli.reporting import report_file

    source = Source(file, file_format, label, qid, query_sizes)
    report_file(model_file, source, output, measure, title, random_state)


@app.command("import")
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


@app.command("export")
def export_command(
    model_file: ModelFile,
    model_format: Annotated[str, typer.Option("--format", help=f"{', '.join(EXPORT_FORMATS)}.")],
    output: Annotated[Path, typer.Option("--output", "--out", "-o", help="File to write; - is standard output.")],
    options: Annotated[
        list[str], typer.Option("--set", help="An option of the format, as name=value, such as missing=zero.")
    ] = [],  # noqa: B006 (typer copies it)
    names: Annotated[Path | None, typer.Option("--feature-names", help="File of feature names, one a line.")] = None,
    check: Annotated[Path | None, typer.Option(help="Data to score as the reader of the file will.")] = None,
    file_format: Annotated[str, typer.Option("--check-format", help="auto, letor, csv or parquet.")] = "auto",
    label: Label = "label",
    qid: Qid = "qid",
    as_json: Json = False,
) -> None:
    """Write a model as a file of another program, and say what would change there.

    podium export m.podium --format sql -o m.sql --check test.txt
    """
    from podium.cli.exchange import export_file

    source = None if check is None else Source(check, file_format, label, qid)
    export_file(model_file, model_format, output, options, names, source, as_json)


@app.command("doctor")
def doctor_command(
    file: DataFile,
    test: Annotated[Path | None, typer.Argument(help="Test data: what they share with the first file.")] = None,
    pairs: Annotated[Path | None, typer.Option(help="Explicit pairs: winner, loser, weight a line.")] = None,
    file_format: Format = "auto",
    label: Label = "label",
    qid: Qid = "qid",
    query_sizes: Sizes = None,
    as_json: Json = False,
) -> None:
    """Say what is wrong with data before anything is learned from them, and what to do about it.

    podium doctor train.txt test.txt
    """
    from podium.cli.examining import examine

    examine(Source(file, file_format, label, qid, query_sizes), test, pairs, as_json)


@app.command("fuse")
def fuse_command(
    runs: Annotated[list[Path], typer.Argument(help="TREC runs, two or more: qid Q0 docno rank score tag.")],
    output: Annotated[Path, typer.Option("--output", "--out", "-o", help="File for the fused run.")],
    qrels: Annotated[Path | None, typer.Option(help="TREC judgements: to learn from, and to measure by.")] = None,
    method: Annotated[
        str | None, typer.Option(help=f"{', '.join(FUSION_METHODS)}; rankboost with judgements, rrf without.")
    ] = None,
    norm: Annotated[
        str, typer.Option(help="How combsum and combmnz normalise: min-max, max, sum, zmuv, rank, borda or none.")
    ] = "min-max",
    depth: Annotated[int, typer.Option(help="Documents of a query that are kept; 0 keeps all.")] = 1000,
    measure: Measures = ["map", "ndcg@10", "p@10"],  # noqa: B006 (typer copies it)
    folds: Annotated[int, typer.Option(help="Folds of queries: none is fused by a model that has seen it.")] = 4,
    seed: Annotated[int, typer.Option(help="Seed of the folds.")] = 0,
    as_json: Json = False,
) -> None:
    """Make one TREC run of several: by a formula, or learned from judgements by RankBoost.

    podium fuse a.run b.run c.run --qrels qrels.txt -o fused.run
    """
    from podium.cli.fusing import fuse_files

    options: dict[str, Any] = {"method": method, "norm": norm, "depth": depth or None, "measures": measure}
    fuse_files(runs, qrels, output, options | {"n_folds": folds, "random_state": seed}, as_json)


@app.command("compile")
def compile_command(
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", help="Processes that compile; all processors.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress bar.")] = False,
    as_json: Json = False,
) -> None:
    """Compile all kernels ahead, for container images: no first call has to wait then.

    The machine code is kept where Numba keeps it, below NUMBA_CACHE_DIR if that is set, and serves every later
    process with the same version, processor and folder.

    podium compile --quiet
    """
    from podium.cli.compiling import compile_kernels

    compile_kernels(jobs, quiet, as_json)


app.command("evaluate")(evaluate_command)
app.command("compare")(compare_command)
app.command("evaluate-run")(evaluate_run_command)
app.command("measures")(measures_command)
app.command("cv")(cv_command)
app.command("tune")(tune_command)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as one line, without the place in the code that Python names."""
    print(f"podium: {in_options(' '.join(str(message).split()))}", file=sys.stderr)


def _sentence(error: Exception) -> str:
    """Return the error as one line; a missing file by its name, too little memory by what was asked for."""
    if isinstance(error, MemoryError) and not isinstance(error, PodiumError):
        asked = str(error).strip().rstrip(".")
        return f"There is not enough memory{': ' if asked else ''}{asked}."
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return in_options(" ".join(str(error).split()))
