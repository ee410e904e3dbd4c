"""Dask collections as blocks of rows: lazily, so that a lost block can be read again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, TypeAlias

import numpy as np

from podium._pair_gate import check_pairs
from podium._sparse import is_sparse, stacked, take_rows
from podium._types import MatrixLike, PairsLike
from podium._validation import Array, PodiumError
from podium.data import names_of_columns
from podium.distributed.part_categories import Categories, coded_block, count_block
from podium.distributed.part_grades import graded_block, labels_of_block, merged_labels
from podium.distributed.part_pairs import PairArrays, joined_pairs, pairs_of_blocks, take_pairs
from podium.distributed.part_table import BY_ROW, Block
from podium.rankers.evaluation_data import eval_sets, one_per_eval_set

__all__ = ["INSTALL", "Source", "evaluation_sources", "merged_labels", "split_queries"]

Lazy: TypeAlias = Any
"""A delayed object of Dask, which has no types."""
INSTALL = "Training on Dask needs dask and distributed; install them with: pip install 'podium[dask]'."


@dataclass(frozen=True)
class Source:
    """The blocks of a data set, each a delayed `Block`.

    Attributes
    ----------
    blocks : tuple
    layout : array or frame
        The features without rows: how many there are, and for frames their names and types.
    numeric : bool
        Whether labels are numbers, by their type.
    """

    blocks: tuple[Lazy, ...]
    layout: MatrixLike
    numeric: bool = True

    @classmethod
    def of(
        cls,
        X: object,
        y: object,
        qid: object,
        sample_weight: object = None,
        query_weight: object = None,
        name: str = "X",
        needed: Sequence[str] = ("y", "qid"),
    ) -> Source:
        """Take collections apart: Dask arrays, Dask dataframes, or paths of Parquet files.

        Parameters
        ----------
        X : Dask array or dataframe, path or list of paths
        y, qid, sample_weight, query_weight : Dask array or series, str or None
            A string names a column of X, which is then no feature. Weights of queries may be a mapping from ids.
        name : str
            What X is called in messages.
        needed : sequence of str
            Which columns must be given.
        """
        columns = {"y": y, "qid": qid, "sample_weight": sample_weight, "query_weight": query_weight}
        for one in needed:
            if columns[one] is None:
                raise PodiumError(
                    f"{one} must be given to train on Dask: {'the query' if one == 'qid' else 'the label'} of "
                    f"each row of {name}, or the name of its column."
                )
        if _is_paths(X):
            X = _read_parquet(X, name)
        parts = _blocks(X, name)
        named = {key: _named(X, one, key) for key, one in columns.items() if isinstance(one, str)}
        beside = {
            key: [one] * len(parts) if one is None or isinstance(one, Mapping) else _beside(X, one, key, parts)
            for key, one in columns.items()
            if key not in named
        }
        numbered = enumerate(parts)
        make = _delayed(_make_block)
        blocks = tuple(make(i, part, named, {key: beside[key][i] for key in beside}) for i, part in numbered)
        return cls(blocks, _layout(X, list(named.values())), _is_numeric(X, y))

    def lengths(self) -> list[Lazy]:
        """Return the delayed number of rows of each block."""
        return [_delayed(_length)(block) for block in self.blocks]

    def with_pairs(self, pairs: PairsLike, lengths: Sequence[int]) -> Source:
        """Return the blocks with explicit pairs, whose rows are numbered through all blocks, in their order."""
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        own = pairs_of_blocks(check_pairs(pairs, int(offsets[-1])), offsets)
        make, starts = _delayed(_with_pairs), offsets[:-1].tolist()
        return replace(self, blocks=tuple(make(*one) for one in zip(self.blocks, starts, own, strict=True)))

    def category_counts(self, columns: Sequence[int]) -> list[Lazy]:
        """Return the delayed counts of the categories of each block."""
        names = names_of_columns(self.layout)
        return [_delayed(count_block)(block, columns, names) for block in self.blocks]

    def coded(self, categories: Categories) -> Source:
        """Return the blocks with codes in their columns of categories."""
        if not categories.values:
            return self
        return replace(self, blocks=tuple(_delayed(coded_block)(block, categories) for block in self.blocks))

    def labels(self) -> list[Lazy]:
        """Return the delayed labels of each block."""
        return [_delayed(labels_of_block)(block) for block in self.blocks]

    def graded(self, classes: Array, name: str = "") -> Source:
        """Return the blocks with numbers of grades for labels; `name` begins what is said of one that is no grade."""
        return replace(self, blocks=tuple(_delayed(graded_block)(block, classes, name) for block in self.blocks))

    def regrouped(self, n_blocks: int) -> Source:
        """Return blocks of whole queries: a shuffle by the hash of the query."""
        shares = [_delayed(_split, nout=n_blocks)(block, n_blocks) for block in self.blocks]
        joined = (_delayed(_join)(number, *(share[number] for share in shares)) for number in range(n_blocks))
        return replace(self, blocks=tuple(joined))


def split_queries(ids_of_blocks: Mapping[int, Array]) -> tuple[object, list[int]] | None:
    """Return a query that several blocks have, and these blocks; None where every query is in one."""
    numbers = [number for number, ids in ids_of_blocks.items() if len(ids)]
    if not numbers:
        return None
    ids = np.concatenate([ids_of_blocks[number] for number in numbers])
    owners = np.repeat(numbers, [len(ids_of_blocks[number]) for number in numbers])
    order = np.argsort(ids, kind="stable")
    ids, owners = ids[order], owners[order]
    twice = np.flatnonzero(ids[1:] == ids[:-1])
    if not len(twice):
        return None
    query = ids[twice[0]]
    return query.item() if isinstance(query, np.generic) else query, sorted(owners[ids == query].tolist())


def _is_paths(X: object) -> bool:
    """Say whether X names files."""
    return isinstance(X, str | PathLike) or (
        isinstance(X, Sequence) and len(X) > 0 and all(isinstance(one, str | PathLike) for one in X)
    )


def _read_parquet(paths: object, name: str) -> Any:
    """Return Parquet files as a Dask dataframe."""
    dataframe = _import("dask.dataframe")
    names = [str(one) for one in paths] if isinstance(paths, Sequence) and not isinstance(paths, str) else str(paths)
    try:
        found = dataframe.read_parquet(names)
    except (OSError, ValueError) as error:
        raise PodiumError(f"{name} names Parquet files that cannot be read: {error}.") from error
    if not len(found.columns):
        raise PodiumError(f"{name} must name Parquet files with columns; there are none at {names!r}.")
    return found


def _named(X: Any, column: str, key: str) -> str:
    """Return the name of a column, or refuse one that X does not have."""
    if column not in getattr(X, "columns", ()):
        raise PodiumError(f"{key} names the column {column!r}, which X does not have.")
    return column


def _make_block(number: int, part: Any, named: Mapping[str, str], beside: Mapping[str, Any]) -> Block:
    """Take the named columns out of a part of a dataframe."""
    for key, column in named.items():
        if column not in part.columns:
            raise PodiumError(f"Part {number}: {key} names the column {column!r}, which this part does not have.")
    X = part.drop(columns=list(named.values())) if named else part
    return Block(number, X, **{key: part[column] for key, column in named.items()}, **beside)


def _blocks(X: Any, name: str) -> list[Lazy]:
    """Return the blocks of rows of a collection."""
    if not hasattr(X, "__dask_graph__") or not hasattr(X, "to_delayed"):
        raise PodiumError(
            f"{name} must be a Dask array or dataframe, or paths of Parquet files; got {type(X).__name__}. "
            "Data in memory need no cluster: use the ranker's own fit."
        )
    if getattr(X, "ndim", 2) == 2 and hasattr(X, "rechunk") and len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    # Optimised, columns of one file may be read in other parts than its features.
    return list(np.ravel(np.array(X.to_delayed(optimize_graph=False), object)))


def _layout(X: Any, named: list[str]) -> MatrixLike:
    """Return the features of a collection without rows."""
    if hasattr(X, "columns"):
        return X._meta.drop(columns=named)  # type: ignore[no-any-return]
    return np.empty((0, int(np.nan_to_num(X.shape[1])) if X.ndim == 2 else 0))


def _is_numeric(X: Any, y: object) -> bool:
    """Say whether labels, given or in a column of X, are numbers by their type."""
    kind = getattr(X._meta[y] if isinstance(y, str) else y, "dtype", None)
    return getattr(kind, "kind", "f") in "iubf"


def _beside(X: Any, column: Any, key: str, parts: Sequence[Lazy]) -> list[Lazy]:
    """Return the blocks of a column, as many as those of X."""
    if hasattr(column, "rechunk") and hasattr(X, "chunks") and not np.isnan(X.chunks[0]).any():
        if column.shape != (X.shape[0],):
            raise PodiumError(f"{key} must have one value per row of X, {X.shape[0]}; got shape {column.shape}.")
        column = column.rechunk((X.chunks[0],))
    found = _blocks(column, key)
    if len(found) != len(parts):
        raise PodiumError(f"{key} must be partitioned as X is: {len(parts)} parts expected, {len(found)} given.")
    return found


def _length(block: Block) -> int:
    """Return the number of rows of a block."""
    return int(block.X.shape[0])


def _with_pairs(block: Block, first: int, pairs: PairArrays) -> Block:
    """Number the rows of a block from `first` on, and give it the pairs of its better rows."""
    return block._replace(row=first + np.arange(_length(block)), pairs=pairs)


def _split(block: Block, n_blocks: int) -> tuple[Block, ...]:
    """Part the rows of a block by the hash of their queries."""
    from pandas.util import hash_array

    owner = hash_array(np.asarray(block.qid)) % np.uint64(n_blocks)
    return tuple(_share(block, owner, number) for number in range(n_blocks))


def _share(block: Block, owner: Array, number: int) -> Block:
    """Return the rows of a block that go to one of several, and the pairs of its better rows among them."""
    own = np.flatnonzero(owner == number)
    share = block._replace(**{name: _rows(getattr(block, name), own) for name in BY_ROW})
    if block.pairs is None or block.row is None:
        return share
    first = block.row[:1].sum()  # 0 where there is no row
    return share._replace(pairs=take_pairs(block.pairs, owner[block.pairs.better - first] == number))


def _rows(values: Any, rows: Array) -> Any:
    """Return some rows of an array, a frame or a series; what is not given for each row stays."""
    if values is None or isinstance(values, Mapping):
        return values
    if is_sparse(values):
        return take_rows(values, rows)
    return values.iloc[rows] if hasattr(values, "iloc") else np.asarray(values)[rows]


def _join(number: int, *shares: Block) -> Block:
    """Put rows together that go to one block."""
    given = [share for share in shares if share.X.shape[0]] or shares[:1]  # an empty one may have other types
    columns = {name: _concatenated([getattr(share, name) for share in given]) for name in BY_ROW}
    return given[0]._replace(number=number, pairs=joined_pairs([share.pairs for share in shares]), **columns)


def _concatenated(pieces: list[Any]) -> Any:
    """Put pieces of arrays, frames or series together."""
    if pieces[0] is None or isinstance(pieces[0], Mapping):
        return pieces[0]
    if hasattr(pieces[0], "iloc"):
        from pandas import concat

        return concat(pieces)
    return stacked(pieces)


def _delayed(function: Any, **options: Any) -> Any:
    """Return a function whose calls are put off."""
    return _import("dask").delayed(function, pure=False, **options)


def _import(module: str) -> Any:
    """Import a module of Dask, or say how to install it."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise PodiumError(INSTALL) from error


def evaluation_sources(eval_set: object, eval_qid: Sequence[object] | None, needed: Sequence[str]) -> list[Source]:
    """Return the blocks of the evaluation sets."""
    sets = eval_sets(eval_set)
    ids = one_per_eval_set(eval_qid, len(sets), "eval_qid")
    return [
        Source.of(X, y, qid, name=f"eval_set[{number}]", needed=needed)
        for number, ((X, y), qid) in enumerate(zip(sets, ids, strict=True))
    ]
