"""Sums of trees over rows as functions of one feature, by a walk on both sides of the splits on it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podium._compiled import ROW, SCORE, compiled, compiled_part
from podium._validation import Array
from podium.explain.split_sides import Splits, goes_left


class Walk(NamedTuple):
    """Places that a row has still to go to: a node, the steps it is for, and whether also for what is missing."""

    node: Array
    low: Array
    high: Array
    missing: Array


def trees_with(splits: Splits, root: Array, feature: int) -> Array:
    """Return the roots of the trees that split a feature."""
    roots = np.sort(root[root >= 0])
    owner = np.searchsorted(roots, np.flatnonzero(splits.feature == feature), side="right") - 1
    found: Array = roots[np.unique(owner)].astype(ROW)
    return found


def step_sums(splits: Splits, value: Array, trees: Array, rows: Array, feature: int, thresholds: Array) -> Array:
    """Return the sum over rows and trees for each step of a feature between thresholds, and last for what is missing.

    Parameters
    ----------
    splits, value
        Of all trees.
    trees : ndarray of int64
        Roots of those to sum.
    rows : ndarray of float64
    feature : int
    thresholds : ndarray of float64
        All of the feature's, ascending.
    """
    ranks = np.searchsorted(thresholds, splits.threshold).astype(ROW)
    changes, missing = np.zeros(len(thresholds) + 2, SCORE), np.zeros(1, SCORE)
    _add_steps(splits, value, trees, rows, feature, ranks, changes, missing)
    return np.append(np.cumsum(changes[:-1]), missing)


def category_sums(splits: Splits, value: Array, trees: Array, rows: Array, feature: int, n_categories: int) -> Array:
    """Return the sum over rows and trees for each category of a feature, and last for what is missing."""
    codes = np.append(np.arange(n_categories, dtype=SCORE), np.nan)
    sums = np.zeros(n_categories + 1, SCORE)
    _add_values(splits, value, trees, rows, feature, codes, sums)
    return sums


@compiled
def _add_steps(
    splits: Splits,
    value: Array,
    trees: Array,
    rows: Array,
    feature: int,
    ranks: Array,
    changes_out: Array,
    missing_out: Array,
) -> None:
    """Add each leaf that a row may reach to the steps it is reached from: where they begin, and less where they end.

    Slow line: ``sums[step] += tree.predict(row with a value of that step)`` for every step, row and tree.
    """
    size = len(splits.feature) + 2
    walk = Walk(np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.bool_))
    for tree in trees:
        for i in range(len(rows)):
            walk.node[0], walk.low[0], walk.high[0], walk.missing[0] = tree, 0, len(changes_out) - 1, True
            top = 1
            while top > 0:
                top -= 1
                at, low, high, missing = walk.node[top], walk.low[top], walk.high[top], walk.missing[top]
                while at >= 0 and splits.feature[at] != feature:
                    at = splits.child[at, 0 if goes_left(splits, at, rows[i, splits.feature[at]]) else 1]
                if at < 0:
                    if low < high:
                        changes_out[low] += value[~at]
                        changes_out[high] -= value[~at]
                    missing_out[0] += value[~at] if missing else 0.0
                    continue
                top = _part(splits, at, ranks[at] + 1, low, high, missing, walk, top)


@compiled_part
def _part(splits: Splits, at: int, middle: int, low: int, high: int, missing: bool, walk: Walk, top: int) -> int:
    """Go on with the steps up to a threshold on the left and with those above it on the right."""
    for side in range(2):
        first, last = (low, min(high, middle)) if side == 0 else (max(low, middle), high)
        own = missing and splits.missing_left[at] == (side == 0)
        if first < last or own:
            walk.node[top], walk.low[top], walk.missing[top] = splits.child[at, side], first, own
            walk.high[top] = max(first, last)
            top += 1
    return top


@compiled
def _add_values(
    splits: Splits, value: Array, trees: Array, rows: Array, feature: int, values: Array, sums_out: Array
) -> None:
    """Do ``sums_out[k] += tree.predict(row with values[k])`` for every value, row and tree."""
    for tree in trees:
        for i in range(len(rows)):
            for k in range(len(values)):
                at = tree
                while at >= 0:
                    own = splits.feature[at]
                    x = values[k] if own == feature else rows[i, own]
                    at = np.int64(splits.child[at, 0 if goes_left(splits, at, x) else 1])
                sums_out[k] += value[~at]
