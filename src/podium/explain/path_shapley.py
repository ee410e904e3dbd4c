"""Path-dependent Shapley values of a sum of trees, exact, in O(leaves * depth) a row and tree.

That a feature is not there means that a split on it is followed on both sides, by their shares of the training rows
(Lundberg et al. 2020, "From local explanations to global understanding with explainable AI for trees"). With z_j the
share that the splits on feature j let through on the way to a leaf of value v, and o_j 1 or 0 for whether they let the
row through, feature i gets v (o_i - z_i) ∫ Π_{j≠i} f_j(t) dt over t from 0 to 1, with f_j(t) = o_j t + z_j (1 - t). For
d features on the way the product is a polynomial of degree d - 1, so that Gauss's quadrature with d/2 nodes, rounded
up, is exact. Products are handed down and sums up the tree edge by edge (the idea of Linear TreeSHAP, Yu et al. 2022,
by values at nodes in place of coefficients).

An edge has a feature, whose nearest edge above on the way, if any, is called the same. Going down the edge, the product
is multiplied by f and divided by the same edge's f; the feature gets (o - z)/f of the sum below, less what the same
edge gives for these leaves. Nodes are taken four at a time, side by side; nothing is kept but the shares, since to read
what is made once for all rows takes longer than to make it again.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from podium._compiled import (
    INDEX,
    ROW,
    SCORE,
    compiled,
    compiled_side_by_side,
    even_ranges,
    inlined_part,
    run_threads,
)
from podium._validation import Array
from podium.explain.split_sides import Splits
from podium.trees import code_of

ROWS_AT_ONCE = 64
"""Rows that are led down a tree one after the other, which stays in the cache."""
LANES = 4
"""Nodes of the quadrature that are computed together."""
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)
"""Unsigned: the sum with a signed integer would be a float."""
STEP = np.dtype(
    [
        ("threshold", SCORE), ("column", np.uint64), ("same", np.uint64), ("into", np.uint64), ("feature", np.uint64),
        ("left_share", SCORE), ("right_share", SCORE), ("left_value", SCORE), ("right_value", SCORE),
    ]
)  # fmt: skip
"""A split: what a row has in a column is compared with the threshold; the place among the edges of its tree, counted
from 1, of the same feature's nearest edge above and of the edge that leads to it, 0 where there is none; z of both
sides, and their leaves' values, 1 where there is none."""
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


class Lanes(NamedTuple):
    """What four nodes of each edge have, edge after edge, behind that of no edge; reused by all rows and trees.

    Attributes
    ----------
    product : ndarray of float64
        Of the factors down to the edge, and the leaf's value; on the way up the sum of all leaves below.
    inverse : ndarray of float64
        1/f.
    own : ndarray of float64
        (o - z)/f.
    gift : ndarray of float64
        What the feature gets of the sum below.
    """

    product: Array
    inverse: Array
    own: Array
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
    n_features : int
    """

    def __init__(self, splits: Splits, value: Array, root: Array, covers: Array, n_features: int) -> None:
        self.splits, self.value, self.covers, self.n_features = splits, value, covers, n_features
        self.starts = np.append(root[root >= 0], len(splits.feature)).astype(ROW)

    @cached_property
    def edges(self) -> Edges:
        """What does not depend on rows."""
        n_splits = len(self.splits.feature)
        same, into, n_features = np.empty(2 * n_splits, ROW), np.full(n_splits, -1, ROW), np.empty(2 * n_splits, ROW)
        edges = Edges(same, np.empty(2 * n_splits, SCORE), into, n_features)
        _fill_edges(self.splits, self.covers, np.empty(n_splits, SCORE), edges)
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
        for side, name in enumerate(("left", "right")):
            below = splits.child[:, side]
            steps[f"{name}_share"] = self.edges.hidden[side::2]
            steps[f"{name}_value"] = np.where(below >= 0, 1.0, self.value[~np.minimum(below, -1)])
        return steps

    @cached_property
    def n_nodes(self) -> Array:
        """Nodes that each tree needs: half as many as its longest way has features, up to a multiple of four."""
        distinct = np.maximum.reduceat(self.edges.n_features, 2 * self.starts[:-1])
        nodes: Array = LANES * (1 + (distinct - 1) // (2 * LANES))
        return nodes

    @cached_property
    def quadratures(self) -> Array:
        """Gauss's quadrature over 0 to 1 with 4, 8, … nodes: t, 1 - t, 1/(1 - t) and the weight, by four nodes."""
        most = int(self.n_nodes.max()) // LANES
        found = np.zeros((most, most, 4, LANES))
        for number in range(most):
            places, shares = np.polynomial.legendre.leggauss(LANES * (number + 1))
            t = ((places + 1.0) / 2.0).reshape(-1, LANES)
            found[number, : number + 1] = np.stack([t, 1 - t, 1 / (1 - t), shares.reshape(-1, LANES) / 2.0], axis=1)
        return found

    def of_rows(self, rows: Array, n_threads: int = 1) -> Array:
        """Return the value of each feature in the score of each row."""
        out, sets = np.zeros((len(rows), self.n_features), SCORE), self.splits.feature[self.splits.set_of >= 0]
        if len(self.starts) > 1:
            given = self.steps, self.starts, self.n_nodes, self.quadratures, self.splits.tables, sets
            calls = [(*given, rows[first:last], out[first:last]) for first, last in even_ranges(len(rows), n_threads)]
            run_threads(_path_values, calls, n_threads)
        return out


