"""Explicit pairs of rows that lie in blocks: each pair goes with its better row, and must lie within one query."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from podium._pair_gate import PairArrays
from podium._validation import Array, PodiumError

__all__ = ["PairArrays", "joined_pairs", "pairs_of_blocks", "renumbered", "take_pairs"]


def take_pairs(pairs: PairArrays, chosen: Array) -> PairArrays:
    """Return some of the pairs."""
    return PairArrays(*(column[chosen] for column in pairs))


def joined_pairs(pieces: Sequence[PairArrays | None]) -> PairArrays | None:
    """Return the pairs of several blocks; None where none was given."""
    given = [piece for piece in pieces if piece is not None]
    return PairArrays(*(np.concatenate(columns) for columns in zip(*given, strict=True))) if given else None


def pairs_of_blocks(pairs: PairArrays, offsets: Array) -> list[PairArrays]:
    """Return the pairs of each block's better rows, rows still numbered through all blocks.

    Parameters
    ----------
    pairs : PairArrays
    offsets : ndarray of int64
        Block i has the rows ``offsets[i]`` up to, not including, ``offsets[i + 1]``.
    """
    order = np.argsort(pairs.better, kind="stable")
    bounds = np.searchsorted(pairs.better[order], offsets)
    return [take_pairs(pairs, order[start:stop]) for start, stop in pairwise(bounds.tolist())]


def renumbered(pairs: PairArrays, row: Array, qid: Array) -> PairArrays:
    """Return pairs by their places in a part.

    Parameters
    ----------
    pairs : PairArrays
        By the numbers of rows among all.
    row, qid : ndarray
        Number among all and query of each row of the part.
    """
    order = np.argsort(row)
    better, worse = (_places(column, row, order) for column in (pairs.better, pairs.worse))
    apart = np.flatnonzero((worse < 0) | (qid[better] != qid[worse]))
    if len(apart):
        first = apart[0]
        raise PodiumError(
            f"Pairs must lie within queries to be fitted on Dask; row {pairs.better[first]} above row "
            f"{pairs.worse[first]} joins two."
        )
    return PairArrays(better, worse, pairs.weight)


def _places(numbers: Array, row: Array, order: Array) -> Array:
    """Return where rows of such numbers stand; -1 for those that lie in other parts."""
    found = np.minimum(np.searchsorted(row, numbers, sorter=order), len(row) - 1)
    places = order[found]
    return np.where(row[places] == numbers, places, -1)
