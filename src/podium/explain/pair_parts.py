"""What features add to the difference of two rows' scores, and the shares of orders that Shapley values are made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podium._compiled import SCORE
from podium._validation import Array


class PairParts(NamedTuple):
    """What each feature adds to score(a) - score(b).

    Attributes
    ----------
    values : ndarray of float64
        Of each feature.
    tree_sums : ndarray of float64 or None
        The sums of all trees, in their order, for both rows; None where they were not met on the way.
    """

    values: Array
    tree_sums: Array | None = None


def share_table(size: int) -> Array:
    """Return p! q!/(p + q + 1)! for p and q up to a size."""
    shares = np.empty((size + 1, size + 1), SCORE)
    shares[0] = 1.0 / np.arange(1.0, size + 2.0)
    for p in range(1, size + 1):
        shares[p] = shares[p - 1] * p / np.arange(p + 1.0, p + size + 2.0)
    return shares
