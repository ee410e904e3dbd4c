"""Evaluate scores against labels, and compare two score vectors, query by query."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from numbers import Real
from typing import Any, Literal

from numpy.typing import ArrayLike

from podium._frames import to_array
from podium._magnitudes import check_integer
from podium._types import PairsLike
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
from podium.evaluation.pair_evaluation import DEFAULT_PAIR_MEASURES, pair_values, refuse_label_options
from podium.evaluation.paired_tests import paired_result
from podium.evaluation.resampling import bootstrap_interval
from podium.evaluation.results import Comparison, Evaluation, MeasureResult
from podium.measures import Measure, QueryValues, measure_many, parse_measure
from podium.measures.conventions import Gain

COMPARE_OPTIONS = ("ties", "empty", "gain", "relevant", "max_grade", "sigma", "convention", "n_jobs")
DEFAULT_MEASURES = ("ndcg@10", "map", "mrr", "pair_loss")


def evaluate(
    y: ArrayLike | None = None,
    scores: ArrayLike | None = None,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    pairs: PairsLike | None = None,
    items: ArrayLike | None = None,
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
    """Measure how well scores rank rows by their labels, or by explicit pairs.

    Parameters
    ----------
    y : array-like
        Label of each row: any real numbers, higher is better. Dask arrays or series are measured block by block where
        they lie; scores and qid must then be some too, partitioned alike.
    scores : array-like
        Score of each row: higher stands higher.
    qid, group : array-like, optional
        Query id of each row, or sizes of queries whose rows stand together; one query without either, with a
        warning for more than 1,000 rows of graded labels: ``group=[len(y)]`` says that it is meant.
    pairs, items : optional
        In the place of labels: pairs of rows as for `fit`, and ids of the rows. Measured are pair losses, by default
        ``pair_loss``, ``pair_loss_1`` and ``pair_loss_2``. Intervals are over pairs, as if each were drawn apart, and
        too narrow where pairs share rows; or over queries with `qid` or `group`, within which pairs must then lie.
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
    settings = resampling_settings(confidence, n_resamples, random_state)
    rules: dict[str, Any] = {
        "gain": gain,
        "relevant": relevant,
        "max_grade": max_grade,
        "sigma": sigma,
        "convention": convention,
    }
    if items is not None and pairs is None:
        raise PodiumError("items are the ids by which pairs name rows; without pairs leave it out.")
    if pairs is not None:
        refuse_label_options(
            {"y": y, "empty": empty, **rules, "convention": None if convention == "podium" else convention}
        )
        asked = parse_measures(DEFAULT_PAIR_MEASURES if measures is DEFAULT_MEASURES else measures)
        ids, values = pair_values(scores, pairs, items, qid, group, asked, ties)
        unit = "pairs" if qid is None and group is None else "queries"
        return evaluation_of(ids, values, {"convention": convention, **settings}, unit)
    parsed = parse_measures(measures)
    if hasattr(type(y), "__dask_graph__"):
        if group is not None:
            raise PodiumError("group must not be given where y is a Dask collection; use qid.")
        from podium.evaluation.dask_evaluation import values_of_collections

        options = {"ties": ties, "empty": empty, **rules}
        all_ids, found = values_of_collections(y, scores, qid, parsed, options)
    else:
        labels, queries, [given] = grouped(y, qid, group, scores=scores)
        found = measure_many(parsed, labels, given, queries.offsets, ties=ties, empty=empty, n_jobs=n_jobs, **rules)
        all_ids = queries.ids
    if empty is None:
        warn_undefined(found)
    return evaluation_of(all_ids, found, {"convention": convention, **settings})


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
    names: tuple[str, str] = ("first", "second"),
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
    names : tuple of str
        What the two rankings are called in the table.
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
    results = {m.name: paired_result(first[m.name], second[m.name], m.higher_is_better, settings) for m in parsed}
    return Comparison(results, {"convention": options.get("convention", "podium"), **settings}, names)


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


def evaluation_of(
    ids: Array, found: dict[str, QueryValues], settings: dict[str, Any], unit: str = "queries"
) -> Evaluation:
    """Return means, intervals and counts of empty queries of values per query."""
    how = {name: settings[name] for name in ("confidence", "n_resamples", "random_state")}
    results = {}
    for name, one in found.items():
        low, high = bootstrap_interval(one.values, one.weights, **how)
        results[name] = MeasureResult(one.values, one.weights, one.mean, low, high, int(one.empty.sum()))
    return Evaluation(ids, results, settings, unit)


def resampling_settings(confidence: object, n_resamples: int, random_state: int) -> dict[str, Any]:
    """Check and return how intervals are made."""
    if not isinstance(confidence, Real) or not 0 < float(confidence) < 1:
        raise PodiumError(f"confidence must lie between 0 and 1; got {confidence!r}.")
    for name, value in (("n_resamples", n_resamples), ("random_state", random_state)):
        check_integer(value, name, 0)
    return {"confidence": float(confidence), "n_resamples": int(n_resamples), "random_state": int(random_state)}


def grouped(
    y: ArrayLike | None, qid: ArrayLike | None, group: ArrayLike | None, **score_columns: ArrayLike | None
) -> tuple[Array, Queries, list[Array]]:
    """Check labels, queries and scores, and group their rows by query."""
    lacking = next((name for name, given in {"y": y, **score_columns}.items() if given is None), None)
    if lacking is not None or y is None:
        raise PodiumError(f"{lacking} must be given: evaluate(y, scores), or evaluate(scores=..., pairs=...).")
    n_rows = to_array(y, "y").size
    if n_rows == 0:
        raise PodiumError("y is empty: there is nothing to evaluate.")
    labels = check_labels(y, n_rows)
    scores = [check_scores(column, n_rows, name) for name, column in score_columns.items() if column is not None]
    queries = group_rows(*check_queries(qid, group, n_rows))
    if qid is None and group is None:
        warn_of_one_query(labels, "", "group=[{}]", 4)
    if n_rows > 1 and len(queries) == n_rows:
        raise NoPairsError(
            f"There is nothing to rank: each of the {n_rows} queries has one row; "
            "qid must be the same for all rows that compete with each other."
        )
    return labels[queries.rows], queries, [column[queries.rows] for column in scores]
