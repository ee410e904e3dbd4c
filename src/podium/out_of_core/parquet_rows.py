"""Rows of Parquet files: single columns whole, features batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from podium._frames import column_values
from podium._validation import Array, PodiumError, check_features

if TYPE_CHECKING:
    from pyarrow import Schema

Paths: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]]
"""A Parquet file, a folder of them, or a list of files."""

CELLS_PER_BATCH = 2**21
"""Rows times features that are in memory at a time: 16 MB of float64, three times while they are checked."""


@dataclass(frozen=True)
class ParquetRows:
    """The rows of some Parquet files, in the order of the files.

    Attributes
    ----------
    paths : tuple of str
    names : tuple of str
        Columns that are features.
    beside : dict of str to str
        Columns that are not: what each is for, and its name.
    n_rows : int
    """

    paths: tuple[str, ...]
    names: tuple[str, ...]
    beside: dict[str, str]
    n_rows: int

    @classmethod
    def of(cls, paths: Paths, beside: dict[str, str], left_out: Collection[str] = ()) -> ParquetRows:
        """Look at the columns of files; those that `beside` names, and those left out if there, are no features."""
        files = _files(paths)
        schemas = [_schema(path) for path in files]
        columns = schemas[0][0].names
        for use, name in beside.items():
            if name not in columns:
                raise PodiumError(f"{use} names the column {name!r}, which {files[0]} does not have.")
        for path, (schema, _) in zip(files, schemas, strict=True):
            _check_alike(files[0], schemas[0][0], path, schema)
        others = {*beside.values(), *left_out, *_index_columns(schemas[0][0])}
        names = tuple(name for name in columns if name not in others)
        if not names:
            raise PodiumError(f"{files[0]} has no column but {', '.join(columns)}: there is no feature to learn from.")
        n_rows = sum(count for _, count in schemas)
        if n_rows == 0:
            raise PodiumError(f"X must have at least one row; {files[0]} has none.")
        return cls(tuple(files), names, beside, n_rows)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.names)

    def weights(self, use: str) -> Array | None:
        """Return a column of weights, whole; None where none was named."""
        return self.column(use) if use in self.beside else None

    def column(self, use: str) -> Array:
        """Return the column that is for something, whole."""
        from pyarrow import parquet

        name = self.beside[use]
        tables = [parquet.read_table(path, columns=[name], memory_map=True) for path in self.paths]
        return np.concatenate([column_values(table[name]) for table in tables])

    def batches(self) -> Iterator[tuple[slice, Array]]:
        """Yield the features of some rows at a time, with the place of these rows among all."""
        from pyarrow import Table, parquet

        start, most = 0, max(1, CELLS_PER_BATCH // self.n_features)
        for path in self.paths:
            with parquet.ParquetFile(path, memory_map=True, pre_buffer=False) as file:
                for batch in file.iter_batches(most, columns=list(self.names)):
                    features, _ = check_features(Table.from_batches([batch]).select(list(self.names)))
                    dense = np.ascontiguousarray(features)
                    rows = slice(start, start + len(dense))
                    yield rows, dense
                    start = rows.stop

    def scores(self, score: Callable[[Array], Array]) -> Array:
        """Return what a function of features gives for each row, in a pass over the files."""
        found = np.empty(self.n_rows)
        for own, features in self.batches():
            found[own] = score(features)
        return found


def _files(paths: Paths) -> list[str]:
    """Return the files that were named, those of a folder by their names."""
    given = [Path(paths)] if isinstance(paths, str | PathLike) else [Path(one) for one in paths]
    files = [file for one in given for file in (sorted(one.glob("*.parquet")) if one.is_dir() else [one])]
    if not files:
        raise PodiumError(f"X must name Parquet files, or a folder of them; {paths!r} has none.")
    return [str(file) for file in files]


def _schema(path: str) -> tuple[Schema, int]:
    """Return the columns and the number of rows of a file."""
    try:
        from pyarrow import ArrowInvalid, parquet
    except ImportError as error:
        raise PodiumError("Reading Parquet files needs pyarrow; install it with: pip install pyarrow.") from error
    try:
        with parquet.ParquetFile(path) as file:
            return file.schema_arrow, int(file.metadata.num_rows)
    except FileNotFoundError:
        raise PodiumError(f"There is no file {path}.") from None
    except ArrowInvalid as error:
        raise PodiumError(f"{path} is no Parquet file: {error}") from None


def _index_columns(schema: Schema) -> list[str]:
    """Return the columns in which pandas keeps an index, which are no features."""
    kept = (schema.pandas_metadata or {}).get("index_columns", [])
    return [one for one in kept if isinstance(one, str)]


def _check_alike(first: str, expected: Schema, path: str, schema: Schema) -> None:
    """Refuse files whose columns differ."""
    if schema.names != expected.names:
        raise PodiumError(
            f"All files must have the same columns; {first} has {_columns_text(expected)}, {path} has "
            f"{_columns_text(schema)}."
        )
    for one, other in zip(expected, schema, strict=True):
        if one.type != other.type:
            raise PodiumError(
                f"All files must have columns of the same types; {one.name} is {one.type} in {first} and {other.type} "
                f"in {path}."
            )


def _columns_text(schema: Schema) -> str:
    """Say which columns a file has."""
    return f"{len(schema.names)} columns ({', '.join(schema.names[:5])}{', …' if len(schema.names) > 5 else ''})"
