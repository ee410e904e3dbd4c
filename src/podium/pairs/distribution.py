"""The pair distribution D, the potentials π and the normaliser Z of boosting on pairs.

"RB" is Freund, Iyer, Schapire and Singer (2003), "An efficient boosting algorithm for combining preferences".
D_t(x₀, x₁) is proportional to Φ(x₀, x₁) exp(H(x₀) - H(x₁)) for the ranking H so far (RB Figure 1). Graded
feedback is kept factored (`graded`, O(n) a round), explicit pairs as they are (`pairs`, O(m) a round).

What is exact: every sum over pairs is a sum of positive numbers, so its relative error is a few roundings of
the scores, whatever their size. Two things are let go, both far below rounding: pairs that weigh less than
exp(-128) of their own query's heaviest, where a query's scores span more than 600 (weights of rows and differences of
labels left out of account, so that ratios of these above 10^40 are beyond it), and queries that weigh less than
exp(-700) of the whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podium._compiled import SCORE
from podium._exchange import ALONE, Exchange
from podium._validation import Array, NoPairsError, PodiumError
from podium.data import Feedback, Graded, Pairs
from podium.pairs.explicit_part import PairsPart
from podium.pairs.graded_part import GradedPart

__all__ = ["Distribution", "GradedPart", "Moments", "PairsPart", "RankingWeights"]


LOG_LARGEST = 709.0
"""A step against the feedback may raise the loss beyond any float; Z_t is then given as exp(709)."""


class RankingWeights(NamedTuple):
    """Weight of the pairs by what a {0, 1}-valued ranking h says of them (RB section 3.2).

    Attributes
    ----------
    minus : float
        W₋: pairs with h(x₀) - h(x₁) = -1, rightly ordered.
    zero : float
        W₀: tied pairs.
    plus : float
        W₊: wrongly ordered pairs.
    """

    minus: float
    zero: float
    plus: float


class Moments(NamedTuple):
    """Z(α) = Σ D exp(α (h(x₀) - h(x₁))) and its derivatives, in a form that cannot overflow.

    Attributes
    ----------
    log_value : float
        ln Z(α).
    slope : float
        Z'(α) / Z(α).
    curvature : float
        Z''(α) / Z(α).
    """

    log_value: float
    slope: float
    curvature: float


class Distribution:
    """The current distribution over pairs, moved on by one weak ranking at a time.

    Parameters
    ----------
    feedback : Graded, Pairs or FeedbackSum
        Φ. Its weights are normalised to sum to 1 and are D₁.
    n_rows : int
    n_threads : int
        Threads to use. Their number changes no bit of any result.
    exchange : Exchange
        With the parts that have other queries, which must have the same kinds of feedback. Sums over pairs, and with
        them all potentials and weights, are then those of all parts together: exact, so that no partitioning changes a
        bit.

    Attributes
    ----------
    parts : tuple of GradedPart or PairsPart
        The parts of the feedback; all share one normaliser.
    scores : ndarray of float64
        H(x) of each row: the sum of all steps.
    log_total : float
        Logarithm of Σ Φ exp(H(x₀) - H(x₁)), the sum of all unnormalised weights.
    log_loss : float
        Logarithm of Π Z_t so far, which bounds the ranking loss (RB Theorem 1).
    """

    def __init__(self, feedback: Feedback, n_rows: int, n_threads: int = 1, exchange: Exchange = ALONE) -> None:
        self.n_rows, self.n_threads, self.scores = n_rows, n_threads, np.zeros(n_rows, SCORE)
        self.exchange = exchange
        weighing = [part for part in feedback.parts if exchange.count(_has_weight(part))]
        self.parts = tuple(_part(part, n_rows, n_threads, exchange) for part in weighing)
        if not self.parts:
            raise NoPairsError("There is nothing to rank: no pair of the feedback has a positive weight.")
        self.log_total = self._log_total()
        self._log_first = self.log_total

    @property
    def log_loss(self) -> float:
        """Logarithm of the product of all Z_t so far."""
        return self.log_total - self._log_first

    @property
    def n_pairs(self) -> float:
        """Number of pairs with a positive weight."""
        return sum(part.n_pairs for part in self.parts)

    def potentials(self) -> Array:
        """Return π(x) = Σ D(x', x) - D(x, x') of each row (RB Eq. 10); they sum to 0."""
        potentials = np.zeros(self.n_rows, SCORE)
        for part in self.parts:
            part.add_potentials(self.log_total, potentials)
        return potentials

    def masses(self) -> tuple[Array, Array]:
        """Return Σ D(x', x) and Σ D(x, x') of each row: its weight as better and as worse member of pairs."""
        better, worse = np.zeros(self.n_rows, SCORE), np.zeros(self.n_rows, SCORE)
        for part in self.parts:
            part.add_masses(self.log_total, better, worse)
        return better, worse

    def update(self, step: Array) -> float:
        """Add `step` = α h(x) to the scores, move on to D_{t+1} and return Z_t (RB Figure 1)."""
        before = self.log_total
        for part in self.parts:
            part.advance(step)
        self.scores += step
        self.log_total = self._log_total()
        return float(np.exp(min(self.log_total - before, LOG_LARGEST)))

    def ordered_by(self, values: Array) -> bool:
        """Return whether such values of the rows put every pair of the feedback into its order, none tied."""
        return self.exchange.agree(all(part.order.ordered_by(values) for part in self.parts))

    def ranking_weights(self, ranking: Array) -> RankingWeights:
        """Return W₋, W₀ and W₊ of a ranking with values 0 and 1 on the rows; other values are refused."""
        other = ranking[(ranking != 0.0) & (ranking != 1.0)]
        if len(other):
            raise PodiumError(
                'W₋, W₀ and W₊, and with them alpha="z", are defined for weak rankings of values 0 and 1; got values '
                f'such as {other.min():g} and {other.max():g}: take alpha="numeric", or moments in place of weights.'
            )
        minus, plus = np.sum([part.split(ranking, self.log_total) for part in self.parts], axis=0)
        return RankingWeights(float(minus), max(0.0, float(1.0 - minus - plus)), float(plus))

    def moments(self, ranking: Array, alpha: float) -> Moments:
        """Return ln Z(α), Z'(α) / Z(α) and Z''(α) / Z(α) of any real-valued ranking of the rows."""
        logs, means = zip(*(part.moments(ranking, alpha) for part in self.parts), strict=True)
        log_total = np.logaddexp.reduce(logs)
        slope, curvature = np.exp(np.array(logs) - log_total) @ np.array(means)
        return Moments(float(log_total - self.log_total), float(slope), float(curvature))

    def ranking_loss(self, scores: Array) -> float:
        """Return Σ D₁(x₀, x₁) [s(x₁) ≤ s(x₀)] of any scores s of the rows, a tie counting as an error (RB Eq. 1)."""
        wrong = float(np.logaddexp.reduce([part.log_wrong(scores) for part in self.parts]))
        return float(np.exp(min(wrong - self._log_first, 0.0)))

    def _log_total(self) -> float:
        return float(np.logaddexp.reduce([part.log_total for part in self.parts]))


def _has_weight(feedback: Graded | Pairs) -> bool:
    """Return whether some pair has a positive weight."""
    return bool(np.any(feedback.weight > 0)) if isinstance(feedback, Pairs) else feedback.n_pairs > 0


def _part(feedback: Graded | Pairs, n_rows: int, n_threads: int, exchange: Exchange) -> GradedPart | PairsPart:
    if isinstance(feedback, Graded):
        return GradedPart(feedback, n_threads, exchange)
    return PairsPart(feedback, n_rows, n_threads, exchange)
