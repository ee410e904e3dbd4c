"""Trees of the ROC curve: potentials of rows, regions that gain most, growth, pruning, cells."""

from __future__ import annotations

from podium.ranking_trees.bagged_trees import CONSENSUS, Bagging, duels_of
from podium.ranking_trees.cells import (
    CellForest,
    CellTree,
    cell_trees_from_columns,
    cell_trees_to_columns,
    freeze,
    regression_tree,
    text_of,
)
from podium.ranking_trees.growth import Cell, Growth
from podium.ranking_trees.leaf_rank import DrawFeatures, LeafRank, Region
from podium.ranking_trees.pair_gains import MEASURES, RankedRows, pair_weights
from podium.ranking_trees.pruning import grow_by_folds

__all__ = [
    "CONSENSUS",
    "MEASURES",
    "Bagging",
    "Cell",
    "CellForest",
    "CellTree",
    "DrawFeatures",
    "Growth",
    "LeafRank",
    "RankedRows",
    "Region",
    "cell_trees_from_columns",
    "cell_trees_to_columns",
    "duels_of",
    "freeze",
    "grow_by_folds",
    "pair_weights",
    "regression_tree",
    "text_of",
]
