"""The distribution over pairs of the p-norm push, in O(n) a round: no pair is ever written down.

The loss is that of Rudin (2009), "The P-norm push": for rows i and j of a query, j the better, scores s, and weights
w of rows and v of queries,

    F = Σ_q v_q Σ_i w_i (Σ_{j: y_j > y_i} w_j exp(s_i - s_j))^p.

The power is on the inner sum, over all rows that should stand above row i: it grows with the number of better rows
that i has passed, and p > 1 makes the worst offender matter most. (Werner's review prints the power on each pair, and
the exponent without its sign.) Two grades are Rudin's case; with more, each row that has better ones is an offender.
At p = 1, F is the exponential loss of RankBoost.

The derivatives of F are sums over pairs of D(i, j) ∝ v w_i inner_i^(p-1) w_j exp(s_i - s_j), which sum to 1, so that
potentials, edges and weights of weak rankings mean what they mean in RankBoost, with the slope of ln F p times r.
Everything is computed from logarithms, since a power p of an exponential leaves the range of floats soon.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from podium._compiled import SCORE, compiled, even_chunks, run_threads
from podium._validation import Array
from podium.data import Graded
from podium.pairs import LOG_LARGEST, LevelOrder, Moments


class PushDistribution:
    """The current distribution over pairs, moved on by one weak ranking at a time.

    Parameters
    ----------
    graded : Graded
        Must have a pair of positive weight.
    p : float
        Power of the push, at least 1.
    equal_queries : bool
        Divide the loss of each query by its value at equal scores, so that all begin alike.
    n_threads : int
        Threads share out whole queries. Their number changes no bit of any result.

    Attributes
    ----------
    scores : ndarray of float64
        Score of each row: the sum of all steps.
    log_total : float
        ln F at these scores.
    """

    def __init__(self, graded: Graded, p: float, equal_queries: bool = False, n_threads: int = 1) -> None:
        self.order, self.p, self.n_threads = LevelOrder.of(graded), float(p), n_threads
        self.scores = np.zeros(len(graded.labels), SCORE)
        row, start = self.order.row, self.order.start
        self._log_weight = np.log(graded.row_weight[row])
        heaviest = np.maximum.reduceat(self._log_weight, start[:-1])
        self._log_scale = np.repeat(self.order.log_weight - 2 * heaviest, np.diff(start))  # that of the query alone
        if equal_queries:
            self._log_scale -= self._log_first_losses()
        self._refresh()

    def _log_first_losses(self) -> Array:
        """Return, for each position, the logarithm of its query's loss at equal scores, its own weight left out."""
        start, terms = self.order.start, self._log_weight + self.p * self._inner(np.zeros(len(self.order.row)))[0]
        logs = [log_sum(terms[first:stop]) for first, stop in pairwise(start)]
        return np.repeat(np.array(logs), np.diff(start))

    def _inner(self, scores: Array, values: Array | None = None) -> Array:
        """Return ln Σ_j w_j exp(s_i - s_j) of each position i, and the means of h_i - h_j and of its square."""
        sums = self._sums(self.order.start, self.order.level, self._log_weight - scores, values)
        sums[0] += scores
        return sums

    def _sums(self, start: Array, level: Array, exponents: Array, values: Array | None = None) -> Array:
        """Run the one kernel over all queries, shared out to the threads."""
        sums = np.empty((3, len(level)), SCORE)
        values = np.zeros(len(level), SCORE) if values is None else values
        calls = [(start, level, exponents, values, sums, *chunk) for chunk in even_chunks(start, self.n_threads)]
        run_threads(_sums_above, calls, self.n_threads)
        return sums

    def _log_terms(self, log_inner: Array) -> Array:
        """Return the logarithm of what each position adds to F."""
        return self._log_scale + self._log_weight + self.p * log_inner

    def _refresh(self) -> None:
        """Compute the loss, and the share of each position in it, at the current scores."""
        self._log_inner = self._inner(self.scores[self.order.row])[0]
        terms = self._log_terms(self._log_inner)
        self.log_total = log_sum(terms)
        self._log_share = terms - self.log_total

    def potentials(self) -> Array:
        """Return π(x) = Σ D(x', x) - D(x, x') of each row; they sum to 0, and -p π is the gradient of ln F."""
        start, level, scores = self.order.start, self.order.level, self.scores[self.order.row]
        offender = level < np.repeat(level[start[1:] - 1], np.diff(start))
        own = np.where(offender, self._log_share, -np.inf)
        per_unit = np.where(offender, own + scores - np.where(offender, self._log_inner, 0.0), -np.inf)
        # From the lowest level up: the same sweep over all positions in reverse.
        backwards = len(level) - start[::-1]
        below = self._sums(backwards, level[::-1].copy(), per_unit[::-1].copy())[0, ::-1]
        potentials = np.zeros(len(self.scores), SCORE)
        potentials[self.order.row] = np.exp(self._log_weight - scores + below) - np.exp(own)
        return potentials

    def update(self, step: Array) -> float:
        """Add `step` = α h(x) to the scores and return the factor by which F changed."""
        before = self.log_total
        self.scores += step
        self._refresh()
        return float(np.exp(min(self.log_total - before, LOG_LARGEST)))

    def ordered_by(self, values: Array) -> bool:
        """Return whether such values of the rows put every pair into its order, none tied."""
        return self.order.ordered_by(values)

    def moments(self, ranking: Array, alpha: float) -> Moments:
        """Return ln F along a ranking, relative to now, and F'/F and F''/F there.

        With m_i and q_i the means of h_i - h_j and of its square over the inner sum of i, and u_i the share of i in
        F, F'/F = p Σ u_i m_i and F''/F = Σ u_i (p (p - 1) m_i² + p q_i). ln F is convex: the logarithm of a sum of
        exponentials of convex functions.
        """
        values, p = ranking[self.order.row], self.p
        log_inner, mean, square = self._inner(self.scores[self.order.row] + alpha * values, values)
        terms = self._log_terms(log_inner)
        total = log_sum(terms)
        share = np.exp(terms - total)
        slope = p * float(np.sum(share * mean))
        curvature = float(np.sum(share * (p * (p - 1.0) * mean * mean + p * square)))
        return Moments(total - self.log_total, slope, curvature)


