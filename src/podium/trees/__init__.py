"""Regression trees: histograms, splits, growth, scoring, and the rounds of boosted ones."""

from __future__ import annotations

from podium.trees.category_split import WORDS, CategorySplits
from podium.trees.grower import TreeGrower
from podium.trees.leaf_values import newton_values
from podium.trees.regression_tree import Forest, RegressionTree, rounded_down, staged_scores
from podium.trees.split import Limits
from podium.trees.tree_boosting import Sampler, TreeBoosting, TreeRefit, TreeRound
from podium.trees.tree_shape import is_shape_of_trees, left_sides

__all__ = [
    "WORDS",
    "CategorySplits",
    "Forest",
    "Limits",
    "RegressionTree",
    "Sampler",
    "TreeBoosting",
    "TreeGrower",
    "TreeRefit",
    "TreeRound",
    "is_shape_of_trees",
    "left_sides",
    "newton_values",
    "rounded_down",
    "staged_scores",
]
