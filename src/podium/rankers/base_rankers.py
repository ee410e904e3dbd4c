"""What learns the base rankers of AdaBoost.OR: stumps by one search, others by their own `fit`."""

from __future__ import annotations

from dataclasses import replace

from sklearn.base import clone
from sklearn.utils import check_random_state

from podium._types import Features, Learner
from podium._validation import Array
from podium.ordinal import OrdinalData, OrdinalStump, OrdinalStumpLearner, StepWeights, costs_of_steps, grades_of
from podium.rankers.ordinal_ranker import OrdinalRanker
from podium.rankers.orstump import ORStump


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
        self.template, self.data = clone(template), data
        self.template._describe(data)
        self.learner = OrdinalStumpLearner(data.features, len(data.classes) - 1, n_threads)

    def learn(self, weights: StepWeights) -> tuple[ORStump, Array]:
        """Return the best stump, as a fitted ranker, and its grades."""
        found = self.learner.search(weights)
        return fitted_stump(self.template, found.stump), found.grades

    def replay(self, ranker: Learner) -> Array:
        """Return the grades of an earlier stump."""
        return grades_by(ranker, self.data.features, self.data.classes)


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

    def __init__(self, template: Learner, data: OrdinalData, seed: int) -> None:
        self.template, self.data = template, data
        self.generator = check_random_state(seed)
        self.seeded = "random_state" in template.get_params(deep=False)

    def learn(self, weights: StepWeights) -> tuple[Learner, Array]:
        """Return a ranker fitted to the current cost vectors and its grades."""
        ranker = clone(self.template)
        if (seed := self._draw_seed()) is not None:
            ranker.set_params(random_state=seed)
        data = self.data
        costs = costs_of_steps(weights.shares(), data.grades)
        if isinstance(ranker, OrdinalRanker):
            ranker._check_parameters()
            ranker._take(replace(data, costs=costs))
        else:
            ranker.fit(data.features, data.classes[data.grades], sample_cost=costs)
        return ranker, grades_by(ranker, data.features, data.classes)

    def replay(self, ranker: Learner) -> Array:
        """Return the grades of an earlier ranker; its seed is drawn again, so that the next one has its own."""
        self._draw_seed()
        return grades_by(ranker, self.data.features, self.data.classes)

    def _draw_seed(self) -> int | None:
        """Return the seed of the next ranker, if it has any use for one."""
        return int(self.generator.randint(2**31 - 1)) if self.seeded else None


def fitted_stump(template: ORStump, stump: OrdinalStump) -> ORStump:
    """Return a copy of a described ORStump that holds a stump (without `copy`, which takes as long as an update)."""
    ranker = ORStump.__new__(ORStump)
    ranker.__dict__.update(template.__dict__)
    ranker._keep(stump)
    return ranker


def grades_by(ranker: Learner, features: Features, classes: Array) -> Array:
    """Return the grades, from 0, that a fitted base ranker gives to the rows of a checked matrix."""
    if isinstance(ranker, OrdinalRanker):
        return ranker._grade(features)
    return grades_of(ranker.predict(features), features.shape[0], classes)
