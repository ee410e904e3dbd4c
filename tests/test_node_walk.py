"""Rows through packed nodes: keys in the order of values, missing values, zeros and infinities, deep trees."""

import numpy as np
import pytest

from podium.trees.node_walk import PAIRS_PER_WALK, STEPS_PER_CHECK, order_keys
from podium.trees.regression_tree import Forest, RegressionTree
from reference import trees as twin

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # a missing value's key wraps around
]

SPECIAL = [-np.inf, -1e300, -2.0, -1e-310, -0.0, 0.0, 5e-324, 1e-45, 1.0, 1.0000001, 3e38, 1e300, np.inf]


def chain(n_splits, thresholds=None, missing_left=True):
    """A tree of which every left child is a leaf, on one feature: the value of a leaf is its number."""
    left, right = ~np.arange(n_splits), np.append(np.arange(1, n_splits), ~n_splits)
    thresholds = np.arange(n_splits, dtype=float) if thresholds is None else np.asarray(thresholds)
    zeros = np.zeros(n_splits, np.int32)
    return RegressionTree(
        zeros, thresholds, np.full(n_splits, missing_left), left.astype(np.int32), right.astype(np.int32),
        np.arange(n_splits + 1.0), np.zeros(n_splits), np.ones(n_splits + 1, np.int64), zeros,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_keys_are_in_the_order_of_the_values_and_0_is_missing(dtype):
    with np.errstate(over="ignore"):
        values = np.array(SPECIAL, dtype)
    keys = order_keys(values)
    np.testing.assert_array_equal(keys[:, None] < keys, values[:, None] < values)
    np.testing.assert_array_equal(keys[:, None] == keys, values[:, None] == values)
    assert keys.min() > 0
    np.testing.assert_array_equal(order_keys(np.array([np.nan, -np.nan], dtype)), [0, 0])


@pytest.mark.parametrize("missing_left", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_value_goes_its_way_at_every_threshold(dtype, missing_left):
    with np.errstate(over="ignore"):
        X = np.array([*SPECIAL, np.nan, -np.nan], dtype)[:, None]
    trees = [chain(1, [threshold], missing_left) for threshold in (*SPECIAL, 0.1)]
    expected = [[tree.value[twin.leaf(tree, row.astype(float))] for tree in trees] for row in X]
    np.testing.assert_array_equal([tree.predict(X) for tree in trees], np.transpose(expected))
    np.testing.assert_array_equal(Forest.of(trees).score(X), np.sum(expected, axis=1))


@pytest.mark.parametrize("n_splits", [1, STEPS_PER_CHECK, STEPS_PER_CHECK + 1, 3 * STEPS_PER_CHECK])
@pytest.mark.parametrize("n", [1, 3, PAIRS_PER_WALK, PAIRS_PER_WALK + 1])
def test_rows_reach_leaves_at_any_depth_beside_shallow_trees(n, n_splits):
    X = np.linspace(-1, n_splits, n)[:, None]
    X[-1] = n_splits + 1.0  # the deepest leaf
    trees = [chain(2), chain(n_splits, missing_left=False), chain(1)]
    expected = np.sum([tree.value[[twin.leaf(tree, row) for row in X]] for tree in trees], axis=0)
    np.testing.assert_array_equal(Forest.of(trees).score(X), expected)


@pytest.mark.parametrize("n", [1, 5, 70])
def test_a_row_adds_up_the_trees_in_their_order(n):
    values = [1e16, 1.0, -1e16, 0.1, 0.2, 0.3]
    trees = [chain(1).with_values(np.array([value, value])) for value in values]
    assert set(Forest.of(trees).score(np.zeros((n, 1))).tolist()) == {sum(values)}
