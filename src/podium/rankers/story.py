"""Rounds of weighted stumps as columns of a file, for models and checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from podium._validation import FormatError, PodiumError
from podium.model_file import to_floats, to_whole
from podium.pairs import Round
from podium.stumps import ScaledFeature, Stump

RANKINGS: dict[type, tuple[str, ...]] = {Stump: ("threshold",), ScaledFeature: ("low", "high")}
"""The weak rankings that a file holds, and the real numbers of each, beside its feature and what it is if missing."""
OF_ROUNDS = ("alpha", "Z", "r")


def to_columns(rounds: Sequence[Round]) -> dict[str, Any]:
    """Return the rounds as columns; their weak rankings must be of one kind."""
    kind = type(rounds[0].ranking) if rounds and type(rounds[0].ranking) in RANKINGS else Stump
    for number, done in enumerate(rounds):
        if type(done.ranking) is not kind:
            raise PodiumError(
                f"A model file holds stumps only, or scaled features only; round {number + 1} has a "
                f"{type(done.ranking).__name__}: a weak learner of your own makes rankings that no file can hold."
            )
    columns = {name: np.array([getattr(done, name) for done in rounds], np.int64) for name in ("feature", "abstain")}
    own = {name: np.array([getattr(done.ranking, name) for done in rounds], float) for name in RANKINGS[kind]}
    return columns | own | {name: np.array([getattr(done, name) for done in rounds], float) for name in OF_ROUNDS}


def from_columns(columns: Any, path: str | PathLike[str], n_features: int) -> list[Round]:
    """Return the rounds that `to_columns` wrote, each value checked."""
    kinds = [kind for kind, own in RANKINGS.items() if isinstance(columns, dict) and {*own} <= columns.keys()]
    if len(kinds) != 1 or not {"feature", "abstain", *OF_ROUNDS} <= columns.keys():
        raise FormatError(path, "the rounds of the model are incomplete")
    feature = to_whole(columns["feature"], path, "feature", 0, n_features - 1)
    abstain = to_whole(columns["abstain"], path, "abstain", 0, 1)
    own = [to_floats(columns[name], path, name) for name in RANKINGS[kinds[0]]]
    of_rounds = [to_floats(columns[name], path, name) for name in OF_ROUNDS]
    if len({len(column) for column in (feature, abstain, *own, *of_rounds)}) != 1:
        raise FormatError(path, "the columns of the rounds differ in length")
    if not np.isfinite(of_rounds[0]).all() or np.isnan([*own, *of_rounds]).any():
        raise FormatError(path, "a round has an alpha that is not finite, or a number that is none")
    if len(own) == 2 and not np.all((own[0] < own[1]) & np.isfinite(own[0]) & np.isfinite(own[1])):
        raise FormatError(path, "a scaled feature has a low that is not below its high")
    rankings = map(kinds[0], feature.tolist(), *(column.tolist() for column in own), abstain.tolist())
    return [Round(*one) for one in zip(rankings, *(column.tolist() for column in of_rounds), strict=True)]
