"""RankBoost+: the distribution in which ties cost, independent rankings, and the search among them."""

from __future__ import annotations

from podium.plus.materialized_pairs import materialize_pairs
from podium.plus.plus_boosting import PlusBoosting
from podium.plus.plus_distribution import PlusDistribution
from podium.plus.plus_search import EfficientLearner, OptimalLearner
from podium.plus.tied_pairs import TieWeights, pack_bits, tie_tables

__all__ = [
    "EfficientLearner",
    "OptimalLearner",
    "PlusBoosting",
    "PlusDistribution",
    "TieWeights",
    "materialize_pairs",
    "pack_bits",
    "tie_tables",
]
