"""The mean cost of grades: what evaluation sets of ordinal rankers are measured by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from podium._exact import exact_sum
from podium._validation import Array
from podium.ordinal.ordinal_data import OrdinalData


@dataclass(frozen=True)
class MeanCost:
    """The criterion of ordinal rankers: lower is better."""

    name: str = "cost"
    higher_is_better: bool = False

    def __str__(self) -> str:
        return self.name


def mean_cost(data: OrdinalData) -> Callable[[Array], dict[str, float]]:
    """Return a function from the grades 0 … K-1 of the rows to their mean cost, by its name; the sum is exact."""
    every = np.arange(len(data.costs))
    return lambda grades: {"cost": exact_sum(data.costs[every, grades]) / len(grades)}
