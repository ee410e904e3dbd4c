"""Models of other programs: one file a format, each from bytes to a checked record; nothing in them is run."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path

from podium._validation import FormatError, check_choice
from podium.importing.foreign_model import ForeignColumns, Imported, Reading
from podium.importing.lightgbm import read_lightgbm
from podium.importing.ranklib_model import read_ranklib
from podium.importing.xgboost import read_xgboost
from podium.importing.xgboost_dump import read_xgboost_dump

__all__ = ["FORMATS", "ForeignColumns", "Imported", "Reading", "read_foreign"]

FORMATS: dict[str, Callable[[bytes, str | PathLike[str], ForeignColumns], Imported]] = {
    "lightgbm": read_lightgbm,
    "xgboost": read_xgboost,
    "xgboost-json": read_xgboost_dump,
    "ranklib": read_ranklib,
}
"""Reader of each format; ``xgboost-json`` is the dump, ``xgboost`` the model file."""
BEGINNINGS = {b"tree": "lightgbm", b"{": "xgboost", b"[": "xgboost-json", b"##": "ranklib"}
"""What the files of each format begin with."""
BEGINNING_BYTES = 64
"""Bytes in which the beginning must stand, white space before it."""


def read_foreign(path: str | PathLike[str], file_format: str, columns: ForeignColumns) -> Imported:
    """Return the model in a file of another program; ``auto`` tells the format by how the file begins."""
    check_choice(file_format, ("auto", *FORMATS), "format")
    data = Path(path).read_bytes()
    if file_format == "auto":
        begins = data[:BEGINNING_BYTES].lstrip()
        file_format = next((name for start, name in BEGINNINGS.items() if begins.startswith(start)), "")
    if not file_format:
        raise FormatError(path, f"the file does not begin like one of the formats {', '.join(FORMATS)}")
    return FORMATS[file_format](data.lstrip(), path, columns)
