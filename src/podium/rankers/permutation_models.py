"""The models of permutations, together: strengths of items, a consensus of rankings, strengths from features."""

from __future__ import annotations

from podium.rankers.linear_plackett_luce import LinearPlackettLuce
from podium.rankers.mallows import Mallows
from podium.rankers.permutation_model import PermutationModel
from podium.rankers.plackett_luce import PlackettLuce

__all__ = ["ITEM_MODELS", "LinearPlackettLuce", "Mallows", "PermutationModel", "PlackettLuce"]

ITEM_MODELS: dict[str, type[PermutationModel]] = {one.__name__: one for one in (Mallows, PlackettLuce)}
"""Models of items, which learn from rankings, not from rows of features."""
