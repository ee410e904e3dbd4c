"""Formulas of fusion that learn nothing: scores made comparable, then added up; or places, turned into points.

They are those of ranx, a fused score of each differs from its by rounding alone. Sums are taken over sorted numbers, so
that the order of the runs changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from podium._validation import Array
from podium.fusion.candidates import Candidates

LEAST_RANGE = 1e-9
"""Scores of a query that differ by less are divided by this, as ranx does: equal ones become 0."""
RRF_K = 60
"""k of reciprocal rank fusion, as Cormack, Clarke and Büttcher (2009) chose it."""


def unnormalized(candidates: Candidates) -> Array:
    """Scores as they are."""
    return candidates.scores


def min_max(candidates: Candidates) -> Array:
    """(s - min) / (max - min) over what the run retrieved for the query."""
    scores = candidates.scores
    low, high = (candidates.by_query(reduce, scores) for reduce in (np.fmin, np.fmax))
    return (scores - candidates.spread(low)) / candidates.spread(np.maximum(high - low, LEAST_RANGE))


def by_maximum(candidates: Candidates) -> Array:
    """Divide by the highest score: s / max."""
    high = np.maximum(candidates.by_query(np.fmax, candidates.scores), LEAST_RANGE)
    return candidates.scores / candidates.spread(high)


def by_sum(candidates: Candidates) -> Array:
    """(s - min) / Σ (s - min)."""
    above = candidates.scores - candidates.spread(candidates.by_query(np.fmin, candidates.scores))
    total = np.maximum(candidates.by_query(np.add, np.nan_to_num(above)), LEAST_RANGE)
    return above / candidates.spread(total)


def zero_mean(candidates: Candidates) -> Array:
    """Zero mean, unit variance: (s - mean) / standard deviation."""
    scores, depths = candidates.scores, np.maximum(candidates.depths, 1)
    centered = scores - candidates.spread(candidates.by_query(np.add, np.nan_to_num(scores)) / depths)
    variance = candidates.by_query(np.add, np.nan_to_num(centered) ** 2) / depths
    return centered / candidates.spread(np.maximum(np.sqrt(variance), LEAST_RANGE))


def by_place(candidates: Candidates) -> Array:
    """1 - (place - 1) / retrieved documents."""
    return 1 - (candidates.places - 1) / candidates.spread(np.maximum(candidates.depths, 1))


def by_borda(candidates: Candidates) -> Array:
    """1 - (place - 1) / candidates; what a run did not retrieve shares the rest evenly."""
    sizes = candidates.sizes[:, None]
    rest = candidates.spread(0.5 - (candidates.depths - 1) / (2 * sizes))
    return np.where(candidates.retrieved, 1 - (candidates.places - 1) / candidates.spread(sizes), rest)


NORMALIZATIONS: Mapping[str, Callable[[Candidates], Array]] = {
    "min-max": min_max,
    "max": by_maximum,
    "sum": by_sum,
    "zmuv": zero_mean,
    "rank": by_place,
    "borda": by_borda,
    "none": unnormalized,
}
"""How scores of a run are made comparable with those of others, by ranx's names."""


def reciprocal_ranks(candidates: Candidates, norm: str) -> Array:
    """Reciprocal rank fusion: Σ 1 / (60 + place)."""
    return _sums(1 / (RRF_K + candidates.places))


def inverse_squares(candidates: Candidates, norm: str) -> Array:
    """Inverse square rank: runs that retrieved it × Σ 1 / place²."""
    scores: Array = candidates.retrieved.sum(axis=1) * _sums(1 / candidates.places**2)
    return scores


def comb_sum(candidates: Candidates, norm: str) -> Array:
    """CombSUM: Σ of normalised scores."""
    return _sums(NORMALIZATIONS[norm](candidates))


def comb_mnz(candidates: Candidates, norm: str) -> Array:
    """CombMNZ: runs that scored it × Σ of normalised scores."""
    values = NORMALIZATIONS[norm](candidates)
    scores: Array = (~np.isnan(values)).sum(axis=1) * _sums(values)
    return scores


def borda(candidates: Candidates, norm: str) -> Array:
    """Borda's count: of c candidates the first gets c points, the next c - 1; those left over share the rest."""
    sizes = candidates.sizes[:, None]
    rest = candidates.spread((sizes - candidates.depths + 1) / 2)
    return _sums(np.where(candidates.retrieved, candidates.spread(sizes) - candidates.places + 1, rest))


FORMULAS: Mapping[str, Callable[[Candidates, str], Array]] = {
    "rrf": reciprocal_ranks,
    "combsum": comb_sum,
    "combmnz": comb_mnz,
    "borda": borda,
    "isr": inverse_squares,
}
"""Formulas by name: fused score of each candidate from the candidates and the name of a normalisation."""


def _sums(values: Array) -> Array:
    """Sum each row over the runs that have a value, the lowest first."""
    total: Array = np.nansum(np.sort(values, axis=1), axis=1)
    return total
