"""Stretches of a block's bytes as arrays: text, numbers, and the columns of a line.

A span is a pair (start, stop) of positions in a block, as a kernel finds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from podium._compiled import ROW, SCORE, compiled, compiled_part
from podium._validation import FormatError
from podium.readers.decimals import is_digit, python_float, python_integer, read_decimal
from podium.readers.line_blocks import PathLike, line_at, line_blocks, printable

_HASH = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_MOST_INTEGER_DIGITS = 18  # 10^18 - 1 < 2^63
_MINUS, _ZERO, _NEWLINE, _COMMENT = 45, 48, 10, 35
LONGEST_NAME = 4096
"""Bytes of the name of a query or document: arrays of strings give every row the room of the longest."""
TOO_LONG = f"the name of a query or document must not be longer than {LONGEST_NAME} bytes"


class LineColumns(NamedTuple):
    """The rows of one block of a file of blank-separated columns.

    Parameters
    ----------
    path : str or path-like
        The file, for messages.
    block : bytes
        The text.
    line : ndarray of shape (n_rows,)
        Number of each row's line in the file, from 1.
    start, stop : ndarray of shape (n_rows, most columns)
        Span of each entry.
    n_entries : ndarray of shape (n_rows,)
        Number of entries of each row.
    """

    path: PathLike
    block: bytes
    line: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    n_entries: np.ndarray

    def error(self, row: int, problem: str) -> FormatError:
        """Make the error that says `problem` of the line of `row`."""
        return FormatError(self.path, problem, int(self.line[row]), line_at(self.block, self.start[row, 0]))

    def token(self, row: int, column: int) -> str:
        """Text of one entry."""
        return printable(self.block[self.start[row, column] : self.stop[row, column]])

    def texts(self, column: int) -> np.ndarray:
        """Entries of one column as an array of bytes strings; raises where one is too long."""
        long = longest_span(self.start[:, column], self.stop[:, column])
        if long is not None:
            raise self.error(long, TOO_LONG)
        return gather(self.block, self.start[:, column].copy(), self.stop[:, column].copy())

    def integers(self, column: int, name: str, lowest: int | None = None) -> np.ndarray:
        """Entries of one column as int64; raises where one is no integer or is below `lowest`."""
        start, stop = self.start[:, column].copy(), self.stop[:, column].copy()
        values, bad = parse_integers(self.block, start, stop)
        for row in np.flatnonzero(bad).tolist():
            value = python_integer(self.block[start[row] : stop[row]])
            if value is not None:
                values[row], bad[row] = value, False
        if lowest is not None:
            bad |= values < lowest
        if bad.any():
            row = int(np.argmax(bad))
            wanted = "an integer" if lowest is None else f"an integer from {lowest}"
            raise self.error(row, f"the {name} must be {wanted}, got {self.token(row, column)!r}")
        return values

    def decimals(self, column: int, name: str) -> np.ndarray:
        """Entries of one column as float64; raises where one is not a number."""
        start, stop = self.start[:, column].copy(), self.stop[:, column].copy()
        values = np.empty(len(start), SCORE)
        exact = np.empty(len(start), np.bool_)
        with np.errstate(over="ignore"):
            parse_decimals(as_array(self.block), start, values, exact)
        for row in np.flatnonzero(~exact).tolist():
            value = python_float(self.block[start[row] : stop[row]])
            if value is None or value != value:
                raise self.error(row, f"the {name} must be a number, got {self.token(row, column)!r}")
            values[row] = value
        return values


def read_columns(
    path: PathLike, fewest: int, most: int, layout: str, progress: bool | None = None
) -> Iterator[LineColumns]:
    """Give a file of blank-separated columns block by block; blank lines, and blocks of them, are left out.

    Raises
    ------
    FormatError
        Where a line has fewer than `fewest` or more than `most` columns; the message shows `layout`.
        Where there is no line at all.
    """
    first_line, any_rows = 1, False
    for block in line_blocks(path, progress):
        columns, n_lines = _split_block(path, block, most, first_line)
        wrong = (columns.n_entries < fewest) | (columns.n_entries > most)
        if wrong.any():
            row = int(np.argmax(wrong))
            many = f"{fewest}" if fewest == most else f"{fewest} or {most}"
            plural = "column" if many == "1" else "columns"
            raise columns.error(row, f"expected {many} {plural} ({layout}) but there are {columns.n_entries[row]}")
        first_line += n_lines
        if len(columns.line):
            any_rows = True
            yield columns
    if not any_rows:
        raise FormatError(path, f"the file has no rows; expected lines of {layout}")


def _split_block(path: PathLike, block: bytes, most: int, first_line: int) -> tuple[LineColumns, int]:
    """Find the columns of the lines of `block`, and their number."""
    n_lines = block.count(b"\n")
    line, count = np.empty(n_lines, ROW), np.empty(n_lines, ROW)
    start, stop = np.empty((n_lines, most), ROW), np.empty((n_lines, most), ROW)
    n = split_columns(as_array(block), line, start, stop, count)
    return LineColumns(path, block, line[:n] + first_line, start[:n], stop[:n], count[:n]), n_lines


def as_array(block: bytes) -> np.ndarray:
    """View a block as the byte array that kernels take."""
    return np.frombuffer(block, np.uint8)


def longest_span(start: np.ndarray, stop: np.ndarray) -> int | None:
    """Give the row of the first span that is longer than a name may be, None where none is."""
    long = stop - start > LONGEST_NAME
    return int(np.argmax(long)) if long.any() else None


def gather(block: bytes, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """``np.array([block[a:b] for a, b in zip(start, stop)])``, an array of bytes strings."""
    width = max(int((stop - start).max(initial=0)), 1)
    letters = np.zeros((len(start), width), np.uint8)
    copy_spans(as_array(block), start, stop, letters)
    return letters.view(f"S{width}")[:, 0]


def parse_integers(block: bytes, start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give the spans as int64, and where a span is not what ``str(int(span))`` writes."""
    values, bad = np.empty(len(start), ROW), np.empty(len(start), np.bool_)
    read_integers(as_array(block), start, stop, values, bad)
    return values, bad


