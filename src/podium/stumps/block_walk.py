"""Pairs inside the rows up to each code, for graded feedback and binned features: the z criterion on blocks."""

from __future__ import annotations

import numpy as np

from podium._compiled import ROW, SCORE, compiled, compiled_part, run_threads
from podium._validation import Array
from podium.binning import BLOCK, BlockBins
from podium.pairs import GradedPart
from podium.stumps.cut_sums import SCALE, half_blocks
from podium.stumps.level_tree import LevelTree

MAX_STORED_ROWS = 256
"""Most rows of a node whose order by each feature is stored: a row's number in the node then fits in one byte."""


class BlockWalk:
    """Weight of the pairs among the rows up to each code, for binned features.

    Nodes of up to 256 rows are walked in the order of each feature, which is stored: two bytes a row, feature
    and node, for code and number in the node. Larger ones are summed by code and side, without any order.
    """

    def __init__(self, bins: BlockBins, part: GradedPart, n_threads: int = 1) -> None:
        self.bins, self.part, self.n_threads = bins, part, n_threads
        self.tree = LevelTree.of(part.order)
        sizes = np.where(self.tree.sizes <= MAX_STORED_ROWS, self.tree.sizes, 0)
        self.offset = np.concatenate([[0], np.cumsum(sizes)]).astype(ROW)
        self.entries = np.empty((bins.cuts.n_features, int(self.offset[-1])), np.uint16)
        tree = self.tree
        nodes = (part.order.row, tree.first, self.offset)
        calls = [(bins.codes[f // BLOCK], f % BLOCK, *nodes, self.entries[f]) for f in range(bins.cuts.n_features)]
        run_threads(_sort_nodes, calls, n_threads)

    def add(self, log_total: float, inside_out: Array) -> None:
        """Add the pairs, as multiples of 2**-62 of ``exp(log_total)``, by the larger code of their two rows.

        ``inside_out[f // 8, 0, f % 8, code]`` takes the pairs of which a row lacks feature f,
        ``inside_out[f // 8, 1, f % 8, code]`` the others. What a row adds is rounded, so that the sums are those of
        integers, the same for any order of the queries.
        """
        factors, scale = self.part.factors, self.part.group_scale(log_total) * SCALE
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
        place = np.concatenate([[0], np.cumsum(tree.sizes[node])]).astype(ROW)
        sides = np.empty((int(place[-1]), 2), SCORE)
        _fill_sides(node, place, tree.first, tree.split, tree.last, low, high, np.repeat(scale, counts), sides)
        if len(order.label) == 0:
            self._add_sides(node, place, sides, inside_out)
            return
        for side in range(2):
            apart = sides.copy()
            _multiply_by_gaps(node, place, tree.first, tree.split, order.label, apart[:, side])
            self._add_sides(node, place, apart, inside_out)

    def _add_sides(self, node: Array, place: Array, sides: Array, inside_out: Array) -> None:
        """Add (Σ of the low side) * (Σ of the high side) of the rows up to each code, for every node."""
        tree, order, sizes = self.tree, self.part.order, np.diff(place)
        small, large = (np.flatnonzero(kind) for kind in (sizes <= MAX_STORED_ROWS, sizes > MAX_STORED_ROWS))
        walks = [
            (self.entries[f : f + 4], self.offset, node, place, small, sides, inside_out[f // 8], f % 8)
            for f in range(0, len(self.entries), 4)
        ]
        run_threads(_walk_nodes, walks, self.n_threads)
        halves, words = range(0, len(self.entries), 8), half_blocks(self.bins)
        nodes = (node, place, large, sides, tree.first, order.row)
        sums = [(words[f // BLOCK], f % BLOCK // 8, *nodes, inside_out[f // 8]) for f in halves]
        run_threads(_sum_nodes, sums if len(large) else [], self.n_threads)


@compiled
def _scatter_positive(position: Array, values: Array, out: Array) -> None:
    """Do ``out[position] = values`` where the values are positive: a position may be listed once for each side."""
    for k in range(len(position)):
        if values[k] > 0.0:
            out[position[k]] = values[k]


@compiled
def _fill_sides(
    node: Array,
    place: Array,
    first: Array,
    split: Array,
    last: Array,
    low: Array,
    high: Array,
    scale: Array,
    sides_out: Array,
) -> None:
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
def _multiply_by_gaps(node: Array, place: Array, first: Array, split: Array, label: Array, side_out: Array) -> None:
    """Multiply one side of each node by how far each row's label is from the lowest label of the high rows, c.

    With y(high) - y(low) = (y(high) - c) + (c - y(low)), pairs weighed by differences of labels are the products of the
    two sides with the one, and with the other, of them multiplied: sums of positive numbers.
    """
    for i in range(len(node)):
        start, middle = first[node[i]], label[split[node[i]]]
        for k in range(place[i + 1] - place[i]):
            side_out[place[i] + k] *= abs(label[start + k] - middle)


@compiled
def _sort_nodes(codes: Array, column: int, row: Array, first: Array, offset: Array, entries_out: Array) -> None:
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
            count[np.int64(codes[row[first[v] + k], column]) + 1] += 1
        for c in range(1, 257):
            count[c] += count[c - 1]
        for k in range(size):
            code = codes[row[first[v] + k], column]
            out[count[code]] = 256 * np.int64(code) + k
            count[code] += 1


@compiled_part
def _insert_sorted(codes: Array, column: int, row: Array, first: int, out: Array) -> None:
    """Write the sorted entries of one very small node."""
    for k in range(len(out)):
        entry = 256 * np.int64(codes[row[first + k], column]) + k
        j = k
        while j > 0 and out[j - 1] > entry:
            out[j] = out[j - 1]
            j -= 1
        out[j] = entry


@compiled
def _walk_nodes(
    entries: Array, offset: Array, node: Array, place: Array, small: Array, sides: Array, inside_out: Array, column: int
) -> None:
    """Walk the small nodes in the order of each of four features.

    Slow line: ``inside[both ranked, f, larger code] += low * high for every pair of low and high rows of a
    node``, each row's sum rounded. All features of one node come after the other, so that its sides stay in the
    first-level cache. Equal codes follow each other in a walk; four histograms by turns keep one add from waiting for
    the store of the last (1.3 ns a row and feature against 2.3).
    """
    turns = np.zeros((2, 4, 4, 256), np.int64)
    for i in small:
        own = sides[place[i] : place[i + 1]]
        for j in range(len(entries)):
            _walk(entries[j, offset[node[i]] : offset[node[i] + 1]], own, turns[0, j], turns[1, j])
    for j in range(len(entries)):
        for turn in range(4):
            inside_out[0, column + j] += turns[0, j, turn]
            inside_out[1, column + j] += turns[1, j, turn]


@compiled
def _walk(walk: Array, sides: Array, lacking_out: Array, ranked_out: Array) -> None:
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
        ranked_out[k & 3, entry >> 8] += np.int64(b * low + a * high + 0.5)
        low += a
        high += b
    if start > 0:
        lacking_out[0, 0] += np.int64(missing_low * missing_high + 0.5)
        for k in range(start, len(walk)):
            entry = walk[k]
            a, b = sides[entry & 255, 0], sides[entry & 255, 1]
            lacking_out[k & 3, entry >> 8] += np.int64(b * missing_low + a * missing_high + 0.5)


@compiled
def _sum_nodes(
    words: Array,
    half: int,
    node: Array,
    place: Array,
    large: Array,
    sides: Array,
    first: Array,
    row: Array,
    inside_out: Array,
) -> None:
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


@compiled_part
def _add_products(sums: Array, lacking_out: Array, ranked_out: Array) -> None:
    """Add what each code adds to the product of the running sums, missing rows apart."""
    low = high = 0.0
    missing_low, missing_high = sums[0, 0], sums[0, 1]
    lacking_out[0] += np.int64(missing_low * missing_high + 0.5)
    for code in range(1, 256):
        a, b = sums[code, 0], sums[code, 1]
        ranked_out[code] += np.int64(low * b + a * high + a * b + 0.5)
        lacking_out[code] += np.int64(missing_low * b + a * missing_high + 0.5)
        low += a
        high += b
