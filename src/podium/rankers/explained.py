"""What every estimator says of its scores: why one row stands above another, and what would swap them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from operator import is_
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from podium._compiled import ROW, thread_count
from podium._sparse import dense_rows, take_rows
from podium._types import Features, MatrixLike
from podium._validation import Array, PodiumError, near_matches
from podium.data import hash_features
from podium.explain import (
    Contributions,
    Effects,
    Explanation,
    FeatureFunction,
    QueryExplanation,
    WhatIf,
    contributions_of,
    effects_of,
    feature_functions,
    names_or_numbers,
    smallest_changes,
    used_features,
    with_categories,
)
from podium.export import Exported

_EXPLAINED: WeakKeyDictionary[Explained, tuple[list[object], Exported]] = WeakKeyDictionary()
"""What estimators held when they were explained, and that as explanations take it; a new fit makes it anew."""
ROWS_OF_MEANS = 256
"""Rows that the mean change of a score is taken over: a chart changes little with more."""


class Explained(ABC):
    """Explanations of an estimator that scores rows."""

    n_features_in_: int

    @abstractmethod
    def _check_rows(self, X: MatrixLike) -> Features:
        """Return a matrix to be scored, with the columns that the fit had."""

    @abstractmethod
    def _score(self, features: Features) -> Array:
        """Score a checked matrix."""

    @abstractmethod
    def _names(self) -> tuple[str, ...] | None:
        """Return the names of the columns of the fit, if they had any."""

    @abstractmethod
    def _exported(self) -> Exported:
        """Return the fitted ranker as a sum of trees or of features, or refuse it with the reason."""

    def explain(self, X: MatrixLike, a: int, b: int, *, method: str | None = None) -> Explanation:
        """Say why one row stands above another: what each feature adds to the difference of their scores.

        The parts add up to the difference: exactly what each feature does where features act apart, as in stumps and
        weighted sums; Shapley values, exact too, where they act together in trees.

        Parameters
        ----------
        X : array, frame, table or sparse matrix
            Rows with the columns of the fit.
        a, b : int
            Rows of X.
        method : {"interventional", "path"}, optional
            What it means that a feature is left out, for trees. "interventional", the default: row a has the value of
            row b there. "path": splits on it are followed on both sides, by their shares of the training rows, as
            LightGBM's ``pred_contrib`` has it.

        Returns
        -------
        Explanation
        """
        features, model = self._check_rows(X), self._explained()
        pair = _check_pair(a, b, features.shape[0])
        values = self._rows_as_read(features, pair).astype(np.float64)
        parts = contributions_of(model, method, whole_query=False)
        found, names = parts.of_pair(*values), names_or_numbers(self._names(), self.n_features_in_)
        scores = None if found.tree_sums is None else self._scores_of_sums(found.tree_sums)
        one, other = (self._score(take_rows(features, pair)) if scores is None else scores).tolist()
        given = with_categories(values, model)
        return Explanation((int(a), int(b)), (one, other), found.values, given, names, parts.method)

    def explain_query(
        self, X: MatrixLike, qid: ArrayLike | None = None, query: object = None, *, method: str | None = None
    ) -> QueryExplanation:
        """Say what each feature adds to the score of each row of one query, against the query's mean score.

        Parameters
        ----------
        X : array, frame, table or sparse matrix
        qid : array-like, optional
            Query of each row of X; without it all rows are one query.
        query : object, optional
            The query among those of `qid`.
        method : {"interventional", "path"}, optional
            As for `explain`; by default "path" where the leaves of the trees have training rows, which takes
            time in proportion to the rows, not to their pairs.

        Returns
        -------
        QueryExplanation
        """
        features, model = self._check_rows(X), self._explained()
        rows = _rows_of_query(qid, query, features.shape[0])
        found = self._explained_rows(features, rows, contributions_of(model, method, whole_query=True))
        return replace(found, values=with_categories(found.values, model))

    def feature_functions(self, X: MatrixLike, features: Sequence[int] | None = None) -> list[FeatureFunction]:
        """Return what features do to a score by their value, those that move it most first.

        Parameters
        ----------
        X : array, frame, table or sparse matrix
            Rows that say which values occur. Where features act together in trees, the mean change of the scores of up
            to 256 of them is what a value does.
        features : sequence of int, optional
            Columns; by default all that a score may depend on.

        Returns
        -------
        list of FeatureFunction
        """
        checked, model = self._check_rows(X), self._explained()
        chosen = used_features(model) if features is None else _check_features(features, self.n_features_in_)
        drawn = np.argsort(hash_features(checked), kind="stable")[:ROWS_OF_MEANS]
        rows = self._rows_as_read(checked, drawn)
        return feature_functions(model, self._score, rows, names_or_numbers(self._names(), self.n_features_in_), chosen)

    def what_if(self, X: MatrixLike, a: int, b: int) -> list[WhatIf]:
        """Return, for each feature that alone can swap two rows, the smallest change of it in row a that does.

        Parameters
        ----------
        X : array, frame, table or sparse matrix
        a, b : int
            Rows of X.

        Returns
        -------
        list of WhatIf
            By feature; empty where no single feature can.
        """
        features, model = self._check_rows(X), self._explained()
        rows = self._rows_as_read(features, _check_pair(a, b, features.shape[0]))
        names = names_or_numbers(self._names(), self.n_features_in_)
        return smallest_changes(model, self._score, rows[0], rows[1], names)

    def effects(self, X: MatrixLike, features: Sequence[str | int] | None = None) -> Effects:
        """Return the effect of each feature on scores: what they are, on average, for each of its values.

        Exact, without a grid: what the feature adds in stumps and weighted sums, partial dependence in trees.

        Parameters
        ----------
        X : array, frame, table or sparse matrix
            Rows over which the other features are averaged, such as some thousand of the training rows.
        features : sequence of str or int, optional
            Names or numbers of the features; by default all that scores depend on.

        Returns
        -------
        Effects
            Curves by their spread over the rows, the largest first.
        """
        checked, model = self._check_rows(X), self._explained()
        names = names_or_numbers(self._names(), self.n_features_in_)
        chosen = None if features is None else [_feature_number(one, names) for one in features]
        rows = self._rows_as_read(checked, np.arange(checked.shape[0])).astype(np.float64)
        return effects_of(model, rows, chosen, names, thread_count(getattr(self, "n_jobs", None)))

    def _explained_rows(self, features: Features, rows: Array, parts: Contributions) -> QueryExplanation:
        """Explain the rows of one query; categories are codes."""
        values = self._rows_as_read(features, rows).astype(np.float64)
        found = parts.of_rows(values, thread_count(getattr(self, "n_jobs", None)))
        names = names_or_numbers(self._names(), self.n_features_in_)
        return QueryExplanation(rows, self._score(take_rows(features, rows)), found, values, names, parts.method)

    def _scores_of_sums(self, tree_sums: Array) -> Array | None:
        """Return the scores of rows from the sums of their trees, where these tell all."""
        return None

    def _explained(self) -> Exported:
        """Return the fitted ranker as explanations take it, or refuse it with the reason."""
        learned = [*vars(self).values()]
        before = _EXPLAINED.get(self)
        if before is not None and len(before[0]) == len(learned) and all(map(is_, before[0], learned)):
            return before[1]
        try:
            model = self._exported()
        except PodiumError as error:
            raise PodiumError(f"This {type(self).__name__} cannot be explained feature by feature. {error}") from None
        _EXPLAINED[self] = learned, model
        return model

    def _rows_as_read(self, features: Features, rows: Array) -> Array:
        """Return some rows, dense, as the model reads them."""
        return dense_rows(take_rows(features, rows))


def _check_pair(a: object, b: object, n_rows: int) -> Array:
    """Return two different rows of X."""
    for name, row in (("a", a), ("b", b)):
        if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < n_rows:
            raise PodiumError(f"{name} must be a row of X, from 0 to {n_rows - 1}; got {row!r}.")
    if a == b:
        raise PodiumError(f"a and b must be two rows of X; both are {a!r}.")
    return np.array([a, b], ROW)


def _feature_number(feature: object, names: tuple[str, ...]) -> int:
    """Return the number of a feature given by name or number."""
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool) and 0 <= feature < len(names):
        return int(feature)
    raise PodiumError(
        f"features must be names or numbers of features, from 0 to {len(names) - 1}; got {feature!r}"
        f"{near_matches(feature, names)}."
    )


def _check_features(features: Sequence[int], n_features: int) -> list[int]:
    """Return columns of X, each checked."""
    for one in features:
        if isinstance(one, bool) or not isinstance(one, int | np.integer) or not 0 <= one < n_features:
            raise PodiumError(f"features must be columns of X, from 0 to {n_features - 1}; got {one!r}.")
    return [int(one) for one in features]


def _rows_of_query(qid: ArrayLike | None, query: object, n_rows: int) -> Array:
    """Return the rows of one query."""
    if qid is None:
        return np.arange(n_rows, dtype=ROW)
    rows = np.flatnonzero(np.asarray(qid) == query)
    if len(rows) == 0:
        near = near_matches(query, map(str, np.unique(np.asarray(qid))))
        raise PodiumError(f"query must be one of those in qid; {query!r} is not{near}.")
    return rows
