"""Pruning of ranking trees by cross-validated concordance.

As gains add up, ``gain of a tree - penalty × its splits`` is largest for a subtree that is found from the leaves up,
and what a subtree gains on other rows is the sum of what its splits gain there. So a fold is measured for all
penalties at once: its rows go down its tree a single time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from podium._validation import Array
from podium.ranking_trees.growth import Cell, Growth
from podium.ranking_trees.pair_gains import RankedRows


def grow_by_folds(growths: Sequence[Growth], data: RankedRows, rows: Array, n_folds: int) -> Cell:
    """Return the pruned tree that gains most on the rows of other folds, the first of equal ones."""
    roots = [growth.grow(data, rows) for growth in growths]
    found = [best_penalty(root, growth, data, n_folds) for root, growth in zip(roots, growths, strict=True)]
    best = int(np.argmax([gain for _, gain in found]))
    prune(roots[best], found[best][0])
    return roots[best]


def best_penalty(root: Cell, growth: Growth, data: RankedRows, n_folds: int) -> tuple[float, float]:
    """Return the penalty whose subtrees gain most on the rows of other folds, and what they gain there."""
    ends = penalties_of(root)
    tried = np.sqrt(ends * np.append(ends[1:], ends[-1]))
    gains = np.zeros(len(tried))
    for learned, left_out in folds(data.key[root.rows], root.rows, n_folds):
        total = data.total(left_out)
        if total > 0 and data.total(learned) > 0:
            gains += held_out_gains(growth.grow(data, learned), data, left_out, tried) / total
    rounded = np.round(gains, 12)
    best = len(rounded) - 1 - int(np.argmax(rounded[::-1]))
    return float(tried[best]), float(rounded[best])


def folds(keys: Array, rows: Array, n_folds: int) -> Iterator[tuple[Array, Array]]:
    """Yield the rows to learn from and those left out; rows of equal keys stay together."""
    number = np.unique(keys, return_inverse=True)[1] % n_folds
    for fold in range(n_folds):
        yield rows[number != fold], rows[number == fold]


def best_splits(cell: Cell, penalty: float) -> tuple[float, list[Cell]]:
    """Return the largest gain less penalties of the subtrees of a cell, and the splits of that subtree."""
    if cell.upper is None or cell.lower is None:
        return 0.0, []
    upper, lower = best_splits(cell.upper, penalty), best_splits(cell.lower, penalty)
    worth = cell.gain - penalty + upper[0] + lower[0]
    return (worth, [cell, *upper[1], *lower[1]]) if worth > 1e-12 else (0.0, [])


def prune(root: Cell, penalty: float) -> None:
    """Make the splits that are not worth a penalty undone."""
    kept = {id(cell) for cell in best_splits(root, penalty)[1]}
    for cell in list(root.splits()):
        if id(cell) not in kept:
            cell.upper = cell.lower = None


def penalties_of(root: Cell) -> Array:
    """Return 0 and, ascending, the penalties at which the best subtree becomes smaller (weakest links)."""
    found = [0.0]
    kept = best_splits(root, 0.0)[1]
    while kept:
        weakest = min(_mean_gain(cell, {id(one) for one in kept}) for cell in kept)
        found.append(max(weakest, found[-1]))
        smaller = best_splits(root, weakest * (1 + 1e-9) + 1e-12)[1]
        kept = smaller if len(smaller) < len(kept) else []
    return np.array(found)


def _mean_gain(cell: Cell, kept: set[int]) -> float:
    """Return the gain of a split of the splits kept below a cell, its own included."""
    gains = [one.gain for one in cell.splits() if id(one) in kept]
    return sum(gains) / len(gains)


def held_out_gains(root: Cell, data: RankedRows, rows: Array, penalties: Array) -> Array:
    """Return what the best subtree for each penalty gains on other rows, in weight of pairs."""
    gains: dict[int, float] = {}
    _measure(root, data, rows, gains)
    return np.array([sum(gains[id(cell)] for cell in best_splits(root, p)[1]) for p in penalties.tolist()])


def _measure(cell: Cell, data: RankedRows, rows: Array, gains_out: dict[int, float]) -> None:
    """Send rows down a tree and note what each split gains."""
    if cell.region is None or cell.upper is None or cell.lower is None:
        return
    upper = cell.region.holds(data.codes, rows)
    gains_out[id(cell)] = float(data.potentials(rows)[upper].sum())
    _measure(cell.upper, data, rows[upper], gains_out)
    _measure(cell.lower, data, rows[~upper], gains_out)
