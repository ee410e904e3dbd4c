"""A query's levels as a binary tree of two-level problems: the pairs inside any set of rows, in O(n log
levels).

Every pair (low, high) of graded feedback is split by exactly one node: the one in whose lower half of levels
the low row lies, and in whose upper half the high row. At a node all low rows pair with all high rows, so the
weight of the pairs within a set is (sum of low factors) * (sum of high factors) of the set, and a walk
through the rows in the order of a feature needs two running sums. Nodes are split where they balance, so that
a row is in about log2(levels) nodes, and in fewer where grades are uneven: 1.7 for five grades of 52, 32, 13,
2 and 1 percent.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from podium._compiled import ROW, SCORE, compiled, run_threads
from podium._validation import Array
from podium.binning import BLOCK, BlockBins, ColumnBins
from podium.distribution.factors import LevelOrder
from podium.distribution.graded import GradedPart
from podium.weak.sums import half_blocks

SMALL = 256
"""Most rows of a node whose order by each feature is stored: a row's number in the node then fits in one byte."""


@dataclass(frozen=True, eq=False)
class LevelTree:
    """The nodes of all queries. Positions are those of a `LevelOrder`.

    Attributes
    ----------
    first, split, last : ndarray of int64
        A node has the positions ``first`` up to, not including, ``last``; from ``split`` on they are high.
    start : ndarray of int64
        Nodes of query q: ``start[q]`` up to, not including, ``start[q + 1]``.
    """

    first: Array
    split: Array
    last: Array
    start: Array

    @classmethod
    def of(cls, order: LevelOrder) -> LevelTree:
        """Split every query's levels in two until each part is one level."""
        bounds = np.empty((max(len(order.row) - 1, 0), 3), ROW)
        start = np.zeros(len(order.start), ROW)
        count = _split_levels(order.start, order.level, bounds, start)
        first, split, last = (np.ascontiguousarray(bounds[:count, i]) for i in range(3))
        return cls(first, split, last, start)

    @property
    def sizes(self) -> Array:
        """Rows of each node."""
        return self.last - self.first


