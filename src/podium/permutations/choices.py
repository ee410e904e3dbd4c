"""The likelihood of Plackett and Luce: a ranking as choices, one after the other, of the best that is left.

The item of score s is chosen from a set with probability exp(s) over the sum of exp over the set. Tied entries of one
block are all chosen from the block and what stands below it (Breslow): with distinct entries this is the model itself.
All sums go along a ranking, so that value, gradient and a product with the information matrix cost O(n).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from podium._compiled import SCORE, compiled, compiled_part
from podium._memory import enough_memory
from podium._validation import Array


@dataclass(frozen=True, eq=False)
class Choices:
    """Choices that rankings of entries are made of.

    Attributes
    ----------
    n_scores : int
        Scores that entries may name.
    entries : ndarray of int64
        Score of each entry, by number: ranking after ranking, best first.
    blocks, starts : ndarray of int64
        Offsets of blocks in entries, and of rankings in blocks, as `Rankings` has them.
    sizes : ndarray of float64, one per entry
        How often the entry stands in the sets that are chosen from.
    chosen : ndarray of float64, one per entry
        Weight with which it was chosen; 0 in an unordered block.
    """

    n_scores: int
    entries: Array
    blocks: Array
    starts: Array
    sizes: Array
    chosen: Array

    def at(self, scores: Array) -> ChoicePoint:
        """Return the likelihood around some scores."""
        share, rest = np.empty(len(self.entries), SCORE), np.empty(len(self.blocks) - 1, SCORE)
        value = choice_shares(
            np.ascontiguousarray(scores, SCORE), self.entries, self.blocks, self.starts, self.sizes, self.chosen,
            share, rest,
        )  # fmt: skip
        return ChoicePoint(self, value, share, rest)


@dataclass(frozen=True, eq=False)
class ChoicePoint:
    """The likelihood of choices around some scores.

    Attributes
    ----------
    choices : Choices
    value : float
        Log-likelihood.
    share : ndarray, one per entry
        Its probability to be chosen where its block is.
    rest : ndarray, one per block
        Probability of all that stands below, there.
    """

    choices: Choices
    value: float
    share: Array
    rest: Array

    @cached_property
    def gradient(self) -> Array:
        """Derivative of the log-likelihood in each score."""
        own, gradient = self.choices, np.zeros(self.choices.n_scores, SCORE)
        choice_gradient(self.share, self.rest, own.entries, own.blocks, own.starts, own.chosen, gradient)
        return gradient

    def product(self, direction: Array) -> Array:
        """Return the information matrix times a direction."""
        own, product = self.choices, np.zeros(self.choices.n_scores, SCORE)
        choice_product(
            self.share, self.rest, own.entries, own.blocks, own.starts, own.chosen,
            np.ascontiguousarray(direction, SCORE), np.empty(len(self.rest), SCORE), product,
        )  # fmt: skip
        return product

    def information(self) -> Array:
        """Return the information matrix; O(n²) for each ranking of n entries."""
        own, size = self.choices, self.choices.n_scores
        with enough_memory(8 * size**2, f"An information matrix of {size} items", "leave standard errors out"):
            matrix = np.zeros((size, size), SCORE)
        choice_information(self.share, self.rest, own.entries, own.blocks, own.starts, own.chosen, matrix)
        return matrix


@compiled
def choice_shares(
    scores: Array, entries: Array, blocks: Array, starts: Array, sizes: Array, chosen: Array, share_out: Array,
    rest_out: Array,
) -> float:  # fmt: skip
    """Return Σ chosen (s - log D) with D the sum of size·exp(s) over the entry's block and all below it.

    ``share_out = size exp(s) / D``; ``rest_out = D below / D``. From the last block up, so that no exp overflows.
    """
    total = 0.0
    for ranking in range(len(starts) - 1):
        below = -np.inf
        for block in range(starts[ranking + 1] - 1, starts[ranking] - 1, -1):
            top = below
            for i in range(blocks[block], blocks[block + 1]):
                top = max(top, scores[entries[i]])
            amount = np.exp(below - top)
            for i in range(blocks[block], blocks[block + 1]):
                amount += sizes[i] * np.exp(scores[entries[i]] - top)
            whole = top + np.log(amount)
            for i in range(blocks[block], blocks[block + 1]):
                share_out[i] = sizes[i] * np.exp(scores[entries[i]] - whole)
                total += chosen[i] * (scores[entries[i]] - whole)
            rest_out[block] = np.exp(below - whole)
            below = whole
    return total


@compiled
def choice_gradient(
    share: Array, rest: Array, entries: Array, blocks: Array, starts: Array, chosen: Array, gradient_out: Array
) -> None:
    """Add ``chosen - Σ chosen' size exp(s) / D'`` over the choices made at or above each entry."""
    for ranking in range(len(starts) - 1):
        made = 0.0
        for block in range(starts[ranking], starts[ranking + 1]):
            if block > starts[ranking]:
                made *= rest[block - 1]
            for i in range(blocks[block], blocks[block + 1]):
                made += chosen[i]
            for i in range(blocks[block], blocks[block + 1]):
                gradient_out[entries[i]] += chosen[i] - share[i] * made


@compiled
def choice_product(
    share: Array, rest: Array, entries: Array, blocks: Array, starts: Array, chosen: Array, direction: Array,
    mean: Array, product_out: Array,
) -> None:  # fmt: skip
    """Add ``Σ chosen' p (v - mean of v under p)`` over the choices made at or above each entry; `mean` is scratch."""
    for ranking in range(len(starts) - 1):
        below = 0.0
        for block in range(starts[ranking + 1] - 1, starts[ranking] - 1, -1):
            below *= rest[block]
            for i in range(blocks[block], blocks[block + 1]):
                below += share[i] * direction[entries[i]]
            mean[block] = below
        made, pulled = 0.0, 0.0
        for block in range(starts[ranking], starts[ranking + 1]):
            if block > starts[ranking]:
                made, pulled = made * rest[block - 1], pulled * rest[block - 1]
            for i in range(blocks[block], blocks[block + 1]):
                made += chosen[i]
                pulled += chosen[i] * mean[block]
            for i in range(blocks[block], blocks[block + 1]):
                product_out[entries[i]] += share[i] * (made * direction[entries[i]] - pulled)


