"""The ordinal rankers, together: from rows with grades to a grade for each row."""

from __future__ import annotations

from podium.rankers.adaboost_or import AdaBoostOR
from podium.rankers.bagging import BaggingOR
from podium.rankers.extended_binary import ExtendedBinary
from podium.rankers.orboost import ORBoost
from podium.rankers.ordinal_ranker import OrdinalRanker
from podium.rankers.ordinal_thresholds import OrdinalThresholds
from podium.rankers.orstump import ORStump
from podium.rankers.prank import PRank
from podium.rankers.svor import SVOR

__all__ = [
    "SVOR",
    "AdaBoostOR",
    "BaggingOR",
    "ExtendedBinary",
    "ORBoost",
    "ORStump",
    "OrdinalRanker",
    "OrdinalThresholds",
    "PRank",
]
