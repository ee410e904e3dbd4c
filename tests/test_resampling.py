"""Intervals and tests against enumeration, other libraries, and the laws they must obey."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm, permutation_test

from podium.evaluation import resampling
from podium.evaluation.resampling import bootstrap_interval, randomisation_p_value
from podium.measures import weighted_mean

pytestmark = pytest.mark.plain


def test_mean_skips_nan_and_uses_weights():
    assert weighted_mean(np.array([1.0, np.nan, 3.0]), np.array([1.0, 5.0, 3.0])) == 2.5
    assert math.isnan(weighted_mean(np.array([np.nan]), np.array([1.0])))


def test_mean_does_not_depend_on_order():
    values = np.random.default_rng(0).standard_normal(1000) * 10.0 ** np.arange(-8, 12).repeat(50)
    means = {weighted_mean(np.random.default_rng(i).permutation(values), np.ones(1000)) for i in range(20)}
    assert len(means) == 1


def test_interval_covers_the_normal_one():
    values = np.random.default_rng(0).standard_normal(400)
    low, high = bootstrap_interval(values, np.ones(400), 0.95, 4000, 0)
    half = 1.96 * values.std() / 20
    np.testing.assert_allclose([low, high], [values.mean() - half, values.mean() + half], atol=0.02)


def test_interval_does_not_depend_on_order_but_on_the_seed():
    rng = np.random.default_rng(0)
    values, weights = rng.random(50), rng.random(50)
    shuffled = rng.permutation(50)
    one = bootstrap_interval(values, weights, 0.9, 500, 3)
    assert bootstrap_interval(values[shuffled], weights[shuffled], 0.9, 500, 3) == one
    assert bootstrap_interval(values, weights, 0.9, 500, 4) != one


def test_no_interval_without_resamples_or_values():
    assert all(map(math.isnan, bootstrap_interval(np.ones(3), np.ones(3), 0.95, 0, 0)))
    assert all(map(math.isnan, bootstrap_interval(np.full(3, np.nan), np.ones(3), 0.95, 10, 0)))


def test_p_value_of_few_queries_is_exact():
    differences = np.array([0.3, 0.1, -0.2, 0.4, 0.0, 0.25])
    expected = permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    ).pvalue
    assert randomisation_p_value(differences, 10_000, 0) == pytest.approx(expected, abs=1e-12)


def test_p_value_of_many_queries_is_near_the_normal_one():
    from scipy.stats import ttest_1samp

    differences = np.random.default_rng(1).standard_normal(300) + 0.12
    expected = ttest_1samp(differences, 0).pvalue
    assert randomisation_p_value(differences, 20_000, 0) == pytest.approx(expected, abs=0.01)


def test_p_value_of_no_difference_is_one():
    assert randomisation_p_value(np.zeros(5), 100, 0) == 1.0


def test_p_value_is_never_zero():
    assert randomisation_p_value(np.ones(100), 1000, 0) == 1 / 1001


def weighted(n, seed=0):
    """Values and weights that belong together: heavy queries have high values."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 9, n).astype(float)
    return rng.random(n) + weights / 4, weights


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_the_normal_limit_of_an_interval_is_the_delta_method(confidence, monkeypatch):
    """Mean ± z √Σ w² (x - mean)² / Σ w, from the 101st query on if the limit is 100."""
    monkeypatch.setattr(resampling, "MAX_RESAMPLED_QUERIES", 100)
    values, weights = weighted(101)
    mean = np.average(values, weights=weights)
    half = norm.ppf((1 + confidence) / 2) * math.sqrt(((weights * (values - mean)) ** 2).sum()) / weights.sum()
    low, high = bootstrap_interval(values, weights, confidence, 10, 0)
    np.testing.assert_allclose([low, high], [mean - half, mean + half], rtol=1e-12)
    assert bootstrap_interval(values, weights, confidence, 10, 1) == (low, high)  # nothing is drawn
    fewer = [bootstrap_interval(values[:100], weights[:100], confidence, 10, seed) for seed in (0, 1)]
    assert fewer[0] != fewer[1]


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_resampled_and_normal_intervals_of_weighted_means_agree(confidence, monkeypatch):
    values, weights = weighted(400)
    drawn = bootstrap_interval(values, weights, confidence, 4000, 0)
    monkeypatch.setattr(resampling, "MAX_RESAMPLED_QUERIES", 399)
    normal = bootstrap_interval(values, weights, confidence, 4000, 0)
    np.testing.assert_allclose(drawn, normal, atol=0.05 * (normal[1] - normal[0]))


