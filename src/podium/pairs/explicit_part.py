"""The pair distribution of explicit feedback: O(m) a round for m pairs.

"RB" is Freund, Iyer, Schapire and Singer (2003). Scores are shared by all pairs of a row, so the weight
w exp(s(worse) - s(better)) of RB Figure 1 costs one exponential a row and two multiplications a pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium._compiled import ROW, SCORE, compiled, compiled_part, even_chunks, run_threads
from podium._exchange import ALONE, Exchange
from podium._validation import Array
from podium.data import Pairs
from podium.pairs.factors import WIDEST_SCORES

PAIRS_PER_CHUNK = 1_000_000
"""Least pairs of a chunk. Each chunk sums apart, then the chunks are added up in order, so that the
answer depends on the number of pairs but not on the number of threads."""
MAX_CHUNKS = 16
"""More chunks than this would spend more on adding up than they gain."""


@dataclass(frozen=True, eq=False)
class PairOrder:
    """Explicit pairs sorted by their better row: one side of every sum is then read in sequence. Never changes.

    Attributes
    ----------
    better : ndarray of int64
        The distinct better rows.
    start : ndarray of int64
        Pairs of ``better[b]``: ``start[b]`` up to, not including, ``start[b + 1]``.
    worse : ndarray of uint32
        Worse row of each pair; half the bytes of int64, of which a round reads millions.
    weight : ndarray of float64
        Weight of each pair relative to the heaviest.
    log_weight : float
        Logarithm of the heaviest weight.
    """

    better: Array
    start: Array
    worse: Array
    weight: Array
    log_weight: float

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array]:
        """Better rows, starts, worse rows and weights, as every kernel takes them."""
        return self.better, self.start, self.worse, self.weight

    @classmethod
    def of(cls, pairs: Pairs, n_rows: int, exchange: Exchange = ALONE) -> PairOrder:
        """Sort pairs by better row, in linear time, without those of weight zero; the heaviest is that of all parts."""
        heaviest = max(exchange.peak(pairs.weight), 0.0)
        index = np.empty(np.count_nonzero(pairs.weight > 0), np.uint32)
        relative = np.empty(len(index), SCORE)
        counts = _sort_by_better(pairs.better, pairs.worse, pairs.weight, heaviest, n_rows, index, relative)
        rows = np.flatnonzero(counts)
        start = np.concatenate([[0], np.cumsum(counts[rows])])
        return cls(rows.astype(ROW), start.astype(ROW), index, relative, _log(heaviest))

    def chunks(self) -> list[tuple[int, int]]:
        """Split the better rows into runs of about equally many pairs, by their number alone."""
        return even_chunks(self.start, max(1, min(MAX_CHUNKS, int(self.start[-1]) // PAIRS_PER_CHUNK)))

    def runs(self, n_rows: int) -> list[tuple[int, int, int]]:
        """Split the better rows into runs (first, past the last, layer); those of a layer share no row with each other.

        Where no pair joins the rows before a row and those from it on, runs may be cut without a trace. What lies
        between two such places is cut further only where it has many pairs, by their number alone: worse rows are then
        summed up layer by layer. So sums do not depend on other queries.
        """
        first = np.append(_unjoined(self.better, self.start, self.worse, n_rows), len(self.better)).astype(ROW)
        offsets = self.start[first]
        runs, before = [], 0
        for large in [*np.flatnonzero(np.diff(offsets) >= 2 * PAIRS_PER_CHUNK).tolist(), len(first) - 1]:
            own = offsets[before : large + 1]
            pieces = even_chunks(own, max(1, int(own[-1] - own[0]) // PAIRS_PER_CHUNK))
            runs += [(int(first[before + i]), int(first[before + j]), 0) for i, j in pieces]
            place, rows = int(first[large]), self.start[first[large] : first[min(large + 1, len(first) - 1)] + 1]
            pieces = even_chunks(rows - rows[0], min(MAX_CHUNKS, int(rows[-1] - rows[0]) // PAIRS_PER_CHUNK) or 1)
            runs += [(place + i, place + j, layer) for layer, (i, j) in enumerate(pieces)]
            before = large + 1
        return runs

    def ordered_by(self, values: Array) -> bool:
        """Return whether such values of the rows put every pair into its order, none tied; most end at a glance."""
        return bool(_pairs_ascend(self.better, self.start, self.worse, values))


class PairsPart:
    """The explicit part of a distribution: scores so far, and sums over pairs in O(m).

    Parameters
    ----------
    pairs : Pairs
    n_rows : int
    n_threads : int
        Changes no bit of the result.
    exchange : Exchange
        With the parts that have other queries, where all pairs lie within queries.
    """

    def __init__(self, pairs: Pairs, n_rows: int, n_threads: int = 1, exchange: Exchange = ALONE) -> None:
        self.order = PairOrder.of(pairs, n_rows, exchange)
        self.n_pairs = float(len(self.order.worse))
        self.n_threads, self.exchange = n_threads, exchange
        self.scores = np.zeros(n_rows, SCORE)
        self._runs = self.order.runs(n_rows)
        self._refresh()

    def _refresh(self) -> None:
        """Compute masses and total of the current scores."""
        self.rise, self.fall, self.shift = self._exponentials(self.scores)
        self._better = np.zeros(len(self.scores), SCORE)
        worse = np.zeros((1 + max((layer for *_, layer in self._runs), default=0), len(self.scores), 2), SCORE)
        if len(self.rise):
            worse[:, :, 0] = self.rise
        state = (*self.order.arrays, self.scores, self.fall, self.shift, self._better)
        calls = [(*state, worse[layer], first, last) for first, last, layer in self._runs]
        run_threads(_pair_masses if len(self.rise) else _wide_pair_masses, calls, self.n_threads)
        self._worse = _sum_layers(worse, self.rise)
        self.log_total = self.order.log_weight + self.shift + _log(self.exchange.totals([self._better])[0])

    def _exponentials(self, scores: Array) -> tuple[Array, Array, float]:
        """Return exp(s - c), exp(c - s) and 0; or two empty arrays and the largest exponent of any pair."""
        ends = self.exchange.largest(np.array([-scores.min(initial=0.0), scores.max(initial=0.0)]))
        low, high = -ends[0], ends[1]
        if high - low > WIDEST_SCORES:
            order = self.order
            largest = _largest_pair(order.better, order.start, order.worse, scores)
            return np.empty(0), np.empty(0), self.exchange.peak(np.array([largest]))
        rise = np.exp(scores - (0.5 * low + 0.5 * high))
        return rise, 1.0 / rise, 0.0

    def advance(self, step: Array) -> None:
        """Add `step` to the scores of all rows and move to the new distribution."""
        self.scores += step
        self._refresh()

    def scale(self, log_total: float) -> float:
        """Return what a pair's relative weight is multiplied by, to be a share of ``exp(log_total)``."""
        return float(np.exp(self.order.log_weight + self.shift - log_total))

    def add_masses(self, log_total: float, better_out: Array, worse_out: Array) -> None:
        """Add the weight of the pairs in which each row is the better, and the worse, member."""
        scale = self.scale(log_total)
        better_out += self._better * scale
        worse_out += self._worse * scale

    def add_potentials(self, log_total: float, potentials_out: Array) -> None:
        """Add π(x) = Σ D(x', x) - D(x, x'), RB Eq. (10)."""
        potentials_out += (self._better - self._worse) * self.scale(log_total)

    def split(self, ranking: Array, log_total: float) -> Array:
        """Return (W₋, W₊) of a {0, 1}-valued ranking: weight of pairs it orders rightly, and wrongly (RB 3.2)."""
        state, sums = (self.scores, self.rise, self.fall, self.shift), np.empty((2, len(self.order.better)), SCORE)
        _pair_split(*self.order.arrays, *state, ranking, sums)
        return np.array(self.exchange.totals(sums)) * self.scale(log_total)

    def moments(self, ranking: Array, alpha: float) -> tuple[float, Array]:
        """Return the log of Z(α) and the mean of h(low) - h(high) and of its square, at scores s + α h."""
        scores = self.scores + alpha * ranking
        rise, fall, shift = self._exponentials(scores)
        sums = np.empty((3, len(self.order.better)), SCORE)
        _pair_moments(*self.order.arrays, scores, rise, fall, shift, ranking, sums)
        total, first, second = self.exchange.totals(sums)
        return self.order.log_weight + shift + _log(total), np.array([first, second]) / total

    def log_wrong(self, scores: Array) -> float:
        """Return the logarithm of the first weight of the pairs that scores of the rows order wrongly, or tie."""
        order = self.order
        wrong = np.repeat(scores[order.better], np.diff(order.start)) <= scores[order.worse]
        return order.log_weight + _log(self.exchange.totals([order.weight[wrong]])[0])

    def pair_weights(self) -> Array:
        """Return the current weight of each pair in the order of `order`, to be multiplied by `scale`."""
        weights = np.empty(len(self.order.worse), SCORE)
        _pair_weights(*self.order.arrays, self.scores, self.rise, self.fall, self.shift, weights)
        return weights


