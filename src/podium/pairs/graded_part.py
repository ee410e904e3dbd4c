"""The pair distribution of graded feedback in factored form: O(n) a round, no pair is ever written down.

"RB" is Freund, Iyer, Schapire and Singer (2003). The pair (low, high) of a query weighs w(low) w(high)
exp(s(low) - s(high)) = low_factor(low) * high_factor(high), as RB Eq. (7) has it for two grades. Rows sorted
by label and running sums over the levels give every sum over pairs in one sweep (RB section 3.3 for many
levels, and for continuous labels, where each row is a level).

Where the difference of its labels is a factor of a pair's weight, the sum over the rows i below a row is
Σ low(i) (y - y(i)): from one level to the next, a gap apart, it grows by the gap times Σ low(i). So two running sums
of positive numbers do what one does for equal weights.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import SCORE, compiled, even_chunks, inlined_part, run_threads
from podium._exchange import ALONE, Exchange
from podium._validation import Array
from podium.data import Graded
from podium.pairs.factors import Factors, LevelOrder, factors_of
from podium.pairs.wrong_pairs import wrong_weights

__all__ = ["GradedPart", "LevelOrder"]


class GradedPart:
    """The graded part of a distribution: scores so far, and sums over pairs in O(n).

    Parameters
    ----------
    graded : Graded
    n_threads : int
        Threads share out whole queries, so their number changes no bit.
    exchange : Exchange
        With the parts that have other queries.
    """

    def __init__(self, graded: Graded, n_threads: int = 1, exchange: Exchange = ALONE) -> None:
        self.order = LevelOrder.of(graded)
        self.n_pairs = float(graded.n_pairs)
        self.n_threads, self.exchange = n_threads, exchange
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
        self.log_total = _log_sum(self.factors.log_scale, totals, self.exchange)

    def _each_chunk(self, factors: Factors, kernel: object, *arrays: Array) -> None:
        """Run `kernel` over the groups of `factors`, shared out to the threads."""
        chunks = even_chunks(factors.start, self.n_threads)
        entries = (factors.start, factors.level, factors.label, factors.low, factors.high)
        calls = [(*entries, *arrays, *chunk) for chunk in chunks]
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
        return np.array(self.exchange.totals((sums * self.group_scale(log_total)[:, None]).T))

    def moments(self, ranking: Array, alpha: float) -> tuple[float, Array]:
        """Return the log of Z(α) and the mean of h(low) - h(high) and of its square, at scores s + α h."""
        values = ranking[self.order.row]
        low, high = np.empty(len(values), SCORE), np.empty(len(values), SCORE)
        factors = factors_of(self.order, self.scores + alpha * values, low, high, self.n_threads)
        sums = np.empty((len(factors.start) - 1, 3), SCORE)
        self._each_chunk(factors, _sweep_moments, values[factors.position], sums)
        logs = _logs(factors.log_scale, sums[:, 0])
        top = self.exchange.peak(logs)
        shares = np.exp(factors.log_scale - top)
        total, *moments = self.exchange.totals([np.exp(logs - top), sums[:, 1] * shares, sums[:, 2] * shares])
        return float(top + np.log(total)), np.array(moments) / total

    def log_wrong(self, scores: Array) -> float:
        """Return the logarithm of the first weight of the pairs that scores of the rows order wrongly, or tie."""
        own = scores[self.order.row]
        return _log_sum(self.order.log_weight, wrong_weights(self.order, own), self.exchange)


def _logs(log_scale: Array, totals: Array) -> Array:
    """Return the logarithms of ``exp(log_scale) * totals``; -inf for nothing."""
    with np.errstate(divide="ignore"):
        logs: Array = log_scale + np.log(totals)
    return logs


def _log_sum(log_scale: Array, totals: Array, exchange: Exchange) -> float:
    """Return the logarithm of ``sum(exp(log_scale) * totals)`` over all parts without overflow; -inf for nothing.

    Terms are relative to the largest of all parts, and their sum is exact: no partitioning of the queries changes it.
    """
    logs = _logs(log_scale, totals)
    top = exchange.peak(logs)
    return float(top + np.log(exchange.totals([np.exp(logs - top)])[0])) if top > -np.inf else -np.inf


@inlined_part
def _up_to(weighed: float, plain: float, label: Array, k: int, before: int) -> float:
    """Return the sum over passed rows of factor times |label[k] - label| from the same sum for entry `before`.

    `plain` is the sum of the factors alone, which is all that is asked for where there are no labels.
    """
    return weighed + abs(label[k] - label[before]) * plain if len(label) > 0 else plain


@compiled
def _sweep_masses(
    start: Array,
    level: Array,
    label: Array,
    low: Array,
    high: Array,
    better_out: Array,
    worse_out: Array,
    total_out: Array,
    first: int,
    last: int,
) -> None:
    """Sum the pairs of each entry and group by running sums over levels, up for better and down for worse.

    Slow line: ``better[j] = high[j] * sum(low[level < level[j]]); worse[i] = low[i] * sum(high[level >
    level[i]])``, each term times the difference of the labels where there are any.
    """
    for g in range(first, last):
        total = plain = passed = own = 0.0
        current = level[start[g]]
        for k in range(start[g], start[g + 1]):
            if level[k] != current:
                plain, own, current = plain + own, 0.0, level[k]
                passed = _up_to(passed, plain, label, k, k - 1)
            better_out[k] = high[k] * passed
            total += better_out[k]
            own += low[k]
        total_out[g] = total
        plain = passed = own = 0.0
        for k in range(start[g + 1] - 1, start[g] - 1, -1):
            if level[k] != current:
                plain, own, current = plain + own, 0.0, level[k]
                passed = _up_to(passed, plain, label, k, k + 1)
            worse_out[k] = low[k] * passed
            own += high[k]


@compiled
def _add_gathered(row: Array, values: Array, out: Array) -> None:
    """Do ``out += values[row]``."""
    for k in range(len(row)):
        out[k] += values[row[k]]


@compiled
def _add_rows(row: Array, position: Array, start: Array, values: Array, scale: Array, out: Array) -> None:
    """Do ``out[row[position]] += values * scale`` with the scale of each entry's group."""
    for g in range(len(start) - 1):
        for k in range(start[g], start[g + 1]):
            out[row[position[k]]] += values[k] * scale[g]


