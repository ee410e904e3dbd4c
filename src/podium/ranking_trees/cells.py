"""A grown ranking tree as a frozen record of splits and cells, and the scoring of rows by many of them.

The upper part of a cell may be a union of leaves, all of which lead to the same next split: the record is a graph of
splits, in which several may lead to one. With stumps for LeafRank it is a tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike

import numpy as np
import scipy.sparse as sp

from podium._compiled import ROW, SCORE, compiled, run_threads
from podium._sparse import dense_rows, is_sparse
from podium._types import Features
from podium._validation import Array, FormatError, PodiumError
from podium.model_file import NOT_NEGATIVE, Column, Content, Schema, Value
from podium.ranking_trees.growth import Cell
from podium.ranking_trees.pair_gains import RankedRows
from podium.trees import RegressionTree

MAX_COPIED_LEAVES = 10_000
"""Leaves of a tree that is written out for other programs."""
MAX_DEPTH = 500
"""Splits on a way through such a tree."""
ROWS_PER_TASK = 4096
"""Rows scored in one task."""


@dataclass(frozen=True, eq=False)
class CellTree:
    """A ranking tree: splits that lead to cells, which are numbered from the top of the ranking.

    Attributes
    ----------
    feature : ndarray of int32
        Column of each split; the first split is the root. A tree without splits is one cell.
    threshold : ndarray of float64
        Values above it go right.
    missing_left : ndarray of bool
    left, right : ndarray of int32
        Where each split leads: to a later split if not negative, else to cell ``~child``.
    gain : ndarray of float64
        What the cell's split gains, as a share of all pairs: the same for all splits of one LeafRank tree.
    value : ndarray of float64
        Score of each cell: the share of the training weight below it, and half of its own.
    weight : ndarray of float64
        Of the training rows of each cell.
    label : ndarray of float64
        Mean label of the training rows of each cell.
    """

    feature: Array
    threshold: Array
    missing_left: Array
    left: Array
    right: Array
    gain: Array
    value: Array
    weight: Array
    label: Array

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.value)

    @property
    def n_splits(self) -> int:
        """Number of splits."""
        return len(self.feature)

    def curve(self, low: float, high: float) -> tuple[Array, Array]:
        """Return the corners of the ROC curve of the cells, from (0, 0) to (1, 1).

        A row counts as positive by ``(y - low)/(high - low)`` and as negative by the rest: with two grades as what it
        is.
        """
        positive = self.weight * (self.label - low) / (high - low)
        shares = [np.concatenate([[0.0], np.cumsum(one)]) for one in (self.weight - positive, positive)]
        return shares[0] / shares[0][-1], shares[1] / shares[1][-1]


def freeze(root: Cell, data: RankedRows) -> CellTree:
    """Return a grown tree as a record."""
    splits: list[list[float]] = []
    cells: list[Cell] = []
    _add(root, splits, cells)
    columns = np.array(splits, SCORE).reshape(len(splits), 6).T
    weight = np.array([data.mass[cell.rows].sum() for cell in cells])
    label = np.array([_mean(data.labels[cell.rows], data.mass[cell.rows]) for cell in cells])
    value = (weight.sum() - np.cumsum(weight) + weight / 2) / weight.sum()
    return CellTree(
        columns[0].astype(np.int32), columns[1], columns[2].astype(np.bool_), columns[3].astype(np.int32),
        columns[4].astype(np.int32), columns[5], value, weight, label,
    )  # fmt: skip


def _add(cell: Cell, splits: list[list[float]], cells: list[Cell]) -> int:
    """Add a cell with all below it, the upper part first; return what leads to it."""
    if cell.region is None or cell.upper is None or cell.lower is None:
        cells.append(cell)
        return ~(len(cells) - 1)
    region, first = cell.region, len(splits)
    columns = (region.feature, region.threshold, region.missing_left, region.left, region.right)
    own = [[*one, cell.gain] for one in zip(*(column.tolist() for column in columns), strict=True)]
    splits.extend(own)
    upper, lower = _add(cell.upper, splits, cells), _add(cell.lower, splits, cells)
    for split in own:
        split[3:5] = [first + to if to >= 0 else (lower, upper)[int(to == -1)] for to in split[3:5]]
    return first


def _mean(labels: Array, mass: Array) -> float:
    """Return a weighted mean without leaving the range of the labels."""
    share = mass / mass.sum()
    return float(np.clip((labels * share).sum(), labels.min(), labels.max()))


@dataclass(frozen=True, eq=False)
class CellForest:
    """Ranking trees joined for scoring, one array for each attribute; a root leads to a split or a cell."""

    feature: Array
    threshold: Array
    missing_left: Array
    left: Array
    right: Array
    value: Array
    root: Array

    @classmethod
    def of(cls, trees: Sequence[CellTree]) -> CellForest:
        """Join trees."""
        splits, cells = (np.cumsum([0, *sizes])[:-1] for sizes in zip(*(_sizes(tree) for tree in trees), strict=True))
        left, right = (
            np.concatenate(
                [np.where(own >= 0, own + s, own - c) for own, s, c in zip(of, splits, cells, strict=True)]
            ).astype(ROW)
            for of in ([tree.left for tree in trees], [tree.right for tree in trees])
        )
        root = np.array([s if tree.n_splits else ~c for tree, s, c in zip(trees, splits, cells, strict=True)], ROW)
        feature, threshold, missing_left, value = (
            np.concatenate([getattr(tree, name) for tree in trees])
            for name in ("feature", "threshold", "missing_left", "value")
        )
        return cls(feature, threshold, missing_left, left, right, value, root)

    def values(self, features: Features, n_threads: int = 1) -> Array:
        """Return the value of each row of a checked matrix in each tree, a column for each tree."""
        out = np.empty((features.shape[0], len(self.root)), SCORE)
        matrix = sp.csr_array(features) if is_sparse(features) else features
        parts = [slice(start, start + ROWS_PER_TASK) for start in range(0, len(out), ROWS_PER_TASK)]
        run_threads(self._fill, [(matrix[part], out[part]) for part in parts], n_threads)
        return out

    def _fill(self, rows: Features, out: Array) -> None:
        """Score the rows of one task."""
        dense = dense_rows(rows).astype(SCORE, copy=False)
        splits = (self.feature, self.threshold, self.missing_left, self.left, self.right)
        _fill_values(*splits, self.value, self.root, dense, out)


def _sizes(tree: CellTree) -> tuple[int, int]:
    """Return the numbers of splits and cells."""
    return tree.n_splits, tree.n_cells


def text_of(tree: CellTree, names: Sequence[str]) -> str:
    """Return the splits of a tree, line by line with where they lead, and its cells from the top."""
    lines = [
        f"{number:4}  {names[int(tree.feature[number])]} <= {tree.threshold[number]:.6g}"
        f"{' or missing' if tree.missing_left[number] else ''}: {_goal(int(tree.left[number]))}, else "
        f"{_goal(int(tree.right[number]))}  (gain {tree.gain[number]:.4f})"
        for number in range(tree.n_splits)
    ]
    lines += [
        f"cell {number:3}  score {tree.value[number]:.4f}  weight {tree.weight[number]:.6g}  "
        f"mean label {tree.label[number]:.6g}"
        for number in range(tree.n_cells)
    ]
    return "\n".join(lines)


def _goal(child: int) -> str:
    """Say where a split leads."""
    return f"split {child}" if child >= 0 else f"cell {~child}"


def regression_tree(tree: CellTree) -> RegressionTree:
    """Return a ranking tree as a tree of thresholds; what several splits lead to is copied for each of them.

    Raises
    ------
    PodiumError
        It would have more than `MAX_COPIED_LEAVES` leaves.
    """
    splits: list[list[float]] = []
    cells: list[int] = []
    _unfold(tree, 0 if tree.n_splits else -1, splits, cells, 0)
    columns = np.array(splits, SCORE).reshape(len(splits), 6).T
    return RegressionTree(
        columns[0].astype(np.int32), columns[1], columns[2].astype(np.bool_), columns[3].astype(np.int32),
        columns[4].astype(np.int32), tree.value[cells], columns[5], np.zeros(len(cells), ROW),
        np.full(len(splits), -1, np.int32),
    )  # fmt: skip


def _unfold(tree: CellTree, at: int, splits: list[list[float]], cells: list[int], depth: int) -> int:
    """Add what stands below a split or a cell, from left to right; return what leads to it."""
    if len(cells) > MAX_COPIED_LEAVES or depth > MAX_DEPTH:
        raise PodiumError(
            f"The tree has more than {MAX_COPIED_LEAVES} leaves, or a way of more than {MAX_DEPTH} splits, where every "
            "split is written once for each way to it, too many to export: fit it with leafrank_depth=1."
        )
    if at < 0:
        cells.append(~at)
        return ~(len(cells) - 1)
    number = len(splits)
    own = [tree.feature[at], tree.threshold[at], tree.missing_left[at], 0, 0, tree.gain[at]]
    splits.append(own)
    own[3] = _unfold(tree, int(tree.left[at]), splits, cells, depth + 1)
    own[4] = _unfold(tree, int(tree.right[at]), splits, cells, depth + 1)
    return number


SIZES = Schema(
    Column("n_splits", np.int64, (0, 2**31 - 1), "n_trees"),
    Column("n_cells", np.int64, (1, 2**31 - 1), "n_trees"),
    holds="ranking trees",
)
SPLITS = Schema(
    Column("feature", np.int32, (0, "last_feature"), "all_splits"),
    Column("threshold", bounds=(-np.inf, np.inf), size="all_splits"),
    Column("missing_left", np.bool_, size="all_splits"),
    Column("left", np.int32, (-(2**31), 2**31 - 1), "all_splits"),
    Column("right", np.int32, (-(2**31), 2**31 - 1), "all_splits"),
    Column("gain", size="all_splits"),
    holds="ranking trees",
)
CELLS = Schema(
    Column("value", bounds=(0.0, 1.0), size="all_cells"),
    Column("weight", bounds=NOT_NEGATIVE, size="all_cells"),
    Column("label", size="all_cells"),
    holds="ranking trees",
)


def cell_trees_to_columns(trees: Sequence[CellTree]) -> Content:
    """Return ranking trees as columns, one tree after the other."""
    return SIZES.write_rows(trees) | Schema(*SPLITS.fields, *CELLS.fields).write_joined(trees)


def cell_trees_from_columns(columns: Value, path: str | PathLike[str], n_features: int) -> list[CellTree]:
    """Return the trees that `cell_trees_to_columns` wrote, each value checked."""
    sizes = SIZES.read(columns, path, {})
    known = {"last_feature": n_features - 1, "all_splits": int(sizes["n_splits"].sum())}
    splits = SPLITS.read(columns, path, known)
    cells = CELLS.read(columns, path, {"all_cells": int(sizes["n_cells"].sum())})
    if not len(sizes["n_cells"]):
        raise FormatError(path, "there must be at least one ranking tree")
    parts = [[slice(*ends) for ends in pairwise(np.cumsum([0, *sizes[name]]).tolist())] for name in sizes]
    trees = [
        CellTree(
            **{name: column[of_splits] for name, column in splits.items()},
            **{name: column[of_cells] for name, column in cells.items()},
        )
        for of_splits, of_cells in zip(*parts, strict=True)
    ]
    if not all(map(_leads_on, trees)):
        raise FormatError(path, "a split of a ranking tree must lead to later splits or to cells of the tree")
    return trees


def _leads_on(tree: CellTree) -> bool:
    """Say whether every way through a tree ends in a cell."""
    number = np.arange(tree.n_splits)
    later = [(child < 0) | (child > number) & (child < tree.n_splits) for child in (tree.left, tree.right)]
    known = [child >= -tree.n_cells for child in (tree.left, tree.right)]
    return bool(np.all([*later, *known]))


@compiled
def _fill_values(
    feature: Array,
    threshold: Array,
    missing_left: Array,
    left: Array,
    right: Array,
    value: Array,
    root: Array,
    X: Array,
    out: Array,
) -> None:
    """Write the value of each row's cell in each tree; slow line: ``out[i, t] = value[~cell(trees[t], X[i])]``."""
    for i in range(len(X)):
        for tree in range(len(root)):
            at = root[tree]
            while at >= 0:
                x = X[i, feature[at]]
                goes_right = x > threshold[at] if x == x else not missing_left[at]
                at = right[at] if goes_right else left[at]
            out[i, tree] = value[~at]
