"""Effects of single features: what the score of a model is, on average, for each value of one feature.

For a sum of stumps or of weighted features that is what the feature adds, exactly. For trees it is partial dependence
(Friedman 2001, "Greedy function approximation", section 8.2): the mean score of some rows that all have one value of
the feature and keep their own values of the others. A tree is constant in the feature between its thresholds, so that
one walk of each row, on both sides of the splits on the feature, gives the whole curve: no grid, and nothing left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium._compiled import run_threads
from podium._result_frames import Columns, Framed
from podium._types import Json
from podium._validation import Array, PodiumError, near_matches
from podium.data import hash_features
from podium.explain.dependence import category_sums, step_sums, trees_with
from podium.explain.split_sides import Splits, splits_of
from podium.explain.what_if import used_features
from podium.export import Exported, Linear, NetScore, TreeSum
from podium.trees import Forest


@dataclass(frozen=True, eq=False)
class EffectCurve:
    """The effect of one feature on scores, less its mean over the rows.

    Attributes
    ----------
    feature : int
    name : str
    kind : {"steps", "line", "categories"}
        Constant between thresholds; straight between two values; or one effect for each category.
    points : ndarray
        Thresholds, ascending; the least and the greatest value of the rows; or the values of the categories.
    effect : ndarray of float64
        Of the values up to the first threshold, up to each next one and above the last; at both ends; of each category.
    missing : float
        Effect where the feature is missing.
    spread : float
        Standard deviation of the effect over the rows: how much the feature moves them.
    """

    feature: int
    name: str
    kind: str
    points: Array
    effect: Array
    missing: float
    spread: float

    def to_dict(self) -> dict[str, Json]:
        """Return the curve as plain values, ready for JSON."""
        return {
            "feature": self.name,
            "kind": self.kind,
            "points": self.points.tolist(),
            "effect": self.effect.tolist(),
            "missing": self.missing,
            "spread": self.spread,
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each step, end or category, and a last one for what is missing."""
        if self.kind == "steps":
            ends = zip([-np.inf, *self.points.tolist()], [*self.points.tolist(), np.inf], strict=True)
        else:
            ends = zip(self.points.tolist(), self.points.tolist(), strict=True)
        found = [
            {"feature": self.name, "above": low, "up_to": high, "effect": effect}
            for (low, high), effect in zip(ends, self.effect.tolist(), strict=True)
        ]
        return [*found, {"feature": self.name, "above": None, "up_to": None, "effect": self.missing}]


@dataclass(frozen=True, eq=False)
class Effects(Framed):
    """Effects of features, those that move scores most first: ``effects["price"]`` is a curve, ``print`` a table."""

    curves: tuple[EffectCurve, ...]

    def __len__(self) -> int:
        return len(self.curves)

    def __iter__(self) -> Iterator[EffectCurve]:
        return iter(self.curves)

    def __getitem__(self, name: str) -> EffectCurve:
        known = {curve.name: curve for curve in self.curves}
        if name not in known:
            raise PodiumError(
                f"There is no effect of {name!r}{near_matches(name, known)}; there are {', '.join(known)}."
            )
        return known[name]

    def to_dict(self) -> list[dict[str, Json]]:
        """Return all curves as plain values, ready for JSON."""
        return [curve.to_dict() for curve in self.curves]

    def columns(self) -> Columns:
        """Return a row for each step, as columns: feature, above, up_to (both None for missing values) and effect."""
        rows = [row for curve in self.curves for row in curve.rows()]
        return {name: [row[name] for row in rows] for name in ("feature", "above", "up_to", "effect")}

    def __str__(self) -> str:
        width = max([len("feature"), *(len(curve.name) for curve in self.curves)])
        lines = [f"{'feature':{width}s}  {'spread':>10s}  {'lowest':>10s}  {'highest':>10s}  {'missing':>10s}"]
        for curve in self.curves:
            numbers = (curve.spread, curve.effect.min(), curve.effect.max(), curve.missing)
            lines.append(f"{curve.name:{width}s}  " + "  ".join(f"{number:10.4g}" for number in numbers))
        return "\n".join(lines)


def effects_of(
    model: Exported, rows: Array, features: Sequence[int] | None, names: tuple[str, ...], n_threads: int
) -> Effects:
    """Return the effects of some features, or of all that scores depend on.

    Parameters
    ----------
    model : TreeSum or Linear
    rows : ndarray of float64
        Rows over which others are averaged, as the model reads them.
    features : sequence of int or None
    names : tuple of str
        Of all features.
    n_threads : int
    """
    if isinstance(model, NetScore):
        raise PodiumError(f"Effects are exact for trees and weighted sums; {model.name} scores by a net.")
    chosen = used_features(model) if features is None else list(features)
    rows = rows[np.argsort(hash_features(rows), kind="stable")]  # sums must not depend on the order of rows
    if isinstance(model, Linear):
        curves = [_line(model, rows, feature, names[feature]) for feature in chosen]
    else:
        forest = Forest.of(model.trees)
        additive = all(len(tree.feature) <= 1 for tree in model.trees)
        calls = [(model, forest, splits_of(forest), rows, feature, names[feature], additive) for feature in chosen]
        curves = run_threads(_tree_curve, calls, n_threads)
    return Effects(tuple(sorted(curves, key=lambda curve: -curve.spread)))


def _line(model: Linear, rows: Array, feature: int, name: str) -> EffectCurve:
    """Return the effect of a feature of a weighted sum."""
    column, weight = rows[:, feature], float(model.weights[feature])
    known = column[~np.isnan(column)]
    ends = np.array([known.min(), known.max()]) if len(known) else np.zeros(2)
    missing = weight * float(model.missing[feature])
    of_rows = np.where(np.isnan(column), missing, weight * np.nan_to_num(column))
    mean = float(of_rows.mean())
    return EffectCurve(feature, name, "line", ends, weight * ends - mean, missing - mean, float(of_rows.std()))


def _tree_curve(
    model: TreeSum, forest: Forest, splits: Splits, rows: Array, feature: int, name: str, additive: bool
) -> EffectCurve:
    """Return the partial dependence of trees on a feature; of stumps any one row gives all of it."""
    kept, column = rows[:1] if additive else rows, rows[:, feature]
    trees = trees_with(splits, forest.root, feature)
    own = splits.feature == feature
    if np.any(splits.set_of[own] >= 0):
        values = model.category_values(feature)
        means = category_sums(splits, forest.value, trees, kept, feature, len(values)) / len(kept)
        codes = np.where(np.isnan(column) | (column >= len(values)), len(values), column).astype(np.int64)
        return _curve(feature, name, "categories", np.array(values, object), means, codes)
    thresholds = np.unique(splits.threshold[own])
    means = step_sums(splits, forest.value, trees, kept, feature, thresholds) / len(kept)
    steps = np.where(np.isnan(column), len(thresholds) + 1, np.searchsorted(thresholds, column))
    return _curve(feature, name, "steps", thresholds, means, steps)


def _curve(feature: int, name: str, kind: str, points: Array, means: Array, place: Array) -> EffectCurve:
    """Return the curve of means, the last one of what is missing, less their mean over the rows at their places."""
    of_rows = means[place]
    centred = means - of_rows.mean()
    return EffectCurve(feature, name, kind, points, centred[:-1], float(centred[-1]), float(of_rows.std()))