@compiled
def _fill_edges(splits: Splits, leaf_covers: Array, covers: Array, edges: Edges) -> None:
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


@compiled_side_by_side
def _path_values(
    steps: Array, start: Array, n_nodes: Array, quadratures: Array, tables: Array, sets: Array, rows: Array, out: Array
) -> None:
    """Add the values of each row, some rows and one tree at a time: down for the products, up for the sums."""
    most = 0
    for tree in range(len(n_nodes)):
        most = max(most, 1 + 2 * (start[tree + 1] - start[tree]))
    columns, is_open = np.empty((ROWS_AT_ONCE, 2 * rows.shape[1] + len(sets))), np.ones(most)
    size = LANES * most
    lanes = Lanes(np.ones(size), np.ones(size), np.zeros(size), np.zeros(size))
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        end = min(begin + ROWS_AT_ONCE, len(rows))
        for i in range(begin, end):
            _read_row(rows, i, tables, sets, columns, i - begin)
        for tree in range(len(n_nodes)):
            first, last, n_fours = INDEX(start[tree]), INDEX(start[tree + 1]), n_nodes[tree] // LANES
            for i in range(begin, end):
                for four in range(n_fours):
                    nodes = quadratures[n_fours - 1, four]
                    _walk_down(steps, first, last, nodes, columns, INDEX(i - begin), is_open, lanes)
                    _sum_up(steps, first, last, lanes.product, lanes.gift, out, INDEX(i))


@inlined_part
def _read_row(rows: Array, i: int, tables: Array, sets: Array, columns_out: Array, to: int) -> None:
    """Write each feature twice, as splits that send what is missing right and left have it; then 0 or 1 of each set."""
    for j in range(rows.shape[1]):
        x = rows[i, j]
        columns_out[to, 2 * j], columns_out[to, 2 * j + 1] = x, -np.inf if x != x else x
    for k in range(len(sets)):
        columns_out[to, 2 * rows.shape[1] + k] = 0.0 if tables[k, code_of(rows[i, sets[k]])] else 1.0


