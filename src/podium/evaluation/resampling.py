"""Means over queries, and how sure they are: bootstrap intervals and a paired randomisation test.

Nothing here depends on the order of the queries: sums are exact or taken over sorted values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist

import numpy as np

from podium._validation import Array

MAX_RESAMPLED_QUERIES = 20_000
"""Queries beyond which resampling is left to its normal limit: the two differ by less than the fourth digit."""
RESAMPLE_CELLS = 2**20
"""Numbers drawn at a time when resampling queries: a bound on memory, not on the number of resamples."""


def bootstrap_interval(
    values: Array, weights: Array, confidence: float, n_resamples: int, random_state: int
) -> tuple[float, float]:
    """Return the percentile interval of the weighted mean over resampled queries.

    Values are sorted first, so that the interval does not depend on the order of the queries. Of more than
    `MAX_RESAMPLED_QUERIES`, the normal approximation, from which resampling then does not differ in the digits shown.
    """
    known = ~np.isnan(values) & (weights > 0)
    order = np.lexsort((weights[known], values[known]))
    values, weights = values[known][order], weights[known][order]
    if len(values) == 0 or n_resamples == 0:
        return math.nan, math.nan
    if len(values) > MAX_RESAMPLED_QUERIES:
        mean = float(np.sum(values * weights) / np.sum(weights))
        error = float(np.sqrt(np.sum(np.square(weights * (values - mean)))) / np.sum(weights))
        half = NormalDist().inv_cdf((1 + confidence) / 2) * error
        return mean - half, mean + half
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
    one counted in (so that p is never 0). Of more than `MAX_RESAMPLED_QUERIES`, their normal limit.
    """
    moved = np.sort(np.abs(differences[differences != 0]))
    if n_resamples == 0:
        return math.nan
    if len(moved) == 0:
        return 1.0
    if len(moved) > MAX_RESAMPLED_QUERIES:
        return math.erfc(abs(math.fsum(differences)) / math.sqrt(2 * np.sum(np.square(moved))))
    observed = abs(math.fsum(differences)) * (1 - 1e-12)  # rounding must not make equal sums differ
    if len(moved) < 63 and 2 ** len(moved) <= n_resamples:
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
