"""Features on one scale, for rankers that compute with their values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium._compiled import SCORE
from podium._magnitudes import LARGEST
from podium._sparse import dense_rows
from podium._types import Features
from podium._validation import Array, PodiumError

CONSTANT_SHARE = 1e-12
"""A feature whose standard deviation is not above this share of its largest value does not vary but for rounding."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """Puts features to mean 0 and standard deviation 1 over the training rows; what is missing counts as the mean.

    So do Chu and Keerthi (2005) and Li and Lin (2007) in their experiments. A row of weight 2 counts as the row twice.

    Attributes
    ----------
    means : ndarray of shape (n_features,)
        Weighted, over the rows where the feature is not missing; 0 where it always is.
    deviations : ndarray of shape (n_features,)
        Standard deviation there; 1 for a constant feature.
    """

    means: Array
    deviations: Array

    @classmethod
    def of(cls, features: Features, weight: Array, name: str) -> Scaling:
        """Measure the training features of rows with such weights; `name` is the ranker's, for the message."""
        values = dense_rows(features).astype(SCORE)
        known = ~np.isnan(values)
        largest = np.max(np.abs(values), axis=0, where=known, initial=0.0)
        if np.any(largest >= LARGEST):
            raise PodiumError(
                f"X must lie within ±{LARGEST:g} for {name}, which computes with its values; feature "
                f"{np.argmax(largest >= LARGEST)} does not: use NaN for what is missing."
            )
        shares = np.where(known, weight[:, None] / weight.max(), 0.0)  # no sum of huge weights leaves the range
        total = np.sum(shares, axis=0)
        total = np.where(total > 0, total, 1.0)
        values = np.where(known, values, 0.0)
        means = np.sum(shares * values, axis=0) / total
        squares = np.sum(shares * (values - means) ** 2, axis=0) / total
        deviations = np.sqrt(squares)
        return cls(means, np.where(deviations > CONSTANT_SHARE * largest, deviations, 1.0))

    def apply(self, features: Features) -> Array:
        """Return the scaled features as a dense matrix by rows."""
        values = np.clip(dense_rows(features).astype(SCORE), -LARGEST, LARGEST)
        scaled = (values - self.means) / self.deviations
        return np.ascontiguousarray(np.where(np.isnan(scaled), 0.0, scaled), SCORE)
