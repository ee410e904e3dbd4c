"""The part of an evaluation set that a worker holds: its scores after each round, and its measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from podium._exact import digits_of
from podium._validation import Array
from podium.boosting import StagedScores
from podium.data import RankingData
from podium.measures import measure_many, parse_measure
from podium.rankers.score_start import Start
from podium.trees import TreeRound


@dataclass(eq=False)
class HeldEvaluation:
    """The part of an evaluation set that a worker holds, and how many rounds are in its scores."""

    data: RankingData
    staged: StagedScores | None = None
    n_rounds: int = 0

    def add(self, round_: TreeRound, number: int, start: Start | None) -> None:
        """Take the round of this number, from 1 on, into the scores, unless it is there."""
        if self.n_rounds < number:
            self._scores(start).add(round_)
            self.n_rounds = number

    def measure(self, names: Sequence[str], start: Start | None) -> dict[str, tuple[Array, Array]] | None:
        """Return the digits of Σ value · weight and of Σ weight for each measure; None without labels."""
        if self.data.labels is None:
            return None
        queries, measures = self.data.queries, [parse_measure(name) for name in names]
        scores = self._scores(start).scores[queries.rows]
        found = measure_many(measures, self.data.labels, scores, queries.offsets)
        return {key: _weighted_digits(values.values, values.weights) for key, values in found.items()}

    def _scores(self, start: Start | None) -> StagedScores:
        """Return the scores so far, which begin where those of the training rows do."""
        if self.staged is None:
            features = self.data.features
            first = np.zeros(features.shape[0]) if start is None else start.scores(features)
            self.staged = StagedScores(features, first)
        return self.staged


def _weighted_digits(values: Array, weights: Array) -> tuple[Array, Array]:
    """Return what `weighted_mean` divides, as digits."""
    known = ~np.isnan(values)
    return digits_of(values[known] * weights[known]), digits_of(weights[known])
