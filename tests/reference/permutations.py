"""Models of permutations as they are defined: sums over all subsets and all orders. Imports nothing of the library."""

import itertools
import math


def weak_orders(items):
    """All rankings with ties of some items."""
    if not items:
        yield []
    for size in range(1, len(items) + 1):
        for block in itertools.combinations(items, size):
            for below in weak_orders([one for one in items if one not in block]):
                yield [block, *below]


def choice_log_likelihood(scores, ranking):
    """Breslow's rule on blocks of (item, times it stands there, weight of its choice)."""
    total = 0.0
    for place, block in enumerate(ranking):
        left = [entry for lower in ranking[place:] for entry in lower]
        whole = math.log(sum(size * math.exp(scores[item]) for item, size, _ in left))
        total += sum(chosen * (scores[item] - whole) for item, _, chosen in block)
    return total


def tied_log_probability(scores, deltas, ranking, ordered=None):
    """Turner and others (2020): each block from all subsets of what is left; `deltas` by size, 1 for single items."""
    total = 0.0
    for place, block in enumerate(ranking[:ordered]):
        left = [item for lower in ranking[place:] for item in lower]

        def amount(subset):
            return deltas[len(subset)] * math.exp(sum(scores[item] for item in subset) / len(subset))

        subsets = [one for size in deltas for one in itertools.combinations(left, size)]
        total += math.log(amount(block) / sum(map(amount, subsets)))
    return total


def kendall_distance(first, second):
    """Pairs of items that two orders put the other way round."""
    return sum(
        (first.index(a) < first.index(b)) != (second.index(a) < second.index(b))
        for a, b in itertools.combinations(first, 2)
    )


def mallows_probabilities(consensus, phi):
    """The probability of every order."""
    amounts = {
        order: phi ** kendall_distance(list(order), list(consensus)) for order in itertools.permutations(consensus)
    }
    whole = sum(amounts.values())
    return {order: amount / whole for order, amount in amounts.items()}


def disagreements(order, rankings, weights):
    """Weight of the pairs that an order puts other than rankings do; what these do not name stands below, unordered."""
    total = 0.0
    for ranking, weight in zip(rankings, weights, strict=True):
        place = {item: number for number, item in enumerate(ranking)}
        for high, low in itertools.combinations(order, 2):
            total += weight * (place.get(low, math.inf) < place.get(high, math.inf))
    return total


def best_orders(items, rankings, weights):
    """The least weight of disagreements of all orders, and the orders that have it."""
    costs = {order: disagreements(order, rankings, weights) for order in itertools.permutations(items)}
    least = min(costs.values())
    return least, [order for order, cost in costs.items() if cost <= least + 1e-9]
