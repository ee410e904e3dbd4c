"""Pairs inside the rows up to, and above, each code, for graded feedback and sorted columns: the z criterion."""

from __future__ import annotations

import numpy as np

from podium._compiled import ROW, SCORE, compiled, even_ranges, run_threads
from podium._validation import Array
from podium.binning import ColumnBins
from podium.pairs import GradedPart
from podium.stumps.cut_sums import SCALE
from podium.stumps.level_tree import LevelTree


class ColumnWalk:
    """Weight of the pairs among the rows up to, and above, each code, for sorted columns.

    A column's entries are kept by query, in the order of codes; a query of which it ranks one row alone has
    no pair there and is left out.
    """

    def __init__(self, bins: ColumnBins, part: GradedPart, n_threads: int = 1) -> None:
        self.bins, self.part, self.n_threads = bins, part, n_threads
        self.tree = LevelTree.of(part.order)
        place = np.full(bins.n_rows, -1, ROW)
        place[part.order.row] = part.order.positions
        query = np.repeat(part.order.queries, np.diff(part.order.start))
        calls = [(bins, feature, place, query) for feature in range(bins.cuts.n_features)]
        positions, codes, sizes = zip(*run_threads(_entries_by_query, calls, n_threads), strict=True)
        self.position, self.code = np.concatenate(positions), np.concatenate(codes)
        self.segment = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]).astype(ROW)
        self.start = np.concatenate([[0], np.cumsum([len(size) for size in sizes])]).astype(ROW)
        depth = np.zeros(len(part.order.row) + 1, ROW)
        _count_nodes(self.tree.first, self.tree.last, depth)
        self.node_start = np.concatenate([[0], np.cumsum(np.cumsum(depth)[:-1])]).astype(ROW)
        self.node = np.empty(int(self.node_start[-1]), np.uint32)
        _list_nodes(self.tree.first, self.tree.split, self.tree.last, self.node_start, self.node)
        self.gap = np.empty(len(self.node) if len(part.order.label) else 0, SCORE)
        if len(self.gap):
            _list_gaps(self.node_start, self.node, self.tree.split, part.order.label, self.gap)

    def add(self, log_total: float, inside_out: Array) -> None:
        """Add the pairs of ranked rows, as multiples of 2**-62 of ``exp(log_total)``.

        ``inside_out[0, cut]`` takes them by the smaller code of their two rows, ``inside_out[1, cut]`` by the
        larger one; cuts are numbered through all features as in ``bins.cuts.thresholds``.
        """
        factors, scale = self.part.factors, self.part.group_scale(log_total) * SCALE
        whole = factors.n_whole
        runs = [(0, whole)] + [(g, g + 1) for g in range(whole, len(scale))]
        for first, last in runs:
            self._add_groups(first, last, scale, inside_out)

    def _add_groups(self, first: int, last: int, scale: Array, inside_out: Array) -> None:
        """Add the pairs of a run of groups, of which no two belong to one query."""
        factors, bins = self.part.factors, self.bins
        own = slice(factors.start[first], factors.start[last])
        shares = np.repeat(scale[first:last], np.diff(factors.start[first : last + 1]))
        sides = np.zeros((len(self.part.order.row), 2), SCORE)
        _scatter_sides(factors.position[own], factors.low[own], factors.high[own], shares, sides)
        entries = (self.position, self.code, self.segment, self.start)
        nodes = (self.node_start, self.node, self.gap, len(self.tree.first), sides)
        runs = even_ranges(bins.cuts.n_features, 4 * self.n_threads)
        calls = [(*entries, *nodes, bins.cuts.offsets, inside_out, *run) for run in runs]
        run_threads(_walk_columns_by_gaps if len(self.gap) else _walk_columns, calls, self.n_threads)


def _entries_by_query(bins: ColumnBins, feature: int, place: Array, query: Array) -> tuple[Array, Array, Array]:
    """Return positions and codes of one column by query, code and position, and the entries of each query.

    Queries with one entry are left out.
    """
    own = slice(bins.starts[feature], bins.starts[feature + 1])
    position, code = place[bins.rows[own]], bins.codes[own]
    known = position >= 0
    position, code = position[known], code[known]
    sequence = np.lexsort((position, code, query[position]))
    position, code = position[sequence], code[sequence]
    sizes = np.unique(query[position], return_counts=True)[1]
    several = np.repeat(sizes > 1, sizes)
    return position[several].astype(np.uint32), code[several], sizes[sizes > 1]


