"""Growth of a ranking tree: cells are split where it gains most, the upper part above the rest.

A cell of the tree is a set of tied rows. Its split is sought by `LeafRank` for the potentials of its rows, so that the
gains of all splits add up to the tree's concordance: ``AUC = ½ + ½ Σ gain``, with a split's gain the sum of its upper
rows' potentials, divided by the weight of all pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from podium._validation import Array
from podium.ranking_trees.leaf_rank import LeafRank, Region
from podium.ranking_trees.pair_gains import RankedRows


@dataclass(eq=False)
class Cell:
    """A node of a ranking tree while it grows.

    Attributes
    ----------
    rows : ndarray of int64
        Its training rows, ascending.
    depth : int
    region : Region or None
        What parts it, if it may be split.
    gain : float
        Of its split, as a share of all pairs.
    upper, lower : Cell or None
        Its parts, once it is split.
    """

    rows: Array
    depth: int
    region: Region | None = None
    gain: float = 0.0
    upper: Cell | None = None
    lower: Cell | None = None

    def splits(self) -> Iterator[Cell]:
        """Yield the cells that are split, parents first, the upper part before the lower one."""
        if self.upper is not None and self.lower is not None:
            yield self
            yield from self.upper.splits()
            yield from self.lower.splits()


@dataclass(frozen=True, eq=False)
class Growth:
    """How a ranking tree grows.

    Attributes
    ----------
    leaf_rank : LeafRank
    max_leaves : int or None
        Most cells.
    max_depth : int
    min_gain : float
        A split must gain more than this share of all pairs.
    labels : {"order", "median"}
        What a split learns from: all pairs of the cell, or its labels above and not above their median.
    overlay : bool
        Whether a split learns from all rows, at the costs of its cell, rather than from those of the cell alone.
    """

    leaf_rank: LeafRank
    max_leaves: int | None
    max_depth: int
    min_gain: float
    labels: str = "order"
    overlay: bool = False

    def grow(self, data: RankedRows, rows: Array) -> Cell:
        """Return the tree of some rows: the cell whose split gains most is split first, the earlier one of equals."""
        total, root = data.total(rows), Cell(rows, 0)
        waiting: list[tuple[float, int, Cell]] = []
        self._consider(data, rows, root, total, waiting, 0)
        n_cells = 1
        while waiting and (self.max_leaves is None or n_cells < self.max_leaves):
            cell = heappop(waiting)[2]
            cell.upper, cell.lower = parts_of(cell, data.codes)
            n_cells += 1
            for number, part in enumerate((cell.upper, cell.lower)):
                self._consider(data, rows, part, total, waiting, 2 * n_cells + number)
        return root

    def _consider(
        self,
        data: RankedRows,
        rows: Array,
        cell: Cell,
        total: float,
        waiting: list[tuple[float, int, Cell]],
        number: int,
    ) -> None:
        """Search the split of a cell, and put the cell in the queue if it gains enough."""
        if cell.depth >= self.max_depth or total <= 0:
            return
        cell.region = self._search(data, rows, cell)
        if cell.region is None:
            return
        upper = cell.region.holds(data.codes, cell.rows)
        cell.gain = float(data.potentials(cell.rows)[upper].sum()) / total
        if cell.gain > max(self.min_gain, 1e-12) and 0 < upper.sum() < len(upper):
            # Gains that rounding alone parts go by their order.
            heappush(waiting, (-float(f"{cell.gain:.9e}"), number, cell))

    def _search(self, data: RankedRows, rows: Array, cell: Cell) -> Region | None:
        """Return the region that parts a cell."""
        if self.overlay:
            inside = np.zeros_like(data.weight)
            inside[cell.rows] = data.weight[cell.rows]
            return self.leaf_rank.search(rows, data.potentials(rows, inside), data.mass[rows])
        given = data.median_potentials if self.labels == "median" else data.potentials
        return self.leaf_rank.search(cell.rows, given(cell.rows), data.mass[cell.rows])


def parts_of(cell: Cell, codes: Array) -> tuple[Cell, Cell]:
    """Return the upper and the lower part of a cell with a region."""
    if cell.region is None:
        raise TypeError("A cell without a region has no parts.")
    upper = cell.region.holds(codes, cell.rows)
    return Cell(cell.rows[upper], cell.depth + 1), Cell(cell.rows[~upper], cell.depth + 1)
