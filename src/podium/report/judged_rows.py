"""What a page tells of: a model, and rows with labels that it has ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from podium._compiled import ROW
from podium._frames import to_array
from podium._types import Features, MatrixLike
from podium._validation import Array, PodiumError, check_labels, check_queries, check_scores
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
    documents : ndarray of str
        What each row is called.
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
    documents: Array
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
        documents = _documents(docid, queries.rows, queries.offsets)
        by_name = np.unique(documents, return_inverse=True)[1] if docid is not None else np.arange(n_rows)
        ranked = np.lexsort((by_name, -scores, codes)).astype(ROW)
        names = _feature_names(feature_names, model)
        return cls(model, features, names, labels, scores, codes, ids, documents, ranked, queries.offsets)

    def rows_of(self, query: int) -> Array:
        """Return the rows of a query, the top first."""
        rows: Array = self.ranked[self.offsets[query] : self.offsets[query + 1]]
        return rows

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


def _documents(docid: ArrayLike | None, grouped: Array, offsets: Array) -> Array:
    """Return what each row is called: by its document, or by its place in the query as it was given."""
    n_rows = len(grouped)
    places = np.empty(n_rows, ROW)
    places[grouped] = np.arange(n_rows) - np.repeat(offsets[:-1], np.diff(offsets)) + 1
    given = [None] * n_rows if docid is None else to_array(docid, "docid").tolist()
    if len(given) != n_rows:
        raise PodiumError(f"docid must name a document for each of the {n_rows} rows; got {len(given)}.")
    names = [f"document {place}" if name is None else str(name)
             for name, place in zip(given, places.tolist(), strict=True)]  # fmt: skip
    return np.array(names, object)


def _feature_names(given: Sequence[str] | None, model: Estimator) -> tuple[str, ...]:
    """Return what the features are called on the page."""
    names = model._names() if given is None else tuple(map(str, given))
    if names is not None and len(names) != model.n_features_in_:
        raise PodiumError(
            f"feature_names must name each of the {model.n_features_in_} features; got {len(names)} names."
        )
    return names_or_numbers(names, model.n_features_in_)
