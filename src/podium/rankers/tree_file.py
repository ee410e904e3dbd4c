"""The trees of a boosted ranker as columns of a model file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from os import PathLike
from typing import Any

import numpy as np

from podium._validation import Array, FormatError
from podium.model_file import to_floats, to_texts
from podium.weak.regression_tree import RegressionTree

WHOLE = {"feature": np.int32, "missing_left": np.bool_, "left": np.int32, "right": np.int32, "count": np.int64}
"""Columns of whole numbers."""
NUMBERS = ("threshold", "gain", "value")
"""Columns of real numbers."""
OF_LEAVES = ("value", "count")
"""Columns with an entry for each leaf; the others have one for each split."""

SETS = ("set_of", "sets")
"""Columns of trees that split on categories, in no other file: set of each split, and the words of all sets."""


def to_columns(trees: Sequence[RegressionTree]) -> dict[str, Any]:
    """Return trees as columns, one tree after the other, ready for JSON."""
    columns: dict[str, Any] = {"n_leaves": [tree.n_leaves for tree in trees]}
    for name in WHOLE:
        columns[name] = [int(value) for tree in trees for value in getattr(tree, name)]
    for name in NUMBERS:
        columns[name] = [value for tree in trees for value in to_texts(getattr(tree, name))]
    if any(len(tree.sets) for tree in trees):
        for name in SETS:
            columns[name] = [int(value) for tree in trees for value in getattr(tree, name).ravel()]
    return columns


def from_columns(
    columns: Any, path: str | PathLike[str], n_features: int, categorical: Collection[int] = ()
) -> list[RegressionTree]:
    """Return the trees that `to_columns` wrote, each value checked; `categorical` features are split by sets."""
    names = {"n_leaves", *WHOLE, *NUMBERS}
    if not isinstance(columns, dict) or not names <= columns.keys():
        raise FormatError(path, "the trees of the model are incomplete")
    read = {name: to_floats(columns[name], path, name) for name in names}
    n_leaves = read["n_leaves"].astype(np.int64)
    if not np.array_equal(n_leaves, read["n_leaves"]) or (n_leaves < 1).any():
        raise FormatError(path, "n_leaves must be a list of positive whole numbers")
    n_splits = int((n_leaves - 1).sum())
    read["set_of"] = to_floats(columns.get("set_of", [-1] * n_splits), path, "set_of")
    for name in read.keys() - {"n_leaves"}:
        expected = int(n_leaves.sum()) if name in OF_LEAVES else n_splits
        if len(read[name]) != expected:
            raise FormatError(path, f"the column {name} of the trees must have {expected} entries")
    sets = _sets(columns.get("sets", []), path, int((read["set_of"] >= 0).sum()))
    leaves, splits = (np.concatenate([[0], np.cumsum(sizes)]) for sizes in (n_leaves, n_leaves - 1))
    trees = []
    for i in range(len(n_leaves)):
        own = {
            name: column[slice(*(leaves if name in OF_LEAVES else splits)[i : i + 2])] for name, column in read.items()
        }
        by_set = own["set_of"] >= 0
        if not np.array_equal(by_set, np.isin(own["feature"], list(categorical))):
            raise FormatError(path, "sets must split the categorical features, and no others")
        own_sets, sets = sets[: by_set.sum()], sets[by_set.sum() :]
        trees.append(_tree(own, own_sets, path, n_features))
    return trees


def _sets(words: Any, path: str | PathLike[str], n_sets: int) -> Array:
    """Return the sets of all trees, a row of eight words each."""
    read = to_floats(words, path, "sets")
    if len(read) != 8 * n_sets or not np.all((read >= 0) & (read < 2**32) & (read == np.floor(read))):
        raise FormatError(path, f"sets must be {8 * n_sets} whole numbers of 32 bits")
    return read.astype(np.uint32).reshape(-1, 8)


def _tree(own: dict[str, Array], sets: Array, path: str | PathLike[str], n_features: int) -> RegressionTree:
    """Return one tree, after a check that every split and every leaf hangs below the root once."""
    n_splits = len(own["feature"])
    children = np.sort(np.concatenate([own["left"], own["right"]]))
    expected = np.concatenate([np.arange(-n_splits - 1, 0), np.arange(1, n_splits)]) if n_splits else children
    if not np.array_equal(children, expected) or not (_descends(own["left"]) and _descends(own["right"])):
        raise FormatError(path, "the splits of a tree do not form a tree")
    if not np.isin(own["feature"], np.arange(n_features)).all():
        raise FormatError(path, f"a split names a feature outside 0 to {n_features - 1}")
    by_set = own["set_of"] >= 0
    if not np.array_equal(own["set_of"], np.where(by_set, np.cumsum(by_set) - 1, -1)):
        raise FormatError(path, "set_of must number the sets of a tree in the order of its splits, -1 for no set")
    if np.isnan(own["threshold"][~by_set]).any() or not np.isfinite(own["value"]).all():
        raise FormatError(path, "a split has no threshold, or a leaf no finite value")
    whole: dict[str, Array] = {name: own[name].astype(kind) for name, kind in WHOLE.items()}
    numbers = {name: own[name].copy() for name in NUMBERS}
    set_of = own["set_of"].astype(np.int32)
    return RegressionTree(**whole, **numbers, cut=np.full(n_splits, -1, np.int32), set_of=set_of, sets=sets)


def _descends(children: Array) -> bool:
    """Say whether every child that is a split has a higher number than its parent, so that no way is a circle."""
    return bool(np.all((children < 0) | (children > np.arange(len(children)))))
