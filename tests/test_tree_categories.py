"""Categories that trees are filed with and go on from."""

import numpy as np
import pytest

from podium import RankBoost
from podium._validation import FormatError, PodiumError
from podium.data.categories import MAX_CATEGORIES, Categories
from podium.rankers.boosted_trees import find_categories
from podium.trees.tree_columns import CategoryLists

pytestmark = pytest.mark.plain


def test_files_hold_at_most_the_categories_that_bins_can():
    for n in (0, 1, MAX_CATEGORIES):
        found = CategoryLists().read([[1, list(range(n))]], "model", {"n_features": 3})
        assert CategoryLists().write(found) == [[1, list(range(n))]]
    for wrong in (
        [[1, list(range(MAX_CATEGORIES + 1))]], [[3, [0]]], [[-1, [0]]], [[True, [0]]], [[0, [1, 0]]], [[0, [1, 1]]],
        [[0]], {},
    ):  # fmt: skip
        with pytest.raises(FormatError, match="the categories must be lists"):
            CategoryLists().read(wrong, "model", {"n_features": 3})
    for wrong in ([[1, [0]], [1, [0]]], [[2, [0]], [1, [0]]]):
        with pytest.raises(FormatError, match="different ones in their order"):
            CategoryLists().read(wrong, "model", {"n_features": 3})
    assert CategoryLists().read(CategoryLists().write(None), "model", {"n_features": 3}).values == {}


def test_categories_keep_their_kinds():
    found = Categories({0: (1, 2.5), 1: (7, "a"), 2: ("a", "b")}, None).arrays(["x", "y", "z"])
    assert {name: one.tolist() for name, one in found.items()} == {"x": [1.0, 2.5], "y": [7, "a"], "z": ["a", "b"]}
    assert found["x"].dtype == float
    assert found["z"].dtype.kind == "U"


def test_categories_to_go_on_from_are_those_of_the_same_columns():
    X = np.random.default_rng(0).integers(0, 4, (40, 3)).astype(float)
    before = find_categories(X, [0], None, None)
    assert find_categories(X, [0], None, before) is before
    with pytest.raises(PodiumError, match=r"init_model must have the categorical columns of X: \[1\] expected, \[0\]"):
        find_categories(X, [1], None, before)
    with pytest.raises(PodiumError, match="init_model must be made of trees where X has categorical columns"):
        find_categories(X, [0], RankBoost(), None)
