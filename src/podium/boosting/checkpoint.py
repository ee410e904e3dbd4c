"""The file that keeps the rounds of a fit while it goes on, so that a killed one can be gone on from."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from podium._validation import Array, PodiumError
from podium.model_file import Content, check_writable, read_model, write_model

AnyRound = TypeVar("AnyRound")


def fingerprint(parameters: Mapping[str, object], columns: Sequence[Array | None]) -> str:
    """Return a digest of what a checkpoint belongs to: the training data, and all that changes a round.

    Parameters
    ----------
    parameters : dict
        Values, arrays, estimators, and lists and dicts of these.
    columns : sequence of ndarray or None
        The training data, rows in their canonical order.
    """
    digest = hashlib.sha256(repr(_all_of(parameters)).encode())
    for column in columns:
        digest.update(b"-" if column is None else _bytes_of(column))
    return digest.hexdigest()


def _bytes_of(column: Array) -> bytes:
    """Return the contents of an array; what it holds of objects, such as dates, is where they lie."""
    return repr(column.tolist()).encode() if column.dtype.hasobject else np.ascontiguousarray(column).tobytes()


def _all_of(value: object) -> object:
    """Return a value whose text has every number: that of a long array, or of an estimator, leaves out some."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return [(key, _all_of(value[key])) for key in sorted(value, key=repr)]
    if isinstance(value, list | tuple):
        return [_all_of(one) for one in value]
    if hasattr(value, "get_params"):
        return type(value).__name__, _all_of(value.get_params(deep=False))
    return value


class Checkpoint(Generic[AnyRound]):
    """The file that keeps the rounds of a fit; it never gets shorter.

    Parameters
    ----------
    path : path
        Of a regular file, which need not be there yet.
    fingerprint : str
        Of the fit; a file of another fit is refused.
    to_content, from_content : callable
        ``to_content(rounds)`` is what a file keeps of rounds, ``from_content(content, path)`` the checked rounds.

    Attributes
    ----------
    rounds : list
        Those that the file had at the start, none where there was no file.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        fingerprint: str,
        to_content: Callable[[Sequence[AnyRound]], Content],
        from_content: Callable[[Content, str | PathLike[str]], list[AnyRound]],
    ) -> None:
        self.path, self.fingerprint, self._to_content = path, fingerprint, to_content
        content = self._read()
        self.rounds: list[AnyRound] = [] if content is None else from_content(content, path)
        self._n_kept, self._warned = len(self.rounds), False

    def save(self, rounds: Sequence[AnyRound]) -> None:
        """Keep the rounds so far, if they are more than the file has.

        A file that cannot be written, on a full disk say, is warned of once: the fit is worth more than its checkpoint.
        """
        if len(rounds) <= self._n_kept:
            return
        content = {"checkpoint": self.fingerprint, **self._to_content(rounds)}
        try:
            write_model(self.path, content)
        except (OSError, PodiumError) as error:  # the latter where its folder is gone
            self._warn(error)
        else:
            self._n_kept = len(rounds)

    def _warn(self, error: Exception) -> None:
        """Say, the first time, that the checkpoint is not kept."""
        why = error.strerror if isinstance(error, OSError) else str(error).rstrip(".")
        if not self._warned:
            warnings.warn(f"The checkpoint {self.path} is not kept ({why}); the fit goes on.", stacklevel=2)
        self._warned = True

    def _read(self) -> Content | None:
        """Return what the file keeps, None where there is none; refuse that of another fit."""
        if not Path(self.path).exists():
            return None
        content: Content = read_model(self.path)
        if content.get("checkpoint") != self.fingerprint:
            raise PodiumError(
                f"The checkpoint {self.path} belongs to other data or other parameters; "
                "delete it or name another file to start anew."
            )
        return content


def check_checkpoint(path: str | PathLike[str]) -> None:
    """Refuse a path that cannot be written to, or not read again, before a fit begins."""
    check_writable(path)
    if Path(path).exists() and not Path(path).is_file():
        raise PodiumError(f"checkpoint must name a file that can be read again; {path} is a pipe or a device.")
