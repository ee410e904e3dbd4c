"""TreeRankForest and TreeRankTournament: many ranking trees and their consensus.

"CR" is Werner's review of ranking problems; its section 3.1 names the papers: Clémençon, Depecker and Vayatis (2013,
forests), Clémençon and Robbiano (2015, TreeRank Tournament, also bagged and randomised). They were not at hand: each
docstring states the definition that was built.
"""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from podium._compiled import thread_count
from podium._types import Features, Seed
from podium._validation import Array, PodiumError, check_seed
from podium.data import RankingData
from podium.export import TreeSum
from podium.rankers.treerank import GROWTH, RankingTrees
from podium.ranking_trees import (
    CONSENSUS,
    Bagging,
    CellTree,
    DrawFeatures,
    Growth,
    LeafRank,
    RankedRows,
    duels_of,
)

MAX_DUELS = 1000
"""Pairs of grades that may meet: continuous labels would make a forest for every pair of rows."""


class _BaggedTrees(RankingTrees):
    """A ranker of many trees."""

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **GROWTH,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_features": [
            StrOptions({"sqrt"}),
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            None,
        ],
        "bootstrap": ["boolean"],
        "max_samples": [Interval(Real, 0, None, closed="neither")],
        "consensus": [StrOptions(set(CONSENSUS))],
        "random_state": ["random_state"],
    }

    n_estimators: int
    leafrank_depth: int
    max_features: str | float | None
    bootstrap: bool
    max_samples: float
    consensus: str
    random_state: Seed
    n_jobs: int | None

    def _bagging(self, data: RankedRows, n_features: int) -> Bagging:
        """Return how the trees are grown."""
        samples = self.max_samples if self.bootstrap else None
        seed, n_threads = check_seed(self.random_state), thread_count(self.n_jobs)
        n_drawn = _n_drawn(self.max_features, n_features)
        return Bagging(partial(self._growth, data), self.n_estimators, n_features, n_drawn, samples, seed, n_threads)

    def _growth(self, data: RankedRows, draw: DrawFeatures) -> Growth:
        """Return how one tree grows."""
        search = LeafRank(data.bins, self.leafrank_depth, self.min_child_weight, draw)
        return Growth(search, self.max_leaves, self.max_depth, self.min_gain)

    def _grow(self, data: RankingData, labels: Array) -> list[CellTree]:
        rows = RankedRows.of(data, labels, self.max_bins, thread_count(self.n_jobs))
        return self._forest(self._bagging(rows, data.features.shape[1]), rows)

    def _forest(self, bagging: Bagging, rows: RankedRows) -> list[CellTree]:
        """Return all trees."""
        return bagging.trees(rows, np.flatnonzero(rows.mass > 0))

    def _score(self, features: Features) -> Array:
        return CONSENSUS[self.consensus](self._joined.values(features, thread_count(self.n_jobs)))

    def _exported(self) -> TreeSum:
        if self.consensus != "mean":
            raise PodiumError(
                f'{type(self).__name__} with consensus="{self.consensus}" is no sum of trees, so no format can hold '
                'it: fit it with consensus="mean".'
            )
        return super()._exported()


def _n_drawn(max_features: str | float | None, n_features: int) -> int:
    """Return how many features a search looks at."""
    if max_features is None:
        return n_features
    if isinstance(max_features, str):
        return max(1, int(np.sqrt(n_features)))
    share = isinstance(max_features, float)
    return int(min(max(1, round(max_features * n_features) if share else max_features), n_features))


