"""What an evaluation returns: means, intervals and per-query values, and their tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from podium._result_frames import Columns, Framed
from podium._types import Json
from podium._validation import Array, PodiumError
from podium.evaluation.judged_measures import parse_run_measure


@dataclass(frozen=True, eq=False)
class MeasureResult:
    """One measure over all queries.

    Attributes
    ----------
    values : ndarray of float64
        Value of each query; NaN where the measure is not defined and empty queries are skipped.
    weights : ndarray of float64
        Weight of each query in the mean: 1, or its number of pairs for measures pooled over pairs.
    mean, low, high : float
        The mean and its bootstrap interval over queries.
    n_empty : int
        Queries with nothing relevant, or nothing to order: skipped, or counted as `empty` said.
    """

    values: Array
    weights: Array
    mean: float
    low: float
    high: float
    n_empty: int


@dataclass(frozen=True, eq=False)
class Evaluation(Framed):
    """Measures of one ranking: ``result["ndcg@10"]`` is a mean, ``print(result)`` a table.

    Attributes
    ----------
    queries : ndarray
        Id of each query, in the order of the per-query values.
    results : dict of str to MeasureResult
    settings : dict
        Convention, tie rule, confidence and the like, as they were used.
    unit : {"queries", "pairs"}
        What values are of and intervals over: queries, or single pairs where pairs were given without queries.
    """

    queries: Array
    results: dict[str, MeasureResult]
    settings: dict[str, Any]
    unit: str = "queries"

    def __getitem__(self, name: str) -> float:
        return self.result(name).mean

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def result(self, name: str) -> MeasureResult:
        """Return all that is known of one measure; the name may be written as for `evaluate` and `evaluate_run`."""
        if name in self.results:
            return self.results[name]
        wanted = parse_run_measure(name)
        for known, found in self.results.items():
            if parse_run_measure(known) == wanted:
                return found
        raise PodiumError(f"{name!r} was not evaluated; measured were {', '.join(self.results)}.")

    def per_query(self, name: str) -> dict[Any, float]:
        """Return the value of each query, by its id; NaN where the query was skipped."""
        return dict(zip(self.queries.tolist(), self.result(name).values.tolist(), strict=True))

    def interval(self, name: str) -> tuple[float, float]:
        """Return the bootstrap interval of the mean."""
        result = self.result(name)
        return result.low, result.high

    def total(self, name: str) -> float:
        """Return the sum over queries, such as the number of queries with a hit for ``top@k``."""
        return math.fsum(self.result(name).values[~np.isnan(self.result(name).values)])

    def n_empty(self, name: str) -> int:
        """Return how many queries had nothing to measure."""
        return self.result(name).n_empty

    def to_dict(self) -> dict[str, Json]:
        """Return everything but the per-query values as plain numbers, ready for JSON."""
        measures = {
            name: {"mean": r.mean, "low": r.low, "high": r.high, "empty_queries": r.n_empty}
            for name, r in self.results.items()
        }
        return {self.unit: len(self.queries), "settings": self.settings, "measures": measures}

    def columns(self) -> Columns:
        """Return the value of each query, as columns: ``query`` and the measures."""
        return {"query": self.queries.tolist()} | {name: one.values for name, one in self.results.items()}

    def table(self) -> Table:
        """Return means, intervals and counts as a rich table."""
        level = f"{100 * self.settings['confidence']:g}% interval"
        rows = [
            [name, f"{r.mean:.4f}", f"{r.low:.4f} … {r.high:.4f}", str(r.n_empty)] for name, r in self.results.items()
        ]
        title = f"{len(self.queries)} {self.unit}, convention {self.settings['convention']}"
        return table_of(title, ["measure", "mean", level, "empty"], rows)

    def query_table(self) -> Table:
        """Return the value of each query as a rich table."""
        columns = [result.values for result in self.results.values()]
        rows = [
            [str(query), *("" if np.isnan(value) else f"{value:.4f}" for value in values)]
            for query, *values in zip(self.queries.tolist(), *columns, strict=True)
        ]
        return table_of("Per query", ["query", *self.results], rows)

    def __str__(self) -> str:
        return plain_text(self.table())


@dataclass(frozen=True)
class PairedResult:
    """One measure of two rankings, query by query.

    Attributes
    ----------
    first, second, difference : float
        Means of both, and first less second.
    low, high : float
        Bootstrap interval of the difference.
    p_value : float
        Two-sided randomisation test: how often flipping the signs of the per-query differences at random
        gives a mean difference at least as large.
    wins, losses, draws : int
        Queries in which the first ranking is better, worse or equal, by the measure's own direction.
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    p_value: float
    wins: int
    losses: int
    draws: int

    @property
    def interval_text(self) -> str:
        """The interval in few characters, for tables of many columns."""
        return "" if math.isnan(self.low) else f"{self.low:+.3f} to {self.high:+.3f}"

    @property
    def counts_text(self) -> str:
        """Queries won, lost and drawn."""
        return f"{self.wins}/{self.losses}/{self.draws}"

    def texts(self) -> list[str]:
        """Return the cells of a table row."""
        means = [f"{self.first:.4f}", f"{self.second:.4f}", f"{self.difference:+.4f}"]
        sureness = [f"{self.low:+.4f} … {self.high:+.4f}", f"{self.p_value:.4f}"]
        return [*means, *sureness, self.counts_text]


@dataclass(frozen=True, eq=False)
class Comparison(Framed):
    """Paired comparison of two rankings of the same rows: ``print(comparison)`` is a table.

    Attributes
    ----------
    results : dict of str to PairedResult
    settings : dict
    names : tuple of str
        What the two rankings are called in the table.
    """

    results: dict[str, PairedResult]
    settings: dict[str, Any]
    names: tuple[str, str] = ("first", "second")

    def __getitem__(self, name: str) -> PairedResult:
        key = parse_run_measure(name).name
        if key not in self.results:
            raise PodiumError(f"{name!r} was not compared; compared were {', '.join(self.results)}.")
        return self.results[key]

    def to_dict(self) -> dict[str, Json]:
        """Return the comparison as plain numbers, ready for JSON."""
        measures = {name: asdict(one) for name, one in self.results.items()}
        return {"names": list(self.names), "settings": self.settings, "measures": measures}

    def columns(self) -> Columns:
        """Return a row for each measure, as columns."""
        rows = [{"measure": name, **asdict(one)} for name, one in self.results.items()]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def table(self) -> Table:
        """Return the comparison as a rich table."""
        level = f"{100 * self.settings['confidence']:g}% interval"
        header = ["measure", *self.names, "change", level, "p", "won/lost/same"]
        rows = [[name, *result.texts()] for name, result in self.results.items()]
        return table_of(f"{self.names[0]} against {self.names[1]}, paired by query", header, rows)

    def __str__(self) -> str:
        return plain_text(self.table())


def table_of(title: str, header: list[str] | None, rows: list[list[str]]) -> Table:
    """Return a rich table that fits a narrow terminal, every column to the left."""
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD if header else None,
        show_header=header is not None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for name in header or rows[0]:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def plain_text(table: Table) -> str:
    """Return a table as text without colours, as wide as it needs to be."""
    console = Console(width=200, color_system=None, force_terminal=False, force_jupyter=False)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().strip("\n").split("\n"))
