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

from podium._compiled import ROW, SCORE, compiled, compiled_part, even_ranges, run_threads
from podium._validation import Array
from podium.explain.split_sides import Splits, goes_left

SHUT_ABOVE, SHUT_HERE, OPEN = 0, 1, 2
"""What a row meets at an edge: its feature shut the row out above, shuts it out here, or lets it through."""
ROWS_AT_ONCE = 64
"""Rows that are led down a tree together: what they meet there, and their features, stay in the cache."""
MOST_FACTORS = 2**22
"""Factors made at a time, and kept for the next call where they are no more: twice so many numbers, 64 MB."""
LANES = 4
"""Nodes of the quadrature that are computed together."""
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)
"""Unsigned: the sum with a signed integer would be a float."""


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


class Factors(NamedTuple):
    """What the edges of some trees do, tree after tree: by edge, by what a row meets there, by node of the quadrature.

    Both are flat, a tree's part of shape (n_edges, 3, n_nodes): four neighbours are read at once only where no index
    may be negative, which unsigned places say.

    Attributes
    ----------
    ratio : ndarray of float64
        By which products are multiplied on the way down: the factor f(t) = o t + z (1 - t) of the feature at this edge,
        over that at the same feature's edge above.
    gift : ndarray of float64
        What the feature gets of the sum below: w (o - z)/f, less what the same feature's edge above gives for these
        leaves.
    """

    ratio: Array
    gift: Array


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


