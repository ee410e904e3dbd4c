"""Support vectors for ordered grades: the dual of the reduction to binary examples, solved row by row.

Li and Lin (2007), "Ordinal regression by extended binary classification". Row n with grade y becomes K - 1 binary
examples (x_n, k) of sign z = +1 for k < y, -1 else (grades and thresholds counted from 0), weight
s = |c[k + 1] - c[k]| and, with the threshold number as one of K - 1 unit vectors added to the features, the kernel

    K̂((x, k), (x′, k′)) = K(x, x′) + [k = k′],

where K is x·x′ ("linear"), exp(-γ ‖x - x′‖²) ("rbf") or -‖x - x′‖ ("perceptron").

The soft-margin machine on them has the dual

    min  ½ Σ α z α′ z′ K̂ - Σ α   subject to  0 ≤ α_nk ≤ C s_nk,  Σ α z = 0.

Nothing of the size of K̂ is needed: with a_n = Σ_k α_nk z_nk and v_k = Σ_n α_nk z_nk, the machine's value of (x_n, k)
is f_n + v_k + b where f = K a.

The constraint belongs to the bias b and is met by its multiplier: the term ½ Δ (Σ α z)² is added, rows are minimised
over one after the other, and after each sweep b grows by ½ Δ Σ α z (the method of multipliers, Hestenes 1969). The
K - 1 variables of a row share one change of f, which costs O(n) when a row's a changes and nothing when it does not.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from podium._compiled import SCORE, compiled, compiled_part
from podium._validation import Array

KERNELS: dict[str, int] = {"linear": 0, "rbf": 1, "perceptron": 2}
"""Each kernel with the number that compiled code knows it by; "perceptron" is that of Lin and Li (2008), "Support
vector machinery for infinite ensemble learning"."""
KERNEL_DTYPE = np.float32
"""Kernel values: half the memory traffic of float64, which is what a sweep waits for."""
ROW_PASSES = 8
"""Passes over a row's variables at most: they cost K each, the change of f that follows costs n."""
RELAXATION = 0.5
"""Share of the multiplier's step that is taken: after one sweep the whole step overshoots, and may do so for ever."""
BALANCE_TOLERANCE = 0.1
"""How far the constraint may be missed: so many times the tolerance, as a share of the sum of all limits C s."""


class ExtendedMachine:
    """The dual variables of one problem and what follows from them; `solve` may be called again with a larger C.

    Parameters
    ----------
    rows : ndarray of float64, shape (n_rows, n_features)
        Of mean 0.
    grades : ndarray of int64
    weights : ndarray of float64, shape (n_rows, K - 1)
        s.
    kernel : str
        A name in `KERNELS`.
    gamma : float
        γ of "rbf".
    cache_bytes : float
        Memory for rows of the kernel matrix; those beyond are computed whenever they are needed.
    seed : int
        Of the order of the rows in each sweep.

    Attributes
    ----------
    C : float
        Of the last call of `solve`.
    alpha : ndarray of shape (n_rows, K - 1)
    sums : ndarray of shape (n_rows,)
        a.
    offsets : ndarray of shape (K - 1,)
        v.
    values : ndarray of shape (n_rows,)
        f.
    bias : float
        b.
    gap : float
        (Primal - dual) / primal objective after the last sweep; or |Σ α z| as a share of `BALANCE_TOLERANCE` Σ C s
        where that is larger: a minimum that misses the constraint is none.
    n_sweeps : int
        Sweeps in all.
    """

    def __init__(
        self, rows: Array, grades: Array, weights: Array, kernel: str, gamma: float, cache_bytes: float, seed: int
    ) -> None:
        n_rows, n_offsets = weights.shape
        self.rows, self.grades, self.weights = rows, grades, weights
        self.kind, self.gamma, self.generator = KERNELS[kernel], gamma, np.random.default_rng(seed)
        self.columns = np.ascontiguousarray(rows.T)
        self.matrix = np.empty((min(n_rows, int(cache_bytes / (4 * n_rows))), n_rows), KERNEL_DTYPE)
        fill_kernel(self.columns, rows[: len(self.matrix)], self.kind, gamma, self.matrix)
        self.diagonal, self.step = diagonal_of(rows, kernel), bias_step(rows, kernel)
        self.alpha, self.sums = np.zeros((n_rows, n_offsets), SCORE), np.zeros(n_rows, SCORE)
        self.offsets, self.values = np.zeros(n_offsets, SCORE), np.zeros(n_rows, SCORE)
        # The solution for C → 0, where f and v vanish: b has the sign of the heavier side.
        signs = np.where(np.arange(n_offsets) < grades[:, None], 1.0, -1.0)
        self.bias = float(np.sign(np.sum(weights * signs)))
        self.C, self.gap, self.n_sweeps = 0.0, np.inf, 0

    def solve(self, C: float, tolerance: float, max_sweeps: int) -> bool:
        """Sweep until `gap` is at most `tolerance`, and return whether it is.

        A start from the solution of a smaller C is scaled up, so that variables at their limit stay there.
        """
        if self.C > 0:
            for part in (self.alpha, self.sums, self.offsets, self.values):
                part *= C / self.C
        self.C, upper = C, C * self.weights
        kernel = self.matrix, self.columns, self.rows, self.kind, self.gamma, self.diagonal
        state, base = (self.alpha, self.sums, self.offsets, self.values), self.bias
        for _ in range(max_sweeps):
            order = self.generator.permutation(len(self.rows))
            _sweep(*kernel, self.grades, upper, order, self.step, base, *state)
            unbalance = float(self.sums.sum())
            self.bias, self.n_sweeps = base + self.step * unbalance, self.n_sweeps + 1
            self.gap = self._gap(upper, unbalance)
            if self.gap <= tolerance:
                return True
            base += RELAXATION * (self.bias - base)
        return False

    def grade(self) -> Array:
        """Return the grades of the training rows: the number of positive values f + v_k + b (OR Eq. 1)."""
        graded: Array = np.sum(self.values[:, None] + self.offsets + self.bias > 0, axis=1)
        return graded

    def copy(self) -> ExtendedMachine:
        """Return a machine with a state of its own; the problem, and the draws to come, are shared."""
        other = copy(self)
        other.alpha, other.sums = self.alpha.copy(), self.sums.copy()
        other.offsets, other.values = self.offsets.copy(), self.values.copy()
        return other

    def _gap(self, upper: Array, unbalance: float) -> float:
        """Return (P - D + b Σ α z) / P at the current bias, 0 where all rows are at their minimum, or the unbalance."""
        norm = float(self.sums @ self.values + self.offsets @ self.offsets)
        primal = 0.5 * norm + float(_hinge(self.grades, upper, self.values, self.offsets, self.bias))
        error = primal - (float(self.alpha.sum()) - 0.5 * norm) + self.bias * unbalance
        missed = abs(unbalance) / (BALANCE_TOLERANCE * float(upper.sum())) if unbalance else 0.0
        return max(error / primal, missed) if primal > 0 else missed


