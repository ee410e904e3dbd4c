"""Sort each query, highest first: by counting, by grades or by radix, whichever is fastest for its length.

All sorts are stable, and 0.0 ties with -0.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from podium._compiled import ROW, SCORE, allocating_part, compiled, even_chunks, inlined_part, linked_part, run_threads
from podium._types import Array, Int

Result = TypeVar("Result")

MAX_GRADES = 64
"""Whole labels below this are sorted by counting grades, at 2 to 5 ns a row."""

COUNTING_LIMIT = 256
"""Longest run sorted by counting: 6 ns a row at 10 rows, 16 at 100, 28 here; radix passes take 33 to 47."""

BY_GRADES = -1
"""First of a query's best places where its labels were counted, not sorted."""


def sort_queries(values: Array, offsets: Array, n_threads: int = 1) -> tuple[Array, Array]:
    """Sort every query, highest first; return the rows of each place, counted from the query's first, and the values.

    Slow line: ``order = np.argsort(-values, kind="stable")`` for each query. Where all queries are short, the sorts
    for long ones are not compiled: that takes two seconds.
    """
    order, in_order = np.empty(len(values), ROW), np.empty(len(values), SCORE)
    are_short = np.diff(offsets).max(initial=0) <= COUNTING_LIMIT
    kernel = sort_short_queries if are_short else sort_any_queries
    by_query_threads(kernel, offsets, n_threads, values, offsets, order, in_order)
    return order, in_order


def by_query_threads(kernel: Callable[..., Result], offsets: Array, n_threads: int, *arguments: object) -> list[Result]:
    """Call ``kernel(*arguments, first, last)`` on runs of whole queries; return what it returns for each run."""
    # Four runs a thread, so that one slow run does not leave the others waiting.
    chunks = even_chunks(offsets, 1 if n_threads == 1 else 4 * n_threads)
    return run_threads(kernel, [(*arguments, first, last) for first, last in chunks], n_threads)


@compiled
def sort_short_queries(
    values: Array, offsets: Array, order_out: Array, sorted_out: Array, first: int, last: int
) -> None:
    """Sort queries of at most `COUNTING_LIMIT` rows; see `sort_queries`."""
    for query in range(first, last):
        start, stop = offsets[query], offsets[query + 1]
        sort_by_counting(values[start:stop], order_out[start:stop], sorted_out[start:stop])


@compiled
def sort_any_queries(values: Array, offsets: Array, order_out: Array, sorted_out: Array, first: int, last: int) -> None:
    """Sort queries of any length; see `sort_queries`."""
    for query in range(first, last):
        start, stop = offsets[query], offsets[query + 1]
        sort_descending(values[start:stop], order_out[start:stop], sorted_out[start:stop])


@allocating_part
def sort_descending(values: Array, order_out: Array, sorted_out: Array) -> None:
    """Stable sort, highest first; slow line: ``order = np.argsort(-values, kind="stable")``."""
    if len(values) <= COUNTING_LIMIT or not sort_by_grades(values, order_out, sorted_out):
        sort_scores(values, order_out, sorted_out)


@allocating_part
def sort_scores(values: Array, order_out: Array, sorted_out: Array) -> None:
    """Sort likewise values that are hardly ever all grades: half a second less to compile."""
    if len(values) <= COUNTING_LIMIT:
        sort_by_counting(values, order_out, sorted_out)
    else:
        sort_by_radix(values, order_out, sorted_out)


@inlined_part
def sort_by_counting(values: Array, order_out: Array, sorted_out: Array) -> None:
    """Put each value at the count of the values before it: n² comparisons, but four at a time and no branch.

    At 100 rows 16 ns a row, where a merge sort that starts from insertion-sorted runs took 48.
    """
    for i in range(len(values)):
        value = values[i]
        place = 0
        for j in range(i):
            place += values[j] >= value
        after = values[i + 1 :]
        for j in range(len(after)):
            place += after[j] > value
        order_out[place] = i
        sorted_out[place] = value


