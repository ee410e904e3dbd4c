"""The distribution over pairs, the weights of weak rankings, and RankBoost's rounds."""

from __future__ import annotations

from podium.pairs.alpha import RULES, SMOOTHING, alpha_from_r, alpha_numeric
from podium.pairs.distribution import LOG_LARGEST, Distribution, Moments
from podium.pairs.explicit_part import PairOrder, PairsPart
from podium.pairs.factors import LevelOrder
from podium.pairs.feature_loss import RankingLoss, average, lowest_first, spread
from podium.pairs.graded_part import GradedPart
from podium.pairs.pair_boosting import CHANCE, FLAWLESS, PairBoosting, RankingSteps, Round
from podium.pairs.weak_ranking import WeakLearner, WeakRanking, WeakResult

__all__ = [
    "CHANCE",
    "FLAWLESS",
    "LOG_LARGEST",
    "RULES",
    "SMOOTHING",
    "Distribution",
    "GradedPart",
    "LevelOrder",
    "Moments",
    "PairBoosting",
    "PairOrder",
    "PairsPart",
    "RankingLoss",
    "RankingSteps",
    "Round",
    "WeakLearner",
    "WeakRanking",
    "WeakResult",
    "alpha_from_r",
    "alpha_numeric",
    "average",
    "lowest_first",
    "spread",
]
