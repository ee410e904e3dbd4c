"""The final ranking H = Σ α h: an additive model that scores rows.

Freund, Iyer, Schapire and Singer (2003), Figure 1. Stumps of one feature add up to a step function, so a row
is scored by one look-up for each used feature, however many rounds there were.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from podium._compiled import SCORE, compiled, run_threads
from podium._sparse import is_sparse
from podium._types import Features, SparseMatrix
from podium._validation import Array
from podium.pairs import WeakRanking
from podium.stumps.stump import Stump

ROWS_PER_TASK = 8192
"""Rows scored in one task: their scores stay in the first-level cache while features pass by."""


@dataclass(frozen=True, eq=False)
class StepFunction:
    """The sum of a feature's weighted stumps.

    Attributes
    ----------
    feature : int
    thresholds : ndarray of float64, ascending
    values : ndarray of float64, one more than thresholds
        ``values[i]`` is the contribution of an x above exactly i thresholds.
    missing : float
        Contribution where the feature abstains.
    """

    feature: int
    thresholds: Array
    values: Array
    missing: float

    @classmethod
    def of(cls, feature: int, cuts: Array, low: Array, high: Array, missing: Array) -> StepFunction:
        """Add up stumps of one feature; equal thresholds become one step.

        Parameters
        ----------
        feature : int
        cuts : ndarray of float64
            Threshold of each stump.
        low, high, missing : ndarray of float64
            What each adds to a row up to its threshold, above it, and without a value.
        """
        thresholds, place = np.unique(cuts, return_inverse=True)
        jumps = np.bincount(place, high - low, minlength=len(thresholds))
        values = math.fsum(low) + np.concatenate([[0.0], np.cumsum(jumps)])
        return cls(feature, thresholds, values, math.fsum(missing))


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """Weighted weak rankings.

    Attributes
    ----------
    rankings : tuple of WeakRanking
        The weak ranking h of each round.
    alphas : ndarray of float64
        Its weight; a negative one turns the ranking round.

    Notes
    -----
    What scoring needs beside them is computed once and lives as long as the model, whose rounds never change; copies
    and pickles leave it behind.
    """

    rankings: tuple[WeakRanking, ...]
    alphas: Array

    def __len__(self) -> int:
        return len(self.rankings)

    def __getstate__(self) -> dict[str, Any]:
        return {"rankings": self.rankings, "alphas": self.alphas}

    def first(self, n_rounds: int) -> AdditiveModel:
        """Return the model of the first rounds, the same object as long as the number is the same."""
        if n_rounds >= len(self):
            return self
        kept = self._last_prefix.get(n_rounds)
        if kept is None:
            kept = AdditiveModel(self.rankings[:n_rounds], self.alphas[:n_rounds])
            self._last_prefix.clear()
            self._last_prefix[n_rounds] = kept
        return kept

    @cached_property
    def _last_prefix(self) -> dict[int, AdditiveModel]:
        """The model that `first` returned last, by its number of rounds."""
        return {}

    @cached_property
    def steps(self) -> tuple[StepFunction, ...]:
        """The step function of each feature that has stumps, in the order of the features."""
        weighted: dict[int, list[tuple[Stump, float]]] = {}
        for ranking, alpha in zip(self.rankings, self.alphas.tolist(), strict=True):
            if isinstance(ranking, Stump):
                weighted.setdefault(ranking.feature, []).append((ranking, alpha))
        return tuple(_sum_of_stumps(feature, weighted[feature]) for feature in sorted(weighted))

    @cached_property
    def others(self) -> tuple[tuple[WeakRanking, float], ...]:
        """Weak rankings that are not stumps, each once, with the sum of their weights."""
        sums: dict[WeakRanking, float] = {}
        for ranking, alpha in zip(self.rankings, self.alphas.tolist(), strict=True):
            if not isinstance(ranking, Stump):
                sums[ranking] = sums.get(ranking, 0.0) + alpha
        return tuple(sums.items())

    def score(self, features: Features, n_threads: int = 1) -> Array:
        """Return H of each row of a checked matrix."""
        scores = np.zeros(features.shape[0], SCORE)
        if is_sparse(features):
            for step in self.steps:
                _add_sparse(features, step, scores)
        else:
            starts = range(0, len(scores), ROWS_PER_TASK)
            run_threads(self._score_rows, [(features, start, scores) for start in starts], n_threads)
        for ranking, alpha in self.others:
            scores += alpha * ranking.predict(features)
        return scores

    def _score_rows(self, features: Array, start: int, scores: Array) -> None:
        """Add every step function to the scores of one task's rows."""
        rows = slice(start, start + ROWS_PER_TASK)
        for step in self.steps:
            column = np.ascontiguousarray(features[rows, step.feature], SCORE)
            _add_steps(column, step.thresholds, step.values, step.missing, scores[rows])

    def staged_scores(self, features: Features) -> Iterator[Array]:
        """Yield H after each round."""
        scores = np.zeros(features.shape[0], SCORE)
        for ranking, alpha in zip(self.rankings, self.alphas.tolist(), strict=True):
            scores = scores + alpha * ranking.predict(features)
            yield scores


def _sum_of_stumps(feature: int, weighted: list[tuple[Stump, float]]) -> StepFunction:
    """Add up the weighted stumps of one feature."""
    cuts, abstain, alphas = np.array([(stump.threshold, stump.abstain, alpha) for stump, alpha in weighted]).T
    return StepFunction.of(feature, cuts, np.zeros(len(cuts)), alphas, alphas * abstain)


def _add_sparse(features: SparseMatrix, step: StepFunction, scores: Array) -> None:
    """Add a step function in time of the stored entries and one pass over the scores."""
    entries = slice(features.indptr[step.feature], features.indptr[step.feature + 1])
    rows, stored = features.indices[entries], np.ascontiguousarray(features.data[entries], SCORE)
    found = np.zeros(len(stored), SCORE)
    _add_steps(stored, step.thresholds, step.values, step.missing, found)
    scores[rows] += found - step.missing
    scores += step.missing


@compiled
def _add_steps(column: Array, thresholds: Array, values: Array, missing: float, scores_out: Array) -> None:
    """Add the step function: ``scores_out += np.where(isnan(x), missing, values[searchsorted(t, x)])``.

    The search halves a length that is the same for all rows, without a branch, so the loop keeps no history.
    """
    n_thresholds = len(thresholds)
    for i in range(len(column)):
        x = column[i]
        if x != x:
            scores_out[i] += missing
            continue
        low, length = 0, n_thresholds
        while length > 1:
            half = length // 2
            low += half if thresholds[low + half - 1] < x else 0
            length -= half
        scores_out[i] += values[low + (1 if thresholds[low] < x else 0)]
