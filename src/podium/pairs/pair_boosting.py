"""The rounds of RankBoost (Freund, Iyer, Schapire and Singer 2003, "RB", Figure 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from podium._validation import Array
from podium.boosting import Stop
from podium.data import RankingData
from podium.pairs.alpha import SMOOTHING
from podium.pairs.distribution import Distribution
from podium.pairs.weak_ranking import WeakLearner, WeakRanking, WeakResult

AlphaRule = Callable[[WeakResult, Distribution], float]

CHANCE = "is better than chance"
"""End of the reason to stop where no weak ranking, or no stump, is."""
FLAWLESS = "the last weak ranking orders every pair rightly"
"""Reason to end after a weak ranking without an error: its best weight is infinite, and it would be found again."""
UNDEFINED = (
    'the next weak ranking makes no reverse ranking, so that its alpha is undefined; consider undefined="smooth"'
)
"""Reason to end before a ranking that ties some pairs and orders all others one way."""


@dataclass(frozen=True)
class Round:
    """One round of boosting.

    Attributes
    ----------
    ranking : WeakRanking
        The weak ranking h_t.
    alpha : float
        Its weight α_t; carries the sign.
    Z : float
        Normaliser Z_t: the factor by which the exponential loss fell.
    r : float
        Σ D_t(x₀, x₁) (h_t(x₁) − h_t(x₀)), the edge of h_t (RB Eq. 5).
    """

    ranking: WeakRanking
    alpha: float
    Z: float
    r: float

    @property
    def progress_text(self) -> str:
        """What the progress bar says of the round."""
        return f"Z {self.Z:.4f}"

    @property
    def feature(self) -> int:
        """Column of the weak ranking."""
        return int(self.ranking.feature)  # type: ignore[attr-defined]

    @property
    def threshold(self) -> float:
        """The stump is 1 where x > threshold."""
        return float(self.ranking.threshold)  # type: ignore[attr-defined]

    @property
    def abstain(self) -> float:
        """Value of the weak ranking where the feature is missing: q_def."""
        return self.ranking.abstain  # type: ignore[attr-defined, no-any-return]


class RankingMemory(Protocol):
    """Remembers the weak rankings of a run, for a search that depends on them."""

    def add(self, ranking: WeakRanking, alpha: float) -> None:
        """Note that a ranking was used with weight `alpha`."""


class SteppedDistribution(Protocol):
    """Weights of pairs that move on with each step, and the sum of the steps."""

    scores: Array

    def update(self, step: Array) -> float:
        """Take a step α h and return the normaliser Z."""

    def ordered_by(self, values: Array) -> bool:
        """Return whether such values of the rows put every pair into its order, none tied."""


class RankingSteps:
    """What boosting on pairs does with each weak ranking, one just found or one of an earlier run.

    Parameters
    ----------
    data : RankingData
    distribution : SteppedDistribution
        D_1; moved on round by round.
    memory : RankingMemory, optional
        Told each weak ranking and its α.
    """

    def __init__(
        self, data: RankingData, distribution: SteppedDistribution, memory: RankingMemory | None = None
    ) -> None:
        self.data, self.memory, self._steps = data, memory, distribution
        self._last: Array | None = None

    def replay(self, round_: Round) -> None:
        """Take the step of an earlier round."""
        values = round_.ranking.predict(self.data.features)[self.data.queries.rows]
        self._take(round_.ranking, round_.alpha, round_.alpha * values)

    def _take(self, ranking: WeakRanking, alpha: float, step: Array) -> float:
        """Update D with α h and return the normaliser."""
        Z = self._steps.update(step)
        self._last = step
        if self.memory is not None:
            self.memory.add(ranking, alpha)
        return Z

    def _is_flawless(self) -> bool:
        """Return whether the last step α h, and the sum of all steps, order every pair rightly and tie none."""
        if self._last is None:
            return False
        return self._steps.ordered_by(self._last) and self._steps.ordered_by(self._steps.scores)


class PairBoosting(RankingSteps):
    """RankBoost: minimises Σ D(x₀, x₁) exp(H(x₀) − H(x₁)) over H = Σ α_t h_t, one weak ranking a round.

    Parameters
    ----------
    data : RankingData
    distribution : Distribution
        D_1; moved on round by round.
    learner : WeakLearner
    weigh : callable
        ``weigh(found, distribution)`` is α_t, learning rate included.
    memory : RankingMemory or None
        Told each weak ranking and its α.
    stop_undefined : bool
        End before a ranking without a finite best α.
    """

    def __init__(
        self,
        data: RankingData,
        distribution: Distribution,
        learner: WeakLearner,
        weigh: AlphaRule,
        memory: RankingMemory | None,
        stop_undefined: bool,
    ) -> None:
        super().__init__(data, distribution, memory)
        self.distribution, self.learner, self.weigh, self.stop_undefined = distribution, learner, weigh, stop_undefined

    def step(self, number: int) -> Round | Stop:
        """Do one round of RB Figure 1.

        1. End after a ranking that alone, and in the sum, orders every pair rightly, none tied.
        2. Train the weak learner with D_t: a ranking h_t with a large edge.
        3. Choose its weight α_t.
        4. Update D_{t+1} ∝ D_t exp(α_t (h_t(x₀) − h_t(x₁))), with normaliser Z_t.
        """
        distribution = self.distribution
        if self._is_flawless():  # 1
            return Stop(FLAWLESS)
        found = self.learner.search(distribution.potentials(), distribution)  # 2
        if found is None or isinstance(found, Stop):
            return found or Stop(f"no weak ranking {CHANCE}")
        if self.stop_undefined and is_undefined(found.values, distribution):
            return Stop(UNDEFINED)
        alpha = self.weigh(found, distribution)  # 3
        Z = self._take(found.ranking, alpha, alpha * found.values)  # 4
        return Round(found.ranking, alpha, Z, found.r)


def is_undefined(values: Array, distribution: Distribution) -> bool:
    """Return whether a ranking has no finite best α although it ties some pairs."""
    right, _, wrong = distribution.ranking_weights(values)
    one_way = min(right, wrong) <= SMOOTHING * (right + wrong)
    return one_way and not (distribution.ordered_by(values) or distribution.ordered_by(-values))
