"""Evaluate scores against labels, and compare two score vectors, query by query."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from podium._frames import to_array
from podium._magnitudes import check_integer
from podium._validation import (
    Array,
    NoPairsError,
    PodiumError,
    check_choice,
    check_labels,
    check_queries,
    check_scores,
)
from podium.data import Queries, group_rows, warn_of_one_query
from podium.evaluation.resampling import bootstrap_interval, randomisation_p_value
from podium.evaluation.results import Comparison, Evaluation, MeasureResult, PairedResult
from podium.measures import Measure, QueryValues, measure_many, parse_measure, weighted_mean
from podium.measures.conventions import Gain

COMPARE_OPTIONS = ("ties", "empty", "gain", "relevant", "max_grade", "sigma", "convention", "n_jobs")
DEFAULT_MEASURES = ("ndcg@10", "map", "mrr", "pair_loss")


def evaluate(
    y: ArrayLike,
    scores: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    measures: str | Iterable[str] = DEFAULT_MEASURES,
    ties: str | None = None,
    empty: str | float | None = None,
    gain: Gain | None = None,
    relevant: float | Literal["top"] | None = None,
    max_grade: float | None = None,
    sigma: float | None = None,
    convention: str = "podium",
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Evaluation:
    """Measure how well scores rank rows by their labels.

    Parameters
    ----------
    y : array-like
        Label of each row: any real numbers, higher is better.
    scores : array-like
        Score of each row: higher stands higher.
    qid, group : array-like, optional
        Query id of each row, or sizes of queries whose rows stand together; one query without either, with a
        warning for more than 1,000 rows of graded labels: ``group=[len(y)]`` says that it is meant.
    measures : str or iterable of str
        Names such as ``"ndcg@10"``, ``"map"``, ``"pair_loss"``; `podium.measures.available` lists them.
    ties : {"expected", "stable", "optimistic", "pessimistic"}, optional
        What equal scores mean: the mean over all their orders (the default), the caller's row order, the
        best or the worst order.
    empty : {"skip"} or float, optional
        What a query with nothing to measure counts: nothing (the default), or 0 or 1.
    gain : {"exp2", "linear"}, mapping or callable, optional
        Gain of a label in DCG and NDCG; 2^y − 1 by default. In a query with labels below 0, y is counted from the
        query's lowest label.
    relevant : float or "top", optional
        Labels at or above it are relevant for binary measures; "top": those that are the highest of their query,
        if it has others. By default labels above 0, and for PROT and coverage "top".
    max_grade : float, optional
        Highest possible label, for ERR; by default the highest in `y`.
    sigma : float, optional
        Steepness of RankNet's cost; 1 by default.
    convention : str
        Defaults of the settings above, as another tool has them: podium, trec, sklearn, lightgbm, xgboost,
        catboost, ranklib or letor.
    confidence : float
        Level of the bootstrap intervals over queries.
    n_resamples : int
        Number of bootstrap resamples.
    random_state : int
        Seed of the resampling.
    n_jobs : int, optional
        Threads, as scikit-learn counts them; the answer does not depend on it.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from podium import evaluate
    >>> result = evaluate([2, 0, 1], [0.9, 0.8, 0.1], measures=["ndcg@10", "mrr"])
    >>> round(result["ndcg@10"], 4)
    0.9639
    """
    labels, queries, [given] = grouped(y, qid, group, scores=scores)
    parsed = parse_measures(measures)
    settings = resampling_settings(confidence, n_resamples, random_state)
    rules: dict[str, Any] = {
        "gain": gain,
        "relevant": relevant,
        "max_grade": max_grade,
        "sigma": sigma,
        "convention": convention,
    }
    found = measure_many(parsed, labels, given, queries.offsets, ties=ties, empty=empty, n_jobs=n_jobs, **rules)
    if empty is None:
        warn_undefined(found)
    return evaluation_of(queries.ids, found, {"convention": convention, **settings})


def compare(
    y: ArrayLike,
    scores: ArrayLike,
    other_scores: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    measures: str | Iterable[str] = DEFAULT_MEASURES,
    confidence: float = 0.95,
    n_resamples: int = 10_000,
    random_state: int = 0,
    **options: Any,
) -> Comparison:
    """Test whether one ranking is better than another on the same queries.

    Parameters
    ----------
    y, scores, qid, group, measures, confidence, random_state
        As for `evaluate`.
    other_scores : array-like
        Scores of the second ranking.
    n_resamples : int
        Number of resamples of the bootstrap and of the randomisation test.
    **options
        Further options of `evaluate`: ties, empty, gain, relevant, max_grade, sigma, convention, n_jobs.

    Returns
    -------
    Comparison
        ``comparison["ndcg@10"].p_value`` and the like; printed, a table.
    """
    labels, queries, given = grouped(y, qid, group, scores=scores, other_scores=other_scores)
    parsed = parse_measures(measures)
    settings = resampling_settings(confidence, n_resamples, random_state)
    for name in options:
        check_choice(name, COMPARE_OPTIONS, "An option of compare")
    first, second = (measure_many(parsed, labels, column, queries.offsets, **options) for column in given)
    if options.get("empty") is None:
        warn_undefined(first)
    results = {m.name: paired(m, first[m.name], second[m.name], settings) for m in parsed}
    return Comparison(results, {"convention": options.get("convention", "podium"), **settings})


def parse_measures(measures: str | Iterable[str]) -> list[Measure]:
    """Return measures by name, each once, in the order given."""
    names = [measures] if isinstance(measures, str | Measure) else measures
    if not isinstance(names, Iterable) or not (names := list(names)):
        raise PodiumError("measures must name at least one measure, such as 'ndcg@10'.")
    return list(dict.fromkeys(map(parse_measure, names)))


def warn_undefined(found: dict[str, QueryValues]) -> None:
    """Warn of measures that no query has, with the reason; the caller of our caller is blamed."""
    for name, one in found.items():
        if one.lacking:
            warnings.warn(f"{name} is undefined: no query has {one.lacking}.", stacklevel=3)


def evaluation_of(ids: Array, found: dict[str, QueryValues], settings: dict[str, Any]) -> Evaluation:
    """Return means, intervals and counts of empty queries of values per query."""
    how = {name: settings[name] for name in ("confidence", "n_resamples", "random_state")}
    results = {}
    for name, one in found.items():
        low, high = bootstrap_interval(one.values, one.weights, **how)
        results[name] = MeasureResult(one.values, one.weights, one.mean, low, high, int(one.empty.sum()))
    return Evaluation(ids, results, settings)


def resampling_settings(confidence: object, n_resamples: int, random_state: int) -> dict[str, Any]:
    """Check and return how intervals are made."""
    if not isinstance(confidence, Real) or not 0 < float(confidence) < 1:
        raise PodiumError(f"confidence must lie between 0 and 1; got {confidence!r}.")
    for name, value in (("n_resamples", n_resamples), ("random_state", random_state)):
        check_integer(value, name, 0)
    return {"confidence": float(confidence), "n_resamples": int(n_resamples), "random_state": int(random_state)}


def grouped(
    y: ArrayLike, qid: ArrayLike | None, group: ArrayLike | None, **score_columns: ArrayLike
) -> tuple[Array, Queries, list[Array]]:
    """Check labels, queries and scores, and group their rows by query."""
    n_rows = to_array(y, "y").size
    if n_rows == 0:
        raise PodiumError("y is empty: there is nothing to evaluate.")
    labels = check_labels(y, n_rows)
    scores = [check_scores(column, n_rows, name) for name, column in score_columns.items()]
    queries = group_rows(*check_queries(qid, group, n_rows))
    if qid is None and group is None:
        warn_of_one_query(labels, "", "group=[{}]", 4)
    if n_rows > 1 and len(queries) == n_rows:
        raise NoPairsError(
            f"There is nothing to rank: each of the {n_rows} queries has one row; "
            "qid must be the same for all rows that compete with each other."
        )
    return labels[queries.rows], queries, [column[queries.rows] for column in scores]


def paired(measure: Measure, first: QueryValues, second: QueryValues, settings: dict[str, Any]) -> PairedResult:
    """Compare one measure of two rankings over the queries where both are defined."""
    both = ~(np.isnan(first.values) | np.isnan(second.values))
    one, two, weights = first.values[both], second.values[both], first.weights[both]
    differences = one - two
    low, high = bootstrap_interval(differences, weights, **settings)
    better = differences if measure.higher_is_better else -differences
    return PairedResult(
        first=weighted_mean(one, weights),
        second=weighted_mean(two, weights),
        difference=weighted_mean(differences, weights),
        low=low,
        high=high,
        p_value=randomisation_p_value(differences * weights, settings["n_resamples"], settings["random_state"]),
        wins=int((better > 0).sum()),
        losses=int((better < 0).sum()),
        draws=int((better == 0).sum()),
    )
