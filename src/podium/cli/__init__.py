"""The command line: files in, a table or JSON out; one sentence and exit code 2 on bad input.

Here are the commands as the help shows them. What they do stands in the modules that they import when they run, so
that help and version come at once: scikit-learn, SciPy and Numba take two seconds to import.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from podium._errors import PodiumError
from podium._version import __version__
from podium.cli.command_groups import Commands
from podium.cli.measure_commands import compare_command, evaluate_command, evaluate_run_command, measures_command
from podium.cli.model_commands import (
    explain_command,
    export_command,
    import_command,
    info_command,
    rankers_command,
    report_command,
    score_command,
    train_command,
)
from podium.cli.options import (
    FUSION_METHODS,
    DataFile,
    Format,
    Ignore,
    Item,
    Json,
    Label,
    Measures,
    PairsFile,
    Qid,
    Quiet,
    Sizes,
    Source,
    measure_names,
)
from podium.cli.search_commands import cv_command, tune_command
from podium.cli.wording import in_options

app = typer.Typer(
    name="podium",
    cls=Commands,
    help="Learning to rank by boosting: look at data, train, score, measure.",
    rich_markup_mode=None,  # plain help comes in half the time
    pretty_exceptions_enable=False,
)


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
    ignore: Ignore = [],  # noqa: B006 (typer copies it)
    as_json: Json = False,
) -> None:
    """Say what a data file holds, and what there is to learn from it.

    podium data train.txt

    podium data items.csv --pairs prefs.csv --item id
    """
    from podium.cli.examining import describe_data

    describe_data(Source(file, file_format, label, qid, query_sizes, item, ignore), pairs, as_json)


app.command("rankers")(rankers_command)
app.command("train")(train_command)
app.command("score")(score_command)
app.command("info")(info_command)
app.command("explain")(explain_command)
app.command("report")(report_command)
app.command("import")(import_command)
app.command("export")(export_command)


@app.command("doctor")
def doctor_command(
    file: DataFile,
    test: Annotated[Path | None, typer.Argument(help="Test data: what they share with the first file.")] = None,
    pairs: PairsFile = None,
    file_format: Format = "auto",
    label: Label = "label",
    qid: Qid = "qid",
    query_sizes: Sizes = None,
    item: Item = None,
    ignore: Ignore = [],  # noqa: B006 (typer copies it)
    as_json: Json = False,
) -> None:
    """Say what is wrong with data before anything is learned from them, and what to do about it.

    podium doctor train.txt test.txt

    podium doctor items.csv --pairs prefs.csv --item id
    """
    from podium.cli.examining import examine

    examine(Source(file, file_format, label, qid, query_sizes, item, ignore), test, pairs, as_json)


@app.command("fuse")
def fuse_command(
    runs: Annotated[
        list[Path], typer.Argument(help="TREC runs, two or more: qid Q0 docno rank score tag; - is standard input.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the fused run; - is standard output.")],
    qrels: Annotated[
        Path | None, typer.Option(help="TREC judgements: to learn from, and to measure by; - is standard input.")
    ] = None,
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

    options = {"method": method, "norm": norm, "depth": depth or None, "measures": measure_names(measure)}
    fuse_files(runs, qrels, output, options | {"n_folds": folds, "random_state": seed}, as_json)


@app.command("compile")
def compile_command(
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", help="Processes that compile; all processors.")] = None,
    quiet: Quiet = False,
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
