"""Rankers that learn from some of the queries: halves drawn at random, and fits of them."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import Parameter, signature
from typing import TypeVar

import numpy as np

from podium._types import Learner
from podium._validation import Array, PodiumError
from podium.data import RankingData

Fitted = TypeVar("Fitted", bound=Learner)


def complementary_halves(data: RankingData, n_pairs: int, seed: int) -> Iterator[Array]:
    """Yield, twice for each pair, the grouped rows of half of the queries, drawn at random: one half, then the other.

    Of an odd number of queries one is in neither half. Where all rows are one query, halves are of its rows.

    Parameters
    ----------
    data : RankingData
    n_pairs : int
    seed : int
        Draws are made in the canonical order, so that the order in which rows come changes nothing.
    """
    generator, units = np.random.default_rng(seed), _units(data)
    n_units = int(units[-1]) + 1
    if n_units < 2:
        raise PodiumError(
            "Stability selection needs two queries, or two rows of one query, to draw halves of; got 1 sample."
        )
    for _ in range(n_pairs):
        drawn = generator.permutation(n_units)
        for half in (drawn[: n_units // 2], drawn[n_units // 2 : 2 * (n_units // 2)]):
            yield np.flatnonzero(np.isin(units, half))


def _units(data: RankingData) -> Array:
    """Return the number of what each grouped row is drawn with: its query, or itself where there is one query."""
    if len(data.queries) == 1:
        return np.arange(len(data.queries.rows))
    return np.repeat(np.arange(len(data.queries)), data.queries.sizes)


def fit_ranker(ranker: Fitted, data: RankingData, labels: Array, rows: Array) -> Fitted:
    """Return a ranker, of the library or not, that has learned from some grouped rows.

    Queries and weights are handed over where they were given; a ranker that takes no `qid` learns without queries, and
    weights that it does not take are refused.
    """
    query = np.repeat(np.arange(len(data.queries)), data.queries.sizes)
    given: dict[str, Array | list[int] | None] = {
        "qid": query[rows] if data.queries_given else None,
        "sample_weight": _unless_ones(data.row_weight[rows]),
        "query_weight": _unless_ones(data.query_weight[query[rows]]),
    }
    if not data.queries_given and "group" in signature(ranker.fit).parameters:
        given["group"] = [len(rows)]  # one query is meant: it was warned of already
    known = {name: value for name, value in given.items() if value is not None}
    lacking = [name for name in known if not _takes(ranker, name)]
    for name in (name for name in lacking if name != "qid"):
        raise PodiumError(f"{name} must be None with {type(ranker).__name__}, whose fit does not take it.")
    taken = {name: value for name, value in known.items() if name not in lacking}
    fitted: Fitted = ranker.fit(data.features[data.queries.rows[rows]], labels[rows], **taken)
    return fitted


def _takes(ranker: Learner, name: str) -> bool:
    """Return whether the fit of a ranker takes a parameter, by its name or among any others, as pipelines do."""
    known = signature(ranker.fit).parameters
    return name in known or any(one.kind is Parameter.VAR_KEYWORD for one in known.values())


def _unless_ones(weight: Array) -> Array | None:
    """Return weights, None where all are 1."""
    return None if np.all(weight == 1) else weight