def _log(total: float) -> float:
    return float(np.log(total)) if total > 0 else -np.inf


def _sum_layers(worse: Array, rise: Array) -> Array:
    """Add up the layers' worse masses in order; with one exponential a row they lack the row's own factor."""
    total = worse[0, :, 1].copy()
    for layer in worse[1:]:
        total += layer[:, 1]
    return total * rise if len(rise) else total


@compiled
def _sort_by_better(
    better: Array, worse: Array, weight: Array, heaviest: float, n_rows: int, worse_out: Array, weight_out: Array
) -> Array:
    """Put pairs of positive weight in the order of their better row, stably, and return the count of each row.

    Slow line: ``order = np.argsort(better, kind="stable"); worse_out[:] = worse[order]; ...``, but O(m + n).
    """
    counts = np.zeros(n_rows, np.int64)
    for i in range(len(better)):
        counts[better[i]] += weight[i] > 0
    place = np.cumsum(counts) - counts
    for i in range(len(better)):
        if weight[i] > 0:
            worse_out[place[better[i]]] = worse[i]
            weight_out[place[better[i]]] = weight[i] / heaviest
            place[better[i]] += 1
    return counts


@compiled
def _unjoined(better: Array, start: Array, worse: Array, n_rows: int) -> Array:
    """Return the places b, ascending, with a row x after ``better[b - 1]``, up to ``better[b]``, that no pair crosses.

    A pair crosses x if one of its rows is before x and the other is not.
    """
    joins = np.zeros(n_rows + 1, np.int64)
    for b in range(len(better)):
        for p in range(start[b], start[b + 1]):
            joins[min(better[b], np.int64(worse[p])) + 1] += 1
            joins[max(better[b], np.int64(worse[p])) + 1] -= 1
    found = np.empty(len(better), np.int64)
    count = row = joined = 0
    for b in range(len(better)):
        parted = b == 0
        while row <= better[b]:
            joined += joins[row]
            parted |= joined == 0
            row += 1
        if parted:
            found[count] = b
            count += 1
    return found[:count]


