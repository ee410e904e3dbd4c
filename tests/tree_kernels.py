"""Parts of kernels of trees, compiled so that tests can call them."""

from podium._compiled import compiled
from podium.trees.histogram import fill_histograms, subtract_histograms


@compiled
def fill(words, used, rows, values, first, last, n_rows, fetched, histogram_out):
    """Call `fill_histograms`; the range is in halves of words."""
    fill_histograms(words, used, rows, values, first, last, n_rows, fetched, histogram_out)


@compiled
def subtract(smaller, used, first, last, node_out):
    """Call `subtract_histograms`; the range is in halves of words."""
    subtract_histograms(smaller, used, first, last, node_out)
