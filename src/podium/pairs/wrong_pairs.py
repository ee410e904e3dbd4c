"""Weight of the pairs of graded feedback that scores order wrongly: O(n log levels), no pair is written down.

"RB" is Freund, Iyer, Schapire and Singer (2003): the ranking loss of RB Eq. (1), in which a tie is an error.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import SCORE, compiled, compiled_part
from podium._validation import Array
from podium.pairs.factors import LevelOrder


def wrong_weights(order: LevelOrder, scores: Array) -> Array:
    """Return, for each query, the weight of its pairs whose low row scores at least as high as the high one.

    Parameters
    ----------
    order : LevelOrder
        The pairs and their weights, to be multiplied by ``exp(order.log_weight)``.
    scores : ndarray of float64
        One for each position.
    """
    sequence = np.lexsort((-scores, np.repeat(order.queries, np.diff(order.start))))
    wrong = np.zeros(len(order.queries), SCORE)
    _sum_wrong(order.start, order.level, order.label, order.weight, scores, sequence, wrong)
    return wrong


@compiled
def _sum_wrong(
    start: Array, level: Array, label: Array, weight: Array, scores: Array, sequence: Array, wrong_out: Array
) -> None:
    """Meet the rows of each query from the highest score down, and add each row's pairs with lower levels met so far.

    Slow line: ``wrong[q] = sum(weight[i] * weight[j] for pairs (i, j) if scores[i] >= scores[j])``, each term times
    the difference of the labels where there are any.
    """
    for q in range(len(start) - 1):
        tree = np.zeros((level[start[q + 1] - 1] + 2, 2))
        top = np.zeros(len(tree))
        for k in range(start[q], start[q + 1] if len(label) > 0 else start[q]):
            top[level[k] + 1] = label[k]
        k = start[q]
        while k < start[q + 1]:
            end = k
            while end < start[q + 1] and (end == k or scores[sequence[end]] == scores[sequence[k]]):
                i = sequence[end]
                _add_to_tree(tree, top, level[i], weight[i], label[i] if len(label) > 0 else 0.0)
                end += 1
            for i in sequence[k:end]:
                gap = label[i] if len(label) > 0 else 0.0
                wrong_out[q] += weight[i] * _sum_below(tree, top, level[i], gap, len(label) > 0)
            k = end


@compiled_part
def _add_to_tree(tree_out: Array, top: Array, level: int, weight: float, label: float) -> None:
    """Add a row to the nodes of a Fenwick tree over the levels: its weight, and that times its gap to the node's top.

    Node v holds the levels up to v - 1, whose label is ``top[v]``: gaps are never negative, nor is any sum.
    """
    v = level + 1
    while v < len(tree_out):
        tree_out[v, 0] += weight
        tree_out[v, 1] += weight * (top[v] - label)
        v += v & -v


@compiled_part
def _sum_below(tree: Array, top: Array, level: int, label: float, by_difference: bool) -> float:
    """Sum the weights of the rows below a level, each times the difference to `label` if asked for."""
    total, v = 0.0, level
    while v > 0:
        total += tree[v, 1] + (label - top[v]) * tree[v, 0] if by_difference else tree[v, 0]
        v -= v & -v
    return total
