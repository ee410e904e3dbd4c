"""Arguments and options that several commands share, and how their values are read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from podium._errors import PodiumError
from podium.cli.ranker_table import DEFAULT_RANKER, SEARCHED_RANKER, TABLE, matching_rankers

EXPORT_FORMATS = ("ranklib", "xgboost-json", "lightgbm", "solr", "onnx", "sql", "python", "scorecard")
"""Names in the help, written out: importing `podium.export` takes longer than all of `podium --help`."""
FUSION_METHODS = ("rankboost", "rrf", "combsum", "combmnz", "borda", "isr")
IMPORT_FORMATS = ("lightgbm", "xgboost", "xgboost-json", "ranklib")

DataFile = Annotated[
    Path,
    typer.Argument(help="LETOR/SVMlight, CSV or Parquet file, plain or packed (.gz, .xz, .zst); - is standard input."),
]
Format = Annotated[str, typer.Option("--format", help="auto (by the file's ending), letor, csv or parquet.")]
Label = Annotated[str, typer.Option(help="Column of the labels, in CSV and Parquet.")]
Qid = Annotated[str, typer.Option(help="Column of the query ids, in CSV and Parquet; '' if all rows are one query.")]
Sizes = Annotated[Path | None, typer.Option("--query-sizes", help="File of query sizes, one a line.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Measures = Annotated[
    list[str],
    typer.Option("--measure", "-m", help="Measures, such as ndcg@10,map; the first one decides on the order."),
]
ChosenMeasures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        "-m",
        help="Measures, such as ndcg@10,map; the first one decides on the order.",
        show_default="ndcg@10, map, mrr, pair_loss; of --pairs: pair_loss, pair_loss_1, pair_loss_2",
    ),
]
"""Those of `podium evaluate`, whose defaults depend on what it measures against; a test compares them."""
Rankings = Annotated[
    list[Path],
    typer.Argument(help="Models, and files of scores (- is standard input), one a line in the data's order."),
]
Against = Annotated[Path | None, typer.Option(help="Test each against this one, paired by query.")]
Ties = Annotated[str | None, typer.Option(help="expected, stable, optimistic or pessimistic.")]
Relevant = Annotated[str | None, typer.Option(help="Least relevant label; top: the highest label of each query.")]
Convention = Annotated[str, typer.Option(help="podium, or the tool whose numbers to reproduce.")]
PerQuery = Annotated[bool, typer.Option("--per-query", help="Print the value of each query.")]
Item = Annotated[str | None, typer.Option("--item", help="Column of the ids of rows, in CSV and Parquet.")]
Ignore = Annotated[
    list[str], typer.Option("--ignore", help="Column that is no feature, in CSV and Parquet; repeat for several.")
]
PairsFile = Annotated[
    Path | None,
    typer.Option(
        "--pairs",
        help="CSV or Parquet with columns better, worse[, weight]; or lines of winner loser [weight], of - (standard "
        "input) too.",
    ),
]
ModelFile = Annotated[Path, typer.Argument(help="Model that `podium train` saved.")]
ModelOutput = Annotated[Path, typer.Option("--output", "-o", help="File to save the model to.")]
Settings = Annotated[list[str], typer.Option("--set", help="A parameter, as name=value; repeat for several.")]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", help="TOML file with ranker = NAME and [parameters]; --ranker and --set go first."),
]
Seed = Annotated[int, typer.Option("--seed", help="Seed: the same one gives the same answer.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]


def _ranker_option(default: str) -> Any:
    """Return --ranker, whose names shells complete; `default` is what it says of the ranker without it."""
    said = f"In any case; podium rankers NAME lists parameters. One of {', '.join(TABLE)}. [{default}]"
    return typer.Option("--ranker", help=said, autocompletion=matching_rankers)


TrainedRanker = Annotated[str | None, _ranker_option(DEFAULT_RANKER)]
SearchedRanker = Annotated[str | None, _ranker_option(SEARCHED_RANKER)]


class Source(NamedTuple):
    """A data file and how to read it: the first arguments of `podium.cli.files.load_table`."""

    file: PathLike[str]
    file_format: str
    label: str | None
    qid: str
    query_sizes: Path | None = None
    item: str | None = None
    ignore: Sequence[str] = ()

    @property
    def files(self) -> tuple[PathLike[str] | None, ...]:
        """What it is read from."""
        return self.file, self.query_sizes


def setting(text: str) -> tuple[str, Any]:
    """Return the name and value of a --set."""
    key, equals, value = text.partition("=")
    if not equals:
        raise PodiumError(f"--set needs name=value, such as n_estimators=300; got {text!r}.")
    return key, _read_value(value)


def _read_value(text: str) -> Any:
    """Return a parameter's value: JSON where it is some (numbers, true, null, lists), else the text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return {"None": None, "True": True, "False": False}.get(text, text)
    except (ValueError, RecursionError):  # a number of thousands of digits, thousands of brackets
        raise PodiumError(f"--set needs a short value, such as 300 or [1, -1]; got {text[:40]!r}...") from None


def measure_names(given: list[str]) -> list[str]:
    """Return the names of measures, given one by one or with commas between them."""
    names = [name.strip() for text in given for name in text.split(",")]
    return [name for name in names if name]


def number_or_word(text: str | None) -> float | str | None:
    """Return a number where the text is one."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text
