"""Histograms as running sums over the codes of a feature: what searches of splits read.

Differences of running sums are those of the differences. So the histograms of a node are summed up once, when they are
filled, and those of its larger child need no sums of their own.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import linked_part, prefetch
from podium._types import Array
from podium.trees.histogram import BINS, FEATURES_PER_HALF, FEATURES_PER_WORD
from podium.trees.split import Record, Records


@linked_part
def settle_histograms(
    columns: Records, features: Array, used: Array, part: Record, subtracts: bool, smaller_out: Array, node_out: Array
) -> None:
    """Turn histograms of the smaller child into running sums, and a node's into those of its larger child.

    Slow lines: ``smaller_out = np.cumsum(smaller_out, axis=-1)`` of numeric features, then, if there is a larger child,
    ``node_out -= smaller_out``. One pass does both, for cells come from far; those of the node's next feature are asked
    for in advance (without: up to a quarter of the time of a tree of 255 leaves).

    Parameters
    ----------
    columns : COLUMN[n_features]
    features : int64
        Numeric features to use, ascending.
    used : bool[n_words]
    part : RANGE
        Features to settle.
    subtracts : bool
        Whether there is a larger child.
    smaller_out, node_out : int64[n_words, 8, 256]
    """
    next_numeric = part.feature_start
    for feature in range(FEATURES_PER_HALF * part.half_start, min(FEATURES_PER_HALF * part.half_stop, len(columns))):
        word, place, total = feature // FEATURES_PER_WORD, feature % FEATURES_PER_WORD, np.int64(0)
        numeric = next_numeric < part.feature_stop and features[next_numeric] == feature
        next_numeric += numeric
        if numeric and subtracts:
            for code in range(columns[feature].n_bins + 1):
                prefetch(node_out, (feature + 1) * BINS + code)
                total += smaller_out[word, place, code]
                smaller_out[word, place, code] = total
                node_out[word, place, code] -= total
        elif numeric:
            for code in range(columns[feature].n_bins + 1):
                total += smaller_out[word, place, code]
                smaller_out[word, place, code] = total
        elif subtracts and used[word]:
            for code in range(BINS):
                node_out[word, place, code] -= smaller_out[word, place, code]