class TreeRankForest(_BaggedTrees):
    """Ranking trees of resampled rows and drawn features, and the consensus of their rankings.

    Each tree is a `TreeRank` without pruning, grown from as many rows drawn with replacement, whose searches look at
    some features each. A tree scores a row by the share of the training weight below its cell, and half of the cell's
    own. The consensus is the mean of the trees' scores, or their median, which is the median ranking in the sense of
    footrule distances (see `podium.ranking_trees.bagged_trees`).

    Queries, more grades, missing values and weights are treated as in `TreeRank`. A weight of 2 is the row twice in
    gains and scores; where rows are drawn, a row given twice is drawn twice as often instead.

    Parameters
    ----------
    n_estimators : int
        Trees.
    max_leaves : int or None
        Most cells of a tree.
    max_depth : int
        Most splits of cells on the way to a cell, at most 50.
    leafrank_depth : int
        Levels of the tree that parts a cell, from 1 (a stump) to 20.
        Deep ones part a cell by a whole tree: they make better forests than stumps, whose cells are bound to one order.
    min_child_weight : float
        Least weight of rows on either side of a split.
    min_gain : float
        What a split must add, as a share of all pairs.
    max_features : "sqrt", int, float or None
        Features that a search looks at: their root, a number, a share, or all.
    bootstrap : bool
        Whether each tree draws its rows with replacement; else all learn from all rows.
    max_samples : float
        Rows that a tree draws, as a share of the rows.
    consensus : {"mean", "median"}
        What becomes of the scores of all trees.
    max_bins : int
        Most bins of a feature.
    random_state : int, RandomState instance or None
        Seed of the draws.
    n_jobs : int, optional
        Threads, which share out trees, and rows in `predict`; the answer does not depend on it.

    Attributes
    ----------
    trees_ : list of CellTree
    feature_importances_ : ndarray
        Share of each feature in the gains of all trees.
    lowest_label_, highest_label_ : float
        Of the training rows.

    Examples
    --------
    >>> X = [[1.0], [2.0], [3.0], [4.0]]
    >>> model = TreeRankForest(5, bootstrap=False).fit(X, [0, 0, 1, 1])
    >>> model.predict(X).tolist()
    [0.25, 0.25, 0.75, 0.75]
    """

    def __init__(
        self,
        n_estimators: int = 100,
        max_leaves: int | None = None,
        max_depth: int = 20,
        leafrank_depth: int = 12,
        min_child_weight: float = 1.0,
        min_gain: float = 0.0,
        max_features: str | float | None = "sqrt",
        bootstrap: bool = True,
        max_samples: float = 1.0,
        consensus: str = "mean",
        max_bins: int = 255,
        random_state: Seed = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_leaves = max_leaves
        self.max_depth = max_depth
        self.leafrank_depth = leafrank_depth
        self.min_child_weight = min_child_weight
        self.min_gain = min_gain
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.consensus = consensus
        self.max_bins = max_bins
        self.random_state = random_state
        self.n_jobs = n_jobs


class TreeRankTournament(_BaggedTrees):
    """Many grades as duels of two: a forest of ranking trees for each pair of grades, and the consensus of all.

    For two grades a forest learns from the rows of these grades alone, as `TreeRankForest` does; then it scores all
    rows, by the share of the training weight below. The consensus is taken over the trees of all duels. With
    ``n_estimators=1, bootstrap=False, max_features=None`` it is the tournament of single trees.

    More than 1,000 duels are refused: continuous labels are for `CRank`. Queries, missing values and weights are
    treated as in `TreeRank`; a duel of grades that no query has both of is left out.

    Parameters
    ----------
    n_estimators : int
        Trees of each duel.
    duels : {"all", "adjacent"}
        Whether each grade meets each other one, or its neighbours alone.
    max_leaves, max_depth, leafrank_depth, min_child_weight, min_gain, max_features, bootstrap, max_samples
        As in `TreeRankForest`.
    consensus, max_bins, random_state, n_jobs
        As in `TreeRankForest`.

    Attributes
    ----------
    trees_ : list of CellTree
        Those of the first duel come first.
    duels_ : list of tuple
        The grades, lower and higher, that met.
    feature_importances_, lowest_label_, highest_label_
        As in `TreeRankForest`.

    Examples
    --------
    >>> X = [[1.0], [2.0], [3.0]]
    >>> model = TreeRankTournament(1, bootstrap=False).fit(X, [0, 1, 2])
    >>> model.rank(X).tolist()
    [3, 2, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **_BaggedTrees._parameter_constraints,
        "duels": [StrOptions({"all", "adjacent"})],
    }

    def __init__(
        self,
        n_estimators: int = 30,
        duels: str = "all",
        max_leaves: int | None = None,
        max_depth: int = 20,
        leafrank_depth: int = 12,
        min_child_weight: float = 1.0,
        min_gain: float = 0.0,
        max_features: str | float | None = "sqrt",
        bootstrap: bool = True,
        max_samples: float = 1.0,
        consensus: str = "mean",
        max_bins: int = 255,
        random_state: Seed = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.duels = duels
        self.max_leaves = max_leaves
        self.max_depth = max_depth
        self.leafrank_depth = leafrank_depth
        self.min_child_weight = min_child_weight
        self.min_gain = min_gain
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.consensus = consensus
        self.max_bins = max_bins
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _forest(self, bagging: Bagging, rows: RankedRows) -> list[CellTree]:
        used = np.flatnonzero(rows.mass > 0)
        duels = duels_of(rows.labels[used], self.duels == "adjacent")
        if len(duels) > MAX_DUELS:
            raise PodiumError(
                f"TreeRankTournament takes labels that make at most {MAX_DUELS} duels of two grades; y makes "
                f'{len(duels)}: use CRank for continuous labels, or duels="adjacent".'
            )
        trees = []
        for number, duel in enumerate(duels):
            own = used[np.isin(rows.labels[used], duel)]
            if rows.total(own) > 0:
                trees += bagging.trees(rows, own, number)
        return trees
