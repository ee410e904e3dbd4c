"""The rounds of the p-norm push: coordinate descent on weak rankings (Rudin 2009, section 4)."""

from __future__ import annotations

from typing import Any, Protocol

from podium._validation import Array
from podium.boosting import Stop
from podium.data import RankingData
from podium.pairs import CHANCE, FLAWLESS, RankingSteps, Round, WeakResult, alpha_numeric
from podium.push.push_distribution import PushDistribution


class EdgeLearner(Protocol):
    """A weak learner that looks at potentials alone, so that it serves any distribution over pairs."""

    def search(self, potentials: Array, distribution: Any) -> WeakResult | Stop | None:
        """Return the weak ranking of the largest edge |Σ h π|, or None."""


class PushBoosting(RankingSteps):
    """Minimises the loss F of the p-norm push over H = Σ α_t h_t, one weak ranking a round.

    Parameters
    ----------
    data : RankingData
    distribution : PushDistribution
        At equal scores; moved on round by round.
    learner : EdgeLearner
    learning_rate : float
        Factor on every α.
    """

    def __init__(
        self, data: RankingData, distribution: PushDistribution, learner: EdgeLearner, learning_rate: float = 1.0
    ) -> None:
        super().__init__(data, distribution)
        self.distribution, self.learner, self.learning_rate = distribution, learner, learning_rate

    def step(self, number: int) -> Round | Stop:
        """Do one round.

        1. End after a ranking that alone, and in the sum, orders every pair rightly, none tied.
        2. Find the weak ranking h_t along which ln F falls steepest: the largest edge.
        3. Choose its weight α_t: the minimum of F along it, times the learning rate.
        4. Move on; Z_t is the factor by which F fell.
        """
        if self._is_flawless():  # 1
            return Stop(FLAWLESS)
        found = self.learner.search(self.distribution.potentials(), self.distribution)  # 2
        if found is None or isinstance(found, Stop):
            return found or Stop(f"no weak ranking {CHANCE}")
        alpha = self.learning_rate * alpha_numeric(found, self.distribution)  # 3
        Z = self._take(found.ranking, alpha, alpha * found.values)  # 4
        return Round(found.ranking, alpha, Z, found.r)