def diagonal_of(rows: Array, kernel: str) -> Array:
    """Return K(x, x) of each row."""
    if kernel == "linear":
        squares: Array = np.sum(rows * rows, axis=1)
        return squares
    return np.full(len(rows), 1.0 if kernel == "rbf" else 0.0)


def bias_step(rows: Array, kernel: str) -> float:
    """Return Δ, of the size of the kernel's own values, so that it does not slow the sweeps.

    For "perceptron" it also makes Δ - ‖x - x′‖ positive definite, which -‖x - x′‖ alone is not: hyperplanes that meet a
    ball of radius R in d dimensions separate two of its points in proportion to their distance, of which R / E|u₁| ≤
    R √(π d / 2), u uniform on the sphere, is the total (Lin and Li 2008).
    """
    squares = np.sum(rows * rows, axis=1)
    if kernel == "perceptron":
        return float(np.sqrt(squares.max() * np.pi * rows.shape[1] / 2)) or 1.0
    return float(squares.mean()) if kernel == "linear" and squares.any() else 1.0


@compiled
def fill_kernel(columns: Array, rows: Array, kind: int, gamma: float, kernel_out: Array) -> None:
    """Write K(row, column) of each of `rows` and each of the training rows, which are given by columns."""
    for n in range(len(rows)):
        _kernel_row(columns, rows[n], kind, gamma, kernel_out[n])


@compiled_part
def _kernel_row(columns: Array, row: Array, kind: int, gamma: float, out: Array) -> None:
    """Write K(row, x) for every training row x; features outside, so that the loop over rows vectorises."""
    out[:] = 0.0
    for feature in range(len(row)):
        value, column = row[feature], columns[feature]
        if kind == 0:
            for m in range(len(out)):
                out[m] += value * column[m]
        else:
            for m in range(len(out)):
                out[m] += (value - column[m]) ** 2
    if kind == 1:
        for m in range(len(out)):
            out[m] = np.exp(-gamma * out[m])
    elif kind == 2:
        for m in range(len(out)):
            out[m] = -np.sqrt(out[m])


@compiled
def _sweep(
    matrix: Array,
    columns: Array,
    rows: Array,
    kind: int,
    gamma: float,
    diagonal: Array,
    grades: Array,
    upper: Array,
    order: Array,
    step: float,
    bias: float,
    alpha: Array,
    sums: Array,
    offsets: Array,
    values: Array,
) -> None:
    """Minimise over the variables of one row after the other, in the given order."""
    line = np.empty(len(rows), matrix.dtype)
    unbalance = sums.sum()
    for n in order:
        at = values[n] + bias + step * unbalance
        change = _solve_row(grades[n], upper[n], at, diagonal[n] + step, alpha[n], offsets)
        if change == 0.0:
            continue
        sums[n] += change
        unbalance += change
        if n < len(matrix):
            _add_scaled(change, matrix[n], values)
        else:
            _kernel_row(columns, rows[n], kind, gamma, line)
            _add_scaled(change, line, values)


@compiled_part
def _solve_row(grade: int, upper: Array, at: float, curvature: float, alpha: Array, offsets: Array) -> float:
    """Minimise over a row's variables in turn, changing them and v, and return the change of a."""
    change = 0.0
    for _ in range(ROW_PASSES):
        largest = 0.0
        for k in range(len(alpha)):
            sign = 1.0 if k < grade else -1.0
            slope = sign * (at + offsets[k] + curvature * change) - 1.0
            new = min(max(alpha[k] - slope / (curvature + 1.0), 0.0), upper[k])
            if new != alpha[k]:
                moved = sign * (new - alpha[k])
                alpha[k] = new
                offsets[k] += moved
                change += moved
                largest = max(largest, abs(moved))
        if largest <= 1e-4 * abs(change):
            break
    return change


@compiled_part
def _add_scaled(factor: float, line: Array, values_out: Array) -> None:
    """``values_out += factor * line``."""
    for m in range(len(line)):
        values_out[m] += factor * line[m]


@compiled
def _hinge(grades: Array, upper: Array, values: Array, offsets: Array, bias: float) -> float:
    """Return ``Σ C s max(0, 1 - z (f + v + b))``."""
    total = 0.0
    for n in range(len(values)):
        for k in range(len(offsets)):
            sign = 1.0 if k < grades[n] else -1.0
            total += upper[n, k] * max(0.0, 1.0 - sign * (values[n] + offsets[k] + bias))
    return total
