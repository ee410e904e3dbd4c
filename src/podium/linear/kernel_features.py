"""Kernels for few rows: features whose products are the kernel, so that linear solvers serve kernels too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist

from podium._errors import SizeError
from podium._validation import Array

KERNELS: dict[str, Literal["sqeuclidean", "cityblock"]] = {"rbf": "sqeuclidean", "laplacian": "cityblock"}
"""Exponentials of distances: which distance of scipy each has."""
MAX_KERNEL_ROWS = 8000
"""Rows that a kernel may have: its matrix, the eigenvectors and their workspace take 2 GB there, and minutes."""
RANK_SHARE = 1e-12
"""Eigenvalues below this part of the largest are rounding."""


@dataclass(frozen=True, eq=False)
class KernelFeatures:
    """Features Φ with Φ Φᵀ = K, and the way from their weights to those of the rows.

    With K = U S Uᵀ, Φ = U √S and a score Φ w is K a for a = U w / √S; ‖w‖² = aᵀ K a is the norm of the function.

    Attributes
    ----------
    features : ndarray of shape (n_rows, rank)
    vectors : ndarray of shape (n_rows, rank)
        U / √S.
    """

    features: Array
    vectors: Array

    @classmethod
    def of(cls, rows: Array, kernel: str, gamma: float, name: str) -> KernelFeatures:
        """Decompose the kernel of all rows, in O(n³); `name` is the ranker's, for the message."""
        n = len(rows)
        if n > MAX_KERNEL_ROWS:
            raise SizeError(
                f"{name} with kernel={kernel!r} takes at most {MAX_KERNEL_ROWS:,} rows; got {n:,}: kernel and "
                f'eigenvectors need {4 * 8 * n * n / 2**30:.1f} GiB; use kernel="linear", which needs neither.'
            )
        values, vectors = eigh(kernel_values(rows, rows, kernel, gamma))
        kept = values > RANK_SHARE * max(values[-1], 0.0)
        roots = np.sqrt(values[kept])
        return cls(np.ascontiguousarray(vectors[:, kept] * roots), vectors[:, kept] / roots)

    def row_weights(self, coef: Array) -> Array:
        """Return a, the weight of each row's kernel in the score, from weights of the features."""
        weights: Array = self.vectors @ coef
        return weights


def kernel_values(rows: Array, others: Array, kernel: str, gamma: float) -> Array:
    """Return exp(-γ distance) of each row and each of the others, whatever rows stand beside them.

    scikit-learn's squared distances come from a product of matrices, whose last bits hang on the rows beside.
    """
    values: Array = np.exp(-gamma * cdist(rows, others, KERNELS[kernel]))
    return values
