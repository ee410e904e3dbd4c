"""Regression trees as the base learner of functional gradient boosting: least squares on the negative gradients."""

from __future__ import annotations

from podium._validation import Array
from podium.binning import as_blocks, bin_features
from podium.boosting import NOTHING_FOLLOWS, BaseModel, Learned, Stop
from podium.data import RankingData
from podium.trees.grower import TreeGrower
from podium.trees.split import Limits
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

    @classmethod
    def of(
        cls,
        data: RankingData,
        learning_rate: float,
        max_leaves: int,
        min_child_samples: int,
        max_bins: int,
        n_threads: int,
    ) -> LeastSquaresTrees:
        """Return the learner of the training rows, with histograms of near full precision."""
        bins = bin_features(data.features, data.queries.rows, data.weights, max_bins, n_threads)
        limits, keys = Limits(min_child_samples, min_child_weight=0.0), data.queries.place_keys()
        grower = TreeGrower(as_blocks(bins), limits, max_leaves, exact=True, n_threads=n_threads, keys=keys)
        return cls(grower, learning_rate)

    def fit(self, gradient: Array, weight: Array, scores: Array) -> Learned | Stop:
        """Return the tree, times the learning rate, and the scores with it; `Stop` where no split lowers the error."""
        grown = self.grower.grow(gradient, weight)
        if grown.tree.n_leaves == 1:
            return Stop(NOTHING_FOLLOWS)
        tree, after = grown.tree.scaled(self.learning_rate), scores.copy()
        add_tree(tree, grown, None, self.grower, after)
        return Learned(tree, after)

    def take(self, model: BaseModel) -> None:
        """Each round is a fit of its own."""
