"""Regularised least squares on differences within queries, in closed form (RankRLS).

Pahikkala, Tsivtsivadze, Airola, Boberg and Salakoski (2007), "Learning to rank with pairwise regularized
least-squares". The squares of all pairs of a query are a quadratic form of its errors e = y - f that needs no pairs:
``Σ_{i<j} u_i u_j (e_i - e_j)² = e·L e`` with L = (Σ u) diag(u) - u uᵀ.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve

from podium._validation import Array


class PairLeastSquares:
    """``Σ_q v_q e·L_q e + penalty ‖w‖²`` for scores X w, minimised.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    labels, row_weight : ndarray of float64, one per row
    query_weight : ndarray of float64, one per query
    offsets : ndarray of int64
    alpha : float
        The penalty is `alpha` times Σ_q v_q (Σ u)²/2: half the weight of all ordered pairs, of a row with itself too.
    """

    def __init__(
        self, rows: Array, labels: Array, row_weight: Array, query_weight: Array, offsets: Array, alpha: float
    ) -> None:
        self.rows, self.labels, self.offsets = rows, labels, offsets
        self.query = np.repeat(np.arange(len(query_weight)), np.diff(offsets))
        self.weight, self.times = row_weight, query_weight
        self.sums = np.add.reduceat(row_weight, offsets[:-1])
        half = np.sum(query_weight * self.sums * self.sums) / 2
        # Everything in parts of the pairs' weight, so that no size of the weights matters.
        self.unit, self.penalty = 1.0 / half, alpha
        spread = self._laplacian(rows)
        self.factor = cho_factor(rows.T @ spread + alpha * np.eye(rows.shape[1]))
        self.coef: Array = cho_solve(self.factor, labels @ spread)

    def _laplacian(self, columns: Array) -> Array:
        """Return L times each column: ``v u (Σu · x - Σ u x)`` within each query, in parts of the pairs' weight."""
        shares = self.weight[:, None] * columns
        totals = np.add.reduceat(shares, self.offsets[:-1])[self.query]
        factor = self.unit * self.times[self.query]
        product: Array = factor[:, None] * (self.sums[self.query][:, None] * shares - self.weight[:, None] * totals)
        return product

    def held_out_scores(self) -> Array:
        """Return the scores of each query by the weights that all other queries give, the penalty as it is.

        With A the matrix of the whole problem, G = X_q A⁻¹ X_qᵀ and f = X_q w, the scores p without query q solve
        ``(I - G L_q) p = f - G L_q y``: one small system a query, instead of one fit.
        """
        scores = np.empty(len(self.labels))
        for q in range(len(self.times)):
            own = slice(self.offsets[q], self.offsets[q + 1])
            rows, labels, weight = self.rows[own], self.labels[own], self.weight[own]
            laplacian = self.unit * self.times[q] * (self.sums[q] * np.diag(weight) - np.outer(weight, weight))
            reach = rows @ cho_solve(self.factor, rows.T) @ laplacian
            # Labels count from a label of the query: L y is the same, and nothing large cancels.
            y = labels - labels.mean()
            scores[own] = solve(np.eye(len(y)) - reach, rows @ self.coef - reach @ y)
        return scores
