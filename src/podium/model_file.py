"""Model files: one JSON document, written whole or not at all, and checked when it is read."""

from __future__ import annotations

import json
import os
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from podium._validation import Array, FormatError, PodiumError
from podium._version import __version__

PROTOCOL = 1
"""Number of the file's layout; a reader refuses files of a later one."""
FORMAT = "podium model"


def write_model(path: str | PathLike[str], content: dict[str, Any]) -> None:
    """Write a model to `path`, whole or not at all."""
    document = {"format": FORMAT, "protocol": PROTOCOL, "podium": __version__, **content}
    write_text(path, json.dumps(document, allow_nan=False, default=_plain))


def write_text(path: str | PathLike[str], text: str) -> None:
    """Write a whole file or leave the old one as it was."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | PathLike[str], content: bytes) -> None:
    """Write a whole file or leave the old one as it was."""
    target = Path(path).absolute()
    check_writable(path)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
    finally:
        part.unlink(missing_ok=True)


def check_writable(path: str | PathLike[str]) -> None:
    """Refuse a path that is a folder or lies in none, before any work is spent on what it should hold."""
    target = Path(path).absolute()
    if target.is_dir():
        raise PodiumError(f"{path} is a folder; name a file.")
    if not target.parent.is_dir():
        raise PodiumError(f"The folder of {path} does not exist.")


def read_model(path: str | PathLike[str]) -> dict[str, Any]:
    """Read what `write_model` wrote."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise FormatError(path, "this is not a Podium model file") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FormatError(path, "this is not a Podium model file")
    protocol = content.get("protocol")
    if not isinstance(protocol, int) or protocol > PROTOCOL:
        raise FormatError(path, f"protocol {protocol!r} is later than {PROTOCOL}, which this version reads")
    return content


def to_texts(numbers: Array) -> list[Any]:
    """Return floats for JSON, which reads them back bit for bit; infinities and NaN as texts."""
    return [value if np.isfinite(value) else str(value) for value in numbers.tolist()]


def to_floats(values: Any, path: str | PathLike[str], name: str) -> Array:
    """Return what `to_texts` wrote as float64."""
    try:
        return np.array([float(value) for value in values], np.float64)
    except (TypeError, ValueError):
        raise FormatError(path, f"{name} must be a list of numbers") from None


def _plain(value: Any) -> Any:
    """Return numpy values as plain ones."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"A model file cannot hold a {type(value).__name__}.")
