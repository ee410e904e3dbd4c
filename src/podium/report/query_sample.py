"""Which queries a page shows in full: all, or the worst, the best and some drawn at random."""

from __future__ import annotations

import numpy as np

from podium._validation import Array

MAX_CELLS = 300_000
"""Documents times features that a page holds: about three megabytes of contributions and values."""
MAX_DOCUMENTS = 100
"""Documents of a query that a page shows: those at the top, and of the others those with the highest labels."""
LOWER_DOCUMENTS = 20
"""Of those, documents from below the top of a longer query."""


def choose_queries(values: Array, sizes: Array, n_features: int, random_state: int) -> Array:
    """Return the queries to be shown, ascending.

    All, if they fit into `MAX_CELLS`. Else the worst and the best by turns until half of it is taken, at least one of
    each, and then others at random as long as they fit.

    Parameters
    ----------
    values : ndarray of float64
        How good each query is, higher being better; NaN where that is not defined.
    sizes : ndarray of int64
        Documents of each query.
    n_features : int
        Numbers that a page holds of each document.
    random_state : int
    """
    costs = np.minimum(sizes, MAX_DOCUMENTS) * max(n_features, 1)
    if costs.sum() <= MAX_CELLS:
        return np.arange(len(sizes))
    order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
    ends = np.stack([order, order[::-1]], axis=1).ravel()
    extremes = _fitting(ends, costs, MAX_CELLS // 2, least=2)
    chance = np.random.default_rng(random_state).permutation(len(sizes))
    return np.sort(_fitting(np.concatenate([extremes, chance]), costs, MAX_CELLS, least=len(extremes)))


def choose_documents(labels: Array) -> Array:
    """Return the places of a ranking to be shown, ascending: see `MAX_DOCUMENTS`.

    Parameters
    ----------
    labels : ndarray
        Label at each place, the top first.
    """
    if len(labels) <= MAX_DOCUMENTS:
        return np.arange(len(labels))
    top = MAX_DOCUMENTS - LOWER_DOCUMENTS
    below = top + np.argsort(-labels[top:], kind="stable")[:LOWER_DOCUMENTS]
    return np.concatenate([np.arange(top), np.sort(below)])


def _fitting(order: Array, costs: Array, budget: int, least: int) -> Array:
    """Return queries, each once and in their order, as long as the next one fits; `least` of them in any case."""
    first = np.sort(np.unique(order, return_index=True)[1])
    once = order[first]
    number = int(np.searchsorted(np.cumsum(costs[once]), budget, side="right"))
    fitting: Array = once[: max(number, least)]
    return fitting