@compiled
def _pair_masses(
    better: Array,
    start: Array,
    worse: Array,
    weight: Array,
    scores: Array,
    fall: Array,
    shift: float,
    better_out: Array,
    worse_out: Array,
    first: int,
    last: int,
) -> None:
    """Sum ``weight * rise[worse] * fall[better]`` by better row, and ``weight * fall[better]`` by worse row.

    `worse_out` holds (rise, sum) side by side, so that each pair touches one cache line and not two:
    2.9 ns a pair against 3.5.
    """
    for b in range(first, last):
        own = fall[better[b]]
        mass = 0.0
        for p in range(start[b], start[b + 1]):
            share = weight[p] * own
            mass += share * worse_out[worse[p], 0]
            worse_out[worse[p], 1] += share
        better_out[better[b]] = mass


@compiled
def _wide_pair_masses(
    better: Array,
    start: Array,
    worse: Array,
    weight: Array,
    scores: Array,
    fall: Array,
    shift: float,
    better_out: Array,
    worse_out: Array,
    first: int,
    last: int,
) -> None:
    """Sum ``weight * exp(scores[worse] - scores[better] - shift)`` by better row and by worse row."""
    for b in range(first, last):
        mass = 0.0
        for p in range(start[b], start[b + 1]):
            share = weight[p] * np.exp(scores[worse[p]] - scores[better[b]] - shift)
            mass += share
            worse_out[worse[p], 1] += share
        better_out[better[b]] = mass


