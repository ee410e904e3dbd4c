"""The rows of one worker: blocks of the user's collections, checked one by one and put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from podium._exchange import Exchange
from podium._frames import category_kind
from podium._magnitudes import scaled_weights
from podium._pair_gate import PairArrays
from podium._sparse import is_sparse, stacked
from podium._types import Features, MatrixLike
from podium._validation import Array, PodiumError, check_features, check_labels, check_queries, check_weight
from podium.data import Categories, Queries, RankingData, categorical_columns, names_of_columns, told_apart
from podium.distributed.part_pairs import joined_pairs, renumbered

QUERIES_PER_MESSAGE = 2**20
"""Queries of all parts whose keys are compared at a time: 16 MB."""


class Block(NamedTuple):
    """One block of the user's collections; what was not given is None.

    Attributes
    ----------
    number : int
        Place among the blocks, for messages.
    X : array or frame
    y, qid, sample_weight, query_weight : array, series or None
        The weights of queries may be a mapping from ids.
    row : ndarray of int64 or None
        Number of each row among those of all blocks, where pairs were given.
    pairs : PairArrays or None
        Pairs of better rows that lie in the block, by these numbers.
    categories : Categories or None
        Of the columns of X that hold their codes, for rankers of trees.
    n_grades : int or None
        Grades that y has numbers of, from 0, where labels are no numbers themselves.
    """

    number: int
    X: Any
    y: Any
    qid: Any
    sample_weight: Any
    query_weight: Any
    row: Array | None = None
    pairs: PairArrays | None = None
    categories: Categories | None = None
    n_grades: int | None = None


BY_ROW = ("X", "y", "qid", "sample_weight", "query_weight", "row")
"""What a block has for each row."""


class PartTable(NamedTuple):
    """Checked rows, in the order of the blocks.

    Attributes
    ----------
    features : ndarray, or sparse matrix by columns, of float32 or float64
    names : tuple of str or None
    labels, weight, query_weight : ndarray of float64, one per row
        There may be no labels where there are pairs.
    qid : ndarray
    ids_of_blocks : dict of int to ndarray
        The different queries of each block.
    row, pairs, categories, n_grades
        As the blocks have them.
    whole_labels : bool
        Whether labels were given as integers.
    """

    features: Features
    names: tuple[str, ...] | None
    labels: Array | None
    qid: Array
    weight: Array
    query_weight: Array
    ids_of_blocks: dict[int, Array]
    row: Array | None
    pairs: PairArrays | None
    whole_labels: bool
    categories: Categories | None = None
    n_grades: int | None = None

    @property
    def kind(self) -> str:
        """Return the type of the features, and that they are sparse."""
        return f"{'sparse ' if is_sparse(self.features) else ''}{self.features.dtype}"


def read_blocks(blocks: Sequence[Block]) -> PartTable | None:
    """Check blocks and put them together; None where no block has a row."""
    tables = [table for table in map(_read_block, blocks) if table is not None]
    if not tables:
        return None
    first = tables[0]
    for table in tables[1:]:
        _check_columns(first, table)
    return PartTable(
        stacked([table.features for table in tables]),
        first.names,
        _joined([table.labels for table in tables]),
        np.concatenate([table.qid for table in tables]),
        np.concatenate([table.weight for table in tables]),
        np.concatenate([table.query_weight for table in tables]),
        {number: ids for table in tables for number, ids in table.ids_of_blocks.items()},
        _joined([table.row for table in tables]),
        joined_pairs([table.pairs for table in tables]),
        all(table.whole_labels for table in tables),
        first.categories,
        first.n_grades,
    )


def _joined(columns: Sequence[Array | None]) -> Array | None:
    """Put a column of several blocks together; None where it was not given."""
    given = [column for column in columns if column is not None]
    return np.concatenate(given) if given else None


def _read_block(block: Block) -> PartTable | None:
    """Check one block; None where it has no row."""
    n_rows = int(block.X.shape[0])
    if n_rows == 0:
        return None
    try:
        _refuse_unsupported(block.X)
        features, names = check_features(block.X)
        _refuse_grades(block)
        labels = None if block.y is None and block.pairs is not None else check_labels(block.y, n_rows)
        # Rows without queries, those of ordinal rankers, may lie in any part.
        qid = np.full(n_rows, block.number) if block.qid is None else block.qid
        codes, ids = check_queries(qid, None, n_rows)
        weight = _weights(block.sample_weight, n_rows, "sample_weight")
        per_query = _query_weights(block.query_weight, ids[codes])
    except PodiumError as error:
        raise PodiumError(f"Part {block.number}: {error}") from None
    return PartTable(
        features, names, labels, ids[codes], weight, per_query, {block.number: ids}, block.row, block.pairs,
        np.asarray(block.y).dtype.kind in "iub", block.categories,
        block.n_grades,
    )  # fmt: skip


def _refuse_unsupported(X: MatrixLike) -> None:
    """Refuse columns of categories that are no codes yet."""
    names = names_of_columns(X)
    if names and (columns := categorical_columns(X, "from_dtype")):
        raise PodiumError(
            f"column {names[columns[0]]!r} of X holds categories: LambdaMART and MART take them, where the types of "
            "the collection or categorical_features name the column; make numbers of them for others."
        )


def _refuse_grades(block: Block) -> None:
    """Refuse labels of ordinal rankers that are no numbers, where the type of the collection says that they are."""
    kind = category_kind(block.y) or np.asarray(block.y).dtype
    if block.qid is None and (isinstance(kind, str) or kind.kind not in "iubf"):
        raise PodiumError(f"y must hold numbers, as the type of its collection says; got {kind}: give it its own type.")


def _weights(given: object, n_rows: int, name: str) -> Array:
    """Return checked weights; those of one part, though not all of them, may all be 0."""
    if given is None:
        return np.ones(n_rows)
    values = np.asarray(given, np.float64)
    if values.shape != (n_rows,):
        return check_weight(values, n_rows, name)
    return check_weight(np.append(values, 1.0), n_rows + 1, name)[:-1]


def _query_weights(given: object, qid: Array) -> Array:
    """Return the weight of each row's query."""
    if isinstance(given, Mapping):
        missing = [query for query in qid.tolist() if query not in given]
        if missing:
            raise PodiumError(f"query_weight has no weight for query {missing[0]!r}.")
        given = [given[query] for query in qid.tolist()]
    return _weights(given, len(qid), "query_weight")


