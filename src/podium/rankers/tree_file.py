"""The trees of a boosted ranker as columns of a model file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np

from podium._validation import Array, FormatError
from podium.model_file import to_floats, to_whole
from podium.rankers.set_file import sets_from_columns, sets_to_columns
from podium.trees import RegressionTree, is_shape_of_trees

KINDS = {
    "feature": np.int32,
    "threshold": np.float64,
    "missing_left": np.bool_,
    "left": np.int32,
    "right": np.int32,
    "value": np.float64,
    "gain": np.float64,
    "count": np.int64,
}
"""Every column but `n_leaves`, which cuts them into trees."""
OF_LEAVES = ("value", "count")
"""Columns with an entry for each leaf; the others have one for each split."""


def to_columns(trees: Sequence[RegressionTree]) -> dict[str, Any]:
    """Return trees as columns, one tree after the other."""
    columns = {"n_leaves": np.array([tree.n_leaves for tree in trees], np.int64)}
    for name, kind in KINDS.items():
        columns[name] = np.concatenate([np.empty(0, kind), *(getattr(tree, name) for tree in trees)])
    return columns | sets_to_columns(trees)


def from_columns(
    columns: Any, path: str | PathLike[str], n_features: int, categorical: Collection[int] | None = None
) -> list[RegressionTree]:
    """Return the trees that `to_columns` wrote, each value checked.

    The features in `categorical`, and no others, must be split by sets; without it any may be.
    """
    if not isinstance(columns, dict) or not {"n_leaves", *KINDS} <= columns.keys():
        raise FormatError(path, "the trees of the model are incomplete")
    value = to_floats(columns["value"], path, "value")
    n_leaves = to_whole(columns["n_leaves"], path, "n_leaves", 1, max(len(value), 1))
    n_splits = int(n_leaves.sum()) - len(n_leaves)
    ranges = {
        "feature": (0, n_features - 1),
        "missing_left": (0, 1),
        "left": (-len(value), n_splits),
        "right": (-len(value), n_splits),
        "count": (0, 2**53),
    }
    read = {name: to_whole(columns[name], path, name, *limits, KINDS[name]) for name, limits in ranges.items()}
    read |= {"value": value, **{name: to_floats(columns[name], path, name) for name in ("threshold", "gain")}}
    for name in KINDS:
        expected = n_splits + len(n_leaves) * (name in OF_LEAVES)
        if len(read[name]) != expected:
            raise FormatError(path, f"the column {name} of the trees must have {expected} entries")
    if not is_shape_of_trees(read["left"], read["right"], n_leaves):
        raise FormatError(path, "the splits of a tree do not form a tree with leaves from left to right")
    sets = sets_from_columns(columns, read["feature"], n_leaves - 1, categorical, path)
    by_number = np.concatenate([np.empty(0, np.bool_), *(own["set_of"] < 0 for own in sets)])
    if np.isnan(read["threshold"][by_number]).any() or np.isnan(read["gain"]).any() or not np.isfinite(value).all():
        raise FormatError(path, "a split has no threshold or gain, or a leaf no finite value")
    return _cut_into_trees(read, n_leaves, sets)


def _cut_into_trees(columns: dict[str, Array], n_leaves: Array, sets: list[dict[str, Array]]) -> list[RegressionTree]:
    """Return one tree for each entry of `n_leaves`."""
    leaves = [slice(*ends) for ends in pairwise(np.cumsum([0, *n_leaves]).tolist())]
    splits = [slice(*ends) for ends in pairwise(np.cumsum([0, *(n_leaves - 1)]).tolist())]
    columns = {**columns, "cut": np.full(len(columns["feature"]), -1, np.int32)}
    parts = {name: leaves if name in OF_LEAVES else splits for name in columns}
    return [
        RegressionTree(**{name: column[parts[name][tree]] for name, column in columns.items()}, **sets[tree])
        for tree in range(len(n_leaves))
    ]
