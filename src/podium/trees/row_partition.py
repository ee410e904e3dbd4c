"""Partition of a leaf's rows by a split, in chunks that threads share out."""

from __future__ import annotations

import numpy as np

from podium._compiled import INDEX, linked_part, prefetch
from podium._validation import Array
from podium.binning import BLOCK
from podium.trees.split import Record


@linked_part
def chunk(task: Record, item: int) -> tuple[int, int]:
    """Return the rows of one of the equal parts of the task's rows."""
    n_rows = task.stop - task.start
    return task.start + n_rows * item // task.n_items, task.start + n_rows * (item + 1) // task.n_items


@linked_part
def partition_rows(
    codes: Array, feature: int, goes_left: Array, start: int, stop: int, rows: Array, spare_rows_out: Array
) -> int:
    """Leave the rows that go left at the start of a chunk, the others in `spare_rows_out`; return how many go left.

    Slow line: ``left = goes_left[codes[rows, column]]``; each row is written to both places, without a branch.
    """
    block, column, ahead = feature // BLOCK, feature % BLOCK, INDEX(stop - 1)
    base = block * codes.shape[1]
    left_end, right_end = INDEX(start), INDEX(start)
    for i in range(INDEX(start), INDEX(stop)):
        prefetch(codes, (base + np.int64(rows[min(i + INDEX(24), ahead)])) * BLOCK)
        row = rows[i]
        left = goes_left[codes[block, row, column]]
        rows[left_end] = row
        spare_rows_out[right_end] = row
        left_end += INDEX(left)
        right_end += INDEX(not left)
    return int(left_end) - start


@linked_part
def join_chunks(n_left: Array, task: Record, rows: Array, spare_rows: Array) -> None:
    """Join the left rows, then the right rows, of chunks that were partitioned apart."""
    place = task.start
    for item in range(task.n_items):
        start, _ = chunk(task, item)
        if start > place:
            for i in range(n_left[item]):
                rows[place + i] = rows[start + i]
        place += n_left[item]
    task.middle = place
    for item in range(task.n_items):
        start, stop = chunk(task, item)
        for i in range(stop - start - n_left[item]):
            rows[place + i] = spare_rows[start + i]
        place += stop - start - n_left[item]
