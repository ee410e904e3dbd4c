"""Any feedback as one list of pairs, for what does not factor: O(m) memory, stated and limited beforehand.

Freund, Iyer, Schapire and Singer (2003), "RB", keep no pairs for two grades, because their loss of a pair is a
product of two rows' factors. The tie weight of RankBoost+ is not, so its pairs must be listed.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import ROW, SCORE, compiled
from podium._validation import Array, NoPairsError, PodiumError
from podium.data import Feedback, Graded, Pairs
from podium.pairs import LevelOrder, PairOrder

BYTES_PER_PAIR = 36
"""At most, while a list is sorted: two row numbers and a weight before, a row number and a weight after."""


def materialize_pairs(feedback: Feedback, n_rows: int, max_pairs: int | None = None) -> PairOrder:
    """Return all pairs of a feedback, sorted by their better row.

    Parameters
    ----------
    feedback : Graded, Pairs or FeedbackSum
    n_rows : int
    max_pairs : int, optional
        Refuse to list more.
    """
    if max_pairs is not None and feedback.n_pairs > max_pairs:
        raise PodiumError(_too_many(feedback.n_pairs, max_pairs))
    lists = [_graded_list(part) if isinstance(part, Graded) else _explicit_list(part) for part in feedback.parts]
    top = max(log_weight for _, log_weight in lists)
    if top == -np.inf:
        raise NoPairsError("There is nothing to rank: no pair of the feedback has a positive weight.")
    for pairs, log_weight in lists:
        pairs.weight[:] *= np.exp(log_weight - top)
    better, worse, weight = ([getattr(pairs, name) for pairs, _ in lists] for name in ("better", "worse", "weight"))
    if len(lists) == 1:
        return PairOrder.of(lists[0][0], n_rows)
    return PairOrder.of(Pairs(np.concatenate(better), np.concatenate(worse), np.concatenate(weight)), n_rows)


def _too_many(n_pairs: int, max_pairs: int) -> str:
    """Say how many pairs there are, what they need, and what allows it."""
    return (
        f"There are {n_pairs:,} pairs, which need about {_memory(n_pairs * BYTES_PER_PAIR)} of memory, more than the "
        f"{max_pairs:,} that max_pairs allows; raise max_pairs, or take RankBoost, which lists no pairs of labels."
    )


def _memory(n_bytes: int) -> str:
    """Return a number of bytes in megabytes or gigabytes."""
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{max(n_bytes, 1e5) / 1e6:.1f} MB"


def _explicit_list(pairs: Pairs) -> tuple[Pairs, float]:
    """Return pairs with weights relative to the heaviest, and the logarithm of that."""
    heaviest = float(pairs.weight.max(initial=0.0))
    if heaviest == 0.0:
        return Pairs(pairs.better, pairs.worse, np.zeros_like(pairs.weight)), -np.inf
    return Pairs(pairs.better, pairs.worse, pairs.weight / heaviest), float(np.log(heaviest))


def _graded_list(graded: Graded) -> tuple[Pairs, float]:
    """Return the pairs of rows of a query whose labels differ, and the logarithm of what their weights leave out."""
    order = LevelOrder.of(graded)
    below = np.empty(len(order.row), ROW)
    _count_below(order.start, order.level, below)
    n_pairs = int(below.sum())
    better, worse, weight = np.empty(n_pairs, ROW), np.empty(n_pairs, ROW), np.empty(n_pairs, SCORE)
    top = float(order.log_weight.max(initial=-np.inf))
    rows = (order.start, order.row, order.weight, order.label)
    _list_pairs(*rows, np.exp(order.log_weight - top), below, better, worse, weight)
    return Pairs(better, worse, weight), top


@compiled
def _count_below(start: Array, level: Array, below_out: Array) -> None:
    """Count, for each position, the positions of its query on lower levels; levels ascend within a query."""
    for q in range(len(start) - 1):
        count = 0
        for k in range(start[q], start[q + 1]):
            if k > start[q] and level[k] != level[k - 1]:
                count = k - start[q]
            below_out[k] = count


@compiled
def _list_pairs(
    start: Array,
    row: Array,
    row_weight: Array,
    label: Array,
    query_weight: Array,
    below: Array,
    better_out: Array,
    worse_out: Array,
    weight_out: Array,
) -> None:
    """Write each row with every row on a lower level of its query, and the product of their weights.

    Times the difference of their labels where there are any.
    """
    place = 0
    for q in range(len(start) - 1):
        for k in range(start[q], start[q + 1]):
            for j in range(start[q], start[q] + below[k]):
                better_out[place] = row[k]
                worse_out[place] = row[j]
                gap = label[k] - label[j] if len(label) > 0 else 1.0
                weight_out[place] = query_weight[q] * row_weight[k] * row_weight[j] * gap
                place += 1
