"""Trees and sets of categories as columns of a model file: every bound of their checks."""

from pathlib import Path

import numpy as np
import pytest

from podium import FormatError, load
from podium.export.ensemble import leaf_tree, split_tree
from podium.model_file import (
    PROTOCOL,
    read_model,
    write_model,
)
from podium.trees.regression_tree import RegressionTree
from podium.trees.tree_columns import trees_from_columns, trees_to_columns

pytestmark = pytest.mark.plain
SAMPLES = Path(__file__).parent / "data" / "models" / f"protocol-{PROTOCOL}"


def three_trees():
    """Trees of two, one and three leaves; one threshold is infinite."""
    whole, number = (lambda *values: np.array(values, np.int32)), (lambda *values: np.array(values, float))
    last = RegressionTree(
        whole(1, 0), number(-np.inf, 0.5), np.array([True, False]), whole(1, -1), whole(-3, -2), number(1, 2, 3),
        number(0.25, 0), np.array([0, 2**53, 7]), whole(-1, -1),
    )  # fmt: skip
    return [split_tree(1, 0.5, True, -1.0, 1.0), leaf_tree(0.5), last]


def test_columns_give_the_trees_back():
    trees = three_trees()
    for given in (trees, trees[2:], trees[1:2], []):
        found = trees_from_columns(trees_to_columns(given), "file", 2)
        assert len(found) == len(given)
        for one, other in zip(found, given, strict=True):
            for name in ("feature", "threshold", "missing_left", "left", "right", "value", "gain", "count", "cut"):
                expected = getattr(other, name)
                assert getattr(one, name).dtype == expected.dtype
                np.testing.assert_array_equal(getattr(one, name), expected)


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("feature", 0, 2, "feature must be a list of integers from 0 to 1"),
        ("feature", 0, -1, "feature must be a list of integers from 0 to 1"),
        ("missing_left", 0, 2, "missing_left must be"),
        ("threshold", 0, np.nan, "a split has no threshold"),
        ("gain", 1, np.nan, "gain must be a list of numbers"),
        ("value", 2, np.inf, "value must be a list of finite numbers"),
        ("value", 2, np.nan, "value must be a list of finite numbers"),
        ("count", 0, 2**53 + 2, "count must be"),
        ("count", 0, -1, "count must be"),
        ("n_leaves", 0, 0, "n_leaves must be a list of integers from 1 to 6"),
        ("n_leaves", 0, 1, "n_leaves must add up to the 6 entries of value"),
        ("n_leaves", 0, 3, "n_leaves must add up to the 6 entries of value"),
        ("left", 0, -2, "do not form a tree"),
        ("right", 0, -1, "do not form a tree"),
        ("left", 1, 0, "do not form a tree"),
        ("left", 2, 1, "do not form a tree"),
        ("right", 2, -1, "do not form a tree"),
        ("left", 0, -7, "left must be"),
        ("right", 0, 4, "right must be"),
    ],
)
def test_a_wrong_number_in_the_columns_of_trees_is_refused(name, place, value, message):
    columns = trees_to_columns(three_trees())
    columns[name] = columns[name].astype(float if name in ("threshold", "gain", "value") else np.int64)
    columns[name][place] = value
    with pytest.raises(FormatError, match=message):
        trees_from_columns(columns, "file", 2)


@pytest.mark.parametrize("name", ["feature", "threshold", "missing_left", "left", "right", "gain"])
@pytest.mark.parametrize("change", [lambda column: column[:-1], lambda column: np.append(column, column[-1])])
def test_there_is_an_entry_for_each_split(name, change):
    columns = trees_to_columns(three_trees())
    columns[name] = change(columns[name])
    with pytest.raises(FormatError, match=f"{name} must have 3 entries; got {len(columns[name])}"):
        trees_from_columns(columns, "file", 2)


