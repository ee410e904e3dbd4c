"""Path-dependent Shapley values of a sum of trees, exact, in O(leaves * depth) a row and tree.

That a feature is not there means that a split on it is followed on both sides, by their shares of the training rows
(Lundberg et al. 2020, "From local explanations to global understanding with explainable AI for trees"). With z_j the
share that the splits on feature j let through on the way to a leaf of value v, and o_j 1 or 0 for whether they let the
row through, feature i gets v (o_i - z_i) ∫ Π_{j≠i} (o_j t + z_j (1 - t)) dt over t from 0 to 1. For d features on the
way the product is a polynomial of degree d - 1, so that Gauss's quadrature with d/2 nodes, rounded up, is exact.
Products are handed down and sums up the tree edge by edge (the idea of Linear TreeSHAP, Yu et al. 2022, by values at
nodes in place of coefficients).

An edge has a feature, whose nearest edge above on the way, if any, is called the same. What an edge does to products
and sums depends on the row in three ways alone: the feature shut the row out above already, shuts it out here, or lets
it through. So the factors of all three are made once for each tree, and a row costs three operations for each node and
edge. Nodes are taken four at a time, side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from podium._compiled import INDEX, ROW, SCORE, compiled, even_ranges, inlined_part, run_threads
from podium._validation import Array
from podium.explain.split_sides import Splits
from podium.trees import code_of

SHUT_ABOVE, SHUT_HERE, OPEN = 0, 1, 2
"""What a row meets at an edge: its feature shut the row out above, shuts it out here, or lets it through."""
ROWS_AT_ONCE = 64
"""Rows that are led down a tree one after the other: its factors stay in the cache."""
MOST_FACTORS = 2**23
"""Factors made at a time, and kept for the next call where they are no more: 64 MB."""
CACHE_LINE = 8
"""Numbers that memory is read in; four nodes of an edge, with what they multiply and what they give, are such a line."""
LANES = 4
"""Nodes of the quadrature that are computed together."""
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)
"""Unsigned: the sum with a signed integer would be a float."""
STEP = np.dtype(
    [("threshold", SCORE), ("column", np.uint64), ("same", np.uint64), ("into", np.uint64), ("feature", np.uint64)]
)
"""A split: what a row has in a column is compared with the threshold; the place among the edges of its tree, counted
from 1, of the same feature's nearest edge above and of the edge that leads to it, 0 where there is none."""
SET_THRESHOLD = 0.5
"""Between the 0 of a row that a set of categories sends left and the 1 of another."""


class Edges(NamedTuple):
    """What does not depend on a row, of the edge from split s to its side c, number 2 s + c.

    Attributes
    ----------
    same : ndarray of int64
        The nearest edge above that belongs to a split on the same feature; -1 where there is none.
    hidden : ndarray of float64
        z: the share of training rows that the splits on this feature let through, down to this edge.
    into : ndarray of int64
        The edge that leads to each split; -1 for the first of a tree.
    n_features : ndarray of int64
        Different features on the way down to the edge.
    """

    same: Array
    hidden: Array
    into: Array
    n_features: Array


class Trees(NamedTuple):
    """Which trees are walked, and where their factors stand.

    Attributes
    ----------
    start : ndarray of int64
        First split of each tree, and past the last.
    n_nodes : ndarray of int64
        Nodes of the quadrature of each tree, a multiple of four.
    place : ndarray of int64
        Where the factors of each tree begin.
    """

    start: Array
    n_nodes: Array
    place: Array