def log_sum(logs: Array) -> float:
    """Return ``log(sum(exp(logs)))`` without overflow."""
    top = logs.max()
    return float(top + np.log(np.exp(logs - top).sum()))


@compiled
def _sums_above(
    start: Array, level: Array, exponents: Array, values: Array, sums_out: Array, first: int, last: int
) -> None:
    """Sum over the later positions of a query that are of another level, for each position.

    Slow lines, with e the weights ``exp(exponents[j])`` of these positions j: ``sums[0, i] = log(sum(e))``,
    ``sums[1, i] = sum(e * (values[i] - values[j])) / sum(e)`` and ``sums[2, i]`` the same of the squares; -inf, 0
    and 0 where there is none.
    """
    for g in range(first, last):
        top, total, total_1, total_2 = -np.inf, 0.0, 0.0, 0.0
        log_total, mean, square = -np.inf, 0.0, 0.0
        stop = start[g + 1]
        origin = values[stop - 1]  # a large common part does not cancel in the squares
        for k in range(stop - 1, start[g] - 1, -1):
            if k + 1 < stop and level[k] != level[k + 1]:
                for j in range(k + 1, stop):
                    h = values[j] - origin
                    if exponents[j] > top:
                        shrink = np.exp(top - exponents[j])
                        total, total_1, total_2 = total * shrink, total_1 * shrink, total_2 * shrink
                        top = exponents[j]
                    weight = np.exp(exponents[j] - top)
                    total, total_1, total_2 = total + weight, total_1 + weight * h, total_2 + weight * h * h
                stop, log_total, mean, square = k + 1, top + np.log(total), total_1 / total, total_2 / total
            h = values[k] - origin if total > 0.0 else 0.0
            sums_out[0, k], sums_out[1, k], sums_out[2, k] = log_total, h - mean, h * h - 2.0 * h * mean + square
