"""Evaluate TREC runs against judgements, as trec_eval does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from podium._validation import Array, PodiumError, check_choice
from podium.data import Queries, group_rows
from podium.evaluation.judged_measures import JudgedQuery, RunMeasure, run_measures
from podium.evaluation.leaderboard import Leaderboard, leaderboard_of
from podium.evaluation.queries import evaluation_of, resampling_settings, warn_undefined
from podium.evaluation.results import Evaluation
from podium.measures import Measure, QueryValues, measure_many
from podium.readers import Qrels, Run

RUN_MEASURES = ("map", "ndcg", "ndcg@10", "p@10", "mrr", "recall@100")


def evaluate_run(
    qrels: Qrels,
    run: Run,
    *,
    measures: str | Iterable[str] = RUN_MEASURES,
    unanswered: str = "skip",
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Evaluation:
    """Measure a run against judgements with trec_eval's rules.

    Documents stand by score, compared in single precision, and at equal scores by name, descending.
    Unjudged documents are not relevant; relevant documents that the run did not retrieve count in the
    denominators. Each query's value equals trec_eval's.

    Parameters
    ----------
    qrels : Qrels
        Judgements, as `read_qrels` returns them.
    run : Run
        Retrieved documents, as `read_run` returns them.
    measures : str or iterable of str
        Names such as ``"map"``, ``"ndcg@10"``, ``"p@5"``, ``"recall@100"``, ``"mrr"``, or as trec_eval writes them:
        ``"P_10"``, ``"ndcg_cut_10"``, ``"map_cut_1000"``, ``"recall_100"``, ``"recip_rank"``, ``"success_5"``; and
        ``"Rprec"``, ``"bpref"`` and ``"infAP"``, which need judgements.
    unanswered : {"skip", "zero"}
        What a judged query without a retrieved document counts: nothing, as trec_eval has it, or 0, as its
        option ``-c``.
    confidence, n_resamples, random_state, n_jobs
        As for `evaluate`.
    """
    wanted = run_measures(measures)
    settings = resampling_settings(confidence, n_resamples, random_state)
    keep_all = check_choice(unanswered, ("skip", "zero"), "unanswered") == "zero"
    ranking = judged_ranking(qrels, run, keep_all)
    found = _values(wanted, ranking, n_jobs)
    warn_undefined(found)
    return evaluation_of(ranking.queries.ids, found, {"convention": "trec", **settings})


def evaluate_runs(
    qrels: Qrels, runs: Mapping[str, Run], *, measures: str | Iterable[str] = RUN_MEASURES, **options: Any
) -> Leaderboard:
    """Measure several runs against the same judgements, and order them by the first measure.

    Each mean is over the queries that the run answered, as trec_eval has it; with ``unanswered="zero"`` over all that
    were judged. Tests compare two runs on the queries that both have.

    Parameters
    ----------
    qrels : Qrels
        Judgements, as `read_qrels` returns them.
    runs : mapping of str to Run
        Runs by name, as `read_run` returns them.
    measures : str or iterable of str
        As for `evaluate_run`.
    **options
        Further options of `evaluate_run`: unanswered, confidence, n_resamples, random_state, n_jobs.

    Returns
    -------
    Leaderboard
    """
    if not isinstance(runs, Mapping) or not runs:
        raise PodiumError("runs must map names to runs, at least one, such as {'bm25': read_run(path)}.")
    known = ("unanswered", "confidence", "n_resamples", "random_state", "n_jobs")
    for option in options:
        check_choice(option, known, "An option of evaluate_runs")
    names = list(run_measures(measures))
    evaluations = {name: evaluate_run(qrels, run, measures=names, **options) for name, run in runs.items()}
    return leaderboard_of(evaluations, next(iter(evaluations.values())).settings)


class JudgedRanking(NamedTuple):
    """The documents of each query in trec_eval's order, the retrieved ones first.

    Attributes
    ----------
    labels : ndarray of float64
        Relevance of the retrieved documents in rank order, then of the judged ones not retrieved; 0 if not judged.
    judged : ndarray of bool
        Whether the judgements name the document.
    queries : Queries
        Grouping of `labels`.
    depths : ndarray of int64
        Retrieved documents of each query.
    """

    labels: Array
    judged: Array
    queries: Queries
    depths: Array

    def each(self) -> Iterator[JudgedQuery]:
        """Yield the queries one by one."""
        for (start, stop), depth in zip(pairwise(self.queries.offsets), self.depths.tolist(), strict=True):
            yield JudgedQuery(self.labels[start:stop], self.judged[start:stop], depth)


def _values(wanted: dict[str, RunMeasure], ranking: JudgedRanking, n_jobs: int | None) -> dict[str, QueryValues]:
    """Return the values of each measure by the name it was asked for."""
    labels, offsets = ranking.labels, ranking.queries.offsets
    places = -np.arange(len(labels), dtype=float)
    rules: dict[str, Any] = {"convention": "trec", "depths": ranking.depths, "n_jobs": n_jobs}
    by_order = [measure for measure in wanted.values() if isinstance(measure, Measure)]
    found = measure_many(by_order, labels, places, offsets, **rules) if by_order else {}
    return {
        name: found[one.name] if isinstance(one, Measure) else one.values(ranking.each())
        for name, one in wanted.items()
    }


def judged_ranking(qrels: Qrels, run: Run, keep_all: bool) -> JudgedRanking:
    """Return the documents of each query in trec_eval's order; with `keep_all` queries without any retrieved too."""
    for what, own in (("run", run), ("judgements", qrels)):
        if len(own.qid) == 0:
            raise PodiumError(f"The {what} must hold documents of queries; there are none.")
    ids, query = np.unique(np.concatenate([run.qid, qrels.qid]), return_inverse=True)
    names, name = np.unique(np.concatenate([run.docid, qrels.docid]), return_inverse=True)
    key = query * len(names) + name
    n_run = len(run.qid)
    relevance = np.concatenate([_look_up(key[:n_run], key[n_run:], qrels.relevance), qrels.relevance])
    score = np.concatenate([run.score, np.zeros(len(qrels.qid))]).astype(np.float32)
    is_judged = np.arange(len(key)) >= n_run

    in_run, in_qrels = (np.bincount(query[part], minlength=len(ids)) > 0 for part in (~is_judged, is_judged))
    wanted = in_qrels if keep_all else in_qrels & in_run
    _check_overlap(ids, in_run, in_qrels, wanted)
    rows = np.flatnonzero(wanted[query] & ~(is_judged & np.isin(key, key[:n_run])))
    rows = rows[np.lexsort((-name[rows], -score[rows], is_judged[rows]))]
    queries = group_rows((np.cumsum(wanted) - 1)[query[rows]], ids[wanted])
    depths = np.bincount(query[:n_run], minlength=len(ids))[wanted]
    rows = rows[queries.rows]
    return JudgedRanking(relevance[rows].astype(float), np.isin(key[rows], key[n_run:]), queries, depths)


def _look_up(wanted: Array, known: Array, values: Array) -> Array:
    """Return the value of each wanted key, 0 where it is not known."""
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)
    return np.where(known[order[place]] == wanted, values[order[place]], 0)


def _check_overlap(ids: Array, in_run: Array, in_qrels: Array, wanted: Array) -> None:
    """Refuse a run and judgements that share no query, naming one of each."""
    if not wanted.any() or not (in_run & in_qrels).any():
        raise PodiumError(
            "The run and the judgements share no query; "
            f"the run has {str(ids[in_run][0])!r}, the judgements {str(ids[in_qrels][0])!r}."
        )
