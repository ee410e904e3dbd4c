"""The exponential loss of the margins between scores and thresholds (ORBoost).

Lin and Li (2006), "Large-margin thresholded ensembles for ordinal regression". A row of grade y, counted from 0, should
have a score H above the thresholds θ_k with k < y and below the others. With a weight s for each row and threshold

    L = Σ_n ( Σ_{k < y} s_nk exp(θ_k - H_n) + Σ_{k ≥ y} s_nk exp(H_n - θ_k) ).

The two inner sums are the row's pull up and its pull down; their difference is its potential, the slope of -L in H_n.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import SCORE, compiled
from podium._validation import Array


class Margins:
    """Scores and thresholds of the training rows, and the loss of the margins between them.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_rows, K - 1)
        s, not all zero.
    grades : ndarray of int64

    Attributes
    ----------
    scores : ndarray of shape (n_rows,)
        H, at first 0.
    thresholds : ndarray of shape (K - 1,)
        θ: for these scores the ascending ones of the lowest loss. Infinite where no row is on one side.
    up, down : ndarray of shape (n_rows,)
        The pulls of each row.
    loss : float
        L.
    """

    def __init__(self, weights: Array, grades: Array) -> None:
        self.weights, self.grades = weights, grades
        self.scores, self.thresholds = np.zeros(len(grades), SCORE), np.zeros(weights.shape[1], SCORE)
        self.up, self.down = np.empty(len(grades), SCORE), np.empty(len(grades), SCORE)
        self._settle()

    def potentials(self) -> Array:
        """Return up - down as shares of the loss; their sum is 0, since the thresholds are at their optimum."""
        potentials: Array = (self.up - self.down) / self.loss
        return potentials

    def sides(self, values: Array) -> tuple[float, float]:
        """Return the pull for and against a ranking of values 0 and 1, with 0 read as -1: shares of the loss."""
        above = values > 0.5
        agree = self.up[above].sum() + self.down[~above].sum()
        return float(agree / self.loss), float((self.down[above].sum() + self.up[~above].sum()) / self.loss)

    def flawless(self) -> bool:
        """Return whether every score is on the right side of all thresholds that its row asks for."""
        above = self.scores[:, None] >= self.thresholds
        return bool(np.all((above == (np.arange(len(self.thresholds)) < self.grades[:, None])) | (self.weights == 0)))

    def add(self, values: Array) -> float:
        """Add values to the scores, move the thresholds to their optimum, and return the factor on the loss."""
        before = self.loss
        self.scores += values
        self._settle()
        return self.loss / before

    def _settle(self) -> None:
        """Find the thresholds of the lowest loss, then the pulls."""
        reference = np.where(np.isfinite(self.thresholds), self.thresholds, 0.0)
        below, above = np.zeros_like(reference), np.zeros_like(reference)
        _threshold_sums(self.weights, self.grades, self.scores, reference, below, above)
        with np.errstate(divide="ignore"):
            self.thresholds = ordered_thresholds(np.log(below) + reference, np.log(above) - reference)
        _row_pulls(self.weights, self.grades, self.scores, self.thresholds, self.up, self.down)
        self.loss = float(self.up.sum() + self.down.sum())


def ordered_thresholds(log_below: Array, log_above: Array) -> Array:
    """Return the ascending θ that minimise ``Σ_k exp(log_below - θ_k) + exp(log_above + θ_k)``.

    Alone, θ_k = ½ (log_below - log_above). Neighbours out of order share one threshold, that of their sums (pooling
    adjacent violators, exact since each term is convex); so does one that no row asks for.
    """
    blocks: list[tuple[float, float, int]] = []
    for below, above in zip(log_below.tolist(), log_above.tolist(), strict=True):
        blocks.append((below, above, 1))
        while len(blocks) > 1 and not _threshold(blocks[-2]) <= _threshold(blocks[-1]):
            (low, high, size), (more_low, more_high, more) = blocks[-2:]
            blocks[-2:] = [(np.logaddexp(low, more_low), np.logaddexp(high, more_high), size + more)]
    return np.repeat([_threshold(block) for block in blocks], [size for _, _, size in blocks])


def _threshold(block: tuple[float, float, int]) -> float:
    """Return the best threshold of a block; NaN, which is out of every order, where no row asks for one."""
    below, above, _ = block
    return float("nan") if below == above == -np.inf else float(0.5 * (below - above))


@compiled
def _threshold_sums(
    weights: Array, grades: Array, scores: Array, reference: Array, below_out: Array, above_out: Array
) -> None:
    """Add ``s exp(H - θ)`` of the rows that belong below each reference θ, and ``s exp(θ - H)`` of those above."""
    for n in range(len(grades)):
        for k in range(len(reference)):
            if weights[n, k] == 0.0:
                continue
            if k < grades[n]:
                above_out[k] += weights[n, k] * np.exp(reference[k] - scores[n])
            else:
                below_out[k] += weights[n, k] * np.exp(scores[n] - reference[k])


@compiled
def _row_pulls(weights: Array, grades: Array, scores: Array, thresholds: Array, up_out: Array, down_out: Array) -> None:
    """Write the two inner sums of the loss for each row."""
    for n in range(len(grades)):
        up = down = 0.0
        for k in range(len(thresholds)):
            if weights[n, k] == 0.0:
                continue
            if k < grades[n]:
                up += weights[n, k] * np.exp(thresholds[k] - scores[n])
            else:
                down += weights[n, k] * np.exp(scores[n] - thresholds[k])
        up_out[n], down_out[n] = up, down
