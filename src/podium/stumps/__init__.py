"""Weak rankings by one feature, the searches that find them, and their sum."""

from __future__ import annotations

from podium.stumps.additive_model import AdditiveModel, StepFunction
from podium.stumps.cut_sums import SCALE, half_blocks, sums_above
from podium.stumps.own_learner import OwnLearner
from podium.stumps.round_columns import rounds_from_columns, rounds_to_columns
from podium.stumps.scaled_feature import FeatureLearner
from podium.stumps.stump import ABSTAINS, Cumulative, PotentialGains, Stump, StumpLearner, column_of, lookup

__all__ = [
    "ABSTAINS",
    "SCALE",
    "AdditiveModel",
    "Cumulative",
    "FeatureLearner",
    "OwnLearner",
    "PotentialGains",
    "StepFunction",
    "Stump",
    "StumpLearner",
    "column_of",
    "half_blocks",
    "lookup",
    "rounds_from_columns",
    "rounds_to_columns",
    "sums_above",
]
