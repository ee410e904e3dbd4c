"""The mean of a measure along the line from one ranker's scores to another's (Burges 2010, "LM", section 7.1).

As α runs from 0 to 1, the order of a query by α s₁ + (1 - α) s₂ changes only where two of its rows cross, so the mean
is constant between such points. A sweep keeps each query in order and lets neighbours change places as they cross.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from podium._compiled import ROW, SCORE, compiled, compiled_part, run_threads
from podium._validation import Array, PodiumError, check_choice
from podium.measures import Measure, QueryValues, measure_queries, parse_measure, weighted_mean
from podium.measures.conventions import Rules, convention_rules
from podium.measures.graded import custom_gains, highest_grade
from podium.measures.profiles import fill_profiles, has_profiles
from podium.measures.swaps import STATE_ROWS, SWAPS, place_units
from podium.measures.ties import ranked

RULES = ("ties", "empty", "gain", "relevant", "max_grade")
"""Options of measures that replace those of the convention."""

SCORES_AT_ONCE = 2**20
"""Scores measured at a time, where a query is measured anew in each gap."""

VALUE_ROUNDING = 1e-14
"""Changes of a query's value up to this are rounding."""


class Curve(NamedTuple):
    """The mean of a measure at every ``α * first + (1 - α) * second`` with α from 0 to 1.

    Attributes
    ----------
    edges : ndarray of float64
        0, the α at which the mean changes, and 1.
    values : ndarray of float64
        The mean between each edge and the next.
    ends : tuple of float
        The mean at α = 0 and at α = 1 themselves, where rows may be tied that no other α ties.
    """

    edges: Array
    values: Array
    ends: tuple[float, float]


class Changes(NamedTuple):
    """A query along the line: its value after α = 0, and where it changes by how much, ascending."""

    value: float
    alphas: Array
    changes: Array


class LineObjective:
    """The labels and the measure by which scores are judged.

    Parameters
    ----------
    labels : float64[n]
        Rows grouped by query.
    offsets : int64[Q + 1]
    measure : str or Measure
    options : dict
        Of the measure: ties, empty, gain, relevant, max_grade, convention.
    n_threads : int
        Threads share out whole queries.
    """

    def __init__(
        self, labels: Array, offsets: Array, measure: str | Measure, options: dict[str, Any], n_threads: int = 1
    ) -> None:
        for name in options:
            check_choice(name, (*RULES, "convention"), "An option of the measure")
        self.labels, self.offsets, self.n_threads = labels, offsets, n_threads
        self.measure, self.options = parse_measure(measure), dict(options)
        if not self.measure.definition.by_order:
            raise PodiumError(f"{self.measure} looks at the scores, not at their order; choose a measure of the order.")
        given = {name: self.options.get(name) for name in RULES}
        self.rules = convention_rules(options.get("convention", "podium")).with_options(**given)
        if "max_grade" in self.measure.definition.uses and self.rules.max_grade is None:
            highest = highest_grade(labels, self.rules)  # of all queries, also where one is measured
            self.rules, self.options["max_grade"] = replace(self.rules, max_grade=highest), highest
        self._swaps = _Swaps(self) if has_profiles(self.measure, self.rules) else None

    def measured(self, scores: Array) -> QueryValues:
        """Return the measure of each query."""
        return measure_queries(self.measure, self.labels, scores, self.offsets, n_jobs=self.n_threads, **self.options)

    def value(self, scores: Array) -> float:
        """Return the mean over queries."""
        found = self.measured(scores)
        if math.isnan(found.mean):
            raise PodiumError(f"{self.measure} is not defined here: no query has {found.lacking}.")
        return found.mean

    def curve(self, one: Array, two: Array) -> Curve:
        """Return the mean along ``α * one + (1 - α) * two``."""
        ends = self.value(two), self.value(one)
        find = _changes_by_measuring if self._swaps is None else self._swaps.changes
        found, measured = find(self, one, two), self.measured(two)
        starts = np.where(measured.empty, measured.values, [own.value for own in found])
        return Curve(*_mean_of(found, starts, measured.weights), ends)


def _mean_of(found: list[Changes], starts: Array, weights: Array) -> tuple[Array, Array]:
    """Return the edges and the weighted mean in each gap, the same for any order of the queries."""
    share = np.where(np.isnan(starts), 0.0, weights) / math.fsum(weights[~np.isnan(starts)])
    alphas = np.concatenate([own.alphas for own in found])
    changes = np.concatenate([factor * own.changes for factor, own in zip(share, found, strict=True)])
    order = np.lexsort((changes, alphas))
    alphas, sums = alphas[order], np.cumsum(changes[order])
    last = np.flatnonzero(np.append(alphas[1:] != alphas[:-1], True)) if len(alphas) else np.empty(0, ROW)
    first = weighted_mean(starts, weights)
    return np.concatenate([[0.0], alphas[last], [1.0]]), np.concatenate([[first], first + sums[last]])


