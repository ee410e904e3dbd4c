"""Measures of explicit pairs: what each pair counts by the scores of its rows (RB+ Eqs. 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from podium._validation import Array, PodiumError
from podium.measures.measure import Measure

TIE_COSTS = {"expected": 0.5, "optimistic": 0.0, "pessimistic": 1.0}
"""What a pair of equal scores counts, by the rule for ties."""
PAIR_MEASURES = ("pair_loss", "pair_loss_1", "pair_loss_2", "disagreement")
"""The measures that pairs alone define."""


def pair_errors(measure: Measure, better: Array, worse: Array, scores: Array, ties: str = "expected") -> Array:
    """Return what each pair counts: 1 if the worse row scores higher, 0 if the better one does, between for a tie.

    Parameters
    ----------
    measure : Measure
        One of `PAIR_MEASURES`.
    better, worse : ndarray of int64
        Rows of each pair.
    scores : ndarray of float64
        Of all rows.
    ties : {"expected", "optimistic", "pessimistic"}
        What equal scores mean for a measure without a rule of its own.
    """
    tie = TIE_COSTS[measure.definition.ties or ties]
    high, low = scores[better], scores[worse]
    errors: Array = np.where(high == low, tie, np.where(high < low, 1.0, 0.0))
    return errors


def mean_pair_errors(
    measures: Sequence[Measure], better: Array, worse: Array, weight: Array, scores: Array
) -> dict[str, float]:
    """Return the weighted mean of what pairs count, by the name of each measure."""
    return {
        measure.name: float(weight @ pair_errors(measure, better, worse, scores) / weight.sum()) for measure in measures
    }


def split_pair_measures(measures: Iterable[Measure]) -> tuple[list[Measure], list[Measure]]:
    """Return the measures that pairs define, and the others."""
    listed = list(measures)
    of_pairs = [one for one in listed if one.definition.name in PAIR_MEASURES]
    return of_pairs, [one for one in listed if one.definition.name not in PAIR_MEASURES]


def refuse_label_measures(measures: Iterable[Measure], advice: str) -> None:
    """Refuse measures that need labels, where there are pairs alone."""
    others = split_pair_measures(measures)[1]
    if others:
        raise PodiumError(
            f"{others[0]} needs labels, and there are pairs alone: measures of pairs are {', '.join(PAIR_MEASURES)}; "
            f"{advice}."
        )
