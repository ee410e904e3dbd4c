"""Newton's values of a tree's leaves, from sums over the rows that reach them, within monotone constraints.

A constrained split asks that no leaf on its lower side has a higher value than any leaf on its upper side; then no
score falls where the feature grows. Values are held to that as a tree's growth holds them: from the root down, the two
sides of a constrained split get bounds that meet midway of their own values -G/(H + λ), and the value of each leaf is
brought within its bounds. Leaves that nothing is known of keep the values they have, and bounds make room for these.
"""

from __future__ import annotations

import numpy as np

from podium._exact import DIGITS, rounded
from podium._exchange import Exchange
from podium._validation import Array
from podium.trees.regression_tree import RegressionTree


def room_for_sums(n_leaves: int) -> tuple[Array, Array]:
    """Allocate Σ gradient and Σ curvature of each leaf, as digits and rounded."""
    return np.empty((n_leaves, 2, DIGITS), np.int64), np.empty((n_leaves, 2))


def leaf_sums(digits: Array, exchange: Exchange) -> Array:
    """Return Σ gradient and Σ curvature over the rows of each leaf in all parts: float64[n_leaves, 2]."""
    return np.array(rounded(exchange.sum(digits).reshape(-1, DIGITS))).reshape(-1, 2)


def newton_values(
    tree: RegressionTree,
    gradient: Array,
    curvature: Array,
    reg_lambda: float,
    monotone: Array | None = None,
    factor: float = 1.0,
) -> Array:
    """Return ``-factor * G / (H + λ)`` of each leaf, within monotone constraints.

    Leaves without any gradient or curvature, such as those that no row reaches, keep their values. The values that they
    have must keep to the constraints.

    Parameters
    ----------
    tree : RegressionTree
    gradient, curvature : ndarray of float64
        Sums G and H over the rows of each leaf.
    reg_lambda : float
    monotone : ndarray of int, optional
        1, -1 or 0 for each feature.
    factor : float
        The learning rate, where the tree's values have been multiplied by it.
    """
    known = (curvature + reg_lambda > 0) & ((curvature > 0) | (gradient != 0))
    values: Array = np.divide(-factor * gradient, curvature + reg_lambda, out=tree.value.copy(), where=known)
    if monotone is None or not monotone.any():
        return values
    bounds = _leaf_bounds(
        tree, np.array([-factor * gradient, curvature, np.ones(len(known))]) * known, reg_lambda, monotone
    )
    return np.where(known, np.clip(values, *bounds), values)


def _leaf_bounds(tree: RegressionTree, sums: Array, reg_lambda: float, monotone: Array) -> Array:
    """Return the lowest and the highest value that each leaf may have: shape (2, n_leaves).

    Nodes are the splits, parents before children, then the leaves. `sums` are -factor * G and H of each leaf, and
    whether it is known.
    """
    n = len(tree.feature)
    left, right = (np.where(side >= 0, side, n + ~side) for side in (tree.left, tree.right))
    (gradient, curvature, known), lowest, highest = _sums_below(tree.value, sums, left, right)
    own = np.divide(gradient, curvature + reg_lambda, out=np.full(len(known), np.nan), where=known > 0)
    bounds = np.tile(np.array([[-np.inf], [np.inf]]), len(own))
    for i in range(n):
        bounds[:, left[i]] = bounds[:, right[i]] = bounds[:, i]
        direction = monotone[tree.feature[i]]
        if direction != 0:
            lower, upper = (left[i], right[i]) if direction > 0 else (right[i], left[i])
            middle = _middle(own[lower], own[upper], *bounds[:, i])
            bounds[1, lower] = bounds[0, upper] = min(max(middle, highest[lower]), lowest[upper])
    return bounds[:, n:]


def _sums_below(value: Array, sums: Array, left: Array, right: Array) -> tuple[Array, Array, Array]:
    """Return sums over the leaves below each node, and the lowest and highest value among those that are kept."""
    n, kept = len(left), sums[2] == 0
    totals = np.concatenate([np.zeros((3, n)), sums], axis=1)
    lowest = np.append(np.full(n, np.inf), np.where(kept, value, np.inf))
    highest = np.append(np.full(n, -np.inf), np.where(kept, value, -np.inf))
    for i in reversed(range(n)):
        totals[:, i] = totals[:, left[i]] + totals[:, right[i]]
        lowest[i] = min(lowest[left[i]], lowest[right[i]])
        highest[i] = max(highest[left[i]], highest[right[i]])
    return totals, lowest, highest


def _middle(lower: float, upper: float, least: float, most: float) -> float:
    """Return where the bounds of two sides meet: midway of their values; a side alone known (not NaN) has all room."""
    if np.isnan(lower):
        return least
    if np.isnan(upper):
        return most
    return (min(max(lower, least), most) + min(max(upper, least), most)) / 2
