"""Losses that look at one row at a time, or at a query as a distribution (Burges 2010, "LM", section 6)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from podium._compiled import SCORE
from podium._exchange import ALONE, Exchange
from podium._magnitudes import LARGEST, check_within
from podium._validation import Array, PodiumError
from podium.data import Feedback, Graded, salted
from podium.losses.loss import Loss
from podium.measures.conventions import Rules
from podium.measures.graded import LARGEST_EXPONENT, above, exp2_gains, origins
from podium.measures.ties import as_given


class Squared(Loss):
    """Squared error ½ w (y - s)²: gradient w (s - y), curvature w."""

    def __init__(self, labels: Array, weight: Array, sigma: float, exchange: Exchange = ALONE) -> None:
        check_within(labels, "y", "the squared loss, which computes with its values")
        self.labels, self.weight, self.exchange = labels, weight, exchange

    def start(self) -> float:
        """Return the weighted mean of the labels."""
        total = self.exchange.total(self.weight)
        return self.exchange.total(self.labels * self.weight) / total if total > 0 else 0.0

    def derivatives(self, scores: Array, number: int = 0) -> tuple[Array, Array]:
        """Return gradient and curvature of each row."""
        return self.weight * (scores - self.labels), self.weight


class Logistic(Loss):
    """Logistic loss log(1 + exp(-2 y σ s)) for y = 1 where the label is above 0, else -1 (LM Eq. 14).

    With ȳ = 2 y σ/(1 + exp(2 y σ s)) the gradient is -ȳ and the curvature |ȳ| (2σ - |ȳ|).
    """

    def __init__(self, labels: Array, weight: Array, sigma: float, exchange: Exchange = ALONE) -> None:
        self.positive, self.weight, self.sigma, self.exchange = labels > 0, weight, sigma, exchange
        self.sign = np.where(self.positive, 1.0, -1.0)

    def start(self) -> float:
        """Return half the log odds over σ, 0 where all rows are of one kind (LM Eq. 13)."""
        positive, negative = (self.exchange.total(self.weight[kind]) for kind in (self.positive, ~self.positive))
        return 0.0 if min(positive, negative) <= 0 else (math.log(positive) - math.log(negative)) / (2 * self.sigma)

    def derivatives(self, scores: Array, number: int = 0) -> tuple[Array, Array]:
        """Return gradient and curvature of each row."""
        response = self.sign * 2 * self.sigma / (1 + np.exp(np.minimum(2 * self.sigma * self.sign * scores, 700.0)))
        size = np.abs(response)
        return -self.weight * response, self.weight * size * (2 * self.sigma - size)

    def flat_reason(self) -> str | None:
        """Say why nothing tells rows apart; None where something does."""
        kinds = self.exchange.largest(np.array([self.positive.any(), not self.positive.all()]))
        return None if kinds.all() else "the logistic losses need labels above 0 and labels that are not"


class BalancedLogistic(Logistic):
    """Logistic loss in which both kinds of rows weigh alike, 1/n₊ and 1/n₋ (LM 6.1, Eq. 15)."""

    def __init__(self, labels: Array, weight: Array, sigma: float, exchange: Exchange = ALONE) -> None:
        super().__init__(labels, weight, sigma, exchange)
        totals = np.array([exchange.total(weight[kind]) for kind in (~self.positive, self.positive)])
        # times n/2, so that limits on the sum of curvatures mean what they mean in the plain loss
        with np.errstate(over="ignore"):
            shares = np.divide(totals.sum() / 2, totals, out=np.zeros(2), where=totals > 0)
        shares = np.minimum(shares, LARGEST**3)  # of a kind that weighs next to nothing
        self.weight = weight * shares[self.positive.astype(int)]


class CrossEntropy(Loss):
    """Listwise cross-entropy XE-NDCG (Bruch 2021): -Σ φ log ρ with ρ the softmax of a query's scores.

    φ is proportional to 2^(y - o) - γ, o the query's origin as for the measures, γ drawn anew in [0, 1) for each row
    and round, by its key, the seed and the round. Gradient ρ - φ, curvature ρ (1 - ρ).
    """

    def __init__(self, feedback: Graded, seed: int = 0, keys: Array | None = None) -> None:
        self.feedback, self.seed = feedback, seed
        self.keys = np.arange(len(feedback.labels), dtype=np.uint64) if keys is None else keys
        given = as_given(feedback.labels, feedback.offsets)
        labels = np.minimum(above(given.labels, origins(given, Rules())), np.finfo(SCORE).max)
        excess = given.spread(np.maximum(np.maximum.reduceat(labels, feedback.offsets[:-1]) - LARGEST_EXPONENT, 0.0))
        self.gains = np.exp2(labels - excess) if excess.any() else exp2_gains(labels) + 1.0
        self.unit = np.exp2(-excess)  # φ is a share of its query, so 2^-excess cancels, and 2^y does not overflow

    def derivatives(self, scores: Array, number: int = 0) -> tuple[Array, Array]:
        """Return gradient and curvature of each row."""
        feedback, offsets = self.feedback, self.feedback.offsets
        chance = (salted(self.keys, self.seed, number) >> np.uint64(11)) * 2.0**-53
        wanted = self._shares(feedback.row_weight * (self.gains - self.unit * chance))
        top = np.repeat(np.maximum.reduceat(scores, offsets[:-1]), np.diff(offsets))
        given = self._shares(feedback.row_weight * np.exp(scores - top))
        weight = np.repeat(np.where(feedback.pairs_per_query > 0, feedback.query_weight, 0.0), np.diff(offsets))
        return weight * (given - wanted), weight * given * (1 - given)

    def _shares(self, values: Array) -> Array:
        """Divide values by their sum over the query."""
        offsets = self.feedback.offsets
        totals = np.add.reduceat(values, offsets[:-1])
        shares: Array = values / np.repeat(np.where(totals > 0, totals, 1.0), np.diff(offsets))
        return shares


class UserLoss(Loss):
    """A loss given by a function of (scores, feedback) that returns gradient and curvature of each row.

    Rows, in the scores and in ``feedback.labels`` alike, are grouped by query as ``feedback.offsets`` says.
    """

    def __init__(self, function: Callable[[Array, Feedback], tuple[ArrayLike, ArrayLike]], feedback: Feedback) -> None:
        self.function, self.feedback = function, feedback

    def derivatives(self, scores: Array, number: int = 0) -> tuple[Array, Array]:
        """Return what the function gives, checked."""
        given = self.function(scores.copy(), self.feedback)
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise PodiumError(
                f"The loss must return a pair: gradient and curvature of each row; got {type(given).__name__}."
            )
        gradient, curvature = (np.ascontiguousarray(one, SCORE) for one in given)
        for name, values in (("gradient", gradient), ("curvature", curvature)):
            if values.shape != scores.shape or not np.isfinite(values).all():
                raise PodiumError(
                    f"The loss must return a finite {name} for each of {len(scores)} rows; got shape {values.shape}."
                )
            check_within(values, f"The {name} of the loss", "trees")
        if (curvature < 0).any():
            raise PodiumError(
                f"The loss must not return a negative curvature; got {curvature.min():g}. Consider its absolute value."
            )
        return gradient, curvature


POINTWISE: dict[str, type[Squared] | type[Logistic]] = {
    "squared": Squared,
    "logistic": Logistic,
    "balanced": BalancedLogistic,
}
"""Losses of single rows by name."""


def pointwise_loss(name: str, feedback: Graded, sigma: float = 1.0, exchange: Exchange = ALONE) -> Squared | Logistic:
    """Return a loss of single rows, each weighing its row weight times its query's weight."""
    return POINTWISE[name](feedback.labels, feedback.weights, sigma, exchange)
