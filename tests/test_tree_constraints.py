"""Trees with monotone features: gains, splits and leaf values within bounds, against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.trees.leaf_values import newton_values
from podium.trees.split import Limits
from profiles import examples
from reference import trees as twin
from test_trees_sizes import grow, table

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes and codes wrap around on purpose
]


def test_a_monotone_tree_never_falls():
    rng = np.random.default_rng(10)
    X = rng.random((300, 2))
    for sign in (1, -1):
        gradient = -(np.sin(12 * X[:, 0]) + 2 * sign * X[:, 0] + X[:, 1] + rng.normal(size=300) / 3)
        tree = grow(X, gradient, np.ones(300), monotone=[sign, 0], limits=Limits(5, 0.0)).tree
        assert 0 in tree.feature
        for other in np.linspace(0, 1, 11):
            grid = np.column_stack([np.linspace(-0.1, 1.1, 101), np.full(101, other)])
            assert np.all(sign * np.diff(tree.predict(grid)) >= 0)


@examples(60, plain=8)
@given(seed=st.integers(0, 10_000), kept=st.sampled_from([0.0, 0.3, 0.9]), ridge=st.sampled_from([0.0, 2.0]))
def test_new_leaf_values_keep_to_the_constraints_and_to_kept_leaves(seed, kept, ridge):
    rng, monotone = np.random.default_rng(seed), np.array([1, -1, 0])
    X, gradient, curvature = table(seed)
    tree = grow(X, gradient, curvature, max_leaves=9, monotone=monotone).tree
    known = rng.random(tree.n_leaves) >= kept
    sums = rng.normal(size=tree.n_leaves) * known, rng.random(tree.n_leaves) * known
    values = newton_values(tree, *sums, ridge, monotone, 0.5)
    np.testing.assert_array_equal(values[~known], tree.value[~known])
    for i, feature in enumerate(tree.feature):
        below = [twin.leaves_below(tree.left, tree.right, c) if c >= 0 else [~c] for c in (tree.left[i], tree.right[i])]
        if monotone[feature] != 0:
            lower, upper = below[:: monotone[feature]]
            assert values[lower].max() <= values[upper].min()
    free = newton_values(tree, *sums, ridge)
    np.testing.assert_allclose(free[known], -sums[0][known] / (sums[1][known] + ridge))


def test_a_monotone_tree_by_squares_never_falls_and_is_not_stunted():
    rng = np.random.default_rng(10)
    X = rng.random((300, 2))
    target = np.sin(12 * X[:, 0]) + 4 * X[:, 0] + X[:, 1]
    curvature = 0.001 * (1 + 9 * rng.random(300))  # far from the rows' weights, 1
    options = {"monotone": [1, 0], "limits": Limits(5, 0.0), "weight": np.ones(300)}
    tree = grow(X, -curvature * target, curvature, **options).tree
    for other in np.linspace(0, 1, 11):
        grid = np.column_stack([np.linspace(-0.1, 1.1, 101), np.full(101, other)])
        assert np.all(np.diff(tree.predict(grid)) >= 0)
    assert np.corrcoef(tree.predict(X), target)[0, 1] > 0.9
    assert np.std(tree.predict(X)) > np.std(target) / 2


@pytest.mark.parametrize("reg_lambda", [0.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_every_split_of_a_constrained_tree_is_the_best_within_its_bounds(seed, reg_lambda):
    X, gradient, curvature = table(seed, 70, 3)
    monotone = [1, -1, 0]
    limits = Limits(1, 0.0, reg_lambda)
    tree = grow(X, gradient, curvature, limits=limits, monotone=monotone, max_leaves=8, exact=True).tree
    reached = twin.node_rows(tree, X)
    bounds = twin.node_bounds(tree, reached, gradient, curvature, reg_lambda, monotone)
    assert {0, 1} & set(tree.feature)
    for node, rows in reached.items():
        own = gradient[rows], curvature[rows], reg_lambda
        if node >= 0:
            best = twin.best_bounded_gain(X[rows], *own, monotone, bounds[node])
            assert tree.gain[node] == pytest.approx(best, rel=1e-6)
        else:
            assert tree.value[~node] == pytest.approx(twin.bounded_value(*own, bounds[node]), rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_every_split_by_a_set_below_a_constrained_one_is_the_best_within_its_bounds(seed):
    X, gradient, curvature = table(seed, 70, 2, missing=0.0)
    gradient -= X[:, 1] * np.where(X[:, 0] > 2, 1, -0.2)
    monotone, limits = [0, 1], Limits(1, 0.0)
    options = {"monotone": monotone, "n_categories": 6, "max_leaves": 8, "exact": True}
    tree = grow(X, gradient, curvature, limits=limits, **options).tree
    reached = twin.node_rows(tree, X)
    bounds = twin.node_bounds(tree, reached, gradient, curvature, 0.0, monotone)
    assert set(tree.feature) == {0, 1}
    for node in range(len(tree.feature)):
        own = X[reached[node]], gradient[reached[node]], curvature[reached[node]]
        sets = [
            np.isin(own[0][:, 0], s) for s in twin.sorted_and_single_sets(twin.drawn_sums(own[0][:, 0], *own[1:], 0.0))
        ]
        gains = [twin.bounded_gain(*own[1:], s, 0.0, 0, bounds[node]) for s in sets if 0 < s.sum() < len(s)]
        best = max([*gains, twin.best_bounded_gain(own[0][:, 1:], *own[1:], 0.0, [1], bounds[node])])
        assert tree.gain[node] == pytest.approx(best, rel=1e-6)


def test_leaf_values_of_a_constrained_tree_by_squares_are_newtons_where_bounds_leave_them_free():
    rng = np.random.default_rng(13)
    X, curvature = np.repeat(np.arange(5.0), 12)[rng.permutation(60)][:, None], 0.5 + rng.random(60)
    gradient = -(X[:, 0] ** 2)
    options = {"monotone": [1], "limits": Limits(1, 0.0, 3.0), "weight": np.ones(60)}
    tree = grow(X, gradient, curvature, **options).tree
    assert tree.n_leaves == 5
    for leaf in range(5):
        own = X[:, 0] == leaf
        assert tree.value[leaf] == pytest.approx(-gradient[own].sum() / (curvature[own].sum() + 3.0))


def test_constraints_find_gains_that_are_small_beside_the_square_of_the_sum():
    x, gradient = np.repeat([0.0, 1.0, 2.0], 20)[:, None], 1e8 + np.repeat([100.0, 0.0, -101.0], 20)
    # Of 3 n rows, a cut with n on one side has the gain 2/3 n (m - m')² for the means of its sides: 0.7 % more at 1
    # than at 0, and 5·10⁻¹³ of (Σ gradient)² / 3 n, from which the gain of a constrained feature is a difference.
    for monotone in (None, [1]):
        tree = grow(x, gradient, np.ones(60), monotone=monotone, max_leaves=2, exact=True).tree
        assert tree.threshold.tolist() == [1.0]
        assert tree.gain[0] == pytest.approx(40 / 3 * 151**2, rel=1e-3)
