"""Measures of runs that look at which documents were judged, and the names that trec_eval has for measures.

Documents outside the judgements are skipped by bpref and infAP; a relevance of -1 is a document of the pool that nobody
judged. bpref is that of Buckley and Voorhees (2004), infAP that of Yilmaz and Aslam (2006), as trec_eval 9 has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from podium._validation import Array, PodiumError
from podium.measures import Measure, QueryValues, our_name, parse_measure

INFAP_EPSILON = 1e-5
"""What infAP adds to counts of judged documents, so that none of them is 0."""


class JudgedQuery(NamedTuple):
    """One query of a run.

    Attributes
    ----------
    labels : ndarray of float64
        Relevance of the retrieved documents in rank order, then of the judged ones that were not retrieved.
    judged : ndarray of bool
        Whether the judgements name the document.
    depth : int
        Retrieved documents.
    """

    labels: Array
    judged: Array
    depth: int


@dataclass(frozen=True)
class JudgedMeasure:
    """A measure of runs that is none of rankings.

    Attributes
    ----------
    name : str
        As trec_eval writes it.
    value : callable
        From a `JudgedQuery` with at least one relevant document to the value.
    """

    name: str
    value: Callable[[JudgedQuery], float]
    higher_is_better: bool = True

    def values(self, queries: Iterable[JudgedQuery]) -> QueryValues:
        """Return the value of each query; 0 where nothing is relevant, as trec_eval has it."""
        each = list(queries)
        empty = np.array([not (one.labels > 0).any() for one in each])
        values = [0.0 if nothing else self.value(one) for one, nothing in zip(each, empty, strict=True)]
        lacking = "a relevant document" if empty.all() else ""
        return QueryValues(np.array(values), np.ones(len(each)), empty, lacking)


RunMeasure: TypeAlias = Measure | JudgedMeasure


def r_precision(query: JudgedQuery) -> float:
    """Return the precision of the first R retrieved documents, R the number of relevant ones."""
    n_relevant = int((query.labels > 0).sum())
    return float((query.labels[: min(n_relevant, query.depth)] > 0).sum()) / n_relevant


def binary_preference(query: JudgedQuery) -> float:
    """Return bpref: 1/R Σ 1 - min(n, R)/min(N, R) over the relevant documents that were retrieved.

    R documents are relevant, N were judged and are not, and n of those stand above the relevant one.
    """
    relevant, other = _kinds(query)
    n_relevant, n_others = int(relevant.sum()), int(other.sum())
    above = np.cumsum(other)[: query.depth][relevant[: query.depth]]
    most = max(min(n_relevant, n_others), 1)
    return float(np.sum(1.0 - np.minimum(above, n_relevant) / most)) / n_relevant


def inferred_average_precision(query: JudgedQuery) -> float:
    """Return infAP: expected precision at each relevant document, from the judged part of what stands above it.

    At place j + 1, with r relevant and n other judged documents and u unjudged ones of the pool above, it is
    1/(j + 1) + j/(j + 1) · (r + n + u)/j · (r + ε)/(r + n + 2ε).
    """
    relevant, other = _kinds(query)
    pool = query.judged & (query.labels < 0)
    j = np.flatnonzero(relevant[: query.depth])
    r, n, u = (np.cumsum(kind)[j] - kind[j] for kind in (relevant, other, pool))
    share = (r + INFAP_EPSILON) / (r + n + 2 * INFAP_EPSILON)
    precision = (1.0 + (r + n + u) * share) / (j + 1)
    return float(np.sum(precision)) / int(relevant.sum())


def _kinds(query: JudgedQuery) -> tuple[Array, Array]:
    """Return which documents are relevant, and which were judged and are not."""
    relevant: Array = query.labels > 0
    other: Array = query.judged & (query.labels == 0)
    return relevant, other


JUDGED_MEASURES = {
    measure.name.lower(): measure
    for measure in (
        JudgedMeasure("Rprec", r_precision),
        JudgedMeasure("bpref", binary_preference),
        JudgedMeasure("infAP", inferred_average_precision),
    )
}
"""By their names in lower case."""


def parse_run_measure(name: str | Measure) -> RunMeasure:
    """Read the name of a measure of runs, as here (``p@10``) or as trec_eval writes it (``P_10``)."""
    if not isinstance(name, str):
        return parse_measure(name)
    text = name.strip()
    if text.lower() in JUDGED_MEASURES:
        return JUDGED_MEASURES[text.lower()]
    return parse_measure(our_name(text) or text)


def run_measures(measures: str | Iterable[str]) -> dict[str, RunMeasure]:
    """Return measures by the names under which their results stand: trec_eval's where they were given so."""
    names = [measures] if isinstance(measures, str | Measure) else measures
    if not isinstance(names, Iterable) or not (names := list(names)):
        raise PodiumError("measures must name at least one measure, such as 'ndcg_cut_10'.")
    found: dict[str, RunMeasure] = {}
    for name in names:
        measure = parse_run_measure(name)
        known_as_given = isinstance(name, str) and our_name(name) is not None
        found[str(name).strip() if known_as_given else measure.name] = measure
    return found
