"""The likelihood of Plackett and Luce with ties (Turner, van Etten, Firth and Kosmidis 2020, "Davidson–Luce").

From a set A a subset S of d items is chosen, as tied for the best, with probability proportional to
``δ_d exp(mean of the scores in S)``, for the sizes d that the data show; δ_1 = 1. The sum over all subsets of d items
is the elementary symmetric polynomial of exp(s / d), so that a ranking of n items costs O(n d²), not one term a subset.
The log-likelihood is concave in the scores and in log δ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium._compiled import SCORE, compiled, compiled_part
from podium._validation import Array


@dataclass(frozen=True, eq=False)
class TiedChoices:
    """Choices of tied blocks that rankings are made of.

    Attributes
    ----------
    n_scores : int
    entries, blocks, starts : ndarray of int64
        As `Rankings` has them.
    chosen : ndarray of float64, one per block
        Weight of the choice; 0 of an unordered block.
    orders : ndarray of int64
        Sizes d of blocks that can be chosen, ascending, 1 first. The parameters are the scores and, for each of the
        others, log δ.
    """

    n_scores: int
    entries: Array
    blocks: Array
    starts: Array
    chosen: Array
    orders: Array

    def at(self, parameters: Array) -> TiedPoint:
        """Return the likelihood around some parameters."""
        value, gradient, _ = self.derivatives(parameters, np.zeros_like(parameters))
        return TiedPoint(self, parameters, value, gradient)

    def derivatives(self, parameters: Array, direction: Array) -> tuple[float, Array, Array]:
        """Return log-likelihood, gradient, and the information matrix times a direction."""
        longest = int(np.max(self.blocks[self.starts[1:]] - self.blocks[self.starts[:-1]]))
        logs = np.full((2, longest + 1, len(self.orders), self.orders[-1] + 1), -np.inf, SCORE)
        logs[0, :, :, 0], logs[1] = 0.0, 0.0
        n, out = self.n_scores, np.zeros((2, len(parameters) + 1), SCORE)
        value = tied_derivatives(
            np.append(parameters[:n], np.append(0.0, parameters[n:])),
            np.append(direction[:n], np.append(0.0, direction[n:])),
            n, self.entries, self.blocks, self.starts, self.chosen, self.orders, logs, out,
        )  # fmt: skip
        gradient, tangent = np.delete(out, n, axis=1)
        return value, gradient, -tangent


@dataclass(frozen=True, eq=False)
class TiedPoint:
    """The likelihood of tied choices around some parameters."""

    choices: TiedChoices
    parameters: Array
    value: float
    gradient: Array

    def product(self, direction: Array) -> Array:
        """Return the information matrix times a direction."""
        return self.choices.derivatives(self.parameters, direction)[2]

    def information(self) -> Array:
        """Return the information matrix, column by column."""
        return np.stack([self.product(one) for one in np.eye(len(self.parameters))], axis=1)


@compiled
def tied_derivatives(
    parameters: Array, direction: Array, n: int, entries: Array, blocks: Array, starts: Array, chosen: Array,
    orders: Array, logs: Array, out: Array,
) -> float:  # fmt: skip
    """Return the log-likelihood; add its gradient to out[0] and the change of that along the direction to out[1].

    ``logs[0, i, d, j]`` is the log of the polynomial of degree j, of exp(s / d), of the entries from i on, and logs[1]
    its change: filled from the last entry up, then followed back down.
    """
    total = 0.0
    for ranking in range(len(starts) - 1):
        first, end = blocks[starts[ranking]], blocks[starts[ranking + 1]]
        logs[0, end - first, :, 1:], logs[1, end - first] = -np.inf, 0.0
        for i in range(end - 1, first - 1, -1):
            add_entry(parameters[entries[i]], direction[entries[i]], orders, logs[:, i - first + 1], logs[:, i - first])
        pull = np.zeros((2, len(orders), orders[-1] + 1))
        for block in range(starts[ranking], starts[ranking + 1]):
            at = logs[:, blocks[block] - first]
            total += choose_block(parameters, direction, n, entries, blocks, block, chosen, orders, at, pull, out)
            for i in range(blocks[block], blocks[block + 1]):
                pull_back(
                    parameters[entries[i]], direction[entries[i]], orders, logs[:, i - first], logs[:, i - first + 1],
                    pull, out[:, entries[i]],
                )  # fmt: skip
    return total


@compiled_part
def add_entry(score: float, slope: float, orders: Array, before: Array, after_out: Array) -> None:
    """Fill ``e_j(with the entry) = e_j + e_{j-1} exp(score / d)``, in logs, and the change along the direction."""
    for d in range(len(orders)):
        for j in range(1, orders[d] + 1):
            added = before[0, d, j - 1] + score / orders[d]
            top = max(added, before[0, d, j])
            after_out[0, d, j], after_out[1, d, j] = top, 0.0
            if top > -np.inf:
                after_out[0, d, j] = top + np.log(np.exp(added - top) + np.exp(before[0, d, j] - top))
                share = np.exp(added - after_out[0, d, j])
                moved = before[1, d, j - 1] + slope / orders[d]
                after_out[1, d, j] = before[1, d, j] + share * (moved - before[1, d, j])


@compiled_part
def choose_block(
    parameters: Array, direction: Array, n: int, entries: Array, blocks: Array, block: int, chosen: Array,
    orders: Array, logs: Array, pull: Array, out: Array,
) -> float:  # fmt: skip
    """Return the log-likelihood of one choice; add to the pulls on the polynomials and on the parameters."""
    size, weight = blocks[block + 1] - blocks[block], chosen[block]
    top, whole, change, own = -np.inf, 0.0, 0.0, 0.0
    for d in range(len(orders)):
        top = max(top, parameters[n + d] + logs[0, d, orders[d]])
    for d in range(len(orders)):
        whole += np.exp(parameters[n + d] + logs[0, d, orders[d]] - top)
    whole = top + np.log(whole)
    for d in range(len(orders)):
        share = np.exp(parameters[n + d] + logs[0, d, orders[d]] - whole)
        change += share * (direction[n + d] + logs[1, d, orders[d]])
    for d in range(len(orders)):
        share = np.exp(parameters[n + d] + logs[0, d, orders[d]] - whole)
        moved = share * (direction[n + d] + logs[1, d, orders[d]] - change)
        pull[0, d, orders[d]] -= weight * share
        pull[1, d, orders[d]] -= weight * moved
        out[0, n + d] -= weight * share
        out[1, n + d] -= weight * moved
        if orders[d] == size:
            own += parameters[n + d]
            out[0, n + d] += weight
    for i in range(blocks[block], blocks[block + 1]):
        own += parameters[entries[i]] / size
        out[0, entries[i]] += weight / size
    return float(weight * (own - whole))


@compiled_part
def pull_back(score: float, slope: float, orders: Array, after: Array, before: Array, pull: Array, out: Array) -> None:
    """Hand the pull on the polynomials with the entry on to its score and to the polynomials without it."""
    for d in range(len(orders)):
        for j in range(1, orders[d] + 1):
            added = before[0, d, j - 1] + score / orders[d]
            if added > -np.inf:
                share = np.exp(added - after[0, d, j])
                moved = share * (before[1, d, j - 1] + slope / orders[d] - after[1, d, j])
                flow, change = share * pull[0, d, j], moved * pull[0, d, j] + share * pull[1, d, j]
                pull[0, d, j - 1] += flow
                pull[1, d, j - 1] += change
                pull[0, d, j] -= flow
                pull[1, d, j] -= change
                out[0] += flow / orders[d]
                out[1] += change / orders[d]
