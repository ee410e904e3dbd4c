"""Many ranking trees: resampled rows, drawn features, duels of two grades, and the consensus of the trees.

The consensus of rankings is taken row by row from the trees' scores, which are shares of the training weight below a
row: ranks, scaled to [0, 1]. Their mean is the consensus by averaged scores. Their median is the ranking of the least
sum of footrule distances ``Σ_t |s_t(x) - s(x)|`` to the trees, at most twice as far in Kendall's distance as the best
one (Diaconis and Graham 1977), which is hard to find.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from podium._compiled import run_threads
from podium._validation import Array
from podium.ranking_trees.cells import CellTree, freeze
from podium.ranking_trees.growth import Cell, Growth
from podium.ranking_trees.leaf_rank import DrawFeatures
from podium.ranking_trees.pair_gains import RankedRows

CONSENSUS: dict[str, Callable[[Array], Array]] = {
    "mean": lambda values: values.mean(axis=1),
    "median": lambda values: np.median(values, axis=1),
}
"""From a row of scores, one of each tree, to the score of all."""


@dataclass(frozen=True, eq=False)
class Bagging:
    """How many trees are grown, each from rows and features of its own.

    Attributes
    ----------
    make_growth : callable
        From what draws features to how a tree grows.
    n_trees : int
    n_features : int
        Of the data.
    n_drawn : int
        Features that each search looks at.
    max_samples : float or None
        Rows drawn with replacement, as a share of the rows; None takes each row once.
    seed : int
    n_threads : int
    """

    make_growth: Callable[[DrawFeatures], Growth]
    n_trees: int
    n_features: int
    n_drawn: int
    max_samples: float | None
    seed: int
    n_threads: int

    def trees(self, data: RankedRows, rows: Array, part: int = 0) -> list[CellTree]:
        """Return trees that learn from some rows; the weights and scores of their cells are of all rows of `data`.

        Parameters
        ----------
        data : RankedRows
        rows : ndarray of int64
            Ascending.
        part : int
            Further number of the seed: another one draws other rows and features.
        """
        return run_threads(self._tree, [(data, rows, part, number) for number in range(self.n_trees)], self.n_threads)

    def _tree(self, data: RankedRows, rows: Array, part: int, number: int) -> CellTree:
        """Return one tree."""
        rng = np.random.default_rng([self.seed, part, number])
        drawn = data if self.max_samples is None else data.weighing(data.weight * self._times(rng, rows, data))
        root = self.make_growth(self._draw(rng)).grow(drawn, rows[drawn.weight[rows] > 0])
        fill_cells(root, data, np.flatnonzero(data.mass > 0))
        return freeze(root, data)

    def _times(self, rng: np.random.Generator, rows: Array, data: RankedRows) -> Array:
        """Return how often each row is drawn."""
        size = max(1, round((self.max_samples or 0.0) * len(rows)))
        return np.bincount(rows[rng.integers(0, len(rows), size)], minlength=len(data.weight))

    def _draw(self, rng: np.random.Generator) -> DrawFeatures:
        """Return what draws the features of a search."""
        if self.n_drawn >= self.n_features:
            every = np.arange(self.n_features)
            return lambda: every
        return lambda: np.sort(rng.choice(self.n_features, self.n_drawn, replace=False))


def fill_cells(cell: Cell, data: RankedRows, rows: Array) -> None:
    """Send rows down a tree: they take the place of those that it grew from."""
    cell.rows = rows
    if cell.region is not None and cell.upper is not None and cell.lower is not None:
        upper = cell.region.holds(data.codes, rows)
        fill_cells(cell.upper, data, rows[upper])
        fill_cells(cell.lower, data, rows[~upper])


def duels_of(labels: Array, adjacent: bool) -> list[tuple[float, float]]:
    """Return the pairs of grades, lower and higher, that meet: all, or neighbours alone."""
    grades = np.unique(labels).tolist()
    last = [len(grades) if not adjacent else low + 2 for low in range(len(grades))]
    return [(grades[low], high) for low in range(len(grades)) for high in grades[low + 1 : last[low]]]
