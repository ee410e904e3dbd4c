"""Surrogates of the hard ranking loss on pairs of rows: exponential, hinge and ramp (CR 4.3 to 4.5).

"CR" is Werner, "A review on ranking problems in statistical learning". With z_ij = a_ij (f_i - f_j), where a_ij is
y_i - y_j (products, as CR writes) or its sign, and φ(z) = exp(-z), max(0, 1 - z), or the ramp that falls from 1 at
z = 0 to 0 at z = c, the loss of row i is L_i = 1/(n - 1) Σ_j φ(z_ij), and that of all rows their mean.

CR's (4.3) differentiates L_i in f_i alone: U_i = 1/(n - 1) Σ_j a_ij (-φ'(z_ij)). Since z_ij = z_ji, f_i moves the other
rows' losses as much: minus the gradient of the mean loss is 2/n times U_i. The direction is the same; the length is
the learning rate's business, so that boosting follows U as CR does.

Weights: a row of weight 2 is the row twice, so sums over j have the factor w_j, and n is the sum N of weights. To
divide by N - 1 would make no sense for weights below 1; here it is N, which is (n - 1)/n of CR's U. Pairs are those
within queries, each query with its own N. Pairs of equal labels have z = 0 at any scores: they are left out.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from podium._compiled import SCORE
from podium._magnitudes import LARGEST, check_within
from podium._validation import Array
from podium.data import Graded
from podium.losses.loss import Loss
from podium.losses.product_pairs import ProductPairs
from podium.losses.sign_pairs import PairSums, SignPairs

SURROGATES = ("exp", "hinge", "ramp")
PAIRS = ("signs", "products")
RESPONSES = ("raw", "expit")
MAX_MEAN_LOSS = 1e10
"""Mean exponential loss, 1 at the start, from which the next step only makes it larger."""
ROUNDING = 1e-13
"""Pulls below this part of the largest possible one are sums that cancelled: no gradient."""


class PairSurrogate(Loss):
    """A surrogate of the hard ranking loss.

    Parameters
    ----------
    feedback : Graded
    surrogate : {"exp", "hinge", "ramp"}
    c : float
        Where the ramp ends.
    closed : bool
        Whether a ramp pulls at z = 0 and z = c too. The open interval ]0, c[ is CR's; tied scores then never move.
    pairs : {"signs", "products"}
    response : {"raw", "expit"}
        Labels as they are, or 1/(1 + exp(-y)), as products and as what the first round follows.
    n_threads : int
    """

    def __init__(
        self,
        feedback: Graded,
        surrogate: str = "hinge",
        *,
        c: float = 0.5,
        closed: bool = False,
        pairs: str = "signs",
        response: str = "raw",
        n_threads: int = 1,
    ) -> None:
        check_within(feedback.labels, "y", "pairwise surrogates, which compute with its values")
        self.surrogate, self.c, self.closed = surrogate, float(c), closed
        labels = expit(feedback.labels) if response == "expit" else feedback.labels
        answered = Graded(labels, feedback.offsets, feedback.row_weight, feedback.query_weight)
        self.sums = SignPairs(feedback, n_threads) if pairs == "signs" else ProductPairs(answered, n_threads)
        self.weight, self.sizes = feedback.weights, np.diff(feedback.offsets)
        self.query_weight = feedback.query_weight
        self.total = np.add.reduceat(feedback.row_weight, feedback.offsets[:-1])
        self._per_row = np.repeat(np.where(self.total > 0, self.total, 1.0), self.sizes)
        self._least = ROUNDING * self.sums.reach / self._per_row
        self.response = labels - self._means(labels * feedback.row_weight, feedback.offsets)

    def _means(self, weighted: Array, offsets: Array) -> Array:
        """Return the weighted mean of each row's query."""
        means: Array = np.repeat(np.add.reduceat(weighted, offsets[:-1]), self.sizes) / self._per_row
        return means

    def derivatives(self, scores: Array, number: int = 0) -> tuple[Array, Array]:
        """Return -w U and w of each row: the least-squares fit of U by weights.

        Before round 0 all scores are 0 and U is the response itself, less its query's mean: CR's r(0) = Y, since the
        gradient of a ramp is 0 where all scores are tied.
        """
        return -self.weight * (self.response if number == 0 else self.negative_gradient(scores)), self.weight

    def negative_gradient(self, scores: Array) -> Array:
        """Return U of each row (CR 4.3, 4.5, with N in the place of n - 1)."""
        pull: Array = self._sums_of(scores).pull / self._per_row
        pull[np.abs(pull) <= self._least] = 0.0
        return pull

    def value(self, scores: Array) -> float:
        """Return the weighted mean of the rows' losses."""
        shares = 2 * self.query_weight * self._sums_of(scores).value / np.where(self.total > 0, self.total, 1.0)
        return float(shares.sum() / (self.query_weight * self.total).sum())

    def diverged(self, scores: Array) -> str | None:
        """Say that the loss has left the numbers that it can come back from; None where it has not."""
        if not np.abs(scores).max() <= LARGEST:
            return "the scores diverge"
        if self.surrogate != "exp":
            return None
        value = self.value(scores)
        return None if value <= MAX_MEAN_LOSS else f"the exponential loss diverges, to {value:.3g}"

    def still_reason(self) -> str:
        """Say what it means that every gradient is 0."""
        if self.surrogate != "ramp":
            return f"every gradient of the {self.surrogate} loss is 0: all pairs are ordered by a margin"
        ends = f"[0, {self.c:g}]" if self.closed else f"]0, {self.c:g}["
        return f"every gradient is 0: no pair lies in {ends}, where alone the ramp has a slope"

    def _sums_of(self, scores: Array) -> PairSums:
        """Return the sums over pairs of this surrogate; the ramp is the difference of two hinges over c."""
        if self.surrogate == "exp":
            with np.errstate(over="ignore", invalid="ignore"):  # `diverged` says so
                return self.sums.exponential(scores)
        if self.surrogate == "hinge":
            return self.sums.hinges(scores, (1.0, False))[0]
        end, start = self.sums.hinges(scores, (self.c, self.closed), (0.0, not self.closed))
        return PairSums((end.pull - start.pull) / self.c, (end.value - start.value) / self.c)


class Absolute(Loss):
    """Absolute error w |y - s|: gradient w sign(s - y), and w as the weight of the least-squares fit to it."""

    def __init__(self, labels: Array, weight: Array) -> None:
        check_within(labels, "y", "the absolute loss, which computes with its values")
        self.labels, self.weight = labels, weight

    def start(self) -> float:
        """Return the weighted median of the labels, the mean of two where half of the weight is below either."""
        order = np.argsort(self.labels, kind="stable")
        share = np.cumsum(self.weight[order])
        ends = [np.searchsorted(share, 0.5 * share[-1], side) for side in ("left", "right")]
        return float(self.labels[order][np.minimum(ends, len(share) - 1)].mean(dtype=SCORE))

    def derivatives(self, scores: Array, number: int = 0) -> tuple[Array, Array]:
        """Return gradient and weight of each row."""
        return self.weight * np.sign(scores - self.labels), self.weight
