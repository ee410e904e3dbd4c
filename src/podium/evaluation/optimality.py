"""Whether a ranker's weights are a local optimum of a measure (Burges 2010, "LM", section 4.2).

A measure of ranking has no gradient to look at, but weights can be moved a little in random directions. Let p be the
chance that a random direction betters the measure. If n directions show none that does, p ≤ p₀ with the confidence
1 - δ, where (1 - p₀)ⁿ ≤ δ (LM Eq. 9): n = 459 for p₀ = δ = 0.01.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rich.table import Table
from scipy.special import betaincinv

from podium._compiled import ROW, thread_count
from podium._magnitudes import check_integer
from podium._types import MatrixLike
from podium._validation import Array, PodiumError, check_choice, check_labels
from podium.data import Queries
from podium.evaluation.queries import COMPARE_OPTIONS, grouped, resampling_settings
from podium.evaluation.results import plain_text, table_of
from podium.evaluation.weight_space import WeightSpace, weight_space
from podium.measures import Measure, QueryValues, measure_queries, parse_measure, weighted_mean

SCORES_AT_ONCE = 2**20
"""Scores, and weights, held at a time: a bound on memory."""

CURVE_POINTS = 21
"""Points of the curve along the best direction."""


@dataclass(frozen=True, eq=False)
class LocalOptimality:
    """What moving the weights of a ranker does to a measure; ``print(result)`` is a table.

    Attributes
    ----------
    measure : Measure
    value : float
        M*, the mean of the measure at the weights themselves.
    radii : ndarray of float64
        Lengths of the moves, as shares of the length of the weights.
    values : ndarray of shape (n_directions, n_radii)
        Mean of the measure after each move.
    confidence : float
        Of the bounds.
    best_value : float
        Best of `values`.
    best_weights : ndarray of float64
        The weights there; better than the ranker's own where any direction rises.
    curve : tuple of two ndarrays
        Moves along the direction of `best_weights`, back and forth, as shares, and the means there.
    """

    measure: Measure
    value: float
    radii: Array
    values: Array
    confidence: float
    best_value: float
    best_weights: Array
    curve: tuple[Array, Array]

    @property
    def changes(self) -> Array:
        """Gain by each move: positive where the measure gets better."""
        gains: Array = self.values - self.value
        return gains if self.measure.higher_is_better else -gains

    @property
    def rises(self) -> Array:
        """Number of directions that better the measure, at each radius."""
        counts: Array = np.count_nonzero(self.changes > 0, axis=0)
        return counts

    @property
    def falls(self) -> Array:
        """Number of directions that worsen it, at each radius."""
        counts: Array = np.count_nonzero(self.changes < 0, axis=0)
        return counts

    @property
    def bounds(self) -> Array:
        """Upper bound of p at each radius: the chance that a random direction betters the measure."""
        return np.array([rise_bound(int(count), len(self.values), self.confidence) for count in self.rises])

    @property
    def is_optimum(self) -> bool:
        """Whether no direction rises at any radius."""
        return not self.rises.any()

    def table(self) -> Table:
        """Return counts, bounds and changes by radius as a rich table."""
        n_directions, changes = len(self.values), self.changes
        same = n_directions - self.falls - self.rises
        columns = (
            [f"{radius:g}" for radius in self.radii],
            *([str(count) for count in counts] for counts in (self.falls, same, self.rises)),
            [f"{bound:.4f}" for bound in self.bounds],
            *([f"{change:+.5f}" for change in some] for some in (changes.mean(axis=0), changes.max(axis=0))),
        )
        rows = [list(row) for row in zip(*columns, strict=True)]
        title = f"{self.measure} {self.value:.4f}, {n_directions} random directions"
        level = f"p at most ({100 * self.confidence:g}%)"
        return table_of(title, ["move", "worse", "same", "better", level, "mean change", "best change"], rows)

    def __str__(self) -> str:
        return plain_text(self.table())


def local_optimality(
    model: Any,
    X: MatrixLike | None,
    y: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    measure: str = "ndcg@10",
    n_directions: int = 459,
    radii: Sequence[float] = (0.01, 0.03, 0.1, 0.3),
    confidence: float = 0.99,
    random_state: int = 0,
    n_jobs: int | None = None,
    **options: Any,
) -> LocalOptimality:
    """Test whether the weights of a linear or neural ranker are a local optimum of a measure.

    Directions are drawn from a spherical Gaussian. The weights move along each by every radius, and the mean of the
    measure there is compared with the mean M* at the weights themselves. Seen closely, M is a step function: a radius
    at which most directions change nothing is too small to say much. Directions look at all weights alike, so the
    features should have comparable scales.

    Parameters
    ----------
    model : object
        A linear ranker with ``coef_``; a `RankNet` or `LambdaRank`; a torch module (any object with ``parameters()``
        that maps rows to scores); or a function of the weights that returns the score of each row, where `X` is None
        and `weights` are given.
    X : array-like or None
        Features, without missing values for a linear ranker.
    y : array-like
        Labels.
    qid, group : array-like, optional
        Query of each row, or sizes of queries whose rows stand together.
    weights : array-like, optional
        Of a function, and only of a function: where to start from.
    measure : str
        As `podium.evaluate` names them.
    n_directions : int
        See `directions_needed`; 459 without a rise show that p ≤ 0.01 with 99 % confidence.
    radii : sequence of float
        Lengths of the moves, as shares of the length of the weights (as they are where all weights are zero).
    confidence : float
        Of the bounds of p.
    random_state : int
        Seed of the directions.
    n_jobs : int, optional
        Threads; the answer does not depend on their number.
    **options
        Of the measure: ties, empty, gain, relevant, max_grade, sigma, convention.

    Returns
    -------
    LocalOptimality

    Examples
    --------
    >>> import numpy as np
    >>> from podium import local_optimality
    >>> rows = np.eye(3)
    >>> result = local_optimality(lambda weights: rows @ weights, None, [2, 1, 0], weights=[3.0, 2.0, 1.0])
    >>> result.is_optimum, result.bounds.round(4).tolist()
    (True, [0.01, 0.01, 0.01, 0.01])
    """
    labels, queries, _ = grouped(y, qid, group)
    shares = _check_settings(n_directions, radii, confidence, random_state)
    ranker = weight_space(model, X, weights, len(labels), thread_count(n_jobs))
    trial = Trial(ranker, labels, queries, parse_measure(measure), {"n_jobs": n_jobs, **options})
    value = trial.value()
    values = trial.along_random(n_directions, shares, random_state)
    good = values if trial.measure.higher_is_better else -values
    number, place = np.unravel_index(np.argmax(good), good.shape)
    direction = random_direction(random_state, int(number), len(ranker.weights))
    offsets = np.linspace(-1, 1, CURVE_POINTS) * shares.max()
    curve = trial.means(offsets[:, None] * direction)
    best = ranker.weights + trial.length * shares[place] * direction
    return LocalOptimality(
        trial.measure, value, shares, values, float(confidence), float(values[number, place]), best, (offsets, curve)
    )


def directions_needed(p: float, confidence: float) -> int:
    """Return the least number of random directions that, none rising, bound the chance of a rise by p (LM Eq. 9).

    Examples
    --------
    >>> directions_needed(0.01, 0.99)
    459
    """
    return math.ceil(math.log(1 - confidence) / math.log(1 - p))


def rise_bound(n_rises: int, n_directions: int, confidence: float) -> float:
    """Return the one-sided exact bound (Clopper and Pearson) of the chance of a rise; LM Eq. 9 where none rose."""
    if n_rises == n_directions:
        return 1.0
    return float(betaincinv(n_rises + 1, n_directions - n_rises, confidence))


def random_direction(seed: int, number: int, n_weights: int) -> Array:
    """Return direction `number`: uniform on the sphere, by a spherical Gaussian."""
    drawn = np.random.default_rng([seed, number]).standard_normal(n_weights)
    unit: Array = drawn / np.linalg.norm(drawn)
    return unit


class Trial:
    """Means of a measure at moved weights; moves are shares of the length of the weights."""

    def __init__(
        self, ranker: WeightSpace, labels: Array, queries: Queries, measure: Measure, options: dict[str, Any]
    ) -> None:
        for name in options:
            check_choice(name, COMPARE_OPTIONS, "An option of the measure")
        self.ranker, self.labels, self.queries = ranker, labels, queries
        self.measure, self.options = measure, options
        self.length = float(np.linalg.norm(ranker.weights)) or 1.0

    def value(self) -> float:
        """Return M*, the mean where nothing is moved."""
        found = self._measured(self.scores(self.ranker.weights[None, :]))
        if math.isnan(found.mean):
            raise PodiumError(f"{self.measure} is not defined here: no query has {found.lacking}.")
        return found.mean

    def scores(self, weights: Array) -> Array:
        """Return the scores of all rows, grouped by query, at each row of weights."""
        return self.ranker.scores(weights)[:, self.queries.rows]

    def means(self, moves: Array) -> Array:
        """Return the mean after each move."""
        return self.means_at(self.ranker.weights + self.length * moves)

    def means_at(self, weights: Array) -> Array:
        """Return the mean at each row of weights; all are measured as the queries of one long list."""
        found = self._measured(self.scores(weights))
        pairs = zip(found.values.reshape(len(weights), -1), found.weights.reshape(len(weights), -1), strict=True)
        return np.array([weighted_mean(values, weights) for values, weights in pairs])

    def _measured(self, scores: Array) -> QueryValues:
        """Return the values of all queries for each row of scores."""
        n_moves, n_rows = scores.shape
        offsets = np.add.outer(n_rows * np.arange(n_moves, dtype=ROW), self.queries.offsets[:-1]).ravel()
        return measure_queries(
            self.measure,
            np.tile(self.labels, n_moves),
            scores.ravel(),
            np.append(offsets, n_moves * n_rows),
            **self.options,
        )

    def along_random(self, n_directions: int, shares: Array, seed: int) -> Array:
        """Return the mean at each share of each direction."""
        n_weights = len(self.ranker.weights)
        values = np.empty((n_directions, len(shares)))
        step = max(1, SCORES_AT_ONCE // (len(shares) * max(len(self.labels), n_weights)))
        for start in range(0, n_directions, step):
            some = range(start, min(start + step, n_directions))
            drawn = np.array([random_direction(seed, number, n_weights) for number in some])
            moves = (drawn[:, None, :] * shares[:, None]).reshape(-1, n_weights)
            values[start : some.stop] = self.means(moves).reshape(len(some), len(shares))
        return values


def _check_settings(n_directions: int, radii: ArrayLike, confidence: float, random_state: int) -> Array:
    """Check how the test is made and return the radii."""
    resampling_settings(confidence, 0, random_state)
    check_integer(n_directions, "n_directions", 1)
    shares = check_labels(radii, np.size(radii), "radii")
    if len(shares) == 0 or (shares <= 0).any():
        raise PodiumError(f"radii must be positive numbers, at least one; got {radii!r}.")
    return shares
