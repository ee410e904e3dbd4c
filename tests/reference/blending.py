"""Plain twins of blending: every order that the rows can take is measured, by a function that is given."""

from itertools import pairwise

import numpy as np


def crossings(one, two):
    """The α in (0, 1) at which two rows of a query change places."""
    n = len(one)
    pairs = [(one[i] - one[j], two[i] - two[j]) for i in range(n) for j in range(i)]
    return sorted({b / (b - a) for a, b in pairs if a * b < 0})


def curve(one, two, offsets, measure):
    """The middle of every gap between the crossings of all queries, and ``measure(scores)`` there."""
    cuts = [crossings(one[a:b], two[a:b]) for a, b in pairwise(offsets)]
    edges = np.unique(np.concatenate([[0.0, 1.0], *cuts]))
    wide = np.diff(edges) > 1e-9
    middles = ((edges[1:] + edges[:-1]) / 2)[wide]
    return middles, np.array([measure(alpha * one + (1 - alpha) * two) for alpha in middles])
