"""Parts of kernels of trees, compiled so that tests can call them, and records for them."""

import numpy as np

from podium._compiled import compiled
from podium.trees.growth_state import RANGE
from podium.trees.histogram import CELLS_PER_LINE, FETCHED
from podium.trees.running_sums import fill_running_sums, take_from_node
from podium.trees.split import COLUMN


@compiled
def fill(columns, features, words, used, parts, rows, values, n_rows, subtracts, smaller_out, node_out):
    """Call `fill_running_sums` for each part."""
    fetched, cells = np.empty(FETCHED, np.uint64), np.full(CELLS_PER_LINE, -9)
    for part in parts:
        fill_running_sums(
            columns, features, words, used, part, rows, values, n_rows, subtracts, fetched, cells, smaller_out, node_out
        )


@compiled
def take(used, parts, smaller, node_out):
    """Call `take_from_node` for each part."""
    for part in parts:
        take_from_node(used, part, smaller, node_out)


def columns_and_parts(n_features, ends, features, n_bins=255):
    """Return records of features, and of the ranges of halves of words between some ends."""
    columns, parts = records(COLUMN, n_features), records(RANGE, len(ends) - 1)
    first = np.searchsorted(features // 4, ends)
    columns.n_bins, parts.half_start, parts.half_stop = n_bins, ends[:-1], ends[1:]
    parts.feature_start, parts.feature_stop = first[:-1], first[1:]
    return columns, parts


def records(dtype, shape=1):
    """Return records of zeros, whose fields have names."""
    return np.zeros(shape, dtype).view(np.recarray)
