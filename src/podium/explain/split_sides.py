"""Splits of joined trees as the kernels of explanations ask for them, and on which side of one a value goes."""

from __future__ import annotations

from typing import NamedTuple

from podium._compiled import compiled_part
from podium._validation import Array
from podium.trees import Forest, code_of


class Splits(NamedTuple):
    """The splits of all trees, as the kernels ask for them; see `Forest`."""

    feature: Array
    threshold: Array
    missing_left: Array
    child: Array
    set_of: Array
    tables: Array


def splits_of(forest: Forest) -> Splits:
    """Return the splits of joined trees."""
    return Splits(forest.feature, forest.threshold, forest.missing_left, forest.child, forest.set_of, forest.tables)


@compiled_part
def goes_left(splits: Splits, at: int, x: float) -> bool:
    """Say where a value goes at a split."""
    if splits.set_of[at] >= 0:
        return bool(splits.tables[splits.set_of[at], code_of(x)])
    return bool(x <= splits.threshold[at] or (x != x and splits.missing_left[at]))