def decode(parts: list[np.ndarray]) -> np.ndarray:
    """Join arrays of bytes strings into one array of str."""
    texts = [
        part if part.view(np.uint8).max(initial=0) < 128 else np.array([printable(token) for token in part.tolist()])
        for part in parts
    ]
    width = max((text.dtype.itemsize // (4 if text.dtype.kind == "U" else 1) for text in texts), default=1)
    out = np.empty(sum(len(text) for text in texts), f"U{max(width, 1)}")
    start = 0
    for text in texts:
        out[start : start + len(text)] = text
        start += len(text)
    return out


def decode_ids(parts: list[np.ndarray]) -> np.ndarray:
    """Join ids: int64 where every part is, else str, which gives each int64 the text it was read from."""
    if all(part.dtype == ROW for part in parts):
        return np.concatenate(parts)
    return decode([part.astype("S") if part.dtype == ROW else part for part in parts])


def first_repeat(*keys: np.ndarray) -> tuple[int, int] | None:
    """First row that equals an earlier one in every array of `keys`, as (earlier row, row).

    Slow line: a dictionary from ``tuple(key[row] for key in keys)`` to the row.
    """
    hashes = np.full(len(keys[0]), _HASH)
    with np.errstate(over="ignore"):
        for key in keys:
            mix_rows(np.ascontiguousarray(key).view(np.uint8).reshape(len(key), -1), hashes)
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]])
    # Rows of one hash are only candidates; a dictionary tells equal rows from a chance meeting.
    seen: dict[tuple[object, ...], int] = {}
    for row in np.unique(order[np.concatenate([same, same + 1])]).tolist():
        identity = tuple(key[row] for key in keys)
        if identity in seen:
            return seen[identity], row
        seen[identity] = row
    return None


@compiled
def split_columns(
    text: np.ndarray, line_out: np.ndarray, start_out: np.ndarray, stop_out: np.ndarray, count_out: np.ndarray
) -> int:
    """``[line.split() for line in lines if line.split()]`` as spans; returns the number of rows.

    Columns beyond the width of `start_out` are counted only.
    """
    row, line, count = 0, 0, 0
    at, most = 0, start_out.shape[1]
    while at < len(text):
        start = at
        while not (text[at] == 32 or 9 <= text[at] <= 13):
            at += 1
        if at > start:
            if count < most:
                start_out[row, count], stop_out[row, count] = start, at
            count += 1
        if text[at] == _NEWLINE:
            if count > 0:
                line_out[row], count_out[row] = line, count
                row += 1
            line += 1
            count = 0
        at += 1
    return row


@compiled
def copy_spans(text: np.ndarray, start: np.ndarray, stop: np.ndarray, letters_out: np.ndarray) -> None:
    """``letters_out[row, : stop[row] - start[row]] = text[start[row] : stop[row]]``."""
    for row in range(len(start)):
        first = start[row]
        for i in range(stop[row] - first):
            letters_out[row, i] = text[first + i]


@compiled
def read_integers(
    text: np.ndarray, start: np.ndarray, stop: np.ndarray, value_out: np.ndarray, bad_out: np.ndarray
) -> None:
    """``value_out[row] = int(text[start[row] : stop[row]])``, or `bad_out` where the text is not its str."""
    for row in range(len(start)):
        value_out[row], bad_out[row] = read_integer(text, start[row], stop[row])


@compiled_part
def read_integer(text: np.ndarray, start: int, stop: int) -> tuple[int, bool]:
    """``int(text[start:stop]), str(int(text[start:stop])) != text[start:stop]``; beyond 18 digits is bad."""
    negative = text[start] == _MINUS
    first = start + negative
    n_digits = stop - first
    leading_zero = text[first] == _ZERO and (n_digits > 1 or negative)
    if n_digits < 1 or n_digits > _MOST_INTEGER_DIGITS or leading_zero:
        return 0, True
    value = np.int64(0)
    for at in range(first, stop):
        if not is_digit(text[at]):
            return 0, True
        value = value * 10 + np.int64(text[at] - 48)
    return int(-value if negative else value), False


@compiled
def parse_decimals(text: np.ndarray, start: np.ndarray, value_out: np.ndarray, exact_out: np.ndarray) -> None:
    """``value_out[row] = float(token at start[row])`` where `exact_out` says so."""
    for row in range(len(start)):
        value, stop, exact = read_decimal(text, start[row])
        value_out[row] = value
        # A decimal also ends at '#', a column does not: what goes on there is Python's to refuse.
        exact_out[row] = exact and text[stop] != _COMMENT


@compiled
def mix_rows(letters: np.ndarray, hash_out: np.ndarray) -> None:
    """Mix the bytes of each row into its hash (FNV-1a), and a mark after them."""
    for row in range(len(letters)):
        value = hash_out[row]
        for letter in letters[row]:
            if letter != 0:
                value = (value ^ np.uint64(letter)) * _PRIME
        hash_out[row] = (value ^ np.uint64(0xFF)) * _PRIME
