"""The ranking loss of single features that abstain, for all scores of the missing rows at once.

"RB" is Freund, Iyer, Schapire and Singer (2003), "An efficient boosting algorithm for combining preferences".
"""

from __future__ import annotations

import numpy as np

from podium._compiled import ROW, SCORE, compiled
from podium._validation import Array, NoPairsError
from podium.data import Feedback, Graded, Pairs
from podium.pairs.graded_part import LevelOrder

LOSS_TIE = 1e-12
"""Ranking losses nearer than this count as equal: the same pairs summed in another order differ by less."""


class RankingLoss:
    """The ranking loss of features that abstain, for all defaults at once (RB Eq. 21).

    What pairs of two ranked rows, and of two missing rows, lose does not depend on the default q. The rest is
    a sum over the ranked rows x: the weight A(x) of pairs with a missing row that belongs below x where
    f(x) < q, the weight B(x) of pairs with one that belongs above x where f(x) > q, half of both where
    f(x) = q.

    Parameters
    ----------
    feedback : Graded, Pairs or FeedbackSum
    n_rows : int
    """

    def __init__(self, feedback: Feedback, n_rows: int) -> None:
        self.n_rows = n_rows
        parts = [
            _LabelPairs(part, n_rows) if isinstance(part, Graded) else _ListedPairs(part) for part in feedback.parts
        ]
        heaviest = max(part.log_heaviest for part in parts)
        self._parts = [(part, part.weights(heaviest)) for part in parts]
        # A feature that ranks nothing ties every pair, so it loses half of what there is.
        self._total = 2 * self._fixed(np.empty(0, ROW), np.empty(0))[0]
        if not self._total > 0:
            raise NoPairsError("There is nothing to rank: no pair of the feedback has a positive weight.")

    def best_default(self, rows: Array, values: Array, weight: Array, scale: Array) -> tuple[float, float]:
        """Return the smallest loss of a feature over all defaults, and the lowest default that has it.

        Parameters
        ----------
        rows, values : ndarray
            The rows that the feature ranks, and its values there.
        weight : ndarray of float64
            Weight of these rows in the average, which is the default where it makes no difference.
        scale : ndarray of float64
            The defaults to choose from, ascending; the feature's own values may be left out.
        """
        ascending = np.argsort(values, kind="stable")
        rows, values, weight = rows[ascending].astype(ROW), values[ascending], weight[ascending]
        fixed, below, above = self._fixed(rows, values)
        if not (below.any() or above.any()):
            return fixed / self._total, average(values, weight)
        first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
        below, above = (np.add.reduceat(mass[rows], first) for mass in (below, above))
        # Between two of its values any default loses the same: what lies below it has lost A, what lies above it B.
        between = np.append(0.0, np.cumsum(below)) + np.append(np.cumsum(above[::-1])[::-1], 0.0)
        defaults, lost = np.empty(2 * len(first) + 1), np.empty(2 * len(first) + 1)
        defaults[1::2], lost[1::2] = values[first], between[:-1] + (below - above) / 2
        defaults[::2] = lowest_between(values[first], scale)
        lost[::2] = np.where(np.isnan(defaults[::2]), np.inf, between)
        losses = (fixed + lost) / self._total
        best = first_lowest(losses)
        return float(losses[best]), float(defaults[best])

    def _fixed(self, rows: Array, values: Array) -> tuple[float, Array, Array]:
        """Return the loss that no default changes, and A and B of all rows; `values` ascend."""
        field = spread(rows, values, self.n_rows, np.nan)
        below, above = np.zeros(self.n_rows, SCORE), np.zeros(self.n_rows, SCORE)
        losses = [part.add(weights, rows, field, below, above) for part, weights in self._parts]
        return float(sum(losses)), below, above


