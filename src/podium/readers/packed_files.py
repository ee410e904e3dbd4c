"""Packed files, known by their first bytes and not by their names: gzip, xz and zstandard."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from podium._validation import FormatError, PodiumError


@contextmanager
def open_unpacked(path: str | PathLike[str]) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Open `path` and give its bytes, unpacked where they are packed, and the file as it lies on disk."""
    with open(path, "rb") as packed:
        start = packed.peek(LONGEST_MAGIC)
        kind = next((one for one in PACKINGS if start.startswith(one.magic)), None)
        if kind is None:
            yield packed, packed
            return
        with _named_damage(path, kind), kind.unpack(packed) as stream:
            yield stream, packed


def packed_for(path: str | PathLike[str], data: bytes) -> bytes:
    """Return what a file of this name should hold: packed where it ends in .gz, .xz or .zst."""
    ending = Path(path).suffix
    if ending == ".gz":
        return gzip.compress(data, mtime=0)
    if ending == ".xz":
        return lzma.compress(data)
    return _pack_zstandard(data) if ending == ".zst" else data


def _pack_zstandard(data: bytes) -> bytes:
    try:
        arrow = import_module("pyarrow")
    except ImportError as error:
        raise PodiumError('Writing .zst files needs pyarrow: pip install "podium[tables]".') from error
    packed: bytes = arrow.compress(data, codec="zstd", asbytes=True)
    return packed


@contextmanager
def _named_damage(path: str | PathLike[str], kind: Packing) -> Iterator[None]:
    """Say of a file that cannot be unpacked which one it is and what to do."""
    try:
        yield
    except EOFError as error:
        raise FormatError(path, f"the {kind.ending} ends too early; copy or download the whole file again") from error
    except kind.errors as error:
        raise FormatError(path, f"the {kind.ending} is damaged ({error}); copy or download it again") from error


def _open_gzip(packed: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, gzip.GzipFile(fileobj=packed))


def _open_xz(packed: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, lzma.LZMAFile(packed))


def _open_zstandard(packed: BinaryIO) -> BinaryIO:
    """Unpack by Python's own module, which 3.14 has, else by pyarrow."""
    try:
        return cast(BinaryIO, import_module("compression.zstd").ZstdFile(packed))
    except ImportError:
        pass
    try:
        arrow = import_module("pyarrow")
    except ImportError as error:
        raise PodiumError('Reading .zst files needs pyarrow: pip install "podium[tables]".') from error
    return io.BufferedReader(_Zstandard(arrow.CompressedInputStream(packed, "zstd")))


class _Zstandard(io.RawIOBase):
    """What pyarrow unpacks, as a file of Python; its errors are `_DamagedZstandard`."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        """Return True, as Python asks of a file to read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as there is something."""
        try:
            data = self._stream.read(len(buffer))
        except OSError as error:
            raise _DamagedZstandard(str(error)) from error
        buffer[: len(data)] = data
        return len(data)


class _DamagedZstandard(Exception):
    """What pyarrow says of a file that it cannot unpack; it says so by an OSError, as of a disk that fails."""


class Packing(NamedTuple):
    """One way to pack files: its first bytes, the usual ending, what unpacks it, and what that raises."""

    magic: bytes
    ending: str
    unpack: Callable[[BinaryIO], BinaryIO]
    errors: tuple[type[Exception], ...]


PACKINGS = (
    Packing(b"\x1f\x8b", ".gz", _open_gzip, (gzip.BadGzipFile, zlib.error)),
    Packing(b"\xfd7zXZ\x00", ".xz", _open_xz, (lzma.LZMAError,)),
    Packing(b"\x28\xb5\x2f\xfd", ".zst", _open_zstandard, (_DamagedZstandard,)),
)
LONGEST_MAGIC = max(len(kind.magic) for kind in PACKINGS)
PACKED_ENDINGS = tuple(kind.ending for kind in PACKINGS)