def crossings(one: Array, two: Array) -> Array:
    """Return the α inside (0, 1) at which two rows of a query change places, ascending, each once."""
    ahead = np.subtract.outer(one, one)[np.triu_indices(len(one), 1)]
    behind = np.subtract.outer(two, two)[np.triu_indices(len(two), 1)]
    opposed = ahead * behind < 0
    return np.unique(behind[opposed] / (behind[opposed] - ahead[opposed]))


def _changes_by_measuring(objective: LineObjective, one: Array, two: Array) -> list[Changes]:
    """Measure each query anew in every gap between its crossings: O(n³ log n) a query of n rows, for any measure."""
    found = []
    for start, stop in pairwise(objective.offsets):
        own = slice(start, stop)
        cut = crossings(one[own], two[own])
        values = _gap_values(objective, one[own], two[own], objective.labels[own], cut)
        changes = np.diff(values)
        real = np.abs(changes) > VALUE_ROUNDING
        found.append(Changes(values[0], cut[real], changes[real]))
    return found


def _gap_values(objective: LineObjective, one: Array, two: Array, labels: Array, cut: Array) -> Array:
    """Return the measure of one query in each gap."""
    edges = np.concatenate([[0.0], cut, [1.0]])
    alphas = (edges[1:] + edges[:-1]) / 2
    found, step = [], max(1, SCORES_AT_ONCE // len(one))
    for start in range(0, len(alphas), step):
        part = alphas[start : start + step, None]
        offsets = np.arange(len(part) + 1, dtype=ROW) * len(one)
        scores = (part * one + (1 - part) * two).ravel()
        many = np.tile(labels, len(part))
        found.append(measure_queries(objective.measure, many, scores, offsets, **objective.options).values)
    return np.concatenate(found)


class _Swaps:
    """Changes of NDCG, AP, RR and ERR under the expected-ties rule: each crossing swaps two neighbours."""

    def __init__(self, objective: LineObjective) -> None:
        name, self.offsets = objective.measure.definition.name, objective.offsets
        self.sizes = np.diff(self.offsets)
        self.queries = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.values = _row_values(name, objective.labels, self.offsets, objective.rules)
        self.limit = int(objective.measure.k or self.sizes.max())
        self.units = place_units(int(self.sizes.max()), self.limit, SWAPS[name].logarithmic)
        self.scale = np.repeat(self._scales(name), self.sizes)

    def _scales(self, name: str) -> Array:
        """Return what the sum over places is multiplied with, for each query."""
        scales = np.empty(len(self.sizes))
        for query, size in enumerate(self.sizes):
            values = self.values[self.offsets[query] : self.offsets[query + 1]]
            state = np.zeros((STATE_ROWS, size + 1))
            scales[query] = SWAPS[name].fill_state(size, values, self.units, min(self.limit, size), state)
        return scales

    def changes(self, objective: LineObjective, one: Array, two: Array) -> list[Changes]:
        """Return the changes of each query in O(c log n) for c crossings: at most O(n² log n), in O(n) memory."""
        order = np.lexsort((-self.values, -one, -two, self.queries))
        one, two = one[order], two[order]
        differs = (one[1:] != one[:-1]) | (two[1:] != two[:-1]) | (self.queries[1:] != self.queries[:-1])
        starts = np.flatnonzero(np.concatenate([[True], differs, [True]])).astype(ROW)
        rate, extra, keep, add = fill_profiles(objective.measure, self.values[order], starts)
        rate, extra = rate * self.scale, extra * self.scale
        one, two = one[starts[:-1]], two[starts[:-1]]
        bounds, calls = np.searchsorted(starts, self.offsets), []
        for first, last in pairwise(bounds.tolist()):
            lines, rows = slice(first, last), slice(starts[first], starts[last])
            within = starts[first : last + 1] - starts[first]
            calls.append(
                (
                    one[lines],
                    two[lines],
                    within,
                    rate[rows],
                    extra[rows],
                    keep[lines],
                    add[lines],
                    self.units,
                    self.limit,
                )
            )
        return [Changes(*own) for own in run_threads(sweep_query, calls, objective.n_threads)]


def _row_values(name: str, labels: Array, offsets: Array, rules: Rules) -> Array:
    """Return what the measure sees of each row: gain, relevance or stop probability."""
    if name == "ndcg" and not isinstance(rules.gain, str):
        labels, rules = custom_gains(labels, rules.gain), replace(rules, gain="linear")
    in_place = ranked(labels, -np.arange(len(labels), dtype=SCORE), offsets, "stable")
    return np.ascontiguousarray(SWAPS[name].row_values(in_place, rules).values)


@compiled
def sweep_query(
    one: Array,
    two: Array,
    starts: Array,
    rate: Array,
    extra: Array,
    keep: Array,
    add: Array,
    units: Array,
    limit: int,
) -> tuple[float, Array, Array]:
    """Return the value of a query after α = 0, the α at which it changes, and the changes.

    Slow line: ``crossings(one, two)``, and the measure at the middle of every gap between them.

    Rows alike in both scores are one line, with their profile. Lines come sorted by (two, one), descending: the order
    right after α = 0. Only neighbours can cross next, so a tournament tree over the n - 1 pairs of neighbours knows
    the next crossing, and each swap renews three of its leaves. Of lines that cross in one point any order of swaps
    ends alike. Whether a pair still has to cross follows from comparisons alone, so rounding cannot swap it twice.
    """
    n = len(one)
    order, place, carry = np.arange(n), starts[:n].copy(), np.ones(n)
    value = rank_lines(starts, rate, extra, keep, add, units, limit, carry)
    tree = next_crossings(one, two)
    size, now, count = len(tree) // 2, 0.0, 0
    alphas, changes = np.empty(16), np.empty(16)
    while tree[1] < np.inf:
        now, p = max(now, tree[1]), first_leaf(tree) - size
        change = swap_lines(p, starts, rate, extra, keep, add, units, limit, order, place, carry)
        for q in range(max(p - 1, 0), min(p + 2, n - 1)):
            set_leaf(tree, size + q, crossing(one, two, order[q], order[q + 1]))
        if abs(change) <= VALUE_ROUNDING:
            continue
        if count > 0 and alphas[count - 1] == now:
            changes[count - 1] += change
            continue
        if count == len(alphas):
            alphas, changes = longer(alphas), longer(changes)
        alphas[count], changes[count] = now, change
        count += 1
    return value, alphas[:count].copy(), changes[:count].copy()


@compiled_part
def rank_lines(
    starts: Array, rate: Array, extra: Array, keep: Array, add: Array, units: Array, limit: int, carry_out: Array
) -> float:
    """Fill c of each line in the order given and return the sum over places."""
    value, c = 0.0, 1.0
    for line in range(len(carry_out)):
        carry_out[line] = c
        value += earned(line, starts[line], c, starts, rate, extra, units, limit)
        c = keep[line] * c + add[line]
    return value


@compiled_part
def earned(
    line: int, place: int, c: float, starts: Array, rate: Array, extra: Array, units: Array, limit: int
) -> float:
    """Return Σ (c rate + extra) u over the places of a line whose first is `place`."""
    total = 0.0
    for row in range(starts[line], min(starts[line + 1], starts[line] + limit - place)):
        total += (c * rate[row] + extra[row]) * units[place + row - starts[line]]
    return total


@compiled_part
def swap_lines(
    p: int,
    starts: Array,
    rate: Array,
    extra: Array,
    keep: Array,
    add: Array,
    units: Array,
    limit: int,
    order: Array,
    place: Array,
    carry: Array,
) -> float:
    """Let the lines at p and p + 1 change places and return what the sum over places gains."""
    i, j, first, c = order[p], order[p + 1], place[p], carry[p]
    order[p], order[p + 1] = j, i
    before, second = carry[p + 1], place[p + 1]
    carry[p + 1], place[p + 1] = keep[j] * c + add[j], first + starts[j + 1] - starts[j]
    if first >= limit:
        return 0.0
    gained: float = earned(j, first, c, starts, rate, extra, units, limit)
    gained += earned(i, place[p + 1], carry[p + 1], starts, rate, extra, units, limit)
    lost: float = earned(i, first, c, starts, rate, extra, units, limit)
    lost += earned(j, second, before, starts, rate, extra, units, limit)
    return gained - lost


@compiled_part
def crossing(one: Array, two: Array, i: int, j: int) -> float:
    """Return the α at which line j overtakes line i, now above it; infinite where it never does or did so before."""
    if i > j or one[j] <= one[i]:
        return np.inf
    behind = two[i] - two[j]
    alpha = float(behind / (behind + (one[j] - one[i])))
    return alpha if alpha <= 1.0 else np.inf


@compiled_part
def next_crossings(one: Array, two: Array) -> Array:
    """Return a tree whose leaves, in its second half, are the crossings of neighbours and whose nodes are minima."""
    size = 1
    while size < len(one) - 1:
        size *= 2
    tree = np.full(2 * size, np.inf)
    for p in range(len(one) - 1):
        tree[size + p] = crossing(one, two, p, p + 1)
    for node in range(size - 1, 0, -1):
        tree[node] = min(tree[2 * node], tree[2 * node + 1])
    return tree


@compiled_part
def first_leaf(tree: Array) -> int:
    """Return the first leaf that has the minimum."""
    node = 1
    while 2 * node < len(tree):
        node = 2 * node if tree[2 * node] == tree[node] else 2 * node + 1
    return node


@compiled_part
def set_leaf(tree: Array, leaf: int, value: float) -> None:
    """Give a leaf a new value and renew the minima above it."""
    tree[leaf] = value
    node = leaf // 2
    while node > 0:
        least = min(tree[2 * node], tree[2 * node + 1])
        if tree[node] == least:
            break
        tree[node] = least
        node //= 2


@compiled
def longer(values: Array) -> Array:
    """Return a copy with room for twice as many."""
    out = np.empty(2 * len(values))
    out[: len(values)] = values
    return out
