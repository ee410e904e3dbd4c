"""Rankings of items as arrays: best first, tied items in one block, with a weight each, in an order of their own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from podium._compiled import ROW, SCORE
from podium._magnitudes import check_within
from podium._pair_gate import pair_columns
from podium._types import PairsLike
from podium._validation import Array, NoPairsError, PodiumError, check_weight
from podium.permutations.items import ItemId, check_ids, number_items

Blocks = tuple[tuple[int, ...], ...]
"""Numbers of items, best first; tied ones together, ascending."""


@dataclass(frozen=True, eq=False)
class Rankings:
    """Different rankings, each once, in an order that does not depend on the caller's.

    Attributes
    ----------
    items : ndarray
        Ids, ascending.
    entries : ndarray of int64
        Numbers of items: ranking after ranking, best first.
    blocks : ndarray of int64, one per block and one more
        Block b has the entries ``blocks[b]`` up to, not including, ``blocks[b + 1]``: tied items.
    starts : ndarray of int64, one per ranking and one more
        Ranking r has the blocks ``starts[r]`` up to, not including, ``starts[r + 1]``.
    weight : ndarray of float64, one per ranking
    unordered : ndarray of bool, one per block
        Whether the block holds the items that the ranking puts below all others, in an order that is not known.
    """

    items: Array
    entries: Array
    blocks: Array
    starts: Array
    weight: Array
    unordered: Array

    @property
    def block_sizes(self) -> Array:
        """Items of each block."""
        return np.diff(self.blocks)

    @property
    def ranking_of_block(self) -> Array:
        """Number of each block's ranking."""
        return np.repeat(np.arange(len(self.weight)), np.diff(self.starts))

    def with_rest_below(self) -> Rankings:
        """Return the rankings with all items that one does not name as its last block, unordered."""
        n_items = len(self.items)
        lists = [_complete(one, n_items) for one in self._lists()]
        flat = _flat(lists)
        unordered = np.zeros(len(flat[1]) - 1, bool)
        lengths = np.diff(self.starts)
        grown = np.diff(flat[2]) > lengths
        unordered[flat[2][1:][grown] - 1] = True
        return replace(self, entries=flat[0], blocks=flat[1], starts=flat[2], unordered=unordered)

    def _lists(self) -> Iterable[Blocks]:
        """Yield each ranking as blocks of numbers."""
        entries, blocks = self.entries.tolist(), self.blocks.tolist()
        for first, last in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True):
            yield tuple(tuple(entries[blocks[b] : blocks[b + 1]]) for b in range(first, last))


def read_rankings(
    rankings: Iterable[object] | None, pairs: PairsLike | None, weights: ArrayLike | None, items: object
) -> Rankings:
    """Return rankings and pairs of ids as `Rankings`; equal ones become one, with the sum of their weights."""
    if rankings is None and pairs is None:
        raise NoPairsError("Give rankings, or pairs=(better, worse): there is nothing to learn from.")
    if weights is not None and rankings is None:
        raise PodiumError("weights weigh rankings; weights of pairs are their third part: (better, worse, weight).")
    listed = [] if rankings is None else [_blocks_of(one, number) for number, one in enumerate(rankings)]
    weight = check_weight(weights, len(listed), "weights") if listed else np.empty(0)
    named = [one for ranking in listed for block in ranking for one in block]
    own, (better, worse, count) = check_ids(named, "rankings"), _read_pairs(pairs)
    known, numbers = number_items(_joined(own, better, worse), items)
    own_numbers, pair_numbers = numbers[: len(own)], numbers[len(own) :].reshape(2, -1)
    for given in (weight, count):
        check_within(given, "Weights", "sums of them that are finite")
    summed = _sum_rankings(listed, own_numbers.tolist(), weight.tolist())
    return _rankings_of({one: math.fsum(each) for one, each in summed.items()}, pair_numbers, count, known)


def blocks_of_ids(ranking: object) -> list[list[ItemId]]:
    """Return one ranking as blocks of ids."""
    return _blocks_of(ranking, 0)


def _blocks_of(ranking: object, number: int) -> list[list[ItemId]]:
    """Return blocks of ids; a list, tuple or set inside a ranking is a block of tied items."""
    if isinstance(ranking, str) or not isinstance(ranking, Sequence | np.ndarray):
        raise PodiumError(f"Ranking {number} must be a list of item ids, best first; got {type(ranking).__name__}.")
    listed = ranking.tolist() if isinstance(ranking, np.ndarray) else ranking
    blocks = [list(one) if isinstance(one, list | tuple | set | frozenset) else [one] for one in listed]
    named = [one for block in blocks for one in block]
    check_ids(named, f"Ranking {number}")
    if len(set(named)) < len(named):
        twice = next(one for place, one in enumerate(named) if one in named[:place])
        raise PodiumError(f"Ranking {number} names item {twice!r} more than once.")
    if not named or not all(blocks):
        raise PodiumError(f"Ranking {number} must name items; it, or a block of ties in it, is empty.")
    return blocks


