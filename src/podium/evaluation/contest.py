"""All pairs of several rankings on one measure: tests with Holm's correction, average ranks, critical differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from rich.table import Table

from podium._result_frames import Columns, Framed
from podium._types import Json
from podium._validation import Array, PodiumError, check_choice
from podium.evaluation.average_ranks import alike_groups, critical_difference, friedman, query_ranks
from podium.evaluation.paired_tests import holm, paired_result, wilcoxon_p_value
from podium.evaluation.rank_diagram import text_diagram
from podium.evaluation.results import MeasureResult, PairedResult, plain_text, table_of

GROUPINGS = ("nemenyi", "wilcoxon")


@dataclass(frozen=True)
class PairTest:
    """Two of several rankings on one measure.

    Attributes
    ----------
    first, second : str
        Names; the first has the better average rank.
    paired : PairedResult
        Difference of the means with its interval and randomisation test.
    p_holm : float
        The p-value of that test after Holm's correction for all pairs.
    wilcoxon, wilcoxon_holm : float
        p-value of Wilcoxon's signed-rank test, as it is and after Holm's correction for all pairs.
    """

    first: str
    second: str
    paired: PairedResult
    p_holm: float
    wilcoxon: float
    wilcoxon_holm: float


@dataclass(frozen=True, eq=False)
class Contest(Framed):
    """Several rankings of the same queries against each other on one measure; ``print(contest)`` shows all of it.

    Attributes
    ----------
    measure : str
    names : tuple of str
        Rankings by their average rank, the best first.
    average_ranks : ndarray of float64
        Mean over queries of the rank of each, 1 for the best; equal values share a rank.
    n_queries : int
        Queries in which every ranking has a value.
    friedman, friedman_p : float
        Friedman's χ² with its correction for ties, and the p-value that all rankings are alike.
    critical_difference : float
        Of Nemenyi: rankings whose average ranks are at least so far apart differ, for all pairs at once.
    pairs : tuple of PairTest
        Every pair, the better average rank first.
    settings : dict
        ``confidence`` is 1 - α of all tests.
    """

    measure: str
    names: tuple[str, ...]
    average_ranks: Array
    n_queries: int
    friedman: float
    friedman_p: float
    critical_difference: float
    pairs: tuple[PairTest, ...]
    settings: dict[str, Any]

    @property
    def alpha(self) -> float:
        """Level of the tests: the chance of a false claim."""
        return 1.0 - float(self.settings["confidence"])

    def groups(self, by: str = "nemenyi") -> list[tuple[str, ...]]:
        """Return the longest runs of rankings, by average rank, of which no two differ: the bars of the diagram.

        Parameters
        ----------
        by : {"nemenyi", "wilcoxon"}
            Which test parts them: the critical difference of average ranks, or Wilcoxon's with Holm's correction.
        """
        return [self.names[first : last + 1] for first, last in self.runs(by)]

    def runs(self, by: str = "nemenyi") -> list[tuple[int, int]]:
        """Return the places of the first and the last ranking of each of the `groups`."""
        return alike_groups(len(self.names), self._test(by))

    def to_dict(self) -> dict[str, Json]:
        """Return the contest as plain numbers, ready for JSON."""
        pairs = []
        for one in self.pairs:
            tests = {name: value for name, value in asdict(one).items() if name != "paired"}
            found = asdict(one.paired)
            pairs.append({**tests, "means": [found.pop("first"), found.pop("second")], **found})
        return {
            "measure": self.measure,
            "queries": self.n_queries,
            "average_ranks": dict(zip(self.names, self.average_ranks.tolist(), strict=True)),
            "friedman": self.friedman,
            "friedman_p": self.friedman_p,
            "alpha": round(self.alpha, 12),
            "critical_difference": self.critical_difference,
            "groups": {by: [list(one) for one in self.groups(by)] for by in GROUPINGS},
            "pairs": pairs,
        }

    def columns(self) -> Columns:
        """Return a row for each pair, as columns."""
        rows = [
            (one.first, one.second, *_change(one.paired), one.p_holm, one.wilcoxon, one.wilcoxon_holm)
            for one in self.pairs
        ]
        names = ("first", "second", "difference", "low", "high", "p", "p_holm", "wilcoxon", "wilcoxon_holm")
        return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}

    def table(self) -> Table:
        """Return the tests of all pairs as a rich table."""
        level = f"{100 * self.settings['confidence']:g}% interval"
        rows = []
        for one in self.pairs:
            found = one.paired
            p_values = [f"{value:.4f}" for value in (found.p_value, one.p_holm, one.wilcoxon_holm)]
            change = [f"{found.difference:+.4f}", found.interval_text]
            rows.append([one.first, one.second, *change, *p_values, found.counts_text])
        header = ["ranking", "against", "change", level, "p", "p Holm", "Wilcoxon Holm", "won / lost / same"]
        return table_of(f"{self.measure}, paired by query", header, rows)

    def diagram(self, by: str = "nemenyi") -> str:
        """Return the critical-difference diagram as text (Demšar 2006; RB+ Figure 3).

        Parameters
        ----------
        by : {"nemenyi", "wilcoxon"}
            As for `groups`.
        """
        runs = self.runs(by)
        length = self.critical_difference if by == "nemenyi" else None
        test = "Nemenyi" if by == "nemenyi" else "Wilcoxon's test with Holm's correction"
        title = f"Average ranks by {self.measure} over {self.n_queries} queries; {test} at {self.alpha:.2g}"
        return text_diagram(title, self.names, self.average_ranks.tolist(), runs, length)

    def summary(self) -> str:
        """Return Friedman's test in a sentence."""
        verdict = "the rankings differ" if self.friedman_p < self.alpha else "no difference is shown"
        return (
            f"Friedman's test of {self.measure} over {self.n_queries} queries: "
            f"χ² {self.friedman:.2f}, p {self.friedman_p:.4g}: {verdict}."
        )

    def __str__(self) -> str:
        parts = [plain_text(self.table()), self.summary(), self.diagram("nemenyi"), self.diagram("wilcoxon")]
        return "\n\n".join(parts)

    def _test(self, by: str) -> Callable[[int, int], bool]:
        """Return whether two rankings differ, by their places."""
        if check_choice(by, GROUPINGS, "by") == "nemenyi":
            # Ranks are sums of halves: what is one critical difference apart differs, whatever the rounding.
            return lambda a, b: bool(
                self.average_ranks[b] - self.average_ranks[a] >= self.critical_difference * (1 - 1e-12)
            )
        p_values = {(one.first, one.second): one.wilcoxon_holm for one in self.pairs}
        return lambda a, b: p_values[self.names[a], self.names[b]] < self.alpha


