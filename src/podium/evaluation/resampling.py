"""Means over queries, and how sure they are: bootstrap intervals and a paired randomisation test.

Nothing here depends on the order of the queries: sums are exact or taken over sorted values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from podium._validation import Array

RESAMPLE_CELLS = 2**20
"""Numbers drawn at a time when resampling queries: a bound on memory, not on the number of resamples."""


def bootstrap_interval(
    values: Array, weights: Array, confidence: float, n_resamples: int, random_state: int
) -> tuple[float, float]:
    """Return the percentile interval of the weighted mean over resampled queries.

    Values are sorted first, so that the interval does not depend on the order of the queries.
    """
    known = ~np.isnan(values)
    order = np.lexsort((weights[known], values[known]))
    values, weights = values[known][order], weights[known][order]
    if len(values) == 0 or n_resamples == 0:
        return math.nan, math.nan
    rng = np.random.default_rng(random_state)
    means = []
    for size in _batches(n_resamples, len(values)):
        drawn = rng.integers(0, len(values), (size, len(values)))
        means.append((values * weights)[drawn].sum(axis=1) / weights[drawn].sum(axis=1))
    low, high = np.quantile(np.concatenate(means), [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def randomisation_p_value(differences: Array, n_resamples: int, random_state: int) -> float:
    """Return the two-sided p-value of a mean difference under random flips of the signs.

    All 2^n sign vectors where they are few enough, otherwise `n_resamples` random ones, with the observed
    one counted in (so that p is never 0).
    """
    moved = np.sort(np.abs(differences[differences != 0]))
    if len(moved) == 0:
        return 1.0
    observed = abs(math.fsum(differences)) * (1 - 1e-12)  # rounding must not make equal sums differ
    if 2 ** len(moved) <= n_resamples:
        bits = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved)) & 1
        return float(np.mean(np.abs((2 * bits - 1) @ moved) >= observed))
    rng = np.random.default_rng(random_state)
    hits = 0
    for size in _batches(n_resamples, len(moved)):
        signs = 2.0 * rng.integers(0, 2, (size, len(moved)), dtype=np.int8) - 1
        hits += int(np.sum(np.abs(signs @ moved) >= observed))
    return (hits + 1) / (n_resamples + 1)


def _batches(total: int, width: int) -> Iterator[int]:
    """Split `total` resamples of `width` numbers into batches of bounded size."""
    step = max(1, RESAMPLE_CELLS // width)
    for start in range(0, total, step):
        yield min(step, total - start)
