"""Bins of a feature by the rule in words, with exact fractions: heavy values, and what the others share."""

from collections import defaultdict
from fractions import Fraction
from itertools import pairwise


def uppers(values, weights, most):
    """Uppermost value of each bin, of values without missing ones.

    Up to `most` different values have a bin each. Otherwise a value that weighs a `most`-th of the whole or more is
    heavy and ends a bin. The light ones share the bins that the heavy ones leave: a bin ends before a heavy value, or
    where one more value would bring it further from its part of the light weight that is left than it is. The last bin
    for light values is never ended, nor is a bin of no weight.
    """
    share = defaultdict(Fraction)
    for value, weight in zip(values, weights, strict=True):
        share[value] += Fraction(weight)
    distinct = sorted(share)
    if len(distinct) <= most:
        return distinct
    whole = sum(share.values())
    heavy = {value for value in distinct if share[value] * most >= whole}
    light = sum(share[value] for value in distinct if value not in heavy)
    ended, own = [], Fraction(0)
    for value, following in pairwise(distinct):
        own += share[value]
        room = most - len(ended) - sum(later >= value for later in heavy)
        if len(ended) == most - 1 or own == 0:
            continue
        if value in heavy:
            ended, own = [*ended, value], Fraction(0)
        elif room > 1 and (following in heavy or own + share[following] / 2 >= light / room):
            ended, light, own = [*ended, value], light - own, Fraction(0)
    return [*ended, distinct[-1]]


def sampled_uppers(values, weights, most, many, size):
    """The same where quantiles of more than `many` rows come from `size` evenly spaced ones."""
    if len(values) > many:
        rows = [i * len(values) // size for i in range(size)]
        if len({values[row] for row in rows}) > most:
            return uppers([values[row] for row in rows], [weights[row] for row in rows], most)
    return uppers(values, weights, most)
