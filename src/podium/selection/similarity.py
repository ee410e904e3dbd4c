"""Features as rankings of the rows of each query: how good each is, and how alike two are, in O(n log n)."""

from __future__ import annotations

import numpy as np

from podium._compiled import SCORE
from podium._magnitudes import LARGEST
from podium._sparse import is_sparse
from podium._types import Features
from podium._validation import Array, PodiumError
from podium.binning import DenseReader, Matrix, SparseReader
from podium.data import RankingData
from podium.measures import Measure, measure_queries, weighted_mean

SIMILARITIES = ("tau", "absolute", "concordant")
"""Kendall's τ, its absolute value, and the share of pairs that both features put in the same order."""


class FeatureRankings:
    """The features of some rows as rankings within queries; a missing value counts as the feature's average.

    Means over queries weigh each by its weight.

    Parameters
    ----------
    data : RankingData
    """

    def __init__(self, data: RankingData) -> None:
        self.offsets, self.query_weight = data.queries.offsets, data.query_weight
        self.columns = [_filled(data, feature) for feature in range(data.features.shape[1])]
        self.sizes = data.queries.sizes

    def quality(self, feature: int, measure: Measure, labels: Array, sign: float) -> float:
        """Return the mean of a measure of the ranking by `sign` times a feature, losses negated."""
        found = measure_queries(measure, labels, sign * self.columns[feature], self.offsets)
        mean = weighted_mean(found.values, found.weights * self.query_weight)
        if np.isnan(mean):
            raise PodiumError(
                f"{measure} is undefined: no query of positive weight has {found.lacking or 'a value'}; "
                f"got {len(labels)} sample(s)."
            )
        return mean if measure.higher_is_better else -mean

    def similarity(self, one: int, other: int, kind: str) -> float:
        """Return how alike two features rank, a mean over the queries of two rows or more.

        Slow lines of a query of n rows, over its n(n - 1)/2 pairs of rows i and j:
        τ is the mean of ``sign((a_i - a_j) * (b_i - b_j))``, "concordant" that of ``(a_i - a_j) * (b_i - b_j) > 0``.
        """
        given = (self.columns[one], self.columns[other], self.offsets)
        taus = np.nan_to_num(measure_queries("kendall", *given).values)
        if kind == "concordant":
            discordant = np.nan_to_num(measure_queries("hard_loss", *given, ties="optimistic").values)
            return self._mean(taus + discordant)
        tau = self._mean(taus)
        return abs(tau) if kind == "absolute" else tau

    def _mean(self, per_query: Array) -> float:
        """Return the weighted mean over the queries that have pairs, 0 where none has."""
        weights = np.where(self.sizes > 1, self.query_weight, 0.0)
        return weighted_mean(per_query, weights) if weights.any() else 0.0


def _filled(data: RankingData, feature: int) -> Array:
    """Return a column in the canonical order, with its weighted average for what is missing."""
    rows, values = _reader(data.features, data.queries.rows).column(feature)
    values = np.clip(values.astype(SCORE), -LARGEST, LARGEST)
    weight = data.weights[rows]
    average = float(np.sum(values * weight) / weight.sum()) if weight.any() else 0.0
    filled = np.full(len(data.queries.rows), average, SCORE)
    filled[rows] = values
    return filled


def _reader(features: Features, order: Array) -> DenseReader | SparseReader:
    """Return a reader of columns."""
    return SparseReader.of(features, order) if is_sparse(features) else DenseReader(Matrix.of(features), order)
