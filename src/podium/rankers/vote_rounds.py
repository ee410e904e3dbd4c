"""The rounds of AdaBoost.OR: what learns the base rankers, what is measured, and the loop.

"OR" is Lin and Li (2009), "Combining ordinal preferences by boosting".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from podium._compiled import compiled
from podium._validation import Array
from podium.boosting.rounds import Monitor
from podium.ordinal.costs import costs_of_steps
from podium.ordinal.grades import grades_of
from podium.ordinal.ordinal_stump import OrdinalStump, OrdinalStumpLearner
from podium.ordinal.step_weights import StepWeights
from podium.ordinal.votes import Votes
from podium.rankers.ordinal_ranker import OrdinalData, OrdinalRanker
from podium.rankers.orstump import ORStump

ROUNDING = 1e-12
"""An ε above 1/2 by no more than this is taken for 1/2: it is a sum that rounding may raise."""
LEAST = float(np.finfo(float).tiny)
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

    ranker: Any
    epsilon: float
    weight: float

    @property
    def vote(self) -> float:
        """The weight, at least `LEAST`."""
        return max(self.weight, LEAST)

    @property
    def factor(self) -> float:
        """√(1 - 4 γ²) with γ = 1/2 - ε: what the round lowers the bound by (OR Theorem 6)."""
        return 2.0 * math.sqrt(self.epsilon * (1.0 - self.epsilon))

    @property
    def line(self) -> str:
        """What the progress bar says of the round."""
        return f"epsilon {self.epsilon:.4f}"


class BaseLearner(Protocol):
    """Learns base rankers under changing costs."""

    repeats: bool
    """Whether it would learn the same again from the same weights."""

    def learn(self, weights: StepWeights) -> tuple[Any, Array]:
        """Return a base ranker for the current weights and the grades that it gives to the training rows."""


def boost_grades(
    weights: StepWeights, learner: BaseLearner, training: VotedSet, monitor: Monitor[OrdinalRound], n_rounds: int
) -> list[float]:
    """Run AdaBoost.OR (OR Algorithm 2) and return the mean training cost after each round.

    1. learn a base ranker r_t with the current costs;
    2. compute its error ε_t; end without it if that is above 1/2;
    3. weigh it by v_t = ½ ln((1 - ε_t) / ε_t);
    4. multiply the weights of what it answers wrongly by 1 + Λ_t = (1 - ε_t) / ε_t.

    Parameters
    ----------
    weights : StepWeights
        Of the binary examples; moved on round by round.
    learner : BaseLearner
    training : VotedSet
        The training rows without votes.
    monitor : Monitor
    n_rounds : int
    """
    costs: list[float] = []
    with monitor:
        while len(monitor.rounds) < n_rounds and not monitor.stopped:
            ranker, grades = learner.learn(weights)  # 1
            epsilon = weights.error(grades)  # 2
            if epsilon > 0.5 + ROUNDING:
                monitor.stop(f"the next base ranker has epsilon {epsilon:.4f}, more than one half")
                break
            done = OrdinalRound(ranker, epsilon, vote_weight(epsilon, training.votes.total))  # 3
            if epsilon > 0:
                weights.update(grades, (1 - epsilon) / epsilon)  # 4
            costs.append(training.take(grades, done.vote))
            monitor.observe(done)
            if epsilon == 0:
                monitor.stop("the last base ranker makes no error")
            elif epsilon >= 0.5 and learner.repeats:
                monitor.stop("the last base ranker is no better than a constant, and so would all others be")
    return costs


def vote_weight(epsilon: float, total: float) -> float:
    """Return v = ½ ln((1 - ε) / ε); for ε = 0 one more than the sum of the weights so far, which outvotes them."""
    if epsilon == 0:
        return 1.0 + total
    return max(0.0, 0.5 * math.log((1 - epsilon) / epsilon))


class StumpRankers:
    """Learns ORStumps; features are sorted once for all rounds.

    Parameters
    ----------
    template : ORStump
        Whose parameters the stumps have.
    data : OrdinalData
    n_threads : int
    """

    repeats = True

    def __init__(self, template: ORStump, data: OrdinalData, n_threads: int) -> None:
        self.template = clone(template)
        self.template._describe(data)
        self.learner = OrdinalStumpLearner(data.features, len(data.classes) - 1, n_threads)

    def learn(self, weights: StepWeights) -> tuple[ORStump, Array]:
        """Return the best stump, as a fitted ranker, and its grades."""
        found = self.learner.search(weights)
        return fitted_stump(self.template, found.stump), found.grades


class AnyRankers:
    """Learns base rankers of any kind from cost vectors.

    Parameters
    ----------
    template : estimator
        Cloned for each round.
    data : OrdinalData
    seed : int
        Seeds a template with a parameter `random_state`.
    """

    repeats = False

    def __init__(self, template: Any, data: OrdinalData, seed: int) -> None:
        self.template, self.data = template, data
        self.generator = check_random_state(seed)
        self.seeded = "random_state" in template.get_params(deep=False)

    def learn(self, weights: StepWeights) -> tuple[Any, Array]:
        """Return a ranker fitted to the current cost vectors and its grades."""
        ranker = clone(self.template)
        if self.seeded:
            ranker.set_params(random_state=int(self.generator.randint(2**31 - 1)))
        data = self.data
        costs = costs_of_steps(weights.shares(), data.grades)
        if isinstance(ranker, OrdinalRanker):
            ranker._check_parameters()
            ranker._take(replace(data, costs=costs))
        else:
            ranker.fit(data.features, data.classes[data.grades], sample_cost=costs)
        return ranker, grades_by(ranker, data.features, data.classes)


def fitted_stump(template: ORStump, stump: OrdinalStump) -> ORStump:
    """Return a copy of a described ORStump that holds a stump (without `copy`, which takes as long as an update)."""
    ranker = ORStump.__new__(ORStump)
    ranker.__dict__.update(template.__dict__)
    ranker._keep(stump)
    return ranker


def grades_by(ranker: Any, features: Any, classes: Array) -> Array:
    """Return the grades, from 0, that a fitted base ranker gives to the rows of a checked matrix."""
    if isinstance(ranker, OrdinalRanker):
        return ranker._grade(features)
    return grades_of(ranker.predict(features), features.shape[0], classes)


@dataclass(frozen=True)
class MeanCost:
    """What evaluation sets of ordinal rankers are measured by."""

    name: str = "cost"
    higher_is_better: bool = False

    def __str__(self) -> str:
        return self.name


class VotedSet:
    """Data on which the rounds vote.

    Parameters
    ----------
    name : str
        Key in the history.
    data : OrdinalData
    """

    def __init__(self, name: str, data: OrdinalData) -> None:
        self.name, self.data = name, data
        self.votes = Votes(len(data.grades), len(data.classes))

    def add(self, done: OrdinalRound) -> dict[str, float]:
        """Let a round vote and return the mean cost."""
        return {"cost": self.take(grades_by(done.ranker, self.data.features, self.data.classes), done.vote)}

    def take(self, grades: Array, vote: float) -> float:
        """Take a ranker's grades for its vote and return the mean cost of the medians."""
        self.votes.add(grades, vote)
        return float(_sum_chosen(self.data.costs, self.votes.medians())) / len(grades)


@compiled
def _sum_chosen(costs: Array, grades: Array) -> float:
    """Return ``costs[np.arange(len(grades)), grades].sum()``."""
    total = 0.0
    for row in range(len(grades)):
        total += costs[row, grades[row]]
    return total
