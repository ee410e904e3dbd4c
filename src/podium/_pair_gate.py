"""The gate for explicit pairs: columns, lists or frames of them, by row numbers or by the ids of items."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from podium._frames import frame_names, is_frame, to_array
from podium._types import Array, Frame, PairsLike
from podium._validation import NoPairsError, PodiumError, is_null, near_matches, to_floats

COLUMNS = ("better", "worse", "weight")
"""The columns of a frame of pairs; where it names neither of the first two, they are taken by position."""
MOST_COMPARED_IDS = 20_000
"""Ids among which near matches of an unknown one are looked for: one tenth of a second."""


class PairArrays(NamedTuple):
    """Explicit pairs as three arrays of one length: better rows, worse rows, positive weights."""

    better: Array
    worse: Array
    weight: Array


def check_pairs(pairs: PairsLike, n_rows: int, items: ArrayLike | None = None) -> PairArrays:
    """Return explicit pairs as row numbers and positive weights.

    Parameters
    ----------
    pairs : tuple, list or frame
        A tuple (better, worse) or (better, worse, weight) of arrays; a list of tuples, one a pair; or a pandas or
        polars frame or pyarrow table with the columns better, worse and weight, or two or three in this order.
    n_rows : int
    items : array-like, optional
        Id of each row of X, by which pairs then name rows; without it they name row numbers, counted from 0.
    """
    given = pair_columns(pairs)
    if items is None:
        better, worse = (
            _check_row_numbers(column, n_rows, name) for column, name in zip(given[:2], COLUMNS[:2], strict=True)
        )
    else:
        known = _rows_of_items(items, n_rows)
        better, worse = (_rows_by_id(column, known, name) for column, name in zip(given[:2], COLUMNS[:2], strict=True))
    if len(better) != len(worse):
        raise PodiumError(f"pairs must name as many better as worse rows; got {len(better)} and {len(worse)}.")
    if len(better) == 0:
        raise NoPairsError("pairs is empty; leave it out where labels say what stands above what.")
    same = np.flatnonzero(better == worse)
    if len(same):
        raise PodiumError(f"A row cannot stand above itself: pair {same[0]} names row {better[same[0]]} twice.")
    weight = np.ones(len(better)) if given.weight is None else given.weight
    return PairArrays(better, worse, _check_pair_weight(weight, len(better)))


class GivenColumns(NamedTuple):
    """The columns of pairs, not yet checked."""

    better: object
    worse: object
    weight: ArrayLike | None = None


def pair_columns(pairs: PairsLike) -> GivenColumns:
    """Return the columns of pairs in any form."""
    if is_frame(pairs, "pairs"):
        return _columns_of_frame(pairs)
    if isinstance(pairs, tuple) and len(pairs) in (2, 3):
        return GivenColumns(*pairs)
    if isinstance(pairs, list) and all(isinstance(one, tuple) for one in pairs):
        return _columns_of_list(pairs)
    raise PodiumError(
        "pairs must be a tuple (better, worse) or (better, worse, weight) of arrays, a frame of these columns, or a "
        f"list of tuples, one a pair; got {_named(pairs)}."
    )


def _columns_of_list(pairs: list[tuple[object, ...]]) -> GivenColumns:
    """Return the columns of a list of tuples."""
    sizes = sorted({len(one) for one in pairs})
    if not sizes:
        return GivenColumns([], [])
    if sizes not in ([2], [3]):
        raise PodiumError(
            "pairs, as a list, must hold tuples (better, worse) or tuples (better, worse, weight), all of one length; "
            f"got tuples of {' and '.join(map(str, sizes))}."
        )
    return GivenColumns(*(list(column) for column in zip(*pairs, strict=True)))


def _columns_of_frame(frame: Frame) -> GivenColumns:
    """Return the columns of a frame: those named better, worse and weight, or by position where no name says so."""
    names = frame_names(frame, "pairs")
    if not any(name in names for name in COLUMNS[:2]) and len(names) in (2, 3):
        return GivenColumns(*(frame[name] for name in names))
    lacking = [name for name in COLUMNS[:2] if name not in names]
    if lacking:
        listed, near = ", ".join(map(str, names[:10])), near_matches(lacking[0], map(str, names))
        raise PodiumError(
            "pairs, as a frame, must have the columns better and worse, and weight where pairs have weights, or two or "
            f"three columns in this order; {lacking[0]} is not among {listed}{near}."
        )
    return GivenColumns(*(frame[name] for name in COLUMNS if name in names))


def _named(pairs: object) -> str:
    """Say what was given in the place of pairs."""
    return f"a tuple of {len(pairs)}" if isinstance(pairs, tuple) else f"a {type(pairs).__name__}"


def _check_row_numbers(rows: object, n_rows: int, name: str) -> Array:
    """Return row numbers as int64, all in range."""
    numbers = to_array(rows, f"The {name} rows of pairs")
    if numbers.size == 0:
        return np.empty(0, np.int64)
    if numbers.ndim != 1 or not np.issubdtype(numbers.dtype, np.integer):
        advice = "" if numbers.dtype.kind not in "OUS" else "; to name rows by ids, give the id of each row as items"
        raise PodiumError(f"pairs must hold row numbers; {name} has dtype {numbers.dtype}{advice}.")
    bad = np.flatnonzero((numbers < 0) | (numbers >= n_rows))
    if len(bad):
        raise PodiumError(f"pairs must name rows 0 to {n_rows - 1} of X; {name}[{bad[0]}] is row {numbers[bad[0]]}.")
    return np.ascontiguousarray(numbers, np.int64)


def _rows_of_items(items: ArrayLike, n_rows: int) -> dict[object, int]:
    """Return the row of each item."""
    ids = _listed(items, "items")
    if len(ids) != n_rows:
        raise PodiumError(f"items must have one id per row of X: {n_rows} expected, {len(ids)} given.")
    rows: dict[object, int] = {}
    for row, one in enumerate(ids):
        if not _is_fixed(one) or is_null(one):
            raise PodiumError(f"items must hold numbers, strings or other fixed ids; row {row} has {one!r}.")
        if rows.setdefault(one, row) != row:
            raise PodiumError(f"items must differ from each other; rows {rows[one]} and {row} both are {one!r}.")
    return rows


def _rows_by_id(column: object, known: dict[object, int], name: str) -> Array:
    """Return the row that each id of a column names."""
    ids = _listed(column, f"The {name} items of pairs")
    bad = next((place for place, one in enumerate(ids) if not _is_fixed(one) or one not in known), None)
    if bad is not None:
        raise PodiumError(_unknown(ids[bad], f"{name}[{bad}]", known))
    return np.array([known[one] for one in ids], np.int64)


def _listed(ids: object, name: str) -> list[Hashable]:
    """Return ids as a list; each entry of a list is an id as it stands, be it a tuple."""
    listed = ids if isinstance(ids, list) else to_array(ids, name).tolist()
    if not isinstance(listed, list):
        raise PodiumError(f"{name} must be a list; got {ids!r}.")
    return listed


def _unknown(one: object, place: str, known: dict[object, int]) -> str:
    """Say that an id is none of the items, with the near ones."""
    start = f"pairs must name items; {place} is {one!r}, which is none of the {len(known)} in items"
    alike = next((item for item in known if str(item) == str(one)), None)
    if alike is not None:
        return f"{start}: {alike!r} is, a {type(alike).__name__} where the pair has a {type(one).__name__}."
    return f"{start}{near_matches(one, map(str, known) if len(known) <= MOST_COMPARED_IDS else ())}."


def _is_fixed(one: object) -> bool:
    """Say whether a value can be looked up."""
    try:
        hash(one)
    except TypeError:
        return False
    return True


def _check_pair_weight(weight: object, n_pairs: int) -> Array:
    """Return pair weights as float64, all positive and finite."""
    values = to_floats(to_array(weight, "The weight of pairs"), "The weight of pairs")
    if values.shape != (n_pairs,):
        raise PodiumError(f"pairs must have one weight each: {n_pairs} expected, {values.size} given.")
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if len(bad):
        raise PodiumError(
            f"The weight of a pair must be positive and finite; pair {bad[0]} has {values[bad[0]]}: "
            "to prefer the other row, swap the two."
        )
    return np.ascontiguousarray(values, np.float64)
