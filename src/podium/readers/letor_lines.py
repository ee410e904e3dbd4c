"""The lines of one block of a LETOR file, as arrays: ``2 qid:10 1:0.03 2:0.4 # docid = GX001``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podium._compiled import INDEX, ROW, SCORE, compiled, compiled_part
from podium._validation import FormatError
from podium.readers.decimals import ends_token, is_digit, python_float, read_decimal, token_end
from podium.readers.line_blocks import PathLike, line_at, printable
from podium.readers.spans import TOO_LONG, as_array, gather, longest_span, parse_integers

COLUMN = np.int32
"""Column numbers: scipy's own choice below 2**31, and half the memory of int64 beside each value."""
LARGEST_FEATURE = 2**31 - 1

_NEWLINE, _COMMENT, _COLON = 10, 35, 58
_DONE, _NO_FEATURE, _FEATURE_ZERO, _TOO_LARGE = 0, 1, 2, 3
_ROW, _ENTRY, _SLOW, _LINE, _UNORDERED = range(5)


class FoundRows(NamedTuple):
    """What the kernel finds in a block: room for as many rows, entries and slow numbers as could be in it.

    A slow number is one that Python must read: ``slow[i]`` is its entry (-1 - row for a
    label), start and stop.
    """

    label: np.ndarray
    line: np.ndarray
    row_end: np.ndarray
    qid: np.ndarray
    docid: np.ndarray
    slow: np.ndarray
    counters: np.ndarray


class LetorBlock(NamedTuple):
    """The rows of one block; their entries stand where :func:`parse_block` was told to put them.

    Parameters
    ----------
    label : ndarray of shape (n_rows,), float64
        Labels.
    row_end : ndarray of shape (n_rows,), int64
        Number of entries up to the end of each row, from the place of the first.
    qid : ndarray of shape (n_rows,) or None
        int64 or bytes strings; None when no row has one.
    docid : ndarray of shape (n_rows,)
        Bytes strings, empty for rows without one.
    n_lines : int
        Lines of the block, those without a row included.
    """

    label: np.ndarray
    row_end: np.ndarray
    qid: np.ndarray | None
    docid: np.ndarray
    n_lines: int


def most_entries(block: bytes) -> int:
    """Upper bound of the features in a block: the shortest, ``1:2`` and a blank, takes four bytes."""
    return len(block) // 4 + 1


def parse_block(
    path: PathLike,
    block: bytes,
    first_line: int,
    largest: int,
    has_qid: bool | None,
    column: np.ndarray,
    value: np.ndarray,
) -> LetorBlock:
    """Read a block's lines, its entries into the start of `column` (from 0) and `value`.

    Parameters
    ----------
    path : str or path-like
        The file, for messages.
    block : bytes
        Whole lines, the last one with its newline.
    first_line : int
        Number of the block's first line in the file.
    largest : int
        Largest feature number allowed.
    has_qid : bool or None
        Whether the rows before these have queries; None if there are none.
    column, value : ndarray of at least ``most_entries(block)``
        Where the entries go; within a row in ascending order of the columns.
    """
    found = _room(block)
    with np.errstate(over="ignore"):
        status, at = parse_lines(as_array(block), largest, found, column, value)
    n_rows, n_entries, n_slow, n_lines, unordered = found.counters.tolist()
    report = _Report(path, block, first_line)
    _read_slow(report, found, n_slow, value)
    if status != _DONE:
        raise report.broken(status, at, n_lines, largest)
    row_end = found.row_end[:n_rows].copy()
    if unordered:
        _sort_rows(report, found, row_end, column[:n_entries], value[:n_entries])
    for spans in (found.qid, found.docid):
        long = longest_span(*spans[:n_rows].T)
        if long is not None:
            raise report.row_error(TOO_LONG, found, long)
    qid = _queries(report, found, n_rows, has_qid)
    docid = gather(block, *found.docid[:n_rows].T.copy())
    return LetorBlock(found.label[:n_rows].copy(), row_end, qid, docid, n_lines)


def _room(block: bytes) -> FoundRows:
    """Arrays for all that could be in a block; what is not written to is never given memory."""
    n_rows, n_slow = len(block) // 2 + 1, len(block) // 2 + 1
    return FoundRows(
        np.empty(n_rows, SCORE),
        np.empty(n_rows, ROW),
        np.empty(n_rows, ROW),
        np.empty((n_rows, 2), ROW),
        np.empty((n_rows, 2), ROW),
        np.empty((n_slow, 3), ROW),
        np.zeros(_UNORDERED + 1, ROW),
    )


