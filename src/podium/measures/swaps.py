"""What a measure gains when two rows of a ranking change places: the ΔZ of LambdaMART.

LM is Burges 2010, sections 3 and 7. For one query in rank order, a *state* is made once in O(n); then a kernel
fills *rows* of the changes for place i against all later places j, each in O(1). A change is (measure after the
swap) − (measure before), so it is positive where the row at j is the better one.

``fill_rows(n, first, stop, values, units, state, scale, deltas_out)`` fills ``deltas_out[i - first, i + 1:n]`` for
the places i from `first` until `stop` of n. `values` are gains (NDCG), relevance flags (AP, RR) or stop
probabilities (ERR) in rank order; `units` is what a place pays, zero after place k: 1/log2(i + 1) for NDCG and 1/i
for the others. Arrays may be longer than n: a slice for each query would cost more than the work on a short one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from podium._compiled import INDEX, compiled_argument
from podium._validation import Array
from podium.measures.binary import relevance
from podium.measures.graded import scaled_gains_and_best, stop_probabilities
from podium.measures.measure import RowValues, discounts

STATE_ROWS = 4
"""Rows of the state array, one column more than the query has rows."""


def place_units(n: int, k: int | None, logarithmic: bool) -> Array:
    """Units of n places, zero after place k."""
    units = discounts(n)[:n].copy() if logarithmic else 1.0 / np.arange(1.0, n + 1.0)
    if k is not None:
        units[k:] = 0.0
    return units


@compiled_argument
def ndcg_state(n: int, values: Array, units: Array, k: int, state_out: Array) -> float:
    """Return 1/(best DCG@k), 0 where nothing is gained; nothing else to remember."""
    ideal = 0.0
    best = np.sort(values[:n])[::-1]
    for i in range(n):
        ideal += best[i] * units[i]
    return 1.0 / ideal if ideal > 0.0 else 0.0


@compiled_argument
def ndcg_rows(
    n: int, first: int, stop: int, values: Array, units: Array, state: Array, scale: float, deltas_out: Array
) -> None:
    """(g_j − g_i)(d_i − d_j)/(best DCG) (LM 7)."""
    for i in range(first, stop):
        gain, unit = values[i], units[i]
        for j in range(INDEX(i + 1), INDEX(n)):
            deltas_out[i - first, j] = scale * (values[j] - gain) * (unit - units[j])


@compiled_argument
def ap_state(n: int, values: Array, units: Array, k: int, state_out: Array) -> float:
    """Sums over the relevant rows before each place: their number, and that of their units."""
    state_out[:, 0] = 0.0
    for i in range(n):
        state_out[0, i + 1] = state_out[0, i] + values[i]
        state_out[1, i + 1] = state_out[1, i] + values[i] * units[i]
    relevant = state_out[0, n]
    return 1.0 / min(relevant, float(k)) if relevant > 0.0 else 0.0


@compiled_argument
def ap_rows(
    n: int, first: int, stop: int, values: Array, units: Array, state: Array, scale: float, deltas_out: Array
) -> None:
    """Relevant row from j up to i: (c + 1) u_i − c_j u_j + Σ_{i<t<j} rel_t u_t, over the relevant rows.

    c counts the relevant rows before i and c_j those up to j. The sum is for the relevant rows between, which
    each see one more above them. Of a relevant row that moves down the formula is the same with the sign
    changed, since a swap undoes itself.
    """
    for i in range(first, stop):
        here, flag, unit, between = state[0, i] + 1.0, values[i], units[i], state[1, i + 1]
        for j in range(i + 1, n):
            change = here * unit - state[0, j + 1] * units[j] + state[1, j] - between
            deltas_out[i - first, j] = scale * (values[j] - flag) * change


@compiled_argument
def rr_state(n: int, values: Array, units: Array, k: int, state_out: Array) -> float:
    """Places of the first and the second relevant row; n where there is none."""
    state_out[0, 0] = state_out[0, 1] = n
    found = 0
    for i in range(n):
        if values[i] > 0.0:
            state_out[0, found] = i
            found += 1
            if found == 2:
                break
    return 1.0


@compiled_argument
def rr_rows(
    n: int, first: int, stop: int, values: Array, units: Array, state: Array, scale: float, deltas_out: Array
) -> None:
    """Only a relevant row that comes before the first one, or the first one itself moving down, counts."""
    best, second = int(state[0, 0]), int(state[0, 1])
    for i in range(first, stop):
        for j in range(i + 1, n):
            deltas_out[i - first, j] = 0.0
            if i < best and values[j] > 0.0:
                deltas_out[i - first, j] = scale * (units[i] - units[best])
            elif i == best and values[j] == 0.0:
                deltas_out[i - first, j] = scale * (units[min(j, second)] - units[i])


@compiled_argument
def err_state(n: int, values: Array, units: Array, k: int, state_out: Array) -> float:
    """Chance π that the user reads as far as each place (LM 3, step 1)."""
    state_out[0, 0] = 1.0
    for i in range(n):
        state_out[0, i + 1] = state_out[0, i] * (1.0 - values[i])
    return 1.0


@compiled_argument
def err_rows(
    n: int, first: int, stop: int, values: Array, units: Array, state: Array, scale: float, deltas_out: Array
) -> None:
    """π_i (R_j − R_i)(u_i − S_ij − P_ij u_j): LM 3's collected form, the terms between kept as j runs.

    S is what the rows between earn from a user who starts after i, and P the chance of passing them all. LM
    takes them from running sums from the top, divided by T_i, which fails where T_i = 0.
    """
    for i in range(first, stop):
        reach, here, unit = scale * state[0, i], values[i], units[i]
        earned, passing = 0.0, 1.0
        for j in range(i + 1, n):
            deltas_out[i - first, j] = reach * (values[j] - here) * (unit - earned - passing * units[j])
            earned += passing * values[j] * units[j]
            passing *= 1.0 - values[j]


@dataclass(frozen=True)
class Swap:
    """How one measure's changes are computed: the values it sees, its state, and rows of changes."""

    row_values: RowValues
    fill_state: Callable[..., float]
    fill_rows: Callable[..., None]
    logarithmic: bool = False


SWAPS: Mapping[str, Swap] = {
    "ndcg": Swap(scaled_gains_and_best, ndcg_state, ndcg_rows, logarithmic=True),
    "map": Swap(relevance, ap_state, ap_rows),
    "mrr": Swap(relevance, rr_state, rr_rows),
    "err": Swap(stop_probabilities, err_state, err_rows),
}
"""Measures that LambdaMART can follow."""
