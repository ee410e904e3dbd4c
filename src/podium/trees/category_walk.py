"""Ways through splits by sets of categories: of training rows by codes, of other rows by values.

Trees without sets have kernels of their own, which need not ask at each split what kind it is of. Here a set is a row
of a table: which of the codes 0 (missing) and 1 + c (category c) go left.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import compiled, compiled_part
from podium._validation import Array
from podium.binning import BLOCK

ROWS_PER_WALK = 32
"""Rows that go through a tree side by side, so that the wait of one for memory is filled by the others."""
CODES_PER_COLUMN = 256
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
    return np.concatenate(
        [missing_left[:, None], bits.reshape(len(sets), CODES_PER_COLUMN)[:, :-1].astype(np.bool_)], axis=1
    )


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
            code = codes[feature[at] // BLOCK, rows[i], feature[at] % BLOCK]
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
    child: Array,
    value: Array,
    root: Array,
    set_of: Array,
    tables: Array,
    X: Array,
    scores_out: Array,
) -> None:
    """Add every tree's value of each row; slow line: ``scores += tree.predict(X) for tree in trees``.

    A group of rows goes down a tree step by step together; a row that has reached its leaf stays there.
    """
    node = np.empty(ROWS_PER_WALK, np.int32)
    for start in range(0, len(X), ROWS_PER_WALK):
        size = min(ROWS_PER_WALK, len(X) - start)
        for tree in range(len(root)):
            node[:] = root[tree]
            walking = size if root[tree] >= 0 else 0
            while walking > 0:
                walking = 0
                for k in range(size):
                    at = node[k]
                    if at >= 0:
                        x = X[start + k, feature[at]]
                        if set_of[at] >= 0:
                            goes_left = tables[set_of[at], code_of(x)]
                        else:
                            goes_left = x <= threshold[at] or (x != x and missing_left[at])
                        node[k] = child[at, 0 if goes_left else 1]
                        walking += node[k] >= 0
            for k in range(size):
                scores_out[start + k] += value[~node[k]]


@compiled_part
def code_of(x: float) -> int:
    """Code of a category by its number: what is none, such as NaN, is missing."""
    return int(x) + 1 if 0.0 <= x < CODES_PER_COLUMN - 1 else 0
