"""Plain twins of blending: every order that the rows can take is measured.

`measure` is a function of the labels of one query in rank order, as in `reference.measures`.
"""

import math
from itertools import pairwise

import numpy as np

from reference import measures as twin


def crossings(one, two):
    """The α in (0, 1) at which two rows of a query change places."""
    n = len(one)
    pairs = [(one[i] - one[j], two[i] - two[j]) for i in range(n) for j in range(i)]
    return sorted({b / (b - a) for a, b in pairs if a * b < 0})


def value(measure, labels, scores, ties="expected"):
    """The measure of one query: the mean over all orders of tied rows, or that of the order a rule makes."""
    if ties != "expected":
        return measure(twin.ordered(labels, scores, ties))
    found = [measure(order) for order in twin.orders(labels, scores)]
    return math.fsum(found) / len(found)


def mean(measure, labels, scores, offsets, ties="expected", empty=math.nan, weight=lambda labels: 1.0):
    """The weighted mean over queries; those without a value count as `empty`, nothing if that is NaN."""
    total, weights = 0.0, 0.0
    for a, b in pairwise(offsets):
        own = value(measure, labels[a:b].tolist(), scores[a:b].tolist(), ties)
        own = empty if math.isnan(own) else own
        if not math.isnan(own):
            total, weights = total + weight(labels[a:b].tolist()) * own, weights + weight(labels[a:b].tolist())
    return total / weights if weights else math.nan


def curve(one, two, labels, offsets, measure, **rules):
    """The middle of every gap between the crossings of all queries, and the mean of the measure there."""
    cuts = [crossings(one[a:b], two[a:b]) for a, b in pairwise(offsets)]
    edges = np.unique(np.concatenate([[0.0, 1.0], *cuts]))
    wide = np.diff(edges) > 1e-9
    middles = ((edges[1:] + edges[:-1]) / 2)[wide]
    mixed = [alpha * one + (1 - alpha) * two for alpha in middles]
    return middles, np.array([mean(measure, labels, scores, offsets, **rules) for scores in mixed])