@compiled
def choice_information(
    share: Array, rest: Array, entries: Array, blocks: Array, starts: Array, chosen: Array, matrix_out: Array
) -> None:
    """Add ``Σ chosen' (diag(p) - p pᵀ)`` over all choices."""
    for ranking in range(len(starts) - 1):
        made, squared = 0.0, 0.0
        for block in range(starts[ranking], starts[ranking + 1]):
            if block > starts[ranking]:
                made, squared = made * rest[block - 1], squared * rest[block - 1] ** 2
            for i in range(blocks[block], blocks[block + 1]):
                made, squared = made + chosen[i], squared + chosen[i]
            for i in range(blocks[block], blocks[block + 1]):
                matrix_out[entries[i], entries[i]] += share[i] * made
                subtract_products(i, block, starts[ranking + 1], share, rest, entries, blocks, squared, matrix_out)


@compiled_part
def subtract_products(
    i: int, block: int, end: int, share: Array, rest: Array, entries: Array, blocks: Array, squared: float,
    matrix_out: Array,
) -> None:  # fmt: skip
    """Subtract ``squared p_i p_j`` for all j of the entry's block and of the blocks below it."""
    ratio = 1.0
    for other in range(block, end):
        if other > block:
            ratio *= rest[other - 1]
        for j in range(blocks[other], blocks[other + 1]):
            amount = squared * share[i] * share[j] * ratio
            matrix_out[entries[i], entries[j]] -= amount
            if other > block:
                matrix_out[entries[j], entries[i]] -= amount
