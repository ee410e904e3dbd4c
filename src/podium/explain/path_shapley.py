"""Path-dependent Shapley values of a sum of trees, exact, in O(leaves * depth) a row and tree.

That a feature is not there means that a split on it is followed on both sides, by their shares of the training rows
(Lundberg et al. 2020, "From local explanations to global understanding with explainable AI for trees"). With z_j the
share that the splits on feature j let through on the way to a leaf of value v, and o_j 1 or 0 for whether they let the
row through, feature i gets v (o_i - z_i) ∫ Π_{j≠i} (o_j t + z_j (1 - t)) dt over t from 0 to 1. For d features on the
way the product is a polynomial of degree d - 1, so that Gauss's quadrature with d/2 nodes, rounded up, is exact.
Products are handed down and sums up the tree edge by edge (the idea of Linear TreeSHAP, Yu et al. 2022, by values at
nodes in place of coefficients).

An edge has a feature, whose nearest edge above on the way, if any, is called the same. What an edge does to products
and sums depends on the row in three ways alone: the feature shut the row out above already, shuts it out here, or lets it
through. So the factors of all three are made once for each tree, and a row costs three operations for each node and
edge. Nodes are taken four at a time, side by side.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from podium._compiled import ROW, SCORE, compiled, compiled_part, even_ranges, run_threads
from podium._validation import Array
from podium.explain.split_sides import Splits, goes_left

SHUT_ABOVE, SHUT_HERE, OPEN = 0, 1, 2
"""What a row meets at an edge: its feature shut the row out above, shuts it out here, or lets it through."""
LANES = 4
"""Nodes of the quadrature that are computed together."""


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
    """What the edges of one tree do, by edge, by what a row meets there, and by node of the quadrature.

    Attributes
    ----------
    ratio : ndarray of float64, shape (n_edges, 3, n_nodes)
        By which products are multiplied on the way down: the factor f(t) = o t + z (1 - t) of the feature at this edge,
        over that at the same feature's edge above.
    gift : ndarray of float64, shape (n_edges, 3, n_nodes)
        What the feature gets of the sum below: w (o - z)/f, less what the same feature's edge above gives for these
        leaves.
    """

    ratio: Array
    gift: Array


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

    @cached_property
    def edges(self) -> Edges:
        """What does not depend on rows."""
        n_splits = len(self.splits.feature)
        same, into, n_features = np.empty(2 * n_splits, ROW), np.full(n_splits, -1, ROW), np.empty(2 * n_splits, ROW)
        edges = Edges(same, np.empty(2 * n_splits, SCORE), into, n_features)
        _fill_edges(self.splits, self.covers, self.starts, np.empty(n_splits, SCORE), edges)
        return edges

    @cached_property
    def quadratures(self) -> tuple[Array, Array]:
        """Nodes and weights of Gauss's quadrature over 0 to 1 with 4, 8, … nodes, one row for each number."""
        most = -(-int(self.edges.n_features.max(initial=1)) // (2 * LANES))
        nodes, weights = np.full((most, LANES * most), 0.5), np.zeros((most, LANES * most))
        for number in range(most):
            places, shares = np.polynomial.legendre.leggauss(LANES * (number + 1))
            nodes[number, : len(places)], weights[number, : len(places)] = (places + 1.0) / 2.0, shares / 2.0
        return nodes, weights

    def of_rows(self, rows: Array, n_features: int, n_threads: int = 1) -> Array:
        """Return the value of each feature in the score of each row."""
        out = np.zeros((len(rows), n_features), SCORE)
        trees = self.splits, self.value, self.starts, self.edges, *self.quadratures
        calls = [(*trees, rows[first:last], out[first:last]) for first, last in even_ranges(len(rows), n_threads)]
        run_threads(_path_values, calls, n_threads)
        return out


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
def _path_values(
    splits: Splits, value: Array, start: Array, edges: Edges, nodes: Array, weights: Array, rows: Array, out: Array
) -> None:
    """Add the values of each row, tree after tree: down for the products, up for the sums."""
    most = 0
    for tree in range(len(start) - 1):
        most = max(most, 2 * (start[tree + 1] - start[tree]))
    factors = Factors(np.empty((most, 3, nodes.shape[1])), np.empty((most, 3, nodes.shape[1])))
    product, total = np.empty((most + 1, LANES)), np.empty((most, LANES))
    meets = np.empty(most, np.int64)
    for tree in range(len(start) - 1):
        first, last = start[tree], start[tree + 1]
        distinct = 0
        for edge in range(2 * first, 2 * last):
            distinct = max(distinct, edges.n_features[edge])
        number = (distinct - 1) // (2 * LANES)
        _fill_factors(edges, first, last, nodes[number], weights[number], LANES * (number + 1), factors)
        for i in range(len(rows)):
            _meet(splits, edges.same, first, last, rows[i], meets)
            for lane in range(0, LANES * (number + 1), LANES):
                _walk_down(edges.into, first, last, meets, factors.ratio, lane, product)
                _sum_up(splits, value, first, last, meets, factors.gift, lane, product, total, out[i])


@compiled_part
def _fill_factors(
    edges: Edges, first: int, last: int, nodes: Array, weights: Array, n_nodes: int, factors: Factors
) -> None:
    """Write the factors of one tree's edges.

    Where a feature shuts the row out, f = z (1 - t) and (o - z)/f = -1/(1 - t), whichever of its edges one is at: one
    that shut it out above gives nothing more, and takes away only its share of rows.
    """
    for edge in range(2 * first, 2 * last):
        own, z, same = edge - 2 * first, edges.hidden[edge], edges.same[edge]
        z_same = edges.hidden[same] if same >= 0 else 1.0
        for k in range(n_nodes):
            t = nodes[k]
            open_here, open_above = t + z * (1.0 - t), t + z_same * (1.0 - t)
            given = (1.0 - z_same) / open_above
            factors.ratio[own, SHUT_ABOVE, k], factors.gift[own, SHUT_ABOVE, k] = z / z_same, 0.0
            factors.ratio[own, SHUT_HERE, k] = z * (1.0 - t) / open_above
            factors.gift[own, SHUT_HERE, k] = weights[k] * (-1.0 / (1.0 - t) - given)
            factors.ratio[own, OPEN, k] = open_here / open_above
            factors.gift[own, OPEN, k] = weights[k] * ((1.0 - z) / open_here - given)


@compiled_part
def _meet(splits: Splits, same: Array, first: int, last: int, row: Array, meets_out: Array) -> None:
    """Write what a row meets at each edge of a tree."""
    for at in range(first, last):
        above = same[2 * at]
        shut = above >= 0 and meets_out[above - 2 * first] != OPEN
        left = goes_left(splits, at, row[splits.feature[at]])
        own = 2 * (at - first)
        meets_out[own] = SHUT_ABOVE if shut else OPEN if left else SHUT_HERE
        meets_out[own + 1] = SHUT_ABOVE if shut else SHUT_HERE if left else OPEN


@compiled_part
def _walk_down(into: Array, first: int, last: int, meets: Array, ratio: Array, lane: int, product: Array) -> None:
    """Fill the products of the factors down to each edge; that before the first split, 1, stands last."""
    whole = len(product) - 1
    for k in range(LANES):
        product[whole, k] = 1.0
    for at in range(first, last):
        above = into[at] - 2 * first if at > first else whole
        p0, p1, p2, p3 = product[above, 0], product[above, 1], product[above, 2], product[above, 3]
        for edge in range(2 * (at - first), 2 * (at - first) + 2):
            factor = ratio[edge, meets[edge]]
            q0, q1, q2, q3 = factor[lane], factor[lane + 1], factor[lane + 2], factor[lane + 3]
            product[edge, 0], product[edge, 1], product[edge, 2], product[edge, 3] = p0 * q0, p1 * q1, p2 * q2, p3 * q3


@compiled_part
def _sum_up(
    splits: Splits,
    value: Array,
    first: int,
    last: int,
    meets: Array,
    gift: Array,
    lane: int,
    product: Array,
    total: Array,
    out: Array,
) -> None:
    """Sum value times product over the leaves below each split, and give each feature its part of the sums."""
    for at in range(last - 1, first - 1, -1):
        a0 = a1 = a2 = a3 = g0 = g1 = g2 = g3 = 0.0
        for side in range(2):
            edge, below = 2 * (at - first) + side, splits.child[at, side]
            if below >= 0:
                own = below - first
                s0, s1, s2, s3 = total[own, 0], total[own, 1], total[own, 2], total[own, 3]
            else:
                v = value[~below]
                s0, s1 = v * product[edge, 0], v * product[edge, 1]
                s2, s3 = v * product[edge, 2], v * product[edge, 3]
            part = gift[edge, meets[edge]]
            a0, a1, a2, a3 = a0 + s0, a1 + s1, a2 + s2, a3 + s3
            g0, g1 = g0 + s0 * part[lane], g1 + s1 * part[lane + 1]
            g2, g3 = g2 + s2 * part[lane + 2], g3 + s3 * part[lane + 3]
        own = at - first
        total[own, 0], total[own, 1], total[own, 2], total[own, 3] = a0, a1, a2, a3
        out[splits.feature[at]] += (g0 + g1) + (g2 + g3)
