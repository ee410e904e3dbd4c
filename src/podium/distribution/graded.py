"""The pair distribution of graded feedback in factored form: O(n) a round, no pair is ever written down.

"RB" is Freund, Iyer, Schapire and Singer (2003). The pair (low, high) of a query weighs
w(low) w(high) exp(s(low) - s(high)) = low_factor(low) * high_factor(high), as RB Eq. (7) has it for two grades.
Rows sorted by label and running sums over the levels give every sum over pairs in one sweep (RB section 3.3 for
many levels, and for continuous labels, where each row is a level).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from podium._compiled import ROW, SCORE, compiled, even_chunks, run_threads
from podium._validation import Array
from podium.feedback import Graded

WIDE = 600.0
"""Widest range of scores in a query for one factor per row: exp(±300) and their products stay normal numbers."""
WINDOW = 128.0
"""Width of the score windows of a wider query; a power of two, so that shifts by multiples of it are exact."""


@dataclass(frozen=True, eq=False)
class LevelOrder:
    """The rows of graded feedback that are in some pair, sorted by query and label. Never changes.

    Attributes
    ----------
    row : ndarray of int64
        Row number of each position.
    level : ndarray of int64
        0 for the lowest label of a query, 1 for the next, ...
    weight : ndarray of float64
        Weight of each row relative to the heaviest of its query.
    start : ndarray of int64
        Positions of query q: ``start[q]`` up to, not including, ``start[q + 1]``.
    log_weight : ndarray of float64
        Logarithm of what the relative weights leave out: query weight and squared heaviest row weight.
    """

    row: Array
    level: Array
    weight: Array
    start: Array
    log_weight: Array

    @cached_property
    def positions(self) -> Array:
        """0, 1, ...: one number per position."""
        return np.arange(len(self.row), dtype=ROW)

    @cached_property
    def queries(self) -> Array:
        """0, 1, ...: one number per query."""
        return np.arange(len(self.log_weight), dtype=ROW)

    @classmethod
    def of(cls, graded: Graded) -> LevelOrder:
        """Sort rows by query and label, leaving out rows and queries without any pair of positive weight."""
        query = np.repeat(np.arange(len(graded.offsets) - 1, dtype=ROW), np.diff(graded.offsets))
        used = (graded.row_weight > 0) & (graded.query_weight[query] > 0)
        row = np.flatnonzero(used).astype(ROW)
        row = row[np.lexsort((graded.labels[row], query[row]))]
        row, level = _drop_silent(row, query[row], graded.labels[row])
        ids, counts = np.unique(query[row], return_counts=True)
        start = np.concatenate([[0], np.cumsum(counts)]).astype(ROW)
        weight = graded.row_weight[row]
        heaviest = np.maximum.reduceat(weight, start[:-1]) if len(row) else np.empty(0)
        relative = weight / np.repeat(heaviest, counts)
        return cls(row, level, relative, start, np.log(graded.query_weight[ids]) + 2 * np.log(heaviest))


def _drop_silent(row: Array, query: Array, label: Array) -> tuple[Array, Array]:
    """Number the levels of each query and keep only queries with two levels or more."""
    if not len(row):
        return row, row
    new_query = np.append(True, query[1:] != query[:-1])
    new_level = np.append(False, label[1:] != label[:-1]) & ~new_query
    levels = np.cumsum(new_level)
    first = np.flatnonzero(new_query)
    counts = np.diff(np.append(first, len(row)))
    level = levels - np.repeat(levels[first], counts)
    top = np.repeat(np.maximum.reduceat(level, first), counts)
    return row[top > 0], level[top > 0].astype(ROW)


@dataclass(frozen=True, eq=False)
class Factors:
    """The current distribution as groups of positions: a pair of a group weighs ``low[i] * high[j] * scale``.

    A query whose scores span less than `WIDE` is one group. A wider one is split into groups by score window
    (see `_window_entries`), in which a position may stand more than once; what no group holds weighs less than
    exp(-128) of the query's heaviest pair.

    Attributes
    ----------
    position, level : ndarray of int64
        Index into the `LevelOrder`, and level, of each entry; levels ascend within a group.
    low, high : ndarray of float64
        The entry's factor as the lower and as the higher member of a pair.
    start : ndarray of int64
        Entries of group g: ``start[g]`` up to, not including, ``start[g + 1]``.
    query : ndarray of int64
        Query of each group.
    log_scale : ndarray of float64
    n_whole : int
        The first `n_whole` groups are whole queries.
    """

    position: Array
    level: Array
    low: Array
    high: Array
    start: Array
    query: Array
    log_scale: Array
    n_whole: int


class GradedPart:
    """The graded part of a distribution: scores so far, and sums over pairs in O(n).

    Parameters
    ----------
    graded : Graded
    n_threads : int
        Threads share out whole queries, so their number changes no bit.
    """

    def __init__(self, graded: Graded, n_threads: int = 1) -> None:
        self.order = LevelOrder.of(graded)
        self.n_pairs = float(graded.n_pairs)
        self.n_threads = n_threads
        self.scores = np.zeros(len(self.order.row), SCORE)
        self._buffers = [np.empty(len(self.order.row), SCORE) for _ in range(4)]
        self._refresh()

    def _refresh(self) -> None:
        """Compute factors, masses and total of the current scores."""
        low, high, better, worse = self._buffers
        self.factors = factors_of(self.order, self.scores, low, high, self.n_threads)
        n_entries = len(self.factors.position)
        if n_entries != len(better):
            better, worse = np.empty(n_entries, SCORE), np.empty(n_entries, SCORE)
        self._better, self._worse = better, worse
        totals = np.empty(len(self.factors.start) - 1, SCORE)
        self._each_chunk(self.factors, _sweep_masses, better, worse, totals)
        self.log_total = _log_sum(self.factors.log_scale, totals)

    def _each_chunk(self, factors: Factors, kernel: object, *arrays: Array) -> None:
        """Run `kernel` over the groups of `factors`, shared out to the threads."""
        chunks = even_chunks(factors.start, self.n_threads)
        calls = [(factors.start, factors.level, factors.low, factors.high, *arrays, *chunk) for chunk in chunks]
        run_threads(kernel, calls, self.n_threads)  # type: ignore[arg-type]

    def advance(self, step: Array) -> None:
        """Add `step` to the scores of all rows and move to the new distribution."""
        _add_gathered(self.order.row, step, self.scores)
        self._refresh()

    def group_scale(self, log_total: float) -> Array:
        """Return what a product of factors of each group is multiplied by, to be a share of ``exp(log_total)``."""
        return np.exp(self.factors.log_scale - log_total)

    def add_masses(self, log_total: float, better_out: Array, worse_out: Array) -> None:
        """Add the weight of the pairs in which each row is the better, and the worse, member."""
        factors, scale = self.factors, self.group_scale(log_total)
        for mass, out in ((self._better, better_out), (self._worse, worse_out)):
            _add_rows(self.order.row, factors.position, factors.start, mass, scale, out)

    def add_potentials(self, log_total: float, potentials_out: Array) -> None:
        """Add π(x) = Σ D(x', x) - D(x, x'), RB Eq. (10)."""
        factors, scale = self.factors, self.group_scale(log_total)
        difference = (self._better, self._worse)
        _add_differences(self.order.row, factors.position, factors.start, *difference, scale, potentials_out)

    def split(self, ranking: Array, log_total: float) -> Array:
        """Return (W₋, W₊) of a {0, 1}-valued ranking: weight of pairs it orders rightly, and wrongly (RB 3.2)."""
        sums = np.empty((len(self.factors.start) - 1, 2), SCORE)
        self._each_chunk(self.factors, _sweep_split, ranking[self.order.row[self.factors.position]], sums)
        return np.sum(sums * self.group_scale(log_total)[:, None], axis=0)

    def moments(self, ranking: Array, alpha: float) -> tuple[float, Array]:
        """Return the log of Z(α) and the mean of h(low) - h(high) and of its square, at scores s + α h."""
        values = ranking[self.order.row]
        scratch = np.empty((2, len(values)), SCORE)
        factors = factors_of(self.order, self.scores + alpha * values, *scratch, self.n_threads)
        sums = np.empty((len(factors.start) - 1, 3), SCORE)
        self._each_chunk(factors, _sweep_moments, values[factors.position], sums)
        log_total = _log_sum(factors.log_scale, sums[:, 0])
        return log_total, np.sum(sums[:, 1:] * np.exp(factors.log_scale - log_total)[:, None], axis=0)


def factors_of(order: LevelOrder, scores: Array, low_out: Array, high_out: Array, n_threads: int = 1) -> Factors:
    """Return the factors of every pair's weight at `scores`, using `low_out` and `high_out` where they do."""
    wide = np.zeros(len(order.start) - 1, np.bool_)
    chunks = even_chunks(order.start, n_threads)
    calls = [(order.start, scores, order.weight, low_out, high_out, wide, *chunk) for chunk in chunks]
    run_threads(_whole_query_factors, calls, n_threads)
    if wide.any():
        return _with_windows(order, scores, low_out, high_out, wide)
    return Factors(
        order.positions, order.level, low_out, high_out, order.start, order.queries, order.log_weight, len(wide)
    )