@compiled
def _add_differences(
    row: Array, position: Array, start: Array, better: Array, worse: Array, scale: Array, out: Array
) -> None:
    """Do ``out[row[position]] += (better - worse) * scale`` with the scale of each entry's group."""
    for g in range(len(start) - 1):
        for k in range(start[g], start[g + 1]):
            out[row[position[k]]] += (better[k] - worse[k]) * scale[g]


@compiled
def _sweep_split(
    start: Array,
    level: Array,
    label: Array,
    low: Array,
    high: Array,
    ranking: Array,
    sums_out: Array,
    first: int,
    last: int,
) -> None:
    """Sum the pairs of each group that a {0, 1}-valued ranking orders rightly and wrongly.

    Slow line: ``sums[g] = [sum(low[i] * high[j] for pairs if ranking[i] == b != ranking[j]) for b in (0,
    1)]``, each term times the difference of the labels where there are any. Sums of positive numbers only, so that
    no wrongly ordered pair gives exactly zero.
    """
    for g in range(first, last):
        right = wrong = plain_0 = plain_1 = passed_0 = passed_1 = own_0 = own_1 = 0.0
        current = level[start[g]]
        for k in range(start[g], start[g + 1]):
            if level[k] != current:
                plain_0, plain_1 = plain_0 + own_0, plain_1 + own_1
                own_0 = own_1 = 0.0
                current = level[k]
                passed_0 = _up_to(passed_0, plain_0, label, k, k - 1)
                passed_1 = _up_to(passed_1, plain_1, label, k, k - 1)
            above = ranking[k] > 0.5
            right += high[k] * passed_0 * above
            wrong += high[k] * passed_1 * (not above)
            own_0 += low[k] * (not above)
            own_1 += low[k] * above
        sums_out[g, 0] = right
        sums_out[g, 1] = wrong


@compiled
def _sweep_moments(
    start: Array,
    level: Array,
    label: Array,
    low: Array,
    high: Array,
    ranking: Array,
    sums_out: Array,
    first: int,
    last: int,
) -> None:
    """Sum 1, difference and squared difference of the ranking over the pairs of each group.

    Slow line: ``sums[g, p] = sum(low[i] * high[j] * (ranking[i] - ranking[j]) ** p for pairs)``, p = 0, 1, 2, each
    term times the difference of the labels where there are any.
    """
    for g in range(first, last):
        plain_0 = plain_1 = plain_2 = passed_0 = passed_1 = passed_2 = own_0 = own_1 = own_2 = 0.0
        sum_0 = sum_1 = sum_2 = 0.0
        current = level[start[g]]
        # From the group's first value on, so that a large common part does not cancel in the squares.
        origin = ranking[start[g]]
        for k in range(start[g], start[g + 1]):
            if level[k] != current:
                plain_0, plain_1, plain_2 = plain_0 + own_0, plain_1 + own_1, plain_2 + own_2
                own_0 = own_1 = own_2 = 0.0
                current = level[k]
                passed_0 = _up_to(passed_0, plain_0, label, k, k - 1)
                passed_1 = _up_to(passed_1, plain_1, label, k, k - 1)
                passed_2 = _up_to(passed_2, plain_2, label, k, k - 1)
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
