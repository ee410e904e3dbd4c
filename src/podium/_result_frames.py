"""Results as frames of pandas or polars, whichever the caller has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pandas
    import polars

Columns: TypeAlias = Mapping[str, Sequence[Any]]
"""Values of each column by its name."""


class Framed(ABC):
    """A result that has columns, and so a frame of each library."""

    @abstractmethod
    def columns(self) -> Columns:
        """Return the values of each column by its name."""

    def to_pandas(self) -> pandas.DataFrame:
        """Return the `columns` as a pandas frame."""
        return _library("pandas").DataFrame(dict(self.columns()))

    def to_polars(self) -> polars.DataFrame:
        """Return the `columns` as a polars frame; a column of numbers and texts holds texts there."""
        return _library("polars").DataFrame(dict(self.columns()), strict=False)


def _library(name: str) -> Any:
    """Return a library of frames, or say how to get it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ImportError(f'This frame needs {name}: install it with pip install "podium[tables]".') from None
