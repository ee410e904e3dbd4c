"""Standard input as a file: readers go through a file twice, and a pipe can be gone through once."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from typing import TypeVar

from podium._validation import PodiumError

T = TypeVar("T")
STANDARD_INPUT = "-"
"""How a command line names it."""
INPUT_NAME = "standard input"
"""How messages name it."""


class InputCopy(PathLike[str]):
    """The path of a copy of standard input; messages call it by what it is.

    Parameters
    ----------
    path : str
        Of the copy.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    @property
    def name(self) -> str:
        """What it is called, as paths have it."""
        return INPUT_NAME

    def __fspath__(self) -> str:
        return self._path

    def __str__(self) -> str:
        return INPUT_NAME


def called(path: PathLike[str]) -> str:
    """Return what messages call a file that a command line names."""
    return INPUT_NAME if str(path) == STANDARD_INPUT else str(path)


@contextmanager
def file_or_input(path: PathLike[str]) -> Iterator[PathLike[str]]:
    """Give a path that can be opened: as it is, or of a copy of standard input for ``-``."""
    if str(path) != STANDARD_INPUT:
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="podium-") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        if copy.tell() == 0:
            raise PodiumError("Standard input is empty; it can be read once, so give - for one file alone.")
        copy.flush()
        yield InputCopy(copy.name)


def read_from(path: PathLike[str], read: Callable[[PathLike[str]], T]) -> T:
    """Return what a reader makes of a file or of standard input."""
    with file_or_input(path) as file:
        return read(file)