@pytest.mark.parametrize("shift", [0.0, 0.1, -0.1, 0.3])
def test_the_normal_limit_of_a_p_value_is_that_of_random_signs(shift, monkeypatch):
    """The sum of random signs times |d| has variance Σ d²; both tails count."""
    monkeypatch.setattr(resampling, "MAX_RESAMPLED_QUERIES", 100)
    differences = np.random.default_rng(2).standard_normal(101) + shift
    expected = 2 * norm.sf(abs(differences.sum()) / math.sqrt((differences**2).sum()))
    zeros = np.zeros(500)  # say nothing and count for nothing
    assert randomisation_p_value(np.append(differences, zeros), 10, 0) == pytest.approx(expected, rel=1e-12)
    drawn = [randomisation_p_value(np.append(differences[:100], zeros), 1000, seed) for seed in (0, 1, 2, 3)]
    assert len(set(drawn)) > 1
    z = abs(differences[:100].sum()) / math.sqrt((differences[:100] ** 2).sum())
    assert np.mean(drawn) == pytest.approx(2 * norm.sf(z), abs=0.03)


def exact_p_value(tenths):
    """Share of the sign vectors whose sum is at least as far from 0, in integers."""
    sums = np.array(list(product((-1, 1), repeat=len(tenths)))) @ tenths
    return np.mean(np.abs(sums) >= abs(tenths.sum()))


@pytest.mark.parametrize("n_resamples", [63, 64, 65])
def test_sign_vectors_are_all_taken_where_they_are_no_more_than_the_resamples(n_resamples):
    tenths = np.array([1, 2, 3, -1, 4, 2])
    found = {randomisation_p_value(np.append(tenths / 10, 0.0), n_resamples, seed) for seed in range(4)}
    assert (found == {exact_p_value(tenths)}) == (n_resamples >= 64)


def test_sums_that_differ_by_rounding_alone_are_equal():
    """Of tenths many sign vectors have the observed sum."""
    rng = np.random.default_rng(0)
    for tenths in rng.integers(1, 4, (30, 7)) * rng.choice((-1, 1), (30, 7)):
        assert randomisation_p_value(tenths / 10, 128, 0) == exact_p_value(tenths)


@pytest.mark.parametrize("cells", [1, 7, 30, 1000])
def test_numbers_drawn_at_a_time_add_up_to_the_resamples_asked_for(cells, monkeypatch):
    monkeypatch.setattr(resampling, "RESAMPLE_CELLS", cells)
    for total, width in ((10, 3), (10, 10), (10, 40), (1, 1)):
        sizes = list(resampling._batches(total, width))
        assert sum(sizes) == total
        assert min(sizes) > 0
        assert max(sizes) * width <= max(cells, width)
    values, weights = weighted(20)
    low, high = bootstrap_interval(values, weights, 0.9, 200, 0)
    assert low < np.average(values, weights=weights) < high
    assert randomisation_p_value(np.ones(30), 200, 0) == 1 / 201


def test_an_interval_has_its_share_of_the_resampled_means_on_either_side():
    values, weights = np.array([0.0, 1.0]), np.array([1.0, 3.0])
    # the mean is 0, 3/4 or 1 with chances 1/4, 1/2, 1/4
    assert bootstrap_interval(values, weights, 0.4, 4000, 0) == (0.75, 0.75)
    assert bootstrap_interval(values, weights, 0.6, 4000, 0) == (0.0, 1.0)


def test_queries_without_weight_or_value_change_no_interval():
    values, weights = weighted(30)
    more = np.append(values, [0.5, np.nan, 7.0]), np.append(weights, [0.0, 2.0, 0.0])
    assert bootstrap_interval(*more, 0.9, 100, 0) == bootstrap_interval(values, weights, 0.9, 100, 0)