@allocating_part
def sort_by_radix(values: Array, order_out: Array, sorted_out: Array) -> None:
    """Sort in eight passes of a byte, lowest byte first; a byte that all keys share costs no pass.

    Digits of 11 and 16 bits are no faster at any length from 300 to 1,000,000 rows: their counters leave the
    first-level cache. Row numbers of four bytes save a seventh of the time.
    """
    n = len(values)
    keys, other_keys = np.empty(n, np.uint64), np.empty(n, np.uint64)
    rows, other_rows = np.empty(n, np.int32), np.empty(n, np.int32)
    counts = np.empty(8 * 256, ROW)
    descending_keys(values, keys, rows, counts)
    for byte in range(8):
        shift, places = np.uint64(8 * byte), counts[256 * byte : 256 * (byte + 1)]
        if places[(keys[0] >> shift) & np.uint64(255)] < n:
            radix_pass(keys, rows, shift, places, other_keys, other_rows)
            keys, other_keys, rows, other_rows = other_keys, keys, other_rows, rows
    keys_to_values(keys, sorted_out)
    for i in range(n):
        order_out[i] = rows[i]


@allocating_part
def sort_by_grades(values: Array, order_out: Array, sorted_out: Array) -> bool:
    """Sort integers from 0 to 63 in one pass; False, and nothing done, if there are others."""
    places = np.empty(MAX_GRADES, ROW)
    if not count_grades(values, 0, len(values), places):
        return False
    total = 0
    for grade in range(MAX_GRADES - 1, -1, -1):
        count, places[grade] = places[grade], total
        total += count
    for i in range(len(values)):
        grade = int(values[i])
        order_out[places[grade]] = i
        sorted_out[places[grade]] = values[i]
        places[grade] += 1
    return True


@linked_part
def radix_pass(keys: Array, rows: Array, shift: Int, places: Array, keys_out: Array, rows_out: Array) -> None:
    """Move keys and rows to the places of one of their bytes, equal bytes in the order they have."""
    total = 0
    for digit in range(256):
        count, places[digit] = places[digit], total
        total += count
    for i in range(len(keys)):
        digit = (keys[i] >> shift) & np.uint64(255)
        place = places[digit]
        places[digit] = place + 1
        keys_out[place] = keys[i]
        rows_out[place] = rows[i]


@linked_part
def descending_keys(values: Array, keys_out: Array, rows_out: Array, counts_out: Array) -> None:
    """Integers that ascend as the values descend, zeros alike; rows 0, 1, …; counts of each byte."""
    bits, sign = values.view(np.uint64), np.uint64(1) << np.uint64(63)
    for i in range(len(counts_out)):
        counts_out[i] = 0
    for i in range(len(values)):
        key = bits[i] if values[i] != 0.0 else np.uint64(0)
        key = key if key & sign else ~(key | sign)
        keys_out[i], rows_out[i] = key, i
        for byte in range(8):
            counts_out[256 * byte + int((key >> np.uint64(8 * byte)) & np.uint64(255))] += 1


@linked_part
def keys_to_values(keys: Array, values_out: Array) -> None:
    """Undo `descending_keys`: reading the sorted keys is quicker than fetching values by row."""
    sign = np.uint64(1) << np.uint64(63)
    bits = values_out.view(np.uint64)
    for i in range(len(keys)):
        key = keys[i]
        bits[i] = key if key & sign else ~(key | sign)


@compiled
def best_grades(labels: Array, offsets: Array, best_out: Array, places_out: Array, first: int, last: int) -> bool:
    """Sort the labels of each query, highest first, if all are grades: False as soon as a query has others."""
    counts = np.empty(MAX_GRADES, ROW)
    for query in range(first, last):
        start, stop = offsets[query], offsets[query + 1]
        if not count_grades(labels, start, stop, counts):
            return False
        place, places_out[start] = start, BY_GRADES
        for grade in range(MAX_GRADES - 1, -1, -1):
            for _ in range(counts[grade]):
                best_out[place] = grade
                place += 1
    return True


@inlined_part
def count_grades(values: Array, start: int, stop: int, counts_out: Array) -> bool:
    """Count each grade of the rows `start` to `stop`; False as soon as a value is not an integer from 0 to 63."""
    for grade in range(MAX_GRADES):
        counts_out[grade] = 0
    for i in range(start, stop):
        value = values[i]
        if not 0.0 <= value < MAX_GRADES:
            return False
        grade = int(value)
        if grade != value:
            return False
        counts_out[grade] += 1
    return True
