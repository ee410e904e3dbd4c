"""TreeRank, RankOver and CRank: one tree of the ROC curve, whose cells stand in the order of the ranking.

"CR" is Werner's review of ranking problems; its sections 3.1 and 3.3 describe the three. The original papers are
Clémençon and Vayatis (2008, TreeRank; 2010, RankOver) and Clémençon and Achab (2017, CRank). They were not at hand:
each docstring states the definition that was built.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from os import PathLike
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from podium._types import Features
from podium._validation import Array, PodiumError, check_name_count
from podium.data import RankingData, feedback_of
from podium.export import TreeSum
from podium.model_file import Content, Scalar, Schema
from podium.rankers.at_once import AtOnceRanker
from podium.ranking_trees import (
    CellForest,
    CellTree,
    Growth,
    LeafRank,
    RankedRows,
    cell_trees_from_columns,
    cell_trees_to_columns,
    freeze,
    grow_by_folds,
    regression_tree,
    text_of,
)

GROWTH: dict[str, list[object]] = {
    "max_leaves": [Interval(Integral, 2, None, closed="left"), None],
    "max_depth": [Interval(Integral, 1, 50, closed="both")],
    "leafrank_depth": [Interval(Integral, 1, 20, closed="both")],
    "min_child_weight": [Interval(Real, 0, None, closed="left")],
    "min_gain": [Interval(Real, 0, 1, closed="both")],
    "max_bins": [Interval(Integral, 2, 255, closed="both")],
}
"""What the parameters of growth may be."""
DEPTHS = (1, 2, 3)
"""Levels of LeafRank that "auto" tries; four and more were worse on all kinds of small data."""


class RankingTrees(AtOnceRanker):
    """What rankers made of ranking trees share: everything but which trees there are."""

    _kept: ClassVar[Schema] = Schema(
        Scalar("lowest_label", float, attribute="lowest_label_"),
        Scalar("highest_label", float, attribute="highest_label_"),
    )

    max_leaves: int | None
    max_depth: int
    min_child_weight: float
    min_gain: float
    max_bins: int
    trees_: list[CellTree]
    lowest_label_: float
    highest_label_: float

    def _learn_at_once(self, data: RankingData) -> None:
        name = type(self).__name__
        if data.pairs is not None:
            raise PodiumError(f"{name} learns from the order of labels, so pairs must be None; RankBoost takes pairs.")
        if data.labels is None:
            raise PodiumError(f"{name} requires y to be passed, but the target y is None.")
        feedback_of(data)  # refuses labels without any pair, and says why
        trees = self._grow(data, data.labels)
        if all(tree.n_cells == 1 for tree in trees):
            why = "no split gains anything, leaves min_child_weight on both sides and is kept by pruning"
            warnings.warn(f"Nothing was learned, so that all predictions are equal: {why}.", stacklevel=4)
        self._keep(trees)
        self.lowest_label_, self.highest_label_ = float(data.labels.min()), float(data.labels.max())

    def _grow(self, data: RankingData, labels: Array) -> list[CellTree]:
        """Return the trees of checked data."""
        raise TypeError(f"{type(self).__name__} must say how it learns.")

    def _keep(self, trees: list[CellTree]) -> None:
        """Set what predictions need of the trees of a fit or of a file."""
        self.trees_, self._joined = trees, CellForest.of(trees)

    def _learned(self) -> Content:
        return {**super()._learned(), "trees": cell_trees_to_columns(self.trees_)}

    def _restore(self, content: Content, path: str | PathLike[str]) -> None:
        super()._restore(content, path)
        self._keep(cell_trees_from_columns(content.get("trees"), path, self.n_features_in_))

    def _monitor_measures(self) -> list[str]:
        """Return the measure of `score`: rows of one cell are tied, which counts half."""
        return ["pair_loss_2"]

    @property
    def feature_importances_(self) -> Array:
        """Share of each feature in the gains of all splits."""
        check_is_fitted(self)
        gains = np.zeros(self.n_features_in_)
        for tree in self.trees_:
            np.add.at(gains, tree.feature, tree.gain)
        total = gains.sum()
        return gains / total if total > 0 else gains

    def export_text(self, feature_names: Sequence[str] | None = None) -> str:
        """Return the splits and cells of every tree as text.

        Parameters
        ----------
        feature_names : sequence of str, optional
            By default those of the fit, or f0, f1 and so on.
        """
        check_is_fitted(self)
        own = self._names() or [f"f{number}" for number in range(self.n_features_in_)]
        names = own if feature_names is None else feature_names
        check_name_count(names, self.n_features_in_)
        texts = [text_of(tree, names) for tree in self.trees_]
        if len(texts) == 1:
            return texts[0]
        return "\n\n".join(f"tree {number}\n{text}" for number, text in enumerate(texts))

    def _exported(self) -> TreeSum:
        trees = tuple(regression_tree(tree).scaled(1.0 / len(self.trees_)) for tree in self.trees_)
        return TreeSum(trees, 0.0, self.n_features_in_, self._names(), type(self).__name__)


class _OneTree(RankingTrees):
    """A ranker of one tree."""

    _overlay: ClassVar[bool] = False

    leafrank_depth: int | str
    pruning_folds: int

    def _grow(self, data: RankingData, labels: Array) -> list[CellTree]:
        rows = self._measured(RankedRows.of(data, labels, self.max_bins))
        every = np.arange(data.features.shape[1])
        depths = DEPTHS if isinstance(self.leafrank_depth, str) else (self.leafrank_depth,)
        searches = [LeafRank(rows.bins, depth, self.min_child_weight, lambda: every) for depth in depths]
        how = self.max_leaves, self.max_depth, self.min_gain, self._split_labels(), self._overlay
        growths, inside = [Growth(search, *how) for search in searches], np.flatnonzero(rows.mass > 0)
        if self.pruning_folds > 1:
            return [freeze(grow_by_folds(growths, rows, inside, self.pruning_folds), rows)]
        return [freeze(growths[-1].grow(rows, inside), rows)]

    def _split_labels(self) -> str:
        """Return what a split learns from."""
        return "order"

    def _measured(self, rows: RankedRows) -> RankedRows:
        """Return the rows with the weights of pairs that gains are measured by."""
        return rows

    def _score(self, features: Features) -> Array:
        scores: Array = self._joined.values(features)[:, 0]
        return scores


class TreeRank(_OneTree):
    """A tree of the ROC curve: each cell is split where the AUC gains most, the upper part stands above the rest.

    A cell C of tied rows is split into C' and the rest such that ``N(C) P(C') - P(C) N(C')`` is largest, with P and N
    the weights of the two grades: a classification problem in which both grades weigh alike in the cell (LeafRank,
    solved over stumps or small trees). It is the area that the split adds to the ROC curve, twice, times the weight of
    all pairs. The cell of the largest gain is split first. Cells keep the order of the tree, and the ROC curve of the
    training rows is the piecewise linear curve through the cells; it need not be concave.

    More is done than the papers have: with queries, pairs are those within a query, and the gain is that of the AUC
    over all such pairs, ``Σ_q N_q(C) P_q(C') - P_q(C) N_q(C')``, so that splits do not learn what tells queries apart;
    the cells themselves are the same for all queries. More than two grades, or continuous labels, make pairs of all
    different labels, and the gain is that of their concordance (Kendall's τ). Missing values go to the side where they
    gain more; an absent entry of a sparse matrix is missing. A row's weight counts once in each of its pairs, a query's
    weight once in each pair of the query. A split takes O(n F) for n rows of the cell and F features.

    Parameters
    ----------
    max_leaves : int or None
        Most cells before pruning.
    max_depth : int
        Most splits of cells on the way to a cell, at most 50.
    leafrank_depth : int or "auto"
        Levels of the tree that parts a cell, from 1 (a stump) to 20; "auto": 1, 2 or 3, whichever is best in the
        cross-validation that prunes the tree, 3 without one.
    min_child_weight : float
        Least weight of rows on either side of a split; rows weigh 1 by default.
    min_gain : float
        What a split must add, as a share of all pairs: the AUC is ``(1 + Σ gain) / 2``.
    pruning_folds : int
        Folds of the cross-validation that prunes the tree; 0 leaves it as it grew. The penalty for a split is taken
        that is best for the AUC of the rows left out. Folds part whole queries, or rows if there is one query,
        by a hash of their features.
    max_bins : int
        Most bins of a feature.

    Attributes
    ----------
    trees_ : list of CellTree
        The one tree: splits, and cells from the top with their weights, mean labels and scores.
    feature_importances_ : ndarray
        Share of each feature in the gains.
    lowest_label_, highest_label_ : float
        Of the training rows.

    Examples
    --------
    >>> model = TreeRank(leafrank_depth=1, min_child_weight=1, pruning_folds=0)
    >>> model = model.fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 0, 1])
    >>> model.predict([[1.0], [2.5], [9.0]]).tolist()
    [0.375, 0.375, 0.875]
    >>> print(model.export_text(["price"]).splitlines()[0])
       0  price <= 3 or missing: cell 1, else cell 0  (gain 1.0000)
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **GROWTH,
        "leafrank_depth": [*GROWTH["leafrank_depth"], StrOptions({"auto"})],
        "pruning_folds": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        max_leaves: int | None = 32,
        max_depth: int = 20,
        leafrank_depth: int | str = "auto",
        min_child_weight: float = 10.0,
        min_gain: float = 0.0,
        pruning_folds: int = 5,
        max_bins: int = 255,
    ) -> None:
        self.max_leaves = max_leaves
        self.max_depth = max_depth
        self.leafrank_depth = leafrank_depth
        self.min_child_weight = min_child_weight
        self.min_gain = min_gain
        self.pruning_folds = pruning_folds
        self.max_bins = max_bins


