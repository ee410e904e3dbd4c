"""Measures of fused scores against judgements, with trec_eval's rules and on numbers alone: texts are slow to sort."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from podium._validation import Array, PodiumError
from podium.data import Queries, group_rows
from podium.fusion.candidates import Candidates
from podium.measures import Measure, QueryValues, measure_many
from podium.readers import Qrels


class JudgedScores:
    """Scores of candidates beside what judges said.

    ``JudgedScores(candidates, qrels).measure(scores, measures, depth)`` equals
    ``evaluate_run(qrels, run, unanswered="zero")`` of the run that has the best candidates by these scores.

    Parameters
    ----------
    candidates : Candidates
    qrels : Qrels
        Judgements by name; those of queries that no run answers are left out.

    Attributes
    ----------
    grades : ndarray of float64
        Grade of each candidate, 0 where it is not judged.
    judged : ndarray of bool
        Whether a candidate is judged.
    queries : ndarray of int64
        Numbers of the judged queries.
    """

    def __init__(self, candidates: Candidates, qrels: Qrels) -> None:
        coded = candidates.coded_qrels(qrels)
        if len(coded.qid) == 0:
            raise PodiumError(
                "The runs and the judgements share no query; "
                f"the runs have {str(candidates.queries[0])!r}, the judgements {qrels.qid[:1].tolist()}."
            )
        self.candidates = candidates
        self.grades, self.judged = candidates.relevance(coded)
        self.queries = np.unique(coded.qid)
        unseen = coded.docid >= len(candidates.documents)
        self._relevant_unseen = unseen | ~_is_candidate(candidates, coded)
        self._relevant_unseen &= coded.relevance > 0
        self._coded = coded

    @cached_property
    def _by_name(self) -> Array:
        """Candidates by query, and by name descending, which a stable sort by score keeps."""
        candidates = self.candidates
        return np.lexsort((-candidates.document, candidates.query))

    def measure(
        self, scores: Array, measures: Sequence[Measure], depth: int | None, queries: Array | None = None
    ) -> dict[str, QueryValues]:
        """Measure the best candidates of each query by some scores; NaN ones are not retrieved.

        Parameters
        ----------
        scores : ndarray, one a candidate
        measures : sequence of Measure
        depth : int or None
            Documents of a query that count; all where it is None.
        queries : ndarray of int64, optional
            Judged queries to look at, sorted; all of them where it is None.
        """
        wanted = self.queries if queries is None else queries
        labels, grouped, depths = self._ranking(scores, depth, wanted)
        places = -np.arange(len(labels), dtype=float)
        return measure_many(measures, labels, places, grouped.offsets, convention="trec", depths=depths)

    def _ranking(self, scores: Array, depth: int | None, wanted: Array) -> tuple[Array, Queries, Array]:
        """Return grades in rank order, those of relevant documents left out last; their queries; depths."""
        candidates, coded = self.candidates, self._coded
        number = np.full(len(candidates.queries), -1)
        number[wanted] = np.arange(len(wanted))
        rows = self._by_name[number[candidates.query[self._by_name]] >= 0]
        single = scores.astype(np.float32)
        rows = rows[np.lexsort((-single[rows], candidates.query[rows]))]
        place = np.arange(len(rows)) - np.searchsorted(candidates.query[rows], candidates.query[rows])
        kept = ~np.isnan(single[rows]) & (place < (depth or len(rows)))
        lost = ~kept & (self.grades[rows] > 0)
        unseen = self._relevant_unseen & (number[coded.qid] >= 0)
        query = np.concatenate([candidates.query[rows[kept]], candidates.query[rows[lost]], coded.qid[unseen]])
        labels = np.concatenate([self.grades[rows[kept]], self.grades[rows[lost]], coded.relevance[unseen]])
        grouped = group_rows(number[query], wanted)
        return labels[grouped.rows], grouped, np.bincount(number[query[: kept.sum()]], minlength=len(wanted))


def _is_candidate(candidates: Candidates, coded: Qrels) -> Array:
    """Say of each judgement whether some run retrieved its document for its query."""
    stride = len(candidates.documents) + len(coded.docid) + 1
    return np.isin(coded.qid * stride + coded.docid, candidates.query * stride + candidates.document)
