"""A net as data: its shape, its weights in one vector, and the scores it gives, without torch.

Layers are ``max(0, x @ W + b)``, the last one ``x @ W`` of one column: a constant would change no order. The weights
are of float32, as they were learned; scores are added up in float64, each row by itself, so that no row's score
depends on the rows beside it or on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, Self, TypeVar

import numpy as np

from podium._compiled import SCORE, compiled, even_ranges, run_threads, threads_for
from podium._validation import Array

WEIGHT = np.float32
"""Weights: what torch learns fastest."""


class Reshapable(Protocol):
    """A vector of numpy or torch."""

    def __getitem__(self, part: slice, /) -> Self: ...

    def reshape(self, shape: tuple[int, ...], /) -> Self:
        """Return the same numbers in another shape."""


Vector = TypeVar("Vector", bound=Reshapable)


@dataclass(frozen=True)
class NetShape:
    """The sizes of a net.

    Attributes
    ----------
    n_numbers : int
        Inputs that are numbers.
    tables : tuple of (int, int)
        For each column of categories: rows of its table, one for each category and one for what is missing, and
        numbers of a row, which are inputs too.
    hidden : tuple of int
        Units of each hidden layer; none for a linear score.
    """

    n_numbers: int
    tables: tuple[tuple[int, int], ...]
    hidden: tuple[int, ...]

    @property
    def widths(self) -> tuple[int, ...]:
        """Inputs, units of each hidden layer, and the score."""
        return self.n_numbers + sum(width for _, width in self.tables), *self.hidden, 1

    @property
    def parts(self) -> list[tuple[int, ...]]:
        """Sizes of the parts of the weights: tables, then W and b of each hidden layer, then the last W."""
        layers = [part for m, n in pairwise(self.widths[:-1]) for part in ((m, n), (n,))]
        return [*self.tables, *layers, (self.widths[-2], 1)]

    @property
    def n_weights(self) -> int:
        """Weights in all."""
        return sum(int(np.prod(part)) for part in self.parts)

    def split(self, weights: Vector) -> list[Vector]:
        """Return the parts of a vector of weights, of numpy or torch, each in its shape, as views."""
        ends = np.cumsum([0, *(int(np.prod(part)) for part in self.parts)]).tolist()
        return [weights[a:b].reshape(part) for (a, b), part in zip(pairwise(ends), self.parts, strict=True)]

    def start(self, seed: int) -> Array:
        """Draw weights to begin with: rows of tables normal, of length about 1; layers even within ±1/√inputs.

        Layers begin as torch's do. Wider draws, such as those of He et al. (2015), begin with scores that tell rows
        apart at random, which learning must undo first (docs/neural.md).
        """
        draw = np.random.default_rng([seed, 0])
        weights: Array = np.zeros(self.n_weights, WEIGHT)
        parts: list[Array] = self.split(weights)
        n_inputs = 1
        for number, part in enumerate(parts):
            if number < len(self.tables):
                part[:] = draw.normal(0.0, 1.0 / np.sqrt(part.shape[1]), part.shape)
                continue
            n_inputs = part.shape[0] if part.ndim == 2 else n_inputs  # a bias has the bounds of the W before it
            part[:] = draw.uniform(-1.0, 1.0, part.shape) / np.sqrt(max(1, n_inputs))
        return weights


@dataclass(frozen=True, eq=False)
class Net:
    """A net with its weights.

    Attributes
    ----------
    shape : NetShape
    weights : float32[n_weights]
    """

    shape: NetShape
    weights: Array

    @property
    def tables(self) -> list[Array]:
        """Numbers of each category, float64, for each column of categories."""
        parts: list[Array] = self.shape.split(self.weights.astype(SCORE))
        return parts[: len(self.shape.tables)]

    @property
    def layers(self) -> list[tuple[Array, Array]]:
        """W and b of each layer, float64; b of the last one is 0."""
        parts = [*self.shape.split(self.weights.astype(SCORE))[len(self.shape.tables) :], np.zeros(1)]
        return list(zip(parts[::2], parts[1::2], strict=True))

    def inputs(self, numbers: Array, codes: Array) -> Array:
        """Return what the first layer reads of rows: numbers, then the rows of the tables."""
        parts = [table[codes[:, k]] for k, table in enumerate(self.tables)]
        return np.concatenate([numbers, *parts], axis=1)

    def score(self, numbers: Array, codes: Array, n_jobs: int | None = None) -> Array:
        """Return the score of each row of inputs."""
        rows, layers = self.inputs(numbers, codes), self.layers
        for number, (weight, bias) in enumerate(layers):
            out = np.empty((len(rows), len(bias)))
            threads = threads_for(n_jobs, rows.size * len(bias))
            calls = [
                (rows[a:b], weight, bias, number < len(layers) - 1, out[a:b])
                for a, b in even_ranges(len(rows), threads)
            ]
            run_threads(fill_layer, calls, threads)
            rows = out
        return np.ascontiguousarray(rows[:, 0])


@dataclass(frozen=True, eq=False)
class Epoch:
    """What an epoch leaves: the round of a net's training.

    Attributes
    ----------
    net : Net
    moments : float32[n_moments, n_weights]
        What the update rule remembers of earlier gradients: none for "sgd", their mean and mean square for "adam".
    n_steps : int
        Updates so far.
    pull : float
        Mean size of λ over the documents of the epoch: how strongly pairs still pull at them.
    """

    net: Net
    moments: Array
    n_steps: int
    pull: float

    @property
    def progress_text(self) -> str:
        """What the progress bar says."""
        return f"mean |λ| {self.pull:.4g}"


@compiled
def fill_layer(rows: Array, weight: Array, bias: Array, cut: bool, out: Array) -> None:
    """Do ``out[:] = rows @ weight + bias``, or ``np.maximum(0, ...)`` of it with `cut`; rows alike in a way alike."""
    for i in range(len(rows)):
        sums = out[i]
        sums[:] = bias
        for k in range(rows.shape[1]):
            x, column = rows[i, k], weight[k]
            for j in range(len(sums)):
                sums[j] += x * column[j]
        if cut:
            for j in range(len(sums)):
                sums[j] = max(0.0, sums[j])
