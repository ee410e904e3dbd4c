"""What a page tells of: a model, and rows with labels that it has ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from podium._compiled import ROW
from podium._frames import to_array
from podium._types import Features, MatrixLike
from podium._validation import Array, PodiumError, check_labels, check_name_count, check_queries, check_scores
from podium.data import group_rows
from podium.explain import names_or_numbers
from podium.ordinal import grades_of
from podium.rankers import Estimator, OrdinalRanker


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows with labels and scores, in the order of the ranking of each query.

    Attributes
    ----------
    model : Estimator
    features : ndarray or sparse matrix
        Checked features, in the caller's row order, as are labels, scores, codes and documents.
    feature_names : tuple of str
    labels, scores : ndarray of float64
    codes : ndarray of int64
        Query of each row, as a place in `query_ids`.
    query_ids : ndarray
    documents : ndarray or None
        What each row is called, if that was said.
    places : ndarray of int64
        Place of each row in its query as it was given, from 1 on.
    ranked : ndarray of int64
        Rows by query, and in a query by falling score; of equal scores by the document's name.
    offsets : ndarray of int64
        Query q has the rows ``ranked[offsets[q] : offsets[q + 1]]``.
    """

    model: Estimator
    features: Features
    feature_names: tuple[str, ...]
    labels: Array
    scores: Array
    codes: Array
    query_ids: Array
    documents: Array | None
    places: Array
    ranked: Array
    offsets: Array

    @classmethod
    def of(
        cls,
        model: Estimator,
        X: MatrixLike,
        y: ArrayLike,
        qid: ArrayLike | None,
        group: ArrayLike | None,
        docid: ArrayLike | None,
        feature_names: Sequence[str] | None,
    ) -> JudgedRows:
        """Check everything and score the rows."""
        if not isinstance(model, Estimator):
            raise PodiumError(f"model must be a fitted ranker of rows; got {type(model).__name__}.")
        features = model._check_rows(X)
        n_rows = features.shape[0]
        labels, scores = _labels(model, y, n_rows), check_scores(model._score(features), n_rows)
        codes, ids = check_queries(qid, group, n_rows)
        queries = group_rows(codes, ids)
        documents = None if docid is None else _documents(docid, n_rows)
        by_name = np.arange(n_rows) if documents is None else _order_of_names(documents)
        ranked = np.lexsort((by_name, -scores, codes)).astype(ROW)
        names = _feature_names(feature_names, model)
        places = queries.to_caller(1 + np.arange(n_rows) - np.repeat(queries.offsets[:-1], queries.sizes))
        return cls(model, features, names, labels, scores, codes, ids, documents, places, ranked, queries.offsets)

    def rows_of(self, query: int) -> Array:
        """Return the rows of a query, the top first."""
        rows: Array = self.ranked[self.offsets[query] : self.offsets[query + 1]]
        return rows

    def names_of(self, rows: Array) -> list[str]:
        """Return what rows are called: by their documents, or by their places in the query as they were given."""
        given = [None] * len(rows) if self.documents is None else self.documents[rows].tolist()
        places = self.places[rows].tolist()
        return [f"document {at}" if name is None else str(name) for name, at in zip(given, places, strict=True)]

    @property
    def sizes(self) -> Array:
        """Rows of each query."""
        return np.diff(self.offsets)


def _labels(model: Estimator, y: ArrayLike, n_rows: int) -> Array:
    """Return labels as numbers; grades that are no numbers by their place among those of the fit."""
    given = to_array(y, "y")
    if isinstance(model, OrdinalRanker) and given.dtype.kind not in "biuf":
        return grades_of(y, n_rows, model.classes_).astype(float)
    return check_labels(y, n_rows)


def _documents(docid: ArrayLike, n_rows: int) -> Array:
    """Return the names of the documents, one a row; None is no name."""
    names = to_array(docid, "docid")
    if names.shape != (n_rows,):
        raise PodiumError(f"docid must name a document for each of the {n_rows} rows; got {names.size}.")
    return names


def _order_of_names(documents: Array) -> Array:
    """Return the place of each name among all, sorted."""
    names = documents if documents.dtype.kind == "U" else np.array(list(map(str, documents.tolist())), object)
    places: Array = np.unique(names, return_inverse=True)[1]
    return places


def _feature_names(given: Sequence[str] | None, model: Estimator) -> tuple[str, ...]:
    """Return what the features are called on the page."""
    names = model._names() if given is None else tuple(map(str, given))
    if names is not None:
        check_name_count(names, model.n_features_in_)
    return names_or_numbers(names, model.n_features_in_)