class BlockWalk:
    """Weight of the pairs among the rows up to each code, for binned features.

    Nodes of up to 256 rows are walked in the order of each feature, which is stored: two bytes a row, feature
    and node, for code and number in the node. Larger ones are summed by code and side, without any order.
    """

    def __init__(self, bins: BlockBins, part: GradedPart, n_threads: int = 1) -> None:
        self.bins, self.part, self.n_threads = bins, part, n_threads
        self.tree = LevelTree.of(part.order)
        sizes = np.where(self.tree.sizes <= SMALL, self.tree.sizes, 0)
        self.offset = np.concatenate([[0], np.cumsum(sizes)]).astype(ROW)
        self.entries = np.empty((bins.cuts.n_features, int(self.offset[-1])), np.uint16)
        tree = self.tree
        nodes = (part.order.row, tree.first, tree.last, self.offset)
        calls = [
            (bins.codes[f // BLOCK], f % BLOCK, *nodes, self.entries[f]) for f in range(bins.cuts.n_features)
        ]
        run_threads(_sort_nodes, calls, n_threads)

    def add(self, log_total: float, inside_out: Array) -> None:
        """Add the pairs, as shares of ``exp(log_total)``, by the larger code of their two rows.

        ``inside_out[f // 8, 0, f % 8, code]`` takes the pairs of which a row lacks feature f,
        ``inside_out[f // 8, 1, f % 8, code]`` the others.
        """
        factors, scale = self.part.factors, self.part.group_scale(log_total)
        whole = slice(0, factors.n_whole)
        self._add_groups(whole, factors.query[whole], scale[whole], inside_out)
        for g in range(factors.n_whole, len(scale)):
            self._add_groups(slice(g, g + 1), factors.query[g : g + 1], scale[g : g + 1], inside_out)

    def _add_groups(self, groups: slice, query: Array, scale: Array, inside_out: Array) -> None:
        """Add the pairs of a run of groups, of which no two belong to one query."""
        tree, order, factors = self.tree, self.part.order, self.part.factors
        own = slice(factors.start[groups.start], factors.start[groups.stop])
        low, high = np.zeros(len(order.row), SCORE), np.zeros(len(order.row), SCORE)
        _scatter_positive(factors.position[own], factors.low[own], low)
        _scatter_positive(factors.position[own], factors.high[own], high)
        counts = tree.start[query + 1] - tree.start[query]
        node = np.repeat(tree.start[query] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        sizes = tree.sizes[node]
        place = np.concatenate([[0], np.cumsum(sizes)]).astype(ROW)
        sides = np.empty((int(place[-1]), 2), SCORE)
        _fill_sides(
            node, place, tree.first, tree.split, tree.last, low, high, np.repeat(scale, counts), sides
        )
        small, large = (np.flatnonzero(kind) for kind in (sizes <= SMALL, sizes > SMALL))
        halves, words = range(0, len(self.entries), 8), half_blocks(self.bins)
        nodes = (self.offset, node, place, small, sides)
        walks = [(self.entries[f : f + 8], *nodes, inside_out[f // 8]) for f in halves]
        run_threads(_walk_nodes, walks, self.n_threads)
        nodes = (node, place, large, sides, tree.first, order.row)
        sums = [(words[f // BLOCK], f % BLOCK // 8, *nodes, inside_out[f // 8]) for f in halves]
        run_threads(_sum_nodes, sums if len(large) else [], self.n_threads)


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

    def add(self, log_total: float, inside_out: Array) -> None:
        """Add the pairs of ranked rows, as shares of ``exp(log_total)``.

        ``inside_out[0, cut]`` takes them by the smaller code of their two rows, ``inside_out[1, cut]`` by the
        larger one; cuts are numbered through all features as in ``bins.cuts.thresholds``.
        """
        factors, scale = self.part.factors, self.part.group_scale(log_total)
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
        nodes = (self.node_start, self.node, len(self.tree.first), sides)
        bounds = np.linspace(0, bins.cuts.n_features, 4 * self.n_threads + 1).astype(ROW)
        calls = [(*entries, *nodes, bins.cuts.offsets, inside_out, a, b) for a, b in pairwise(bounds)]
        run_threads(_walk_columns, calls, self.n_threads)


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
def _split_levels(start, level, bounds_out, start_out):
    """Write (first, split, last) of the nodes of every query, splitting at the level nearest to the middle."""
    count = 0
    stack = np.empty((len(level) + 1, 2), np.int64)
    for q in range(len(start) - 1):
        stack[0, 0], stack[0, 1] = start[q], start[q + 1]
        depth = 1
        while depth > 0:
            depth -= 1
            first, last = stack[depth]
            if level[first] == level[last - 1]:
                continue
            split = _middle_level(level, first, last)
            bounds_out[count, 0], bounds_out[count, 1], bounds_out[count, 2] = first, split, last
            count += 1
            stack[depth, 0], stack[depth, 1] = first, split
            stack[depth + 1, 0], stack[depth + 1, 1] = split, last
            depth += 2
        start_out[q + 1] = count
    return count


@compiled
def _middle_level(level, first, last):
    """Return the start of a level, not the lowest, that is nearest to the middle of the positions."""
    middle = (first + last) // 2
    below, above = middle, middle
    while below > first and level[below] == level[below - 1]:
        below -= 1
    while above < last and level[above] == level[above - 1]:
        above += 1
    if below == first or (above < last and above - middle < middle - below):
        return above
    return below


@compiled
def _scatter_positive(position, values, out):
    """Do ``out[position] = values`` where the values are positive: a position may be listed once for each side."""
    for k in range(len(position)):
        if values[k] > 0.0:
            out[position[k]] = values[k]


@compiled
def _fill_sides(node, place, first, split, last, low, high, scale, sides_out):
    """Write (low * scale, 0) for the low rows of each node and (0, high) for the high ones.

    The scale belongs to one side only, and to rows that have a partner, so that no product overflows.
    """
    for i in range(len(node)):
        for k in range(first[node[i]], last[node[i]]):
            out = sides_out[place[i] + k - first[node[i]]]
            is_low = k < split[node[i]]
            out[0] = low[k] * scale[i] if is_low else 0.0
            out[1] = 0.0 if is_low else high[k]


@compiled
def _sort_nodes(codes, column, row, first, last, offset, entries_out):
    """Write ``np.sort(256 * codes[rows of the node] + number in the node)`` for every small node."""
    count = np.empty(257, np.int64)
    for v in range(len(first)):
        size = offset[v + 1] - offset[v]
        if size == 0:
            continue
        out = entries_out[offset[v] : offset[v + 1]]
        if size <= 24:
            _insert_sorted(codes, column, row, first[v], out)
            continue
        count[:] = 0
        for k in range(size):
            count[codes[row[first[v] + k], column] + 1] += 1
        for c in range(1, 257):
            count[c] += count[c - 1]
        for k in range(size):
            code = codes[row[first[v] + k], column]
            out[count[code]] = 256 * np.int64(code) + k
            count[code] += 1


@compiled
def _insert_sorted(codes, column, row, first, out):
    """Write the sorted entries of one very small node."""
    for k in range(len(out)):
        entry = 256 * np.int64(codes[row[first + k], column]) + k
        j = k
        while j > 0 and out[j - 1] > entry:
            out[j] = out[j - 1]
            j -= 1
        out[j] = entry


@compiled
def _walk_nodes(entries, offset, node, place, small, sides, inside_out):
    """Walk the small nodes in the order of each of eight features.

    Slow line: ``inside[both ranked, f, larger code] += low * high for every pair of low and high rows of a
    node``. All features of one node come after the other, so that its sides stay in the first-level cache.
    Equal codes follow each other in a walk; four histograms by turns keep one add from waiting for the store
    of the last (1.3 ns a row and feature against 2.3).
    """
    turns = np.zeros((2, 8, 4, 256))
    for i in small:
        own = sides[place[i] : place[i + 1]]
        for j in range(len(entries)):
            _walk(entries[j, offset[node[i]] : offset[node[i] + 1]], own, turns[0, j], turns[1, j])
    inside_out += turns.sum(axis=2)


@compiled
def _walk(walk, sides, lacking_out, ranked_out):
    """Walk one node in the order of one feature, from missing rows (code 0) up."""
    missing_low = missing_high = 0.0
    start = 0
    while start < len(walk) and walk[start] < 256:
        missing_low += sides[walk[start], 0]
        missing_high += sides[walk[start], 1]
        start += 1
    low = high = 0.0
    for k in range(start, len(walk)):
        entry = walk[k]
        a, b = sides[entry & 255, 0], sides[entry & 255, 1]
        ranked_out[k & 3, entry >> 8] += b * low + a * high
        low += a
        high += b
    if start > 0:
        lacking_out[0, 0] += missing_low * missing_high
        for k in range(start, len(walk)):
            entry = walk[k]
            a, b = sides[entry & 255, 0], sides[entry & 255, 1]
            lacking_out[k & 3, entry >> 8] += b * missing_low + a * missing_high


@compiled
def _sum_nodes(words, half, node, place, large, sides, first, row, inside_out):
    """Sum the large nodes' sides by code for eight features, then multiply the running sums.

    Slow line as for `_walk_nodes`.
    """
    byte = np.uint64(255)
    sums = np.zeros((8, 256, 2))
    for i in large:
        sums[:] = 0.0
        own = sides[place[i] : place[i + 1]]
        for k in range(len(own)):
            word = words[row[first[node[i]] + k], half]
            a, b = own[k, 0], own[k, 1]
            for j in range(8):
                cell = sums[j, (word >> np.uint64(8 * j)) & byte]
                cell[0] += a
                cell[1] += b
        for j in range(8):
            _add_products(sums[j], inside_out[0, j], inside_out[1, j])


@compiled
def _add_products(sums, lacking_out, ranked_out):
    """Add what each code adds to the product of the running sums, missing rows apart."""
    low = high = 0.0
    missing_low, missing_high = sums[0, 0], sums[0, 1]
    lacking_out[0] += missing_low * missing_high
    for code in range(1, 256):
        a, b = sums[code, 0], sums[code, 1]
        ranked_out[code] += low * b + a * high + a * b
        lacking_out[code] += missing_low * b + a * missing_high
        low += a
        high += b


@compiled
def _count_nodes(first, last, depth_out):
    """Mark where nodes begin and end, so that the running sum is the number of nodes of each position."""
    for v in range(len(first)):
        depth_out[first[v]] += 1
        depth_out[last[v]] -= 1


@compiled
def _list_nodes(first, split, last, start, node_out):
    """Write the nodes of each position one after the other, twice their number and 1 more for the high side."""
    place = start[:-1].copy()
    for v in range(len(first)):
        for k in range(first[v], last[v]):
            node_out[place[k]] = 2 * v + (k >= split[v])
            place[k] += 1


@compiled
def _scatter_sides(position, low, high, scale, sides_out):
    """Write (low * scale, high) by position; a position may be listed once for each side."""
    for k in range(len(position)):
        if low[k] > 0.0:
            sides_out[position[k], 0] = low[k] * scale[k]
        if high[k] > 0.0:
            sides_out[position[k], 1] = high[k]


@compiled
def _walk_columns(
    positions, codes, segment, start, node_start, node, n_nodes, sides, offsets, inside_out, first, last
):
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
                    inside_out[up, offsets[f] + codes[k]] += pairs
                for k in range(segment[s], segment[s + 1]):
                    for t in range(node_start[positions[k]], node_start[positions[k] + 1]):
                        sums[node[t]] = 0.0
