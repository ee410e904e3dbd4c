"""The rounds of boosted trees: what is drawn for each, the steps, new values of leaves (Burges 2010, "LM", 7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from podium._compiled import ROW, compiled, even_chunks, run_threads, threads_for
from podium._exchange import ALONE, Exchange
from podium._magnitudes import LARGEST, check_within
from podium._validation import Array, PodiumError
from podium.boosting import Monitor, Stop, run
from podium.data import Queries, RankingData, salted
from podium.losses import Loss
from podium.trees.frozen_records import Grown
from podium.trees.grower import TreeGrower
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
    def progress_text(self) -> str:
        """What the progress bar says of the round."""
        return f"gain {self.gain:.4g}"


class Sampler:
    """Draws the queries and features of each round, by the seed and the round; a query also by its key.

    Queries drawn are those with the smallest hashes of key, seed and round, so that a query's chance does not depend on
    where it stands, or in which part.
    """

    def __init__(
        self,
        queries: Queries,
        n_features: int,
        subsample: float,
        colsample: float,
        seed: int,
        exchange: Exchange = ALONE,
    ) -> None:
        self.queries, self.n_features, self.seed, self.exchange = queries, n_features, seed, exchange
        total = exchange.count(len(queries))
        self.n_queries = max(1, round(subsample * total))
        self.takes_all = self.n_queries == total
        self.n_columns = max(1, round(colsample * n_features))

    def rows(self, number: int) -> Array | None:
        """Return the rows of the queries drawn, ascending; None for all."""
        if self.takes_all:
            return None
        chances = salted(self.queries.keys, self.seed, number)
        drawn = chances <= np.uint64(self.exchange.smallest(chances, self.n_queries))
        return np.flatnonzero(np.repeat(drawn, self.queries.sizes)).astype(np.uint32)

    def features(self, number: int) -> Array | None:
        """Return the features drawn, ascending; None for all."""
        if self.n_columns == self.n_features:
            return None
        drawn = np.random.default_rng([self.seed, number, 1]).choice(self.n_features, self.n_columns, replace=False)
        return np.sort(drawn).astype(np.int64)


class TreeBoosting:
    """LambdaMART and MART: each tree is a Newton step of the loss (LM 7).

    Parameters
    ----------
    data : RankingData
    loss : Loss
    grower : TreeGrower
    sampler : Sampler
    scores : ndarray of float64
        Of the training rows before the first tree; moved on round by round.
    learning_rate : float
    """

    def __init__(
        self,
        data: RankingData,
        loss: Loss,
        grower: TreeGrower,
        sampler: Sampler,
        scores: Array,
        learning_rate: float,
    ) -> None:
        self.data, self.loss, self.grower, self.sampler = data, loss, grower, sampler
        self.scores, self.learning_rate = scores, learning_rate
        self._reach = float(grower.exchange.largest(np.abs(scores).max(initial=0.0, keepdims=True))[0])

    def step(self, number: int) -> TreeRound | Stop:
        """Do one round of LambdaMART (LM 7).

        1. Gradient λ and curvature w of each row at the scores so far.
        2. A tree on them; its leaves have Newton's value γ = Σ λ/Σ w.
        3. F_k = F_{k-1} + η Σ_l γ_l I(x in leaf l).
        """
        gradient, curvature = self.loss.derivatives(self.scores, number - 1)  # 1
        rows, features = self.sampler.rows(number - 1), self.sampler.features(number - 1)
        salt = self.sampler.seed * 1_000_003 + number - 1
        grown = self.grower.grow(gradient, curvature, salt, rows, features)  # 2
        if grown.tree.n_leaves == 1:
            return Stop("no split lowers the loss")
        tree = grown.tree.scaled(self.learning_rate)
        self._reach = _check_reach(self._reach + float(np.abs(tree.value).max()), number)
        add_tree(tree, grown, rows, self.grower, self.scores)  # 3
        return TreeRound(tree)

    def replay(self, round_: TreeRound) -> None:
        """Add an earlier tree to the scores."""
        self.scores += self.values_of(round_.ranking)
        self._reach += float(np.abs(round_.ranking.value).max())

    def values_of(self, tree: RegressionTree) -> Array:
        """Return the value of a tree for each training row."""
        values: Array = tree.predict(self.data.features)[self.data.queries.rows]
        return values


class TreeRefit:
    """New values for the leaves of grown trees, from new data, one tree after the other.

    Parameters
    ----------
    data : RankingData
    loss : Loss
    trees : sequence of RegressionTree
    scores : ndarray of float64
        Of the rows before the first tree; moved on round by round.
    newton : callable
        ``newton(tree, gradient, curvature)``: Newton's values from sums over the rows of each leaf.
    decay : float
        Share of the old value in the new one.
    """

    def __init__(
        self,
        data: RankingData,
        loss: Loss,
        trees: Sequence[RegressionTree],
        scores: Array,
        newton: Callable[[RegressionTree, Array, Array], Array],
        decay: float,
    ) -> None:
        self.data, self.loss, self.trees, self.scores = data, loss, trees, scores
        self.newton, self.decay = newton, decay

    def run(self) -> list[TreeRound]:
        """Return the rounds of all trees with their new values."""
        monitor: Monitor[TreeRound] = Monitor(len(self.trees), keep_interrupted=False)
        run(self, monitor, len(self.trees))
        return monitor.rounds

    def step(self, number: int) -> TreeRound:
        """Give one tree new values.

        1. Gradient and curvature of each row at the scores so far, summed over each leaf.
        2. Values between the old ones and Newton's.
        3. The scores with the tree.
        """
        tree = self.trees[number - 1]
        numbered = tree.with_values(np.arange(float(tree.n_leaves)))
        leaves = numbered.predict(self.data.features)[self.data.queries.rows].astype(ROW)
        derivatives = self.loss.derivatives(self.scores, number - 1)  # 1
        gradient, curvature = (np.bincount(leaves, one, tree.n_leaves) for one in derivatives)
        newton = self.newton(tree, gradient, curvature)  # 2
        ends = np.sort([tree.value, newton], axis=0)  # between them in spite of rounding: equal ones stay
        changed = tree.with_values(np.clip(self.decay * tree.value + (1 - self.decay) * newton, *ends))
        check_within(changed.value, "The new values of leaves", "finite scores; consider a smaller learning_rate")
        self.scores += changed.value[leaves]  # 3
        return TreeRound(changed)

    def replay(self, round_: TreeRound) -> None:
        """Add a tree that has new values already to the scores."""
        self.scores += round_.ranking.predict(self.data.features)[self.data.queries.rows]


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
