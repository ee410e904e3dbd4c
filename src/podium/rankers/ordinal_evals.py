"""Evaluation sets of ordinal rankers that learn in rounds."""

from __future__ import annotations

from typing import Any

from podium._validation import Array, PodiumError
from podium.ordinal.ordinal_data import OrdinalData
from podium.rankers.estimator import check_columns
from podium.rankers.ranker import eval_sets, one_per_eval_set


def check_eval_sets(data: OrdinalData, eval_set: Any, eval_cost: Any, cost: Any, own_costs: bool) -> list[OrdinalData]:
    """Return the evaluation sets, checked, with the columns and grades of the training data.

    Parameters
    ----------
    data : OrdinalData
        The training data.
    eval_set, eval_cost : list or None
        As `fit` has them.
    cost
        The ranker's parameter.
    own_costs : bool
        Whether the training data came with `sample_cost`.
    """
    sets = eval_sets(eval_set)
    if eval_cost is None and own_costs and sets:
        raise PodiumError("With sample_cost give eval_cost too: a list with the costs of each eval_set.")
    given = one_per_eval_set(eval_cost, len(sets), "eval_cost")
    return [
        _check_eval_set(data, X, y, cost, costs, number)
        for number, ((X, y), costs) in enumerate(zip(sets, given, strict=True))
    ]


def _check_eval_set(data: OrdinalData, X: Any, y: Any, cost: Any, costs: Array | None, number: int) -> OrdinalData:
    """Return one checked evaluation set."""
    found = OrdinalData.from_arrays(X, y, cost=cost, sample_cost=costs, classes=data.classes)
    names = None if found.feature_names is None else list(found.feature_names)
    check_columns(data, found.features.shape[1], names, f"eval_set[{number}] must have")
    return found
