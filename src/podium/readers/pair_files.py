"""Files of pairs of items: CSV and Parquet with columns better, worse and weight, or lines of winner and loser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from podium._pair_gate import COLUMNS, PairArrays
from podium._validation import FormatError, near_matches
from podium.readers.line_blocks import PathLike
from podium.readers.side_files import read_pairs
from podium.readers.spans import read_columns
from podium.readers.tables import read_named_columns, table_columns

if TYPE_CHECKING:
    from pyarrow import Table


def read_item_pairs(path: PathLike, *, ids: bool = True) -> PairArrays:
    """Read pairs of items, named by ids or by row numbers.

    Parameters
    ----------
    path : str or path-like
        A CSV or Parquet file, by its ending, with the columns better and worse, and weight where pairs have weights,
        or with two or three columns in this order; any other file holds lines of ``winner loser [weight]``.
    ids : bool
        Whether items are named by ids, which are read as text; otherwise by row numbers from 0.

    Returns
    -------
    PairArrays
        `better`, `worse` and `weight`, which is 1 where the file has none.

    Raises
    ------
    FormatError
        If columns are not there, an id is empty, or a weight or row number is no number.
    """
    kind = _kind(path)
    if kind is None:
        return _read_lines(path) if ids else read_pairs(path)
    names = _chosen(path, table_columns(path, kind))
    table = read_named_columns(path, kind, texts=names[:2], numbers=names[2:])
    better, worse = (_ids(path, table, name) for name in names[:2])
    weight = _weights(path, table, names[2]) if len(names) == 3 else np.ones(len(better))
    if not ids:
        better, worse = (_row_numbers(path, column, name) for column, name in zip((better, worse), names, strict=False))
    return PairArrays(better, worse, weight)


def _kind(path: PathLike) -> str | None:
    """Return csv or parquet by the file's ending, None for lines."""
    endings = [ending.lower() for ending in Path(path).suffixes]
    return next((kind for kind in ("csv", "parquet") if f".{kind}" in endings[-2:]), None)


def _chosen(path: PathLike, names: list[str]) -> list[str]:
    """Return the columns of better, worse and, if there is one, weight: by name, or by position."""
    lacking = [name for name in COLUMNS[:2] if name not in names]
    if len(lacking) == 2 and len(names) in (2, 3):
        return names
    if lacking:
        listed = ", ".join(names[:10])
        problem = f"there is no column {lacking[0]!r}{near_matches(lacking[0], names)} among {listed}"
        raise FormatError(path, f"{problem}; pairs need the columns better and worse, and may have weight")
    return [name for name in COLUMNS if name in names]


def _ids(path: PathLike, table: Table, name: str) -> np.ndarray:
    """Return one column as text, no cell of which may be empty."""
    texts = table.column(name).to_pylist()
    empty = next((row for row, text in enumerate(texts) if not text), None)
    if empty is not None:
        raise FormatError(path, f"column {name!r} must name an item in every row, but row {empty + 1} has none")
    return np.array(texts, np.str_)


def _weights(path: PathLike, table: Table, name: str) -> np.ndarray:
    """Return one column as weights above 0."""
    weight = np.array([np.nan if one is None else one for one in table.column(name).to_pylist()], float)
    bad = np.flatnonzero(~((weight > 0) & np.isfinite(weight)))
    if len(bad):
        raise FormatError(path, f"the weight in row {bad[0] + 1} must be positive and finite; got {weight[bad[0]]}")
    return weight


def _row_numbers(path: PathLike, texts: np.ndarray, name: str) -> np.ndarray:
    """Return text as row numbers from 0."""
    bad = next((row for row, text in enumerate(texts.tolist()) if not (text.isascii() and text.isdigit())), None)
    if bad is not None:
        problem = f"column {name!r} must hold row numbers from 0, but row {bad + 1} has {str(texts[bad])!r}"
        raise FormatError(path, f"{problem}; to name rows by ids, say which column of the data holds them")
    return texts.astype(np.int64)


def _read_lines(path: PathLike) -> PairArrays:
    """Read lines of two ids and, in all lines or in none, a weight."""
    better, worse, weight = [], [], []
    for columns in read_columns(path, 2, 3, "winner loser [weight]"):
        better += [one.decode("utf-8", "replace") for one in columns.texts(0).tolist()]
        worse += [one.decode("utf-8", "replace") for one in columns.texts(1).tolist()]
        has = columns.n_entries == 3
        if has.any() != has.all():
            raise columns.error(int(np.argmin(has)), "the line has no weight; give every line one, or no line")
        weight.append(columns.decimals(2, "weight") if has.all() else np.ones(len(has)))
    return PairArrays(np.array(better, np.str_), np.array(worse, np.str_), np.concatenate([np.empty(0), *weight]))
