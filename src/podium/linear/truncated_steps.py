"""Boosting by truncated gradients: one feature a round, its coefficient shrunk towards 0 and cut off there.

The truncated gradient (Langford, Li and Zhang 2009, "Sparse online learning via truncated gradient") follows a step
down the slope of a loss by one of at most ηα towards 0, which ends there: coefficients that are not worth the l1
penalty α ‖β‖₁ are 0 exactly.
"""

from __future__ import annotations

import numpy as np

from podium._validation import Array
from podium.boosting import BaseModel, Learned, Stop
from podium.linear.centered_columns import CenteredColumns
from podium.linear.fitted_line import Line

LEAST_FALL = 1e-16
"""Fall of the penalised loss, in parts of a pair's loss, below which a step is rounding."""
AT_ITS_LEAST = "no feature lowers the penalised loss: it is at its least"
"""Reason to stop."""


class TruncatedSteps:
    """Adds a line in the feature whose truncated step is certain to lower the penalised loss most.

    Parameters
    ----------
    columns : CenteredColumns
    curvatures : ndarray of float64
        Upper bound of the loss's second derivative along each feature over its norm.
    learning_rate : float
        Share of the step ``1 / curvature``; up to 1 no step raises the penalised loss.
    alpha : float
        α, for coefficients of features over their standard deviation.
    total : float
        Weight of all rows.
    """

    def __init__(
        self, columns: CenteredColumns, curvatures: Array, learning_rate: float, alpha: float, total: float
    ) -> None:
        self.columns, self.learning_rate, self.alpha = columns, learning_rate, alpha
        self.root, self.curvatures = np.sqrt(total), total * curvatures
        self.deviations = columns.norms / self.root
        self.coef = np.zeros(len(curvatures))

    def fit(self, gradient: Array, weight: Array, scores: Array) -> Learned | Stop:
        """Return the line of the best step and the scores with it.

        1. The slope g of the loss along each feature over its standard deviation.
        2. The truncated step: β - ηg, then towards 0 by at most ηα, with η = learning_rate / curvature.
        3. The feature whose step lowers ``β g + curvature β²/2 + α |β|`` most, a bound of the penalised loss.
        """
        slopes, before = self.root * self.columns.products(gradient), self.coef * self.deviations  # 1
        sizes = np.divide(
            self.learning_rate, self.curvatures, out=np.zeros_like(self.curvatures), where=self.curvatures > 0
        )
        after = shrunk(before - sizes * slopes, sizes * self.alpha)  # 2
        moves = after - before
        falls = self.alpha * (np.abs(before) - np.abs(after)) - moves * (slopes + 0.5 * self.curvatures * moves)
        best = int(np.argmax(falls))  # 3
        if not falls[best] > LEAST_FALL:
            return Stop(AT_ITS_LEAST)
        # What is cut off must add up to 0 with the lines before it.
        slope = moves[best] / self.deviations[best] if after[best] != 0 else -self.coef[best]
        line = Line(best, float(slope), 0.0, float(self.columns.averages[best]), float(falls[best]))
        return Learned(line, scores + line.slope * self.columns.deviations(best))

    def take(self, model: BaseModel) -> None:
        """Count a line that the scores hold now."""
        if isinstance(model, Line):
            self.coef[model.feature] += model.slope


def shrunk(values: Array, by: Array) -> Array:
    """Return values moved towards 0 by so much, and not beyond it."""
    sizes: Array = np.maximum(np.abs(values) - by, 0.0)
    return np.copysign(sizes, values)
