"""The rounds of ORBoost (Lin and Li 2006, "Large-margin thresholded ensembles for ordinal regression")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium._types import Features
from podium._validation import Array
from podium.boosting import StagedScores, Stop
from podium.ordinal.costs import cost_steps
from podium.ordinal.margins import Margins
from podium.ordinal.ordinal_data import OrdinalData
from podium.pairs import CHANCE, SMOOTHING, Round
from podium.stumps import StumpLearner


@dataclass(frozen=True)
class ThresholdRound(Round):
    """One round of ORBoost.

    Attributes
    ----------
    ranking, alpha
        The stump, of values 0 and 1, and its weight.
    Z : float
        Factor by which the loss fell.
    r : float
        Σ potentials where the stump is 1, as a share of the loss.
    thresholds : ndarray of shape (K - 1,)
        Those after the round.
    """

    thresholds: Array


LEAST_LOSS = 1e-280
"""Loss, weights being at most 1, below which rounds end: exponentials of further scores would leave float64."""


class MarginBoosting:
    """ORBoost: stumps that widen the margins between scores and thresholds.

    Parameters
    ----------
    features : ndarray or scipy.sparse.csc_array
        Of the training rows.
    margins : Margins
        Moved on round by round.
    learner : StumpLearner
    learning_rate : float
    """

    def __init__(self, features: Features, margins: Margins, learner: StumpLearner, learning_rate: float) -> None:
        self.features, self.margins, self.learner, self.learning_rate = features, margins, learner, learning_rate
        self._end: Stop | None = None

    def step(self, number: int) -> ThresholdRound | Stop:
        """Do one round of ORBoost.

        1. End after a stump without any pull against it, whose best α is infinite, once all grades are right.
        2. Find the stump of the largest edge for the potentials of the rows.
        3. α = ½ ln(pull with it / pull against it), for a stump of values -1 and 1: 2 α for one of 0 and 1.
        4. Add it to the scores, and move the thresholds to the lowest loss.
        """
        margins = self.margins
        if self._end is not None:  # 1
            return self._end
        if margins.loss < LEAST_LOSS:
            return Stop("the loss has fallen to nothing")
        found = self.learner.search(margins.potentials(), None)  # type: ignore[arg-type]  # the edge needs no pairs # 2
        if found is None:
            return Stop(f"no stump {CHANCE}")
        right, wrong = margins.sides(found.values)
        alpha = self.learning_rate * float(np.log(max(right, SMOOTHING) / max(wrong, SMOOTHING)))  # 3
        Z = self._take(found.values, alpha, min(right, wrong))  # 4
        return ThresholdRound(found.ranking, alpha, Z, found.r, margins.thresholds)

    def replay(self, round_: ThresholdRound) -> None:
        """Take the step of an earlier round."""
        values = round_.ranking.predict(self.features)
        self._take(values, round_.alpha, min(self.margins.sides(values)))

    def _take(self, values: Array, alpha: float, against: float) -> float:
        """Add a stump to the scores, see whether it is the last, and return the factor on the loss."""
        Z = self.margins.add(alpha * values)
        if against == 0.0 and self.margins.flawless():
            self._end = Stop("the last stump makes no error")
        return Z


def margin_weights(data: OrdinalData, variant: str) -> Array:
    """Return the weight of each margin: |c[k+1] - c[k]|, or that of the two next to the grade only."""
    steps = cost_steps(data.costs)
    if variant == "all-margins":
        return steps
    distance = np.arange(steps.shape[1]) - data.grades[:, None]
    return np.where((distance == 0) | (distance == -1), steps, 0.0)


class StagedGrades:
    """Grades of some rows that follow the scores and thresholds."""

    def __init__(self, features: Features) -> None:
        self.staged = StagedScores(features)

    def add(self, round_: ThresholdRound) -> Array:
        """Add a round and return the grades."""
        return np.searchsorted(round_.thresholds, self.staged.add(round_), side="right")
