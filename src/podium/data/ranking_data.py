"""Ranking data behind the gate: rows grouped by query in a canonical order, with the way back.

Everything after this module computes on the canonical order, so results cannot depend on the order in which
rows or queries were given.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from podium._compiled import ROW
from podium._magnitudes import scaled_weights
from podium._pair_gate import PairArrays, check_pairs
from podium._types import Features, MatrixLike, PairsLike, QueryWeight
from podium._validation import (
    Array,
    PodiumError,
    check_labels,
    check_queries,
    check_query_weight,
    check_weight,
)
from podium.data.categories import Categories, read_features
from podium.data.hashes import hash_features, hash_queries, mixed, row_keys, told_apart

MAX_ROWS_UNWARNED = 1000
"""Rows up to which graded labels may be one query without a word."""


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows grouped by query.

    Attributes
    ----------
    ids : ndarray
        The caller's id of each query.
    rows : ndarray of int64
        The caller's row number of each grouped row: ``grouped = given[rows]``.
    offsets : ndarray of int64
        Query q has the grouped rows ``offsets[q]`` up to, not including, ``offsets[q + 1]``.
    keys : ndarray of uint64
        Hash of each query's contents and of its number among the queries of equal contents; empty where rows were
        grouped in the caller's order.
    contents : ndarray of uint64
        Hash of each query's contents alone; empty as the keys.
    """

    ids: Array
    rows: Array
    offsets: Array
    keys: Array = field(default_factory=lambda: np.empty(0, np.uint64))
    contents: Array = field(default_factory=lambda: np.empty(0, np.uint64))

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def sizes(self) -> Array:
        """Rows of each query."""
        return np.diff(self.offsets)

    def to_caller(self, values: Array) -> Array:
        """Put values of grouped rows back into the caller's row order."""
        given = np.empty_like(values)
        given[self.rows] = values
        return given

    def place_keys(self) -> Array:
        """Hash each grouped row's place in the canonical order: its query's key and its number within the query.

        No two rows have the same key, however equal they are (but for a chance of 2⁻⁶⁴ a pair of rows), and no key
        depends on the caller's order or on other queries.
        """
        within = np.arange(len(self.rows)) - np.repeat(self.offsets[:-1], self.sizes)
        return mixed(np.repeat(self.keys, self.sizes) + within.astype(np.uint64))


def group_rows(codes: Array, ids: Array) -> Queries:
    """Group rows by query code, queries in the order of `ids`, rows of a query in the caller's order."""
    sizes = np.bincount(codes, minlength=len(ids))
    return Queries(ids, np.argsort(codes, kind="stable").astype(ROW), _offsets(sizes))


@dataclass(frozen=True, eq=False)
class RankingData:
    """What a ranker learns from, checked once and never changed.

    Attributes
    ----------
    features : ndarray or scipy.sparse.csc_array
        The caller's matrix, *in the caller's row order*, so that no second copy of it is made; grouped row i
        is ``features[queries.rows[i]]``. NaN, or an absent entry of a sparse matrix, abstains.
    feature_names : tuple of str or None
    queries : Queries
        The canonical order: queries, and rows within a query, by a hash of their contents.
    labels : ndarray of float64 or None
        Label of each grouped row.
    row_weight : ndarray of float64
        Weight of each grouped row, 1 where none was given.
    query_weight : ndarray of float64
        Weight of each query, 1 where none was given.
    pairs : PairArrays or None
        Explicit pairs in grouped row numbers, in a canonical order.
    categories : Categories or None
        The categories whose codes stand in categorical columns of `features`.
    queries_given : bool
        Whether the caller gave queries; all rows are one query otherwise.
    name : str
        What an evaluation set is called; empty where the caller gave no name.
    """

    features: Features
    feature_names: tuple[str, ...] | None
    queries: Queries
    labels: Array | None
    row_weight: Array
    query_weight: Array
    pairs: PairArrays | None
    categories: Categories | None = None
    queries_given: bool = True
    name: str = ""

    def columns(self) -> tuple[Array | None, ...]:
        """Return what there is to learn from, as arrays that another data set differs in."""
        pairs = (None,) * 3 if self.pairs is None else (self.pairs.better, self.pairs.worse, self.pairs.weight)
        features = hash_features(self.features)[self.queries.rows]
        return features, self.labels, self.row_weight, self.query_weight, self.queries.offsets, *pairs

    @property
    def weights(self) -> Array:
        """What each grouped row weighs in all: its own weight times its query's."""
        return weights_of_rows(self.row_weight, self.query_weight, self.queries.offsets)

    @classmethod
    def from_arrays(
        cls,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        pairs: PairsLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: QueryWeight | None = None,
        categories: Categories | None = None,
        items: ArrayLike | None = None,
    ) -> RankingData:
        """Check what the caller gave and put it into the canonical order."""
        features, names = read_features(X, categories)
        n_rows = features.shape[0]
        labels = None if y is None else check_labels(y, n_rows)
        codes, ids = check_queries(qid, group, n_rows)
        if labels is None and not (sample_weight is None and query_weight is None):
            raise PodiumError(
                "sample_weight and query_weight weigh labels; with pairs alone give weights to the pairs."
            )
        weight = check_weight(sample_weight, n_rows, "sample_weight")
        per_query = check_query_weight(query_weight, codes, ids, group is not None)
        if items is not None and pairs is None:
            raise PodiumError("items are the ids by which pairs name rows; without pairs leave it out.")
        given_pairs = None if pairs is None else check_pairs(pairs, n_rows, items)
        weight, per_query, given_pairs = _within_range(weight, per_query, given_pairs, labels is not None)
        given = qid is not None or group is not None
        return cls.of_checked(
            features, names, labels, codes, ids, weight, per_query, given_pairs, categories, given
        )  # fmt: skip

    @classmethod
    def of_checked(
        cls,
        features: Features,
        names: tuple[str, ...] | None,
        labels: Array | None,
        codes: Array,
        ids: Array,
        weight: Array,
        query_weight: Array,
        pairs: PairArrays | None = None,
        categories: Categories | None = None,
        queries_given: bool = True,
    ) -> RankingData:
        """Put what has been checked, in the caller's order, into the canonical one; `codes` are places in `ids`."""
        keys = row_keys(features, labels, weight, pairs)
        queries, order = canonical_order(keys, codes, ids, query_weight)
        return cls(
            features,
            names,
            queries,
            None if labels is None else labels[queries.rows],
            weight[queries.rows],
            query_weight[order],
            None if pairs is None else _grouped_pairs(pairs, queries),
            categories,
            queries_given,
        )

    def with_pairs(self, pairs: PairsLike, items: ArrayLike | None = None) -> RankingData:
        """Return the same rows, in their order, with explicit pairs as all that is said of them."""
        checked = check_pairs(pairs, len(self.queries.rows), items)
        scaled = _within_range(self.row_weight, self.query_weight, checked, False)[2]
        return replace(self, labels=None, pairs=None if scaled is None else _grouped_pairs(scaled, self.queries))


