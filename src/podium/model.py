"""The final ranking H = Σ α h: an additive model that scores rows.

Freund, Iyer, Schapire and Singer (2003), Figure 1. Stumps of one feature add up to a step function, so a row
is scored by one look-up for each used feature, however many rounds there were.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from podium._compiled import SCORE, compiled, run_threads
from podium._validation import Array

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


@dataclass(frozen=True, eq=False)
class StumpModel:
    """Weighted stumps: stump t is 1 where x > threshold, 0 elsewhere, `abstain` where the feature is missing.

    Attributes
    ----------
    features : ndarray of int64, one per round
    thresholds : ndarray of float64
    abstain : ndarray of float64, 0 or 1
    alphas : ndarray of float64
        Weights; a negative one turns its stump round.
    n_features : int
        Columns that a matrix to be scored has.
    """

    features: Array
    thresholds: Array
    abstain: Array
    alphas: Array
    n_features: int

    def __len__(self) -> int:
        return len(self.alphas)

    def first(self, n_rounds: int) -> StumpModel:
        """Return the model of the first rounds."""
        parts = (self.features, self.thresholds, self.abstain, self.alphas)
        return StumpModel(*(part[:n_rounds] for part in parts), n_features=self.n_features)

    @cached_property
    def steps(self) -> tuple[StepFunction, ...]:
        """The step function of each used feature, in the order of the features."""
        return tuple(self._step(feature) for feature in np.unique(self.features).tolist())

    def _step(self, feature: int) -> StepFunction:
        """Add up the stumps of one feature; equal thresholds become one step."""
        mine = self.features == feature
        alphas = self.alphas[mine]
        thresholds, place = np.unique(self.thresholds[mine], return_inverse=True)
        jumps = np.bincount(place, alphas, minlength=len(thresholds))
        values = np.concatenate([[0.0], np.cumsum(jumps)])
        return StepFunction(feature, thresholds, values, float(alphas @ self.abstain[mine]))

    def score(self, features: Any, n_threads: int = 1) -> Array:
        """Return H of each row of a checked matrix."""
        n_rows = features.shape[0]
        scores = np.zeros(n_rows, SCORE)
        if sp.issparse(features):
            for step in self.steps:
                _add_sparse(features, step, scores)
            return scores
        starts = range(0, n_rows, ROWS_PER_TASK)
        run_threads(self._score_rows, [(features, start, scores) for start in starts], n_threads)
        return scores

    def _score_rows(self, features: Array, start: int, scores: Array) -> None:
        """Add every step function to the scores of one task's rows."""
        rows = slice(start, start + ROWS_PER_TASK)
        for step in self.steps:
            column = np.ascontiguousarray(features[rows, step.feature], SCORE)
            _add_steps(column, step.thresholds, step.values, step.missing, scores[rows])

    def staged_scores(self, features: Any) -> Iterator[Array]:
        """Yield H after each round."""
        scores = np.zeros(features.shape[0], SCORE)
        for feature, threshold, abstain, alpha in zip(
            self.features.tolist(), self.thresholds.tolist(), self.abstain.tolist(), self.alphas, strict=True
        ):
            scores += alpha * stump_values(features, feature, threshold, abstain)
            yield scores.copy()


def stump_values(features: Any, feature: int, threshold: float, abstain: float) -> Array:
    """Return the stump's value for each row: [x > threshold], or `abstain` where x is missing (RB Eq. 9)."""
    if sp.issparse(features):
        values = np.full(features.shape[0], float(abstain))
        entries = slice(features.indptr[feature], features.indptr[feature + 1])
        stored = features.data[entries]
        values[features.indices[entries]] = np.where(np.isnan(stored), abstain, stored > threshold)
        return values
    column = features[:, feature]
    return np.where(np.isnan(column), float(abstain), column > threshold)


def _add_sparse(features: Any, step: StepFunction, scores: Array) -> None:
    """Add a step function in time of the stored entries and one pass over the scores."""
    entries = slice(features.indptr[step.feature], features.indptr[step.feature + 1])
    rows, stored = features.indices[entries], np.ascontiguousarray(features.data[entries], SCORE)
    found = np.zeros(len(stored), SCORE)
    _add_steps(stored, step.thresholds, step.values, step.missing, found)
    scores[rows] += found - step.missing
    scores += step.missing


@compiled
def _add_steps(column, thresholds, values, missing, scores_out):  # type: ignore[no-untyped-def]
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
