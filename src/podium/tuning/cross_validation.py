"""Cross-validation by query: the rows of a query are never learned from and measured on at once."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rich.table import Table

from podium._result_frames import Columns, Framed
from podium._types import Json, MatrixLike
from podium._validation import Array, PodiumError, check_choice
from podium.evaluation.queries import COMPARE_OPTIONS, DEFAULT_MEASURES, parse_measures
from podium.evaluation.results import plain_text, table_of
from podium.measures import parse_measure
from podium.rankers import Estimator
from podium.tuning.held_out import (
    LabelledRows,
    fit_on,
    means_on,
    query_folds,
    ranker_of,
    ranking_scores,
    rounds_of,
)
from podium.tuning.interruption import noticing_interrupts


@dataclass(frozen=True)
class Fold:
    """One fold: a fit on the queries of the others, measured on its own.

    Attributes
    ----------
    number : int
        From 1 on.
    train_queries, test_queries : int
    rounds : int or None
        Rounds that predictions use; None of rankers without rounds.
    seconds : float
        Of the fit and its measuring.
    means : dict of str to float
        Mean of each measure over the fold's queries.
    """

    number: int
    train_queries: int
    test_queries: int
    rounds: int | None
    seconds: float
    means: dict[str, float]


@dataclass(frozen=True, eq=False)
class CrossValidation(Framed):
    """What a ranker reaches on queries that it has not seen; ``print(result)`` is a table.

    ``result["ndcg@10"]`` is the mean over the folds.

    Attributes
    ----------
    ranker : str
    folds : tuple of Fold
        Those that were done.
    n_folds : int
        Those that were wanted; more than were done if Ctrl-C was pressed.
    scores : ndarray of float64
        Score of each row by the model that has not seen its query, in the caller's order; NaN in folds not done.
    """

    ranker: str
    folds: tuple[Fold, ...]
    n_folds: int
    scores: Array

    def __getitem__(self, name: str) -> float:
        return math.fsum(self.values(name)) / len(self.folds)

    @property
    def interrupted(self) -> bool:
        """Whether folds are missing."""
        return len(self.folds) < self.n_folds

    def values(self, name: str) -> list[float]:
        """Return the mean of each fold by one measure."""
        key = str(parse_measure(name))
        if key not in self.folds[0].means:
            raise PodiumError(f"{name!r} was not measured; measured were {', '.join(self.folds[0].means)}.")
        return [fold.means[key] for fold in self.folds]

    def standard_error(self, name: str) -> float:
        """Return the standard error of the mean over folds; NaN of one fold."""
        values = self.values(name)
        if len(values) < 2:
            return math.nan
        return float(np.std(values, ddof=1)) / math.sqrt(len(values))

    def to_dict(self) -> dict[str, Json]:
        """Return all but the scores as plain values, ready for JSON."""
        measures = {
            name: {"mean": self[name], "standard_error": self.standard_error(name)} for name in self.folds[0].means
        }
        folds = [asdict(fold) for fold in self.folds]
        return {
            "ranker": self.ranker,
            "n_folds": self.n_folds,
            "interrupted": self.interrupted,
            "measures": measures,
            "folds": folds,
        }

    def columns(self) -> Columns:
        """Return a row for each fold, as columns."""
        rows = [{**asdict(fold), **fold.means} for fold in self.folds]
        return {name: [row[name] for row in rows] for name in rows[0] if name != "means"}

    def table(self) -> Table:
        """Return folds, mean and standard error as a rich table."""
        names = list(self.folds[0].means)
        with_rounds = self.folds[0].rounds is not None
        rows = [
            [str(one.number), str(one.train_queries), str(one.test_queries)]
            + ([str(one.rounds)] if with_rounds else [])
            + [f"{one.seconds:.2f}", *(f"{one.means[name]:.4f}" for name in names)]
            for one in self.folds
        ]
        blank = [""] * (4 if with_rounds else 3)
        rows.append(["mean", *blank, *(f"{self[name]:.4f}" for name in names)])
        rows.append(["standard error", *blank, *(f"{self.standard_error(name):.4f}" for name in names)])
        header = ["fold", "train queries", "test queries", *(["rounds"] if with_rounds else []), "seconds", *names]
        done = f"{len(self.folds)} of {self.n_folds} folds" if self.interrupted else f"{self.n_folds} folds"
        return table_of(f"{self.ranker}, {done} by query", header, rows)

    def __str__(self) -> str:
        return plain_text(self.table())


def cross_validate(
    ranker: Estimator | type[Estimator] | str,
    X: MatrixLike,
    y: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    n_folds: int = 5,
    measures: str | Iterable[str] = DEFAULT_MEASURES,
    random_state: int = 0,
    on_fold: Callable[[Fold], None] | None = None,
    on_start: Callable[[int], None] | None = None,
    **options: Any,
) -> CrossValidation:
    """Fit a ranker on all queries but those of one fold, measure it there, and so for each fold.

    Ctrl-C ends it with the folds that are done. Ordinal rankers are measured by their `predict_rank`.

    Parameters
    ----------
    ranker : ranker, class or str
        Any ranker that learns from labels; it is copied and stays as it is.
    X : array, frame, table or sparse matrix
    y : array-like
        Label of each row, numbers.
    qid, group : array-like
        Query id of each row, or sizes of queries whose rows stand together.
    n_folds : int
        From 2 to the number of queries.
    measures : str or iterable of str
        As for `podium.evaluate`.
    random_state : int
        Seed of the shuffle that deals queries out to folds.
    on_fold : callable, optional
        Called with each `Fold` when it is done.
    on_start : callable, optional
        Called with the number of fits ahead, when all is checked and before the first one.
    **options
        Further options of `podium.evaluate`: ties, empty, gain, relevant, max_grade, sigma, convention, n_jobs.

    Returns
    -------
    CrossValidation

    Examples
    --------
    >>> from podium import RankBoost, cross_validate, make_search
    >>> data = make_search(n_queries=30, random_state=0)
    >>> result = cross_validate(RankBoost(5), data.X, data.y, qid=data.qid, n_folds=3, measures="ndcg@5")
    >>> len(result.folds), 0 < result["ndcg@5"] < 1
    (3, True)
    """
    for option in options:
        check_choice(option, COMPARE_OPTIONS, "An option of cross_validate")
    wanted = [measure.name for measure in parse_measures(measures)]
    model = ranker_of(ranker)
    rows = LabelledRows.of(X, y, qid, group)
    fold_of_row = query_folds(len(rows.ids), n_folds, random_state)[rows.qid]
    done: list[Fold] = []
    scores = np.full(len(rows.y), np.nan)
    if on_start is not None:
        on_start(n_folds)
    try:
        with noticing_interrupts() as interruption:
            for number in range(n_folds):
                held_out = fold_of_row == number
                fold, found = _fit_fold(number + 1, model, rows, held_out, wanted, options)
                interruption.check()
                scores[held_out] = found
                done.append(fold)
                if on_fold is not None:
                    on_fold(fold)
    except KeyboardInterrupt:
        if not done:
            raise PodiumError("Interrupted before the first fold was done: nothing was measured.") from None
    return CrossValidation(type(model).__name__, tuple(done), n_folds, scores)


def _fit_fold(
    number: int, model: Estimator, rows: LabelledRows, held_out: Array, measures: list[str], options: dict[str, Any]
) -> tuple[Fold, Array]:
    """Fit on the rows that are not held out; return what is measured on those that are, and their scores."""
    start = time.perf_counter()
    train, test = rows.take(~held_out), rows.take(held_out)
    fitted = fit_on(ranker_of(model), train)
    scores = ranking_scores(fitted, test.X)
    means = means_on(scores, test, measures, **options)
    seconds = time.perf_counter() - start
    return Fold(number, train.n_queries, test.n_queries, rounds_of(fitted), seconds, means), scores
