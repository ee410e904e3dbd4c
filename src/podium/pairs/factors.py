"""Graded feedback as products: the order of its levels, and the factors of every pair's weight.

"RB" is Freund, Iyer, Schapire and Singer (2003). The pair (low, high) of a query weighs
w(low) w(high) exp(s(low) - s(high)), a factor of the low row times a factor of the high one, as RB Eq. (7) has it
for two grades; where differences of labels are weights, y(high) - y(low) times that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from podium._compiled import ROW, SCORE, compiled, even_chunks, inlined_part, run_threads
from podium._validation import Array
from podium.data import Graded

WIDEST_SCORES = 600.0
"""Widest range of scores for one factor per row, in a query or of all explicit pairs: exp(±300) and their products
stay normal numbers."""
WINDOW_WIDTH = 128.0
"""Width of the score windows of a wider query; a power of two, so that shifts by multiples of it are exact."""
LOG2_E = 1.4426950408889634
LN_2_HIGH = 6.93147180369123816490e-01
"""ln 2 in 32 bits, so that its product with any exponent is exact; `LN_2_LOW` is the rest."""
LN_2_LOW = 1.90821492927058770002e-10
ROUNDING_SHIFT = 1.5 * 2.0**52
"""Added to a number and subtracted again, it rounds the number to a whole one."""


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
        Logarithm of what the relative weights leave out: query weight, squared heaviest row weight, unit of labels.
    label : ndarray of float64
        Where differences of labels are weights, the label of each position, in a unit of its query that is a power
        of two and makes differences at most 1: so no digit of them is lost, and no product is larger. Else empty.
    """

    row: Array
    level: Array
    weight: Array
    start: Array
    log_weight: Array
    label: Array

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
        log_weight = np.log(graded.query_weight[ids]) + 2 * np.log(heaviest)
        if not graded.by_difference:
            return cls(row, level, relative, start, log_weight, np.empty(0, SCORE))
        label, exponent = _scaled_labels(graded.labels[row], start)
        return cls(row, level, relative, start, log_weight + exponent * np.log(2.0), label)

    def ordered_by(self, values: Array) -> bool:
        """Return whether such values of the rows put every pair into its order, none tied; most end at a glance."""
        return bool(_levels_ascend(self.row, self.level, self.start, values))


def _scaled_labels(label: Array, start: Array) -> tuple[Array, Array]:
    """Return sorted labels divided by a power of two of each query, its range then in [1/2, 1), and the exponents."""
    lowest, highest = label[start[:-1]], label[start[1:] - 1]
    with np.errstate(over="ignore"):
        whole = highest - lowest
    halved = np.frexp(0.5 * highest - 0.5 * lowest)[1] + 1
    exponent = np.where(np.isfinite(whole), np.frexp(whole)[1], halved)
    return np.ldexp(label, -np.repeat(exponent, np.diff(start))), exponent


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


@compiled
def _levels_ascend(row: Array, level: Array, start: Array, values: Array) -> bool:
    """Return ``all(values[row[i]] < values[row[j]])`` over positions i and j of a query with level[i] < level[j]."""
    for q in range(len(start) - 1):
        below, top = -np.inf, -np.inf
        for i in range(start[q], start[q + 1]):
            if i > start[q] and level[i] != level[i - 1]:
                below = top
            if not values[row[i]] > below:
                return False
            top = max(top, values[row[i]])
    return True


@dataclass(frozen=True, eq=False)
class Factors:
    """The current distribution as groups of positions: a pair of a group weighs ``low[i] * high[j] * scale``.

    Where differences of labels are weights, it weighs ``label[j] - label[i]`` times that.

    A query whose scores span less than `WIDEST_SCORES` is one group. A wider one is split into groups by score window
    (see `_window_entries`), in which a position may stand more than once; what no group holds weighs less
    than exp(-128) of the query's heaviest pair.

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
    label : ndarray of float64
        Label of each entry where differences of labels are weights, as the `LevelOrder` has it. Else empty.
    """

    position: Array
    level: Array
    low: Array
    high: Array
    start: Array
    query: Array
    log_scale: Array
    n_whole: int
    label: Array


def factors_of(order: LevelOrder, scores: Array, low_out: Array, high_out: Array, n_threads: int = 1) -> Factors:
    """Return the factors of every pair's weight at `scores`, using `low_out` and `high_out` where they do."""
    wide = np.zeros(len(order.start) - 1, np.bool_)
    chunks = even_chunks(order.start, n_threads)
    outputs = low_out, high_out, high_out.view(np.int64), wide
    calls = [(order.start, scores, order.weight, *outputs, *chunk) for chunk in chunks]
    run_threads(_whole_query_factors, calls, n_threads)
    if wide.any():
        return _with_windows(order, scores, low_out, high_out, wide)
    return Factors(
        order.positions,
        order.level,
        low_out,
        high_out,
        order.start,
        order.queries,
        order.log_weight,
        len(wide),
        order.label,
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
        order.label[entries] if len(order.label) else order.label,
    )


