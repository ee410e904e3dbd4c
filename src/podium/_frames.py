"""Frames, tables and columns of other libraries: their names, kinds and values, whichever library they are of."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from podium._errors import PodiumError
from podium._types import Array, Frame

CATEGORY_TYPES = ("CategoricalDtype", "Categorical", "Enum", "DictionaryType")
"""Names of the types of columns of categories: in pandas, in polars (two) and in pyarrow."""


def is_frame(X: object, name: str = "X") -> TypeGuard[Frame]:
    """Say whether X, called `name` in errors, has named columns, as pandas and polars frames and pyarrow tables do."""
    if type(X).__name__ == "LazyFrame":
        raise PodiumError(f"{name} is a lazy frame; call its collect() first.")
    return hasattr(X, "columns") or hasattr(X, "column_names")


def frame_names(frame: Frame, name: str = "X") -> list[Any]:
    """Column labels of a pandas or polars frame or a pyarrow table, each once."""
    names = list(frame.column_names if hasattr(frame, "column_names") else frame.columns)
    repeated = [one for one in names if names.count(one) > 1] if len(set(names)) < len(names) else []
    if repeated:
        raise PodiumError(f"{name} has more than one column {repeated[0]!r}; rename them.")
    return names


def category_kind(column: object) -> str | None:
    """Return the name of the type of a column of categories, None for any other column."""
    held = getattr(column, "dtype", None)
    held = getattr(column, "type", None) if held is None else getattr(held, "pyarrow_dtype", held)
    name = type(held).__name__
    return name if name in CATEGORY_TYPES else None


def column_values(column: Any) -> Array:
    """One column of a table or matrix as a numpy array, nulls as NaN where its numbers allow it."""
    if not hasattr(column, "array"):
        return to_array(column)
    try:
        return np.asarray(column.to_numpy(na_value=np.nan))
    except (TypeError, ValueError):
        return np.asarray(column.to_numpy())


def to_array(values: object, name: str = "It") -> Array:
    """Return a numpy array of a sequence, series or arrow column; refuse masked entries and ragged lists by `name`."""
    if hasattr(values, "to_numpy"):
        arrow = type(values).__module__.startswith("pyarrow") and hasattr(values, "buffers")
        return np.asarray(values.to_numpy(zero_copy_only=False) if arrow else values.to_numpy())
    masked = np.flatnonzero(masked_entries(values))
    if len(masked):
        raise PodiumError(f"{name} must have no masked values; entry {masked[0]} is masked ({len(masked)} such).")
    return plain_array(values, name)


def plain_array(values: object, name: str) -> Array:
    """Return ``np.asarray(values)``, or refuse by `name` a list whose entries differ in length."""
    try:
        return np.asarray(values)
    except ValueError:
        raise PodiumError(f"{name} must be an array; got a list whose entries have different lengths.") from None


def masked_entries(values: object) -> Array:
    """Say of each entry of a masked array, or of a list that holds masked arrays or constants, whether it is masked."""
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.getmaskarray(values)
    if isinstance(values, list | tuple):
        return np.array([isinstance(one, np.ma.MaskedArray) and bool(np.ma.getmaskarray(one).any()) for one in values])
    return np.zeros(0, np.bool_)
