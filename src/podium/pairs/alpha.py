"""The weight α of a weak ranking: the three methods of the RankBoost paper.

"RB" is Freund, Iyer, Schapire and Singer (2003), section 3.2. Each rule takes what a weak learner found and
the current distribution, and returns α; a negative α turns the ranking round.

A ranking that orders every pair rightly, or ties it, has no finite best α: Z only falls as α grows. All rules
therefore take W₋, W₊ (and 1 ± r) to be at least `SMOOTHING` of their sum, so that |α| is at most
ln(1 / SMOOTHING) / 2 = 13.8 for a ranking whose values span 1. A cut α lies between 0 and the best one, where
Z, being convex, is still below 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from podium._validation import Array, PodiumError
from podium.pairs.distribution import Distribution, Moments
from podium.pairs.weak_ranking import WeakResult

SMOOTHING = 1e-12
"""Least share of W₋ and W₊: far below any real one, far above rounding."""
WIDEST_SPAN = 1.0 + 1e-12
"""Span of the values up to which RB Eq. (6) holds, rounding included."""
MAX_STEPS = 100
"""Steps of the numeric search at most; bisection alone would need 60 to exhaust the digits of the bracket."""


class HasMoments(Protocol):
    """A distribution whose normaliser is known along a ranking."""

    def moments(self, ranking: Array, alpha: float) -> Moments:
        """Return ln Z(α) along a ranking, and its first two derivatives."""


def alpha_from_weights(found: WeakResult, distribution: Distribution) -> float:
    """Return α = ½ ln(W₋ / W₊), RB Eq. (2): the minimum of Z for a {0, 1}-valued ranking; others are refused."""
    weights = distribution.ranking_weights(found.values)
    least = SMOOTHING * (weights.minus + weights.plus)
    if least == 0.0:
        return 0.0
    return float(0.5 * np.log(max(weights.minus, least) / max(weights.plus, least)))


def alpha_from_r(found: WeakResult, distribution: object) -> float:
    """Return α = ½ ln((1 + r) / (1 - r)), RB Eq. (6): the minimum of a bound on Z for values in [0, 1].

    The bound, RB Eq. (4), asks for differences of the values within [-1, 1]; values of a wider span are refused.
    """
    if _span(found) > WIDEST_SPAN:
        lowest, highest = float(np.min(found.values)), float(np.max(found.values))
        raise PodiumError(
            'alpha="r" holds for weak rankings whose values span at most 1, as those in [0, 1] do; got values from '
            f'{lowest:g} to {highest:g}: take alpha="numeric", or scale them.'
        )
    limit = 1.0 - 2.0 * SMOOTHING
    return float(np.arctanh(np.clip(found.r, -limit, limit)))


def alpha_numeric(found: WeakResult, distribution: HasMoments) -> float:
    """Return the α that minimises Z, found numerically (RB's first method), for values of any range.

    ln Z(α) is convex, being the logarithm of a sum of exponentials, so its slope changes sign once, at the
    minimum. Newton steps towards that sign change are kept inside a bracket of it; a step that leaves the
    bracket, or is not shorter than half the step before, is replaced by bisection. So steps or bracket halve
    every time, and the search ends for every ranking. A Newton step of less than 1e-10 of α is the last: as
    the error squares with every step, what is left is rounding.
    """
    span = _span(found)
    slope = distribution.moments(found.values, 0.0).slope if span > 0 else 0.0
    if slope == 0.0:
        return 0.0
    edge = float(-np.sign(slope) * 0.5 * np.log(1 / SMOOTHING) / span)
    if distribution.moments(found.values, edge).slope * slope >= 0:
        return edge
    return _zero_of_slope(lambda alpha: distribution.moments(found.values, alpha), min(0.0, edge), max(0.0, edge))


def _span(found: WeakResult) -> float:
    """Return how far the values of a ranking lie apart on all training rows."""
    return float(np.ptp(found.values)) if found.span is None else found.span


def _zero_of_slope(moments: Callable[[float], Moments], low: float, high: float) -> float:
    """Return where the slope of ln Z, negative at `low` ≤ 0 and positive at `high` ≥ 0, is zero; start at 0."""
    alpha, before = 0.0, high - low
    for _ in range(MAX_STEPS):
        _, slope, square = moments(alpha)
        low, high = (alpha, high) if slope < 0 else (low, alpha)
        curvature = square - slope * slope
        step = -slope / curvature if curvature > 0 else np.inf
        if abs(step) <= 1e-10 * abs(alpha):
            return float(min(max(alpha + step, low), high))
        if abs(step) > 0.5 * before or not low < alpha + step < high:
            step = 0.5 * (low + high) - alpha
        alpha, before = alpha + step, abs(step)
    return float(alpha)


RULES: dict[str, Callable[[WeakResult, Distribution], float]] = {
    "z": alpha_from_weights,
    "r": alpha_from_r,
    "numeric": alpha_numeric,
}
"""The rules by name."""