def weights_of_rows(row_weight: Array, query_weight: Array, offsets: Array) -> Array:
    """Return the weight of each grouped row times that of its query: a weight of 2 of either is the row twice."""
    weights: Array = row_weight * np.repeat(query_weight, np.diff(offsets))
    return weights


def _within_range(
    rows: Array, queries: Array, pairs: PairArrays | None, labelled: bool
) -> tuple[Array, Array, PairArrays | None]:
    """Return all weights scaled together where they are too large or too small to multiply and square."""
    if pairs is None:
        return *scaled_weights(rows, queries, np.zeros(0))[:2], None
    scaled = scaled_weights(rows, queries, pairs.weight, labelled)
    return scaled.rows, scaled.queries, pairs._replace(weight=scaled.pairs)


def warn_of_one_query(labels: Array | None, what: str, advice: str, stacklevel: int = 3) -> None:
    """Warn that many rows with graded labels are one query, where the caller gave no queries.

    Labels of which at least half are different from each other are amounts, not grades: to order all rows by them
    is a task of its own (continuous ranking).

    Parameters
    ----------
    labels : ndarray or None
        Of all rows.
    what : str
        Whose rows they are, for the message: "of eval_set[0] ", or nothing.
    advice : str
        How the caller says that one query is meant, such as "group=[{}]"; the number of rows is put in.
    stacklevel : int
        As `warnings.warn` has it; 3 is the caller of the caller.
    """
    sentence = one_query_sentence(labels, what, advice)
    if sentence is not None:
        warnings.warn(sentence, stacklevel=stacklevel)


def one_query_sentence(labels: Array | None, what: str, advice: str) -> str | None:
    """Return what `warn_of_one_query` says, or None where it says nothing."""
    if labels is None or len(labels) <= MAX_ROWS_UNWARNED or 2 * len(np.unique(labels)) >= len(labels):
        return None
    return (
        f"All {len(labels)} rows {what}are one query, because neither qid nor group was given; give them, or say "
        f"{advice.format(len(labels))} if one query is meant."
    )


def canonical_order(keys: Array, codes: Array, ids: Array, query_weight: Array | None = None) -> tuple[Queries, Array]:
    """Group rows with queries by the sum of their rows' keys and rows by their own key.

    Queries of equal contents go by their weights, those of equal weights too may change places without effect.

    Returns
    -------
    queries : Queries
    order : ndarray of int64
        The number, in `ids`, of each query in its canonical place.
    """
    query_key = hash_queries(keys, codes, len(ids))
    order = np.lexsort((query_key,) if query_weight is None else (query_weight, query_key)).astype(ROW)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    rows = _sorted_rows(keys, place[codes], len(ids))
    sizes = np.bincount(codes, minlength=len(ids))[order]
    contents = query_key[order]
    number = np.arange(len(contents)) - np.searchsorted(contents, contents)
    return Queries(ids[order], rows, _offsets(sizes), told_apart(contents, number), contents), order


def _sorted_rows(keys: Array, places: Array, n_places: int) -> Array:
    """Sort rows by place, and by key where that is the same; slow line: ``np.lexsort((keys, places))``.

    A fifth of its time: keys by the quickest sort, then places by their digits of sixteen bits, which numpy counts.
    """
    order = np.argsort(keys)
    if np.any(keys[order[1:]] == keys[order[:-1]]):
        order = np.argsort(keys, kind="stable")
    for shift in range(0, n_places.bit_length(), 16):
        digits = (places >> shift).astype(np.uint16)
        order = order[np.argsort(digits[order], kind="stable")]
    return order.astype(ROW)


def _grouped_pairs(pairs: PairArrays, queries: Queries) -> PairArrays:
    """Renumber pairs to grouped rows and sort them."""
    place = np.empty_like(queries.rows)
    place[queries.rows] = np.arange(len(place))
    better, worse = place[pairs.better], place[pairs.worse]
    order = np.lexsort((pairs.weight, worse, better))
    return PairArrays(better[order], worse[order], pairs.weight[order])


def _offsets(sizes: Array) -> Array:
    """Start of each query and, last, the number of rows."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(ROW)
