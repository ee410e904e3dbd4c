"""Pairs with a measured probability: how often, of several judges, one row was put above the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from podium._types import PairsLike
from podium._validation import Array, PodiumError

N_PARTS = 4
"""Parts of pairs with a probability: better, worse, weight, probability."""


def both_ways(pairs: tuple[ArrayLike, ArrayLike, ArrayLike | None, ArrayLike]) -> PairsLike:
    """Return pairs of probability P̄ as pairs for certain, of weight P̄ w one way and (1 - P̄) w the other.

    RankNet's cost is linear in P̄ (Burges 2010, section 2), so that both say the same. Pairs of weight 0 are left out.

    Parameters
    ----------
    pairs : tuple
        (better, worse, weight, probability) of arrays; None as the weight is 1 for all.
    """
    better, worse = (np.asarray(one) for one in pairs[:2])
    chance = _numbers(pairs[3], "probability")
    weight = np.ones(len(chance)) if pairs[2] is None else _numbers(pairs[2], "weight")
    sizes = {one.shape for one in (better, worse, weight, chance)}
    if len(sizes) > 1 or chance.ndim != 1:
        raise PodiumError(
            "pairs must have as many better as worse rows, weights and probabilities; got "
            f"{', '.join(str(one.shape) for one in (better, worse, weight, chance))}."
        )
    wrong = np.flatnonzero(~((chance >= 0.0) & (chance <= 1.0)))
    if len(wrong):
        raise PodiumError(
            f"The probability of a pair must be from 0 to 1; pair {wrong[0]} has {chance[wrong[0]]:g}: divide the "
            "judges who put the one row above the other by all judges of the pair."
        )
    parts = np.concatenate([better, worse]), np.concatenate([worse, better])
    weights = np.concatenate([weight * chance, weight * (1.0 - chance)])
    kept = (weights != 0) | np.repeat([True, False], len(weight)) & np.tile(weight == 0, 2)  # the gate names weight 0
    return parts[0][kept], parts[1][kept], weights[kept]


def _numbers(given: ArrayLike, name: str) -> Array:
    """Return numbers as floats."""
    try:
        return np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise PodiumError(f"The {name} of pairs must be numbers; got {type(given).__name__}.") from None
