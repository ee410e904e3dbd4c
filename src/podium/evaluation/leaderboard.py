"""Several rankings of the same rows: a table with the best on top, and how each stands against one of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rich.table import Table

from podium._result_frames import Columns, Framed
from podium._types import Json
from podium._validation import PodiumError, check_choice, check_scores
from podium.evaluation.contest import Contest, contest_of
from podium.evaluation.judged_measures import parse_run_measure
from podium.evaluation.paired_tests import holm, paired_result
from podium.evaluation.queries import (
    COMPARE_OPTIONS,
    DEFAULT_MEASURES,
    evaluation_of,
    grouped,
    parse_measures,
    resampling_settings,
    warn_undefined,
)
from podium.evaluation.results import Evaluation, MeasureResult, PairedResult, plain_text, table_of
from podium.measures import measure_many

TEST_RESAMPLES = 10_000
"""Resamples of the paired tests."""


@dataclass(frozen=True, eq=False)
class AgainstOne:
    """Rankings, each against the same one; ``print(result)`` is a table.

    Attributes
    ----------
    name : str
        The ranking that all others stand against.
    results : dict of str to dict of str to PairedResult
        ``results["a.txt"]["ndcg@10"]``: ranking a.txt first, the one that all stand against second.
    corrected : dict of str to dict of str to float
        p-values after Holm's correction for the number of rankings, measure by measure.
    settings : dict
    """

    name: str
    results: dict[str, dict[str, PairedResult]]
    corrected: dict[str, dict[str, float]]
    settings: dict[str, Any]

    def to_dict(self) -> dict[str, Json]:
        """Return the comparisons as plain numbers, ready for JSON."""
        rankings = {
            name: {
                measure: {**asdict(one), "p_holm": self.corrected[name][measure]} for measure, one in results.items()
            }
            for name, results in self.results.items()
        }
        return {"against": self.name, "settings": self.settings, "rankings": rankings}

    def table(self) -> Table:
        """Return the comparisons as a rich table."""
        level = f"{100 * self.settings['confidence']:g}% interval"
        rows = []
        for name, results in self.results.items():
            for measure, one in results.items():
                p_values = [f"{one.p_value:.4f}", f"{self.corrected[name][measure]:.4f}"]
                change = [f"{one.first:.4f}", f"{one.difference:+.4f}", one.interval_text]
                rows.append([name, measure, *change, *p_values, one.counts_text])
        header = ["ranking", "measure", "mean", "change", level, "p", "p Holm", "won / lost / same"]
        return table_of(f"against {self.name}, paired by query", header, rows)

    def __str__(self) -> str:
        return plain_text(self.table())


@dataclass(frozen=True, eq=False)
class Leaderboard(Framed):
    """Rankings of the same rows, the best by the first measure on top; ``print(board)`` is a table.

    ``board["a.txt"]`` is the `Evaluation` of one of them.

    Attributes
    ----------
    evaluations : dict of str to Evaluation
        By name, the best first; all with the same queries in the same order.
    settings : dict
        Convention, confidence and the like, as they were used.
    """

    evaluations: dict[str, Evaluation]
    settings: dict[str, Any]

    def __getitem__(self, name: str) -> Evaluation:
        return self.evaluations[check_choice(name, self.evaluations, "A ranking")]

    def __iter__(self) -> Iterator[str]:
        return iter(self.evaluations)

    def __len__(self) -> int:
        return len(self.evaluations)

    @property
    def measures(self) -> list[str]:
        """Names of the measures; the first one decides on the order."""
        return list(next(iter(self.evaluations.values())))

    def contest(self, measure: str | None = None) -> Contest:
        """Test all pairs of rankings on one measure, the first by default: Friedman, Nemenyi, Wilcoxon, randomisation.

        Parameters
        ----------
        measure : str, optional
            One of those evaluated.
        """
        name = self.measures[0] if measure is None else measure
        results = {ranking: one.result(name) for ranking, one in self.evaluations.items()}
        return contest_of(name, results, parse_run_measure(name).higher_is_better, self._test_settings())

    def against(self, name: str) -> AgainstOne:
        """Compare every other ranking with one, by each measure.

        Parameters
        ----------
        name : str
            Of the ranking that all others stand against.
        """
        base = self[name]
        others = {other: one for other, one in self.evaluations.items() if other != name}
        settings = self._test_settings()
        results = {
            other: {
                measure: paired_result(
                    one.result(measure), base.result(measure), parse_run_measure(measure).higher_is_better, settings
                )
                for measure in self.measures
            }
            for other, one in others.items()
        }
        corrected: dict[str, dict[str, float]] = {other: {} for other in others}
        for measure in self.measures:
            p_values = holm([one[measure].p_value for one in results.values()])
            for other, p_value in zip(others, p_values, strict=True):
                corrected[other][measure] = p_value
        return AgainstOne(name, results, corrected, settings)

    def to_dict(self) -> dict[str, Json]:
        """Return everything but the per-query values as plain numbers, ready for JSON."""
        rankings = {name: one.to_dict()["measures"] for name, one in self.evaluations.items()}
        n_queries = len(next(iter(self.evaluations.values())).queries)
        return {"queries": n_queries, "settings": self.settings, "rankings": rankings}

    def columns(self) -> Columns:
        """Return a row for each ranking and measure, as columns."""
        rows = [
            (name, measure, one.mean, one.low, one.high, one.n_empty)
            for name, evaluation in self.evaluations.items()
            for measure, one in evaluation.results.items()
        ]
        names = ("ranking", "measure", "mean", "low", "high", "empty_queries")
        return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}

    def table(self) -> Table:
        """Return means and intervals as a rich table."""
        level = f"{100 * self.settings['confidence']:g}%"
        rows = [[name, *map(_cell, one.results.values())] for name, one in self.evaluations.items()]
        best = next(iter(self.evaluations.values()))
        n_queries = len(best.queries)
        if any(one.n_empty for one in best.results.values()):
            rows.append(["empty queries", *(str(one.n_empty) for one in best.results.values())])
        title = f"{n_queries} queries, convention {self.settings['convention']}; means with {level} intervals"
        return table_of(title, ["ranking", *self.measures], rows)

    def __str__(self) -> str:
        return plain_text(self.table())

    def _test_settings(self) -> dict[str, Any]:
        """Return how tests are made: as the intervals, with the resamples of tests."""
        wanted = min(self.settings["n_resamples"], 1) * max(self.settings["n_resamples"], TEST_RESAMPLES)
        return {**self.settings, "n_resamples": wanted}


def leaderboard(
    y: ArrayLike,
    rankings: Mapping[str, ArrayLike],
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    measures: str | Iterable[str] = DEFAULT_MEASURES,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: int = 0,
    **options: Any,
) -> Leaderboard:
    """Measure several rankings of the same rows, and order them by the first measure.

    Parameters
    ----------
    y, qid, group, measures, confidence, n_resamples, random_state
        As for `evaluate`.
    rankings : mapping of str to array-like
        Scores of all rows by the name of the ranking.
    **options
        Further options of `evaluate`: ties, empty, gain, relevant, max_grade, sigma, convention, n_jobs.

    Returns
    -------
    Leaderboard
        ``board.contest("ndcg@10")`` tests all pairs, ``board.against(name)`` all others against one; with
        `n_resamples` of 0 there are neither intervals nor randomisation tests.

    Examples
    --------
    >>> from podium import leaderboard
    >>> board = leaderboard([1, 0, 0, 1], {"up": [1, 0, 0, 1], "down": [0, 1, 1, 0]}, qid=[1, 1, 2, 2], measures="mrr")
    >>> list(board), board["down"]["mrr"]
    (['up', 'down'], 0.5)
    """
    labels, queries, _ = grouped(y, qid, group)
    parsed = parse_measures(measures)
    settings = resampling_settings(confidence, n_resamples, random_state)
    for option in options:
        check_choice(option, COMPARE_OPTIONS, "An option of leaderboard")
    evaluations: dict[str, Evaluation] = {}
    for name, scores in _named(rankings).items():
        given = check_scores(scores, len(labels), name)[queries.rows]
        found = measure_many(parsed, labels, given, queries.offsets, **options)
        if not evaluations and options.get("empty") is None:
            warn_undefined(found)
        how = {"convention": options.get("convention", "podium"), **settings}
        evaluations[name] = evaluation_of(queries.ids, found, how)
    return leaderboard_of(evaluations, how)


def leaderboard_of(evaluations: Mapping[str, Evaluation], settings: dict[str, Any]) -> Leaderboard:
    """Return evaluations of the same measures in the order of the first; queries that one lacks are NaN there."""
    first = next(iter(next(iter(evaluations.values()))))
    sign = -1.0 if parse_run_measure(first).higher_is_better else 1.0

    def place(name: str) -> tuple[float, str]:
        """Sort by the mean, what has none last; equal ones by name."""
        cost = sign * evaluations[name][first]
        return (math.inf if math.isnan(cost) else cost), name

    aligned = _aligned(evaluations)
    return Leaderboard({name: aligned[name] for name in sorted(aligned, key=place)}, settings)


def _named(rankings: Mapping[str, ArrayLike]) -> Mapping[str, ArrayLike]:
    """Refuse what is not a mapping from names to scores, and an empty one."""
    if not isinstance(rankings, Mapping) or not rankings or not all(isinstance(name, str) for name in rankings):
        raise PodiumError("rankings must map names to scores, at least one, such as {'bm25': scores}.")
    return rankings


def _aligned(evaluations: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    """Return evaluations whose queries are all those of any of them, in one order."""
    ids = [one.queries for one in evaluations.values()]
    if all(np.array_equal(one, ids[0]) for one in ids):
        return dict(evaluations)
    every = np.unique(np.concatenate(ids))
    aligned = {}
    for name, one in evaluations.items():
        places = np.searchsorted(every, one.queries)
        results = {measure: _spread(found, places, len(every)) for measure, found in one.results.items()}
        aligned[name] = Evaluation(every, results, one.settings)
    return aligned


def _spread(result: MeasureResult, places: Any, n_queries: int) -> MeasureResult:
    """Return a result with its queries at given places among more of them."""
    values, weights = np.full(n_queries, np.nan), np.ones(n_queries)
    values[places], weights[places] = result.values, result.weights
    return MeasureResult(values, weights, result.mean, result.low, result.high, result.n_empty)


def _cell(result: MeasureResult) -> str:
    """Return a mean and its interval; a narrow table folds them into two lines."""
    if math.isnan(result.low):
        return f"{result.mean:.4f}"
    return f"{result.mean:.4f} {result.low:.3f}…{result.high:.3f}"