class PathShapley:
    """Path-dependent Shapley values of joined trees.

    Parameters
    ----------
    splits : Splits
    value : ndarray of float64
        Of all leaves.
    root : ndarray of int64
        First split of each tree, negative for a tree of one leaf.
    covers : ndarray
        Training rows, or their weight, of each leaf; all above 0.
    n_features : int
    """

    def __init__(self, splits: Splits, value: Array, root: Array, covers: Array, n_features: int) -> None:
        self.splits, self.value, self.covers, self.n_features = splits, value, covers, n_features
        self.starts = np.append(root[root >= 0], len(splits.feature)).astype(ROW)
        self._kept: tuple[Trees, Array] | None = None

    @cached_property
    def edges(self) -> Edges:
        """What does not depend on rows."""
        n_splits = len(self.splits.feature)
        same, into, n_features = np.empty(2 * n_splits, ROW), np.full(n_splits, -1, ROW), np.empty(2 * n_splits, ROW)
        edges = Edges(same, np.empty(2 * n_splits, SCORE), into, n_features)
        _fill_edges(self.splits, self.covers, self.starts, np.empty(n_splits, SCORE), edges)
        return edges

    @cached_property
    def steps(self) -> Array:
        """The splits as rows go through them."""
        splits, first = self.splits, np.repeat(self.starts[:-1], np.diff(self.starts))
        steps, by_set = np.recarray(len(first), STEP), splits.set_of >= 0
        steps["feature"], steps["threshold"] = splits.feature, np.where(by_set, SET_THRESHOLD, splits.threshold)
        by_value = 2 * splits.feature + splits.missing_left
        steps["column"] = np.where(by_set, 2 * self.n_features + splits.set_of, by_value)
        for name, edge in (("same", self.edges.same[::2]), ("into", self.edges.into)):
            steps[name] = np.where(edge >= 0, edge - 2 * first + 1, 0)
        return steps

    @cached_property
    def n_nodes(self) -> Array:
        """Nodes that each tree needs: half as many as its longest way has features, up to a multiple of four."""
        distinct = np.maximum.reduceat(self.edges.n_features, 2 * self.starts[:-1])
        nodes: Array = LANES * (1 + (distinct - 1) // (2 * LANES))
        return nodes

    @cached_property
    def quadratures(self) -> tuple[Array, Array]:
        """Nodes and weights of Gauss's quadrature over 0 to 1 with 4, 8, … nodes, one row for each number."""
        most = int(self.n_nodes.max())
        nodes, weights = np.empty((most // LANES, most)), np.empty((most // LANES, most))
        for number in range(most // LANES):
            places, shares = np.polynomial.legendre.leggauss(LANES * (number + 1))
            nodes[number, : len(places)], weights[number, : len(places)] = (places + 1.0) / 2.0, shares / 2.0
        return nodes, weights

    def of_rows(self, rows: Array, n_threads: int = 1) -> Array:
        """Return the value of each feature in the score of each row."""
        out, sets = np.zeros((len(rows), self.n_features), SCORE), self.splits.feature[self.splits.set_of >= 0]
        for trees, factors in [self._kept] if self._kept is not None else self._batches():
            given = self.steps, *trees, factors, self.splits.tables, sets
            calls = [(*given, rows[first:last], out[first:last]) for first, last in even_ranges(len(rows), n_threads)]
            run_threads(_path_values, calls, n_threads)
        return out

    def _batches(self) -> Iterator[tuple[Trees, Array]]:
        """Yield trees and their factors, as many at a time as memory allows; where that is all, they are kept."""
        if len(self.starts) == 1:
            return
        sizes = 12 * np.diff(self.starts) * self.n_nodes
        batch = (np.cumsum(sizes) - 1) // MOST_FACTORS
        for one in np.unique(batch).tolist():
            first, last = np.searchsorted(batch, [one, one + 1]).tolist()
            place = np.cumsum(sizes[first:last]) - sizes[first:last]
            trees = Trees(self.starts[first : last + 1], self.n_nodes[first:last], place.astype(ROW))
            factors = self._factors(trees, int(sizes[first:last].sum()))
            self._kept = (trees, factors) if last - first == len(sizes) else None
            yield trees, factors

    def _factors(self, trees: Trees, size: int) -> Array:
        """Return the factors of some trees, from the start of a cache line on."""
        buffer = np.empty(size + CACHE_LINE)
        start = -(buffer.ctypes.data // buffer.itemsize) % CACHE_LINE
        factors = buffer[start : start + size]
        _fill_factors(self.edges, self.splits.child, self.value, *trees, *self.quadratures, factors)
        return factors


@compiled
def _fill_edges(splits: Splits, leaf_covers: Array, start: Array, covers: Array, edges: Edges) -> None:
    """Write what does not depend on rows; a child has a higher number than its parent, and `covers` takes theirs."""
    child, feature = splits.child, splits.feature
    for at in range(len(child) - 1, -1, -1):
        covers[at] = 0.0
        for side in range(2):
            below = child[at, side]
            covers[at] += covers[below] if below >= 0 else leaf_covers[~below]
    for at in range(len(child)):
        same = edges.into[at]
        while same >= 0 and feature[same >> 1] != feature[at]:
            same = edges.into[same >> 1]
        above = edges.into[at]
        for side in range(2):
            below, edge = child[at, side], 2 * at + side
            share = (covers[below] if below >= 0 else leaf_covers[~below]) / covers[at]
            edges.same[edge], edges.hidden[edge] = same, share * (edges.hidden[same] if same >= 0 else 1.0)
            edges.n_features[edge] = (edges.n_features[above] if above >= 0 else 0) + (1 if same < 0 else 0)
            if below >= 0:
                edges.into[below] = edge


@compiled
def _fill_factors(
    edges: Edges,
    child: Array,
    value: Array,
    start: Array,
    n_nodes: Array,
    place: Array,
    nodes: Array,
    weights: Array,
    factors: Array,
) -> None:
    """Write the factors of the edges of some trees: by edge, by what a row meets there, and by four nodes.

    Of four nodes first stands the ratio, by which products are multiplied on the way down: the factor f(t) = o t + z
    (1 - t) of the feature at this edge, over that at the same feature's edge above; times the value of the leaf, where
    the edge leads to one. Then what the feature gets of the sum below: w (o - z)/f, less what the same feature's edge
    above gives for these leaves. Where a feature shuts the row out, f = z (1 - t) and (o - z)/f = -1/(1 - t), whichever
    of its edges one is at: below the one that does so first nothing more is given, and products only take their share
    of rows.
    """
    for tree in range(len(n_nodes)):
        first, last, n = start[tree], start[tree + 1], n_nodes[tree]
        for edge in range(2 * first, 2 * last):
            z, same, below = edges.hidden[edge], edges.same[edge], child[edge >> 1, edge & 1]
            z_same, v = edges.hidden[same] if same >= 0 else 1.0, 1.0 if below >= 0 else value[~below]
            for k in range(n):
                t, w = nodes[n // LANES - 1, k], weights[n // LANES - 1, k]
                factor, shut, above = t + z * (1.0 - t), z * (1.0 - t), 1.0 / (t + z_same * (1.0 - t))
                given = (1.0 - z_same) * above
                closed = place[tree] + 6 * n * (edge - 2 * first) + 2 * k - k % LANES
                here, through = closed + 2 * n * SHUT_HERE, closed + 2 * n * OPEN
                factors[closed], factors[closed + LANES] = v * (z / z_same), 0.0
                factors[here], factors[here + LANES] = v * (shut * above), -w * (z / shut + given)
                factors[through], factors[through + LANES] = v * (factor * above), w * ((1.0 - z) / factor - given)


@compiled
def _path_values(
    steps: Array,
    start: Array,
    n_nodes: Array,
    place: Array,
    factors: Array,
    tables: Array,
    sets: Array,
    rows: Array,
    out: Array,
) -> None:
    """Add the values of each row, some rows and one tree at a time: down for the products, up for the sums."""
    most = 0
    for tree in range(len(n_nodes)):
        most = max(most, 2 * (start[tree + 1] - start[tree]))
    columns = np.empty((ROWS_AT_ONCE, 2 * rows.shape[1] + len(sets)))
    is_open, places, sums = np.ones(most + 1, np.uint64), np.empty(most, np.uint64), np.ones(LANES * (most + 1))
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        end = min(begin + ROWS_AT_ONCE, len(rows))
        for i in range(begin, end):
            _read_row(rows, i, tables, sets, columns, i - begin)
        for tree in range(len(n_nodes)):
            first, last = INDEX(start[tree]), INDEX(start[tree + 1])
            for i in range(begin, end):
                _meet(steps, first, last, columns, INDEX(i - begin), place[tree], n_nodes[tree], is_open, places)
                for line in range(0, 2 * n_nodes[tree], CACHE_LINE):
                    _walk_down(steps, first, last, factors, INDEX(line), places, sums)
                    _sum_up(steps, first, last, factors, INDEX(line + LANES), places, sums, out, INDEX(i))


@inlined_part
def _read_row(rows: Array, i: int, tables: Array, sets: Array, columns_out: Array, to: int) -> None:
    """Write each feature twice, as splits that send what is missing right and left have it; then 0 or 1 of each set."""
    for j in range(rows.shape[1]):
        x = rows[i, j]
        columns_out[to, 2 * j], columns_out[to, 2 * j + 1] = x, -np.inf if x != x else x
    for k in range(len(sets)):
        columns_out[to, 2 * rows.shape[1] + k] = 0.0 if tables[k, code_of(rows[i, sets[k]])] else 1.0


@inlined_part
def _meet(
    steps: Array,
    first: int,
    last: int,
    columns: Array,
    row: int,
    start: int,
    n_nodes: int,
    is_open: Array,
    places_out: Array,
) -> None:
    """Write where the factors of a tree's edges stand, by what a row meets there, without a guess at where it goes.

    Slow line: ``meets[edge] = SHUT_ABOVE if shut above else OPEN if the row goes there else SHUT_HERE``; `is_open` takes
    whether an edge and the same feature's edges above let the row through, and begins with a 1.
    """
    size, place, edge = INDEX(2 * n_nodes), INDEX(start), INDEX(0)
    for at in range(first, last):
        left = INDEX(columns[row, steps[at].column] <= steps[at].threshold)
        through = is_open[steps[at].same]
        is_open[edge + ONE], is_open[edge + TWO] = through & left, through & (left ^ ONE)
        places_out[edge] = place + size * (through << left)
        places_out[edge + ONE] = place + size * (THREE + (through << (left ^ ONE)))
        edge, place = edge + TWO, place + size * (THREE + THREE)


@inlined_part
def _walk_down(steps: Array, first: int, last: int, factors: Array, line: int, places: Array, sums: Array) -> None:
    """Fill the products of the factors down to each edge, of four nodes, after a product of 1."""
    sums[0] = sums[1] = sums[2] = sums[3] = 1.0
    edge = INDEX(0)
    for at in range(first, last):
        p = steps[at].into << TWO
        p0, p1, p2, p3 = sums[p], sums[p + ONE], sums[p + TWO], sums[p + THREE]
        for _ in range(2):
            q, to = places[edge] + line, (edge + ONE) << TWO
            q0, q1, q2, q3 = factors[q], factors[q + ONE], factors[q + TWO], factors[q + THREE]
            sums[to], sums[to + ONE], sums[to + TWO], sums[to + THREE] = p0 * q0, p1 * q1, p2 * q2, p3 * q3
            edge += ONE


@inlined_part
def _sum_up(
    steps: Array, first: int, last: int, factors: Array, line: int, places: Array, sums: Array, out: Array, i: int
) -> None:
    """Sum up over the leaves below each edge, in the place of its product, and give each feature its part of the sums."""
    at, edge = last, (last - first) << ONE
    while at > first:
        at, edge = at - ONE, edge - TWO
        one, other = (edge + ONE) << TWO, (edge + TWO) << TWO
        s0, s1, s2, s3 = sums[one], sums[one + ONE], sums[one + TWO], sums[one + THREE]
        r0, r1, r2, r3 = sums[other], sums[other + ONE], sums[other + TWO], sums[other + THREE]
        g, h, to = places[edge] + line, places[edge + ONE] + line, steps[at].into << TWO
        sums[to], sums[to + ONE], sums[to + TWO], sums[to + THREE] = s0 + r0, s1 + r1, s2 + r2, s3 + r3
        t0, t1 = s0 * factors[g] + r0 * factors[h], s1 * factors[g + ONE] + r1 * factors[h + ONE]
        t2, t3 = s2 * factors[g + TWO] + r2 * factors[h + TWO], s3 * factors[g + THREE] + r3 * factors[h + THREE]
        out[i, steps[at].feature] += (t0 + t1) + (t2 + t3)
