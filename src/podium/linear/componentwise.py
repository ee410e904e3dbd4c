"""The component-wise linear base learner: a simple regression on the one feature that is best (CR 4.3, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from podium._validation import Array
from podium.boosting import NOTHING_FOLLOWS, BaseModel, Learned, Stop
from podium.linear.centered_columns import CenteredColumns
from podium.linear.fitted_line import Line

SELECTIONS = ("squares", "updated", "simple")
"""How the feature of a round is chosen."""
MIN_GAIN_SHARE = 1e-26
"""Share of the gradients' squares below which what a feature explains is rounding."""


class ComponentLearner:
    """Fits ``-gradient / weight`` by a line in one feature.

    Parameters
    ----------
    columns : CenteredColumns
    learning_rate : float
        κ.
    select : {"squares", "updated", "simple"}
        The feature whose line lowers the squared error most; or whose line makes the loss least, that of the model
        with the line in it or that of the line alone. Lines alone are compared as fitted, before the learning rate.
    value : callable
        From scores to the loss, for the two latter.
    """

    def __init__(
        self, columns: CenteredColumns, learning_rate: float, select: str, value: Callable[[Array], float]
    ) -> None:
        self.columns, self.learning_rate, self.select, self.value = columns, learning_rate, select, value

    def fit(self, gradient: Array, weight: Array, scores: Array) -> Learned | Stop:
        """Return the line of the best feature and the scores with it; `Stop` where no feature explains anything."""
        columns, shares = self.columns, -self.columns.products(gradient)
        slopes, gains = shares / columns.norms, shares * shares
        if not gains.max() > MIN_GAIN_SHARE * (gradient[weight > 0] ** 2 / weight[weight > 0]).sum():
            return Stop(NOTHING_FOLLOWS)
        mean = -float(gradient.sum() / weight.sum())
        feature = self._choose(gains, slopes, mean, scores)
        line = Line(
            feature, self.learning_rate * float(slopes[feature]), self.learning_rate * mean,
            float(columns.averages[feature]), float(gains[feature]),
        )  # fmt: skip
        return Learned(line, scores + (line.intercept + line.slope * columns.deviations(feature)))

    def take(self, model: BaseModel) -> None:
        """Each round is a fit of its own."""

    def _choose(self, gains: Array, slopes: Array, mean: float, scores: Array) -> int:
        """Return the feature of the round; of equally good ones the first."""
        if self.select == "squares":
            return int(np.argmax(gains))
        before, factor = (0.0 * scores, 1.0) if self.select == "simple" else (scores, self.learning_rate)
        candidates = np.flatnonzero(gains > 0).tolist()
        lines = (mean + slopes[one] * self.columns.deviations(one) for one in candidates)
        values = [self.value(before + factor * line) for line in lines]
        return int(candidates[int(np.argmin(np.nan_to_num(values, nan=np.inf)))])
