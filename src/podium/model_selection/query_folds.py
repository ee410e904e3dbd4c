"""Folds of whole queries, for cross-validation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator

from podium._magnitudes import check_integer
from podium._types import MatrixLike, Seed
from podium._validation import Array, PodiumError, check_queries, check_seed


class QueryKFold(BaseCrossValidator):
    """K folds of whole queries: no query has rows in training and test.

    Parameters
    ----------
    n_splits : int
        Number of folds, at least 2.
    shuffle : bool
        Whether queries are dealt out at random, each fold as many as another; or by size, so that folds have about as
        many rows as each other.
    random_state : int, RandomState or None
        Seed of the shuffling.

    Notes
    -----
    With scikit-learn's metadata routing, `qid` given to ``GridSearchCV(...).fit`` or in the `params` of
    ``cross_validate`` comes here by itself; without it, give `groups`. Folds depend on the ids of queries, not on the
    order of rows.

    Examples
    --------
    >>> qid = ["a", "b", "a", "c", "b", "d"]
    >>> [test.tolist() for _, test in QueryKFold(2).split(np.zeros((6, 1)), qid=qid)]
    [[0, 2, 3], [1, 4, 5]]
    """

    # Mangled by Python, found by scikit-learn whatever the class is called: what is taken without being asked to.
    __metadata_request__split: ClassVar[dict[str, bool]] = {"qid": True, "groups": True}

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, random_state: Seed = None) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def split(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        qid: ArrayLike | None = None,
    ) -> Iterator[tuple[Array, Array]]:
        """Yield the rows to learn from and the rows to test on, fold by fold.

        Parameters
        ----------
        X, y
            The data; only the number of rows matters.
        groups, qid : array-like
            Query of each row, by either name.
        """
        fold_of_row = self._folds(qid if qid is not None else groups, _n_rows(X))
        for fold in range(self.n_splits):
            yield np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold)

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None, qid: object = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def _folds(self, qid: ArrayLike | None, n_rows: int) -> Array:
        """Return the fold of each row."""
        check_integer(self.n_splits, "n_splits", 2)
        if qid is None:
            raise PodiumError(
                "QueryKFold needs the query of each row: give qid, which comes here by itself with "
                "sklearn.set_config(enable_metadata_routing=True), or groups."
            )
        codes, ids = check_queries(qid, None, n_rows)
        if len(ids) < self.n_splits:
            raise PodiumError(f"n_splits must not be above the number of queries, {len(ids)}; got {self.n_splits}.")
        sizes = np.bincount(codes, minlength=len(ids))
        fold_of_query = self._dealt(len(ids)) if self.shuffle else _balanced(sizes, self.n_splits)
        folds: Array = fold_of_query[codes]
        return folds

    def _dealt(self, n_queries: int) -> Array:
        """Return the fold of each query, dealt out at random in equal numbers."""
        fold_of_query = np.empty(n_queries, np.int64)
        drawn = np.random.default_rng(check_seed(self.random_state)).permutation(n_queries)
        fold_of_query[drawn] = np.arange(n_queries) % self.n_splits
        return fold_of_query


def _balanced(sizes: Array, n_folds: int) -> Array:
    """Return the fold of each query: the largest first, each to the fold with the fewest rows so far."""
    fold_of_query, rows = np.empty(len(sizes), np.int64), np.zeros(n_folds, np.int64)
    for query in np.argsort(-sizes, kind="stable").tolist():
        fold_of_query[query] = fold = int(np.argmin(rows))
        rows[fold] += sizes[query]
    return fold_of_query


def _n_rows(X: MatrixLike) -> int:
    """Return the number of rows of data of any kind."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)  # type: ignore[arg-type]