class _LabelPairs:
    """The pairs that labels make, none of them written down."""

    def __init__(self, graded: Graded, n_rows: int) -> None:
        self.order = order = LevelOrder.of(graded)
        self.query = np.repeat(order.queries, np.diff(order.start))
        self.place = np.full(n_rows, -1, ROW)
        self.place[order.row] = order.positions
        self.log_heaviest = float(order.log_weight.max())
        new_level = np.append(True, (self.query[1:] != self.query[:-1]) | (np.diff(order.level) != 0))
        edges = np.append(np.flatnonzero(new_level), len(order.row))
        level = np.cumsum(new_level) - 1
        self.level_start, self.level_end = edges[level], edges[level + 1]

    def weights(self, log_unit: float) -> Array:
        """Return factors of positions: the pair of i and j weighs ``factor[i] * order.weight[j]``."""
        factors: Array = self.order.weight * np.exp(self.order.log_weight - log_unit)[self.query]
        return factors

    def add(self, factor: Array, rows: Array, field: Array, below_out: Array, above_out: Array) -> float:
        """Add A and B, and return the loss of pairs of two ranked, and of two missing, rows."""
        order = self.order
        missing = np.isnan(field[order.row])
        passed = np.append(0.0, np.cumsum(np.where(missing, order.weight, 0.0)))
        below = factor * (passed[self.level_start] - passed[order.start[self.query]])
        above = factor * (passed[order.start[self.query + 1]] - passed[self.level_end])
        below_out[order.row] += np.where(missing, 0.0, below)
        above_out[order.row] += np.where(missing, 0.0, above)
        tree = np.zeros(len(order.row), SCORE)
        places = (rows, field, self.place, self.query)
        ranked = _ranked_loss(order.start, order.level, order.weight, factor, *places, tree)
        return float(ranked + below[missing].sum() / 2)


class _ListedPairs:
    """Explicit pairs."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.log_heaviest = float(np.log(pairs.weight.max()))

    def weights(self, log_unit: float) -> Array:
        """Return the weight of each pair."""
        weights: Array = np.exp(np.log(self.pairs.weight) - log_unit)
        return weights

    def add(self, weight: Array, rows: Array, field: Array, below_out: Array, above_out: Array) -> float:
        """Add A and B, and return the loss of pairs of two ranked, and of two missing, rows."""
        better, worse = self.pairs.better, self.pairs.worse
        high, low = field[better], field[worse]
        no_high, no_low = np.isnan(high), np.isnan(low)
        below_out += np.bincount(better, weight * (no_low & ~no_high), len(field))
        above_out += np.bincount(worse, weight * (no_high & ~no_low), len(field))
        tied = (high == low) | (no_high & no_low)
        return float(np.sum(weight * (high < low)) + np.sum(weight * tied) / 2)


def lowest_between(values: Array, scale: Array) -> Array:
    """Return the lowest number of a scale below, between neighbours of, and above values, NaN where there is none.

    Values and scale ascend; so many numbers are returned as values, and one more.
    """
    place = np.append(0, np.searchsorted(scale, values, side="right"))
    lowest: Array = np.append(scale, np.inf)[place]
    lowest[~(lowest < np.append(values, np.inf))] = np.nan
    return lowest


def average(values: Array, weight: Array) -> float:
    """Return the weighted mean, 0 where there is no weight."""
    total = weight.sum()
    return float(np.sum(values * weight) / total) if total > 0 else 0.0


def spread(rows: Array, values: Array, n_rows: int, default: float) -> Array:
    """Return one number for each of `n_rows`: its value, or else the default."""
    field = np.full(n_rows, default, SCORE)
    field[rows] = values
    return field


def first_lowest(losses: Array) -> int:
    """Return the place of the first loss that is as low as any."""
    return int(np.argmax(losses <= losses.min() + LOSS_TIE))


def lowest_first(losses: Array, count: int) -> Array:
    """Return the places of the `count` lowest losses, lowest first, the first of those as low as each other."""
    left, places = losses.copy(), np.empty(count, ROW)
    for number in range(count):
        places[number] = first_lowest(left)
        left[places[number]] = np.inf
    return places


@compiled
def _ranked_loss(
    start: Array,
    level: Array,
    weight: Array,
    factor: Array,
    rows: Array,
    field: Array,
    place: Array,
    query: Array,
    tree: Array,
) -> float:
    """Return the loss of pairs of two ranked rows; `rows` ascend in value, `tree` holds zeros.

    Slow line: ``sum(factor[i] * weight[j] * ((v[j] < v[i]) + (v[j] == v[i]) / 2))`` over i and j of a query
    with ``level[i] < level[j]``. Each query has a Fenwick tree of the weights met so far, its highest level
    first; a block of equal values reads it before (stage 0) and after (2) entering its own weights (1).
    """
    loss, begin = 0.0, 0
    while begin < len(rows):
        end = begin
        while end < len(rows) and field[rows[end]] == field[rows[begin]]:
            end += 1
        for stage in range(3):
            for row in rows[begin:end]:
                i = place[row]
                if i < 0:
                    continue
                first, highest = start[query[i]], level[start[query[i] + 1] - 1]
                node = highest - level[i]
                if stage == 1:
                    node += 1
                    while node <= highest + 1:
                        tree[first + node - 1] += weight[i]
                        node += node & -node
                else:
                    while node > 0:
                        loss += 0.5 * factor[i] * tree[first + node - 1]
                        node -= node & -node
        begin = end
    return loss
