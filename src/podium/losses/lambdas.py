"""The pairwise logistic loss and its λ: RankNet, and LambdaMART with |ΔZ| (Burges 2010, "LM", sections 2 and 7).

For a pair of which i is the better, C = |ΔZ| log(1 + exp(-σ (s_i - s_j))). With ρ = 1/(1 + exp(σ (s_i - s_j))),
dC/ds_i = -σ |ΔZ| ρ = -dC/ds_j and the curvature of either is σ² |ΔZ| ρ (1 - ρ). |ΔZ| is what the measure Z
changes by when the two change places; it is held fixed.

Tied scores: the canonical order of rows decides, so that |ΔZ| of tied rows does not vanish.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numba import types

from podium._compiled import (
    INDEX,
    ROW,
    as_argument,
    atomic_add,
    atomic_load,
    compiled,
    compiled_for,
    even_chunks,
    give_way,
    linked_part,
    prefetch,
    run_beside,
)
from podium._validation import Array
from podium.data import Graded, Pairs
from podium.losses.deltas import DELTAS
from podium.losses.loss import Loss
from podium.losses.row_pairs import (
    FEW_ROWS,
    LANES,
    PairSums,
    add_all_pairs,
    add_pairs,
    clear_sums,
    fill_square,
    sum_of_sizes,
)
from podium.losses.score_order import sort_again
from podium.measures.conventions import Gain, Relevant, Rules
from podium.measures.sorting import sort_scores
from podium.measures.swaps import STATE_ROWS, place_units

NORMALIZATIONS = {"none": (False, False), "pairs": (True, False), "query": (False, True), "both": (True, True)}
"""For each normalisation of λ: whether pairs are divided by their distance, and queries by their sum."""
LOG_2 = math.log(2.0)
ROWS_AT_ONCE = 8
"""Rows of changes filled by one call: a call for each row of a long query costs a twentieth of its pairs."""
RUNS_PER_THREAD = 16
"""Runs of queries for each thread; a thread takes one when it has done another."""
ROWS_PER_LINE = 8
"""Rows whose scores are in one line of memory."""
ROWS_AHEAD = 256
"""Rows of the next query whose memory is asked for; of longer ones what follows is read in its order."""
COUNTS_APART = 8
"""Places between counters of threads: each has a cache line of its own."""
NOT_DONE = 2**62
"""More runs than there are."""


class LambdaLoss(Loss):
    """Logistic loss of the pairs of graded labels, weighted by the change of a measure.

    Parameters
    ----------
    feedback : Graded
    delta : {"ndcg", "map", "mrr", "err", "auc", "localized", "none"}
        The measure Z; "none" weighs all pairs alike (RankNet).
    truncation : int or None
        Only pairs with a row among the first so many places count, and Z looks no further; None for all pairs.
        Time is O(n · truncation) a query.
    sigma : float
        σ, the steepness of the sigmoid; it cancels in the model (LM 7).
    normalize : {"none", "pairs", "query", "both"}
        "pairs" divides |ΔZ| by 0.01 + σ |s_i - s_j|, so that pairs that lie far apart matter less. "query"
        multiplies λ and curvatures of a query by log2(1 + S)/S, S = 2 Σ |λ|/σ over its pairs, so that queries with
        many pairs or large changes do not outweigh the others. LM has neither; LightGBM has both, with σ = 1.
    gain, relevant, max_grade : optional
        As for the measures; see `podium.measures.Rules`.
    n_threads : int
        Threads share out whole queries.
    """

    def __init__(
        self,
        feedback: Graded,
        delta: str = "ndcg",
        truncation: int | None = 30,
        sigma: float = 1.0,
        *,
        normalize: str = "none",
        gain: Gain = "exp2",
        relevant: Relevant = None,
        max_grade: float | None = None,
        n_threads: int = 1,
    ) -> None:
        self.feedback, self.sigma, self.n_threads = feedback, float(sigma), n_threads
        self.divide_by_distance, self.rescale_queries = NORMALIZATIONS[normalize]
        self.form = DELTAS[delta]
        sizes = np.diff(feedback.offsets)
        self.truncation = int(sizes.max(initial=1)) if truncation is None else int(truncation)
        self.units = place_units(int(sizes.max(initial=1)), self.truncation, self.form.logarithmic)
        rules = Rules(gain=gain, relevant=relevant, max_grade=max_grade)
        self.values = self.form.values_of(feedback, rules, self.units, self.form.row_values)
        self.gradient, self.curvature = np.zeros(len(feedback.labels)), np.zeros(len(feedback.labels))
        self._weighted = bool(np.any(feedback.row_weight != 1.0))
        self._order = np.arange(len(feedback.labels)) - np.repeat(feedback.offsets[:-1], sizes)
        self._n_sorted = int(sizes.max(initial=1)) if self.form.whole_ranking else self.truncation
        self._runs = np.array(even_chunks(feedback.offsets, RUNS_PER_THREAD * n_threads), ROW).reshape(-1, 2)

    def derivatives(self, scores: Array, number: int = 0) -> tuple[Array, Array]:
        """Return gradient and curvature of each row at these scores."""
        return self._fill(scores, self._runs)

    def gradient_of(self, queries: Array, scores: Array) -> Array:
        """Return the gradient of each row at these scores, of which those of some queries alone are new."""
        return self._fill(scores, np.stack([queries, queries + 1], axis=1))[0]

    def _fill(self, scores: Array, runs: Array) -> tuple[Array, Array]:
        """Fill gradient and curvature of the queries in runs, first and past the last of each."""
        feedback = self.feedback
        inputs = LambdaInputs(
            scores, self.values, feedback.row_weight, feedback.query_weight, feedback.offsets, self.units,
            self.truncation, self._n_sorted, self.sigma, self.divide_by_distance, self.rescale_queries,
            self._weighted, runs,
        )  # fmt: skip
        outputs = LambdaOutputs(self._order, self.gradient, self.curvature)
        kernels = map(as_argument, (self.form.fill_state, self.form.fill_rows), _kernel_types())
        counts = np.zeros(2 * COUNTS_APART, ROW)
        take_runs = partial(_query_loop(), *kernels, inputs, outputs, counts)
        leave = partial(counts.__setitem__, COUNTS_APART, NOT_DONE)
        run_beside(take_runs, take_runs, min(self.n_threads, len(runs)) - 1, self.n_threads, leave)
        return self.gradient, self.curvature

    def flat_reason(self) -> str | None:
        """Say why no pair has any |ΔZ|, at whatever scores; None where one has."""
        starts = self.feedback.offsets[:-1]
        differ = np.maximum.reduceat(self.values, starts) > np.minimum.reduceat(self.values, starts)
        return None if differ.any() else f"no query has {self.form.needs}"


class PairLoss(Loss):
    """Logistic loss of explicit pairs, each with its own weight: Σ weight log(1 + exp(-σ (s_better - s_worse)))."""

    def __init__(self, feedback: Pairs, n_rows: int, sigma: float = 1.0) -> None:
        self.feedback, self.n_rows, self.sigma = feedback, n_rows, sigma

    def derivatives(self, scores: Array, number: int = 0) -> tuple[Array, Array]:
        """Return gradient and curvature of each row at these scores."""
        pairs, gradient, curvature = self.feedback, np.zeros(self.n_rows), np.zeros(self.n_rows)
        _add_explicit_pairs(pairs.better, pairs.worse, pairs.weight, scores, self.sigma, gradient, curvature)
        return gradient, curvature


class SumOfLosses(Loss):
    """The sum of several losses on the same rows."""

    def __init__(self, parts: Sequence[Loss]) -> None:
        self.parts = parts

    def start(self) -> float:
        """Return the sum of the parts' beginnings."""
        return float(sum(part.start() for part in self.parts))

    def derivatives(self, scores: Array, number: int = 0) -> tuple[Array, Array]:
        """Return the sums of the parts' gradients and curvatures."""
        found = [part.derivatives(scores, number) for part in self.parts]
        return np.sum([one[0] for one in found], axis=0), np.sum([one[1] for one in found], axis=0)


