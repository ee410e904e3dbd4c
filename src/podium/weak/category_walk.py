"""Ways through splits by sets of categories: of training rows by codes, of other rows by values.

Trees without sets have kernels of their own, which need not ask at each split what kind it is of. Here a set is a row
of a table: which of the codes 0 (missing) and 1 + c (category c) go left.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import ROW, compiled, prefetch
from podium._validation import Array
from podium.binning import BLOCK

CODES = 256
"""Codes of a categorical column: 0 for missing, then one for each category."""


def tables_of(sets: Array, missing_left: Array) -> Array:
    """Return for each set which codes go left: bool[n_sets, 256].

    Parameters
    ----------
    sets : uint32[n_sets, 8]
        Bit c of a row is set if category c goes left.
    missing_left : bool[n_sets]
    """
    bits = (sets[:, :, None] >> np.arange(32, dtype=np.uint32)) & np.uint32(1)
    return np.concatenate([missing_left[:, None], bits.reshape(len(sets), CODES)[:, :-1].astype(np.bool_)], axis=1)


@compiled
def partition_by_table(codes: Array, column: int, table: Array, rows: Array, spare_out: Array) -> int:
    """Leave the rows whose code goes left at the start of `rows`, the others in `spare_out`; return how many go left.

    Slow line: ``left = table[codes[rows, column]]``.
    """
    flat, ahead = codes.reshape(-1), len(rows) - 1
    n_left, n_right = ROW(0), ROW(0)
    for i in range(len(rows)):
        prefetch(flat, np.int64(rows[min(i + 24, ahead)]) * BLOCK)
        row = rows[i]
        left = table[codes[row, column]]
        rows[n_left] = row
        spare_out[n_right] = row
        n_left += left
        n_right += not left
    return int(n_left)


@compiled
def walk_codes_and_sets(
    feature: Array,
    cut: Array,
    missing_left: Array,
    left: Array,
    right: Array,
    set_of: Array,
    tables: Array,
    codes: Array,
    rows: Array,
    leaves_out: Array,
) -> None:
    """Write the leaf of some training rows by their codes: a split by a set asks its table, another its cut."""
    for i in range(len(rows)):
        at = np.int64(0)
        while at >= 0:
            code = codes[feature[at] // 16, rows[i], feature[at] % 16]
            if set_of[at] >= 0:
                goes_left = tables[set_of[at], code]
            else:
                goes_left = code <= cut[at] if code > 0 else missing_left[at]
            at = np.int64(left[at] if goes_left else right[at])
        leaves_out[i] = ~at


@compiled
def walk_values_and_sets(
    feature: Array,
    threshold: Array,
    missing_left: Array,
    left: Array,
    right: Array,
    value: Array,
    root: Array,
    set_of: Array,
    tables: Array,
    X: Array,
    scores_out: Array,
) -> None:
    """Add every tree's value of each row; slow line: ``scores += tree.predict(X) for tree in trees``."""
    for row in range(len(X)):
        for tree in range(len(root)):
            at = np.int64(root[tree])
            while at >= 0:
                x = X[row, feature[at]]
                if set_of[at] >= 0:
                    goes_left = tables[set_of[at], code_of(x)]
                else:
                    goes_left = x <= threshold[at] or (x != x and missing_left[at])
                at = np.int64(left[at] if goes_left else right[at])
            scores_out[row] += value[~at]


@compiled
def code_of(x: float) -> int:
    """Code of a category by its number: what is none, such as NaN, is missing."""
    return int(x) + 1 if 0.0 <= x < CODES - 1 else 0
