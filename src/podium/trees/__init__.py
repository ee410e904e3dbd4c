"""Regression trees: histograms, splits, growth, scoring, and the rounds of boosted ones."""

from __future__ import annotations

from podium.trees.category_split import WORDS_PER_SET, CategorySplits
from podium.trees.category_walk import code_of
from podium.trees.grower import SHARED_CELLS, TreeGrower
from podium.trees.histogram import BINS
from podium.trees.leaf_values import newton_values
from podium.trees.least_squares import LeastSquaresTrees
from podium.trees.regression_tree import Forest, RegressionTree, rounded_down, staged_scores, walk_codes
from podium.trees.split import Limits
from podium.trees.tree_boosting import Sampler, TreeBoosting, TreeRefit, TreeRound
from podium.trees.tree_columns import CategoryLists, trees_from_columns, trees_to_columns
from podium.trees.tree_shape import leaf_bounds, left_sides, tree_depths

__all__ = [
    "BINS",
    "SHARED_CELLS",
    "WORDS_PER_SET",
    "CategoryLists",
    "CategorySplits",
    "Forest",
    "LeastSquaresTrees",
    "Limits",
    "RegressionTree",
    "Sampler",
    "TreeBoosting",
    "TreeGrower",
    "TreeRefit",
    "TreeRound",
    "code_of",
    "leaf_bounds",
    "left_sides",
    "newton_values",
    "rounded_down",
    "staged_scores",
    "tree_depths",
    "trees_from_columns",
    "trees_to_columns",
    "walk_codes",
]
