"""Single features as dense columns, whether the matrix is dense or sparse."""

from __future__ import annotations

import numpy as np

from podium._compiled import SCORE
from podium._sparse import is_sparse
from podium._types import Features
from podium._validation import Array


def dense_column(features: Features, feature: int) -> Array:
    """Return a feature of all rows in the caller's order; NaN where a sparse matrix stores nothing."""
    if not is_sparse(features):
        column: Array = features[:, feature]
        return column
    stored = slice(features.indptr[feature], features.indptr[feature + 1])
    dense = np.full(features.shape[0], np.nan)
    dense[features.indices[stored]] = features.data[stored]
    return dense


def grouped_column(features: Features, feature: int, rows: Array) -> Array:
    """Return a feature of some rows as float64."""
    return dense_column(features, feature)[rows].astype(SCORE)
