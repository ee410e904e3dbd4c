"""Evaluate scores against explicit pairs: pair losses under their names, with intervals over pairs or queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from podium._frames import to_array
from podium._pair_gate import PairArrays, check_pairs
from podium._types import PairsLike
from podium._validation import Array, PodiumError, check_choice, check_queries, check_scores
from podium.measures import TIE_COSTS, Measure, QueryValues, pair_errors, refuse_label_measures

DEFAULT_PAIR_MEASURES = ("pair_loss", "pair_loss_1", "pair_loss_2")


def pair_values(
    scores: ArrayLike | None,
    pairs: PairsLike,
    items: ArrayLike | None,
    qid: ArrayLike | None,
    group: ArrayLike | None,
    measures: Sequence[Measure],
    ties: str | None,
) -> tuple[Array, dict[str, QueryValues]]:
    """Return the ids of what is averaged over, and each measure's value of each with its weight.

    Parameters
    ----------
    scores : array-like
        Score of each row.
    pairs, items
        As for `fit`.
    qid, group : array-like, optional
        Queries, within which all pairs must then lie: values are of queries; without them they are of pairs.
    measures : sequence of Measure
        Of pairs.
    ties : {"expected", "optimistic", "pessimistic"}, optional
    """
    if scores is None:
        raise PodiumError("scores must be given beside pairs: evaluate(scores=..., pairs=...).")
    refuse_label_measures(measures, "give labels y in the place of pairs for others")
    rule = "expected" if ties is None else check_choice(ties, TIE_COSTS, "ties, for pairs,")
    n_rows = to_array(scores, "scores").size
    given, checked = check_scores(scores, n_rows), check_pairs(pairs, n_rows, items)
    errors = {one.name: pair_errors(one, checked.better, checked.worse, given, rule) for one in measures}
    if qid is None and group is None:
        ids = np.arange(len(checked.better))
        return ids, {name: _values(values, checked.weight) for name, values in errors.items()}
    codes, ids = check_queries(qid, group, n_rows)
    query = _query_of_pairs(checked, codes, ids)
    pooled = {one.name: one.definition.weight is not None for one in measures}
    return ids, {name: _by_query(values, checked, query, len(ids), pooled[name]) for name, values in errors.items()}


def refuse_label_options(given: Mapping[str, Any]) -> None:
    """Refuse options that only labels have a use for."""
    for name, value in given.items():
        if value is not None:
            raise PodiumError(
                f"{name} belongs to labels; leave it out where pairs are evaluated: evaluate(scores=..., pairs=...)."
            )


def _query_of_pairs(pairs: PairArrays, codes: Array, ids: Array) -> Array:
    """Return the query of each pair; refuse pairs that join two queries."""
    one, other = codes[pairs.better], codes[pairs.worse]
    bad = np.flatnonzero(one != other)
    if len(bad):
        first, second = ids[[one[bad[0]], other[bad[0]]]].tolist()
        raise PodiumError(
            f"With queries, pairs must lie within one: pair {bad[0]} joins {first!r} and {second!r}; leave qid out to "
            "average over pairs."
        )
    return one


def _by_query(errors: Array, pairs: PairArrays, query: Array, n_queries: int, pooled: bool) -> QueryValues:
    """Return the mean of the pairs of each query, weighed by their sum where a measure pools them."""
    order = np.lexsort((pairs.weight, errors, query))  # sums must not depend on the order of the pairs
    query, errors, amounts = query[order], errors[order], pairs.weight[order]
    weight, total = np.bincount(query, amounts, n_queries), np.bincount(query, amounts * errors, n_queries)
    means = np.divide(total, weight, out=np.full(n_queries, np.nan), where=weight > 0)
    return _values(means, weight if pooled else (weight > 0).astype(float))


def _values(values: Array, weights: Array) -> QueryValues:
    return QueryValues(values, weights, np.isnan(values))
