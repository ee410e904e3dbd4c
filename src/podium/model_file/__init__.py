"""Model files: a zip of JSON and .npy arrays, written whole or not at all, and checked when it is read.

`docs/model-files.md` describes the layout. What a file can make a reader allocate is in proportion to the file's size:
nothing in it is compressed, every size is checked before memory is taken, and no part of it is ever executed.
"""

from __future__ import annotations

import json
from os import SEEK_END, PathLike
from pathlib import Path
from reprlib import repr as short
from typing import Any

from podium._validation import FormatError
from podium._version import __version__
from podium.model_file.archive import pack, unpack
from podium.model_file.arrays import from_npy, to_npy
from podium.model_file.checks import MOST_FEATURES, check_column, check_real, check_whole, to_floats, to_whole
from podium.model_file.values import Unfitted, decode, encode
from podium.model_file.writing import check_writable, write_bytes, write_text

__all__ = [
    "FORMAT",
    "MOST_FEATURES",
    "PROTOCOL",
    "Unfitted",
    "check_column",
    "check_real",
    "check_whole",
    "check_writable",
    "read_model",
    "to_floats",
    "to_whole",
    "write_bytes",
    "write_model",
    "write_text",
]

PROTOCOL = 2
"""Number of the file's layout; a reader refuses files of a later one. 1 was one JSON document."""
FORMAT = "podium model"
DOCUMENT = "model.json"
"""The member that holds everything but the arrays."""
NOT_A_MODEL = "this is not a Podium model file"
MOST_TEXT = 2**28
"""Bytes of the longest JSON document that is read: room for some ten million names of features."""
MOST_BRACKETS = 2**20
"""Most opening brackets of it: an empty list takes two bytes in a file and seventy in memory."""


def write_model(path: str | PathLike[str], content: dict[str, Any]) -> None:
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


def read_model(path: str | PathLike[str]) -> dict[str, Any]:
    """Read what `write_model` wrote, in this protocol or an earlier one."""
    with Path(path).open("rb") as file:
        is_archive = file.read(2) == b"PK"
        if not is_archive and file.seek(0, SEEK_END) > MOST_TEXT:
            raise FormatError(path, NOT_A_MODEL)
        file.seek(0)
        data = file.read()
    if not is_archive:
        return _read_document(data, 1, path)
    members = unpack(data, path)
    document = _read_document(members.pop(DOCUMENT, b""), PROTOCOL, path)
    return decode(document, {name: from_npy(one, name, path) for name, one in members.items()}, path)


def _read_document(data: bytes, protocol: int, path: str | PathLike[str]) -> dict[str, Any]:
    """Return the JSON document of a file, which must be of the given protocol."""
    if len(data) > MOST_TEXT or data.count(b"[") + data.count(b"{") > MOST_BRACKETS:
        raise FormatError(path, "its JSON document is too large")
    try:
        # ValueError: also numbers of too many digits, and bytes that are no text.
        document = json.loads(data.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise FormatError(path, NOT_A_MODEL) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FormatError(path, NOT_A_MODEL)
    given = document.get("protocol")
    if type(given) is not int or given != protocol:
        later = "is later than" if type(given) is int and given > PROTOCOL else "goes with another layout than"
        raise FormatError(path, f"protocol {short(given)} {later} {protocol}, which this version reads here")
    return document


def _no_constant(name: str) -> Any:
    """Refuse NaN and Infinity, which JSON has no words for."""
    raise ValueError(f"{name} is not JSON")
