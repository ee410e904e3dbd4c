"""The best linear combination of two rankers for any measure (Burges 2010, "LM", section 7.1).

As α runs from 0 to 1, the order of a query by α s₁ + (1 - α) s₂ changes only where two of its rows cross, so the
measure is constant between crossings: one value of α in each gap is enough to find the best of all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from podium._compiled import ROW
from podium._validation import Array, check_labels, check_queries, check_scores
from podium.dataset import group_rows
from podium.measures import measure_queries, parse_measure

CELLS = 2**20
"""Scores measured at a time."""


class Blend(NamedTuple):
    """The best combination of two rankers.

    Attributes
    ----------
    alpha : float
        Weight of the first ranker; the second has 1 - alpha.
    value : float
        Mean of the measure over queries there.
    alphas, values : ndarray of float64
        A point in every gap between change points, and the mean of the measure in that gap.
    """

    alpha: float
    value: float
    alphas: Array
    values: Array


def blend(first: Any, second: Any, y: Any, *, qid: Any = None, measure: str = "ndcg@10", **options: Any) -> Blend:
    """Find the α in [0, 1] at which ``α * first + (1 - α) * second`` ranks best.

    Exact: every order that a query can take is measured, in O(n³) a query of n rows, which suits queries of up to
    some hundred rows. Of equally good gaps the widest wins, which is the surest on other data.

    Parameters
    ----------
    first, second : array-like
        Scores of two rankers for the same rows; bring them to comparable scales first.
    y : array-like
        Labels.
    qid : array-like, optional
        Query of each row.
    measure : str
        As `podium.evaluate` names them.
    **options
        Of the measure, such as ``gain``.
    """
    one, two = check_scores(first, len(first), "first"), check_scores(second, len(first), "second")
    labels, queries = check_labels(y, len(one)), group_rows(*check_queries(qid, None, len(one)))
    one, two, labels = one[queries.rows], two[queries.rows], labels[queries.rows]
    rows = [slice(a, b) for a, b in zip(queries.offsets[:-1], queries.offsets[1:], strict=True)]
    cuts = [crossings(one[own], two[own]) for own in rows]
    edges = np.unique(np.concatenate([[0.0, 1.0], *cuts]))
    middles = (edges[1:] + edges[:-1]) / 2
    totals, weight = np.zeros(len(middles)), 0.0
    for own, cut in zip(rows, cuts, strict=True):
        values, counts = _gap_values(one[own], two[own], labels[own], cut, measure, options)
        if not np.isnan(values).any():
            totals += counts * values[np.searchsorted(cut, middles)]
            weight += counts
    means = totals / weight if weight > 0 else totals
    return _best(means, middles, edges, parse_measure(measure).higher_is_better)


def crossings(one: Array, two: Array) -> Array:
    """Return the α inside (0, 1) at which two rows of a query change places, ascending, each once."""
    ahead = np.subtract.outer(one, one)[np.triu_indices(len(one), 1)]
    behind = np.subtract.outer(two, two)[np.triu_indices(len(two), 1)]
    opposed = ahead * behind < 0
    return np.unique(behind[opposed] / (behind[opposed] - ahead[opposed]))


def _gap_values(one: Array, two: Array, labels: Array, cut: Array, measure: str, options: Any) -> tuple[Array, float]:
    """Return the measure of one query in each gap between its own crossings, and the query's weight in a mean."""
    edges = np.concatenate([[0.0], cut, [1.0]])
    alphas = (edges[1:] + edges[:-1]) / 2
    found, weight, step = [], 1.0, max(1, CELLS // len(one))
    for start in range(0, len(alphas), step):
        part = alphas[start : start + step, None]
        offsets = np.arange(len(part) + 1, dtype=ROW) * len(one)
        scores = (part * one + (1 - part) * two).ravel()
        measured = measure_queries(measure, np.tile(labels, len(part)), scores, offsets, **options)
        found.append(measured.values)
        weight = float(measured.weights[0])
    return np.concatenate(found), weight


def _best(means: Array, middles: Array, edges: Array, higher_is_better: bool) -> Blend:
    """Return the best gap, the widest of equals."""
    sign = 1.0 if higher_is_better else -1.0
    widths = np.diff(edges)
    near = np.flatnonzero(sign * means >= (sign * means).max() - 1e-12)
    place = near[np.argmax(widths[near])]
    return Blend(float(middles[place]), float(means[place]), middles, means)
