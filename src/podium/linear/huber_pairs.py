"""Huber's loss of pairs whose importance factors by rows, by order statistics: no list of pairs is made.

For a pair of which row i is the better let z = s_i - s_j. The loss h(z) is 0 from z = 1 on, (1 - z)²/(2δ) within δ
below it, and the line 1 - z - δ/2 further down: a hinge with a round corner, whose slope is at most 1, however wrong
the pair is. With δ = 2 it is a quarter of Zhang's (2004) modified Huber loss. It is the difference of two squared
hinges, ``((1 - z)₊² - (1 - δ - z)₊²) / (2δ)``, so that sums over the pairs within either margin give value and gradient
in O(n log n), as in `margin_sums`.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import SCORE
from podium._validation import Array, PodiumError
from podium.data import Graded
from podium.linear.centered_columns import CenteredColumns
from podium.linear.margin_sums import levels_of, relative_weights, sum_active
from podium.losses import DELTAS, Loss
from podium.measures.conventions import Gain, Rules
from podium.measures.sorting import by_query_threads
from podium.measures.swaps import place_units

FEATURES_AT_ONCE = 16
"""Features whose curvatures are computed at a time, so that the sums of one row stay in the cache."""


class Importance:
    """What a pair weighs, as a sum of products of a number of either row: ``factors[i] @ how @ factors[j]``.

    Attributes
    ----------
    factors : ndarray of float64 of shape (n_rows, k)
    how : ndarray of float64 of shape (k, k)
        Rows belong to the better row of a pair.
    """

    def __init__(self, factors: list[Array], how: list[list[float]]) -> None:
        self.factors, self.how = np.stack(factors, axis=1), np.array(how, SCORE)


def by_ndcg(feedback: Graded, gain: Gain) -> Importance:
    """(G_i - G_j)(D_i - D_j): by how much NDCG falls where the two change places in the best order.

    G is a row's gain over the best DCG of its query, D the mean discount of the places that rows of its label have
    in the best order.
    """
    gains, discounts = _gains(feedback, gain), _discounts(feedback)
    factors = [np.ones_like(gains), discounts, gains, gains * discounts]
    return Importance(factors, [[0, 0, 0, 1], [0, 0, -1, 0], [0, -1, 0, 0], [1, 0, 0, 0]])


def by_gain(feedback: Graded, gain: Gain) -> Importance:
    """G_i - G_j: the difference of gains, over the best DCG of the query."""
    gains = _gains(feedback, gain)
    return Importance([np.ones_like(gains), gains], [[0, -1], [1, 0]])


def by_order(feedback: Graded, gain: Gain) -> Importance:
    """1: all pairs weigh alike."""
    return Importance([np.ones(len(feedback.labels), SCORE)], [[1]])


IMPORTANCES = {"gain": by_gain, "ndcg": by_ndcg, "none": by_order}
"""What a pair may weigh."""


class HuberPairs(Loss):
    """The mean of Huber's loss over the pairs of labels, by their importance.

    Parameters
    ----------
    feedback : Graded
    importance : {"gain", "ndcg", "none"}
    delta : float
        δ: width of the round corner.
    gain : "exp2", "linear", mapping or callable
        As for the measures.
    n_threads : int
        Threads share out whole queries.
    """

    def __init__(
        self, feedback: Graded, importance: str = "gain", delta: float = 1.0, gain: Gain = "exp2", n_threads: int = 1
    ) -> None:
        weighed = IMPORTANCES[importance](feedback, gain)
        (part,) = relative_weights(feedback)
        if not isinstance(part, Graded):
            raise TypeError(f"Labels must be graded feedback; got {type(part).__name__}.")
        self.delta, self.n_threads, self.weight, self.offsets = float(delta), n_threads, feedback.weights, part.offsets
        self.query = np.repeat(np.arange(len(part.query_weight)), np.diff(part.offsets))
        self.times, self.factors = part.query_weight[self.query], part.row_weight[:, None] * weighed.factors
        self.as_better, self.as_worse = self.factors @ weighed.how, self.factors @ weighed.how.T
        self.levels, self.n_levels = levels_of(part.labels, part.offsets)
        every = np.zeros(len(part.labels)), self._order(np.zeros(len(part.labels))), np.inf
        total = float(self._sums(*every, np.ones((len(part.labels), 1)))[0].sum())
        self.total = total if total > 0 else 1.0

    def value(self, scores: Array) -> float:
        """Return the mean loss."""
        return self._hinges(scores)[0]

    def derivatives(self, scores: Array, number: int = 0) -> tuple[Array, Array]:
        """Return the gradient of the mean loss by each row's score, and the rows' weights."""
        return self._hinges(scores)[1], self.weight

    def still_reason(self) -> str:
        """Say what it means that every gradient is 0."""
        return "every gradient is 0: all pairs that count are ordered by a margin of 1"

    def curvatures(self, columns: CenteredColumns) -> Array:
        """Return an upper bound, at any scores, of the second derivative along each feature over its norm.

        It is ``Σ importance (z_i - z_j)² / (δ Σ importance)``: h'' is at most 1/δ.
        """
        n_rows, n_features = len(self.levels), len(columns.norms)
        every, found = (np.zeros(n_rows), self._order(np.zeros(n_rows)), np.inf), np.zeros(n_features, SCORE)
        for first in range(0, n_features, FEATURES_AT_ONCE):
            own = slice(first, min(first + FEATURES_AT_ONCE, n_features))
            z = np.stack([columns.deviations(f) / columns.norms[f] for f in range(n_features)[own]], axis=1)
            below, above = self._sums(*every, np.column_stack([np.ones(n_rows), z]))
            squares = z * (z * (below[:, :1] + above[:, :1]) - below[:, 1:] - above[:, 1:])
            found[own] = np.maximum(squares.sum(axis=0), 0.0)
        return found / (self.delta * self.total)

    def _hinges(self, scores: Array) -> tuple[float, Array]:
        """Return the mean loss and its gradient, as the difference of two squared hinges."""
        # Differences matter alone; sums of centred scores lose fewer digits.
        scores = scores - (np.add.reduceat(scores, self.offsets[:-1]) / np.diff(self.offsets))[self.query]
        order = self._order(scores)
        (outer, pull), (inner, less) = (self._squared_hinge(scores, order, m) for m in (1.0, 1.0 - self.delta))
        value, gradient = (outer - inner) / (2 * self.delta), (pull - less) / self.delta
        return max(value, 0.0) / self.total, gradient / self.total

    def _squared_hinge(self, scores: Array, order: Array, margin: float) -> tuple[float, Array]:
        """Return Σ importance (m - z)₊² over pairs, and half of its gradient."""
        columns = np.column_stack([np.ones_like(scores), scores])
        below, above = self._sums(scores, order, margin, columns)
        as_better = (margin - scores) * below[:, 0] + below[:, 1]
        as_worse = (margin + scores) * above[:, 0] - above[:, 1]
        value = float(np.sum(as_better * (margin - scores)) + np.sum(as_worse * scores))
        return value, as_worse - as_better

    def _sums(self, scores: Array, order: Array, margin: float, columns: Array) -> tuple[Array, Array]:
        """Return Σ importance u of each row over its worse, and over its better, rows within a margin, for columns u.

        The weights of both rows and of the query are factors of the importance.
        """
        values = (self.factors[:, :, None] * columns[:, None, :]).reshape(len(scores), -1)
        below, above = np.zeros_like(values), np.zeros_like(values)
        by_query_threads(
            sum_active, self.offsets, self.n_threads, scores, order, margin, self.levels, self.n_levels, self.offsets,
            values, below, above,
        )  # fmt: skip
        shape = *self.factors.shape, columns.shape[1]
        sides = zip((self.as_better, self.as_worse), (below, above), strict=True)
        first, second = (np.einsum("rk,rkc->rc", own, sums.reshape(shape)) for own, sums in sides)
        return self.times[:, None] * first, self.times[:, None] * second

    def _order(self, scores: Array) -> Array:
        """Return the rows of each query by ascending score."""
        return np.lexsort((scores, self.query))


def _gains(feedback: Graded, gain: Gain) -> Array:
    """Return the gain of each row over the best DCG of its query."""
    form, query = DELTAS["ndcg"], np.repeat(np.arange(len(feedback.query_weight)), np.diff(feedback.offsets))
    gains = form.values_of(feedback, Rules(gain=gain), _units(feedback), form.row_values)
    order = np.lexsort((feedback.labels, query))
    if np.any((np.diff(gains[order]) < 0) & (np.diff(query[order]) == 0)):
        raise PodiumError(
            'gain must not fall where labels rise, since pairs weigh by its differences; consider importance="none".'
        )
    return gains


def _discounts(feedback: Graded) -> Array:
    """Return the mean discount of the places of each row's label in the best order of its query."""
    levels, n_levels = levels_of(feedback.labels, feedback.offsets)
    sizes = np.diff(feedback.offsets)
    query = np.repeat(np.arange(len(sizes)), sizes)
    block = np.append(0, np.cumsum(n_levels))[query] + levels
    order = np.lexsort((-feedback.labels, query))
    units = np.empty(len(query), SCORE)
    units[order] = _units(feedback)[np.arange(len(query)) - feedback.offsets[query]]
    means: Array = (np.bincount(block, units) / np.bincount(block))[block]
    return means


def _units(feedback: Graded) -> Array:
    """Return the discounts of as many places as the longest query has."""
    return place_units(int(np.diff(feedback.offsets).max(initial=1)), None, logarithmic=True)
