"""Rows of some queries to learn from and of others to measure on, and any ranker fitted on the ones for the others."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from podium._frames import is_frame, plain_array
from podium._magnitudes import check_integer
from podium._types import MatrixLike
from podium._validation import Array, PodiumError, check_choice, check_dimensions, check_labels, check_queries
from podium.evaluation import evaluate
from podium.rankers import RANKERS, Estimator, OrdinalRanker
from podium.rankers.boosted import Boosted
from podium.rankers.evaluation_data import eval_sets, one_per_eval_set

HELD_OUT_FOLDS = 5
"""One in so many queries is held out where no evaluation set is given."""


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows with labels and queries.

    Attributes
    ----------
    X : array, frame, table or sparse matrix
    y : ndarray of float64
    qid : ndarray of int64
        Number of each row's query, in the order of `ids`.
    ids : ndarray
        The caller's id of each query.
    """

    X: MatrixLike
    y: Array
    qid: Array
    ids: Array

    @classmethod
    def of(
        cls, X: MatrixLike, y: ArrayLike, qid: ArrayLike | None, group: ArrayLike | None, name: str = "X"
    ) -> LabelledRows:
        """Check labels and queries; features are checked by the ranker."""
        shape = X.shape if hasattr(X, "shape") else plain_array(X, name).shape
        check_dimensions(len(shape), name)
        n_rows = shape[0]
        codes, ids = check_queries(qid, group, n_rows)
        if len(ids) < 2:
            raise PodiumError(f"{name} must have at least two queries, some to learn from and some to measure on.")
        return cls(X, check_labels(y, n_rows), codes, ids)

    @property
    def n_queries(self) -> int:
        """Queries that have rows."""
        return len(np.unique(self.qid))

    @property
    def n_features(self) -> int:
        """Columns of X."""
        return int(np.shape(self.X)[1])  # type: ignore[arg-type]

    def take(self, mask: Array) -> LabelledRows:
        """Return the rows of a mask."""
        rows = np.flatnonzero(mask)
        return LabelledRows(_rows_of(self.X, rows), self.y[rows], self.qid[rows], self.ids)


def _rows_of(X: Any, rows: Array) -> Any:
    """Return some rows of a matrix, frame or table."""
    if hasattr(X, "iloc"):  # pandas
        return X.iloc[rows]
    if is_frame(X):
        return X.take(rows) if hasattr(X, "take") else X[rows]  # pyarrow, polars
    return X.tocsr()[rows] if hasattr(X, "tocsr") else np.asarray(X)[rows]


def query_folds(n_queries: int, n_folds: int, random_state: int) -> Array:
    """Return the fold of each query: queries shuffled and dealt out in turn, so that folds differ by one query at most.

    Parameters
    ----------
    n_queries : int
        In the order of their ids, so that no order of rows changes the folds.
    n_folds : int
    random_state : int
        Seed of the shuffle.
    """
    check_integer(n_folds, "n_folds", 2)
    if n_folds > n_queries:
        raise PodiumError(f"n_folds must be at most the number of queries, {n_queries}; got {n_folds}.")
    check_integer(random_state, "random_state", 0)
    folds = np.empty(n_queries, np.int64)
    folds[np.random.default_rng(random_state).permutation(n_queries)] = np.arange(n_queries) % n_folds
    return folds


def learned_and_held_out(
    rows: LabelledRows, eval_set: object, eval_qid: object, eval_group: object, random_state: int
) -> tuple[LabelledRows, LabelledRows]:
    """Return what is learned from and what is measured on."""
    sets = eval_sets(eval_set)
    qids, groups = (
        one_per_eval_set(beside, len(sets), name)
        for beside, name in ((eval_qid, "eval_qid"), (eval_group, "eval_group"))
    )
    if eval_set is None:
        folds = query_folds(len(rows.ids), min(HELD_OUT_FOLDS, len(rows.ids)), random_state)
        held_out = folds[rows.qid] == 0
        return rows.take(~held_out), rows.take(held_out)
    if len(sets) != 1:
        raise PodiumError(f"eval_set must have one entry, such as [(X_valid, y_valid)]; got {len(sets)}.")
    return rows, LabelledRows.of(*sets[0], qids[0], groups[0], "eval_set")


def ranker_of(ranker: Estimator | type[Estimator] | str, **parameters: Any) -> Estimator:
    """Return an unfitted copy of a ranker, given itself, as a class or by name, with some parameters set."""
    if isinstance(ranker, str):
        ranker = RANKERS[check_choice(ranker, RANKERS, "ranker")]
    if isinstance(ranker, type) and issubclass(ranker, Estimator):
        ranker = ranker()
    if not isinstance(ranker, Estimator):
        raise PodiumError(f"ranker must be a ranker of Podium, its class or its name; got {ranker!r}.")
    made: Estimator = clone(ranker).set_params(**parameters)
    made._check_parameters()
    return made


def fit_on(model: Estimator, train: LabelledRows, valid: LabelledRows | None = None) -> Estimator:
    """Fit a ranker, without the checkpoint of a single fit; a boosted one is measured on `valid` after each round."""
    if isinstance(model, Boosted):
        model.checkpoint = None
    known = inspect.signature(model.fit).parameters
    given: dict[str, Any] = {"qid": train.qid} if "qid" in known else {}
    if valid is not None and isinstance(model, Boosted):
        given["eval_set"] = [(valid.X, valid.y)]
        if "eval_qid" in known:
            given["eval_qid"] = [valid.qid]
    fitted: Estimator = model.fit(train.X, train.y, **given)
    return fitted


def ranking_scores(model: Estimator, X: MatrixLike) -> Array:
    """Return what a fitted ranker ranks rows by: of an ordinal ranker its real-valued ranks, not the grades."""
    scores: Array = model.predict_rank(X) if isinstance(model, OrdinalRanker) else model.predict(X)
    return scores


def means_on(scores: Array, test: LabelledRows, measures: str | Iterable[str], **options: Any) -> dict[str, float]:
    """Return the mean of each measure over the queries of held-out rows."""
    found = evaluate(test.y, scores, qid=test.qid, measures=measures, n_resamples=0, **options)
    return {name: found[name] for name in found}


def rounds_of(model: Estimator) -> int | None:
    """Return the rounds that predictions use; None of a ranker without rounds."""
    rounds: int | None = getattr(model, "best_iteration_", None)
    return rounds