@pytest.mark.parametrize("name", ["count", "value"])
@pytest.mark.parametrize("change", [lambda column: column[:-1], lambda column: np.append(column, column[-1])])
def test_there_is_an_entry_for_each_leaf(name, change):
    columns = trees_to_columns(three_trees())
    columns[name] = change(columns[name])
    with pytest.raises(FormatError, match=r"count must have . entries"):
        trees_from_columns(columns, "file", 2)


@pytest.mark.parametrize("name", ["n_leaves", "feature", "threshold", "missing_left", "left", "right", "gain", "value"])
def test_no_column_of_trees_may_be_missing(name):
    columns = trees_to_columns(three_trees())
    del columns[name]
    with pytest.raises(FormatError, match=f"the trees of the model are incomplete: {name} is missing"):
        trees_from_columns(columns, "file", 2)


def sets_of(path, **changes):
    """Write the sample with sets of categories, some of whose columns are changed."""
    content = read_model(SAMPLES / "categories.podium")
    trees = content["learned"]["trees"]
    for name, change in changes.items():
        trees[name] = change(trees[name].astype(np.int64))
    write_model(path, content)
    return path


def at(place, value):
    """Return a change of one number."""

    def change(column):
        column[place] = value
        return column

    return change


@pytest.mark.parametrize("categorical", [[0, 3], None])
def test_sets_of_several_trees_come_back_each_to_its_split(categorical):
    before = load(SAMPLES / "categories.podium")
    after = trees_from_columns(trees_to_columns(before.trees_), "file", 4, categorical)
    assert sum(len(tree.sets) > 0 for tree in after) > 1
    for one, other in zip(after, before.trees_, strict=True):
        np.testing.assert_array_equal(one.set_of, other.set_of)
        np.testing.assert_array_equal(one.sets, other.sets)


@pytest.mark.parametrize("value", [-1, 2**32])
@pytest.mark.parametrize("place", [0, -1])
def test_words_of_sets_have_32_bits(place, value, tmp_path):
    load(sets_of(tmp_path / "model", sets=at(place, 2**32 - 1)))
    with pytest.raises(FormatError, match="sets must be a list of integers from 0 to 4294967295"):
        load(sets_of(tmp_path / "model", sets=at(place, value)))


def test_there_are_as_many_words_as_sets_take(tmp_path):
    for change in (lambda words: words[:-8], lambda words: words[:-1], lambda words: np.append(words, words[:8])):
        with pytest.raises(FormatError, match=r"sets must have .* entries; got"):
            load(sets_of(tmp_path / "model", sets=change))


def test_sets_that_splits_name_are_there(tmp_path):
    content = read_model(SAMPLES / "categories.podium")
    del content["learned"]["trees"]["sets"]
    write_model(tmp_path / "model", content)
    with pytest.raises(FormatError, match="set_of must number the sets of a tree"):
        load(tmp_path / "model")


def test_sets_are_numbered_in_the_order_of_splits(tmp_path):
    columns = read_model(SAMPLES / "categories.podium")["learned"]["trees"]
    by_set = np.flatnonzero(columns["set_of"] >= 0)
    with pytest.raises(FormatError, match="set_of must number the sets of a tree in the order of its splits"):
        load(sets_of(tmp_path / "model", set_of=at(by_set[0], 1)))
    with pytest.raises(FormatError, match="set_of must number"):
        load(sets_of(tmp_path / "model", set_of=at(by_set[-1], 7)))
    for wrong in (-2, len(columns["set_of"]) + 1):
        with pytest.raises(FormatError, match="set_of must be a list of integers from -1 to"):
            load(sets_of(tmp_path / "model", set_of=at(by_set[0], wrong)))
    with pytest.raises(FormatError, match="sets must split the categorical features, and no others"):
        load(sets_of(tmp_path / "model", set_of=at(by_set[-1], -1), sets=lambda words: words[:-8]))
    for change in (lambda own: own[:-1], lambda own: np.append(own, -1)):
        with pytest.raises(FormatError, match=r"set_of must have .* entries; got"):
            load(sets_of(tmp_path / "model", set_of=change))