class RankOver(_OneTree):
    """Classifiers laid one over the other: the ROC space is parted where the optimal curve is furthest from its chord.

    It starts from the chord from (0, 0) to (1, 1). For a piece of the curve, between two nested sets of rows, a
    classifier is learned *from all rows* at the cost of errors that the slope of its chord gives; the point of the
    optimal curve for that cost is the one furthest from the chord. The classifier, cut to lie between the two sets, is
    a new set, the piece becomes two, and the piece that gains most area is next. The score counts the sets that hold a
    row. Pieces that add no more than `min_gain` are left as they are: so the partition of the ROC space is finer where
    the curve bends.

    The difference to `TreeRank` is that a classifier sees all rows, not those of its cell alone: there are more of
    them, but they are also rows that it does not part. What is built follows the idea in CR 3.1. More grades, queries,
    weights and missing values are treated as in `TreeRank`. A set takes O(n F) for all n rows.

    Parameters
    ----------
    max_leaves : int or None
        Most pieces of the curve.
    max_depth : int
        Most times that a piece is parted, at most 50.
    leafrank_depth : int or "auto"
        Levels of the tree that classifies, from 1 (a stump) to 20; "auto" as in `TreeRank`.
    min_child_weight : float
        Least weight of rows on either side of a split.
    min_gain : float
        What a set must add: twice the area, in the ROC space of all pairs.
    pruning_folds : int
        As in `TreeRank`.
    max_bins : int
        Most bins of a feature.

    Attributes
    ----------
    trees_, feature_importances_, lowest_label_, highest_label_
        As in `TreeRank`.

    Examples
    --------
    >>> model = RankOver(leafrank_depth=1, min_child_weight=1).fit([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1])
    >>> model.rank([[1.0], [2.5], [9.0]]).tolist()
    [3, 2, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = TreeRank._parameter_constraints
    _overlay = True

    def __init__(
        self,
        max_leaves: int | None = 32,
        max_depth: int = 20,
        leafrank_depth: int | str = 3,
        min_child_weight: float = 5.0,
        min_gain: float = 0.001,
        pruning_folds: int = 0,
        max_bins: int = 255,
    ) -> None:
        self.max_leaves = max_leaves
        self.max_depth = max_depth
        self.leafrank_depth = leafrank_depth
        self.min_child_weight = min_child_weight
        self.min_gain = min_gain
        self.pruning_folds = pruning_folds
        self.max_bins = max_bins


class CRank(_OneTree):
    """A ranking tree for continuous labels: each cell is parted at the median of its labels (CR 3.3).

    In a cell the labels above the median are one class and the others the other; where no label is above the median, as
    with many ties, those at it are the upper class. LeafRank seeks the part of the cell that classifies best, both
    classes weighing alike, and that part stands above the rest. With queries each has its own median in the cell, and
    pairs are those within a query.

    The gain of a split, which says what cell is next and what is pruned, is that of `measure`; a split that gains
    nothing is not made. "iauc" is the mean over the observed y of the AUC of the labels above y against those below, as
    the measure of that name. "triples" is the chance that s(X) < s(X'') given Y < Y' < Y'': another number, which
    weighs the y in the middle more. "kendall" weighs all pairs alike. Labels of fewer than three levels in every query
    have no IAUC, and gains are those of pairs then. More is as in `TreeRank`.

    Parameters
    ----------
    max_leaves, max_depth, leafrank_depth, min_child_weight, min_gain, pruning_folds, max_bins
        As in `TreeRank`.
    measure : {"iauc", "triples", "kendall"}
        What gains are measured by.
    split : {"median", "measure"}
        What a split is sought for: the two sides of the median, as the paper has it, or the gain of the measure itself
        (ours).

    Attributes
    ----------
    trees_, feature_importances_, lowest_label_, highest_label_
        As in `TreeRank`.

    Examples
    --------
    >>> X = [[1.0], [2.0], [3.0], [4.0]]
    >>> model = CRank(min_child_weight=1, pruning_folds=0).fit(X, [0.1, 0.4, 0.6, 2.5])
    >>> model.rank(X).tolist()
    [3, 3, 1, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **TreeRank._parameter_constraints,
        "measure": [StrOptions({"iauc", "triples", "kendall"})],
        "split": [StrOptions({"median", "measure"})],
    }

    def __init__(
        self,
        max_leaves: int | None = 32,
        max_depth: int = 20,
        leafrank_depth: int | str = 3,
        min_child_weight: float = 10.0,
        min_gain: float = 0.0,
        pruning_folds: int = 5,
        max_bins: int = 255,
        measure: str = "iauc",
        split: str = "median",
    ) -> None:
        self.max_leaves = max_leaves
        self.max_depth = max_depth
        self.leafrank_depth = leafrank_depth
        self.min_child_weight = min_child_weight
        self.min_gain = min_gain
        self.pruning_folds = pruning_folds
        self.max_bins = max_bins
        self.measure = measure
        self.split = split

    def _split_labels(self) -> str:
        return "median" if self.split == "median" else "order"

    def _measured(self, rows: RankedRows) -> RankedRows:
        if self.measure == "kendall":
            return rows
        measured = rows.measured_by(self.measure)
        return measured if measured.total(np.flatnonzero(rows.mass > 0)) > 0 else rows
