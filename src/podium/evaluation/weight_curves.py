"""A measure as a function of one weight at a time (Burges 2010, "LM", section 4.2).

LM plots the mean M of a measure over w_i for each weight of a trained ranker, all others fixed: where M is highest at
the learned w_i* for every i, its smoothed gradient (M - M*)/(w_i - w_i*) vanishes there. Seen closely, the curves of a
linear ranker are step functions, whose steps are where two rows of a query cross: these are found exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from rich.table import Table

from podium._compiled import ROW, thread_count
from podium._magnitudes import check_integer
from podium._types import MatrixLike
from podium._validation import Array, PodiumError, check_labels
from podium.blending.line import LineObjective
from podium.evaluation.optimality import SCORES_AT_ONCE, Trial
from podium.evaluation.queries import grouped
from podium.evaluation.results import plain_text, table_of
from podium.evaluation.weight_space import is_linear, weight_space
from podium.measures import Measure, parse_measure


class Steps(NamedTuple):
    """A measure along one weight, exactly.

    Attributes
    ----------
    edges : ndarray of float64
        Moves of the weight, ascending: the ends of the curve, 0, and all moves at which the mean changes.
    values : ndarray of float64
        The mean between each edge and the next.
    """

    edges: Array
    values: Array


@dataclass(frozen=True, eq=False)
class WeightCurves:
    """What moving one weight at a time does to a measure; ``print(result)`` is a table.

    Attributes
    ----------
    measure : Measure
    value : float
        M*, the mean of the measure at the weights themselves.
    which : ndarray of int64
        Numbers of the weights that were moved.
    weights : ndarray of float64
        Where they stand, w_i*.
    moves : ndarray of float64
        What is added to the weight, from below 0 to above, 0 in the middle.
    values : ndarray of shape (n_weights, n_moves)
        Mean of the measure after each move of each weight.
    best_moves, best_values : ndarray of float64
        The best move of each weight that was seen, and the mean there; 0 and M* where none is better.
    steps : tuple of Steps, or None
        The whole curve of each weight, without gaps; only of linear rankers, and measures of the order.
    """

    measure: Measure
    value: float
    which: Array
    weights: Array
    moves: Array
    values: Array
    best_moves: Array
    best_values: Array
    steps: tuple[Steps, ...] | None

    @property
    def slopes(self) -> Array:
        """Smoothed gradient (M - M*)/(w_i - w_i*) by each move; 0 where nothing is moved."""
        ratios: Array = np.divide(
            self.values - self.value, self.moves, out=np.zeros_like(self.values), where=self.moves != 0
        )
        return ratios

    @property
    def rises(self) -> Array:
        """Whether some move of the weight betters the measure."""
        better: Array = self.best_moves != 0
        return better

    @property
    def is_optimum(self) -> bool:
        """Whether no weight, moved alone, betters the measure."""
        return not self.rises.any()

    def table(self) -> Table:
        """Return a row for each weight: where it stands, the change at both ends, and its best move."""
        sign = 1.0 if self.measure.higher_is_better else -1.0
        ends = sign * (self.values[:, [0, -1]] - self.value)
        best = sign * (self.best_values - self.value)
        rows = [
            [str(number), f"{weight:.4g}", f"{low:+.5f}", f"{high:+.5f}", f"{move:+.4g}", f"{change:+.5f}"]
            for number, weight, (low, high), move, change in zip(
                self.which, self.weights, ends, self.best_moves, best, strict=True
            )
        ]
        title = f"{self.measure} {self.value:.4f}, one weight moved at a time by up to {self.moves[-1]:.4g}"
        header = ["weight", "value", "change below", "change above", "best move", "best change"]
        return table_of(title, header, rows)

    def __str__(self) -> str:
        return plain_text(self.table())


def weight_curves(
    model: Any,
    X: MatrixLike | None,
    y: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    which: Sequence[int] | None = None,
    measure: str = "ndcg@10",
    radius: float = 0.1,
    n_moves: int = 10,
    n_jobs: int | None = None,
    **options: Any,
) -> WeightCurves:
    """Measure a linear or neural ranker as a function of each of its weights, the others fixed.

    Parameters
    ----------
    model, X, y, qid, group, weights
        As for `local_optimality`.
    which : sequence of int, optional
        Numbers of the weights to move, from 0; all by default.
    measure : str
        As `podium.evaluate` names them.
    radius : float
        Longest move, as a share of the length of the vector of weights (as it is where all weights are zero).
    n_moves : int
        Moves to either side, evenly spaced, at which the mean is measured.
    n_jobs : int, optional
        Threads; the answer does not depend on their number.
    **options
        Of the measure: ties, empty, gain, relevant, max_grade, sigma, convention.

    Returns
    -------
    WeightCurves

    Examples
    --------
    >>> import numpy as np
    >>> from podium import weight_curves
    >>> rows = np.eye(3)
    >>> curves = weight_curves(lambda weights: rows @ weights, None, [2, 1, 0], weights=[3.0, 2.0, 1.0])
    >>> curves.is_optimum, curves.values[:, 10].tolist()
    (True, [1.0, 1.0, 1.0])
    """
    labels, queries, _ = grouped(y, qid, group)
    n_threads = thread_count(n_jobs)
    ranker = weight_space(model, X, weights, len(labels), n_threads)
    trial = Trial(ranker, labels, queries, parse_measure(measure), {"n_jobs": n_jobs, **options})
    numbers = _check_which(which, len(ranker.weights))
    moves = (
        trial.length * _check_radius(radius) * np.arange(-check_integer(n_moves, "n_moves", 1), n_moves + 1) / n_moves
    )
    value = trial.value()
    values = np.array([_means_along(trial, number, moves) for number in numbers])
    steps = None
    if is_linear(ranker) and trial.measure.definition.by_order:
        objective = LineObjective(labels, queries.offsets, trial.measure, options, n_threads)
        steps = tuple(_steps(trial, objective, number, float(moves[-1])) for number in numbers)
    exact = [None] * len(numbers) if steps is None else steps
    best = [_best_move(trial, *one) for one in zip(numbers, [moves] * len(numbers), values, exact, strict=True)]
    best_moves, best_values = np.array(best).T
    own = ranker.weights[numbers]
    return WeightCurves(trial.measure, value, numbers, own, moves, values, best_moves, best_values, steps)


def _means_along(trial: Trial, number: int, moves: Array) -> Array:
    """Return the mean after each move of one weight."""
    means = np.empty(len(moves))
    step = max(1, SCORES_AT_ONCE // max(len(trial.labels), len(trial.ranker.weights)))
    for start in range(0, len(moves), step):
        part = slice(start, start + step)
        moved = np.tile(trial.ranker.weights, (len(moves[part]), 1))
        moved[:, number] += moves[part]
        means[part] = trial.means_at(moved)
    return means


def _steps(trial: Trial, objective: LineObjective, number: int, reach: float) -> Steps:
    """Return the curve of one weight of a linear ranker: along it, scores are on a line to either side."""
    weights = np.tile(trial.ranker.weights, (3, 1))
    weights[:, number] += [-reach, 0.0, reach]
    below, here, above = trial.scores(weights)
    down, up = objective.curve(below, here), objective.curve(above, here)
    edges = np.concatenate([-reach * down.edges[::-1], reach * up.edges[1:]])
    edges[len(down.edges) - 1] = 0.0  # not -0.0
    return Steps(edges, np.concatenate([down.values[::-1], up.values]))


def _best_move(trial: Trial, number: int, moves: Array, values: Array, steps: Steps | None) -> tuple[float, float]:
    """Return the best move seen and its mean, measured anew; of moves equally good the shortest."""
    sign = 1.0 if trial.measure.higher_is_better else -1.0
    middle = len(moves) // 2
    if steps is not None:
        gaps = np.argsort(-sign * steps.values, kind="stable")[:1]
        found = (steps.edges[gaps] + steps.edges[gaps + 1]) / 2
        moves, values = np.append(moves, found), np.append(values, _means_along(trial, number, found))
    best = np.lexsort((np.abs(moves), -sign * values))[0]
    if sign * (values[best] - values[middle]) <= 0:
        best = middle
    return float(moves[best]), float(values[best])


def _check_which(which: ArrayLike | None, n_weights: int) -> Array:
    """Return the numbers of the weights to move."""
    if which is None:
        return np.arange(n_weights, dtype=ROW)
    numbers = np.asarray(which)
    if numbers.ndim != 1 or len(numbers) == 0 or numbers.dtype.kind not in "iu":
        raise PodiumError(f"which must list numbers of weights, at least one; got {which!r}.")
    if numbers.min() < 0 or numbers.max() >= n_weights:
        raise PodiumError(f"which must list numbers from 0 to {n_weights - 1}, one for each weight; got {which!r}.")
    return numbers.astype(ROW)


def _check_radius(radius: float) -> float:
    """Return the longest move."""
    [share] = check_labels(np.atleast_1d(radius), 1, "radius")
    if share <= 0:
        raise PodiumError(f"radius must be a number above 0; got {radius!r}.")
    return float(share)
