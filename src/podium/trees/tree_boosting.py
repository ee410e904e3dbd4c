"""The rounds of boosted trees: what is drawn for each, the loop, the scores of training rows (Burges 2010, "LM", 7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium._compiled import compiled, even_chunks, run_threads, threads_for
from podium._magnitudes import LARGEST
from podium._validation import Array, PodiumError
from podium.boosting.rounds import Monitor
from podium.losses import Loss
from podium.trees.grower import Grown, TreeGrower
from podium.trees.regression_tree import RegressionTree


@dataclass(frozen=True)
class TreeRound:
    """One round of boosted trees.

    Attributes
    ----------
    ranking : RegressionTree
        The tree, its values times the learning rate.
    """

    ranking: RegressionTree
    alpha: float = 1.0

    @property
    def n_leaves(self) -> int:
        """Leaves of the tree."""
        return self.ranking.n_leaves

    @property
    def gain(self) -> float:
        """Sum of the gains of its splits."""
        return float(self.ranking.gain.sum())

    @property
    def line(self) -> str:
        """What the progress bar says of the round."""
        return f"gain {self.gain:.4g}"


class Sampler:
    """Draws the queries and features of each round; the draw depends on the seed and the round alone."""

    def __init__(self, offsets: Array, n_features: int, subsample: float, colsample: float, seed: int) -> None:
        self.offsets, self.n_features, self.seed = offsets, n_features, seed
        self.n_queries = max(1, round(subsample * (len(offsets) - 1)))
        self.n_columns = max(1, round(colsample * n_features))

    def rows(self, number: int) -> Array | None:
        """Return the rows of the queries drawn, ascending; None for all."""
        sizes = np.diff(self.offsets)
        if self.n_queries == len(sizes):
            return None
        drawn = np.zeros(len(sizes), np.bool_)
        drawn[self._draw(number, 0, len(sizes), self.n_queries)] = True
        return np.flatnonzero(np.repeat(drawn, sizes)).astype(np.uint32)

    def features(self, number: int) -> Array | None:
        """Return the features drawn, ascending; None for all."""
        if self.n_columns == self.n_features:
            return None
        return np.sort(self._draw(number, 1, self.n_features, self.n_columns)).astype(np.int64)

    def _draw(self, number: int, what: int, total: int, size: int) -> Array:
        """Return `size` different numbers below `total`."""
        return np.random.default_rng([self.seed, number, what]).choice(total, size, replace=False)


def boost_trees(
    loss: Loss,
    grower: TreeGrower,
    sampler: Sampler,
    scores: Array,
    monitor: Monitor[TreeRound],
    n_rounds: int,
    learning_rate: float,
) -> None:
    """Run LambdaMART (LM 7) for `n_rounds` rounds in all, or until no split helps or the monitor stops.

    1. Gradient λ and curvature w of each row at the scores so far.
    2. A tree on them; its leaves have Newton's value γ = Σ λ/Σ w.
    3. F_k = F_{k-1} + η Σ_l γ_l I(x in leaf l).
    """
    reach = float(np.abs(scores).max())
    with monitor:
        while len(monitor.rounds) < n_rounds and not monitor.stopped:
            number = len(monitor.rounds)
            gradient, curvature = loss.derivatives(scores, number)  # 1
            rows = sampler.rows(number)
            salt = sampler.seed * 1_000_003 + number
            grown = grower.grow(gradient, curvature, salt, rows, sampler.features(number))  # 2
            if grown.tree.n_leaves == 1:
                monitor.stop("no split lowers the loss")
                break
            tree = grown.tree.scaled(learning_rate)
            reach = _check_reach(reach + float(np.abs(tree.value).max()), number + 1)
            add_tree(tree, grown, rows, grower, scores)  # 3
            monitor.observe(TreeRound(tree))


def _check_reach(reach: float, number: int) -> float:
    """Return a bound on the scores of any row after a round, or refuse one beyond what squares may be taken of."""
    if reach <= LARGEST:
        return reach
    raise PodiumError(
        f"The scores grow beyond {LARGEST:g} in round {number}, so that nothing was learned: consider a smaller "
        "learning_rate, or labels of a smaller scale."
    )


def add_tree(tree: RegressionTree, grown: Grown, rows: Array | None, grower: TreeGrower, scores_out: Array) -> None:
    """Add a tree to the scores of the training rows: by leaf, or by codes where a row was not drawn."""
    n_threads = threads_for(grower.n_threads, 4 * len(grown.rows))  # a row takes as long as 4 cells of a histogram
    parts = even_chunks(grown.offsets, n_threads)
    calls = [(grown.rows, grown.offsets, tree.value, scores_out, first, last) for first, last in parts]
    run_threads(_add_leaves, calls, n_threads)
    if rows is not None:
        others = np.ones(len(scores_out), np.bool_)
        others[rows] = False
        left_out = np.flatnonzero(others)
        scores_out[left_out] += tree.value[tree.leaves_of_codes(grower.bins.codes, left_out)]


@compiled
def _add_leaves(rows: Array, offsets: Array, values: Array, scores_out: Array, first: int, last: int) -> None:
    """Do ``scores_out[rows of leaf] += values[leaf]`` for some leaves."""
    for leaf in range(first, last):
        for row in rows[offsets[leaf] : offsets[leaf + 1]]:
            scores_out[row] += values[leaf]