class LambdaInputs(NamedTuple):
    """What λ is computed from, for all queries.

    Attributes
    ----------
    scores, values, row_weight : float64[n]
        `values` are what the measure sees of each row.
    query_weight : float64[n_queries]
    offsets : int64[n_queries + 1]
    units : float64[longest]
        What each place pays.
    truncation : int
    n_sorted : int
        Places that are sorted by score; rows below them stand by number.
    sigma : float
    divide_by_distance, rescale_queries : bool
        See `NORMALIZATIONS`.
    weighted : bool
        Whether any row has another weight than 1.
    runs : int64[n_runs, 2]
        First query of each run, and past the last; a thread takes a run at a time.
    """

    scores: Array
    values: Array
    row_weight: Array
    query_weight: Array
    offsets: Array
    units: Array
    truncation: int
    n_sorted: int
    sigma: float
    divide_by_distance: bool
    rescale_queries: bool
    weighted: bool
    runs: Array


class LambdaOutputs(NamedTuple):
    """What threads write, each for its queries: rows by score, as of the last round, and derivatives of each row."""

    order: Array
    gradient: Array
    curvature: Array


@lru_cache(maxsize=1)
def _kernel_types() -> tuple[types.FunctionType, types.FunctionType]:
    """Types of `fill_state` and `fill_rows`."""
    floats, table, integer = types.float64[::1], types.float64[:, ::1], types.int64
    state = types.FunctionType(types.float64(integer, floats, floats, integer, table))
    rows = types.FunctionType(types.void(integer, integer, integer, floats, floats, table, types.float64, table))
    return state, rows