@compiled
def _count_nodes(first: Array, last: Array, depth_out: Array) -> None:
    """Mark where nodes begin and end, so that the running sum is the number of nodes of each position."""
    for v in range(len(first)):
        depth_out[first[v]] += 1
        depth_out[last[v]] -= 1


@compiled
def _list_nodes(first: Array, split: Array, last: Array, start: Array, node_out: Array) -> None:
    """Write the nodes of each position one after the other, twice their number and 1 more for the high side."""
    place = start[:-1].copy()
    for v in range(len(first)):
        for k in range(first[v], last[v]):
            node_out[place[k]] = 2 * v + (k >= split[v])
            place[k] += 1


@compiled
def _list_gaps(start: Array, node: Array, split: Array, label: Array, gap_out: Array) -> None:
    """Write how far the label of each position is from the lowest one of the high rows, for each of its nodes."""
    for k in range(len(start) - 1):
        for t in range(start[k], start[k + 1]):
            gap_out[t] = abs(label[k] - label[split[node[t] >> 1]])


@compiled
def _scatter_sides(position: Array, low: Array, high: Array, scale: Array, sides_out: Array) -> None:
    """Write (low * scale, high) by position; a position may be listed once for each side."""
    for k in range(len(position)):
        if low[k] > 0.0:
            sides_out[position[k], 0] = low[k] * scale[k]
        if high[k] > 0.0:
            sides_out[position[k], 1] = high[k]


@compiled
def _walk_columns(
    positions: Array,
    codes: Array,
    segment: Array,
    start: Array,
    node_start: Array,
    node: Array,
    gap: Array,
    n_nodes: int,
    sides: Array,
    offsets: Array,
    inside_out: Array,
    first: int,
    last: int,
) -> None:
    """Walk each query's entries of each column down and up, adding a row's pairs with those met before."""
    sums = np.zeros(2 * n_nodes)
    one = np.uint32(1)
    for f in range(first, last):
        for s in range(start[f], start[f + 1]):
            for up in range(2):
                for i in range(segment[s + 1] - segment[s]):
                    k = segment[s] + i if up else segment[s + 1] - 1 - i
                    pairs = 0.0
                    for t in range(node_start[positions[k]], node_start[positions[k] + 1]):
                        factor = sides[positions[k], node[t] & one]
                        pairs += factor * sums[node[t] ^ one]
                        sums[node[t]] += factor
                    inside_out[up, offsets[f] + codes[k]] += np.int64(pairs + 0.5)
                for k in range(segment[s], segment[s + 1]):
                    for t in range(node_start[positions[k]], node_start[positions[k] + 1]):
                        sums[node[t]] = 0.0


@compiled
def _walk_columns_by_gaps(
    positions: Array,
    codes: Array,
    segment: Array,
    start: Array,
    node_start: Array,
    node: Array,
    gap: Array,
    n_nodes: int,
    sides: Array,
    offsets: Array,
    inside_out: Array,
    first: int,
    last: int,
) -> None:
    """Do as `_walk_columns` where a pair weighs the difference of its labels, the sum of the gaps of its two rows."""
    sums = np.zeros((2 * n_nodes, 2))
    one = np.uint32(1)
    for f in range(first, last):
        for s in range(start[f], start[f + 1]):
            for up in range(2):
                for i in range(segment[s + 1] - segment[s]):
                    k = segment[s] + i if up else segment[s + 1] - 1 - i
                    pairs = 0.0
                    for t in range(node_start[positions[k]], node_start[positions[k] + 1]):
                        factor = sides[positions[k], node[t] & one]
                        pairs += factor * (gap[t] * sums[node[t] ^ one, 0] + sums[node[t] ^ one, 1])
                        sums[node[t], 0] += factor
                        sums[node[t], 1] += factor * gap[t]
                    inside_out[up, offsets[f] + codes[k]] += np.int64(pairs + 0.5)
                for k in range(segment[s], segment[s + 1]):
                    for t in range(node_start[positions[k]], node_start[positions[k] + 1]):
                        sums[node[t]] = 0.0
