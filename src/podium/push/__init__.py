"""The p-norm push, a distribution over pairs that dwells on the top of the list, its rounds, and its limit."""

from __future__ import annotations

from podium.push.push_boosting import EdgeLearner, PushBoosting
from podium.push.push_distribution import PushDistribution
from podium.push.push_programme import offender_pairs, solve_infinite_push

__all__ = ["EdgeLearner", "PushBoosting", "PushDistribution", "offender_pairs", "solve_infinite_push"]
