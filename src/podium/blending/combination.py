"""The best linear combination of rankers for any measure (Burges 2010, "LM", section 7.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from podium._compiled import SCORE, thread_count
from podium._frames import to_array
from podium._magnitudes import check_integer
from podium._validation import Array, PodiumError, check_labels, check_queries, check_scores
from podium.blending.line import Curve, LineObjective
from podium.data import group_rows, warn_of_one_query

NARROWEST_GAP = 1e-12
"""Gaps up to this width are not taken: scores of 16 digits do not keep an order there."""

MEAN_TIE = 1e-9
"""Means that differ by no more are taken as equal."""


@dataclass(frozen=True, eq=False)
class Blend:
    """The best combination of rankers that was found.

    Attributes
    ----------
    weights : ndarray of float64
        Weight of each ranker's scores as they were given; their sizes add up to 1.
    value : float
        Mean of the measure over queries.
    single_values : ndarray of float64
        That of each ranker alone.
    measure : str
    """

    weights: Array
    value: float
    single_values: Array
    measure: str

    def combine(self, scores: Sequence[ArrayLike]) -> Array:
        """Return the combination of other scores of the same rankers, one vector each, in the same order."""
        return _weighted_sum(self.weights, _check_finite(check_table(scores, len(self.weights))))


def blend(
    scores: Sequence[ArrayLike],
    y: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    measure: str = "ndcg@10",
    positive: bool = True,
    n_restarts: int = 2,
    random_state: int = 0,
    n_jobs: int | None = None,
    **options: Any,
) -> Blend:
    """Find weights at which the weighted sum of rankers' scores ranks best.

    For two rankers the answer is exact: the measure is known at all α in ``α s₁ + (1 - α) s₂``. For more, one ranker's
    weight at a time is set to its best value, exactly and over its whole range, the others' held fixed, until no single
    weight can be bettered; this from the best single ranker, from equal weights and from random ones, the best kept.
    The answer is never worse than the best single ranker on these data.

    Among equally good weights, a ranker that does not help gets 0; otherwise the middle of the widest range is taken,
    which is the surest on other data.

    Parameters
    ----------
    scores : sequence of array-like
        Scores of at least two rankers for the same rows, one vector each; their scales do not matter.
    y : array-like
        Labels.
    qid, group : array-like, optional
        Query of each row, or sizes of queries whose rows stand together.
    measure : str
        As `podium.evaluate` names them. NDCG, MAP, MRR and ERR take O(n² log n) for a query of n rows at most; others
        are measured anew at each crossing.
    positive : bool
        Whether no weight may be negative; False also tries a ranker upside down.
    n_restarts : int
        Random weights to start from, beside the two other starts; two rankers need none.
    random_state : int
        Seed of these.
    n_jobs : int, optional
        Threads; the answer does not depend on their number.
    **options
        Of the measure: ties, empty, gain, relevant, max_grade, convention.

    Returns
    -------
    Blend

    Examples
    --------
    >>> from podium import blend
    >>> found = blend([[3, 1, 2, 0], [0, 3, 1, 2]], [1, 2, 0, 0], measure="ndcg")
    >>> round(found.value, 3), found.single_values.round(3).tolist()
    (1.0, [0.689, 0.945])
    """
    objective, table = _gate(scores, y, qid, group, measure, n_jobs, options)
    check_integer(n_restarts, "n_restarts", 0)
    check_integer(random_state, "random_state", 0)
    search = _Search(objective, table, positive)
    singles = np.array([objective.value(one) for one in table])
    starts = [np.eye(len(table))[np.argmax(search.sign * singles)]]
    if len(table) > 2:
        starts += search.random_starts(n_restarts, random_state)
    weights, good = max(map(search.climb, starts), key=lambda found: found[1])
    return Blend(weights, search.sign * good, singles, objective.measure.name)


def blend_curve(
    first: ArrayLike,
    second: ArrayLike,
    y: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    measure: str = "ndcg@10",
    n_jobs: int | None = None,
    **options: Any,
) -> Curve:
    """Return the mean of a measure at every ``α * first + (1 - α) * second`` with α from 0 to 1.

    Parameters
    ----------
    first, second : array-like
        Scores of two rankers for the same rows.
    y, qid, group, measure, n_jobs, **options
        As for `blend`.
    """
    objective, (one, two) = _gate([first, second], y, qid, group, measure, n_jobs, options)
    return objective.curve(one, two)


def _gate(
    scores: Sequence[ArrayLike],
    y: ArrayLike,
    qid: ArrayLike | None,
    group: ArrayLike | None,
    measure: str,
    n_jobs: int | None,
    options: dict[str, Any],
) -> tuple[LineObjective, Array]:
    """Check what the user gave; return the objective, and the scores of each ranker with rows grouped by query."""
    table = _check_finite(check_table(scores))
    n_rows = table.shape[1]
    labels, queries = check_labels(y, n_rows), group_rows(*check_queries(qid, group, n_rows))
    if qid is None and group is None:
        warn_of_one_query(labels, "", "group=[{}]", 4)
    objective = LineObjective(labels[queries.rows], queries.offsets, measure, options, thread_count(n_jobs))
    return objective, np.ascontiguousarray(table[:, queries.rows])


def check_table(scores: object, n_rankers: int | None = None) -> Array:
    """Return one row of scores for each ranker."""
    given = list(scores) if isinstance(scores, Iterable) else []
    if len(given) < 2 if n_rankers is None else len(given) != n_rankers:
        wanted = "two or more rankers" if n_rankers is None else f"{n_rankers} rankers, as they were blended"
        raise PodiumError(f"scores must be a list with a vector for each of {wanted}; got {len(given)}.")
    names = [f"scores[{number}]" for number in range(len(given))]
    n_rows = to_array(given[0], names[0]).size
    return np.array([check_scores(one, n_rows, name) for one, name in zip(given, names, strict=True)])


def _check_finite(table: Array) -> Array:
    """Return scores that can be added up; refuse others."""
    endless = np.argwhere(~np.isfinite(table))
    if len(endless):
        ranker, row = endless[0]
        raise PodiumError(f"scores[{ranker}] must be finite to be added up; got {table[ranker, row]} in row {row}.")
    return table


def _weighted_sum(weights: Array, table: Array) -> Array:
    """Return Σ w s over the rankers that have a weight, in their order, so that one alone keeps its scores."""
    total = np.zeros(table.shape[1], SCORE)
    for weight, one in zip(weights, table, strict=True):
        if weight != 0.0:
            total += weight * one
    return total


class _Search:
    """Coordinate sweeps over the weights of rankers; `good` is the mean, or its negative where low is good."""

    def __init__(self, objective: LineObjective, table: Array, positive: bool) -> None:
        self.objective, self.table = objective, table
        self.sign = 1.0 if objective.measure.higher_is_better else -1.0
        self.signs = [(1.0, 1.0)] if positive else list(product((1.0, -1.0), repeat=2))
        self.scales = np.array([self.scale(one) for one in table])

    def scale(self, scores: Array) -> float:
        """Return the power of two that brings the widest range of a query to about 1; exact, so ties stay ties."""
        starts, halves = self.objective.offsets[:-1], scores / 2  # the whole range of large scores could overflow
        widest = (np.maximum.reduceat(halves, starts) - np.minimum.reduceat(halves, starts)).max()
        return float(np.ldexp(1.0, -max(int(np.frexp(widest)[1]), -1000))) if widest > 0 else 1.0

    def random_starts(self, n_random: int, seed: int) -> list[Array]:
        """Return equal weights of comparable scores and `n_random` random ones."""
        rng, n_rankers = np.random.default_rng(seed), len(self.table)
        drawn = rng.dirichlet(np.ones(n_rankers), n_random)
        if len(self.signs) > 1:
            drawn *= rng.choice((-1.0, 1.0), drawn.shape)
        return [_normalized(self.scales * one) for one in (np.ones(n_rankers), *drawn)]

    def climb(self, weights: Array) -> tuple[Array, float]:
        """Set one weight after another to its best until no weight alone can be bettered."""
        good, number, idle = self.good(weights), 0, 0
        while idle < len(weights):
            found = self.step(weights, number % len(weights))
            better = self.good(found)
            idle += 1
            if better > good + MEAN_TIE:
                weights, good, idle = found, better, 1
            number += 1
        return weights, good

    def good(self, weights: Array) -> float:
        """Return how well these weights rank."""
        return self.sign * self.objective.value(_weighted_sum(weights, self.table))

    def step(self, weights: Array, number: int) -> Array:
        """Return the weights with the best weight of one ranker, the others' held in proportion."""
        rest = np.where(np.arange(len(weights)) == number, 0.0, weights)
        if not rest.any():
            return weights
        others = _weighted_sum(rest, self.table)
        scale, own = self.scale(others), self.scales[number]
        points = []
        for a, b in self.signs:
            curve = self.objective.curve(a * own * self.table[number], b * scale * others)
            good, alpha = _best_point(curve, self.sign)
            found = (1 - alpha) * b * scale * rest
            found[number] = alpha * a * own
            points.append((good, found))
        return _normalized(max(points, key=lambda point: point[0])[1])


def _normalized(weights: Array) -> Array:
    """Return weights whose sizes add up to 1."""
    scaled: Array = weights / np.abs(weights).sum()
    return scaled


def _best_point(curve: Curve, sign: float) -> tuple[float, float]:
    """Return the best value and its α: an end, or the middle of the widest of the best gaps."""
    widths = np.diff(curve.edges)
    good = np.where(widths > NARROWEST_GAP, sign * curve.values, -np.inf)
    ends = sign * np.array(curve.ends)
    if ends.max() >= good.max() - MEAN_TIE:
        return float(ends.max()), float(np.argmax(ends))
    near = np.flatnonzero(good >= good.max() - MEAN_TIE)
    place = near[np.argmax(widths[near])]
    return float(good[place]), float(curve.edges[place] + curve.edges[place + 1]) / 2
