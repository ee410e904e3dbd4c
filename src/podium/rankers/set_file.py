"""The sets by which trees split categories, as columns of a model file: in files of such trees alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from os import PathLike
from typing import Any

import numpy as np

from podium._validation import Array, FormatError
from podium.model_file import to_floats
from podium.trees import WORDS, RegressionTree


def sets_to_columns(trees: Sequence[RegressionTree]) -> dict[str, Array]:
    """Return `set_of` of all splits, tree after tree, and the words of all sets; nothing for trees without sets."""
    if not any(len(tree.sets) for tree in trees):
        return {}
    set_of, sets = ([getattr(tree, name).ravel() for tree in trees] for name in ("set_of", "sets"))
    return {"set_of": np.concatenate(set_of), "sets": np.concatenate(sets)}


def sets_from_columns(
    columns: dict[str, Any],
    feature: Array,
    n_splits: Array,
    categorical: Collection[int] | None,
    path: str | PathLike[str],
) -> list[dict[str, Array]]:
    """Return `set_of` and `sets` of each tree, each value checked; without such columns no split has a set.

    Parameters
    ----------
    columns : dict
        What `sets_to_columns` returned, among others.
    feature : ndarray
        Feature of each split, tree after tree.
    n_splits : ndarray of int64
        Splits of each tree.
    categorical : collection of int
        The features that sets split, in all their splits; None for any splits.
    path : str or path-like
        For messages.
    """
    set_of = to_floats(columns.get("set_of", [-1] * len(feature)), path, "set_of")
    by_set = set_of >= 0 if categorical is None else np.isin(feature, list(categorical))
    if len(set_of) != len(feature) or not np.array_equal(set_of >= 0, by_set):
        raise FormatError(path, "sets must split the categorical features, and no others")
    words = to_floats(columns.get("sets", []), path, "sets")
    whole = (words >= 0) & (words < 2**32) & (words == np.floor(words))
    if len(words) != WORDS * by_set.sum() or not whole.all():
        raise FormatError(path, f"sets must be {WORDS * by_set.sum()} whole numbers of 32 bits")
    sets = words.astype(np.uint32).reshape(-1, WORDS)
    parts = [
        np.where(own, np.cumsum(own) - 1, -1).astype(np.int32) for own in np.split(by_set, np.cumsum(n_splits)[:-1])
    ]
    if not np.array_equal(set_of, np.concatenate([np.empty(0), *parts])):
        raise FormatError(path, "set_of must number the sets of a tree in the order of its splits, -1 for no set")
    ends = np.cumsum([part.max(initial=-1) + 1 for part in parts])[:-1]
    return [{"set_of": part, "sets": own} for part, own in zip(parts, np.split(sets, ends), strict=True)]
