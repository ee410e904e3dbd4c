"""Worked cases of the RankBoost paper (Freund, Iyer, Schapire, Singer 2003): sections 3 and 4."""

import numpy as np
import pytest

from podium.binning import bin_features
from podium.data.feedback import Graded, Pairs
from podium.pairs.alpha import RULES
from podium.pairs.distribution import Distribution
from podium.stumps.stump import Stump, StumpLearner
from reference import rankboost as twin

NAN = np.nan

# Four movies a, b, c, d. The user puts d above a, b and c, and c above a: four crucial pairs of weight 1/4.
PAIRS = Pairs(np.array([3, 3, 3, 2]), np.array([0, 1, 2, 0]), np.ones(4))
# Two other viewers' scores; the second has not seen b, nor d.
X = np.array([[2.0, 1.0], [3.0, NAN], [1.0, 2.0], [3.0, NAN]])
FEATURES = [[2.0, 3.0, 1.0, 3.0], [1.0, None, 2.0, None]]


@pytest.mark.plain
def test_potentials_of_the_worked_case():
    # a loses to c and d, b to d, c beats a and loses to d, d beats three: Eq. (10), in quarters.
    potentials = Distribution(PAIRS, 4).potentials()
    np.testing.assert_allclose(potentials, np.array([-2, -1, 0, 3]) / 4, atol=1e-15)


@pytest.mark.plain
def test_weak_learn_of_figure_3_step_by_step():
    # First viewer, R = 0: θ = 3: L = 0. θ = 2: L = π(b) + π(d) = 2/4. θ = 1: L = π(a) + 2/4 = 0. θ = -∞: L = 0.
    # Second viewer, R = π(a) + π(c) = -2/4: θ = 2: L = 0, |L - R| = 2/4. θ = 1: L = π(c) = 0, |L - R| = 2/4.
    # θ = -∞: L = -2/4, |L - R| = 0. So the first maximum stays: viewer 1, θ = 2, r = 2/4.
    D = twin.initial_distribution([(w, b, 1.0) for b, w in zip(PAIRS.better, PAIRS.worse, strict=True)])
    r, feature, theta, _ = twin.weak_learn(D, FEATURES, 4)
    assert (r, feature, theta) == (0.5, 0, 2.0)


@pytest.mark.plain
def test_stump_search_agrees_with_figure_3_on_the_worked_case():
    distribution = Distribution(PAIRS, 4)
    found = StumpLearner(bin_features(X)).search(distribution.potentials(), distribution)
    assert found.ranking == Stump(feature=0, threshold=2.0, abstain=0)
    assert found.r == pytest.approx(0.5)
    np.testing.assert_array_equal(found.values, [0, 1, 0, 1])


@pytest.mark.plain
def test_abstaining_rows_stand_above_ranked_ones_when_that_is_best():
    # The second viewer alone: {b, d} above {a, c} orders d-a, d-c rightly and ties the rest but none wrongly.
    distribution = Distribution(PAIRS, 4)
    found = StumpLearner(bin_features(X[:, 1:])).search(distribution.potentials(), distribution)
    np.testing.assert_array_equal(found.values, [1, 0, 1, 0])
    assert found.r == pytest.approx(-0.5)
    assert found.ranking == Stump(feature=0, threshold=-np.inf, abstain=0)


@pytest.mark.plain
def test_first_round_of_the_worked_case():
    # h = (0, 1, 0, 1): d-a and d-c right, d-b and c-a tied: W₋ = 1/2, W₀ = 1/2, W₊ = 0, r = 1/2.
    distribution = Distribution(PAIRS, 4)
    found = StumpLearner(bin_features(X)).search(distribution.potentials(), distribution)
    np.testing.assert_allclose(distribution.ranking_weights(found.values), [0.5, 0.5, 0.0], atol=1e-15)
    alpha = RULES["r"](found, distribution)
    assert alpha == pytest.approx(0.5 * np.log(3))  # Eq. (6)
    assert distribution.update(alpha * found.values) == pytest.approx(0.5 / np.sqrt(3) + 0.5)


@pytest.mark.plain
def test_bipartite_feedback_has_product_weights():
    # Eq. (7) and Figure 2: v(x₀) v(x₁) with v normalised over X₀ = {0, 1} and X₁ = {2, 3, 4}.
    distribution = Distribution(Graded(np.array([0.0, 0, 1, 1, 1]), np.array([0, 5]), np.ones(5), np.ones(1)), 5)
    h, alpha = np.array([0.0, 1, 1, 0, 1]), 0.7
    Z = distribution.update(alpha * h)
    v_low = np.exp(alpha * h[:2]) / 2
    v_high = np.exp(-alpha * h[2:]) / 3
    assert pytest.approx(v_low.sum() * v_high.sum()) == Z
    expected = np.concatenate([-v_low / v_low.sum(), v_high / v_high.sum()])  # Eq. (8): d(x) s(x)
    np.testing.assert_allclose(distribution.potentials(), expected)


@pytest.mark.plain
def test_theorem_1_bounds_the_ranking_loss():
    rng = np.random.default_rng(0)
    labels, rows = rng.integers(0, 3, 60).astype(float), rng.standard_normal((60, 4))
    distribution = Distribution(Graded(labels, np.array([0, 30, 60]), np.ones(60), np.ones(2)), 60)
    learner, scores, product = StumpLearner(bin_features(rows)), np.zeros(60), 1.0
    for _ in range(8):
        found = learner.search(distribution.potentials(), distribution)
        alpha = RULES["r"](found, distribution)
        Z = distribution.update(alpha * found.values)
        scores, product = scores + alpha * found.values, product * Z
        assert np.sqrt(1 - found.r**2) + 1e-12 >= Z  # after Eq. (6)
    triples = twin.graded_triples(labels, [0] * 30 + [1] * 30)
    D = twin.initial_distribution(triples)
    loss = sum(weight for (low, high), weight in D.items() if scores[low] >= scores[high])
    assert loss <= product
    assert np.exp(distribution.log_loss) == pytest.approx(product)
