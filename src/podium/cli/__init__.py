"""The command line: files in, a table or JSON out; one sentence and exit code 2 on bad input."""

from __future__ import annotations

import json
import math
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import scipy.sparse as sp
import typer
from rich.console import Console
from sklearn.utils.validation import has_fit_parameter

from podium import __version__
from podium._validation import PodiumError, check_choice
from podium.cli.files import feature_scores, load_table, load_unlabelled, named_columns, read_names, read_scores
from podium.evaluation import compare, evaluate, evaluate_run
from podium.evaluation.results import Comparison, Evaluation
from podium.export import FORMATS as EXPORTS
from podium.export import check_options
from podium.importing import FORMATS as IMPORTS
from podium.measures import available
from podium.model_file import check_writable, write_text
from podium.rankers import RANKERS, Estimator, import_model, load
from podium.readers import RankingTable, read_pairs, read_qrels, read_run
from podium.report import DataReport, TrainingReport, describe, export_report, training_report

app = typer.Typer(
    name="podium",
    help="Learning to rank by boosting: look at data, train, score, measure.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

DataFile = Annotated[Path, typer.Argument(help="LETOR/SVMlight, CSV or Parquet file, plain or .gz.")]
Format = Annotated[str, typer.Option("--format", help="auto (by the file's ending), letor, csv or parquet.")]
Label = Annotated[str, typer.Option(help="Column of the labels, in CSV and Parquet.")]
Qid = Annotated[str, typer.Option(help="Column of the query ids, in CSV and Parquet; '' if all rows are one query.")]
Sizes = Annotated[Path | None, typer.Option("--query-sizes", help="File of query sizes, one a line.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Measures = Annotated[list[str], typer.Option("--measure", "-m", help="A measure, such as ndcg@10; repeat for several.")]
Ties = Annotated[str | None, typer.Option(help="expected, stable, optimistic or pessimistic.")]
Relevant = Annotated[str | None, typer.Option(help="Least relevant label; top: the highest label of each query.")]
Convention = Annotated[str, typer.Option(help="podium, or the tool whose numbers to reproduce.")]


def main() -> None:
    """Run the command line; bad input ends with a sentence on standard error and exit code 2."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            app()
    except (PodiumError, OSError, MemoryError) as error:
        print(f"podium: {_sentence(error)}", file=sys.stderr)
        raise SystemExit(2) from None


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Learning to rank by boosting: look at data, train, score, measure."""
    if version:
        print(__version__)
        raise typer.Exit


@app.command("data")
def data_command(
    file: DataFile,
    file_format: Format = "auto",
    label: Label = "label",
    qid: Qid = "qid",
    query_sizes: Sizes = None,
    as_json: Json = False,
) -> None:
    """Say what a data file holds, and what there is to learn from it."""
    table = load_table(file, file_format, label, qid, query_sizes)
    _show(describe(table.X, table.y, qid=table.qid), as_json)


@app.command("evaluate")
def evaluate_command(
    file: DataFile,
    scores: Annotated[Path | None, typer.Argument(help="File of scores, one a line, in the data's order.")] = None,
    against: Annotated[Path | None, typer.Option(help="Second file of scores: test the difference.")] = None,
    feature: Annotated[
        int | None, typer.Option(help="Rank by this feature, counted from 1; negative: reversed.")
    ] = None,
    measure: Measures = ["ndcg@10", "map", "mrr", "pair_loss"],  # noqa: B006 (typer copies it)
    ties: Ties = None,
    relevant: Relevant = None,
    convention: Convention = "podium",
    per_query: Annotated[bool, typer.Option("--per-query", help="Print the value of each query.")] = False,
    file_format: Format = "auto",
    label: Label = "label",
    qid: Qid = "qid",
    query_sizes: Sizes = None,
    as_json: Json = False,
) -> None:
    """Measure how well scores, or a single feature, rank the rows of a data file."""
    if scores is not None and feature is not None:
        raise PodiumError("Give a file of scores or --feature, not both.")
    table = load_table(file, file_format, label, qid, query_sizes)
    given = read_scores(scores) if scores is not None else feature_scores(table, feature)
    options: dict[str, Any] = {"qid": table.qid, "measures": measure, "ties": ties, "convention": convention}
    options["relevant"] = _number_or_word(relevant)
    if against is not None:
        _show(compare(table.y, given, read_scores(against), **options), as_json)
    else:
        _show(evaluate(table.y, given, **options), as_json, per_query)


def _number_or_word(text: str | None) -> float | str | None:
    """Return a number where the text is one."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


@app.command("evaluate-run")
def evaluate_run_command(
    qrels: Annotated[Path, typer.Argument(help="TREC judgements: qid 0 docno relevance.")],
    run: Annotated[Path, typer.Argument(help="TREC run: qid Q0 docno rank score tag.")],
    measure: Measures = ["map", "ndcg", "ndcg@10", "p@10", "mrr", "recall@100"],  # noqa: B006 (typer copies it)
    per_query: Annotated[bool, typer.Option("--per-query", help="Print the value of each query.")] = False,
    as_json: Json = False,
) -> None:
    """Measure a TREC run against judgements, as trec_eval does."""
    _show(evaluate_run(read_qrels(qrels), read_run(run), measures=measure), as_json, per_query)


@app.command("measures")
def measures_command(as_json: Json = False) -> None:
    """List the measures, with what each one says."""
    known = available()
    if as_json:
        print(json.dumps(known, indent=2))
    else:
        width = max(map(len, known))
        print("\n".join(f"{name:{width}}  {text}" for name, text in known.items()))


@app.command("train")
def train_command(
    file: DataFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to save the model to.")],
    ranker: Annotated[str, typer.Option(help="Name of the ranker.")] = "RankBoost",
    settings: Annotated[list[str], typer.Option("--set", help="A parameter, as name=value; repeat for several.")] = [],  # noqa: B006 (typer copies it)
    eval_files: Annotated[
        list[Path], typer.Option("--eval", help="Data to measure each round on; the last one decides.")
    ] = [],  # noqa: B006 (typer copies it)
    eval_sizes: Annotated[
        list[Path], typer.Option("--eval-query-sizes", help="File of query sizes of each --eval.")
    ] = [],  # noqa: B006 (typer copies it)
    pairs: Annotated[Path | None, typer.Option(help="Explicit pairs: winner, loser, weight a line.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress bar.")] = False,
    file_format: Format = "auto",
    label: Label = "label",
    qid: Qid = "qid",
    query_sizes: Sizes = None,
    as_json: Json = False,
) -> None:
    """Learn a ranker from a data file and save it."""
    check_writable(output)
    model = make_ranker(ranker, settings, verbose=0 if quiet or as_json else 1)
    model._check_trainable()
    table = load_table(file, file_format, label, qid, query_sizes)
    like = {"n_features": table.X.shape[1], "sparse": sp.issparse(table.X)}
    if eval_sizes and len(eval_sizes) != len(eval_files):
        raise PodiumError(f"Give --eval-query-sizes for each of {len(eval_files)} --eval; got {len(eval_sizes)}.")
    sizes: list[Path | None] = [*eval_sizes] if eval_sizes else [None] * len(eval_files)
    evals = [
        load_table(path, file_format, label, qid, own, **like) for path, own in zip(eval_files, sizes, strict=True)
    ]
    given: dict[str, Any] = {"--pairs": None if pairs is None else {"pairs": tuple(read_pairs(pairs))}}
    given["--eval"] = {"eval_set": [(named_columns(one), one.y) for one in evals]} if evals else None
    model.fit(named_columns(table), table.y, **_taken_by(model, given), **_queries_for(model, table, evals))
    model.save(output)
    _show(training_report(model, output), as_json)


@app.command("score")
def score_command(
    model_file: Annotated[Path, typer.Argument(help="Model that `podium train` saved.")],
    file: DataFile,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File for the scores.")] = None,
    file_format: Format = "auto",
    label: Label = "label",
    qid: Qid = "qid",
) -> None:
    """Score the rows of a data file, one score (or grade) a line, to a file or to standard output.

    CSV and Parquet files need no labels and no queries: all columns but theirs are features.
    """
    model = load(model_file)
    table = load_unlabelled(file, model, file_format, label, qid)
    lines = "\n".join(map(repr, model.predict(named_columns(table)).tolist())) + "\n"
    if output is None:
        print(lines, end="")
    else:
        write_text(output, lines)


@app.command("import")
def import_command(
    foreign: Annotated[Path, typer.Argument(help="Model file of LightGBM, XGBoost or RankLib.")],
    output: Annotated[Path, typer.Option("--output", "--out", "-o", help="File to save the model to.")],
    file_format: Annotated[str, typer.Option("--format", help=f"auto, {', '.join(IMPORTS)}.")] = "auto",
    n_features: Annotated[int | None, typer.Option(help="Columns of the data, where the file does not say.")] = None,
    names: Annotated[Path | None, typer.Option("--feature-names", help="File of column names, one a line.")] = None,
    as_json: Json = False,
) -> None:
    """Save a model that another program has trained as one of ours."""
    check_writable(output)
    given = None if names is None else read_names(names)
    model = import_model(foreign, file_format, feature_names=given, n_features=n_features)
    model.save(output)
    content = {**model.source_, "features": model.n_features_in_, "model": str(output)}
    print(json.dumps(content, indent=2) if as_json else "\n".join(f"{key}: {text}" for key, text in content.items()))


@app.command("export")
def export_command(
    model_file: Annotated[Path, typer.Argument(help="Model that `podium train` saved.")],
    model_format: Annotated[str, typer.Option("--format", help=f"{', '.join(EXPORTS)}.")],
    output: Annotated[Path, typer.Option("--output", "--out", "-o", help="File to write.")],
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
    """Write a model as a file of another program, and say what would change there."""
    check_writable(output)
    given = dict(map(_setting, options))
    check_options(model_format, given)
    model = load(model_file)
    model.export(output, model_format, feature_names=None if names is None else read_names(names), **given)
    if check is None:
        print(json.dumps({"model": str(output)}) if as_json else f"model: {output}")
        return
    table = load_unlabelled(check, model, file_format, label, qid, with_queries=True)
    report = export_report(model, named_columns(table), model_format, qid=table.qid, **given)
    print(json.dumps(report.to_dict(), indent=2) if as_json else report)


def make_ranker(name: str, settings: list[str], **defaults: Any) -> Estimator:
    """Return a ranker by name with parameters given as name=value."""
    kind = RANKERS[check_choice(name, RANKERS, "--ranker")]
    known = kind().get_params(deep=False)
    chosen = {key: value for key, value in defaults.items() if key in known}
    for key, value in map(_setting, settings):
        chosen[check_choice(key, known, f"A parameter of {name}")] = value
    return kind(**chosen)


def _setting(text: str) -> tuple[str, Any]:
    """Return the name and value of a --set."""
    key, equals, value = text.partition("=")
    if not equals:
        raise PodiumError(f"--set needs name=value, such as n_estimators=300; got {text!r}.")
    return key, _read_value(value)


def _taken_by(model: Estimator, given: dict[str, dict[str, Any] | None]) -> dict[str, Any]:
    """Return what options give to `fit`, or refuse an option that the ranker's `fit` does not take."""
    taken: dict[str, Any] = {}
    for option, arguments in given.items():
        for name, value in (arguments or {}).items():
            if not has_fit_parameter(model, name):
                raise PodiumError(f"{type(model).__name__} does not take {option}: its fit has no {name}.")
            taken[name] = value
    return taken


def _queries_for(model: Estimator, table: RankingTable, evals: list[RankingTable]) -> dict[str, Any]:
    """Return the queries of the data for rankers that know queries; grades stand for themselves."""
    if not has_fit_parameter(model, "qid"):
        return {}
    return {"qid": table.qid, **({"eval_qid": [one.qid for one in evals]} if evals else {})}


def _show(
    result: Evaluation | Comparison | DataReport | TrainingReport, as_json: bool, per_query: bool = False
) -> None:
    """Print a result as a table or as JSON."""
    content = result.to_dict()
    if per_query and isinstance(result, Evaluation):
        content["per_query"] = {name: result.per_query(name) for name in result}
    if as_json:
        print(json.dumps(_without_nan(content), indent=2, default=str))
        return
    console = Console()
    console.print(result.table())
    if per_query and isinstance(result, Evaluation):
        console.print(result.query_table())


def _read_value(text: str) -> Any:
    """Return a parameter's value: JSON where it is some (numbers, true, null, lists), else the text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return {"None": None, "True": True, "False": False}.get(text, text)
    except (ValueError, RecursionError):  # a number of thousands of digits, thousands of brackets
        raise PodiumError(f"--set needs a short value, such as 300 or [1, -1]; got {text[:40]!r}...") from None


def _without_nan(content: Any) -> Any:
    """Return nested content with None for NaN, which JSON cannot say."""
    if isinstance(content, dict):
        return {str(key): _without_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_without_nan(value) for value in content]
    return None if isinstance(content, float) and math.isnan(content) else content


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as one line, without the place in the code that Python names."""
    print(f"podium: {' '.join(str(message).split())}", file=sys.stderr)


def _sentence(error: Exception) -> str:
    """Return the error as one line; a missing file by its name, too little memory by what was asked for."""
    if isinstance(error, MemoryError) and not isinstance(error, PodiumError):
        asked = str(error).strip().rstrip(".")
        return f"There is not enough memory{': ' if asked else ''}{asked}."
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return " ".join(str(error).split())