def _check_columns(first: PartTable, table: PartTable) -> None:
    """Refuse blocks whose columns differ."""
    (one,), (other,) = first.ids_of_blocks, table.ids_of_blocks
    if first.features.shape[1] != table.features.shape[1] or first.names != table.names:
        raise PodiumError(
            f"All parts must have the same columns; part {one} has {_columns_text(first)}, part {other} has "
            f"{_columns_text(table)}."
        )
    if first.kind != table.kind:
        raise PodiumError(
            f"All parts must have features of one type; part {one} has {first.kind}, part {other} has {table.kind}."
        )


def _columns_text(table: PartTable) -> str:
    """Say which columns a part has."""
    n_columns = table.features.shape[1]
    return f"{n_columns} columns" if table.names is None else f"{n_columns} columns ({', '.join(table.names[:5])}, …)"


def ranking_data(table: PartTable, exchange: Exchange) -> RankingData:
    """Return the rows of a part as they would stand among all rows: weights scaled together, equal queries told apart.

    1. Scale weights by the largest of all parts; those of explicit pairs with them.
    2. Put rows into the canonical order.
    3. Number queries of equal contents over all parts, by their weights.
    """
    pairs = None
    if table.pairs is not None and table.row is not None:
        pairs = renumbered(table.pairs, table.row, table.qid)
    heaviest = 0.0 if pairs is None else pairs.weight.max(initial=0.0)
    largest = exchange.largest(np.array([table.weight.max(), table.query_weight.max(), heaviest]))
    for name, most in zip(("sample_weight", "query_weight"), largest.tolist(), strict=False):
        if most <= 0:
            raise PodiumError(f"{name} must have a positive value; all are zero.")
    rows, queries = np.append(table.weight, largest[0]), np.append(table.query_weight, largest[1])
    heaviest_too = np.append(np.zeros(0) if pairs is None else pairs.weight, largest[2])
    scaled = scaled_weights(rows, queries, heaviest_too, table.labels is not None)  # 1
    codes, ids = check_queries(table.qid, None, len(table.qid))
    per_query = np.zeros(len(ids))
    per_query[codes] = scaled.queries[:-1]
    differs = np.flatnonzero(per_query[codes] != scaled.queries[:-1])
    if len(differs):
        query = ids[codes[differs[:1]]].tolist()[0]
        raise PodiumError(f"query_weight must be the same for all rows of a query; those of query {query!r} differ.")
    data = RankingData.of_checked(
        table.features, table.names, table.labels, codes, ids, scaled.rows[:-1], per_query,
        None if pairs is None else pairs._replace(weight=scaled.pairs[:-1]), table.categories,
    )  # fmt: skip
    numbers = number_equal(data.queries.contents, data.query_weight, exchange)  # 3
    keys = told_apart(data.queries.contents, numbers)
    own = Queries(data.queries.ids, data.queries.rows, data.queries.offsets, keys, data.queries.contents)
    return replace(data, queries=own)


def number_equal(contents: Array, weight: Array, exchange: Exchange) -> Array:
    """Return the number of each query among those of equal contents in all parts: by weight, then by rank.

    Queries of equal contents and weights may change places without effect. Keys are compared range by range, so that
    memory does not grow with the number of queries.
    """
    n_ranges = -(-exchange.count(len(contents)) // QUERIES_PER_MESSAGE)
    numbers = np.zeros(len(contents), np.int64)
    bits = max(n_ranges - 1, 0).bit_length()
    place = (contents >> np.uint64(64 - bits)) if bits else np.zeros(len(contents), np.uint64)
    for one in range(1 << bits):
        own = np.flatnonzero(place == one)
        counts = exchange.gather(np.array([len(own)]))[:, 0]
        keys, weights = exchange.gather_rows(contents[own]), exchange.gather_rows(weight[own])
        order = np.lexsort((weights, keys))  # stable: of equals the lower rank comes first
        ordered = keys[order]
        among = np.empty(len(order), np.int64)
        among[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        start = int(counts[: exchange.rank].sum())
        numbers[own] = among[start : start + len(own)]
    return numbers
