"""Tests of podium.pairs.alpha: the closed forms, the numeric minimum, and perfect rankings."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from podium import PodiumError
from podium.data.feedback import Graded, Pairs
from podium.pairs.alpha import RULES, _zero_of_slope
from podium.pairs.distribution import Distribution, Moments, RankingWeights
from podium.pairs.weak_ranking import WeakResult
from profiles import examples
from reference import rankboost as twin

LIMIT = 0.5 * math.log(1e12)
"""The largest alpha of a ranking whose values span 1, about 13.8."""


def found_of(values, distribution):
    values = np.asarray(values, float)
    return WeakResult(None, values, float(np.sum(values * distribution.potentials())))


def make_case(seed, binary):
    """A distribution after one round, its twin D, and a ranking that orders some pairs rightly, some wrongly."""
    rng = np.random.default_rng(seed)
    n = 12
    labels = rng.integers(0, 3, n).astype(float)
    labels[:4] = [0, 1, 0, 1]
    step = rng.standard_normal(n)
    h = rng.integers(0, 2, n).astype(float) if binary else rng.random(n) * 10 ** rng.uniform(-3, 3)
    h[:4] = np.array([0, 1, 1, 0]) * (h.max() if h.max() > 0 else 1.0)
    distribution = Distribution(Graded(labels, np.array([0, n]), np.ones(n), np.ones(1)), n)
    distribution.update(step)
    _, D = twin.updated(twin.initial_distribution(twin.graded_triples(labels, [0] * n)), 1.0, step)
    return distribution, D, h


@pytest.mark.plain
@examples(40)
@given(st.integers(0, 10**6))
def test_closed_forms_equal_their_equations(seed):
    distribution, D, h = make_case(seed, binary=True)
    found = found_of(h, distribution)
    assert RULES["z"](found, distribution) == pytest.approx(twin.alpha_z(D, h), rel=1e-9, abs=1e-12)
    assert RULES["r"](found, distribution) == pytest.approx(twin.alpha_r(D, h), rel=1e-9, abs=1e-12)


@pytest.mark.plain
@examples(40)
@given(st.integers(0, 10**6))
def test_numeric_equals_equation_2_for_binary_rankings(seed):
    distribution, D, h = make_case(seed, binary=True)
    alpha = RULES["numeric"](found_of(h, distribution), distribution)
    assert alpha == pytest.approx(twin.alpha_z(D, h), rel=1e-9, abs=1e-12)


@pytest.mark.plain
@examples(40)
@given(st.integers(0, 10**6))
def test_numeric_is_the_minimum_of_z_for_any_ranking(seed):
    distribution, _, h = make_case(seed, binary=False)
    alpha = RULES["numeric"](found_of(h, distribution), distribution)
    value, slope, curvature = distribution.moments(h, alpha)
    assert value <= 0
    assert abs(slope) <= 1e-7 * math.sqrt(curvature)
    for other in (0.99 * alpha, 1.01 * alpha):
        assert distribution.moments(h, other).log_value >= value


@pytest.mark.plain
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_numeric_alpha_scales_with_the_ranking(scale):
    distribution, _, h = make_case(3, binary=False)
    one, other = (RULES["numeric"](found_of(values, distribution), distribution) for values in (h, h * scale))
    assert other * scale == pytest.approx(one, rel=1e-8)


@pytest.mark.plain
@pytest.mark.parametrize("rule", list(RULES))
@pytest.mark.parametrize("sign", [1, -1])
def test_perfect_ranking_has_a_large_finite_alpha_of_the_right_sign(rule, sign):
    distribution = Distribution(Graded(np.array([0.0, 0, 1, 1]), np.array([0, 4]), np.ones(4), np.ones(1)), 4)
    h = np.array([0.0, 0, 1, 1]) if sign > 0 else np.array([1.0, 1, 0, 0])
    alpha = RULES[rule](found_of(h, distribution), distribution)
    assert alpha == pytest.approx(sign * LIMIT, rel=0.03)
    assert 0 < distribution.update(alpha * h) < 1


@pytest.mark.plain
@pytest.mark.parametrize("rule", list(RULES))
def test_ranking_that_ties_all_pairs_has_no_weight(rule):
    distribution = Distribution(Pairs(np.array([0]), np.array([1]), np.ones(1)), 3)
    for h in ([1.0, 1.0, 1.0], [1.0, 1.0, 0.0]):
        assert RULES[rule](found_of(h, distribution), distribution) == 0.0


@pytest.mark.plain
@pytest.mark.parametrize("rule", list(RULES))
def test_perfect_rankings_can_be_repeated_many_times(rule):
    distribution = Distribution(Graded(np.array([0.0, 1, 2]), np.array([0, 3]), np.ones(3), np.ones(1)), 3)
    h = np.array([0.0, 0.5, 1.0]) if rule == "numeric" else np.array([0.0, 0.0, 1.0])
    for _ in range(200):
        alpha = RULES[rule](found_of(h, distribution), distribution)
        Z = distribution.update(alpha * h)
        assert np.isfinite(alpha)
        assert 0 <= Z <= 1 + 1e-9
    assert np.all(np.isfinite(distribution.potentials()))


@pytest.mark.plain
def test_numeric_search_takes_few_evaluations(monkeypatch):
    distribution, _, h = make_case(0, binary=False)
    calls = []
    moments = distribution.moments
    monkeypatch.setattr(distribution, "moments", lambda *given: calls.append(given) or moments(*given))
    RULES["numeric"](found_of(h, distribution), distribution)
    assert len(calls) <= 12


@pytest.mark.plain
@pytest.mark.parametrize("low", [-0.5, 0.0, 1.0])
def test_the_rule_by_r_takes_spans_of_1_but_for_rounding_and_refuses_wider_ones(low):
    distribution = Distribution(Pairs(np.array([1]), np.array([0]), np.ones(1)), 3)
    found = WeakResult(None, np.array([low, low + 1 + 4e-16, low + 0.5]), 0.5)
    assert RULES["r"](found, distribution) == pytest.approx(math.atanh(0.5))
    with pytest.raises(PodiumError, match="whose values span at most 1"):
        RULES["r"](found._replace(values=np.array([low, low + 1.001, low])), distribution)


def moments_of(weights, differences, calls):
    """ln Z(α) of pairs that weigh so much and differ so much in h, with its slope and square, without overflow."""

    def moments(alpha):
        calls.append(alpha)
        powers = np.log(weights) - alpha * differences
        shares = np.exp(powers - powers.max())
        shares /= shares.sum()
        return Moments(0.0, float(-shares @ differences), float(shares @ differences**2))

    return moments


@pytest.mark.plain
@pytest.mark.parametrize("steep", [1.0, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("wrong", [0.3, 1e-3, 1e-9])
def test_the_zero_of_a_slope_has_all_its_digits_however_steep(steep, wrong):
    weights, differences = np.array([1.0 - wrong, 0.5 * wrong, 0.5 * wrong]), np.array([1.0, -steep, -0.5 * steep])
    moments, calls = moments_of(weights, differences, []), []
    low, high = -40.0, 40.0
    expected = brentq(lambda alpha: moments(alpha).slope, low, high, xtol=1e-300, rtol=1e-15, maxiter=1000)
    found = _zero_of_slope(moments_of(weights, differences, calls), low, high)
    assert found == pytest.approx(expected, rel=1e-13)
    assert len(calls) < 100


@pytest.mark.plain
@pytest.mark.parametrize("sign", [1, -1])
def test_weights_of_rounding_alone_give_no_alpha_beyond_the_largest(sign):
    class Nearly:
        """A distribution under which the pairs ordered wrongly weigh next to nothing."""

        def ranking_weights(self, values):
            return RankingWeights(*((1e-20, 0.0, 1.0) if sign > 0 else (1.0, 0.0, 1e-20)))

    alpha = RULES["z"](WeakResult(None, np.array([0.0, 1.0]), 1.0), Nearly())
    assert abs(alpha) == pytest.approx(LIMIT, rel=1e-12)


def poisson_moments(c, root, calls):
    """Moments of pairs with differences 1 - cK, K of Poisson's law: ln Z(α) = λ exp(cα) - α, least at `root`."""

    def moments(alpha):
        calls.append(alpha)
        rate = math.exp(c * (alpha - root))
        return Moments(0.0, rate - 1.0, (rate - 1.0) ** 2 + c * rate)

    return moments


@pytest.mark.plain
@pytest.mark.parametrize("c", [1.0, 3.0, 10.0, 15.0])
def test_the_search_ends_soon_where_newton_steps_alone_would_creep(c):
    # Where the slope grows as exp(cα), each Newton step from above the root is 1/c long: 280 of them for c = 15.
    calls = []
    assert _zero_of_slope(poisson_moments(c, 1.0, calls), -40.0, 40.0) == pytest.approx(1.0, rel=1e-14)
    assert len(calls) <= 30


@pytest.mark.plain
def test_the_last_newton_step_is_taken():
    roots = np.linspace(0.5, 5.0, 200)
    found = [_zero_of_slope(poisson_moments(1.0, root, []), -40.0, 40.0) for root in roots]
    np.testing.assert_allclose(found, roots, rtol=2e-15)