class _Report(NamedTuple):
    """Makes the errors of one block."""

    path: PathLike
    block: bytes
    first_line: int

    def error(self, problem: str, line: int, at: int) -> FormatError:
        """Error for the block's line number `line`, which holds the position `at`."""
        return FormatError(self.path, problem, self.first_line + line, line_at(self.block, at))

    def row_error(self, problem: str, found: FoundRows, row: int) -> FormatError:
        """Error for the line of a row that was read."""
        return self.error(problem, int(found.line[row]), int(found.qid[row, 0]))

    def token(self, at: int) -> str:
        """Text of the token that starts at `at`."""
        stop = token_end(as_array(self.block), at)
        return printable(self.block[at:stop])

    def broken(self, status: int, at: int, line: int, largest: int) -> FormatError:
        """Error for the token at `at` of the block's line number `line`."""
        token = self.token(at)
        if status == _FEATURE_ZERO:
            problem = "feature number 0 is not allowed: LETOR counts from 1, so add 1 to every feature number"
        elif status == _TOO_LARGE:
            problem = f"feature number {token.partition(':')[0]} is larger than {largest}"
            problem += ", the largest that can be read" if largest == LARGEST_FEATURE else ""
        elif token.startswith("qid:") and token != "qid:":
            problem = "qid must stand right after the label"
        else:
            problem = f"expected feature:value, like 3:0.25, but found {token!r}"
        return self.error(problem, line, at)


def _read_slow(report: _Report, found: FoundRows, n_slow: int, value: np.ndarray) -> None:
    """Read the numbers that the kernel left to Python."""
    block = report.block
    for entry, start, stop in found.slow[:n_slow].tolist():
        number = python_float(block[start:stop])
        if entry < 0:
            found.label[-1 - entry] = np.nan if number is None else number
            if not np.isfinite(found.label[-1 - entry]):
                problem = f"the label must be a finite number, got {report.token(start)!r}"
                raise report.error(problem, int(found.line[-1 - entry]), start)
        elif number is None:
            problem = f"the feature value must be a number, got {printable(block[start:stop])!r}"
            raise report.error(problem, block.count(b"\n", 0, start), start)
        else:
            with np.errstate(over="ignore"):
                value[entry] = number


def _sort_rows(report: _Report, found: FoundRows, row_end: np.ndarray, column: np.ndarray, value: np.ndarray) -> None:
    """Bring the entries of each row into ascending order of their columns, in place; refuse a repeat."""
    row = np.repeat(np.arange(len(row_end)), np.diff(row_end, prepend=0))
    order = np.lexsort((column, row))
    column[:], value[:] = column[order], value[order]
    repeats = np.flatnonzero((column[1:] == column[:-1]) & (row[1:] == row[:-1]))
    if len(repeats):
        problem = f"feature {column[repeats[0]] + 1} is given twice"
        raise report.row_error(problem, found, row[repeats[0]])


def _queries(report: _Report, found: FoundRows, n_rows: int, expected: bool | None) -> np.ndarray | None:
    """Query of each row, or None where they have none; refuses a row that differs from those before it."""
    start, stop = found.qid[:n_rows].T.copy()
    has = stop > start
    wrong = has != (has[:1] if expected is None else expected)
    if wrong.any():
        row = int(np.argmax(wrong))
        state = "a qid but the lines before it have none" if has[row] else "no qid but the lines before it have one"
        raise report.row_error(f"the line has {state}; give every line one, or no line", found, row)
    if not has.any():
        return None
    values, bad = parse_integers(report.block, start, stop)
    return gather(report.block, start, stop) if bad.any() else values


@compiled
def parse_lines(
    text: np.ndarray,
    largest: int,
    found_out: FoundRows,
    column_out: np.ndarray,
    value_out: np.ndarray,
) -> tuple[int, int]:
    r"""Split each line into label, qid, features and docid; returns a status and where it broke off.

    Slow lines: ``content, _, comment = line.partition("#")``, ``content.split()``,
    ``feature.partition(":")`` and ``re.search(r"\bdocid\s*=\s*(\S+)", comment)``.
    """
    counters = found_out.counters
    at = 0
    while at < len(text):
        at = skip_blanks(text, at)
        if text[INDEX(at)] != _NEWLINE and text[INDEX(at)] != _COMMENT:
            row = counters[_ROW]
            found_out.line[row] = counters[_LINE]
            at = read_label(text, at, row, found_out)
            at = read_qid(text, skip_blanks(text, at), row, found_out)
            at, status = read_features(text, at, largest, found_out.slow, found_out.counters, column_out, value_out)
            if status != _DONE:
                return status, at
            found_out.row_end[row] = counters[_ENTRY]
            found_out.docid[row, 0] = found_out.docid[row, 1] = at
            at = read_comment(text, at, row, found_out)
            counters[_ROW] = row + 1
        while text[INDEX(at)] != _NEWLINE:
            at += 1
        at += 1
        counters[_LINE] += 1
    return _DONE, at


