"""What rankers that compute with the values of features share: their scale."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from podium._sparse import take_rows
from podium._types import Features
from podium._validation import Array, PodiumError
from podium.data import RankingData
from podium.model_file import Column, Schema
from podium.ordinal.scaling import Scaling, largest_sizes
from podium.rankers.at_once import AtOnceRanker

MAX_SCALED_VALUE = 1e30
"""Scaled values of training rows stay within this, so that Newton steps on products of four of them are finite."""


class ScaledRanker(AtOnceRanker):
    """Base of rankers without rounds that learn from scaled features."""

    _kept: ClassVar[Schema] = Schema(Column("means_", size="n_features"))
    scale: bool
    means_: Array

    def _scaled(self, data: RankingData) -> tuple[Array, Scaling]:
        """Return the rows in canonical order, scaled, and their scale by their weights; without `scale` 1 it is."""
        features, scaling = self._with_scale(data)
        rows = scaling.apply(features)
        self._check_sizes(rows)
        return rows, scaling

    def _scaled_as_given(self, data: RankingData) -> tuple[Features, Scaling]:
        """Return the same, sparse features as a sparse matrix by rows, in which what is missing is 0."""
        features, scaling = self._with_scale(data)
        rows = scaling.apply_as_given(features)
        self._check_sizes(rows)
        return rows, scaling

    def _with_scale(self, data: RankingData) -> tuple[Features, Scaling]:
        """Return the rows in canonical order, and the scale that they are to have."""
        features = take_rows(data.features, data.queries.rows)
        weights = data.weights if data.weights.any() else np.ones(len(data.queries.rows))
        scaling = Scaling.of(features, weights, type(self).__name__)
        if not self.scale:
            scaling = Scaling(scaling.means, np.ones_like(scaling.deviations))
        return features, scaling

    def _check_sizes(self, rows: Features) -> None:
        """Refuse scaled rows whose products would leave floating point."""
        farthest = largest_sizes(rows)
        if farthest.max() > MAX_SCALED_VALUE:
            raise PodiumError(
                f"X must lie within {MAX_SCALED_VALUE:g} of its mean, in standard deviations where it is scaled, for "
                f"{type(self).__name__}, which computes with its values; feature {farthest.argmax()} does not: give it "
                "on a smaller scale, or NaN for what is missing."
            )
