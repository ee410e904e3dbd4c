"""Measures of rankings: their names, and their values query by query.

``measure_queries("ndcg@10", labels, scores, offsets)`` gives one value for each query; `parse_measure` reads
a name, `available` lists the names. `swaps` holds what a swap of two rows changes, for LambdaMART.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from podium._compiled import SCORE, thread_count
from podium._validation import Array, PodiumError, near_matches
from podium.measures import binary, graded, localized, pairwise, ranknet
from podium.measures.conventions import CONVENTIONS, Gain, Relevant, Rules, convention_rules
from podium.measures.explicit_pairs import (
    PAIR_MEASURES,
    TIE_COSTS,
    mean_pair_errors,
    pair_errors,
    refuse_label_measures,
    split_pair_measures,
)
from podium.measures.measure import Definition, Measure, QueryValues, measure_ranking, weighted_mean
from podium.measures.pairwise import pair_losses
from podium.measures.ties import TIE_RULES, Ranking, ranked
from podium.measures.trec_names import OF_RUNS, our_name

__all__ = [
    "CONVENTIONS",
    "PAIR_MEASURES",
    "TIE_COSTS",
    "TIE_RULES",
    "Measure",
    "QueryValues",
    "Ranking",
    "Rules",
    "available",
    "mean_pair_errors",
    "measure_many",
    "measure_queries",
    "measure_ranking",
    "our_name",
    "pair_errors",
    "pair_losses",
    "parse_measure",
    "ranked",
    "refuse_label_measures",
    "split_pair_measures",
    "weighted_mean",
]

DEFINITIONS: Mapping[str, Definition] = {
    definition.name: definition
    for definition in (*graded.MEASURES, *binary.MEASURES, *pairwise.MEASURES, *localized.MEASURES, *ranknet.MEASURES)
}
"""Every measure by its base name."""

ALIASES = {"ap": "map", "rr": "mrr"}
"""Other names that are read; a measure answers to its own."""


def available() -> dict[str, str]:
    """Names of the measures, "@k" or "[@k]" shown where they take it, with a line on each."""
    suffix = {"no": "", "may": "[@k]", "must": "@k"}
    return {name + suffix[d.takes_k]: d.about for name, d in DEFINITIONS.items()}


def parse_measure(name: str | Measure) -> Measure:
    """Read a measure's name, such as "ndcg@10" or "nDCG@10".

    Raises
    ------
    PodiumError
        If the name is unknown (near ones are named), k is not a positive integer, or k is missing or
        does not belong.
    """
    if isinstance(name, Measure):
        return name
    if not isinstance(name, str):
        raise PodiumError(f"measure must be a name such as 'ndcg@10'; got {name!r}.")
    base, at, cut = name.strip().lower().partition("@")
    definition = DEFINITIONS.get(ALIASES.get(base, base))
    if definition is None:
        raise PodiumError(_unknown(name, base))
    if (definition.takes_k == "no") if at else (definition.takes_k == "must"):
        need = "takes no k" if at else f"needs a k, as in {definition.name}@10"
        raise PodiumError(f"measure {definition.name} {need}; got {name!r}.")
    return Measure(definition, _parse_k(name, cut) if at else None)


def _unknown(name: str, base: str) -> str:
    """Sentence on an unknown name: what it is called here, where it is found, or the nearest known ones."""
    if ours := our_name(name):
        return f"measure {name!r} is called {ours} here."
    if base in OF_RUNS:
        return f"measure {name!r} is one of runs and judgements alone: evaluate_run has it."
    known = [*DEFINITIONS, *ALIASES]
    return f"measure {name!r} is unknown{near_matches(base, known)}; known are {', '.join(DEFINITIONS)}."


def _parse_k(name: str, cut: str) -> int:
    """The number after "@"."""
    if "," in cut:
        raise PodiumError(f"measure must be one name, such as 'ndcg@10'; got {name!r}.")
    if not (cut.isascii() and cut.isdigit() and len(cut) < 10 and int(cut) > 0):
        raise PodiumError(f"k must be an integer from 1 to 999999999; got {name!r}.")
    return int(cut)


def measure_queries(
    measure: str | Measure, labels: Array, scores: Array, offsets: Array, **options: Any
) -> QueryValues:
    """Value of one measure for each query; the options are those of `measure_many`."""
    parsed = parse_measure(measure)
    return measure_many([parsed], labels, scores, offsets, **options)[parsed.name]


def measure_many(
    measures: Iterable[str | Measure],
    labels: Array,
    scores: Array,
    offsets: Array,
    *,
    ties: str | None = None,
    empty: str | float | None = None,
    gain: Gain | None = None,
    relevant: Relevant = None,
    max_grade: float | None = None,
    sigma: float | None = None,
    convention: str = "podium",
    depths: Array | None = None,
    n_jobs: int | None = None,
) -> dict[str, QueryValues]:
    """Values of several measures for each query, from one sort for each tie rule.

    Parameters
    ----------
    measures : iterable of str or Measure
        What to compute.
    labels, scores : float64[n]
        Finite values, rows grouped by query.
    offsets : int64[Q + 1]
        First row of each query; no query is without rows.
    ties, empty, gain, relevant, max_grade, sigma : optional
        Rules that replace the convention's; see `Rules`.
    convention : str
        Named set of rules, one of `CONVENTIONS`.
    depths : int64[Q], optional
        Rows of each query that were retrieved; the rows after them, in rank order, were not: they count
        among the relevant and earn nothing.
    n_jobs : int, optional
        Threads, as scikit-learn counts them.
    """
    parsed = [parse_measure(measure) for measure in measures]
    given = {"gain": gain, "relevant": relevant, "max_grade": max_grade, "sigma": sigma, "depths": depths}
    rules = convention_rules(convention).with_options(
        ties=ties, empty=empty, gain=gain, relevant=relevant, max_grade=max_grade, sigma=sigma
    )
    _refuse_unused(parsed, [name for name, value in given.items() if value is not None])
    rankings = _Rankings(labels, scores, offsets, rules, thread_count(n_jobs))
    return {m.name: measure_ranking(m, rankings.of(m), rules, depths) for m in parsed}


def _refuse_unused(measures: list[Measure], given: list[str]) -> None:
    """An option that changes nothing is a mistake worth saying."""
    for option in given:
        if not any(option in measure.definition.uses for measure in measures):
            names = ", ".join(measure.name for measure in measures)
            raise PodiumError(f"{option} is used by none of the measures asked for ({names}); leave it out.")


class _Rankings:
    """The rankings that a set of measures needs, each made when first asked for."""

    def __init__(self, labels: Array, scores: Array, offsets: Array, rules: Rules, n_threads: int) -> None:
        self._labels, self._scores, self._offsets = np.asarray(labels, SCORE), scores, offsets
        self._rules, self._n_threads = rules, n_threads
        self._made: dict[tuple[str, bool], Ranking] = {}

    def of(self, measure: Measure) -> Ranking:
        """Ranking by the measure's tie rule; custom gains take the labels' place, also in the ties."""
        ties = measure.definition.ties or self._rules.ties
        custom = "gain" in measure.definition.uses and not isinstance(self._rules.gain, str)
        if (ties, custom) not in self._made:
            labels = graded.custom_gains(self._labels, self._rules.gain) if custom else self._labels
            self._made[ties, custom] = ranked(labels, self._scores, self._offsets, ties, self._n_threads)
        return self._made[ties, custom]