def _with_windows(order: LevelOrder, scores: Array, low: Array, high: Array, wide: Array) -> Factors:
    """Return factors in which the queries marked `wide` are split into score windows."""
    whole = np.flatnonzero(~wide)
    sizes = np.diff(order.start)
    kept = np.repeat(~wide, sizes)
    position, lows, highs = [np.flatnonzero(kept)], [low[kept]], [high[kept]]
    counts, query, log_scale = [sizes[whole]], [whole], [order.log_weight[whole]]
    for q in np.flatnonzero(wide):
        own = slice(order.start[q], order.start[q + 1])
        entry, low_q, high_q, count, shift = _window_entries(scores[own], order.level[own], order.weight[own])
        position.append(entry + order.start[q])
        lows.append(low_q)
        highs.append(high_q)
        counts.append(count)
        query.append(np.full(len(count), q))
        log_scale.append(np.full(len(count), order.log_weight[q] + shift))
    entries = np.concatenate(position).astype(ROW)
    start = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(ROW)
    return Factors(
        entries,
        order.level[entries],
        np.concatenate(lows),
        np.concatenate(highs),
        start,
        np.concatenate(query).astype(ROW),
        np.concatenate(log_scale),
        len(whole),
    )


def _window_entries(scores: Array, level: Array, weight: Array) -> tuple[Array, Array, Array, Array, float]:
    """Split one query into groups of rows whose factors fit into floating point.

    Let M be the largest s(low) - s(high), rounded up to a multiple of W = `WINDOW`. A pair that matters has
    s(high) + M in [s(low), s(low) + W], because no pair lies below and the ones above weigh less than exp(-W)
    of the heaviest. So group k takes the rows with floor(s / W) = k as low members, and those with
    floor((s + M) / W) in k, k + 1, k + 2 as high ones: each row is in at most four groups.

    Returns
    -------
    position, low, high : ndarray
        Entries in the order of groups, and of levels within a group.
    count : ndarray of int64
        Entries of each group.
    shift : float
        M: the logarithm of the scale of all the groups.
    """
    n = len(scores)
    shift = float(np.ceil(_largest_difference(scores, level) / WINDOW) * WINDOW)
    low_window = np.floor(scores / WINDOW)
    high_window = np.floor((scores + shift) / WINDOW)
    window = np.stack([low_window, high_window, high_window - 1, high_window - 2], axis=1).ravel()
    position = np.repeat(np.arange(n), 4)
    is_low = np.tile([True, False, False, False], n)
    exponent = np.where(is_low, scores[position] - window * WINDOW, 0.0)
    drop = np.where(is_low, 0.0, (window * WINDOW - shift) - scores[position])
    sequence = np.argsort(window, kind="stable")
    low = np.where(is_low, weight[position] * np.exp(exponent), 0.0)[sequence]
    high = np.where(is_low, 0.0, weight[position] * np.exp(np.minimum(drop, 0.0)))[sequence]
    count = np.unique(window, return_counts=True)[1]
    return position[sequence], low, high, count, shift


