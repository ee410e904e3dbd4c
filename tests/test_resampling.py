"""Intervals and tests against enumeration, other libraries, and the laws they must obey."""

import math

import numpy as np
import pytest
from scipy.stats import permutation_test

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
