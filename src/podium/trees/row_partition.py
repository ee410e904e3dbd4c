"""Partition of a leaf's rows by a split, in chunks that threads share out: each is parted, then all are joined."""

from __future__ import annotations

import numpy as np

from podium._compiled import INDEX, linked_part, prefetch
from podium._validation import Array
from podium.binning import BLOCK
from podium.trees.histogram import ROWS_AHEAD
from podium.trees.split import Record, Records


@linked_part
def chunk(task: Record, item: int) -> tuple[int, int]:
    """Return the rows of one of the equal parts of the task's rows."""
    n_rows = task.stop - task.start
    return task.start + n_rows * item // task.n_items, task.start + n_rows * (item + 1) // task.n_items


@linked_part
def partition_rows(
    codes: Array, feature: int, goes_left: Array, start: int, stop: int, rows: Array, spare_rows_out: Array
) -> int:
    """Write the rows of a chunk that go left from its start on, the others from its end back; return how many go left.

    Slow line: ``left = goes_left[codes[rows, column]]``; each row is written to both places, without a branch.
    """
    block, column, last = feature // BLOCK, feature % BLOCK, INDEX(stop - 1)
    base = block * codes.shape[1]
    left_end, right_end = INDEX(start), last
    for i in range(INDEX(start), INDEX(stop)):
        prefetch(codes, (base + np.int64(rows[min(i + INDEX(ROWS_AHEAD), last)])) * BLOCK)
        row = rows[i]
        left = goes_left[codes[block, row, column]]
        spare_rows_out[left_end] = row
        spare_rows_out[right_end] = row
        left_end += INDEX(left)
        right_end -= INDEX(not left)
    return int(left_end) - start


@linked_part
def join_chunk(
    n_left: Array, task: Record, item: int, spare_rows: Array, planes: Array, leaves: Records, rows_out: Array,
    values_out: Array,
) -> None:  # fmt: skip
    """Write the left rows of a chunk behind those of the chunks before it, the right ones likewise, in their order.

    The packed gradients of those that are in the leaf to fill histograms of are written beside them.
    """
    start, stop = chunk(task, item)
    left = task.start
    for before in range(item):
        left += n_left[before]
    right, left_count, right_count = task.middle + start - left, n_left[item], stop - start - n_left[item]
    for i in range(left_count):
        rows_out[INDEX(left) + INDEX(i)] = spare_rows[INDEX(start) + INDEX(i)]
    for i in range(right_count):
        rows_out[INDEX(right) + INDEX(i)] = spare_rows[INDEX(stop - 1) - INDEX(i)]
    if task.smaller >= 0:
        leaf = leaves[task.smaller]
        for place, count in ((left, left_count), (right, right_count)):
            if leaf.start <= place < leaf.stop:
                gather_values(planes, rows_out, place, place + count, values_out)


@linked_part
def gather_values(planes: Array, rows: Array, start: int, stop: int, values_out: Array) -> None:
    """Do ``values_out[:, start:stop] = planes[:, rows[start:stop]]``."""
    for plane in range(len(planes)):
        for i in range(INDEX(start), INDEX(stop)):
            values_out[plane, i] = planes[plane, rows[i]]