@compiled
def _pairs_ascend(better: Array, start: Array, worse: Array, values: Array) -> bool:
    """Return ``all(values[worse] < values[better])`` over the pairs."""
    for b in range(len(better)):
        for p in range(start[b], start[b + 1]):
            if not values[worse[p]] < values[better[b]]:
                return False
    return True


@compiled
def _largest_pair(better: Array, start: Array, worse: Array, scores: Array) -> float:
    """Return ``max(scores[worse] - scores[better])`` over the pairs."""
    largest = -np.inf
    for b in range(len(better)):
        for p in range(start[b], start[b + 1]):
            largest = max(largest, scores[worse[p]] - scores[better[b]])
    return largest


@compiled_part
def _pair_weight(
    weight: float, better: int, worse: int, scores: Array, rise: Array, fall: Array, shift: float
) -> float:
    """Compute one pair's ``weight * exp(scores[worse] - scores[better] - shift)``."""
    ratio: float = rise[worse] * fall[better] if len(rise) > 0 else np.exp(scores[worse] - scores[better] - shift)
    return weight * ratio


@compiled
def _pair_weights(
    better: Array,
    start: Array,
    worse: Array,
    weight: Array,
    scores: Array,
    rise: Array,
    fall: Array,
    shift: float,
    weight_out: Array,
) -> None:
    """Compute ``weight * exp(scores[worse] - scores[better] - shift)`` of each pair."""
    for b in range(len(better)):
        for p in range(start[b], start[b + 1]):
            weight_out[p] = _pair_weight(weight[p], better[b], worse[p], scores, rise, fall, shift)


@compiled
def _pair_split(
    better: Array,
    start: Array,
    worse: Array,
    weight: Array,
    scores: Array,
    rise: Array,
    fall: Array,
    shift: float,
    ranking: Array,
    sums_out: Array,
) -> None:
    """Sum the weights of the pairs a {0, 1}-valued ranking orders rightly, and wrongly, by better row."""
    for b in range(len(better)):
        right = wrong = 0.0
        own = ranking[better[b]]
        for p in range(start[b], start[b + 1]):
            share = _pair_weight(weight[p], better[b], worse[p], scores, rise, fall, shift)
            right += share * (own > ranking[worse[p]])
            wrong += share * (own < ranking[worse[p]])
        sums_out[0, b], sums_out[1, b] = right, wrong


@compiled
def _pair_moments(
    better: Array,
    start: Array,
    worse: Array,
    weight: Array,
    scores: Array,
    rise: Array,
    fall: Array,
    shift: float,
    ranking: Array,
    sums_out: Array,
) -> None:
    """Sum 1, h(worse) - h(better) and its square over the pairs of each better row, weighed at `scores`."""
    for b in range(len(better)):
        total = first = second = 0.0
        for p in range(start[b], start[b + 1]):
            share = _pair_weight(weight[p], better[b], worse[p], scores, rise, fall, shift)
            difference = ranking[worse[p]] - ranking[better[b]]
            total += share
            first += share * difference
            second += share * difference * difference
        sums_out[0, b], sums_out[1, b], sums_out[2, b] = total, first, second
