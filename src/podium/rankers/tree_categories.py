"""The categorical columns of a ranker made of trees: found at a fit, taken over from trees to go on from, filed."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from podium._validation import Array, FormatError, PodiumError
from podium.data import MOST, Categories, categorical_columns, category_order, is_category


def find_categories(X: Any, categorical_features: Any, init_model: Any, before: Categories | None) -> Categories:
    """Return the categories of X, or those that the trees to go on from mean by their sets.

    Parameters
    ----------
    X : array, frame, table or sparse matrix
    categorical_features : "from_dtype", sequence or None
    init_model : ranker or None
        What the fit goes on from.
    before : Categories or None
        Those of `init_model`, where it is made of trees.
    """
    if before is None:
        found = Categories.learn(X, categorical_features)
        if found.values and init_model is not None:
            raise PodiumError(
                f"init_model must be made of trees where X has categorical columns; got {type(init_model).__name__}."
            )
        return found
    chosen = categorical_columns(X, categorical_features)
    if chosen != sorted(before.values):
        raise PodiumError(
            f"init_model must have the categorical columns of X: {chosen} expected, {sorted(before.values)} given."
        )
    return before


def category_arrays(categories: Categories, names: Any) -> dict[Any, Array]:
    """Return the categories of each categorical column by its name, texts or numbers as numpy has them."""
    arrays = {}
    for column, values in categories.values.items():
        kinds = {isinstance(value, str) for value in values}
        arrays[names[column]] = np.array(values, object if len(kinds) > 1 else None)
    return arrays


def to_lists(categories: Categories) -> list[Any]:
    """Return categories ready for JSON: of each categorical column its number and its values."""
    return [[column, list(values)] for column, values in categories.values.items()]


def from_lists(content: Any, path: str | PathLike[str], n_features: int, names: Any) -> Categories:
    """Return the categories that `to_lists` wrote, each value checked; none of a file that has none."""
    lists = [] if content is None else content
    if not isinstance(lists, list) or not all(_is_entry(one, n_features) for one in lists):
        raise FormatError(path, "the categories must be lists of a column and its different values in their order")
    columns = [column for column, _ in lists]
    if columns != sorted(set(columns)):
        raise FormatError(path, "the categorical columns must be different ones in their order")
    return Categories({column: tuple(values) for column, values in lists}, None if names is None else tuple(names))


def _is_entry(entry: Any, n_features: int) -> bool:
    """Say whether an entry is a column and its categories."""
    if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[1], list):
        return False
    column, values = entry
    if type(column) is not int or not 0 <= column < n_features or not all(map(is_category, values)):
        return False
    return len(values) <= MOST and values == sorted(set(values), key=category_order)
