"""The different values of a feature and how often each occurs, of single precision: by counting where they are few.

Counting takes 1.5 ns a value, sorting 3 to 6. Values are found again by a hash of their bits in a table that the
first-level cache holds; a feature with many values fills it soon, and is sorted.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import INDEX, ROW, SCORE, compiled
from podium._validation import Array
from podium.binning import radix_sort

TABLE_BITS, MOST_COUNTED = 11, 1024
"""Bits of a place in the table, and values that it is filled up to: half of its places, so that most are found at
once."""


def count_values(values: Array) -> tuple[Array, Array] | None:
    """Return the different values, ascending, NaN left out and -0.0 as 0.0, and how often each occurs.

    None where they are many, or not of single precision, or so few in all that sorting takes no longer.
    """
    if values.dtype != np.float32 or len(values) < radix_sort.MIN_ROWS_BY_BITS:
        return None
    table, counts = np.empty(2**TABLE_BITS, np.uint32), np.zeros(2**TABLE_BITS, ROW)
    if not _count_bits(np.ascontiguousarray(values).view(np.uint32), table, counts):
        return None
    found = np.flatnonzero(counts)
    different = table[found].view(np.float32)
    order = np.argsort(different)
    return different[order], counts[found][order].astype(SCORE)


@compiled
def _count_bits(bits: Array, table_out: Array, counts_out: Array) -> bool:
    """Do ``counts_out[place of value] += 1`` for each value but NaN; False if there are more than `MOST_COUNTED`."""
    infinity, sign = np.uint32(0x7F800000), np.uint32(0x80000000)
    shift, last, n_different = np.uint32(32 - TABLE_BITS), INDEX(2**TABLE_BITS - 1), 0
    for i in range(len(bits)):
        size = bits[i] & (sign - np.uint32(1))
        key = bits[i] if size > 0 else size
        place = INDEX(np.uint32(key * np.uint32(0x9E3779B1)) >> shift)
        if size <= infinity:
            while counts_out[place] > 0 and table_out[place] != key:
                place = (place + INDEX(1)) & last
            n_different += counts_out[place] == 0
            if n_different > MOST_COUNTED:
                return False
            table_out[place] = key
            counts_out[place] += 1
    return True
