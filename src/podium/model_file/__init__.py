"""Model files: a zip of JSON and .npy arrays, written whole or not at all, and checked when it is read.

`docs/model-files.md` describes the layout. What a file can make a reader allocate is in proportion to the file's size:
nothing in it is compressed, every size is checked before memory is taken, and no part of it is ever executed.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from reprlib import repr as short
from typing import NoReturn

from podium._types import Json
from podium._validation import FormatError
from podium._version import __version__
from podium.model_file.archive import pack, unpack
from podium.model_file.arrays import from_npy, to_npy
from podium.model_file.schema import (
    FINITE,
    MOST_FEATURES,
    NOT_NEGATIVE,
    POSITIVE,
    REAL,
    Column,
    Scalar,
    Schema,
)
from podium.model_file.values import Content, Unfitted, Value, decode, encode
from podium.model_file.writing import check_writable, try_writing, write_bytes, write_text

__all__ = [
    "FINITE",
    "FORMAT",
    "MOST_FEATURES",
    "NOT_NEGATIVE",
    "POSITIVE",
    "PROTOCOL",
    "REAL",
    "Column",
    "Content",
    "Scalar",
    "Schema",
    "Unfitted",
    "Value",
    "check_writable",
    "read_model",
    "try_writing",
    "write_bytes",
    "write_model",
    "write_text",
]

PROTOCOL = 1
"""Number of the file's layout; a reader refuses files of a later one."""
FORMAT = "podium model"
ARCHIVE = b"PK"
"""How a zip begins."""
DOCUMENT = "model.json"
"""The member that holds everything but the arrays."""
NOT_A_MODEL = "this is not a Podium model file"
MAX_DOCUMENT_BYTES = 2**28
"""Bytes of the longest JSON document that is read: room for some ten million names of features."""
MOST_BRACKETS = 2**20
"""Most opening brackets of it: an empty list takes two bytes in a file and seventy in memory."""


def write_model(path: str | PathLike[str], content: Content) -> None:
    """Write a model to `path`, whole or not at all; the same content gives the same bytes.

    Parameters
    ----------
    path : path
    content : dict
        Plain values, tuples, dicts, numpy numbers and arrays of them, and `Unfitted` rankers, nested in any way.
    """
    document, arrays = encode({"format": FORMAT, "protocol": PROTOCOL, "podium": __version__, **content})
    members = {DOCUMENT: json.dumps(document, allow_nan=False).encode()}
    members.update((name, to_npy(array)) for name, array in sorted(arrays.items()))
    write_bytes(path, pack(members))


def read_model(path: str | PathLike[str]) -> Content:
    """Read what `write_model` wrote."""
    with Path(path).open("rb") as file:
        start = file.read(len(ARCHIVE))
        if start != ARCHIVE:
            raise FormatError(path, NOT_A_MODEL)
        members = unpack(start + file.read(), path)
    document = _read_document(members.pop(DOCUMENT, b""), path)
    return decode(document, {name: from_npy(one, name, path) for name, one in members.items()}, path)


def _read_document(data: bytes, path: str | PathLike[str]) -> dict[str, Json]:
    """Return the JSON document of a file, which must be of our protocol."""
    if len(data) > MAX_DOCUMENT_BYTES or data.count(b"[") + data.count(b"{") > MOST_BRACKETS:
        raise FormatError(path, "its JSON document is too large")
    try:
        # ValueError: also numbers of too many digits, and bytes that are no text.
        document = json.loads(data.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise FormatError(path, NOT_A_MODEL) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FormatError(path, NOT_A_MODEL)
    protocol = document.get("protocol")
    if type(protocol) is not int or protocol != PROTOCOL:
        later = "is later than" if type(protocol) is int and protocol > PROTOCOL else "is not"
        raise FormatError(path, f"protocol {short(protocol)} {later} {PROTOCOL}, which this version reads")
    return document


def _no_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which JSON has no words for."""
    raise ValueError(f"{name} is not JSON")
