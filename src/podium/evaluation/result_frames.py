"""Results as frames of pandas or polars, whichever the caller has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias

from podium._types import Frame

Columns: TypeAlias = Mapping[str, Sequence[Any]]
"""Values of each column by its name."""


def pandas_frame(columns: Columns) -> Frame:
    """Return columns as a pandas frame."""
    return _frame("pandas", columns)


def polars_frame(columns: Columns) -> Frame:
    """Return columns as a polars frame."""
    return _frame("polars", columns)


def _frame(package: str, columns: Columns) -> Frame:
    """Return columns as a frame of a package, or say how to get it."""
    try:
        made: Frame = import_module(package).DataFrame(dict(columns))
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise ImportError(f'This frame needs {package}: install it with pip install "podium[tables]".') from None
    return made
