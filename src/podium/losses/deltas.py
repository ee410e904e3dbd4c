"""How pairs are weighed by the change of a measure: the values of rows, the state of a ranking, and rows of changes.

LM is Burges 2010; the changes themselves are in `podium.measures.swaps` and `podium.measures.order_swaps`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from podium._compiled import INDEX, compiled, compiled_argument
from podium._validation import Array
from podium.data import Graded
from podium.measures.binary import relevance
from podium.measures.conventions import Rules
from podium.measures.graded import custom_gains, scaled_gains_and_best, stop_probabilities
from podium.measures.measure import RowValues, labels_and_best
from podium.measures.order_swaps import ORDER_SWAPS, label_levels, localized_rows
from podium.measures.swaps import SWAPS
from podium.measures.ties import as_given


def _values(feedback: Graded, rules: Rules, units: Array, row_values: RowValues) -> Array:
    """What the measure sees of each row: relevance, stop probability or label."""
    return np.array(row_values(as_given(feedback.labels, feedback.offsets), rules).values)


def _gain_shares(feedback: Graded, rules: Rules, units: Array, row_values: RowValues) -> Array:
    """Gain of each row over the best DCG of its query, 0 where nothing is gained, so that no state is needed."""
    if not isinstance(rules.gain, str):
        gains = custom_gains(feedback.labels, rules.gain)
        feedback = Graded(gains, feedback.offsets, feedback.row_weight, feedback.query_weight)
        rules = Rules(gain="linear")
    rows = row_values(as_given(feedback.labels, feedback.offsets), rules)
    shares = np.zeros_like(rows.values)
    _divide_by_best(rows.values, rows.best, feedback.offsets, units, shares)
    return shares


@compiled
def _divide_by_best(gains: Array, best: Array, offsets: Array, units: Array, shares_out: Array) -> None:
    """Do ``shares[q] = gains[q] / (best[q] @ units)`` for each query q, `best` from the highest down."""
    for query in range(len(offsets) - 1):
        start, stop, ideal = offsets[query], offsets[query + 1], 0.0
        for row in range(start, stop):
            ideal += best[row] * units[row - start]
        for row in range(start, stop):
            shares_out[row] = gains[row] / ideal if ideal > 0.0 else 0.0


@compiled_argument
def _no_state(n: int, values: Array, units: Array, k: int, state_out: Array) -> float:
    """Nothing to remember."""
    return 1.0


@compiled_argument
def _label_rows(
    n: int, first: int, stop: int, values: Array, units: Array, state: Array, scale: float, deltas_out: Array
) -> None:
    """1 where the row at j has the higher label, -1 where the lower one."""
    for i in range(first, stop):
        label = values[i]
        for j in range(INDEX(i + 1), INDEX(n)):
            deltas_out[i - first, j] = (1.0 if values[j] > label else 0.0) - (1.0 if values[j] < label else 0.0)


@compiled_argument
def _localized_rows(
    n: int, first: int, stop: int, values: Array, units: Array, state: Array, scale: float, deltas_out: Array
) -> None:
    """Size of the change of the localized loss, with the sign that the labels give (LM 7 has |ΔZ|).

    A better row that enters the first places may raise the loss, where lower rows stand above it.
    """
    localized_rows(n, first, stop, values, units, state, scale, deltas_out)
    for i in range(first, stop):
        for j in range(i + 1, n):
            deltas_out[i - first, j] = np.sign(values[j] - values[i]) * abs(deltas_out[i - first, j])


@dataclass(frozen=True)
class Delta:
    """How the changes by swaps are computed: values of rows, state of a ranking, and rows of changes."""

    row_values: RowValues
    fill_state: Callable[..., float]
    fill_rows: Callable[..., None]
    logarithmic: bool = False
    values_of: Callable[..., Array] = _values
    needs: str = "two different labels"
    whole_ranking: bool = False
    """Whether a change depends on where rows stand below the truncation."""


_BOTH_KINDS = 'both relevant rows (labels above 0) and others; consider delta="ndcg" or delta="none"'

DELTAS = {
    "ndcg": Delta(scaled_gains_and_best, _no_state, SWAPS["ndcg"].fill_rows, True, _gain_shares, "two different gains"),
    "map": Delta(relevance, SWAPS["map"].fill_state, SWAPS["map"].fill_rows, needs=_BOTH_KINDS),
    "mrr": Delta(relevance, SWAPS["mrr"].fill_state, SWAPS["mrr"].fill_rows, needs=_BOTH_KINDS),
    "err": Delta(stop_probabilities, SWAPS["err"].fill_state, SWAPS["err"].fill_rows),
    "auc": Delta(label_levels, ORDER_SWAPS["auc"].fill_state, ORDER_SWAPS["auc"].fill_rows, whole_ranking=True),
    "localized": Delta(label_levels, ORDER_SWAPS["localized"].fill_state, _localized_rows),
    "none": Delta(labels_and_best, _no_state, _label_rows),
}
"""Measures that LambdaMART can follow, and none."""
