"""Candidates of a fusion: the documents that any run retrieved for a query, with their score and place in each run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from podium._compiled import ROW
from podium._validation import Array, PodiumError
from podium.readers import Qrels, Run


@dataclass(frozen=True, eq=False)
class Candidates:
    """One row a query and a document that some run retrieved for it, grouped by query.

    Attributes
    ----------
    runs : tuple of str
        Name of each run.
    queries, documents : ndarray of str
        Names, sorted: a number of `query` or `document` is a place in them.
    query, document : ndarray of int64
        Query and document of each row; rows are sorted by both.
    scores : ndarray of float64, one row a candidate and one column a run
        Score in the run; NaN where the run did not retrieve the document.
    """

    runs: tuple[str, ...]
    queries: Array
    documents: Array
    query: Array
    document: Array
    scores: Array

    @cached_property
    def offsets(self) -> Array:
        """Query q has the rows ``offsets[q]`` up to, not including, ``offsets[q + 1]``."""
        return np.searchsorted(self.query, np.arange(len(self.queries) + 1)).astype(ROW)

    @cached_property
    def retrieved(self) -> Array:
        """Whether each run retrieved each candidate."""
        return ~np.isnan(self.scores)

    @cached_property
    def places(self) -> Array:
        """Place of each candidate in each run, 1 on top; NaN where the run did not retrieve it.

        The score makes the order, and at equal scores the document's name, descending, as trec_eval has it.
        """
        places = np.full(self.scores.shape, np.nan)
        for column, found, out in zip(self.scores.T, self.retrieved.T, places.T, strict=True):
            rows = np.flatnonzero(found)
            ordered = rows[np.lexsort((-self.document[rows], -column[rows], self.query[rows]))]
            starts = np.searchsorted(self.query[ordered], self.query[ordered])
            out[ordered] = np.arange(len(ordered)) - starts + 1
        return places

    @cached_property
    def depths(self) -> Array:
        """Documents that each run retrieved for each query: queries × runs."""
        return self.by_query(np.add, self.retrieved.astype(float))

    @property
    def sizes(self) -> Array:
        """Candidates of each query."""
        return np.diff(self.offsets)

    def by_query(self, reduce: np.ufunc, values: Array) -> Array:
        """Reduce rows to queries, as by `np.add` or `np.fmax`."""
        reduced: Array = reduce.reduceat(values, self.offsets[:-1], axis=0)
        return reduced

    def spread(self, values: Array) -> Array:
        """Repeat a value of each query for its rows."""
        return np.repeat(values, self.sizes, axis=0)

    def coded_qrels(self, qrels: Qrels) -> Qrels:
        """Return judgements with numbers for names; names that no run has are numbered after ours, in any order.

        Judgements of queries that no run answers are left out.
        """
        known = np.isin(qrels.qid, self.queries)
        query = np.searchsorted(self.queries, qrels.qid[known])
        names = qrels.docid[known]
        place = np.minimum(np.searchsorted(self.documents, names), len(self.documents) - 1)
        fresh = self.documents[place] != names
        document = np.where(fresh, len(self.documents) + np.cumsum(fresh), place)
        return Qrels(query, document, qrels.relevance[known])

    def relevance(self, coded: Qrels) -> tuple[Array, Array]:
        """Return the grade of each candidate, 0 where it is not judged, and whether it is judged."""
        stride = len(self.documents) + len(coded.docid) + 1
        key, judged = self.query * stride + self.document, coded.qid * stride + coded.docid
        if len(judged) == 0:
            return np.zeros(len(key)), np.zeros(len(key), bool)
        order = np.argsort(judged)
        place = order[np.minimum(np.searchsorted(judged, key, sorter=order), len(judged) - 1)]
        found = judged[place] == key
        return np.where(found, coded.relevance[place], 0).astype(float), found

    def coded_run(self, scores: Array, depth: int | None, tag: str = "") -> Run:
        """Return the best candidates of each query by some scores, NaN ones left out, with numbers for names."""
        order = np.lexsort((-self.document, -scores, self.query))
        order = order[~np.isnan(scores[order])]
        place = np.arange(len(order)) - np.searchsorted(self.query[order], self.query[order])
        kept = order if depth is None else order[place < depth]
        return Run(self.query[kept], self.document[kept], scores[kept], tag)

    def named(self, coded: Run) -> Run:
        """Return a run of `coded_run` with the names."""
        return Run(self.queries[coded.qid], self.documents[coded.docid], coded.score, coded.tag)


def gather(runs: Sequence[Run] | Mapping[str, Run]) -> Candidates:
    """Check some runs and gather what they retrieved."""
    named = _named_runs(runs)
    queries, query = _numbered(run.qid for run in named.values())
    documents, document = _numbered(run.docid for run in named.values())
    keys = [q * len(documents) + d for q, d in zip(query, document, strict=True)]
    for name, own in zip(named, keys, strict=True):
        _refuse_repeats(name, own, queries, documents)
    rows = np.unique(np.concatenate(keys))
    scores = np.full((len(rows), len(named)), np.nan)
    for column, own, run in zip(scores.T, keys, named.values(), strict=True):
        column[np.searchsorted(rows, own)] = run.score
    return Candidates(tuple(named), queries, documents, rows // len(documents), rows % len(documents), scores)


def _named_runs(runs: Sequence[Run] | Mapping[str, Run]) -> dict[str, Run]:
    """Return checked runs by name: that of the mapping, or the tag, with a number where another run has it too."""
    given = list(runs.items()) if isinstance(runs, Mapping) else [(run.tag, run) for run in _as_runs(runs)]
    if len(given) < 2:
        raise PodiumError(f"A fusion needs at least two runs; got {len(given)}.")
    named: dict[str, Run] = {}
    for number, (tag, run) in enumerate(given, 1):
        name = tag or f"run {number}"
        name = name if name not in named else f"{name} ({number})"
        _check_run(name, run)
        named[name] = run
    return named


def _as_runs(runs: object) -> list[Run]:
    """Return a sequence of runs as a list; one run alone is a tuple too, and is refused."""
    if isinstance(runs, Run) or not isinstance(runs, Sequence) or not all(isinstance(one, Run) for one in runs):
        raise PodiumError("runs must be a list of runs as read_run returns them, or a mapping of names to runs.")
    return list(runs)


def _check_run(name: str, run: Run) -> None:
    """Refuse a run without documents, or with a score that is no finite number."""
    if len(run.score) == 0:
        raise PodiumError(f"Run {name!r} is empty: leave it out.")
    if not len(run.qid) == len(run.docid) == len(run.score):
        raise PodiumError(f"Run {name!r} must have as many queries as documents and scores.")
    bad = np.flatnonzero(~np.isfinite(run.score))
    if len(bad):
        raise PodiumError(
            f"Scores of run {name!r} must be finite; document {str(run.docid[bad[0]])!r} of query "
            f"{str(run.qid[bad[0]])!r} has {run.score[bad[0]]}."
        )


def _numbered(columns: Iterable[Array]) -> tuple[Array, list[Array]]:
    """Return all names, sorted, and each column as places in them; a dictionary is quicker than sorting all texts."""
    lists = [np.asarray(column).astype(str).tolist() for column in columns]
    names = sorted(set().union(*lists))
    number = {name: place for place, name in enumerate(names)}
    return np.array(names), [np.fromiter(map(number.__getitem__, one), ROW, len(one)) for one in lists]


def _refuse_repeats(name: str, keys: Array, queries: Array, documents: Array) -> None:
    """Refuse a run that lists a document twice for a query."""
    unique, counts = np.unique(keys, return_counts=True)
    if len(unique) < len(keys):
        query, document = divmod(int(unique[counts > 1][0]), len(documents))
        raise PodiumError(
            f"Run {name!r} has document {str(documents[document])!r} of query {str(queries[query])!r} twice; "
            "keep one of them."
        )
