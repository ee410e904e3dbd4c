"""Trees from the arrays of other programs: checked, in our order, with thresholds that say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from podium._compiled import ROW, SCORE
from podium._validation import Array, FormatError
from podium.data import MAX_CATEGORIES
from podium.trees import WORDS_PER_SET, RegressionTree, rounded_down


class Splits(NamedTuple):
    """The splits of a tree, in any order, the root first.

    Attributes
    ----------
    feature : ndarray
    threshold : ndarray of float64
    missing_left : ndarray of bool
    left, right : list of int
        Children: a split if not negative, else leaf ``~child``.
    gain : ndarray of float64 or None
    sets : dict of int to ndarray of uint32
        The words of the set of codes that goes left, of each split by one; its threshold is NaN.
    """

    feature: Array
    threshold: Array
    missing_left: Array
    left: list[int]
    right: list[int]
    gain: Array | None = None
    sets: Mapping[int, Array] = MappingProxyType({})


def make_tree(
    splits: Splits,
    value: Array,
    count: Array | None,
    path: str | PathLike[str],
    place: str,
    cover: Array | None = None,
) -> RegressionTree:
    """Return a tree with splits before their children and leaves from left to right.

    Parameters
    ----------
    splits : Splits
    value : ndarray of float64
        Of each leaf.
    count : ndarray or None
        Training rows of each leaf; 0 where the file does not say.
    path, place
        What an error names.
    cover : ndarray of float64, optional
        What each leaf weighs, where that is not its number of training rows.
    """
    split_order, leaf_order, left, right = _walk(splits.left, splits.right, len(value), path, place)
    by_set = np.isin(np.arange(len(splits.feature)), list(splits.sets))
    if not np.isfinite(value).all() or np.isnan(splits.threshold[~by_set]).any():
        raise FormatError(path, f"{place}: every split needs a threshold and every leaf a finite value")
    gain = np.zeros(len(splits.feature)) if splits.gain is None else splits.gain
    count = np.zeros(len(value)) if count is None else count
    if cover is not None and not (np.isfinite(cover) & (cover >= 0)).all():
        raise FormatError(path, f"{place}: the sums of curvatures of leaves must be finite and not negative")
    own = by_set[split_order]
    sets = [splits.sets[split] for split in split_order[own].tolist()]
    return RegressionTree(
        feature=splits.feature[split_order].astype(np.int32), threshold=splits.threshold[split_order].astype(SCORE),
        missing_left=splits.missing_left[split_order].astype(np.bool_), left=left, right=right,
        value=value[leaf_order].astype(SCORE), gain=gain[split_order].astype(SCORE),
        count=count[leaf_order].astype(ROW), cut=np.full(len(split_order), -1, np.int32),
        set_of=np.where(own, np.cumsum(own) - 1, -1).astype(np.int32),
        sets=np.array(sets, np.uint32).reshape(-1, WORDS_PER_SET),
        cover=np.empty(0, SCORE) if cover is None else cover[leaf_order].astype(SCORE),
    )  # fmt: skip


def _walk(
    left: Sequence[int], right: Sequence[int], n_leaves: int, path: str | PathLike[str], place: str
) -> tuple[Array, Array, Array, Array]:
    """Return the splits and the leaves from left to right as they are met, and the children by their new numbers.

    A circle, or a node below two others, is met a second time and so refused after a walk of at most as many
    steps as there are nodes; nodes that do not hang below the root are left out.
    """
    n_splits = len(left)
    splits: list[int] = []
    leaves: list[int] = []
    new_left, new_right = [0] * n_splits, [0] * n_splits
    to_visit = [(0 if n_splits else -1, new_left, -1)]
    while to_visit and len(splits) <= n_splits:
        node, side, parent = to_visit.pop()
        if not -n_leaves <= node < n_splits:
            raise FormatError(path, f"{place}: a split has a child that is not there")
        if node < 0:
            own = ~len(leaves)
            leaves.append(~node)
        else:
            own = len(splits)
            splits.append(node)
            to_visit.append((right[node], new_right, own))
            to_visit.append((left[node], new_left, own))
        if parent >= 0:
            side[parent] = own
    if len(set(splits)) < len(splits) or len(set(leaves)) < len(leaves):
        raise FormatError(path, f"{place}: the splits do not form a tree")
    kept = len(splits)
    return np.array(splits, ROW), np.array(leaves, ROW), _children(new_left[:kept]), _children(new_right[:kept])


def _children(numbers: list[int]) -> Array:
    """Return children as a tree holds them."""
    return np.array(numbers, np.int32)


def below_as_float32(conditions: Array) -> Array:
    """Return t so that ``x <= t`` says of any float64 x what ``float32(x) < condition`` says of it.

    Rounding keeps the order, so the x that round below a float32 are those below the middle between it and the
    float32 before it, or up to that middle where the rule of the even bit rounds it down. The middle of two
    neighbours is a float64.
    """
    above, edge = conditions.astype(np.float32), 2.0**128
    with np.errstate(over="ignore"):
        before = np.nextafter(above, np.float32(-np.inf))
        middle = (np.clip(before.astype(SCORE), -edge, edge) + np.clip(above.astype(SCORE), -edge, edge)) / 2
        falls_below = middle.astype(np.float32) < above
    return np.where(falls_below, middle, np.nextafter(middle, -np.inf))


def at_most_as_float32(thresholds: Array) -> Array:
    """Return t so that ``x <= t`` says of any float64 x what ``float32(x) <= threshold`` says of it."""
    highest = rounded_down(thresholds).astype(np.float32)
    with np.errstate(over="ignore"):
        return below_as_float32(np.nextafter(highest, np.float32(np.inf)))


def to_numbers(values: Any, n_values: int, path: str | PathLike[str], place: str) -> Array:
    """Return a list of numbers, or of their texts, as float64."""
    try:
        numbers = values if isinstance(values, np.ndarray) else list(map(float, values))
        numbers = np.array(numbers, SCORE)
    except (TypeError, ValueError, OverflowError):
        raise FormatError(path, f"{place} must be numbers") from None
    if len(numbers) != n_values:
        raise FormatError(path, f"{place} must be {n_values} numbers; got {len(numbers)}")
    return numbers


def to_whole_numbers(values: Any, n_values: int, least: int, most: int, path: str | PathLike[str], place: str) -> Array:
    """Return a list of integers within bounds, or of their texts, as int64."""
    numbers = to_numbers(values, n_values, path, place)
    if not ((numbers >= least) & (numbers <= most) & (np.floor(numbers) == numbers)).all():
        raise FormatError(path, f"{place} must be integers from {least} to {most}")
    return numbers.astype(ROW)


def to_whole_number(value: Any, least: int, most: int, path: str | PathLike[str], place: str) -> int:
    """Return an integer within bounds."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = least - 1
    if not least <= number <= most:
        raise FormatError(path, f"{place} must be an integer from {least} to {most}; got {str(value)[:40]!r}")
    return number


def code_set(codes: Array, path: str | PathLike[str], place: str) -> Array:
    """Return the words of a set of codes, integers from 0."""
    if codes.max(initial=0) >= MAX_CATEGORIES:
        most = f"at most {MAX_CATEGORIES}, from 0 to {MAX_CATEGORIES - 1}, can be read"
        raise FormatError(path, f"{place}: a split names category {codes.max()}, but {most}")
    bits = np.zeros(32 * WORDS_PER_SET, np.bool_)
    bits[codes] = True
    return np.packbits(bits, bitorder="little").view("<u4").astype(np.uint32)
