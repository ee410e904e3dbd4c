"""What each feature adds to scores by a net: integrated gradients, exactly (Sundararajan, Taly and Yan 2017).

On the straight line between the inputs of two rows a net of rectified linear units is made of straight pieces. Each
piece has one gradient; their mean along the line, times the difference of the inputs, adds up to the difference of
the scores, whatever the net.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from podium._validation import Array
from podium.explain.pair_parts import PairParts
from podium.export import NetScore


class NetContributions:
    """What each feature adds to the scores of rows by a net.

    Parameters
    ----------
    model : NetScore
    """

    method = "integrated gradients"

    def __init__(self, model: NetScore) -> None:
        self.model, self.layers = model, model.net.layers

    def of_pair(self, a: Array, b: Array) -> PairParts:
        """Return what each feature adds to score(a) - score(b)."""
        return PairParts(self._of_inputs(*self.model.net_inputs(np.stack([a, b]))))

    def of_rows(self, rows: Array, n_threads: int) -> Array:
        """Return what each feature adds to the score of each row, less its mean: the mean of its pairs."""
        inputs, parts = self.model.net_inputs(rows), np.zeros((len(rows), self.model.n_features))
        for i, j in combinations(range(len(rows)), 2):
            values = self._of_inputs(inputs[i], inputs[j])
            parts[i] += values
            parts[j] -= values
        return parts / len(rows)

    def _of_inputs(self, one: Array, other: Array) -> Array:
        """Return the parts of two rows of inputs, those of a feature summed up."""
        parts = (one - other) * mean_gradient(self.layers, other, one)
        features: Array = np.bincount(self.model.owners, parts, self.model.n_features)
        return features


def mean_gradient(layers: list[tuple[Array, Array]], start: Array, end: Array) -> Array:
    """Return the mean gradient of a net's score along the line from one row of inputs to another.

    Slow line: ``np.mean([gradient(start + t * (end - start)) for t in many_steps], axis=0)``.
    """
    breakpoints = np.array([0.0, 1.0])
    for depth in range(len(layers) - 1):
        breakpoints = _with_breakpoints(breakpoints, _sums(layers, start, end, breakpoints, depth))
    middle, lengths = (breakpoints[1:] + breakpoints[:-1]) / 2, np.diff(breakpoints)
    gradient = np.repeat(layers[-1][0].T, len(middle), axis=0)
    for depth in reversed(range(len(layers) - 1)):
        gradient = (gradient * (_sums(layers, start, end, middle, depth) > 0)) @ layers[depth][0].T
    mean: Array = lengths @ gradient
    return mean


def _sums(layers: list[tuple[Array, Array]], start: Array, end: Array, places: Array, depth: int) -> Array:
    """Return what the units of a layer are before they are cut at 0, at some places of the line."""
    rows = start + places[:, None] * (end - start)
    for weight, bias in layers[:depth]:
        rows = np.maximum(0.0, rows @ weight + bias)
    weight, bias = layers[depth]
    sums: Array = rows @ weight + bias
    return sums


def _with_breakpoints(places: Array, sums: Array) -> Array:
    """Add the places between neighbouring ones where a unit passes 0; units are straight between them."""
    before, after = sums[:-1], sums[1:]
    piece, unit = np.nonzero(before * after < 0)
    share = before[piece, unit] / (before[piece, unit] - after[piece, unit])
    return np.unique(np.concatenate([places, places[piece] + share * np.diff(places)[piece]]))
