"""The shape of many trees at once against walks down each of them."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.trees.tree_shape import is_shape_of_trees, join_children, left_sides, tree_depths, tree_roots
from profiles import examples
from reference import trees as twin

pytestmark = pytest.mark.plain


@st.composite
def shapes(draw):
    """Children of a tree: leaves split one after the other, the way trees grow."""
    n_splits = draw(st.integers(0, 12))
    leaves, children = [None], {}
    for split in range(n_splits):
        place = draw(st.integers(0, len(leaves) - 1))
        if leaves[place] is not None:
            children[leaves[place]] = split
        leaves[place : place + 1] = [(split, 0), (split, 1)]
    children.update({parent: ~leaf for leaf, parent in enumerate(leaves) if parent is not None})
    return [np.array([children[split, side] for split in range(n_splits)], np.int32) for side in (0, 1)]


def joined(trees):
    """Columns of all trees, children counted within each."""
    n_leaves = np.array([len(left) + 1 for left, _ in trees], np.int64)
    return *(np.concatenate([np.empty(0, np.int32), *(tree[side] for tree in trees)]) for side in (0, 1)), n_leaves


@examples(150, plain=30)
@given(st.lists(shapes(), max_size=5))
def test_depths_and_left_sides_equal_those_of_each_tree(trees):
    left, right, n_leaves = joined(trees)
    assert is_shape_of_trees(left, right, n_leaves)
    left, right = (join_children(children, n_leaves) for children in (left, right))
    expected = [twin.depth(*tree) if len(tree[0]) else 0 for tree in trees]
    np.testing.assert_array_equal(tree_depths(left, right, n_leaves), expected)
    first, end = left_sides(left, right)
    for split in range(len(left)):
        own = [~left[split]] if left[split] < 0 else twin.leaves_below(left, right, left[split])
        assert (first[split], end[split]) == (own[0], own[-1] + 1)
    for root, tree, leaves in zip(tree_roots(n_leaves), trees, np.cumsum(n_leaves) - n_leaves, strict=True):
        below = [~root] if root < 0 else twin.leaves_below(left, right, root)
        np.testing.assert_array_equal(below, leaves + np.arange(len(tree[0]) + 1))


@pytest.mark.parametrize(
    ("n_splits", "candidates"),
    [
        (1, itertools.product(range(-3, 2), repeat=2)),
        (2, itertools.product(range(-4, 3), repeat=4)),
        (3, itertools.permutations([-4, -3, -2, -1, 1, 2])),
    ],
)
def test_only_trees_pass(n_splits, candidates):
    passed = 0
    for children in candidates:
        left, right = children[:n_splits], children[n_splits:]
        found = is_shape_of_trees(np.array(left), np.array(right), np.array([n_splits + 1]))
        assert found == twin.is_tree(left, right)
        passed += found
    assert passed == [1, 2, 6][n_splits - 1]


def test_a_child_in_another_tree_is_refused():
    left, right, n_leaves = np.array([-1, -1]), np.array([-2, -2]), np.array([2, 2])
    assert is_shape_of_trees(left, right, n_leaves)
    assert not is_shape_of_trees(np.array([1, -1]), right, n_leaves)
    assert not is_shape_of_trees(np.array([-1, -3]), right, n_leaves)


def test_a_tree_may_be_as_deep_as_it_has_splits():
    n_splits = 200_000
    left, right = np.arange(1, n_splits + 1), -np.arange(2, n_splits + 2)[::-1]
    left[-1] = -1
    n_leaves = np.array([n_splits + 1])
    assert is_shape_of_trees(left, right, n_leaves)
    assert tree_depths(left, right, n_leaves).tolist() == [n_splits]