def _log_sum(log_scale: Array, totals: Array) -> float:
    """Return the logarithm of ``sum(exp(log_scale) * totals)`` without overflow; -inf for nothing."""
    with np.errstate(divide="ignore"):
        logs = log_scale + np.log(totals)
    top = logs.max(initial=-np.inf)
    return float(top + np.log(np.exp(logs - top).sum())) if top > -np.inf else -np.inf


@compiled
def _whole_query_factors(start, scores, weight, low_out, high_out, wide_out, first, last):
    """Compute ``low = weight * exp(scores - centre)`` and ``high = weight * exp(centre - scores)`` by query.

    The centre, halfway between a query's extreme scores, cancels in every product. Queries whose scores span
    more than `WIDE` are only marked.
    """
    for q in range(first, last):
        lowest = highest = scores[start[q]]
        for k in range(start[q], start[q + 1]):
            lowest = min(lowest, scores[k])
            highest = max(highest, scores[k])
        wide_out[q] = highest - lowest > WIDE
        if wide_out[q]:
            continue
        centre = 0.5 * lowest + 0.5 * highest
        for k in range(start[q], start[q + 1]):
            rise = np.exp(scores[k] - centre)
            low_out[k] = weight[k] * rise
            high_out[k] = weight[k] / rise


@compiled
def _largest_difference(scores, level):
    """Return ``max(scores[i] - scores[j] for i, j if level[i] < level[j])`` for rows sorted by level."""
    largest = below = own = -np.inf
    current = level[0]
    for k in range(len(scores)):
        if level[k] != current:
            below, current = max(below, own), level[k]
        largest = max(largest, below - scores[k])
        own = max(own, scores[k])
    return largest


