"""One gradient per document from the pairs of a batch: λ, summed (Burges 2010, "LM", sections 2.1 and 3).

The pairs of graded labels are those of `podium.losses.lambdas`, by the same kernel as LambdaMART's. A pair with the
measured probability P̄ costs C = -P̄ log P - (1 - P̄) log(1 - P): it is two explicit pairs, of weight P̄ one way and
1 - P̄ the other. So is a tie, P̄ = ½, of two rows with the same label: their λ is that of any order of the rows of one
label plus that of the opposite order, half of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from podium._compiled import ROW, SCORE
from podium._validation import Array
from podium.data import Graded, Pairs
from podium.losses import LambdaLoss, PairLoss
from podium.neural.query_batches import Batch


class PairCostPart(Protocol):
    """The cost of some kind of pairs."""

    def add_gradient(self, batch: Batch, scores: Array, gradient: Array) -> None:
        """Add to the gradient of the batch's rows; scores and gradient are of all rows."""

    def flat_reason(self) -> str | None:
        """Say why no pair tells rows apart, at whatever scores; None where one may."""


class PairCost:
    """The cost of all pairs, as the gradient of a batch's scores.

    Parameters
    ----------
    parts : sequence of PairCostPart
    n_rows : int
    query_weight : ndarray of float64
        A batch's gradient is divided by the sum of these, so that rates of learning do not depend on its size.
    """

    def __init__(self, parts: Sequence[PairCostPart], n_rows: int, query_weight: Array) -> None:
        self.parts, self.query_weight = parts, query_weight
        self._scores, self._gradient = np.zeros(n_rows, SCORE), np.zeros(n_rows, SCORE)

    def gradient(self, batch: Batch, scores: Array) -> Array:
        """Return dC/ds of each row of a batch at its scores."""
        self._scores[batch.rows], self._gradient[batch.rows] = scores, 0.0
        for part in self.parts:
            part.add_gradient(batch, self._scores, self._gradient)
        total = float(self.query_weight[batch.queries].sum())
        gradient: Array = self._gradient[batch.rows] / (total if total > 0 else 1.0)
        return gradient

    def flat_reason(self) -> str | None:
        """Say why no pair tells rows apart, at whatever scores; None where one may."""
        reasons = [part.flat_reason() for part in self.parts]
        return None if None in reasons else reasons[0]


class GradedCost:
    """Pairs of different labels within queries.

    Parameters
    ----------
    loss : LambdaLoss
    """

    def __init__(self, loss: LambdaLoss) -> None:
        self.loss = loss

    def add_gradient(self, batch: Batch, scores: Array, gradient: Array) -> None:
        """Add λ of the batch's queries."""
        gradient[batch.rows] += self.loss.gradient_of(batch.queries, scores)[batch.rows]

    def flat_reason(self) -> str | None:
        """Say why no pair has any |ΔZ|."""
        return self.loss.flat_reason()


class TiedCost:
    """Pairs of equal labels within queries, each with P̄ = ½: they pull the scores of such rows together.

    Parameters
    ----------
    feedback : Graded
    weight : float
        Of a tied pair, beside 1 for a pair of different labels.
    sigma : float
    """

    def __init__(self, feedback: Graded, weight: float, sigma: float) -> None:
        self.order, levels, self.first_level = _levels(feedback)
        places = np.arange(len(self.order)) - np.repeat(levels[:-1], np.diff(levels))
        of_query = np.searchsorted(feedback.offsets, levels[:-1], "right") - 1
        weights = feedback.row_weight[self.order], 0.5 * weight * feedback.query_weight[of_query]
        self._scores = np.zeros(len(self.order), SCORE)
        self.losses = [
            LambdaLoss(Graded(labels, levels, *weights), "none", None, sigma)
            for labels in (places.astype(SCORE), -places.astype(SCORE))
        ]

    def add_gradient(self, batch: Batch, scores: Array, gradient: Array) -> None:
        """Add λ of the ties of the batch's queries."""
        ends = self.first_level[batch.queries], self.first_level[batch.queries + 1]
        levels = np.concatenate([np.arange(a, b) for a, b in zip(*ends, strict=True)]).astype(ROW)
        rows = self.order[batch.rows]
        self._scores[batch.rows] = scores[rows]
        for loss in self.losses:
            gradient[rows] += loss.gradient_of(levels, self._scores)[batch.rows]

    def flat_reason(self) -> str | None:
        """Ties put no row above another."""
        return "ties put no row above another"


def _levels(feedback: Graded) -> tuple[Array, Array, Array]:
    """Return rows by query and label, the offsets of the labels' rows among them, and of the queries' labels."""
    query = np.repeat(np.arange(len(feedback.offsets) - 1), np.diff(feedback.offsets))
    order = np.lexsort((feedback.labels, query)).astype(ROW)
    labels = feedback.labels[order]
    starts = np.flatnonzero(np.r_[True, (labels[1:] != labels[:-1]) | (query[1:] != query[:-1])])
    return order, np.r_[starts, len(order)].astype(ROW), np.searchsorted(starts, feedback.offsets).astype(ROW)


class ListedCost:
    """Explicit pairs.

    Parameters
    ----------
    feedback : Pairs
    offsets : ndarray of int64
        Of the queries.
    sigma : float
    """

    def __init__(self, feedback: Pairs, offsets: Array, sigma: float) -> None:
        query = np.searchsorted(offsets, feedback.better, "right") - 1
        order = np.argsort(query, kind="stable")
        self.pairs = Pairs(feedback.better[order], feedback.worse[order], feedback.weight[order])
        self.first_pair = np.searchsorted(query[order], np.arange(len(offsets)))
        self.sigma = sigma

    def add_gradient(self, batch: Batch, scores: Array, gradient: Array) -> None:
        """Add λ of the pairs whose better row, and so the other too, is in the batch."""
        ends = self.first_pair[batch.queries], self.first_pair[batch.queries + 1]
        chosen = np.concatenate([np.arange(a, b) for a, b in zip(*ends, strict=True)]).astype(ROW)
        place = np.searchsorted(batch.rows, np.stack([self.pairs.better[chosen], self.pairs.worse[chosen]]))
        pairs = Pairs(place[0], place[1], self.pairs.weight[chosen])
        loss = PairLoss(pairs, len(batch.rows), self.sigma)
        gradient[batch.rows] += loss.derivatives(scores[batch.rows])[0]

    def flat_reason(self) -> str | None:
        """Each pair tells its two rows apart."""
        return None
