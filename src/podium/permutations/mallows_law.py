"""The law of Mallows: a ranking is the less likely, the more pairs of items it orders other than the consensus.

P(ranking) = φ^d / Z(φ) with d the number of such pairs (Kendall's distance) and 0 ≤ φ ≤ 1. A ranking is n choices, each
of the best that is left; the one that passes over v items of m has probability φ^v / (1 + φ + … + φ^(m-1)), whatever
was chosen before. So the law of the first k places of a ranking is known as well: the first k choices.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from podium._compiled import ROW
from podium._validation import Array

PRECISION = 1e-14
"""Of φ."""


def log_normalisers(phi: float, n_items: int) -> Array:
    """Return log(1 + φ + … + φ^(m-1)) for m = 1 … n_items."""
    logs: Array = np.log(np.cumsum(np.power(phi, np.arange(n_items))))
    return logs


def mean_passed(phi: float, n_items: int) -> Array:
    """Return how many of m items a choice passes over, in the mean, for m = 1 … n_items."""
    powers = np.power(phi, np.arange(n_items))
    passed: Array = np.cumsum(np.arange(n_items) * powers) / np.cumsum(powers)
    return passed


def best_dispersion(distance: float, choices: Array) -> float:
    """Return φ of maximum likelihood: the one whose expected distance is that of the rankings.

    Parameters
    ----------
    distance : float
        Weighted sum of the distances of all rankings.
    choices : ndarray
        Weight of the choices from m = 1 … n items.
    """
    n_items = len(choices)

    def excess(phi: float) -> float:
        """Return by how much the expected distance is above the given one."""
        return float(choices @ mean_passed(phi, n_items)) - distance

    if distance <= 0:
        return 0.0
    return 1.0 if excess(1.0) <= 0 else float(brentq(excess, 0.0, 1.0, xtol=PRECISION))


def log_likelihood(distance: float, choices: Array, phi: float) -> float:
    """Return the log-likelihood of rankings of such a distance in all and such choices."""
    passed = 0.0 if distance <= 0 else distance * np.log(phi) if phi > 0 else -np.inf
    return float(passed - choices @ log_normalisers(phi, len(choices)))


def draw_orders(phi: float, n_items: int, size: int, random: np.random.RandomState) -> Array:
    """Return random orders of the places 0 … n - 1 of the consensus, by repeated insertion.

    The m-th item goes below the m - 1 before it, or above v of them with probability proportional to φ^v.
    """
    orders = np.zeros((size, n_items), ROW)
    for m in range(2, n_items + 1):
        reach = np.cumsum(np.power(phi, np.arange(m)))
        jumped = np.minimum(np.searchsorted(reach, random.random_sample(size) * reach[-1], side="right"), m - 1)
        for order, above in zip(orders, jumped.tolist(), strict=True):
            place = m - 1 - above
            order[place + 1 : m] = order[place : m - 1].copy()
            order[place] = m - 1
    return orders