def _read_pairs(pairs: PairsLike | None) -> tuple[Array, Array, Array]:
    """Return the ids of better and of worse items, and weights."""
    if pairs is None:
        return np.empty(0, ROW), np.empty(0, ROW), np.empty(0)
    given = pair_columns(pairs)
    better, worse = (check_ids(column, name) for column, name in ((given.better, "better"), (given.worse, "worse")))
    if len(better) != len(worse) or not len(better):
        raise PodiumError(f"pairs must name as many better as worse items; got {len(better)} and {len(worse)}.")
    same = np.flatnonzero(better == worse) if better.dtype.kind == worse.dtype.kind else np.empty(0, ROW)
    if len(same):
        raise PodiumError(f"An item cannot stand above itself: pair {same[0]} names {better[same[0]].item()!r} twice.")
    return better, worse, check_weight(given.weight, len(better), "The weight of pairs")


def _joined(*ids: Array) -> Array:
    """Return ids one after the other, which must be of one kind."""
    given = [one for one in ids if len(one)]
    if len({one.dtype.kind for one in given}) > 1:
        raise PodiumError("Item ids must be of one kind, integers or strings; got both.")
    return np.concatenate(given) if given else np.empty(0, ROW)


def _sum_rankings(
    listed: list[list[list[ItemId]]], numbers: list[int], weight: list[float]
) -> dict[Blocks, list[float]]:
    """Return the weights of each different ranking, blocks as numbers; those of weight 0 are left out."""
    summed: dict[Blocks, list[float]] = {}
    place = 0
    for ranking, amount in zip(listed, weight, strict=True):
        blocks = []
        for block in ranking:
            blocks.append(tuple(sorted(numbers[place : place + len(block)])))
            place += len(block)
        if amount > 0:
            summed.setdefault(tuple(blocks), []).append(amount)
    return summed


def _sum_pairs(numbers: Array, weight: Array, n_items: int) -> tuple[Array, Array]:
    """Return each different pair of numbers, better and worse in turn, and the sum of its weights."""
    code = (numbers[0] * n_items + numbers[1])[weight > 0]
    amount = weight[weight > 0]
    order = np.lexsort((amount, code))
    different, first = np.unique(code[order], return_index=True)
    sums = np.add.reduceat(amount[order], first) if len(first) else amount
    return np.stack([different // n_items, different % n_items], axis=1).ravel(), sums


def _rankings_of(weights: dict[Blocks, float], pairs: Array, count: Array, items: Array) -> Rankings:
    """Return the arrays of different rankings, sorted, and behind them those of pairs."""
    ordered = sorted(weights)
    entries, blocks, starts = _flat(ordered)
    pair_entries, pair_weight = _sum_pairs(pairs, count, len(items))
    weight = np.concatenate([np.array([weights[one] for one in ordered], SCORE), pair_weight])
    blocks = np.concatenate([blocks, blocks[-1] + 1 + np.arange(len(pair_entries))]).astype(ROW)
    starts = np.concatenate([starts, starts[-1] + 2 + 2 * np.arange(len(pair_weight))]).astype(ROW)
    entries = np.concatenate([entries, pair_entries]).astype(ROW)
    return Rankings(items, entries, blocks, starts, weight, np.zeros(len(blocks) - 1, bool))


def _flat(lists: Sequence[Blocks]) -> tuple[Array, Array, Array]:
    """Return entries, offsets of blocks and offsets of rankings."""
    entries = [one for ranking in lists for block in ranking for one in block]
    sizes = [len(block) for ranking in lists for block in ranking]
    return np.array(entries, ROW), _offsets(sizes), _offsets([len(ranking) for ranking in lists])


def _offsets(sizes: list[int]) -> Array:
    return np.concatenate([[0], np.cumsum(sizes, dtype=ROW)]).astype(ROW)


def _complete(ranking: Blocks, n_items: int) -> Blocks:
    """Return a ranking with the items that it lacks as a last block."""
    named = {one for block in ranking for one in block}
    rest = tuple(one for one in range(n_items) if one not in named)
    return (*ranking, rest) if rest else ranking
