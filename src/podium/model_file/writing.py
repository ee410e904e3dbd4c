"""Files that are written whole or not at all: the one home of writing in the library.

A new file has the mode of the umask, an old one keeps its mode; a symbolic link stays and the file it leads to is
written. What is no regular file (a pipe, a device, an open descriptor such as /dev/stdout) is written into.
"""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE, S_ISREG

from podium._validation import PodiumError

NEW_MODE = 0o666
"""Mode of a new file, less what the umask takes."""
MOST_LINKS = 40
"""Symbolic links that Linux follows in a path."""


def write_bytes(path: str | PathLike[str], data: bytes) -> None:
    """Write a whole file or leave the old one as it was."""
    check_writable(path)
    try:
        descriptor = _own_descriptor(path)
        mode = _mode_of(path)
        if descriptor is not None:
            _write_descriptor(descriptor, data)
        elif mode is not None and not S_ISREG(mode):
            with open(path, "wb") as file:
                file.write(data)
        else:
            _replace(Path(os.path.realpath(path)), data, mode)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def write_text(path: str | PathLike[str], text: str) -> None:
    """Write a whole file of text or leave the old one as it was."""
    write_bytes(path, text.encode())


def check_writable(path: str | PathLike[str]) -> None:
    """Refuse a path that is a folder or lies in none, before any work is spent on what it should hold."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise PodiumError(f"{path} is a folder; name a file.")
    if not target.parent.is_dir():
        raise PodiumError(f"The folder of {path} does not exist.")


def try_writing(path: str | PathLike[str]) -> None:
    """Fail now where a new file could not be written, before any work is spent on what it should hold."""
    check_writable(path)
    target, mode = Path(os.path.realpath(path)), _mode_of(path)
    if _own_descriptor(path) is not None or (mode is not None and not S_ISREG(mode)):
        return
    part = _part_beside(target)
    try:
        part.open("xb").close()
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    part.unlink()


def _replace(target: Path, data: bytes, mode: int | None) -> None:
    """Write a part file in the same folder and rename it to the target.

    The part file's name is random, so that threads and processes do not share one, and short, so that every name
    that a file may have can be saved to.
    """
    allowed = NEW_MODE if mode is None else S_IMODE(mode)
    part = _part_beside(target)
    try:
        # Opened with the old file's mode at most: nobody else reads the part of a private file.
        with open(part, "xb", opener=lambda name, flags: os.open(name, flags, allowed & NEW_MODE)) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None and S_IMODE(part.stat().st_mode) != allowed:
            part.chmod(allowed)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _part_beside(target: Path) -> Path:
    """Return a new name in the folder of a file."""
    return target.with_name(f".podium-{token_hex(8)}.part")


def _write_descriptor(descriptor: int, data: bytes) -> None:
    """Write where an open descriptor stands: after what was written to it before, and without cutting that off."""
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)


def _mode_of(path: str | PathLike[str]) -> int | None:
    """Return the kind and mode of what a path leads to; None where there is nothing yet."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _own_descriptor(path: str | PathLike[str]) -> int | None:
    """Return the open descriptor of this process that a path such as /dev/stdout or /dev/fd/1 leads to, if any."""
    folder, link = os.path.realpath("/dev/fd"), os.path.abspath(path)
    for _ in range(MOST_LINKS):
        parent, name = os.path.split(link)
        if name.isdecimal() and os.path.realpath(parent) == folder:
            return int(name)
        if not os.path.islink(link):
            return None
        link = os.path.join(parent, os.readlink(link))
    return None