@compiled_part
def skip_blanks(text: np.ndarray, at: int) -> int:
    r"""``at + len(re.match(rb"[ \t\v\f\r]*", text[at:])[0])``."""
    while text[INDEX(at)] == 32 or (9 <= text[INDEX(at)] <= 13 and text[INDEX(at)] != _NEWLINE):
        at += 1
    return at


@compiled_part
def read_label(text: np.ndarray, at: int, row: int, found_out: FoundRows) -> int:
    """``label[row] = float(token)``; returns the token's end."""
    value, end, exact = read_decimal(text, at)
    stop: int = end
    found_out.label[row] = value
    if not exact:
        note_slow(-1 - row, at, stop, found_out.slow, found_out.counters)
    return stop


@compiled_part
def note_slow(entry: int, start: int, stop: int, slow_out: np.ndarray, counters_out: np.ndarray) -> None:
    """``slow.append((entry, start, stop))``."""
    n_slow = counters_out[_SLOW]
    slow_out[n_slow, 0], slow_out[n_slow, 1], slow_out[n_slow, 2] = entry, start, stop
    counters_out[_SLOW] = n_slow + 1


@compiled_part
def read_qid(text: np.ndarray, at: int, row: int, found_out: FoundRows) -> int:
    """Span of what follows ``qid:``, empty where the token is another; returns the token's end, or start."""
    found_out.qid[row, 0] = found_out.qid[row, 1] = at
    # The newline that ends a block stands before any place that these could read past.
    if text[at] != 113 or text[at + 1] != 105 or text[at + 2] != 100 or text[at + 3] != _COLON:
        return at
    stop: int = token_end(text, at + 4)
    if stop == at + 4:
        return at
    found_out.qid[row, 0], found_out.qid[row, 1] = at + 4, stop
    return stop


@compiled
def read_features(
    text: np.ndarray,
    at: int,
    largest: int,
    slow_out: np.ndarray,
    counters_out: np.ndarray,
    column_out: np.ndarray,
    value_out: np.ndarray,
) -> tuple[int, int]:
    """``column, value = token.split(":")`` up to the line's end or comment; returns place and status."""
    entry, last = counters_out[_ENTRY], 0
    while True:
        at = skip_blanks(text, at)
        if text[INDEX(at)] == _NEWLINE or text[INDEX(at)] == _COMMENT:
            break
        number, colon = read_feature_number(text, at)
        if number < 1 or number > largest:
            return at, _feature_status(number)
        value, stop, exact = read_decimal(text, colon + 1)
        if not exact:
            note_slow(entry, colon + 1, stop, slow_out, counters_out)
        if number <= last:
            counters_out[_UNORDERED] = 1
        column_out[entry], value_out[entry] = number - 1, value
        entry, last, at = entry + 1, number, stop
    counters_out[_ENTRY] = entry
    return at, _DONE


@compiled_part
def _feature_status(number: int) -> int:
    """Which error a feature number makes."""
    if number == 0:
        return _FEATURE_ZERO
    return _NO_FEATURE if number < 0 else _TOO_LARGE


@compiled_part
def read_feature_number(text: np.ndarray, at: int) -> tuple[int, int]:
    """``int(digits), place of the colon``, or -1 where there are no digits or no colon after them.

    Beyond 18 digits the number stays what it is, which is too large already.
    """
    start = at
    number = np.int64(0)
    while is_digit(text[INDEX(at)]):
        if at - start < 18:
            number = number * 10 + np.int64(text[INDEX(at)] - 48)
        at += 1
    if at == start or text[INDEX(at)] != _COLON or ends_token(text[INDEX(at + 1)]):
        return -1, at
    return int(number), at


@compiled_part
def read_comment(text: np.ndarray, at: int, row: int, found_out: FoundRows) -> int:
    """Span of the word after ``docid =`` in the comment at `at`, where it is there; returns a later place."""
    while text[at] != _NEWLINE:
        at += 1
        if is_docid(text, at):
            start: int = skip_blanks(text, at + 5)
            if text[start] == 61:
                start = skip_blanks(text, start + 1)
                stop = start
                while text[stop] != 32 and not 9 <= text[stop] <= 13:
                    stop += 1
                found_out.docid[row, 0], found_out.docid[row, 1] = start, stop
                return stop
    return at


@compiled_part
def is_docid(text: np.ndarray, at: int) -> bool:
    r"""``re.match(rb"(?<=[# \t])docid", text)`` at `at`."""
    if text[at] != 100 or not ends_token(text[at - 1]):
        return False
    return bool(text[at + 1] == 111 and text[at + 2] == 99 and text[at + 3] == 105 and text[at + 4] == 100)
