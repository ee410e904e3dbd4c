"""Checks of what a model file holds: numbers in their range, columns of one dimension."""

from __future__ import annotations

import sys
from os import PathLike
from reprlib import repr as short
from typing import Any

import numpy as np

from podium._validation import Array, FormatError

LARGEST = 2**63 - 1
MOST_FEATURES = 2**31 - 1
"""Features of a model: they are numbered by int32."""


def check_whole(value: Any, path: str | PathLike[str], name: str, low: int = 0, high: int = LARGEST) -> int:
    """Return a whole number of a file, if it is one from `low` to `high`."""
    if type(value) is not int or not low <= value <= high:
        limit = f"at least {low}" if high == LARGEST else f"from {low} to {high}"
        raise FormatError(path, f"{name} must be a whole number, {limit}; got {short(value)}")
    return value


def check_real(value: Any, path: str | PathLike[str], name: str) -> float:
    """Return a finite number of a file."""
    if type(value) not in (int, float) or not abs(value) <= sys.float_info.max:
        raise FormatError(path, f"{name} must be a finite number; got {short(value)}")
    return float(value)


def to_floats(values: Any, path: str | PathLike[str], name: str) -> Array:
    """Return a column of a file as float64: an array, or what protocol 1 wrote, a list with infinities as texts."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values.astype(np.float64)
    try:
        if isinstance(values, list):
            return np.array([float(value) for value in values], np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise FormatError(path, f"{name} must be a list of numbers")


def check_column(values: Any, path: str | PathLike[str], name: str, length: int) -> Array:
    """Return a column of a file as float64, if it has so many numbers, all finite."""
    column = to_floats(values, path, name)
    if len(column) != length or not np.isfinite(column).all():
        raise FormatError(path, f"{name} must hold {length} finite numbers")
    return column


def to_whole(values: Any, path: str | PathLike[str], name: str, low: int, high: int, kind: Any = np.int64) -> Array:
    """Return a column of a file as whole numbers from `low` to `high`, of a kind that holds them."""
    whole = isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biu"
    numbers = values if whole else to_floats(values, path, name)
    if not np.all((numbers >= low) & (numbers <= high)) or not (whole or np.all(numbers == np.floor(numbers))):
        raise FormatError(path, f"{name} must be a list of whole numbers from {low} to {high}")
    return numbers.astype(kind)
