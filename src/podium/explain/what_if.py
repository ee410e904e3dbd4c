"""The smallest change of one feature that makes two rows change places, exactly.

A sum of trees is constant in a feature between neighbouring thresholds of it, so that one value of each interval, the
nearest to the row's own, tells all: as many scores as the feature has thresholds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from podium._validation import Array, PodiumError
from podium.data.categories import Category
from podium.explain.explanation import category_of
from podium.export import Exported, Linear, NetScore, TreeSum
from podium.trees import rounded_down

MOST_STEPS = 100
"""Neighbouring numbers tried where rounding hides the change that a weighted sum asks for."""


@dataclass(frozen=True)
class WhatIf:
    """The smallest change of one feature of row a that puts it on the other side of row b.

    Attributes
    ----------
    feature : int
    name : str
    before, after : float or str
        Value of the feature in row a, and the nearest one that swaps the rows; NaN is missing; a category as it was
        given to the fit.
    score : float
        Of row a with the value after.
    """

    feature: int
    name: str
    before: Category
    after: Category
    score: float


def smallest_changes(
    model: Exported, score: Callable[[Array], Array], a: Array, b: Array, names: tuple[str, ...]
) -> list[WhatIf]:
    """Return, for each feature that alone can swap two rows, its smallest change in row a; by feature.

    Parameters
    ----------
    model : TreeSum or Linear
    score : callable
        From rows, as the model reads them, to their scores.
    a, b : ndarray
        The two rows.
    names : tuple of str
        Of the features.

    Notes
    -----
    Of equally near values the lower one is taken. Where row a misses the feature, the value nearest to that of row b
    is taken, or nearest to 0 where b misses it too. Categories are all equally near: the first one that swaps is taken.
    """
    if isinstance(model, NetScore):
        raise PodiumError(
            f"what_if finds exact changes in stumps, trees and weighted sums, and {model.name} is a net; "
            "explain(X, a, b) says what each of its features adds."
        )
    start, bar = score(np.stack([a, b])).tolist()
    if start == bar:
        raise PodiumError("The two rows stand level, so there is no order to be swapped.")
    found = []
    for feature in used_features(model):
        if isinstance(model, Linear):
            values = _linear_values(model, feature, a, bar - start)
        else:
            values = _tree_values(model, feature, a, b)
        rows = np.repeat(a[None, :], len(values), axis=0)
        rows[:, feature] = values
        scores = score(rows)
        swapped = np.flatnonzero((scores < bar) if start > bar else (scores > bar))
        if len(swapped):
            first = int(swapped[0])
            before, after = (_as_given(model, feature, float(one)) for one in (a[feature], rows[first, feature]))
            found.append(WhatIf(feature, names[feature], before, after, float(scores[first])))
    return found


def _as_given(model: TreeSum | Linear, feature: int, value: float) -> Category:
    """Return a value of a feature, a category in the place of its code."""
    categories = model.categories.get(feature) if isinstance(model, TreeSum) else None
    return value if categories is None else category_of(value, categories)


def used_features(model: Exported) -> list[int]:
    """Return the features that a score may depend on, ascending; a net reads all."""
    if isinstance(model, NetScore):
        return list(range(model.n_features))
    if isinstance(model, Linear):
        return [int(j) for j in np.flatnonzero(model.weights)]
    return sorted({int(j) for tree in model.trees for j in tree.feature})


def _tree_values(model: TreeSum, feature: int, a: Array, b: Array) -> Array:
    """Return one value of each interval between thresholds of a feature, the nearest first; or all categories."""
    splits = [(tree, tree.feature == feature) for tree in model.trees]
    if any(np.any(tree.set_of[own] >= 0) for tree, own in splits):
        codes = np.arange(len(model.category_values(feature)), dtype=a.dtype)
        others: Array = codes[codes != a[feature]]
        return others
    thresholds = np.unique(np.concatenate([tree.threshold[own] for tree, own in splits]))
    near = next(float(x) for x in (a[feature], b[feature], 0.0) if x == x)
    below = _not_above(thresholds[thresholds < near], a.dtype)
    above = np.nextafter(_not_above(thresholds[thresholds >= near], a.dtype), a.dtype.type(np.inf))
    values = np.concatenate([below, above, [near] if np.isnan(a[feature]) else []]).astype(a.dtype)
    values = values[np.isfinite(values)]
    nearest: Array = values[np.lexsort((values, np.abs(values - near)))]
    return nearest


def _not_above(thresholds: Array, dtype: np.dtype[np.generic]) -> Array:
    """Return the highest numbers of a kind that are not above thresholds."""
    return rounded_down(thresholds) if dtype == np.float32 else thresholds


def _linear_values(model: Linear, feature: int, a: Array, gap: float) -> Array:
    """Return the value at which a weighted sum meets the other score, and its neighbours beyond."""
    near = a[feature] if a[feature] == a[feature] else model.missing[feature]
    with np.errstate(over="ignore"):
        values = [a.dtype.type(near + gap / model.weights[feature])]
    beyond = a.dtype.type(np.inf if gap / model.weights[feature] > 0 else -np.inf)
    for _ in range(MOST_STEPS):
        values.append(np.nextafter(values[-1], beyond))
    numbers: Array = np.array(values)
    return numbers[np.isfinite(numbers)]
