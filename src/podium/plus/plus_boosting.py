"""The rounds of RankBoost+ (Connamacher, Pancha, Liu and Ray 2019, "RB+", Algorithms 1 and 2)."""

from __future__ import annotations

from podium.boosting import Stop
from podium.data import RankingData
from podium.pairs import CHANCE, FLAWLESS, RankingSteps, Round, WeakResult, alpha_from_r, alpha_numeric
from podium.plus.plus_distribution import PlusDistribution
from podium.plus.plus_search import EfficientLearner


class PlusBoosting(RankingSteps):
    """RankBoost+: minimises Ê2 over sums of linearly independent stumps.

    Parameters
    ----------
    data : RankingData
    distribution : PlusDistribution
        D_1; moved on round by round.
    learner : EfficientLearner
        Of the same distribution.
    """

    def __init__(self, data: RankingData, distribution: PlusDistribution, learner: EfficientLearner) -> None:
        super().__init__(data, distribution, learner)
        self.distribution, self.learner = distribution, learner

    def step(self, number: int) -> Round | Stop:
        """Do one round of RB+ Algorithm 2.

        1. End after a stump that alone, and in the sum, orders every pair rightly, none tied.
        2. Find the direction in which Ê2 falls steepest: a stump used before, or one independent of those.
        3. Choose its weight α_t (Eq. 34).
        4. Update D_{t+1}, and the weight η of the stump, with normaliser Z_t (Eq. 27).
        """
        distribution = self.distribution
        if self._is_flawless():  # 1
            return Stop(FLAWLESS)
        found = self.learner.search(distribution.potentials(), distribution)  # 2
        if found is None:
            return Stop(f"no weak ranking {CHANCE}")
        alpha = plus_alpha(found, distribution)  # 3
        Z = self._take(found.ranking, alpha, alpha * found.values)  # 4
        return Round(found.ranking, alpha, Z, found.r)


def plus_alpha(found: WeakResult, distribution: PlusDistribution) -> float:
    """Return α of RB+ Eq. 34, or along a dependent ranking the numerical minimum of Ê2 (RB+ section 4).

    With δ of Eq. 33, Eq. 34 reads α = ½ ln((1 - δ) / (1 + δ)): RB Eq. 6 with -δ in the place of r.
    """
    edge = distribution.edge(found.values, found.r)
    if edge is None:
        return alpha_numeric(found, distribution)
    return alpha_from_r(found._replace(r=edge), distribution)