@inlined_part
def _walk_down(
    steps: Array,
    first: np.uint64,
    last: np.uint64,
    nodes: Array,
    columns: Array,
    row: np.uint64,
    is_open: Array,
    lanes: Lanes,
) -> None:
    """Fill the lanes of all edges of a tree, of four nodes, without a guess at where the row goes.

    Slow line: ``f = o * t + z * (1 - t)`` for both sides of a split, o being 0 for the one where the row does not go,
    and for both below an edge of the same feature where it does not; `is_open` takes o, and begins with a 1.
    """
    product, inverse, own, gift = lanes.product, lanes.inverse, lanes.own, lanes.gift
    t0, t1, t2, t3 = nodes[0, 0], nodes[0, 1], nodes[0, 2], nodes[0, 3]
    m0, m1, m2, m3 = nodes[1, 0], nodes[1, 1], nodes[1, 2], nodes[1, 3]
    d0, d1, d2, d3 = nodes[2, 0], nodes[2, 1], nodes[2, 2], nodes[2, 3]
    w0, w1, w2, w3 = nodes[3, 0], nodes[3, 1], nodes[3, 2], nodes[3, 3]
    product[0] = product[1] = product[2] = product[3] = 1.0
    edge = ONE
    for at in range(first, last):
        step = steps[at]
        left, o = columns[row, step.column] <= step.threshold, is_open[step.same]
        z, shut_z = (step.left_share, step.right_share) if left else (step.right_share, step.left_share)
        v, shut_v = (step.left_value, step.right_value) if left else (step.right_value, step.left_value)
        to, shut_to = (edge, edge + ONE) if left else (edge + ONE, edge)
        is_open[to], is_open[shut_to] = o, 0.0
        k = step.same << TWO
        g0, g1, g2, g3 = own[k], own[k + ONE], own[k + TWO], own[k + THREE]
        p0, p1, p2, p3 = inverse[k], inverse[k + ONE], inverse[k + TWO], inverse[k + THREE]
        k = step.into << TWO
        p0, p1, p2, p3 = p0 * product[k], p1 * product[k + ONE], p2 * product[k + TWO], p3 * product[k + THREE]
        k, c, r = shut_to << TWO, shut_z * shut_v, 1.0 / shut_z
        product[k], product[k + ONE] = p0 * (c * m0), p1 * (c * m1)
        product[k + TWO], product[k + THREE] = p2 * (c * m2), p3 * (c * m3)
        inverse[k], inverse[k + ONE], inverse[k + TWO], inverse[k + THREE] = r * d0, r * d1, r * d2, r * d3
        own[k], own[k + ONE], own[k + TWO], own[k + THREE] = -d0, -d1, -d2, -d3
        gift[k], gift[k + ONE] = w0 * (-d0 - g0), w1 * (-d1 - g1)
        gift[k + TWO], gift[k + THREE] = w2 * (-d2 - g2), w3 * (-d3 - g3)
        k = to << TWO
        f0, f1, f2, f3 = o * t0 + z * m0, o * t1 + z * m1, o * t2 + z * m2, o * t3 + z * m3
        product[k], product[k + ONE] = p0 * (v * f0), p1 * (v * f1)
        product[k + TWO], product[k + THREE] = p2 * (v * f2), p3 * (v * f3)
        f0, f1, f2, f3 = 1.0 / f0, 1.0 / f1, 1.0 / f2, 1.0 / f3
        inverse[k], inverse[k + ONE], inverse[k + TWO], inverse[k + THREE] = f0, f1, f2, f3
        c = o - z
        f0, f1, f2, f3 = c * f0, c * f1, c * f2, c * f3
        own[k], own[k + ONE], own[k + TWO], own[k + THREE] = f0, f1, f2, f3
        gift[k], gift[k + ONE] = w0 * (f0 - g0), w1 * (f1 - g1)
        gift[k + TWO], gift[k + THREE] = w2 * (f2 - g2), w3 * (f3 - g3)
        edge += TWO


@inlined_part
def _sum_up(
    steps: Array, first: np.uint64, last: np.uint64, product: Array, gift: Array, out: Array, i: np.uint64
) -> None:
    """Sum up the leaves below each edge, in the place of its product, and give each feature its part of the sums."""
    at, edge = last, ((last - first) << ONE) + ONE
    while at > first:
        at, edge = at - ONE, edge - TWO
        j, k, to = edge << TWO, (edge + ONE) << TWO, steps[at].into << TWO
        s0, s1, s2, s3 = product[j], product[j + ONE], product[j + TWO], product[j + THREE]
        r0, r1, r2, r3 = product[k], product[k + ONE], product[k + TWO], product[k + THREE]
        product[to], product[to + ONE], product[to + TWO], product[to + THREE] = s0 + r0, s1 + r1, s2 + r2, s3 + r3
        t0, t1 = s0 * gift[j] + r0 * gift[k], s1 * gift[j + ONE] + r1 * gift[k + ONE]
        t2, t3 = s2 * gift[j + TWO] + r2 * gift[k + TWO], s3 * gift[j + THREE] + r3 * gift[k + THREE]
        out[i, steps[at].feature] += (t0 + t1) + (t2 + t3)
