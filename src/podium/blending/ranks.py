"""Rankers that vote by places alone, whatever the scale of their scores (Borda 1781)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from podium._validation import Array, check_queries
from podium.blending.combination import check_table


def blend_ranks(scores: Sequence[ArrayLike], *, qid: ArrayLike | None = None, group: ArrayLike | None = None) -> Array:
    """Return the mean, over rankers, of the share of a query's other rows that a ranker puts below the row.

    A tie counts half; the only row of a query gets 0. Nothing is learned, so that no labels are needed; and unlike in a
    sum of scores, a ranker with few extreme scores has no more say than another. The order of the rankers changes
    nothing. O(n log n) for each ranker.

    Parameters
    ----------
    scores : sequence of array-like
        Scores of at least two rankers for the same rows, one vector each.
    qid, group : array-like, optional
        Query of each row, or sizes of queries whose rows stand together; without them all rows are one query.

    Returns
    -------
    ndarray of float64
        From 0 to 1, in the caller's row order.

    Examples
    --------
    >>> from podium import blend_ranks
    >>> blend_ranks([[30, 10, 20], [0.2, 0.1, 0.1]], group=[3]).tolist()
    [1.0, 0.125, 0.375]
    """
    table = check_table(scores)
    codes, ids = check_queries(qid, group, table.shape[1])
    sizes = np.bincount(codes, minlength=len(ids))[codes]
    points = sum(_double_points(one, codes) for one in table)
    blended: Array = points / (2.0 * len(table) * np.maximum(sizes - 1, 1))
    return blended


def _double_points(scores: Array, codes: Array) -> Array:
    """Return twice the rows of the query that stand below each row, a tie being half a row: integers add up exactly."""
    order = np.lexsort((scores, codes))
    new_query = np.diff(codes[order], prepend=-1) != 0
    ordered = scores[order]
    new_block = new_query | np.append(True, ordered[1:] != ordered[:-1])  # infinite scores have no difference
    block = np.cumsum(new_block) - 1
    starts = np.flatnonzero(new_block)
    query_start = np.maximum.accumulate(np.where(new_query, np.arange(len(order)), 0))
    ends = np.append(starts[1:], len(order))
    points = np.empty(len(order), np.int64)
    points[order] = (starts + ends - 1)[block] - 2 * query_start
    return points
