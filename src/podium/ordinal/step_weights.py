"""Weights of the binary examples (x, k) that ordinal examples stand for, and their updates.

"OR" is Lin and Li (2009). An example of grade y, counted from 0, stands for the K - 1 questions "is the grade above
k?", with weight w[k] = |c[k + 1] - c[k]| each (OR Eq. 2). A ranker that says r answers those from min(r, y) up to, not
including, max(r, y) wrongly, at a cost that is the sum of their weights (OR Lemma 1). AdaBoost.OR multiplies the
weights of wrong answers (OR Eq. 9), which is what its Algorithm 2 does to cost vectors.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import SCORE, compiled
from podium._validation import Array

STEPS_PER_GROUP = 3
"""Steps that stand side by side: a search sums up three at a time (for K = 10 it took 0.84 ms a round, against 1.08
with two, 1.15 with four, which does not divide nine, and 0.98 with three in columns of their own)."""
LARGEST_TOTAL = 2.0**256
"""Total weight above which all weights are divided by it: a power of two, so that no bit of them changes."""


class StepWeights:
    """The weights w[n, k], which the rounds change.

    They are kept as signed steps d[n, k] = c[k + 1] - c[k], negative below the own grade, since the cost of a stump is
    a sum of these.

    Parameters
    ----------
    weights : ndarray of shape (n_rows, K - 1)
        Not negative, not all zero.
    grades : ndarray of int64
        Grade 0 … K-1 of each row.

    Attributes
    ----------
    n_steps : int
        K - 1.
    signed : ndarray of shape (ceil(n_steps / STEPS_PER_GROUP), n_rows, STEPS_PER_GROUP)
        d[n, k] is ``signed[k // STEPS_PER_GROUP, n, k % STEPS_PER_GROUP]``, times a power of two that is common to all.
    sums : ndarray of shape (n_groups * STEPS_PER_GROUP,)
        Σ_n d[n, k], 0 beyond the last step.
    total : float
        Σ w, times the same power.
    """

    def __init__(self, weights: Array, grades: Array) -> None:
        n_rows, self.n_steps = weights.shape
        self.grades = grades
        n_groups = -(-self.n_steps // STEPS_PER_GROUP)
        steps = np.zeros((n_rows, n_groups * STEPS_PER_GROUP), SCORE)
        _, exponent = np.frexp(weights.max())
        np.ldexp(weights, -exponent, out=steps[:, : self.n_steps])
        np.negative(steps, out=steps, where=np.arange(n_groups * STEPS_PER_GROUP) < grades[:, None])
        self.signed = np.ascontiguousarray(steps.reshape(n_rows, n_groups, STEPS_PER_GROUP).transpose(1, 0, 2))
        self.sums = np.empty(n_groups * STEPS_PER_GROUP, SCORE)
        self.total = _sum_up(self.signed, self.sums)

    def shares(self) -> Array:
        """Return w as an n × (K - 1) array, in parts of the whole."""
        steps = self.signed.transpose(1, 0, 2).reshape(self.signed.shape[1], -1)
        shares: Array = np.abs(steps[:, : self.n_steps]) / self.total
        return shares

    def error(self, predicted: Array) -> float:
        """Return the share of the weight that predicted grades answer wrongly: ε (OR Algorithm 2, step 2)."""
        return float(_wrong_weight(self.signed, self.grades, predicted) / self.total)

    def update(self, predicted: Array, factor: float) -> None:
        """Multiply the weights of wrong answers by `factor` = 1 + Λ = (1 - ε) / ε (OR Eq. 9)."""
        _multiply_wrong(self.signed, self.grades, predicted, factor)
        self.total = _sum_up(self.signed, self.sums)
        if self.total > LARGEST_TOTAL:
            self.signed /= LARGEST_TOTAL
            self.total = _sum_up(self.signed, self.sums)


@compiled
def _sum_up(signed: Array, sums_out: Array) -> float:
    """Do ``sums_out[k] = d[:, k].sum()`` and return ``abs(d).sum()``."""
    total = 0.0
    for group in range(signed.shape[0]):
        one = two = three = size_one = size_two = size_three = 0.0
        for row in range(signed.shape[1]):
            one += signed[group, row, 0]
            two += signed[group, row, 1]
            three += signed[group, row, 2]
            size_one += abs(signed[group, row, 0])
            size_two += abs(signed[group, row, 1])
            size_three += abs(signed[group, row, 2])
        sums_out[3 * group], sums_out[3 * group + 1], sums_out[3 * group + 2] = one, two, three
        total += size_one + size_two + size_three
    return total


@compiled
def _wrong_weight(signed: Array, grades: Array, predicted: Array) -> float:
    """Return ``sum(abs(d[n, k]) for n, k if (y[n] <= k) != (r[n] <= k))``.

    All steps are looked at: loops from one grade to the other end where no processor foresees it (twice as slow).
    """
    one = two = three = 0.0
    for group in range(signed.shape[0]):
        first = 3 * group
        for row in range(len(grades)):
            low, high = min(grades[row], predicted[row]) - first, max(grades[row], predicted[row]) - first
            one += abs(signed[group, row, 0]) * (low <= 0 < high)
            two += abs(signed[group, row, 1]) * (low <= 1 < high)
            three += abs(signed[group, row, 2]) * (low <= 2 < high)
    return one + two + three


@compiled
def _multiply_wrong(signed: Array, grades: Array, predicted: Array, factor: float) -> None:
    """Do ``d[n, k] *= factor`` where ``(y[n] <= k) != (r[n] <= k)``, by a table in place of a branch."""
    factors = np.array([1.0, factor])
    for group in range(signed.shape[0]):
        first = 3 * group
        for row in range(len(grades)):
            low, high = min(grades[row], predicted[row]) - first, max(grades[row], predicted[row]) - first
            signed[group, row, 0] *= factors[np.int64(low <= 0 < high)]
            signed[group, row, 1] *= factors[np.int64(low <= 1 < high)]
            signed[group, row, 2] *= factors[np.int64(low <= 2 < high)]
