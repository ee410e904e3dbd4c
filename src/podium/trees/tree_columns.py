"""Regression trees, the sets by which they split categories, and the categories, as columns of a model file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from os import PathLike

import numpy as np

from podium._validation import Array, FormatError
from podium.data import MAX_CATEGORIES, Categories, category_order, is_category
from podium.model_file import REAL, Column, Content, Schema, Value
from podium.trees.category_split import WORDS_PER_SET
from podium.trees.regression_tree import RegressionTree
from podium.trees.tree_shape import is_shape_of_trees

LEAVES = Schema(
    Column("value", size="n_values"),
    Column("count", np.int64, (0, 2**53), "n_values"),
    holds="trees",
)
"""An entry for each leaf, tree after tree."""
SIZES = Schema(Column("n_leaves", np.int64, (1, "n_values"), "n_trees"), holds="trees")
"""What cuts the other columns into trees."""
SPLITS = Schema(
    Column("feature", np.int32, (0, "last_feature"), "n_splits"),
    Column("threshold", bounds=None, size="n_splits"),
    Column("missing_left", np.bool_, size="n_splits"),
    Column("left", np.int32, ("least_child", "n_splits"), "n_splits"),
    Column("right", np.int32, ("least_child", "n_splits"), "n_splits"),
    Column("gain", bounds=REAL, size="n_splits"),
    holds="trees",
)
"""An entry for each split, tree after tree."""
SET_OF = Column("set_of", np.int32, (-1, "n_splits"), "n_splits", optional=True)
"""The set of each split within its tree, -1 for a split by a threshold."""
COVER = Column("cover", bounds=(0.0, float(np.finfo(np.float64).max)), size="n_values", optional=True)
"""What each leaf weighs, where that is not its number of training rows."""
SETS = Column("sets", np.uint32, (0, 2**32 - 1), "n_sets", WORDS_PER_SET, optional=True)


def trees_to_columns(trees: Sequence[RegressionTree]) -> Content:
    """Return trees as columns, one tree after the other; those of sets for trees with sets alone."""
    sets = (SET_OF, SETS) if any(len(tree.sets) for tree in trees) else ()
    cover = (COVER,) if any(not np.array_equal(tree.cover, tree.count) for tree in trees) else ()
    return SIZES.write_rows(trees) | Schema(*SPLITS.fields, *LEAVES.fields, *sets, *cover).write_joined(trees)


def trees_from_columns(
    columns: Value, path: str | PathLike[str], n_features: int, categorical: Collection[int] | None = None
) -> list[RegressionTree]:
    """Return the trees that `trees_to_columns` wrote, each value checked.

    The features in `categorical`, and no others, must be split by sets; without it any may be.
    """
    leaves = LEAVES.read(columns, path, {})
    n_values = len(leaves["value"])
    leaves |= Schema(COVER).read(columns, path, {"n_values": n_values})
    n_leaves = SIZES.read(columns, path, {"n_values": n_values})["n_leaves"]
    if n_leaves.sum() != n_values:
        raise FormatError(path, f"n_leaves must add up to the {n_values} entries of value")
    limits = {"last_feature": n_features - 1, "n_splits": n_values - len(n_leaves), "least_child": -n_values}
    splits = SPLITS.read(columns, path, limits)
    if not is_shape_of_trees(splits["left"], splits["right"], n_leaves):
        raise FormatError(path, "the splits of a tree do not form a tree with leaves from left to right")
    sets = _read_sets(columns, splits["feature"], n_leaves - 1, categorical, path)
    by_number = np.concatenate([np.empty(0, np.bool_), *(own["set_of"] < 0 for own in sets)])
    if np.isnan(splits["threshold"][by_number]).any():
        raise FormatError(path, "a split has no threshold")
    return _cut_into_trees(leaves, splits, n_leaves, sets)


def _read_sets(
    columns: Value,
    feature: Array,
    n_splits: Array,
    categorical: Collection[int] | None,
    path: str | PathLike[str],
) -> list[dict[str, Array]]:
    """Return `set_of` and `sets` of each tree, each value checked; without such columns no split has a set.

    Parameters
    ----------
    columns : dict
        What `trees_to_columns` returned.
    feature : ndarray
        Feature of each split, tree after tree.
    n_splits : ndarray of int64
        Splits of each tree.
    categorical : collection of int
        The features that sets split, in all their splits; None for any splits.
    path : str or path-like
        For messages.
    """
    set_of = Schema(SET_OF).read(columns, path, {"n_splits": len(feature)}).get("set_of", np.full(len(feature), -1))
    by_set = set_of >= 0 if categorical is None else np.isin(feature, list(categorical))
    if not np.array_equal(set_of >= 0, by_set):
        raise FormatError(path, "sets must split the categorical features, and no others")
    n_sets = int(by_set.sum())
    sets = Schema(SETS).read(columns, path, {"n_sets": n_sets}).get("sets", np.empty((0, WORDS_PER_SET), np.uint32))
    of_trees = [by_set[part] for part in _slices(n_splits)]
    parts = [np.where(own, np.cumsum(own) - 1, -1).astype(np.int32) for own in of_trees]
    if len(sets) != n_sets or not np.array_equal(set_of, np.concatenate([np.empty(0), *parts])):
        raise FormatError(path, "set_of must number the sets of a tree in the order of its splits, -1 for no set")
    of_sets = _slices([own.sum() for own in of_trees])
    return [{"set_of": set_of, "sets": sets[own]} for set_of, own in zip(parts, of_sets, strict=True)]


def _cut_into_trees(
    leaves: dict[str, Array], splits: dict[str, Array], n_leaves: Array, sets: list[dict[str, Array]]
) -> list[RegressionTree]:
    """Return one tree for each entry of `n_leaves`."""
    splits = {**splits, "cut": np.full(len(splits["feature"]), -1, np.int32)}
    return [
        RegressionTree(
            **{name: column[of_leaves] for name, column in leaves.items()},
            **{name: column[of_splits] for name, column in splits.items()},
            **own,
        )
        for of_leaves, of_splits, own in zip(_slices(n_leaves), _slices(n_leaves - 1), sets, strict=True)
    ]


def _slices(sizes: Iterable[int]) -> list[slice]:
    """Return the parts of a column that have such sizes, one after the other."""
    return [slice(*ends) for ends in pairwise(np.cumsum([0, *sizes]).tolist())]


class CategoryLists:
    """The categories of the categorical columns: a list of each column's number with its categories in their order."""

    name, attribute, optional = "categories", "_categories", False

    def write(self, value: Categories | None) -> Value:
        """Return the lists; none where no column is categorical."""
        return [] if value is None else [[column, list(values)] for column, values in value.values.items()]

    def read(self, value: Value, path: str | PathLike[str], sizes: dict[str, int]) -> Categories:
        """Return the categories, each value checked; a file names columns elsewhere."""
        if not isinstance(value, list) or not all(_is_entry(one, sizes["n_features"]) for one in value):
            raise FormatError(path, "the categories must be lists of a column and its different values in their order")
        columns = [column for column, _ in value]
        if columns != sorted(set(columns)):
            raise FormatError(path, "the categorical columns must be different ones in their order")
        return Categories({column: tuple(values) for column, values in value})


def _is_entry(entry: Value, n_features: int) -> bool:
    """Say whether an entry is a column and its categories."""
    if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[1], list):
        return False
    column, values = entry
    if type(column) is not int or not 0 <= column < n_features or not all(map(is_category, values)):
        return False
    return len(values) <= MAX_CATEGORIES and values == sorted(set(values), key=category_order)
