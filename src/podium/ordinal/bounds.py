"""Bounds for AdaBoost.OR that OR section 4.3 names: on margins of the training rows, and on the cost of new ones.

"OR" is Lin and Li (2009), "Combining ordinal preferences by boosting"; "FS" is Freund and Schapire (1997), "A
decision-theoretic generalization of on-line learning", OR's reference 8; "SFBL" is Schapire, Freund, Bartlett and Lee
(1998), "Boosting the margin", its reference 14. OR says that they carry over and leaves the steps out, which are these.

A row of costs c stands for the binary examples (x, k) of weights w_k = |c[k + 1] - c[k]| and signs z_k, on which the
ensemble is the vote f(x, k) = Σ v_t g_t(x, k) / Σ v_t of classifiers g_t = ±1 (OR Lemma 2), wrong only where
z_k f(x, k) ≤ 0. With B the largest c[1] + c[K], draw k with probability w_k / B, and with the probability that is left
nothing, which counts as right. The chance of a wrong vote is then the expected cost in parts of B, and rows drawn
independently give independent binary examples (Li and Lin 2007 do so for SVOR), to which the bounds for binary
classifiers apply. How far the examples drawn are from all of them is bounded by Hoeffding's inequality, since the
ensemble does not depend on this draw. Each of the two steps may fail with probability δ / 2.
"""

from __future__ import annotations

import math

import numpy as np

from podium._validation import Array, PodiumError

ROUNDING = 1e-9
"""A difference of logarithms not above this is taken for 0: for K = 4, F = 1, m = 9 it is 0 and comes out as 9e-16."""


def margin_bounds(epsilon: Array, weight: Array, theta: float) -> Array:
    """Return, after each round, a bound on the share of the weight of binary examples with a margin of at most θ.

    ``Σ w [z f ≤ θ] / Σ w ≤ ∏ ((1 - ε_t) e^{-v_t} + ε_t e^{v_t}) e^{θ v_t}``, with v = ½ ln((1 - ε) / ε) the
    ``∏ 2 √(ε_t^{1 - θ} (1 - ε_t)^{1 + θ})`` of SFBL Theorem 5; θ = 0 is OR Theorem 6. A round of ε = 0 has a finite
    weight here, so that the general form is used.

    Parameters
    ----------
    epsilon, weight : ndarray
        ε_t and v_t of each round.
    theta : float
        θ, from 0 up to 1.
    """
    if not 0 <= theta <= 1:
        raise PodiumError(f"theta must be a margin, from 0 to 1; got {theta}.")
    with np.errstate(divide="ignore"):
        wrong = np.exp(2 * weight + np.log(epsilon))
    bounds: Array = np.cumprod(np.exp(-(1 - theta) * weight) * (1 - epsilon + wrong))
    return bounds


def stump_dimension(n_features: int, n_grades: int) -> int:
    """Return a bound on the VC dimension of ORStumps as classifiers of (x, k): the largest m with enough labelings.

    A feature, its direction and the grade of rows that lack it leave one threshold for each k, so that m examples can
    be labeled in at most ``2 F K (m / (K - 1) + 1)^{K - 1}`` ways; to shatter them takes 2^m.
    """

    def excess(m: int) -> float:
        """Logarithm of 2^m over the labelings of m examples."""
        ways = math.log(2 * n_features * n_grades) + (n_grades - 1) * math.log1p(m / (n_grades - 1))
        return m * math.log(2) - ways

    m = 1
    while excess(m + 1) <= ROUNDING:
        m += 1
    return m


def generalization_gaps(n_rows: int, n_rounds: int, dimension: int, theta: float | None, delta: float) -> Array:
    """Return, for 1 … `n_rounds` rounds, how far the cost of new rows may be above that of n rows, in parts of B.

    By rounds, or by margins where θ is given; and what the draw of one binary example a row adds.
    """
    if not 0 < delta < 1:
        raise PodiumError(f"delta must be a probability, above 0 and below 1; got {delta}.")
    if theta is not None and not 0 < theta <= 1:
        raise PodiumError(f"theta must be a margin, above 0 and up to 1; got {theta}.")
    if theta is None:
        gaps = [rounds_gap(n_rows, t, dimension, delta / 2) for t in range(1, n_rounds + 1)]
    else:
        gaps = [margin_gap(n_rows, theta, dimension, delta / 2)] * n_rounds
    return np.array(gaps) + draw_gap(n_rows, delta / 2)


def rounds_gap(n_rows: int, n_rounds: int, dimension: int, delta: float) -> float:
    """Return how far the error of a vote of T classifiers may be from that on n examples (FS Theorems 7 and 8).

    ``2 √((d′ (ln(2n / d′) + 1) + ln(9/δ)) / n)`` with ``d′ = 2 (d + 1) (T + 1) log₂(e (T + 1))``; infinite where n is
    below d′ / 2, of which the theorem says nothing.
    """
    complexity = 2 * (dimension + 1) * (n_rounds + 1) * math.log2(math.e * (n_rounds + 1))
    if 2 * n_rows < complexity:
        return math.inf
    return 2 * math.sqrt((complexity * (math.log(2 * n_rows / complexity) + 1) + math.log(9 / delta)) / n_rows)


def margin_gap(n_rows: int, theta: float, dimension: int, delta: float) -> float:
    """Return how far the error of any vote may be above its share of n examples with margins of at most θ > 0.

    ``(2/θ) √(2 d ln(e n / d) / n) + √(ln(1/δ) / (2n))``: SFBL Theorem 2, which gives the order alone, with constants
    by the proof of Koltchinskii and Panchenko (2002): a vote has the Rademacher complexity of its classifiers, by
    Massart's and Sauer's lemmas at most the first root, and a ramp from 0 to θ is 1/θ-Lipschitz. Infinite where n is
    below d.
    """
    if n_rows < dimension:
        return math.inf
    complexity = math.sqrt(2 * dimension * math.log(math.e * n_rows / dimension) / n_rows)
    return 2 / theta * complexity + draw_gap(n_rows, delta)


def draw_gap(n_rows: int, delta: float) -> float:
    """Return how far a mean of n independent numbers from 0 to 1 may be above its expectation: √(ln(1/δ) / (2n))."""
    return math.sqrt(math.log(1 / delta) / (2 * n_rows))