def contest_of(
    measure: str, results: Mapping[str, MeasureResult], higher_is_better: bool, settings: dict[str, Any]
) -> Contest:
    """Test all pairs of rankings on one measure.

    Parameters
    ----------
    measure : str
    results : mapping of str to MeasureResult
        Of the same queries in the same order.
    higher_is_better : bool
        Direction of the measure.
    settings : dict
        ``confidence``, ``n_resamples`` and ``random_state``.
    """
    if len(results) < 2:
        raise PodiumError(f"A contest needs at least two rankings; got {len(results)}.")
    values = np.column_stack([one.values for one in results.values()])
    known = values[~np.isnan(values).any(axis=1)]
    if len(known) == 0:
        raise PodiumError(f"{measure} has no value on any query for all rankings: there is nothing to compare.")
    ranks = query_ranks(known if higher_is_better else -known)
    means = ranks.mean(axis=0)
    given = list(results)
    order = sorted(range(len(given)), key=lambda j: (means[j], given[j]))
    names = tuple(given[j] for j in order)
    statistic, p_value = friedman(ranks)
    return Contest(
        measure,
        names,
        means[order],
        len(known),
        statistic,
        p_value,
        critical_difference(len(names), len(known), 1 - settings["confidence"]),
        _pair_tests(names, results, higher_is_better, settings),
        settings,
    )


def _change(paired: PairedResult) -> tuple[float, float, float, float]:
    """Return a difference with its interval and p-value."""
    return paired.difference, paired.low, paired.high, paired.p_value


def _pair_tests(
    names: tuple[str, ...], results: Mapping[str, MeasureResult], higher_is_better: bool, settings: dict[str, Any]
) -> tuple[PairTest, ...]:
    """Return the tests of every pair."""
    pairs = list(combinations(names, 2))
    paired = [paired_result(results[a], results[b], higher_is_better, settings) for a, b in pairs]
    signed = [_wilcoxon(results[a], results[b]) for a, b in pairs]
    corrected = holm([one.p_value for one in paired]), holm(signed)
    return tuple(
        PairTest(a, b, one, p_holm, p_signed, signed_holm)
        for (a, b), one, p_signed, p_holm, signed_holm in zip(pairs, paired, signed, *corrected, strict=True)
    )


def _wilcoxon(first: MeasureResult, second: MeasureResult) -> float:
    """Test the queries where both have a value."""
    both = ~(np.isnan(first.values) | np.isnan(second.values))
    return wilcoxon_p_value(first.values[both], second.values[both])
