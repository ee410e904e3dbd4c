"""Parts of kernels of trees, compiled so that tests can call them, and records for them."""

import numpy as np

from podium._compiled import compiled
from podium.trees.histogram import fill_histograms
from podium.trees.running_sums import settle_histograms


@compiled
def fill(words, used, rows, values, first, last, n_rows, fetched, histogram_out):
    """Call `fill_histograms`; the range is in halves of words."""
    fill_histograms(words, used, rows, values, first, last, n_rows, fetched, histogram_out)


@compiled
def settle(columns, features, used, parts, subtracts, smaller_out, node_out):
    """Call `settle_histograms` for the first part."""
    settle_histograms(columns, features, used, parts[0], subtracts, smaller_out, node_out)


def records(dtype, shape=1):
    """Return records of zeros, whose fields have names."""
    return np.zeros(shape, dtype).view(np.recarray)