def _window_entries(scores: Array, level: Array, weight: Array) -> tuple[Array, Array, Array, Array, float]:
    """Split one query into groups of rows whose factors fit into floating point.

    Let M be the largest s(low) - s(high), rounded up to a multiple of W = `WINDOW_WIDTH`. A pair that matters has
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
    shift = float(np.ceil(_largest_difference(scores, level) / WINDOW_WIDTH) * WINDOW_WIDTH)
    low_window = np.floor(scores / WINDOW_WIDTH)
    high_window = np.floor((scores + shift) / WINDOW_WIDTH)
    window = np.stack([low_window, high_window, high_window - 1, high_window - 2], axis=1).ravel()
    position = np.repeat(np.arange(n), 4)
    is_low = np.tile([True, False, False, False], n)
    exponent = np.where(is_low, scores[position] - window * WINDOW_WIDTH, 0.0)
    drop = np.where(is_low, 0.0, (window * WINDOW_WIDTH - shift) - scores[position])
    sequence = np.argsort(window, kind="stable")
    low = np.where(is_low, weight[position] * np.exp(exponent), 0.0)[sequence]
    high = np.where(is_low, 0.0, weight[position] * np.exp(np.minimum(drop, 0.0)))[sequence]
    count = np.unique(window, return_counts=True)[1]
    return position[sequence], low, high, count, shift


@compiled
def _whole_query_factors(
    start: Array,
    scores: Array,
    weight: Array,
    low_out: Array,
    high_out: Array,
    high_bits: Array,
    wide_out: Array,
    first: int,
    last: int,
) -> None:
    """Compute ``low = weight * exp(scores - centre)`` and ``high = weight * exp(centre - scores)`` by query.

    The centre, halfway between a query's extreme scores, cancels in every product. Queries whose scores span
    more than `WIDEST_SCORES` are only marked. `high_bits` is `high_out` as integers.
    """
    for q in range(first, last):
        lowest = highest = scores[start[q]]
        for k in range(start[q], start[q + 1]):
            lowest = min(lowest, scores[k])
            highest = max(highest, scores[k])
        wide_out[q] = highest - lowest > WIDEST_SCORES
        centre = 0.5 * lowest + 0.5 * highest
        for k in range(start[q], start[q + 1]):
            low_out[k] = 0.0 if wide_out[q] else scores[k] - centre
    own = slice(start[first], start[last])
    low, high, weights = low_out[own], high_out[own], weight[own]
    _exponentials(low, high, high_bits[own])
    for k in range(len(low)):
        rise = high[k]
        low[k] = weights[k] * rise
        high[k] = weights[k] / rise


@inlined_part
def _exponentials(x: Array, exp_out: Array, bits: Array) -> None:
    """Do ``exp_out[:] = np.exp(x)`` for |x| <= 700, to 2 units in the last place; `bits` is `exp_out` as integers.

    Plain arithmetic, which compiles to vector instructions: 2.4 ns a number where calls of exp take 9. With
    k = round(x / ln 2) and r = x - k ln 2, exp(x) = 2**k exp(r), the latter by its Taylor series to r**12.
    Adding `ROUNDING_SHIFT` leaves k in the low bits of a double, from where it moves to the exponent.
    """
    for i in range(len(x)):
        exp_out[i] = x[i] * LOG2_E + ROUNDING_SHIFT
    for i in range(len(x)):
        bits[i] = (bits[i] + np.int64(1023)) << np.int64(52)
    for i in range(len(x)):
        k = (x[i] * LOG2_E + ROUNDING_SHIFT) - ROUNDING_SHIFT
        r = (x[i] - k * LN_2_HIGH) - k * LN_2_LOW
        p = r * (1 / 479001600) + 1 / 39916800
        p = p * r + 1 / 3628800
        p = p * r + 1 / 362880
        p = p * r + 1 / 40320
        p = p * r + 1 / 5040
        p = p * r + 1 / 720
        p = p * r + 1 / 120
        p = p * r + 1 / 24
        p = p * r + 1 / 6
        p = p * r + 0.5
        exp_out[i] *= 1.0 + (p * r * r + r)


@compiled
def _largest_difference(scores: Array, level: Array) -> float:
    """Return ``max(scores[i] - scores[j] for i, j if level[i] < level[j])`` for rows sorted by level."""
    largest = below = own = -np.inf
    current = level[0]
    for k in range(len(scores)):
        if level[k] != current:
            below, current = max(below, own), level[k]
        largest = max(largest, below - scores[k])
        own = max(own, scores[k])
    return largest
