"""Regression trees as the base learner of functional gradient boosting: least squares on the negative gradients."""

from __future__ import annotations

from podium._validation import Array
from podium.boosting import Learned
from podium.trees.grower import TreeGrower
from podium.trees.tree_boosting import add_tree


class LeastSquaresTrees:
    """Fits a tree to ``-gradient / weight``: the value of a leaf is the weighted mean of its rows.

    Parameters
    ----------
    grower : TreeGrower
    learning_rate : float
    """

    def __init__(self, grower: TreeGrower, learning_rate: float) -> None:
        self.grower, self.learning_rate = grower, learning_rate

    def fit(self, gradient: Array, weight: Array, scores: Array) -> Learned | None:
        """Return the tree, times the learning rate, and the scores with it; None where no split lowers the error."""
        grown = self.grower.grow(gradient, weight)
        if grown.tree.n_leaves == 1:
            return None
        tree, after = grown.tree.scaled(self.learning_rate), scores.copy()
        add_tree(tree, grown, None, self.grower, after)
        return Learned(tree, after)
