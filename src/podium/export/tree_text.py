"""Trees as text, from the leaves up, and as other programs score them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from podium._validation import Array, PodiumError
from podium.data import MAX_CATEGORIES
from podium.export.ensemble import Exported, TreeSum
from podium.trees import RegressionTree

LARGEST = np.finfo(np.float32).max
"""Largest finite float32: what infinite thresholds become where a format has no infinity."""


def nearest_float32(thresholds: Array) -> Array:
    """Return the nearest finite float32 of each threshold.

    Not the one below: a program that rounds its features too then still takes x = t to the left, and thresholds are
    values of the training data. Only an x above t that rounds to the same float32 changes sides.
    """
    with np.errstate(over="ignore"):
        return np.clip(thresholds.astype(np.float32), -LARGEST, LARGEST)


def finite(thresholds: Array) -> Array:
    """Return thresholds with the largest float64 for an infinity."""
    return np.nan_to_num(thresholds)


def float_text(value: float) -> str:
    """Return a number with the digits that give it back, as a float64 and, if it is one, as a float32."""
    return repr(float(value))


def nested(tree: RegressionTree, split: Callable[[int, str, str], str], leaves: Sequence[str]) -> str:
    """Return the text of a tree.

    Parameters
    ----------
    tree : RegressionTree
        Its splits stand before the splits below them.
    split : callable
        ``split(i, left, right)`` is the text of split i from the texts of its sides.
    leaves : sequence of str
        Text of each leaf.
    """
    texts = [""] * len(tree.feature)
    left, right = tree.left.tolist(), tree.right.tolist()
    for i in range(len(texts) - 1, -1, -1):
        sides = (texts[child] if child >= 0 else leaves[~child] for child in (left[i], right[i]))
        texts[i] = split(i, *sides)
    return texts[0] if texts else leaves[0]


@dataclass(frozen=True)
class Rules:
    """How a program scores trees.

    Attributes
    ----------
    threshold : callable
        From our thresholds to the numbers that it compares with.
    feature, value : type
        Kind of float of the features it compares, and of the leaf values that it adds up.
    strict : bool
        Whether x goes left when it is below the threshold, else also when it equals it.
    missing : {"child", "zero", "right"}
        A missing value goes the way that the model learned, counts as 0, or goes right. Programs that split by sets of
        categories, of which a row has the code, do the first; what is no code is missing.
    """

    threshold: Callable[[Array], Array]
    feature: type[np.floating]
    value: type[np.floating]
    strict: bool = False
    missing: str = "child"

    def features(self, X: Array) -> Array:
        """Return features as the program holds them."""
        with np.errstate(over="ignore"):
            rows = X.astype(self.feature)
        return np.nan_to_num(rows, nan=0.0, posinf=np.inf, neginf=-np.inf) if self.missing == "zero" else rows

    def values(self, record: TreeSum, X: Array) -> list[Array]:
        """Return what each tree adds to each row."""
        rows = self.features(X)
        with np.errstate(over="ignore"):
            return [tree.value.astype(self.value)[self.leaves(tree, rows)] for tree in record.trees]

    def leaves(self, tree: RegressionTree, rows: Array) -> Array:
        """Return the leaf of each row, step by step."""
        node = np.full(len(rows), 0 if len(tree.feature) else -1, np.int64)
        threshold = self.threshold(tree.threshold)
        for _ in range(tree.depth):
            going = np.flatnonzero(node >= 0)
            at = node[going]
            left = self.goes_left(tree, threshold, at, rows[going, tree.feature[at]])
            node[going] = np.where(left, tree.left[at], tree.right[at])
        return ~node

    def goes_left(self, tree: RegressionTree, threshold: Array, at: Array, x: Array) -> Array:
        """Say of each row, which is at a split with the value x, whether it goes left."""
        left: Array = x < threshold[at] if self.strict else x <= threshold[at]
        if self.missing == "child":
            left |= np.isnan(x) & tree.missing_left[at]
        if len(tree.sets) == 0:
            return left
        code = np.where((x >= 0) & (x < MAX_CATEGORIES), x, -1).astype(np.int64) + 1
        return np.where(tree.set_of[at] >= 0, tree.tables[tree.set_of[at], code], left)

    def score(self, record: TreeSum, X: Array) -> Array:
        """Return the sum of the trees of each row, one after the other, in the program's floats."""
        total = np.zeros(len(X), self.value)
        with np.errstate(over="ignore", invalid="ignore"):  # a sum may leave float32 where no leaf does
            for values in self.values(record.with_base_as_tree(), X):
                total += values
        return total


OURS = Rules(lambda thresholds: thresholds, np.float64, np.float64)
"""The trees as they are."""


def why_elsewhere(record: TreeSum, row: Array, rules: Rules) -> str:
    """Say where a row first takes another way than here; empty if it takes none."""
    here, there = OURS.features(row[None]), rules.features(row[None])
    for number, tree in enumerate(record.trees):
        if OURS.leaves(tree, here)[0] != rules.leaves(tree, there)[0]:
            at, side = _parting(tree, here, there, rules)
            feature, limit = tree.feature[at], rules.threshold(tree.threshold)[at]
            compared = (
                "where a missing value counts as 0"
                if np.isnan(here[0, feature]) and rules.missing == "zero"
                else f"where {there[0, feature]} is compared with {limit}"
            )
            return (
                f"in tree {number + 1} {feature_names(record)[feature]} = {here[0, feature]} goes {side[0]} at "
                f"{tree.threshold[at]} here and {side[1]} there, {compared}"
            )
    return ""


def _parting(tree: RegressionTree, here: Array, there: Array, rules: Rules) -> tuple[int, tuple[str, str]]:
    """Return the split at which two ways of one row part, and the side that each takes."""
    at = np.zeros(1, np.int64)
    while True:
        feature = tree.feature[at]
        left = bool(OURS.goes_left(tree, tree.threshold, at, here[0, feature])[0])
        other = bool(rules.goes_left(tree, rules.threshold(tree.threshold), at, there[0, feature])[0])
        if left != other:
            return int(at[0]), ("left" if left else "right", "left" if other else "right")
        at = (tree.left if left else tree.right)[at]


def check_missing_as_zero(record: TreeSum, threshold: Callable[[Array], Array], program: str) -> None:
    """Refuse a model that sends a missing value elsewhere than 0, for a program that takes them for the same."""
    for number, tree in enumerate(record.trees):
        differs = np.flatnonzero(tree.missing_left != (threshold(tree.threshold) >= 0))
        if len(differs):
            split = differs[0]
            side = "left" if tree.missing_left[split] else "right"
            name = feature_names(record)[tree.feature[split]]
            raise PodiumError(
                f"{program} reads a missing value as 0, but tree {number + 1} sends a missing {name!r} {side} and 0 "
                'the other way; if no value is ever missing, say missing="absent", or choose a format that keeps it.'
            )


def other_way(tree: RegressionTree, split: int, n_categories: int) -> list[int]:
    """Return the codes that a split by a set sends the other way than what is missing or no category."""
    table = tree.tables[tree.set_of[split]]
    codes: list[int] = np.flatnonzero(table[1 : n_categories + 1] != table[0]).tolist()
    return codes


def feature_names(record: Exported) -> tuple[str, ...]:
    """Return the names of the features: their own, or f0, f1 and so on."""
    return record.feature_names or tuple(f"f{i}" for i in range(record.n_features))
