"""The rows of evaluation sets that a worker holds, and what is measured of them after each round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from podium._exact import DIGITS, digits_of
from podium._exchange import Exchange
from podium._validation import Array
from podium.boosting import StagedScores
from podium.data import RankingData
from podium.distributed.held_boosting import DaskRound
from podium.distributed.held_grades import GradeStart, StagedGrades
from podium.measures import measure_many, parse_measure
from podium.rankers.score_start import Start


@dataclass(eq=False)
class HeldEvaluation:
    """The part of an evaluation set that a worker holds.

    Attributes
    ----------
    data : RankingData
    staged : StagedScores, optional
        Scores of its rows; none before the first round.
    n_rounds : int
        Rounds that are in the scores.
    max_grade : float
        Highest label of the whole set, 0 at least.
    """

    data: RankingData
    staged: StagedScores | StagedGrades | None = None
    n_rounds: int = 0
    max_grade: float = 0.0

    def add(self, round_: DaskRound, start: Start | GradeStart | None) -> None:
        """Take a round into the scores, which begin with `start`, or into the votes."""
        if self.staged is None:
            self.staged = self._staged(start)
        self.staged.add(round_)  # type: ignore[arg-type]
        self.n_rounds += 1

    def _staged(self, start: Start | GradeStart | None) -> StagedScores | StagedGrades:
        """Return the predictions before the first round."""
        features, labels = self.data.features, self.data.labels
        if isinstance(start, GradeStart) and labels is not None:
            return StagedGrades(features, self.data.queries.to_caller(labels), start)
        return StagedScores(features, start.scores(features) if isinstance(start, Start) else 0.0)

    def measured(self, names: Sequence[str]) -> Array:
        """Return the digits of Σ value · weight and of Σ weight for each measure after the rounds so far.

        int64[n, 2, DIGITS], over the queries that have a value.
        """
        if isinstance(self.staged, StagedGrades):
            return self.staged.digits()
        queries, labels = self.data.queries, self.data.labels
        if labels is None or self.staged is None:
            return np.zeros((len(names), 2, DIGITS), np.int64)
        measures = [parse_measure(name) for name in names]
        top = self.max_grade if any("max_grade" in one.definition.uses for one in measures) else None
        found = measure_many(measures, labels, self.staged.scores[queries.rows], queries.offsets, max_grade=top)
        return np.array([_weighted_digits(one.values, one.weights) for one in map(found.__getitem__, names)])


def measure_together(
    evals: Mapping[int, HeldEvaluation], n_sets: int, names: Sequence[str], exchange: Exchange
) -> Array:
    """Return the digits of all sets over the workers that exchange sums: int64[n_sets, n, 2, DIGITS]."""
    if n_sets == 0:
        return np.zeros((0, len(names), 2, DIGITS), np.int64)
    nothing = np.zeros((len(names), 2, DIGITS), np.int64)
    own = [evals[number].measured(names) if number in evals else nothing for number in range(n_sets)]
    return exchange.sum(np.array(own))


def _weighted_digits(values: Array, weights: Array) -> tuple[Array, Array]:
    """Return what `weighted_mean` divides, as digits."""
    known = ~np.isnan(values)
    return digits_of(values[known] * weights[known]), digits_of(weights[known])
