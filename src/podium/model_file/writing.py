"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

from podium._validation import PodiumError


def write_bytes(path: str | PathLike[str], data: bytes) -> None:
    """Write a whole file or leave the old one as it was."""
    target = Path(path).absolute()
    check_writable(path)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from None
    finally:
        part.unlink(missing_ok=True)


def write_text(path: str | PathLike[str], text: str) -> None:
    """Write a whole file of text or leave the old one as it was."""
    write_bytes(path, text.encode())


def check_writable(path: str | PathLike[str]) -> None:
    """Refuse a path that is a folder or lies in none, before any work is spent on what it should hold."""
    target = Path(path).absolute()
    if target.is_dir():
        raise PodiumError(f"{path} is a folder; name a file.")
    if not target.parent.is_dir():
        raise PodiumError(f"The folder of {path} does not exist.")
