"""The consensus of rankings: the order of items that disagrees least with them (Kemeny).

The cost of an order is the weight of the rankings that put the lower of two items above the higher one, summed over all
pairs of items. Where majorities put all items of one group above all of another, so does some best order. So each
strongly connected group of the graph of majorities is ordered alone: exactly where it is small, by local search where
it is large.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components

from podium._compiled import ROW, SCORE, compiled
from podium._memory import enough_memory
from podium._validation import Array
from podium.permutations.rankings import Rankings

ROUNDING = 1e-12
"""Share of all weight that a move must gain: below it, sums of weights are equal but for rounding."""


@dataclass(frozen=True, eq=False)
class Consensus:
    """An order of items.

    Attributes
    ----------
    order : ndarray of int64
        Numbers of items, best first.
    cost : float
        Weight of the disagreements with the rankings.
    bound : float
        No order costs less; equal to `cost` where the order is known to be best.
    """

    order: Array
    cost: float
    bound: float


def preferences(rankings: Rankings) -> Array:
    """Return, for items i and j, the weight of the rankings that put i above j."""
    n_items = len(rankings.items)
    with enough_memory(8 * n_items**2, f"A table of the preferences among {n_items} items", "rank fewer items"):
        above = np.zeros((n_items, n_items), SCORE)
    count_preferences(rankings.entries, rankings.blocks, rankings.starts, rankings.weight, above)
    return above


def find_consensus(above: Array, largest_exact: int) -> Consensus:
    """Return the best order found; groups of up to `largest_exact` items are ordered exactly."""
    groups = majority_groups(above)
    parts = [_order_group(above[np.ix_(group, group)], largest_exact) for group in groups]
    order = np.concatenate([group[part.order] for group, part in zip(groups, parts, strict=True)])
    across = order_cost(above, order) - sum(part.cost for part in parts)
    return Consensus(order, order_cost(above, order), across + sum(part.bound for part in parts))


def majority_groups(above: Array) -> list[Array]:
    """Return the strongly connected groups of items, each above the next by majorities alone."""
    _, group = connected_components(above >= above.T, directed=True, connection="strong")
    outside = group[:, None] != group[None, :]
    wins = np.count_nonzero((above > above.T) & outside, axis=1)
    first = {int(one): place for place, one in reversed(list(enumerate(group.tolist())))}
    ranked = sorted(first, key=lambda one: -wins[first[one]])
    return [np.flatnonzero(group == one) for one in ranked]


def order_cost(above: Array, order: Array) -> float:
    """Return the weight of the pairs that an order puts the other way round than rankings do."""
    return float(np.sum(np.tril(above[np.ix_(order, order)], -1)))


def _order_group(above: Array, largest_exact: int) -> Consensus:
    """Return the order of one group."""
    if len(above) <= largest_exact:
        order = _exact_order(above)
        cost = order_cost(above, order)
        return Consensus(order, cost, cost)
    order = _local_order(above)
    return Consensus(order, order_cost(above, order), float(np.sum(np.triu(np.minimum(above, above.T), 1))))


def _exact_order(above: Array) -> Array:
    """Return the best order by dynamic programming over subsets; of equally good ones the first by numbers."""
    top = np.zeros(2 ** len(above), ROW)
    cheapest_tops(above, ROUNDING * above.sum(), np.zeros(len(top), SCORE), top)
    left, order = len(top) - 1, []
    while left:
        order.append(int(top[left]))
        left ^= 1 << order[-1]
    return np.array(order, ROW)


def _local_order(above: Array) -> Array:
    """Return an order that moving any one item does not better, from that of Borda's count."""
    order = np.argsort(above.sum(axis=0) - above.sum(axis=1), kind="stable").astype(ROW)
    while insert_items(above, ROUNDING * above.sum(), order):
        pass
    return order


@compiled
def count_preferences(entries: Array, blocks: Array, starts: Array, weight: Array, above_out: Array) -> None:
    """Add the weight of each ranking to all its pairs of an item and one of a lower block."""
    for ranking in range(len(starts) - 1):
        end = blocks[starts[ranking + 1]]
        for block in range(starts[ranking], starts[ranking + 1]):
            for i in range(blocks[block], blocks[block + 1]):
                for j in range(blocks[block + 1], end):
                    above_out[entries[i], entries[j]] += weight[ranking]


@compiled
def cheapest_tops(above: Array, rounding: float, cost_out: Array, top_out: Array) -> None:
    """Fill ``cost[S] = min over i in S of cost[S - i] + Σ_{j in S} above[j, i]``, and the first such i."""
    n = len(above)
    for subset in range(1, 1 << n):
        best = np.inf
        for i in range(n):
            if subset >> i & 1:
                cost = cost_out[subset ^ (1 << i)]
                for j in range(n):
                    if subset >> j & 1 and j != i:
                        cost += above[j, i]
                if cost < best - rounding:
                    best = cost
                    top_out[subset] = i
        cost_out[subset] = best


@compiled
def insert_items(above: Array, rounding: float, order: Array) -> bool:
    """Move each item to where it disagrees least; return whether any was moved."""
    moved = False
    for place in range(len(order)):
        item, best, target = order[place], -rounding, place
        change = 0.0
        for other in range(place - 1, -1, -1):
            change += above[order[other], item] - above[item, order[other]]
            if change < best:
                best, target = change, other
        change = 0.0
        for other in range(place + 1, len(order)):
            change += above[item, order[other]] - above[order[other], item]
            if change < best:
                best, target = change, other
        step = 1 if target > place else -1
        for other in range(place, target, step):
            order[other] = order[other + step]
        order[target] = item
        moved = moved or target != place
    return moved
