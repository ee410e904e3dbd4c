"""What a feature does to a score, as a function of its value: exact where features act apart, a mean over rows else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from podium._validation import Array
from podium.export import Exported, Linear, NetScore, TreeSum, step_functions
from podium.stumps import StepFunction

POINTS = 40
"""Values of a feature at which a mean over rows is taken, at most: quantiles of the rows' own."""
MARGIN = 0.04
"""Share of the range of a feature that is drawn beyond its ends."""


@dataclass(frozen=True, eq=False)
class FeatureFunction:
    """What a feature adds to a score, by its value.

    Attributes
    ----------
    feature : int
    name : str
    kind : str
        "steps": exactly what it adds, constant between thresholds; "line": exactly, in a weighted sum; "mean": the mean
        change of the score of some rows that are given the value, where features act together in trees.
    x, y : ndarray of float64
        Corners of the function, ascending in x; two of one x where it jumps.
    missing : float or None
        What it adds where it is missing; None if no row misses it.
    categories : tuple of str
        What the values 0, 1, … of a categorical feature stand for; empty for numbers.
    """

    feature: int
    name: str
    kind: str
    x: Array
    y: Array
    missing: float | None
    categories: tuple[str, ...] = ()

    @property
    def spread(self) -> float:
        """How far the feature moves a score."""
        return float(np.ptp(self.y)) if len(self.y) else 0.0


def feature_functions(
    model: Exported, score: Callable[[Array], Array], rows: Array, names: Sequence[str], features: Sequence[int]
) -> list[FeatureFunction]:
    """Return the functions of some features, those that move scores most first.

    Parameters
    ----------
    model : TreeSum or Linear
    score : callable
        From rows, as the model reads them, to their scores.
    rows : ndarray
        Rows whose values say what range is drawn, and whose scores means are taken over.
    names : sequence of str
        Of all features.
    features : sequence of int
    """
    if isinstance(model, Linear):
        found = [_line(model, j, rows[:, j], names[j]) for j in features]
    elif isinstance(model, TreeSum) and step_functions.is_stumps(model):
        steps = {step.feature: step for step in step_functions.steps(model)}
        found = [_steps(steps[j], rows[:, j], names[j]) for j in features if j in steps]
    else:
        found = [_mean_change(model, score, rows, j, names[j]) for j in features]
    return sorted(found, key=lambda one: (-one.spread, one.feature))


def _steps(step: StepFunction, column: Array, name: str) -> FeatureFunction:
    """Return a step function with a corner on each side of each threshold."""
    cuts = np.clip(step.thresholds, *_finite_ends())
    low, high = _range(np.concatenate([_known(column), cuts]))
    x = np.concatenate([[low], np.repeat(cuts, 2), [high]])
    return FeatureFunction(step.feature, name, "steps", x, np.repeat(step.values, 2), _if_missing(column, step.missing))


def _line(model: Linear, feature: int, column: Array, name: str) -> FeatureFunction:
    """Return what a weighted feature adds."""
    weight, ends = model.weights[feature], np.array(_range(_known(column)))
    missing = _if_missing(column, float(weight * model.missing[feature]))
    return FeatureFunction(feature, name, "line", ends, weight * ends, missing)


def _mean_change(
    model: TreeSum | NetScore, score: Callable[[Array], Array], rows: Array, feature: int, name: str
) -> FeatureFunction:
    """Return the mean change of the rows' scores that a value of the feature makes."""
    known = model.categories if isinstance(model, TreeSum) else {}
    categories = tuple(map(str, known[feature])) if feature in known else ()
    points = np.arange(len(categories), dtype=float) if categories else _points(_known(rows[:, feature]))
    now = float(np.mean(score(rows)))
    values = [_mean_at(score, rows, feature, value) - now for value in points.tolist()]
    lacks = bool(np.isnan(rows[:, feature]).any())
    missing = _mean_at(score, rows, feature, np.nan) - now if lacks else None
    return FeatureFunction(feature, name, "mean", points, np.array(values), missing, categories)


def _mean_at(score: Callable[[Array], Array], rows: Array, feature: int, value: float) -> float:
    """Return the mean score of rows that have one value of a feature."""
    given = rows.copy()
    given[:, feature] = value
    return float(np.mean(score(given)))


def _points(column: Array) -> Array:
    """Return the values of a column, or quantiles of them where they are many."""
    values = np.unique(column.astype(float))
    if len(values) <= POINTS:
        return values
    return np.unique(np.quantile(values, np.linspace(0, 1, POINTS), method="nearest"))


def _range(values: Array) -> tuple[float, float]:
    """Return the ends of what is drawn of a feature."""
    if len(values) == 0:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    margin = MARGIN * (high - low) if high > low else 0.5
    return low - margin, high + margin


def _known(column: Array) -> Array:
    """Return the finite values of a column."""
    known: Array = column[np.isfinite(column)].astype(float)
    return known


def _finite_ends() -> tuple[float, float]:
    """Return the largest numbers that can still be padded and drawn."""
    return -1e300, 1e300


def _if_missing(column: Array, value: float) -> float | None:
    """Return the value where some row misses the feature."""
    return float(value) if bool(np.isnan(column).any()) else None
