"""The rounds of AdaBoost.OR (Lin and Li 2009, "OR", Algorithm 2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from podium._types import Learner
from podium._validation import Array
from podium.boosting import Stop
from podium.ordinal.mean_cost import mean_cost
from podium.ordinal.ordinal_data import OrdinalData
from podium.ordinal.step_weights import StepWeights
from podium.ordinal.votes import Votes

ROUNDING = 1e-12
"""An ε above 1/2 by no more than this is taken for 1/2: it is a sum that rounding may raise."""
VOTE_UNIT = 2.0**-40
"""Votes are multiples of this (9e-13): sums of them below 8,192 are exact."""
LEAST_VOTE = float(np.finfo(float).tiny)
"""The vote of a ranker of weight 0: it counts where nothing else does, and adds nothing to a vote that does."""


@dataclass(frozen=True)
class OrdinalRound:
    """One round of AdaBoost.OR.

    Attributes
    ----------
    ranker : fitted ordinal ranker
        The base ranker r_t.
    epsilon : float
        ε_t: its cost under the current cost vectors, in parts of Σ c[1] + c[K].
    weight : float
        v_t = ½ ln((1 - ε_t) / ε_t), its vote.
    """

    ranker: Learner
    epsilon: float
    weight: float

    @property
    def vote(self) -> float:
        """The weight, at least `LEAST_VOTE`."""
        return max(self.weight, LEAST_VOTE)

    @property
    def factor(self) -> float:
        """√(1 - 4 γ²) with γ = 1/2 - ε: what the round lowers the bound by (OR Theorem 6)."""
        return 2.0 * math.sqrt(self.epsilon * (1.0 - self.epsilon))

    @property
    def progress_text(self) -> str:
        """What the progress bar says of the round."""
        return f"epsilon {self.epsilon:.4f}"


class BaseLearner(Protocol):
    """Learns base rankers under changing costs."""

    repeats: bool
    """Whether it would learn the same again from the same weights."""

    def learn(self, weights: StepWeights) -> tuple[Learner, Array]:
        """Return a base ranker for the current weights and the grades that it gives to the training rows."""

    def replay(self, ranker: Learner) -> Array:
        """Return the grades that an earlier base ranker gives to the training rows, as if it had just been learned."""


class VoteBoosting:
    """AdaBoost.OR: a vote of ordinal rankers, each learned from the costs of what the others get wrong.

    Parameters
    ----------
    data : OrdinalData
    weights : StepWeights
        Of the binary examples; moved on round by round.
    learner : BaseLearner

    Attributes
    ----------
    train_costs : list of float
        Mean cost of the vote on the training rows after each round.
    """

    def __init__(self, data: OrdinalData, weights: StepWeights, learner: BaseLearner) -> None:
        self.weights, self.learner = weights, learner
        self.votes, self.train_costs = Votes(len(data.grades), len(data.classes)), list[float]()
        self._measure = mean_cost(data)
        self._end: Stop | None = None

    def step(self, number: int) -> OrdinalRound | Stop:
        """Do one round of OR Algorithm 2.

        1. End after a ranker without an error, or one as bad as a constant that would be learned again.
        2. Learn a base ranker r_t with the current costs.
        3. Compute its error ε_t; end without it if that is above 1/2.
        4. Weigh it by v_t = ½ ln((1 - ε_t) / ε_t).
        5. Multiply the weights of what it answers wrongly by 1 + Λ_t = (1 - ε_t) / ε_t.
        """
        if self._end is not None:  # 1
            return self._end
        ranker, grades = self.learner.learn(self.weights)  # 2
        epsilon = self.weights.error(grades)  # 3
        if epsilon > 0.5 + ROUNDING:
            return Stop(f"the next base ranker has epsilon {epsilon:.4f}, more than one half")
        round_ = OrdinalRound(ranker, epsilon, vote_weight(epsilon, self.votes.total))  # 4
        self._take(round_, grades)  # 5
        return round_

    def replay(self, round_: OrdinalRound) -> None:
        """Let an earlier ranker vote."""
        self._take(round_, self.learner.replay(round_.ranker))

    def _take(self, round_: OrdinalRound, grades: Array) -> None:
        """Update the weights, let the ranker vote, and see whether it is the last."""
        epsilon = round_.epsilon
        if epsilon > 0:
            self.weights.update(grades, (1 - epsilon) / epsilon)
        self.votes.add(grades, round_.vote)
        self.train_costs.append(self._measure(self.votes.medians())["cost"])
        if epsilon == 0:
            self._end = Stop("the last base ranker makes no error")
        elif epsilon >= 0.5 and self.learner.repeats:
            self._end = Stop("the last base ranker is no better than a constant, and so would all others be")


def vote_weight(epsilon: float, total: float) -> float:
    """Return v = ½ ln((1 - ε) / ε); for ε = 0 one more than the sum of the weights so far, which outvotes them.

    It is a multiple of `VOTE_UNIT`: sums of votes are exact, and rounding does not decide where half are for a grade.
    """
    if epsilon == 0:
        return 1.0 + total
    return max(0.0, round(0.5 * math.log((1 - epsilon) / epsilon) / VOTE_UNIT) * VOTE_UNIT)


class StagedMedians:
    """Grades of some rows that follow the votes.

    Parameters
    ----------
    n_rows, n_grades : int
    grade : callable
        ``grade(ranker)`` returns the grades, from 0, that a base ranker gives to the rows.
    """

    def __init__(self, n_rows: int, n_grades: int, grade: Callable[[Learner], Array]) -> None:
        self.votes, self.grade = Votes(n_rows, n_grades), grade

    def add(self, round_: OrdinalRound) -> Array:
        """Let a round vote and return the medians."""
        self.votes.add(self.grade(round_.ranker), round_.vote)
        return self.votes.medians()
