"""Candidate thresholds that a user gives, in the place of values or quantiles of the data.

WeakLearn of Freund, Iyer, Schapire and Singer (2003), Figure 3, takes a set of candidate thresholds {θ_j}; a stump is 1
where the feature is above one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from podium._compiled import SCORE
from podium._validation import Array, PodiumError, near_matches

Thresholds: TypeAlias = Mapping[str, ArrayLike] | Mapping[int, ArrayLike] | Sequence[ArrayLike | None] | Array
"""Thresholds as users may give them: by column, for each column, or one list for all."""


def candidate_thresholds(
    given: Thresholds | None, n_features: int, names: tuple[str, ...] | None, dtype: np.dtype[np.floating]
) -> list[Array | None] | None:
    """Return the thresholds of each feature, ascending; None for a feature, or for all of them, without any.

    Parameters
    ----------
    given : mapping, sequence or None
        A mapping from the name or number of a column to its thresholds; or a sequence with one entry for each feature,
        each a sequence of thresholds or None; or one sequence of numbers for all features.
    n_features : int
    names : tuple of str or None
        Names of the columns.
    dtype : dtype
        Kind of the features. A threshold that float32 does not hold is rounded down to one that does, which parts
        float32 features alike.
    """
    if given is None:
        return None
    if isinstance(given, Mapping):
        found: list[Array | None] = [None] * n_features
        for column, values in given.items():
            number = _column_number(column, n_features, names)
            found[number] = _check_values(values, f"thresholds[{column!r}]", dtype)
        return found
    entries = list(given)
    if all(one is not None and np.ndim(one) == 0 for one in entries):
        return [_check_values(entries, "thresholds", dtype)] * n_features
    if len(entries) != n_features:
        raise PodiumError(
            "thresholds must be one list of numbers for all features, a list with an entry for each of the "
            f"{n_features} features, or a mapping from columns to lists; got a list of {len(entries)} entries."
        )
    return [None if one is None else _check_values(one, f"thresholds[{j}]", dtype) for j, one in enumerate(entries)]


def uppers_of_given(values: Array, thresholds: Array) -> Array:
    """Return the uppermost value of each bin of one feature whose thresholds are given.

    Of thresholds that part the values alike the lowest is kept, and none that has all values on one side, so that no
    bin is empty and no stump is there twice.
    """
    occupied = np.unique(np.searchsorted(thresholds, values[~np.isnan(values)]))
    uppers = np.append(thresholds, np.inf)[occupied].astype(values.dtype)
    uppers[-1:] = np.inf
    return uppers


def _column_number(column: object, n_features: int, names: tuple[str, ...] | None) -> int:
    """Return the number of a column given by number or name."""
    if isinstance(column, str):
        if names is None or column not in names:
            known = (
                "X has no names of columns" if names is None else f"X has no such column{near_matches(column, names)}"
            )
            raise PodiumError(f"thresholds names the column {column!r}, but {known}.")
        return names.index(column)
    if isinstance(column, bool) or not isinstance(column, int | np.integer) or not 0 <= column < n_features:
        raise PodiumError(
            f"thresholds must have names or numbers from 0 to {n_features - 1} of columns of X as keys; got {column!r}."
        )
    return int(column)


def _check_values(values: ArrayLike, name: str, dtype: np.dtype[np.floating]) -> Array:
    """Return the thresholds of one feature as distinct floats in ascending order."""
    try:
        numbers = np.asarray(values, SCORE)
    except (TypeError, ValueError):
        raise PodiumError(f"{name} must be a list of numbers; got {values!r}.") from None
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise PodiumError(f"{name} must be a list of finite numbers; got {values!r}.")
    numbers = numbers + 0.0  # the sum turns -0.0 into 0.0
    if dtype == np.float32:
        with np.errstate(over="ignore"):
            single = numbers.astype(np.float32)
        numbers = np.where(single > numbers, np.nextafter(single, np.float32(-np.inf)), single).astype(SCORE)
        numbers = numbers[np.isfinite(numbers)]
    return np.unique(numbers)
