"""The gate for what `fit` is given to measure its rounds on: further rows with labels or pairs, and held-out pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from podium._frames import is_frame
from podium._types import MatrixLike, PairsLike
from podium._validation import PodiumError
from podium.data import RankingData, warn_of_one_query
from podium.rankers.estimator import check_columns


class EvaluationArguments(NamedTuple):
    """What `fit` takes of evaluation sets, not yet checked; see `Ranker.fit`."""

    eval_set: object = None
    eval_qid: object = None
    eval_group: object = None
    eval_pairs: object = None
    eval_items: object = None


BESIDE = ("eval_qid", "eval_group", "eval_pairs", "eval_items")
"""What has an entry for each evaluation set."""


def check_evals(
    given: EvaluationArguments, train: RankingData, items: ArrayLike | None, by_query: bool
) -> list[RankingData]:
    """Return the evaluation sets, checked.

    Parameters
    ----------
    given : EvaluationArguments
    train : RankingData
        The training data, whose columns and queries they must have.
    items : array-like or None
        Ids of the training rows, by which held-out pairs of them name rows.
    by_query : bool
        Whether it matters to learning which rows are of one query.
    """
    sets, pairs = eval_sets(given.eval_set), _pairs_of_sets(given.eval_pairs)
    if given.eval_set is None and pairs:
        sets_of_pairs = [_held_out(train, one, items, number) for number, one in enumerate(pairs)]
        for name in ("eval_qid", "eval_group", "eval_items"):
            one_per_eval_set(getattr(given, name), 0, name)
        return sets_of_pairs
    beside = {name: one_per_eval_set(getattr(given, name), len(sets), name) for name in BESIDE}
    evals = []
    for number, (X, y) in enumerate(sets):
        own = {name.removeprefix("eval_"): values[number] for name, values in beside.items()}
        evals.append(_check_set(X, y, own, number, train))
        _check_eval_queries(train, evals[-1], number, by_query)
    return evals


def eval_sets(eval_set: object) -> list[tuple[MatrixLike, ArrayLike]]:
    """Return the evaluation sets as a list of (X, y)."""
    sets: list[Any] = [] if eval_set is None else list(eval_set) if isinstance(eval_set, Iterable) else [eval_set]
    wrong = [one for one in sets if not (isinstance(one, tuple | list) and len(one) == 2)]
    if wrong or isinstance(eval_set, tuple):
        got = _kind_of(wrong[0]) if isinstance(eval_set, list) else type(eval_set).__name__
        raise PodiumError(f"eval_set must be a list of (X, y), such as [(X_valid, y_valid)]; got {got}.")
    return [(X, y) for X, y in sets]


def _kind_of(entry: object) -> str:
    """Say what stands in the place of (X, y)."""
    kind = type(entry).__name__
    if not isinstance(entry, tuple | list):
        return f"an entry of type {kind}"
    return f"a {kind} of {len(entry)}{' (queries are given in eval_qid)' if len(entry) > 2 else ''}"


def one_per_eval_set(beside: object, n_sets: int, name: str) -> list[ArrayLike | None]:
    """Return one entry per evaluation set."""
    if beside is None:
        return [None] * n_sets
    if not isinstance(beside, Sequence | np.ndarray) or isinstance(beside, str):
        raise PodiumError(f"{name} must be a list with an entry per eval_set; got {type(beside).__name__}.")
    if len(beside) != n_sets:
        raise PodiumError(f"{name} must have one entry per eval_set: {n_sets} expected, {len(beside)} given.")
    return list(beside)


def _pairs_of_sets(eval_pairs: object) -> list[PairsLike]:
    """Return held-out pairs as a list with an entry for each set of them."""
    if eval_pairs is None:
        return []
    if is_frame(eval_pairs, "eval_pairs") or isinstance(eval_pairs, tuple) or not isinstance(eval_pairs, list):
        raise PodiumError(
            "eval_pairs must be a list with the pairs of each evaluation set, such as [(better, worse)]; "
            f"got {type(eval_pairs).__name__}."
        )
    return eval_pairs


def _held_out(train: RankingData, pairs: PairsLike, items: ArrayLike | None, number: int) -> RankingData:
    """Return the training rows with held-out pairs of them."""
    try:
        return train.with_pairs(pairs, items)
    except PodiumError as error:
        raise type(error)(f"eval_pairs[{number}]: {error}") from None


def _check_set(X: MatrixLike, y: ArrayLike, own: dict[str, Any], number: int, train: RankingData) -> RankingData:
    """Check one evaluation set and its columns; `own` are its queries, pairs and items."""
    try:
        data = RankingData.from_arrays(X, y, **own, categories=train.categories)
    except PodiumError as error:
        raise type(error)(f"eval_set[{number}]: {error}") from None
    names = None if data.feature_names is None else list(data.feature_names)
    check_columns(train, data.features.shape[1], names, f"eval_set[{number}] must have")
    return data


def _check_eval_queries(train: RankingData, data: RankingData, number: int, by_query: bool) -> None:
    """Refuse an evaluation set without queries beside training rows with some, and the other way round."""
    if data.labels is None:
        return  # pairs need no queries
    if train.queries_given and not data.queries_given:
        raise PodiumError(
            f"eval_set[{number}] must have queries, as the training rows have: give eval_qid or eval_group "
            f"(eval_group=[..., [{len(data.queries.rows)}], ...] if its rows are one query)."
        )
    if not by_query:
        return
    if data.queries_given and not train.queries_given and train.labels is not None:
        raise PodiumError(
            f"The training rows must have queries, as eval_set[{number}] has: give qid or group "
            f"(group=[{len(train.labels)}] if they are one query)."
        )
    if not data.queries_given:
        warn_of_one_query(data.labels, f"of eval_set[{number}] ", "eval_group=[..., [{}], ...]", 5)
