"""The mean cost of grades: what evaluation sets of ordinal rankers are measured by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from podium._compiled import compiled
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
    """Return a function from the grades 0 … K-1 of the rows to their mean cost, by its name."""
    return lambda grades: {"cost": float(_sum_chosen(data.costs, grades)) / len(grades)}


@compiled
def _sum_chosen(costs: Array, grades: Array) -> float:
    """Return ``costs[np.arange(len(grades)), grades].sum()``."""
    total = 0.0
    for row in range(len(grades)):
        total += costs[row, grades[row]]
    return total