@compiled
def _sweep_masses(start, level, low, high, better_out, worse_out, total_out, first, last):
    """Sum the pairs of each entry and group by running sums over levels, up for better and down for worse.

    Slow line: ``better[j] = high[j] * sum(low[level < level[j]]); worse[i] = low[i] * sum(high[level > level[i]])``.
    """
    for g in range(first, last):
        total = passed = own = 0.0
        current = level[start[g]]
        for k in range(start[g], start[g + 1]):
            if level[k] != current:
                passed, own, current = passed + own, 0.0, level[k]
            better_out[k] = high[k] * passed
            total += better_out[k]
            own += low[k]
        total_out[g] = total
        passed = own = 0.0
        for k in range(start[g + 1] - 1, start[g] - 1, -1):
            if level[k] != current:
                passed, own, current = passed + own, 0.0, level[k]
            worse_out[k] = low[k] * passed
            own += high[k]


@compiled
def _add_gathered(row, values, out):
    """Do ``out += values[row]``."""
    for k in range(len(row)):
        out[k] += values[row[k]]


@compiled
def _add_rows(row, position, start, values, scale, out):
    """Do ``out[row[position]] += values * scale`` with the scale of each entry's group."""
    for g in range(len(start) - 1):
        for k in range(start[g], start[g + 1]):
            out[row[position[k]]] += values[k] * scale[g]


@compiled
def _add_differences(row, position, start, better, worse, scale, out):
    """Do ``out[row[position]] += (better - worse) * scale`` with the scale of each entry's group."""
    for g in range(len(start) - 1):
        for k in range(start[g], start[g + 1]):
            out[row[position[k]]] += (better[k] - worse[k]) * scale[g]


@compiled
def _sweep_split(start, level, low, high, ranking, sums_out, first, last):
    """Sum the pairs of each group that a {0, 1}-valued ranking orders rightly and wrongly.

    Slow line: ``sums[g] = [sum(low[i] * high[j] for pairs if ranking[i] == b != ranking[j]) for b in (0, 1)]``.
    Sums of positive numbers only, so that no wrongly ordered pair gives exactly zero.
    """
    for g in range(first, last):
        right = wrong = passed_0 = passed_1 = own_0 = own_1 = 0.0
        current = level[start[g]]
        for k in range(start[g], start[g + 1]):
            if level[k] != current:
                passed_0, passed_1 = passed_0 + own_0, passed_1 + own_1
                own_0 = own_1 = 0.0
                current = level[k]
            above = ranking[k] > 0.5
            right += high[k] * passed_0 * above
            wrong += high[k] * passed_1 * (not above)
            own_0 += low[k] * (not above)
            own_1 += low[k] * above
        sums_out[g, 0] = right
        sums_out[g, 1] = wrong


@compiled
def _sweep_moments(start, level, low, high, ranking, sums_out, first, last):
    """Sum 1, difference and squared difference of the ranking over the pairs of each group.

    Slow line: ``sums[g, p] = sum(low[i] * high[j] * (ranking[i] - ranking[j]) ** p for pairs)``, p = 0, 1, 2.
    """
    for g in range(first, last):
        passed_0 = passed_1 = passed_2 = own_0 = own_1 = own_2 = 0.0
        sum_0 = sum_1 = sum_2 = 0.0
        current = level[start[g]]
        # Differences from the group's first value, so that a large common part does not cancel in the squares.
        origin = ranking[start[g]]
        for k in range(start[g], start[g + 1]):
            if level[k] != current:
                passed_0, passed_1, passed_2 = passed_0 + own_0, passed_1 + own_1, passed_2 + own_2
                own_0 = own_1 = own_2 = 0.0
                current = level[k]
            h = ranking[k] - origin
            sum_0 += high[k] * passed_0
            sum_1 += high[k] * (passed_1 - h * passed_0)
            sum_2 += high[k] * (passed_2 - 2.0 * h * passed_1 + h * h * passed_0)
            own_0 += low[k]
            own_1 += low[k] * h
            own_2 += low[k] * h * h
        sums_out[g, 0] = sum_0
        sums_out[g, 1] = sum_1
        sums_out[g, 2] = sum_2
