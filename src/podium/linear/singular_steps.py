"""The rounds of gradient-free boosting: least squares on one feature, which in singular rounds a measure chooses.

"CR" is Werner's review of ranking problems, whose outlook (5.1) names the idea: a loss without a useful gradient takes
part in component-wise boosting by *singular iterations*. The thesis that it refers to was not at hand; what stands here
is built from that description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np

from podium._compiled import ROW, run_threads
from podium._magnitudes import check_within
from podium._validation import Array, PodiumError
from podium.boosting import Stop
from podium.data import RankingData
from podium.linear.centered_columns import CenteredColumns, CenteredFeature
from podium.measures import Measure, measure_queries, weighted_mean
from podium.model_file import NOT_NEGATIVE, Column, Content, Schema, Value

EXHAUSTED = "no feature explains what is left of y"
"""Reason to stop where least squares find nothing more."""
ENOUGH_FEATURES = "max_features different features are in use"
"""Reason to stop where no further feature is wanted."""
LEAST_FALL = 1e-14
"""A feature that explains less than this share of y's norm explains rounding errors."""
LOSS_TOLERANCE = 1e-12
"""Losses this near to the lowest are equal: a measure of few pairs has few values, and sums of them rounding errors."""

ROUNDS = Schema(
    Column("feature", ROW, (0, "last_feature"), "n_rounds"),
    Column("average", size="n_rounds"),
    Column("alpha", size="n_rounds"),
    Column("fall", bounds=NOT_NEGATIVE, size="n_rounds"),
    Column("singular", np.bool_, size="n_rounds"),
    Column("measured", bounds=None, size="n_rounds"),
    holds="rounds",
)
"""What a file keeps of rounds."""


@dataclass(frozen=True)
class LinearRound:
    """One round of gradient-free boosting.

    Attributes
    ----------
    ranking : CenteredFeature
        The feature, less its average.
    alpha : float
        Coefficient by least squares, times the learning rate.
    fall : float
        By how much the weighted mean of squared residuals fell.
    singular : bool
        Whether the measure chose the feature.
    measured : float
        The measure after a singular round; NaN after a regular one, where it was not taken.
    """

    ranking: CenteredFeature
    alpha: float
    fall: float
    singular: bool
    measured: float

    @property
    def progress_text(self) -> str:
        """What the progress bar says of the round."""
        return f"fall {self.fall:.4g}"

    @property
    def feature(self) -> int:
        """Column of the feature."""
        return self.ranking.feature

    @property
    def average(self) -> float:
        """Average of the feature, which a missing value counts as."""
        return self.ranking.average

    @property
    def offset(self) -> float:
        """What the average takes from the score: α times it."""
        return self.alpha * self.average


class IrregularLoss:
    """A measure of the training rows as a loss: lower is better.

    It is the mean over queries, weighted by the weights that the measure gives them, their own, and the mean weight of
    their rows.

    Parameters
    ----------
    measure : Measure
    data : RankingData
    labels : ndarray of float64
        Label of each grouped row.
    """

    def __init__(self, measure: Measure, data: RankingData, labels: Array) -> None:
        self.measure, self.labels, self.offsets = measure, labels, data.queries.offsets
        row_means = np.add.reduceat(data.row_weight, self.offsets[:-1]) / data.queries.sizes
        self.query_weight = data.query_weight * row_means
        self.sign = -1.0 if measure.higher_is_better else 1.0

    def of(self, scores: Array) -> float:
        """Return the loss of scores of the grouped rows; NaN where it is not defined."""
        found = measure_queries(self.measure, self.labels, scores, self.offsets)
        return self.sign * weighted_mean(found.values, found.weights * self.query_weight)

    def check(self) -> None:
        """Refuse labels that the measure cannot be taken of."""
        found = measure_queries(self.measure, self.labels, np.zeros(len(self.labels)), self.offsets)
        weights = found.weights * self.query_weight
        if np.isnan(weighted_mean(found.values, weights)):
            raise PodiumError(
                f"loss={self.measure.name!r} is undefined: no query of positive weight has "
                f"{found.lacking or 'a value'}; consider singular_every=None, which does without it."
            )


