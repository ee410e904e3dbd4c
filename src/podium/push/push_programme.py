"""The infinite push as a linear programme: the limit of the p-norm push, for linear rankers with an l1 penalty.

As p grows, the p-th root of the p-norm push becomes the largest term alone: what the worst offender pays. Agarwal
(2011), "The infinite push", takes that with the hinge loss of pairs, and Rakotomamonjy (2012), "Sparse support vector
infinite push", with an l1 penalty. The papers have one list of two grades and solvers of their own. Here, for queries
and any labels, with weights w of rows and v of queries,

    Σ_q v_q max_i (Σ_{j: y_j > y_i} w_j [1 - (f(x_j) - f(x_i))]₊ / Σ_{j: y_j > y_i} w_j) / Σ_q v_q + alpha ‖β‖₁

for f(x) = β·x is minimised exactly, by one linear programme with a variable for each pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from podium._validation import Array, PodiumError
from podium.data import Graded
from podium.pairs import LevelOrder

ZERO_SHARE = 1e-9
"""Coefficients of this part of the largest are rounding of the solver, and taken as 0."""


class OffenderPairs(NamedTuple):
    """Pairs of rows as an offender, which should stand low, has them with the rows that should stand above it.

    Attributes
    ----------
    rows : ndarray of int64
        Row number of each position.
    low, high : ndarray of int64
        Positions of the rows of each pair.
    share : ndarray of float64
        Weight of the better row, over that of all better rows of the offender.
    query : ndarray of int64
        Query of each position, counted from 0.
    query_share : ndarray of float64
        Weight of each query; they sum to 1.
    """

    rows: Array
    low: Array
    high: Array
    share: Array
    query: Array
    query_share: Array


class InfinitePushResult(NamedTuple):
    """The coefficients, the objective that they reach, and how far the optimum may be below it."""

    coef: Array
    objective: float
    gap: float


def offender_pairs(graded: Graded) -> OffenderPairs:
    """List the pairs of graded feedback."""
    order = LevelOrder.of(graded)
    sizes = np.diff(order.start)
    query = np.repeat(np.arange(len(sizes)), sizes)
    positions, stops = np.arange(len(order.row)), order.start[1:][query]
    last = np.append((order.level[1:] != order.level[:-1]) | (query[1:] != query[:-1]), True)
    above = positions[last][np.searchsorted(positions[last], positions)] + 1  # first position of the next level
    counts = stops - above
    low = np.repeat(positions, counts)
    high = np.arange(len(low)) - np.repeat(np.cumsum(counts) - counts, counts) + above[low]
    weight = order.weight[high]
    share = weight / np.bincount(low, weight, len(positions))[low]
    heaviest = np.log(np.maximum.reduceat(graded.row_weight[order.row], order.start[:-1]))
    query_weight = np.exp(order.log_weight - 2 * heaviest)
    return OffenderPairs(order.row, low, high, share, query, query_weight / query_weight.sum())


def push_objective(pairs: OffenderPairs, scores: Array, coef: Array, alpha: float) -> float:
    """Return the objective at the scores of all rows that some coefficients give."""
    own = scores[pairs.rows]
    hinge = np.maximum(0.0, 1.0 - (own[pairs.high] - own[pairs.low]))
    paid = np.bincount(pairs.low, pairs.share * hinge, len(own))
    worst = np.zeros(len(pairs.query_share))
    np.maximum.at(worst, pairs.query, paid)
    return float(worst @ pairs.query_share + alpha * np.abs(coef).sum())


def solve_infinite_push(features: Array, pairs: OffenderPairs, alpha: float) -> InfinitePushResult:
    """Minimise the infinite push over linear rankers.

    Variables are β⁺, β⁻, the scores s of the rows, the hinge z of each pair, and the largest sum ξ of each query:
    minimise Σ v_q ξ_q + alpha Σ (β⁺ + β⁻) where X (β⁺ - β⁻) = s, z ≥ 1 - (s_high - s_low), ξ_q ≥ Σ share z. The scores
    keep the programme sparse: a pair has three entries, not one for each feature.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_features)
        Of all rows, without missing values.
    pairs : OffenderPairs
    alpha : float
        Weight of the l1 penalty.
    """
    n_features, n_rows = features.shape[1], len(pairs.rows)
    n_free = len(pairs.low) + len(pairs.query_share)
    weighed = sp.csr_array(features[pairs.rows])
    above, least = _inequalities(pairs, n_features)
    solution = linprog(
        np.concatenate([np.full(2 * n_features, alpha), np.zeros(n_rows + len(pairs.low)), pairs.query_share]),
        A_ub=above,
        b_ub=least,
        A_eq=sp.hstack([weighed, -weighed, -sp.eye_array(n_rows), sp.csr_array((n_rows, n_free))], format="csr"),
        b_eq=np.zeros(n_rows),
        bounds=[(0, None)] * (2 * n_features) + [(None, None)] * n_rows + [(0, None)] * n_free,
        method="highs",
    )
    if solution.x is None:
        raise PodiumError(f"The linear programme of the infinite push was not solved: {solution.message}")
    coef = solution.x[:n_features] - solution.x[n_features : 2 * n_features]
    coef[np.abs(coef) <= ZERO_SHARE * np.abs(coef).max(initial=0.0)] = 0.0
    objective = push_objective(pairs, features @ coef, coef, alpha)
    return InfinitePushResult(coef, objective, max(0.0, objective - float(solution.fun)))


def _inequalities(pairs: OffenderPairs, n_features: int) -> tuple[sp.csr_array, Array]:
    """Return A and b of A x ≤ b: s_low - s_high - z ≤ -1 of each pair, Σ share z - ξ ≤ 0 of each offender."""
    n_rows, n_pairs, n_queries = len(pairs.rows), len(pairs.low), len(pairs.query_share)
    number, one = np.arange(n_pairs), np.ones(n_pairs)
    offenders, place = np.unique(pairs.low, return_inverse=True)
    lower = sp.coo_array((one, (number, pairs.low)), shape=(n_pairs, n_rows))
    upper = sp.coo_array((one, (number, pairs.high)), shape=(n_pairs, n_rows))
    sums = sp.coo_array((pairs.share, (place, number)), shape=(len(offenders), n_pairs))
    queries = np.arange(len(offenders)), pairs.query[offenders]
    largest = sp.coo_array((np.ones(len(offenders)), queries), shape=(len(offenders), n_queries))
    blocks = [
        [sp.coo_array((n_pairs, 2 * n_features)), lower - upper, -sp.eye_array(n_pairs), None],
        [None, None, sums, -largest],
    ]
    return sp.block_array(blocks, format="csr"), np.r_[-one, np.zeros(len(offenders))]