@lru_cache(maxsize=1)
def _query_loop() -> Any:
    """Compile the loop when first asked for, with first-class function types so that one serves every measure."""
    floats, integers, integer = types.float64[::1], types.int64[::1], types.int64
    flags, runs = [types.boolean] * 3, types.int64[:, ::1]
    inputs = types.NamedTuple(
        [floats] * 4 + [integers, floats, integer, integer, types.float64, *flags, runs], LambdaInputs
    )
    outputs = types.NamedTuple([integers, floats, floats], LambdaOutputs)
    return compiled_for(types.boolean(*_kernel_types(), inputs, outputs, integers), _fill_lambdas)


def _fill_lambdas(
    fill_state: Callable[..., float],
    fill_rows: Callable[..., None],
    inputs: LambdaInputs,
    out: LambdaOutputs,
    counts: Array,
) -> bool:
    """Fill gradient and curvature of runs of queries, and the order of their rows; say at last whether all are done.

    Threads take runs side by side. `counts` has how many are taken, and at `COUNTS_APART` how many are done; what is
    written there by a thread that fails, `NOT_DONE`, makes the others leave.

    Slow line: ``for i, j with y_i > y_j: λ = σ |ΔZ| w / (1 + exp(σ (s_i - s_j))); g_i -= λ; g_j += λ``, then
    ``g *= log2(1 + S)/S`` with S = 2 Σ λ/σ if queries are rescaled. For each query:

    1. Sort its rows by score, from the last round's order where that is quicker; no more places than count.
    2. Bring values, weights and scores into that order.
    3. Take what the measure must know of the ranking (`fill_state`).
    4. Sum up the pairs: of a short query all at once, else those of one row after the other, ΔZ of several rows ahead.
    5. Write the sums times the query's factor.
    """
    longest, units = len(inputs.units), inputs.units.copy()  # threads that count one array's users wait for each other
    truncation, sigma, scores, order = inputs.truncation, inputs.sigma, inputs.scores, out.order
    ordered, seen, weights = np.empty(longest), np.empty(longest), np.ones(longest)
    is_first = np.empty(longest, np.bool_)
    small = np.empty((7, longest + 7), np.float32)  # seven places more: pairs are filled up to a multiple of eight
    sums = PairSums(small[0], small[1], small[2], small[3], small[4], small[5], small[6])
    state, deltas = np.empty((STATE_ROWS, longest + 1)), np.empty((ROWS_AT_ONCE, longest))
    all_deltas, lanes = np.empty((FEW_ROWS, FEW_ROWS)), np.empty(4 * LANES, np.float32)
    square = np.empty((FEW_ROWS, FEW_ROWS // LANES, LANES), np.float32)
    run = atomic_add(counts, 0, 1)
    while run < len(inputs.runs):
        for query in range(inputs.runs[run, 0], inputs.runs[run, 1]):
            start, n = inputs.offsets[query], inputs.offsets[query + 1] - inputs.offsets[query]
            _ask_for(inputs, out, start + n)
            if not sort_again(inputs.n_sorted, start, n, scores, order, ordered, is_first):  # 1
                sort_scores(scores[start : start + n], order[start : start + n], ordered)
            _bring_into_order(inputs, start, n, order, ordered, seen, weights, sums.near)  # 2
            scale, top = fill_state(n, seen, units, truncation, state), min(truncation, n - 1)  # 3
            if n <= FEW_ROWS:  # 4
                fill_rows(n, 0, top, seen, units, state, scale, all_deltas)
                fill_square(n, top, sums.near, all_deltas, weights, inputs.divide_by_distance, square)
                total = add_all_pairs(n, sums.near, square, lanes, sums.gradient, sums.curvature)
            else:
                clear_sums(n, sums)
                for i in range(top):
                    if i % ROWS_AT_ONCE == 0:
                        fill_rows(n, i, min(i + ROWS_AT_ONCE, top), seen, units, state, scale, deltas)
                    _weigh_pairs(i, n, deltas, weights, inputs.weighted, sums.delta)
                    add_pairs(i, n, inputs.divide_by_distance, sums)
                total = sum_of_sizes(n, sums.sizes)
            factor = (
                0.5 * sigma * inputs.query_weight[query] * (_query_factor(total) if inputs.rescale_queries else 1.0)
            )
            first = INDEX(start)
            for i in range(INDEX(n)):  # 5
                row = first + INDEX(order[first + i])
                out.gradient[row] = factor * sums.gradient[i]
                out.curvature[row] = factor * 0.5 * sigma * sums.curvature[i]
        atomic_add(counts, COUNTS_APART, 1)
        run = atomic_add(counts, 0, 1)
    while atomic_load(counts, COUNTS_APART) < len(inputs.runs):
        give_way()
    return bool(atomic_load(counts, COUNTS_APART) == len(inputs.runs))


@linked_part
def _ask_for(inputs: LambdaInputs, out: LambdaOutputs, start: int) -> None:
    """Ask for the memory of the next query's first rows: threads that wait for it take a tenth more time."""
    for row in range(INDEX(start), INDEX(min(start + ROWS_AHEAD, len(inputs.scores))), INDEX(ROWS_PER_LINE)):
        prefetch(inputs.scores, row)
        prefetch(inputs.values, row)
        prefetch(out.order, row)
        prefetch(out.gradient, row)
        prefetch(out.curvature, row)
        if inputs.weighted:
            prefetch(inputs.row_weight, row)


@linked_part
def _bring_into_order(
    inputs: LambdaInputs,
    start: int,
    n: int,
    order: Array,
    ordered: Array,
    seen_out: Array,
    weights_out: Array,
    near_out: Array,
) -> None:
    """Write values, weights and half of σ times the scores of a query's rows by score; weights are 1 beforehand."""
    first = INDEX(start)
    for i in range(INDEX(n)):
        row = first + INDEX(order[first + i])
        seen_out[i] = inputs.values[row]
        if inputs.weighted:
            weights_out[i] = inputs.row_weight[row]
        near_out[i] = np.float32(inputs.sigma * 0.5 * (ordered[i] - ordered[0]))


@linked_part
def _weigh_pairs(i: int, n: int, deltas: Array, weights: Array, weighted: bool, delta_out: Array) -> None:
    """Do ``delta[i + 1:n] = deltas[row, i + 1:n] * weights[i] * weights[i + 1:n]``; most rows weigh 1."""
    row, first, stop = i % ROWS_AT_ONCE, INDEX(i + 1), INDEX(n)
    if weighted:
        for j in range(first, stop):
            deltas[row, j] *= weights[i] * weights[j]
    for j in range(first, stop):
        delta_out[j] = deltas[row, j]


@linked_part
def _query_factor(total: float) -> float:
    """Return log2(1 + S)/S for the sum S of a query, 1 for none."""
    return np.log1p(total) / (total * LOG_2) if total > 0.0 else 1.0


@compiled
def _add_explicit_pairs(
    better: Array, worse: Array, weight: Array, scores: Array, sigma: float, gradient_out: Array, curvature_out: Array
) -> None:
    """Add λ and curvature of each pair to its two rows."""
    for k in range(len(better)):
        i, j = better[k], worse[k]
        x = sigma * (scores[i] - scores[j])
        e = np.exp(-abs(x))
        rho = (e if x > 0.0 else 1.0) / (1.0 + e)
        gradient, curvature = sigma * weight[k] * rho, sigma * sigma * weight[k] * rho * (1.0 - rho)
        gradient_out[i] -= gradient
        gradient_out[j] += gradient
        curvature_out[i] += curvature
        curvature_out[j] += curvature
