"""JSON documents of other programs, looked into step by step, so that an error can say where."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any

from podium._types import Json
from podium._validation import Array, FormatError
from podium.importing.foreign_trees import to_numbers, to_whole_number, to_whole_numbers


def read_json(data: bytes | str, path: str | PathLike[str]) -> Json:
    """Return the document of a JSON text."""
    try:
        document: Json = json.loads(data)
        return document
    except json.JSONDecodeError as error:
        raise FormatError(path, f"this is no JSON: {error.msg}", error.lineno) from None
    except (ValueError, RecursionError):  # not UTF-8, a number of thousands of digits, thousands of brackets
        raise FormatError(path, "this is no JSON that a model can be in") from None


class Part:
    """A table within a document, and where it stands there.

    Parameters
    ----------
    content : object
        What should be a table.
    place : str
        Names from the top, such as ``learner.objective``.
    path : str or path-like
        The file.
    """

    def __init__(self, content: object, place: str, path: str | PathLike[str]) -> None:
        if not isinstance(content, dict):
            raise FormatError(path, f"{place or 'the document'} must be a table of names and values")
        self.content, self.place, self.path = content, place, path

    def at(self, name: str) -> str:
        """Return the place of an entry."""
        return f"{self.place}.{name}".lstrip(".")

    def get(self, name: str, default: Json = None) -> Any:
        """Return an entry; an error if there is none and no default."""
        value = self.content.get(name, default)
        if value is None:
            raise FormatError(self.path, f"there is no {self.at(name)}")
        return value

    def part(self, name: str) -> Part:
        """Return a table within this one."""
        return Part(self.get(name), self.at(name), self.path)

    def parts(self, name: str) -> list[Part]:
        """Return the tables of a list."""
        return [Part(one, f"{self.at(name)}[{i}]", self.path) for i, one in enumerate(self.sequence(name))]

    def sequence(self, name: str) -> Any:
        """Return a list or an array."""
        value = self.get(name)
        if isinstance(value, str | dict) or not hasattr(value, "__len__"):
            raise FormatError(self.path, f"{self.at(name)} must be a list")
        return value

    def whole(self, name: str, least: int, most: int, default: int | None = None) -> int:
        """Return an integer."""
        return to_whole_number(self.get(name, default), least, most, self.path, self.at(name))

    def numbers(self, name: str, n_values: int) -> Array:
        """Return an array of numbers."""
        return to_numbers(self.sequence(name), n_values, self.path, self.at(name))

    def whole_numbers(self, name: str, n_values: int, least: int, most: int) -> Array:
        """Return an array of integers."""
        return to_whole_numbers(self.sequence(name), n_values, least, most, self.path, self.at(name))
