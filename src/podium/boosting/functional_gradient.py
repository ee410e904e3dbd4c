"""Functional gradient boosting: a base learner fits the negative gradient of a loss (CR 4.1, Algorithm 1).

"CR" is Werner, "A review on ranking problems in statistical learning".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from podium._types import Features
from podium._validation import Array
from podium.boosting.lifecycle import Stop
from podium.data import RankingData
from podium.losses import Loss

NOTHING_FOLLOWS = "no feature follows the gradients"
"""Reason to stop where no base model lowers the squared error."""


class BaseModel(Protocol):
    """What a base learner makes: it adds its values to the scores, the learning rate in them."""

    @property
    def feature(self) -> Array | int:
        """What it looks at; one number for each split of a tree."""

    @property
    def gain(self) -> Array | float:
        """By how much it lowers the squared error of the fit to the gradients; one number for each split of a tree."""

    def predict(self, X: Features) -> Array:
        """Return the value of each row of a checked matrix."""


class Learned(NamedTuple):
    """A base model, and the scores of the training rows with it."""

    ranking: BaseModel
    scores: Array


class BaseLearner(Protocol):
    """A real-valued base procedure."""

    def fit(self, gradient: Array, weight: Array, scores: Array) -> Learned | Stop:
        """Follow ``-gradient / weight``, by least squares with these weights or otherwise; `Stop` where nothing can."""

    def take(self, model: BaseModel) -> None:
        """Hear of a base model that the scores hold now, of this fit or of an earlier one."""


@dataclass(frozen=True)
class ResponseRound:
    """One round of functional gradient boosting.

    Attributes
    ----------
    ranking : Line or RegressionTree
        What the base learner made, times the learning rate.
    """

    ranking: BaseModel
    alpha: float = 1.0

    @property
    def gain(self) -> float:
        """By how much the base model lowers the squared error of the fit to the gradients."""
        return float(np.sum(self.ranking.gain))

    @property
    def progress_text(self) -> str:
        """What the progress bar says of the round."""
        return f"gain {self.gain:.4g}"


class FunctionalGradient:
    """Generic functional gradient boosting (CR Algorithm 1).

    Parameters
    ----------
    data : RankingData
    loss : Loss
    learner : BaseLearner
    scores : ndarray of float64
        Of the training rows before the first round; moved on round by round.
    """

    def __init__(self, data: RankingData, loss: Loss, learner: BaseLearner, scores: Array) -> None:
        self.data, self.loss, self.learner, self.scores = data, loss, learner, scores

    def step(self, number: int) -> ResponseRound | Stop:
        """Do one round of Algorithm 1.

        1. The negative gradients U of the loss at the scores so far.
        2. The base model g, a fit to U, by least squares if the learner has no other way.
        3. f + κ g, unless the loss diverges there: then the round is not taken.
        """
        gradient, weight = self.loss.derivatives(self.scores, number - 1)  # 1
        if not gradient.any():
            return Stop(self.loss.still_reason())
        learned = self.learner.fit(gradient, weight, self.scores)  # 2
        if isinstance(learned, Stop):
            return learned
        trouble = self.loss.diverged(learned.scores)
        if trouble is not None:
            return Stop(
                f"{trouble} in round {number}, which is left out; consider a smaller learning_rate, labels of a "
                "smaller scale or another surrogate"
            )
        self.scores = learned.scores  # 3
        self.learner.take(learned.ranking)
        return ResponseRound(learned.ranking)

    def replay(self, round_: ResponseRound) -> None:
        """Add an earlier base model to the scores."""
        self.scores = self.scores + round_.ranking.predict(self.data.features)[self.data.queries.rows]
        self.learner.take(round_.ranking)
