"""Choices among rows, whose scores are linear in features: what labels and pairs stand for, and their likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from podium._compiled import ROW
from podium._types import Features
from podium._validation import Array
from podium.data import RankingData
from podium.permutations.choices import Choices
from podium.permutations.likelihood import Point


@dataclass(frozen=True, eq=False)
class LinearLikelihood:
    """The likelihood of choices among rows, as a function of weights of their features."""

    choices: Choices
    rows: Features

    def at(self, weights: Array) -> LinearPoint:
        """Return the likelihood around some weights."""
        return LinearPoint(self.rows, self.choices.at(self.rows @ weights))


@dataclass(frozen=True, eq=False)
class LinearPoint:
    """The likelihood around some weights: that of the scores, by the chain rule."""

    rows: Features
    scores: Point

    @property
    def value(self) -> float:
        """Log-likelihood."""
        return self.scores.value

    @cached_property
    def gradient(self) -> Array:
        """Its derivative in each weight."""
        return self.scores.gradient @ self.rows

    def product(self, direction: Array) -> Array:
        """Return the information matrix times a direction."""
        return self.scores.product(self.rows @ direction) @ self.rows


def row_choices(data: RankingData) -> Choices:
    """Return the choices that labels and pairs stand for, of grouped rows."""
    entries, blocks, starts, sizes, chosen = _label_choices(data)
    if data.pairs is not None:
        pairs = data.pairs
        n_pairs = len(pairs.better)
        entries = np.concatenate([entries, np.stack([pairs.better, pairs.worse], axis=1).ravel()])
        blocks = np.concatenate([blocks, blocks[-1] + 1 + np.arange(2 * n_pairs)])
        starts = np.concatenate([starts, starts[-1] + 2 * (1 + np.arange(n_pairs))])
        sizes = np.concatenate([sizes, np.ones(2 * n_pairs)])
        chosen = np.concatenate([chosen, np.stack([pairs.weight, np.zeros(n_pairs)], axis=1).ravel()])
    return Choices(len(data.queries.rows), entries.astype(ROW), blocks.astype(ROW), starts.astype(ROW), sizes, chosen)


def _label_choices(data: RankingData) -> tuple[Array, Array, Array, Array, Array]:
    """Return entries, offsets of blocks and of queries, sizes and chosen weights of graded rows that count."""
    if data.labels is None:
        return np.empty(0, ROW), np.zeros(1, ROW), np.zeros(1, ROW), np.empty(0), np.empty(0)
    query = np.repeat(np.arange(len(data.queries)), data.queries.sizes)
    entries = np.lexsort((-data.labels, query))
    entries = entries[data.weights[entries] > 0]
    labels, query = data.labels[entries], query[entries]
    new_query = np.append(True, query[1:] != query[:-1])[: len(query)]
    new_block = new_query | np.append(True, labels[1:] != labels[:-1])[: len(query)]
    firsts = np.flatnonzero(new_block)
    blocks = np.append(firsts, len(entries))
    starts = np.append(np.flatnonzero(new_query[firsts]), len(firsts))
    lowest = np.zeros(len(firsts), bool)
    lowest[starts[1:] - 1] = len(firsts) > 0
    chosen = np.where(np.repeat(lowest, np.diff(blocks)), 0.0, data.weights[entries])
    return entries, blocks, starts, data.row_weight[entries], chosen
