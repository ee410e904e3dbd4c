"""The trees of a boosted ranker as columns of a model file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from os import PathLike
from typing import Any

import numpy as np

from podium._validation import Array, FormatError
from podium.model_file import to_floats, to_texts
from podium.rankers.set_file import sets_from_columns, sets_to_columns
from podium.weak.regression_tree import RegressionTree

WHOLE = {"feature": np.int32, "missing_left": np.bool_, "left": np.int32, "right": np.int32, "count": np.int64}
"""Columns of whole numbers."""
NUMBERS = ("threshold", "gain", "value")
"""Columns of real numbers."""
OF_LEAVES = ("value", "count")
"""Columns with an entry for each leaf; the others have one for each split."""


def to_columns(trees: Sequence[RegressionTree]) -> dict[str, Any]:
    """Return trees as columns, one tree after the other, ready for JSON."""
    columns: dict[str, Any] = {"n_leaves": [tree.n_leaves for tree in trees]}
    for name in WHOLE:
        columns[name] = [int(value) for tree in trees for value in getattr(tree, name)]
    for name in NUMBERS:
        columns[name] = [value for tree in trees for value in to_texts(getattr(tree, name))]
    return columns | sets_to_columns(trees)


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
    for name in names - {"n_leaves"}:
        expected = int(n_leaves.sum() if name in OF_LEAVES else (n_leaves - 1).sum())
        if len(read[name]) != expected:
            raise FormatError(path, f"the column {name} of the trees must have {expected} entries")
    leaves, splits = (np.concatenate([[0], np.cumsum(sizes)]) for sizes in (n_leaves, n_leaves - 1))
    sets = sets_from_columns(columns, read["feature"], n_leaves - 1, categorical, path)
    trees = []
    for i in range(len(n_leaves)):
        own = {
            name: column[slice(*(leaves if name in OF_LEAVES else splits)[i : i + 2])] for name, column in read.items()
        }
        trees.append(_tree(own, sets[i], path, n_features))
    return trees


def _tree(own: dict[str, Array], sets: dict[str, Array], path: str | PathLike[str], n_features: int) -> RegressionTree:
    """Return one tree, after a check that every split and every leaf hangs below the root once."""
    n_splits = len(own["feature"])
    children = np.sort(np.concatenate([own["left"], own["right"]]))
    expected = np.concatenate([np.arange(-n_splits - 1, 0), np.arange(1, n_splits)]) if n_splits else children
    above = np.maximum(own["left"], own["right"])
    if not np.array_equal(children, expected) or not (_descends(own["left"]) and _descends(own["right"])):
        raise FormatError(path, "the splits of a tree do not form a tree")
    if not np.isin(own["feature"], np.arange(n_features)).all():
        raise FormatError(path, f"a split names a feature outside 0 to {n_features - 1}")
    if (
        np.isnan(own["threshold"][sets["set_of"] < 0]).any()
        or not np.isfinite(own["value"]).all()
        or len(above) != n_splits
    ):
        raise FormatError(path, "a split has no threshold, or a leaf no finite value")
    whole: dict[str, Array] = {name: own[name].astype(kind) for name, kind in WHOLE.items()}
    numbers = {name: own[name].copy() for name in NUMBERS}
    return RegressionTree(**whole, **numbers, **sets, cut=np.full(n_splits, -1, np.int32))


def _descends(children: Array) -> bool:
    """Say whether every child that is a split has a higher number than its parent, so that no way is a circle."""
    return bool(np.all((children < 0) | (children > np.arange(len(children)))))
