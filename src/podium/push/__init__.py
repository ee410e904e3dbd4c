"""The p-norm push: a distribution over pairs that dwells on the top of the list, and its rounds."""

from __future__ import annotations

from podium.push.push_boosting import PushBoosting
from podium.push.push_distribution import PushDistribution

__all__ = ["PushBoosting", "PushDistribution"]
