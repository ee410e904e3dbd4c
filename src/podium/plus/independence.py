"""Linear independence of weak rankings over pairs, tested on rows.

"RB+" is Connamacher, Pancha, Liu and Ray (2019). A ranking f is to them a vector with one entry f(better) - f(worse)
for each pair (section 4), and they test dependence by least squares over all m pairs. A combination of rankings is
zero on every pair exactly if it is constant on each connected component of the graph whose edges are the pairs. So
rankings are dependent over pairs exactly if they are dependent over rows after their mean in each component is taken
off: vectors of n numbers, not m. An orthogonal basis that grows by one vector at a time then answers in O(n · size).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from podium._compiled import ROW, SCORE, compiled
from podium._validation import Array
from podium.pairs import PairOrder

TOLERANCE = 1e-8
"""A ranking is dependent if what the basis leaves of it is shorter than this share of it. Rounding leaves about 1e-15;
a ranking of zeros and ones that is independent leaves far more."""
LEAST_REMAINDER = 0.1
"""Where a projection leaves less than this share of a vector, it has lost a digit or more to rounding and is projected
once more, after which it is orthogonal to working precision ("twice is enough", Kahan and Parlett)."""
COEFFICIENT_ROUNDING = 1e-9
"""A coefficient not above this is rounding, and taken as 0."""


@dataclass(frozen=True, eq=False)
class PairGraph:
    """Rows that stand in some pair, and the connected component of each.

    Attributes
    ----------
    rows : ndarray of int64
        The rows, ascending.
    component : ndarray of int64
        Number of the component of each of them.
    sizes : ndarray of int64
        Rows of each component.
    """

    rows: Array
    component: Array
    sizes: Array

    @classmethod
    def of(cls, order: PairOrder, n_rows: int) -> PairGraph:
        """Find the components of the graph of all pairs: O(m)."""
        parent = np.arange(n_rows, dtype=ROW)
        paired = np.zeros(n_rows, np.bool_)
        _join(order.better, order.start, order.worse, parent, paired)
        rows = np.flatnonzero(paired).astype(ROW)
        _, component, sizes = np.unique(parent[rows], return_inverse=True, return_counts=True)
        return cls(rows, component.astype(ROW), sizes)

    @property
    def rank(self) -> int:
        """Most rankings that can be independent: a tree's worth of pairs in each component."""
        return len(self.rows) - len(self.sizes)

    def centred(self, values: Array) -> Array:
        """Return the values of the paired rows less their mean in each component."""
        own = values[self.rows]
        means = np.bincount(self.component, own, minlength=len(self.sizes)) / self.sizes
        return own - means[self.component]


class IndependentSet:
    """Rankings that are linearly independent over the pairs, one added at a time.

    Parameters
    ----------
    graph : PairGraph

    Attributes
    ----------
    size : int
        Rankings so far.
    """

    def __init__(self, graph: PairGraph) -> None:
        self.graph, self.size = graph, 0
        self._basis = np.empty((8, len(graph.rows)), SCORE)
        self._triangle = np.zeros((8, 8), SCORE)

    @property
    def basis(self) -> Array:
        """Orthonormal vectors over the paired rows, one a row, that span the rankings."""
        return self._basis[: self.size]

    @property
    def triangle(self) -> Array:
        """Upper triangle R: ranking s is Σ_k R[k, s] basis[k]."""
        return self._triangle[: self.size, : self.size]

    def split(self, values: Array) -> tuple[Array, Array]:
        """Return a ranking's coefficients in the basis, and what the basis leaves of it: zeros if it is dependent."""
        left = self.graph.centred(values)
        length = norm = _length(left)
        coefficients = np.zeros(self.size, SCORE)
        for _ in range(3):
            _take_off(self.basis, left, coefficients)
            before, norm = norm, _length(left)
            if norm > LEAST_REMAINDER * before or norm <= TOLERANCE * length:
                break
        return coefficients, left if norm > TOLERANCE * length else np.zeros_like(left)

    def extend(self, coefficients: Array, left: Array) -> None:
        """Add an independent ranking that `split` has split."""
        self._reserve(self.size + 1)
        norm = _length(left)
        self._triangle[: self.size, self.size] = coefficients
        self._triangle[self.size, self.size] = norm
        self._basis[self.size] = left / norm
        self.size += 1

    def solve(self, coefficients: Array) -> Array:
        """Return β of vectors given by their coefficients in the basis, one a column."""
        if not self.size:
            return np.zeros_like(coefficients)
        beta = solve_triangular(self.triangle, coefficients, check_finite=False)
        return np.where(np.abs(beta) > COEFFICIENT_ROUNDING, beta, 0.0)

    def _reserve(self, size: int) -> None:
        """Double the room where it is used up."""
        room = len(self._basis)
        if size > room:
            self._basis = np.concatenate([self._basis, np.empty_like(self._basis)])
            self._triangle = np.pad(self._triangle, (0, room))


def _length(vector: Array) -> float:
    return float(np.sqrt(np.sum(vector * vector)))


@compiled
def _take_off(basis: Array, vector_out: Array, coefficients_out: Array) -> None:
    """Do ``part = basis @ vector; coefficients += part; vector -= part @ basis``, four rows of the basis at a time.

    Not by BLAS: its threads wait for each other at every call, which on a busy machine took ten times as long. Four
    sums at a time hide the time of an addition, and four rows are still in the cache when they are read again.
    """
    n_rows = len(vector_out)
    whole = len(basis) - len(basis) % 4
    for k in range(0, whole, 4):
        p, q, r, s = basis[k], basis[k + 1], basis[k + 2], basis[k + 3]
        a = b = c = d = 0.0
        for i in range(n_rows):
            x = vector_out[i]
            a += p[i] * x
            b += q[i] * x
            c += r[i] * x
            d += s[i] * x
        for i in range(n_rows):
            vector_out[i] -= (a * p[i] + b * q[i]) + (c * r[i] + d * s[i])
        coefficients_out[k] += a
        coefficients_out[k + 1] += b
        coefficients_out[k + 2] += c
        coefficients_out[k + 3] += d
    for k in range(whole, len(basis)):
        a = 0.0
        for i in range(n_rows):
            a += basis[k, i] * vector_out[i]
        for i in range(n_rows):
            vector_out[i] -= a * basis[k, i]
        coefficients_out[k] += a


@compiled
def _join(better: Array, start: Array, worse: Array, parent_out: Array, paired_out: Array) -> None:
    """Point each row to the lowest row of its component, and mark the rows of pairs: union-find, halving paths."""
    for b in range(len(better)):
        paired_out[better[b]] = True
        for p in range(start[b], start[b + 1]):
            paired_out[worse[p]] = True
            x, y = better[b], np.int64(worse[p])
            while parent_out[x] != x:
                parent_out[x] = parent_out[parent_out[x]]
                x = parent_out[x]
            while parent_out[y] != y:
                parent_out[y] = parent_out[parent_out[y]]
                y = parent_out[y]
            parent_out[max(x, y)] = min(x, y)
    for row in range(len(parent_out)):
        parent_out[row] = parent_out[parent_out[row]]