class GradientFreeBoosting:
    """Component-wise boosting by least squares, with singular rounds for a loss that has no useful gradient.

    Parameters
    ----------
    data : RankingData
        With labels.
    labels : ndarray of float64
        Label of each grouped row.
    start : float
        Score of every row before the first round.
    loss : IrregularLoss
        Chooses the feature of singular rounds.
    singular_every : int or None
        Every so many-th round is singular; None: none is.
    learning_rate : float
        Factor on every coefficient.
    max_features : int or None
        End once so many different features are in use.
    n_threads : int
    """

    def __init__(
        self,
        data: RankingData,
        labels: Array,
        start: float,
        loss: IrregularLoss,
        singular_every: int | None,
        learning_rate: float,
        max_features: int | None,
        n_threads: int,
    ) -> None:
        self.data, self.loss, self.singular_every = data, loss, singular_every
        self.learning_rate, self.max_features, self.n_threads = learning_rate, max_features, n_threads
        self.used: set[int] = set()
        self.weights = data.weights
        self.columns = CenteredColumns.of(data.features, data.queries.rows, self.weights)
        self.labels, self.scores = labels, np.full(len(labels), start)
        self.total = float(self.weights.sum())
        self.least = LEAST_FALL * float(np.sqrt(np.sum(self.weights * labels * labels)))

    def step(self, number: int) -> LinearRound | Stop:
        """Do one round.

        1. End if enough features are in use.
        2. Fit the residuals y - f by least squares on each feature alone, with an intercept; end if none fits.
        3. Take the feature that lowers the squared loss most; in every `singular_every`-th round the one with which
           f + learning_rate × fit has the lowest irregular loss, and of equal ones that of the lower squared loss.
        4. Add learning_rate × fit to f.
        """
        if self.max_features is not None and len(self.used) >= self.max_features:  # 1
            return Stop(ENOUGH_FEATURES)
        slopes = self.columns.products(self.weights * (self.labels - self.scores))  # 2
        useful = np.flatnonzero(np.abs(slopes) > self.least)
        if len(useful) == 0:
            return Stop(EXHAUSTED)
        singular = self.singular_every is not None and number % self.singular_every == 0
        losses = self._losses_after(useful, slopes) if singular else np.zeros(len(useful))
        best = best_place(losses, np.abs(slopes[useful]))  # 3
        chosen = int(useful[best])
        return self._take(chosen, float(slopes[chosen]), float(losses[best]) if singular else None)  # 4

    def replay(self, round_: LinearRound) -> None:
        """Take the step of an earlier round."""
        self.used.add(round_.feature)
        self.scores = self.scores + round_.alpha * round_.ranking.predict(self.data.features)[self.data.queries.rows]

    def _take(self, feature: int, slope: float, loss: float | None) -> LinearRound:
        """Add a feature's fit to the scores, and tell of it; `loss` is the irregular one of a singular round."""
        rate, norm = self.learning_rate, float(self.columns.norms[feature])
        alpha = rate * slope / norm
        check_within(np.array([alpha]), "The weights of features", "finite scores; give features of a larger scale")
        round_ = LinearRound(
            self.columns.ranking(feature),
            alpha,
            rate * (2.0 - rate) * slope * (slope / self.total),
            loss is not None,
            np.nan if loss is None else self.loss.sign * loss,
        )
        self.replay(round_)
        return round_

    def _losses_after(self, useful: Array, slopes: Array) -> Array:
        """Return the irregular loss after a step along each of some features."""
        calls = [(feature, self.learning_rate * slopes[feature]) for feature in useful.tolist()]
        return np.array(run_threads(self._loss_after, calls, self.n_threads))

    def _loss_after(self, feature: int, step: float) -> float:
        """Return the irregular loss after a step along a feature."""
        share = step / float(self.columns.norms[feature])
        return self.loss.of(self.scores + share * self.columns.deviations(feature))


def best_place(losses: Array, gains: Array) -> int:
    """Return the place of the largest gain among the lowest losses, the first of equal ones."""
    lowest = losses <= losses.min() + LOSS_TOLERANCE * max(1.0, abs(float(losses.min())))
    return int(np.argmax(np.where(lowest, gains, -1.0)))


def linear_rounds_to_columns(rounds: Sequence[LinearRound]) -> Content:
    """Return what a file keeps of rounds."""
    return ROUNDS.write_rows(rounds)


def linear_rounds_from_columns(columns: Value, path: str | PathLike[str], n_features: int) -> list[LinearRound]:
    """Return the rounds that `linear_rounds_to_columns` wrote, each value checked."""
    found = ROUNDS.read(columns, path, {"last_feature": n_features - 1})
    features, averages, *others = (column.tolist() for column in found.values())
    rankings = map(CenteredFeature, features, averages)
    return [LinearRound(*one) for one in zip(rankings, *others, strict=True)]
