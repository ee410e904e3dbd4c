"""What each feature adds to scores, for each kind of model: sums of trees, sums of features, nets."""

from __future__ import annotations

from itertools import combinations
from weakref import WeakKeyDictionary

import numpy as np

from podium._compiled import run_threads
from podium._validation import Array, PodiumError, check_choice
from podium.explain.net_gradients import NetContributions
from podium.explain.pair_parts import PairParts
from podium.explain.tree_shapley import TreeShapley
from podium.export import Exported, Linear, NetScore, TreeSum

METHODS = ("interventional", "path")
"""What a missing feature means: it has the other row's value; or splits on it are followed on both sides."""
_KEPT: WeakKeyDictionary[TreeSum, TreeShapley] = WeakKeyDictionary()
"""The joined trees of models that were explained, for as long as the models live: joining takes ten times as long."""


class LinearContributions:
    """What each feature adds to the scores of rows by a weighted sum of features.

    Parameters
    ----------
    model : Linear
    """

    method = "additive"

    def __init__(self, model: Linear) -> None:
        self.model = model

    def of_pair(self, a: Array, b: Array) -> PairParts:
        """Return what each feature adds to score(a) - score(b)."""
        one, other = self.model.parts(np.stack([a, b]))
        return PairParts(one - other)

    def of_rows(self, rows: Array, n_threads: int) -> Array:
        """Return what each feature adds to the score of each row, less its mean over the rows."""
        return _centred(self.model.parts(rows))


class TreeContributions:
    """What each feature adds to the scores of rows by a sum of trees.

    Parameters
    ----------
    trees : TreeShapley
    method : {"interventional", "path"}
    name : str
        Of the ranker, for errors.
    """

    def __init__(self, trees: TreeShapley, method: str, name: str) -> None:
        self.trees, self.method = trees, method if trees.depth > 1 else "additive"
        if self.method == "path" and not trees.has_counts:
            raise PodiumError(
                f'method="path" needs the training rows of every leaf, which this {name} does not have; use '
                'method="interventional".'
            )

    def of_pair(self, a: Array, b: Array) -> PairParts:
        """Return what each feature adds to score(a) - score(b)."""
        if self.method != "path":
            return self.trees.of_pair(a, b)
        one, other = self.trees.of_rows(np.stack([a, b]))
        return PairParts(one - other)

    def of_rows(self, rows: Array, n_threads: int) -> Array:
        """Return what each feature adds to the score of each row, less its mean over the rows.

        By "interventional" each row is set against every other, and the mean is taken: n²/2 pairs of rows.
        """
        if self.method == "path":
            return _centred(self.trees.of_rows(rows, n_threads))
        if self.method == "additive":
            return _centred(np.stack([self.trees.of_pair(row, rows[0]).values for row in rows]))
        parts, pairs = np.zeros((len(rows), self.trees.n_features)), list(combinations(range(len(rows)), 2))
        found = run_threads(self.trees.of_pair, [(rows[i], rows[j]) for i, j in pairs], n_threads)
        for (i, j), one in zip(pairs, found, strict=True):
            parts[i] += one.values
            parts[j] -= one.values
        return parts / len(rows)


Contributions = LinearContributions | TreeContributions | NetContributions
"""What tells what each feature adds."""


def contributions_of(model: Exported, method: str | None, whole_query: bool) -> Contributions:
    """Return what tells what each feature adds, for a model as it is exported.

    Parameters
    ----------
    model : TreeSum, Linear or NetScore
    method : {"interventional", "path"} or None
        None: "interventional"; for a whole query "path", where the leaves have training rows, which is faster.
    whole_query : bool
    """
    if method is not None:
        check_choice(method, METHODS, "method")
    if isinstance(model, Linear):
        return LinearContributions(model)
    if isinstance(model, NetScore):
        return NetContributions(model)
    trees = _KEPT.get(model) or _KEPT.setdefault(model, TreeShapley(model.trees, model.n_features))
    by_path = whole_query and trees.has_counts
    return TreeContributions(trees, method or ("path" if by_path else "interventional"), model.name)


def _centred(parts: Array) -> Array:
    centred: Array = parts - parts.mean(axis=0)
    return centred
