"""Histograms as running sums over the codes of a feature: what searches of splits read.

Differences of running sums are those of the differences. So the histograms of a node are summed up once, when they are
filled, and those of its larger child need no sums of their own.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import linked_part, prefetch
from podium._types import Array
from podium.trees.histogram import BINS, FEATURES_PER_HALF, FEATURES_PER_WORD, WORDS_PER_LINE, fill_cells
from podium.trees.split import Record, Records

HALVES_PER_LINE = 2 * WORDS_PER_LINE
"""Halves of words in a line of memory."""


@linked_part
def fill_running_sums(
    columns: Records,
    features: Array,
    words: Array,
    used: Array,
    part: Record,
    rows: Array,
    values: Array,
    n_rows: int,
    subtracts: bool,
    fetched: Array,
    cells: Array,
    smaller_out: Array,
    node_out: Array,
) -> None:
    """Fill the histograms of the smaller child as running sums, and turn a node's into those of its larger child.

    Slow lines: ``smaller_out = histogram of the rows``, of numeric features ``np.cumsum`` of it; then, if there is a
    larger child, ``node_out -= smaller_out``. A line of features at a time: cells are settled while they are near.

    Parameters
    ----------
    columns : COLUMN[n_features]
    features : int64
        Numeric features to use, ascending.
    words, used, rows, values, n_rows, fetched : as in `fill_cells`
    part : RANGE
        Features to fill.
    subtracts : bool
        Whether there is a larger child.
    cells : int64[CELLS_PER_LINE]
        Scratch.
    smaller_out, node_out : int64[n_words, 8, 256]
    """
    next_numeric = part.feature_start
    for line in range(part.half_start // HALVES_PER_LINE, (part.half_stop + HALVES_PER_LINE - 1) // HALVES_PER_LINE):
        fill_cells(words, used, rows, values, line, part.half_start, part.half_stop, n_rows, fetched, cells)
        first = FEATURES_PER_HALF * max(part.half_start, HALVES_PER_LINE * line)
        last = FEATURES_PER_HALF * min(part.half_stop, HALVES_PER_LINE * (line + 1))
        for feature in range(first, min(last, len(columns))):
            numeric = next_numeric < part.feature_stop and features[next_numeric] == feature
            next_numeric += numeric
            if numeric or used[feature // FEATURES_PER_WORD]:
                n_summed = columns[feature].n_bins + 1 if numeric else 0
                _settle(feature, n_summed, subtracts, cells, smaller_out, node_out)


@linked_part
def _settle(feature: int, n_summed: int, subtracts: bool, cells: Array, smaller_out: Array, node_out: Array) -> None:
    """Write the running sums of a feature's first cells, or all cells as they are if none is to be summed.

    One pass writes both children, for their cells come from far; those of the node's next feature are asked for in
    advance (without: up to a quarter of the time of a tree of 255 leaves). Cells beyond the last bin have no rows.
    """
    word, place, total = feature // FEATURES_PER_WORD, feature % FEATURES_PER_WORD, np.int64(0)
    at = word % WORDS_PER_LINE * BINS * FEATURES_PER_WORD + place
    if subtracts:
        for code in range(n_summed):
            prefetch(node_out, (feature + 1) * BINS + code)
            total += cells[at + code * FEATURES_PER_WORD]
            smaller_out[word, place, code] = total
            node_out[word, place, code] -= total
    else:
        for code in range(n_summed):
            total += cells[at + code * FEATURES_PER_WORD]
            smaller_out[word, place, code] = total
    for code in range(n_summed, BINS):
        smaller_out[word, place, code] = cells[at + code * FEATURES_PER_WORD]
    if subtracts and n_summed == 0:
        for code in range(BINS):
            node_out[word, place, code] -= smaller_out[word, place, code]


@linked_part
def take_from_node(used: Array, part: Record, smaller: Array, node_out: Array) -> None:
    """Do ``node_out -= smaller`` for the features of a part: what is left is the larger child's."""
    for half in range(part.half_start, part.half_stop):
        if used[half // 2]:
            for feature in range(FEATURES_PER_HALF * (half % 2), FEATURES_PER_HALF * (half % 2 + 1)):
                for code in range(BINS):
                    node_out[half // 2, feature, code] -= smaller[half // 2, feature, code]
