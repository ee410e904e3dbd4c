"""Average ranks of several rankings over queries: Friedman's test, Nemenyi's critical difference, and groups.

After Demšar (2006), "Statistical comparisons of classifiers over multiple data sets", with queries for data sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.special import chdtrc

from podium._validation import Array


def query_ranks(gains: Array) -> Array:
    """Return the rank of each ranking within each query, 1 for the highest gain; equal gains share their mean rank.

    Slow line: ``scipy.stats.rankdata(-gains, axis=1)``.

    Parameters
    ----------
    gains : float64[n, k]
        Value of each of k rankings on each of n queries, higher is better.
    """
    ranks = np.empty(gains.shape)
    for j in range(gains.shape[1]):
        own = gains[:, [j]]
        ranks[:, j] = (gains > own).sum(axis=1) + ((gains == own).sum(axis=1) + 1) / 2
    return ranks


def friedman(ranks: Array) -> tuple[float, float]:
    """Return Friedman's χ² with the correction for ties, and the p-value that all rankings are alike."""
    n, k = ranks.shape
    spread = math.fsum((np.sum(ranks, axis=0) - n * (k + 1) / 2) ** 2)
    moved = math.fsum(((ranks - (k + 1) / 2) ** 2).ravel())
    if moved == 0:
        return 0.0, 1.0
    statistic = (k - 1) * spread / moved
    return statistic, float(chdtrc(k - 1, statistic))


def critical_difference(n_rankings: int, n_queries: int, alpha: float) -> float:
    """Return Nemenyi's critical difference: average ranks further apart differ, at level α for all pairs at once.

    It is q √(k(k + 1)/(6n)), √2 q the quantile 1 - α of the studentized range of k normal variables.
    """
    from scipy.stats import studentized_range  # here: scipy.stats takes long to import

    quantile = float(studentized_range.ppf(1 - alpha, n_rankings, np.inf)) / math.sqrt(2)
    return quantile * math.sqrt(n_rankings * (n_rankings + 1) / (6 * n_queries))


def alike_groups(n_rankings: int, differ: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """Return the longest runs of rankings, in the order of their ranks, of which no two differ; first and last of each.

    Runs of one, and runs inside others, are left out.
    """
    ends = []
    for first in range(n_rankings):
        last = first
        while last + 1 < n_rankings and not any(differ(one, last + 1) for one in range(first, last + 1)):
            last += 1
        ends.append(last)
    before = [-1, *ends]
    return [(first, last) for first, (earlier, last) in enumerate(pairwise(before)) if last > max(first, earlier)]