class Buffers(NamedTuple):
    """What some rows and a tree need, reused by all.

    Attributes
    ----------
    columns : ndarray of float64, shape (n_features, ROWS_AT_ONCE)
        Features of some rows.
    meets : ndarray of uint8, shape (n_edges, ROWS_AT_ONCE)
        What each of these rows meets at each edge.
    place : ndarray of uint64
        Place in `Factors` of each edge, by what one row meets there.
    product, total : ndarray of float64
        Four nodes of each edge, and of each split; a product of 1 stands last.
    """

    columns: Array
    meets: Array
    place: Array
    product: Array
    total: Array


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
    """

    def __init__(self, splits: Splits, value: Array, root: Array, covers: Array) -> None:
        self.splits, self.value, self.covers = splits, value, covers
        self.starts = np.append(root[root >= 0], len(splits.feature)).astype(ROW)
        self._kept: Factors | None = None

    @cached_property
    def edges(self) -> Edges:
        """What does not depend on rows."""
        n_splits = len(self.splits.feature)
        same, into, n_features = np.empty(2 * n_splits, ROW), np.full(n_splits, -1, ROW), np.empty(2 * n_splits, ROW)
        edges = Edges(same, np.empty(2 * n_splits, SCORE), into, n_features)
        _fill_edges(self.splits, self.covers, self.starts, np.empty(n_splits, SCORE), edges)
        return edges

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

    def of_rows(self, rows: Array, n_features: int, n_threads: int = 1) -> Array:
        """Return the value of each feature in the score of each row."""
        out = np.zeros((len(rows), n_features), SCORE)
        for trees in self._batches():
            factors = self._factors(trees)
            given = self.splits, self.value, self.edges, trees, factors
            calls = [(*given, rows[first:last], out[first:last]) for first, last in even_ranges(len(rows), n_threads)]
            run_threads(_path_values, calls, n_threads)
        return out

    def _batches(self) -> Iterator[Trees]:
        """Yield trees, as many at a time as memory for their factors allows."""
        if len(self.starts) == 1:
            return
        sizes = 6 * np.diff(self.starts) * self.n_nodes
        batch = (np.cumsum(sizes) - 1) // MOST_FACTORS
        for one in np.unique(batch).tolist():
            first, last = np.searchsorted(batch, [one, one + 1]).tolist()
            place = np.cumsum(sizes[first:last]) - sizes[first:last]
            yield Trees(
                self.starts[first : last + 1], self.n_nodes[first:last], np.append(place, sizes[first:last].sum())
            )

    def _factors(self, trees: Trees) -> Factors:
        """Return the factors of some trees; those of all are kept for the next call, where they are not too many."""
        if self._kept is not None:
            return self._kept
        factors = Factors(np.empty(trees.place[-1]), np.empty(trees.place[-1]))
        _fill_factors(self.edges, trees, *self.quadratures, factors)
        if len(trees.start) == len(self.starts):
            self._kept = factors
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
def _fill_factors(edges: Edges, trees: Trees, nodes: Array, weights: Array, factors: Factors) -> None:
    """Write the factors of the edges of some trees.

    Where a feature shuts the row out, f = z (1 - t) and (o - z)/f = -1/(1 - t), whichever of its edges one is at: below
    the one that does so first nothing more is given, and products only take their share of rows.
    """
    for tree in range(len(trees.n_nodes)):
        first, last, n = trees.start[tree], trees.start[tree + 1], trees.n_nodes[tree]
        for edge in range(2 * first, 2 * last):
            z, same = edges.hidden[edge], edges.same[edge]
            z_same = edges.hidden[same] if same >= 0 else 1.0
            place = trees.place[tree] + 3 * n * (edge - 2 * first)
            for k in range(n):
                t, w = nodes[n // LANES - 1, k], weights[n // LANES - 1, k]
                factor, shut, above = t + z * (1.0 - t), z * (1.0 - t), 1.0 / (t + z_same * (1.0 - t))
                given = (1.0 - z_same) * above
                closed, here, through = place + k, place + SHUT_HERE * n + k, place + OPEN * n + k
                factors.ratio[closed], factors.gift[closed] = z / z_same, 0.0
                factors.ratio[here], factors.gift[here] = shut * above, -w * (z / shut + given)
                factors.ratio[through], factors.gift[through] = factor * above, w * ((1.0 - z) / factor - given)


@compiled
def _path_values(
    splits: Splits, value: Array, edges: Edges, trees: Trees, factors: Factors, rows: Array, out: Array
) -> None:
    """Add the values of each row, some rows and one tree at a time: down for the products, up for the sums."""
    most = 0
    for tree in range(len(trees.n_nodes)):
        most = max(most, 2 * (trees.start[tree + 1] - trees.start[tree]))
    buffers = Buffers(
        np.zeros((rows.shape[1], ROWS_AT_ONCE)), np.empty((most, ROWS_AT_ONCE), np.uint8), np.empty(most, np.uint64),
        np.ones(LANES * (most + 1)), np.empty(LANES * most),
    )  # fmt: skip
    above = np.empty(most, np.uint64)
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        n_rows = min(ROWS_AT_ONCE, len(rows) - begin)
        for i in range(n_rows):
            for j in range(rows.shape[1]):
                buffers.columns[j, i] = rows[begin + i, j]
        for tree in range(len(trees.n_nodes)):
            first, last, n_nodes = trees.start[tree], trees.start[tree + 1], trees.n_nodes[tree]
            for at in range(first, last):
                above[at - first] = LANES * (edges.into[at] - 2 * first if at > first else most)
            _meet(splits, edges.same, first, last, buffers.columns, n_rows, buffers.meets)
            for i in range(n_rows):
                for edge in range(2 * (last - first)):
                    buffers.place[edge] = trees.place[tree] + n_nodes * (3 * edge + buffers.meets[edge, i])
                for lane in range(0, n_nodes, LANES):
                    _walk_down(above, last - first, factors.ratio, lane, buffers)
                    _sum_up(splits, value, first, last, factors.gift, lane, buffers, out, begin + i)


@compiled_part
def _meet(splits: Splits, same: Array, first: int, last: int, columns: Array, n_rows: int, meets: Array) -> None:
    """Write what rows meet at the edges of a tree, without a branch that could be guessed wrong for each row.

    Slow line: ``meets[edge] = SHUT_ABOVE if shut above else OPEN if the row goes there else SHUT_HERE``.
    """
    for at in range(first, last):
        own, threshold, missing_left = splits.feature[at], splits.threshold[at], splits.missing_left[at]
        edge, above = 2 * (at - first), same[2 * at] - 2 * first
        if splits.set_of[at] >= 0:
            for i in range(n_rows):
                meets[edge, i] = SHUT_HERE + goes_left(splits, at, columns[own, i])
        else:
            for i in range(n_rows):
                x = columns[own, i]
                meets[edge, i] = SHUT_HERE + ((x <= threshold) | ((x != x) & missing_left))
        for i in range(n_rows):
            through = 1 if above < 0 else np.int64(meets[max(above, 0), i] == OPEN)
            left = meets[edge, i]
            meets[edge, i], meets[edge + 1, i] = left * through, (SHUT_HERE + OPEN - left) * through


@compiled_part
def _walk_down(above: Array, n_splits: int, ratio: Array, lane: int, buffers: Buffers) -> None:
    """Fill the products of the factors down to each edge, of four nodes."""
    product, place, start, edge = buffers.product, buffers.place, np.uint64(lane), np.uint64(0)
    for split in range(n_splits):
        p = above[split]
        p0, p1, p2, p3 = product[p], product[p + ONE], product[p + TWO], product[p + THREE]
        for _ in range(2):
            q, to = place[edge] + start, edge << TWO
            q0, q1, q2, q3 = ratio[q], ratio[q + ONE], ratio[q + TWO], ratio[q + THREE]
            product[to], product[to + ONE], product[to + TWO], product[to + THREE] = p0 * q0, p1 * q1, p2 * q2, p3 * q3
            edge += ONE


@compiled_part
def _sum_up(
    splits: Splits,
    value: Array,
    first: int,
    last: int,
    gift: Array,
    lane: int,
    buffers: Buffers,
    out: Array,
    i: int,
) -> None:
    """Sum value times product over the leaves below each split, and give each feature its part of the sums."""
    product, total, start = buffers.product, buffers.total, np.uint64(lane)
    for at in range(last - 1, first - 1, -1):
        a0 = a1 = a2 = a3 = g0 = g1 = g2 = g3 = 0.0
        for side in range(2):
            edge, below = 2 * (at - first) + side, splits.child[at, side]
            if below >= 0:
                own = np.uint64(LANES * (below - first))
                s0, s1, s2, s3 = total[own], total[own + ONE], total[own + TWO], total[own + THREE]
            else:
                v, own = value[~below], np.uint64(LANES * edge)
                s0, s1 = v * product[own], v * product[own + ONE]
                s2, s3 = v * product[own + TWO], v * product[own + THREE]
            part = buffers.place[edge] + start
            a0, a1, a2, a3 = a0 + s0, a1 + s1, a2 + s2, a3 + s3
            g0, g1 = g0 + s0 * gift[part], g1 + s1 * gift[part + ONE]
            g2, g3 = g2 + s2 * gift[part + TWO], g3 + s3 * gift[part + THREE]
        own = np.uint64(LANES * (at - first))
        total[own], total[own + ONE], total[own + TWO], total[own + THREE] = a0, a1, a2, a3
        out[i, splits.feature[at]] += (g0 + g1) + (g2 + g3)
