"""UBJSON, the binary JSON that XGBoost writes: bytes to dicts, lists, strings, numbers and arrays.

Nothing is allocated by what a length claims: an array must fit into the bytes that are left.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from os import PathLike
from typing import TypeAlias

import numpy as np

from podium._validation import Array, FormatError

Document: TypeAlias = "str | float | Array | list[Document] | dict[str, Document] | None"
"""A document, or a value in it."""
NUMBERS = {"i": "b", "U": "B", "I": "h", "l": "i", "L": "q", "d": "f", "D": "d"}
"""The struct letter of each kind of number, big-endian."""
CONSTANTS = {"Z": None, "T": True, "F": False}
MAX_LEVELS = 64
"""Levels of nesting; XGBoost's files have eight."""


def read_ubjson(data: bytes, path: str | PathLike[str]) -> Document:
    """Return the document that a UBJSON file holds."""
    reader = _Reader(data, path)
    document = reader.value(reader.kind(), 0)
    if reader.at != len(data):
        raise reader.broken("bytes are left after the document")
    return document


class _Reader:
    """A place in the bytes, and what stands there."""

    def __init__(self, data: bytes, path: str | PathLike[str]) -> None:
        self.data, self.path, self.at = data, path, 0

    def broken(self, problem: str) -> FormatError:
        """Return the error that names this place."""
        return FormatError(self.path, f"byte {self.at} of the UBJSON: {problem}")

    def take(self, size: int) -> bytes:
        """Return the next bytes."""
        if not 0 <= size <= len(self.data) - self.at:
            raise self.broken(f"{size} bytes are expected and {len(self.data) - self.at} are left")
        self.at += size
        return self.data[self.at - size : self.at]

    def kind(self) -> str:
        """Return the letter that says what comes, past letters for nothing."""
        letter = "N"
        while letter == "N":
            letter = self.take(1).decode("latin-1")
        return letter

    def comes(self, letter: str) -> bool:
        """Take a letter if it is the next one."""
        found = self.data[self.at : self.at + 1] == letter.encode()
        self.at += found
        return found

    def value(self, kind: str, depth: int) -> Document:
        """Return the value of some kind that stands here."""
        if depth > MAX_LEVELS:
            raise self.broken("values are nested too deeply")
        if kind in CONSTANTS:
            return CONSTANTS[kind]
        if kind in NUMBERS:
            return self.number(kind)
        read: dict[str, Callable[[], Document]] = {
            "S": self.text, "C": self.letter, "[": lambda: self.array(depth), "{": lambda: self.table(depth),
        }  # fmt: skip
        if kind not in read:
            raise self.broken(f"{kind!r} is no kind of value")
        return read[kind]()

    def number(self, kind: str) -> float:
        """Return a number."""
        code = ">" + NUMBERS[kind]
        number: float = struct.unpack(code, self.take(struct.calcsize(code)))[0]
        return number

    def size(self) -> int:
        """Return a length."""
        kind = self.kind()
        size = self.number(kind) if kind in NUMBERS else -1
        if not isinstance(size, int) or size < 0:
            raise self.broken("a length must be an integer, not negative")
        return size

    def text(self) -> str:
        """Return a text."""
        try:
            return self.take(self.size()).decode("utf-8")
        except UnicodeDecodeError:
            raise self.broken("a text is not in UTF-8") from None

    def letter(self) -> str:
        """Return one character."""
        return self.take(1).decode("latin-1")

    def array(self, depth: int) -> Document:
        """Return an array: of numpy where the file gives one kind for all, else a list."""
        kind = self.kind() if self.comes("$") else None
        size = self.size() if self.comes("#") else None
        if kind in NUMBERS and size is not None:
            dtype = np.dtype(">" + NUMBERS[kind])
            return np.frombuffer(self.take(size * dtype.itemsize), dtype)
        if kind is not None or (size or 0) > len(self.data) - self.at:
            raise self.broken("an array of one kind must be of numbers, and as long as it says")
        found: list[Document] = []
        while len(found) != size if size is not None else not self.comes("]"):
            found.append(self.value(self.kind(), depth + 1))
        return found

    def table(self, depth: int) -> dict[str, Document]:
        """Return names and values."""
        found: dict[str, Document] = {}
        while not self.comes("}"):
            name = self.text()
            found[name] = self.value(self.kind(), depth + 1)
        return found
