"""Ordinal stumps: the exact search against all stumps, ties, missing values, threads."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from podium.ordinal.costs import cost_steps, costs_of_steps
from podium.ordinal.ordinal_stump import OrdinalStump, OrdinalStumpLearner
from podium.ordinal.step_weights import StepWeights
from profiles import examples
from reference import ordinal as twin


@st.composite
def tasks(draw, max_rows=6, max_features=2, max_grades=8):
    """Features with many ties, grades, and V-shaped costs that are integers, so that all sums are exact."""
    n_rows, n_grades = draw(st.integers(1, max_rows)), draw(st.integers(2, max_grades))
    cells = st.lists(st.integers(-2, 2), min_size=n_rows, max_size=n_rows)
    X = np.array(draw(st.lists(cells, min_size=1, max_size=max_features)), float).T
    grades = np.array(draw(st.lists(st.integers(0, n_grades - 1), min_size=n_rows, max_size=n_rows)))
    steps = st.lists(st.integers(0, 4), min_size=n_grades - 1, max_size=n_grades - 1)
    weights = np.array(draw(st.lists(steps, min_size=n_rows, max_size=n_rows)), float)
    weights[0, 0] += 1
    return X, grades, weights


def search(X, grades, weights, n_threads=1):
    return OrdinalStumpLearner(X, weights.shape[1], n_threads).search(StepWeights(weights, grades))


@pytest.mark.plain
@examples(150, plain=50)
@given(tasks(max_rows=5))
def test_search_finds_the_stump_that_trying_all_of_them_finds(task):
    X, grades, weights = task
    costs = costs_of_steps(weights, grades)
    stump, found = search(X, grades, weights)
    feature, direction, thresholds = twin.best_stump(X.tolist(), costs.tolist())
    assert (stump.feature, stump.direction) == (feature, direction)
    np.testing.assert_array_equal(stump.thresholds, thresholds)
    np.testing.assert_array_equal(found, [twin.stump_rank(x, direction, thresholds) - 1 for x in X[:, feature]])
    np.testing.assert_array_equal(stump.grades(X), found)


@pytest.mark.plain
@examples(50)
@given(tasks(max_rows=5, max_grades=6), st.integers(0, 2**32 - 1))
def test_cost_is_the_lowest_for_weights_that_are_no_whole_numbers(task, seed):
    X, grades, weights = task
    weights = weights * np.random.default_rng(seed).random(weights.shape)
    if not weights.any():
        return
    costs = costs_of_steps(weights, grades)
    found = search(X, grades, weights).grades
    lowest = min(twin.stump_cost(X.tolist(), costs.tolist(), *stump) for stump in twin.all_stumps(X, costs.shape[1]))
    assert costs[np.arange(len(X)), found].sum() == pytest.approx(lowest, rel=1e-12, abs=1e-15)


@pytest.mark.plain
@examples(100, plain=40)
@given(tasks(max_rows=7, max_grades=5), st.integers(0, 2**32 - 1))
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # plain: a feature no row has
def test_missing_rows_have_the_grade_that_costs_least_for_them(task, seed):
    X, grades, weights = task
    X[np.random.default_rng(seed).random(X.shape) < 0.4] = np.nan
    costs = costs_of_steps(weights, grades)
    stump, found = search(X, grades, weights)
    lacks = np.isnan(X[:, stump.feature])
    of_grade = costs[lacks if lacks.any() else slice(None)].sum(axis=0)
    assert stump.missing == np.argmin(of_grade)
    np.testing.assert_array_equal(stump.grades(X), found)
    lowest = np.inf
    for feature in range(X.shape[1]):
        own = ~np.isnan(X[:, feature])
        best = costs[~own].sum(axis=0).min()
        if own.any():
            rows, kept = X[own][:, [feature]].tolist(), costs[own].tolist()
            best += min(twin.stump_cost(rows, kept, *one) for one in twin.all_stumps(rows, costs.shape[1]))
        lowest = min(lowest, best)
    assert costs[np.arange(len(X)), found].sum() == lowest


@pytest.mark.plain
def test_tie_rule_takes_the_lowest_feature_direction_one_and_the_lowest_thresholds():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    stump, _ = search(X, np.array([0, 0, 2]), np.ones((3, 2)))
    assert (stump.feature, stump.direction, stump.thresholds.tolist()) == (0, 1, [1.5, 1.5])
    # No row of grade 1 or 2 and no weight on the first step of the others: θ_1 could be anywhere, and is lowest.
    stump, _ = search(X, np.array([0, 0, 0]), np.array([[0.0, 1.0]] * 3))
    assert (stump.direction, stump.thresholds.tolist()) == (1, [-np.inf, np.inf])
    constant = np.full((4, 3), 7.0)
    stump, found = search(constant, np.array([0, 1, 1, 1]), np.ones((4, 1)))
    assert (stump.feature, stump.thresholds.tolist(), found.tolist()) == (0, [-np.inf], [1, 1, 1, 1])


@pytest.mark.plain
@pytest.mark.parametrize("first", [0, 1])
def test_features_with_and_without_missing_values_are_compared_by_their_cost(first):
    """The first of two features of equal cost; of two of different cost the cheaper one, wherever it stands."""
    grades, gap = np.array([0, 0, 1, 1, 2, 2]), np.array([np.nan, 0.0, 1, 1, 2, 2])
    whole = grades.astype(float)
    for other, best in ((whole, 0), (np.roll(whole, 1), first)):
        X = np.column_stack([gap, other] if first == 0 else [other, gap])
        stump, found = search(X, grades, np.ones((6, 2)))
        assert stump.feature == best
        np.testing.assert_array_equal(found, grades)


@pytest.mark.plain
def test_infinite_values_are_parted_like_others():
    X = np.array([[-np.inf], [0.0], [np.inf]])
    stump, found = search(X, np.array([0, 1, 2]), np.ones((3, 2)))
    assert found.tolist() == [0, 1, 2]
    assert stump.grades(X).tolist() == [0, 1, 2]
    always = OrdinalStump(0, 1, np.array([-np.inf, np.inf]), 0)
    assert always.grades(X).tolist() == [1, 1, 1]


@pytest.mark.plain
def test_neighbouring_floats_are_parted():
    low = 1.0
    high = np.nextafter(low, 2)
    for direction in (1, -1):
        X = direction * np.array([[low], [high]])
        stump, found = search(X, np.array([0, 1]), np.ones((2, 1)))
        assert found.tolist() == stump.grades(X).tolist() == [0, 1]


@pytest.mark.plain
@pytest.mark.parametrize("n_threads", [1, 2, 3, 5, 9])
@pytest.mark.parametrize(("block", "cells"), [(16, 2**22), (3, 2**22), (16, 1), (16, 2 * 13)])
def test_the_best_feature_is_found_wherever_it_stands_in_blocks_and_threads(n_threads, block, cells, monkeypatch):
    monkeypatch.setattr("podium.ordinal.ordinal_stump.FEATURES_AT_ONCE", block)
    monkeypatch.setattr("podium.ordinal.ordinal_stump.BLOCK_CELLS", cells)
    rng = np.random.default_rng(block)
    grades = np.repeat(np.arange(6), 2)
    for place in range(8):
        X = rng.integers(0, 3, (12, 8)).astype(float)
        X[:, place] = grades
        stump, found = search(X, grades, np.ones((12, 5)), n_threads)
        assert stump.feature == place
        np.testing.assert_array_equal(found, grades)


@pytest.mark.plain
def test_threads_and_sparse_storage_change_nothing():
    rng = np.random.default_rng(0)
    X = rng.integers(1, 30, (300, 37)).astype(float)
    X[rng.random(X.shape) < 0.3] = np.nan
    grades, weights = rng.integers(0, 6, 300), rng.random((300, 5))
    one = search(X, grades, weights)
    stored = sp.csc_array(np.nan_to_num(X))
    for other in (search(X, grades, weights, 3), search(stored, grades, weights), search(stored, grades, weights, 2)):
        assert (other.stump.feature, other.stump.direction) == (one.stump.feature, one.stump.direction)
        np.testing.assert_array_equal(other.stump.thresholds, one.stump.thresholds)
        np.testing.assert_array_equal(other.grades, one.grades)
    np.testing.assert_array_equal(one.stump.grades(stored), one.grades)


@pytest.mark.plain
@examples(100, plain=40)
@given(tasks(max_rows=8), st.integers(0, 2**32 - 1))
def test_updated_weights_stand_for_the_updated_cost_vectors(task, seed):
    _, grades, weights = task
    predicted = np.random.default_rng(seed).integers(0, weights.shape[1] + 1, len(grades))
    steps = StepWeights(weights, grades)
    costs = costs_of_steps(weights, grades)
    np.testing.assert_allclose(costs_of_steps(steps.shares(), grades), costs / weights.sum(), rtol=1e-14)
    wrong = costs[np.arange(len(grades)), predicted].sum()
    assert steps.error(predicted) == pytest.approx(wrong / (costs[:, 0] + costs[:, -1]).sum(), rel=1e-12, abs=1e-15)
    steps.update(predicted, 3.5)
    expected = np.array(twin.updated_costs((grades + 1).tolist(), costs.tolist(), (predicted + 1).tolist(), 2.5))
    found = costs_of_steps(steps.shares(), grades)
    np.testing.assert_allclose(found, expected / cost_steps(expected).sum(), rtol=1e-12)


@pytest.mark.plain
def test_weights_that_outgrow_all_floats_are_scaled():
    grades = np.array([0, 1, 2])
    steps = StepWeights(np.ones((3, 2)), grades)
    for _ in range(3000):
        steps.update(np.array([2, 1, 2]), 2.0)
    shares = steps.shares()
    assert np.isfinite(steps.total)
    assert shares[0].sum() == pytest.approx(1.0)
    assert StepWeights(np.full((3, 2), 1e308), grades).shares().sum() == pytest.approx(1.0)
