"""A sum of stumps as one step function for each feature: how a person, a database or a short program adds it up."""

from __future__ import annotations

import math

import numpy as np

from podium._validation import Array
from podium.export.ensemble import TreeSum
from podium.stumps import StepFunction
from podium.trees import RegressionTree


def is_stumps(record: TreeSum) -> bool:
    """Say whether no tree has more than one split, nor one by a set of categories."""
    return all(len(tree.feature) <= 1 and len(tree.sets) == 0 for tree in record.trees)


def constant(record: TreeSum) -> float:
    """Return what every row scores: the base and the trees without a split."""
    return math.fsum([record.base, *(float(tree.value[0]) for tree in record.trees if len(tree.feature) == 0)])


def steps(record: TreeSum) -> list[StepFunction]:
    """Return the step function of each feature that is split on, in the order of the features."""
    by_feature: dict[int, list[RegressionTree]] = {}
    for tree in record.trees:
        if len(tree.feature):
            by_feature.setdefault(int(tree.feature[0]), []).append(tree)
    return [_sum_of(feature, by_feature[feature]) for feature in sorted(by_feature)]


def step_values(step: StepFunction, column: Array) -> Array:
    """Return the step function of a column."""
    found = step.values[np.searchsorted(step.thresholds, column, side="left")]
    values: Array = np.where(np.isnan(column), step.missing, found)
    return values


def score(record: TreeSum, X: Array) -> Array:
    """Add up the constant and the steps, feature after feature."""
    total = np.full(len(X), constant(record))
    for step in steps(record):
        total += step_values(step, X[:, step.feature].astype(np.float64))
    return total


def _sum_of(feature: int, trees: list[RegressionTree]) -> StepFunction:
    """Add up the trees of one split on a feature."""
    low, high = np.array([tree.value for tree in trees]).T
    cuts, left = np.array([(tree.threshold[0], tree.missing_left[0]) for tree in trees]).T
    return StepFunction.of(feature, cuts, low, high, np.where(left, low, high))
