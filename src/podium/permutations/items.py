"""Items that are ranked: their ids, integers or strings, and their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from os import PathLike
from reprlib import repr as short

import numpy as np

from podium._compiled import ROW
from podium._frames import to_array
from podium._validation import Array, FormatError, PodiumError, near_matches
from podium.model_file import Value

ItemId = int | str
"""What names an item."""


def check_ids(ids: object, name: str) -> Array:
    """Return ids as an array of int64 or of strings; all must be of one of the two kinds."""
    if isinstance(ids, list | tuple):
        _check_kinds(ids, name)
    array = np.asarray(ids) if isinstance(ids, list | tuple) else to_array(ids, name)
    if array.dtype.kind == "O":
        _check_kinds(array.ravel().tolist(), name)
        array = np.array(array.tolist())
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iuU"):
        raise PodiumError(
            f"{name} must be a list of item ids, integers or strings; got shape {array.shape}, {array.dtype}."
        )
    return array if array.dtype.kind == "U" else array.astype(ROW)


def number_items(named: Array, items: object) -> tuple[Array, Array]:
    """Return the ids of all items, sorted, and the number of each named one; `items` lists all that there are."""
    if items is None:
        found, numbers = np.unique(named, return_inverse=True)
    else:
        found = np.unique(check_ids(_listed(items), "items"))
        numbers = numbers_of(named, found)
    if len(found) < 2:
        raise PodiumError(f"A model of rankings needs at least two items; got {len(found)}.")
    return found, numbers.astype(ROW)


def numbers_of(named: Array, items: Array) -> Array:
    """Return the numbers of items that must be among those known, which are sorted."""
    if named.dtype.kind != items.dtype.kind and named.size:
        raise PodiumError(f"Items must be {_kind(items)}, as all others are; got {named[0].item()!r}.")
    places = np.minimum(np.searchsorted(items, named), len(items) - 1)
    unknown = np.flatnonzero(items[places] != named)
    if len(unknown):
        one = named[unknown[0]].item()
        raise PodiumError(f"Item {one!r} is not known{near_matches(one, map(str, items.tolist()))}.")
    return places


def _listed(items: object) -> object:
    """Return what may be a set as a list."""
    return list(items) if isinstance(items, set | frozenset) else items


def _check_kinds(ids: Sequence[object], name: str) -> None:
    """Refuse ids that are neither all integers nor all strings."""
    wrong = next((one for one in ids if isinstance(one, bool) or not isinstance(one, Integral | str)), None)
    if wrong is not None:
        raise PodiumError(f"{name} must hold item ids, integers or strings; got {short(wrong)}.")
    if len({isinstance(one, str) for one in ids}) > 1:
        raise PodiumError(f"{name} must hold item ids of one kind, integers or strings; got both.")


def _kind(items: Array) -> str:
    return "strings" if items.dtype.kind == "U" else "integers"


class Items:
    """The field of a model file that keeps item ids: an array of integers, or a list of strings, ascending."""

    name, attribute, optional = "items", "items_", False

    def write(self, value: Array) -> Value:
        """Return the ids as a file holds them."""
        return value if value.dtype.kind == "i" else [str(one) for one in value.tolist()]

    def read(self, value: object, path: str | PathLike[str], sizes: dict[str, int]) -> Array:
        """Return the ids of a file, checked; their number is the size of other fields."""
        try:
            ids = check_ids(value, "items")
        except PodiumError as error:
            raise FormatError(path, str(error).rstrip(".")) from None
        if len(ids) < 2 or np.any(ids[1:] <= ids[:-1]):
            raise FormatError(path, "items must be at least two ids that ascend")
        sizes["n_items"], sizes["last_item"] = len(ids), len(ids) - 1
        return ids
