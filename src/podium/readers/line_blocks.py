"""The bytes of a file, in blocks that end where a line ends.

Compressed files are known by their first bytes, not by their name; binary files are refused with what they
look like; a bar shows the way through large ones.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, TypeAlias

from podium._validation import FormatError
from podium.readers.packed_files import open_unpacked

PathLike: TypeAlias = "str | os.PathLike[str]"

BLOCK_BYTES = 1 << 22
"""Read at a time: large enough that a block costs the interpreter nothing, small beside any result."""
PROGRESS_BYTES = 50_000_000
"""Files above this size get a bar by themselves: below it a reader is done before the eye has found it."""

_BOM = b"\xef\xbb\xbf"
_KNOWN = {
    b"PAR1": "a Parquet file; read it with read_parquet",
    b"\x89PNG": "a PNG image",
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"BZh": "a bzip2 file; unpack it first or pack it with gzip",
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
}


def line_blocks(path: PathLike, progress: bool | None = None) -> Iterator[bytes]:
    """Give the file's bytes in blocks that each end with a newline, which the last line is lent if need be.

    Lines may end with LF, CRLF or CR, also in one file; in the blocks they end with LF.

    Parameters
    ----------
    path : str or path-like
        A text file, plain or packed. A byte-order mark at its start is left out.
    progress : bool, optional
        Show a bar on stderr. None shows one for files above 50 MB when stderr is a terminal.
    """
    with open_unpacked(path) as (stream, packed), _bar(path, packed, progress) as advance:
        rest: list[bytes] = []
        for chunk in _newline_chunks(path, stream):
            cut = chunk.rfind(b"\n") + 1
            if cut:
                yield b"".join([*rest, chunk[:cut]])
                rest = []
            rest.append(chunk[cut:])
            advance()
        last = b"".join(rest)
        if last:
            yield last + b"\n"


def _newline_chunks(path: PathLike, stream: BinaryIO) -> Iterator[bytes]:
    """Give a text file's bytes as they are read, with LF for every end of a line."""
    chunk = stream.read(BLOCK_BYTES)
    refuse_binary(path, chunk)
    chunk = chunk.removeprefix(_BOM)
    while chunk:
        while chunk.endswith(b"\r") and (following := stream.read(1)):  # which may be the LF of a CRLF
            chunk += following
        yield chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in chunk else chunk
        chunk = stream.read(BLOCK_BYTES)


def refuse_binary(path: PathLike, start: bytes) -> None:
    """Raise if the file's first bytes are of a known binary format or hold a NUL."""
    for magic, name in _KNOWN.items():
        if start.startswith(magic):
            raise FormatError(path, f"expected a text file but this looks binary, like {name}")
    if b"\0" in start[:8192]:
        raise FormatError(path, "expected a text file but this looks binary (it holds NUL bytes)")


def line_at(block: bytes, position: int) -> str:
    """Give the text of the line of `block` that holds `position`."""
    start = block.rfind(b"\n", 0, position) + 1
    return printable(block[start : block.find(b"\n", position)])


def printable(token: bytes) -> str:
    """Give text for `token`: bytes that are not UTF-8 stay apart from each other, as escapes."""
    return token.decode("utf-8", "backslashreplace")


@contextmanager
def _bar(path: PathLike, packed: BinaryIO, progress: bool | None) -> Iterator[Callable[[], None]]:
    """Give a function that moves the bar to where the reading is; without a bar it does nothing."""
    size = os.fstat(packed.fileno()).st_size
    if progress is None:
        progress = size > PROGRESS_BYTES and sys.stderr.isatty()
    if not progress:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=console.is_terminal) as bar:
        task = bar.add_task(f"reading {os.path.basename(path)}", total=size)
        yield lambda: bar.update(task, completed=packed.tell())
