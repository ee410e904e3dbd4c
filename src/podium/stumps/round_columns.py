"""Rounds of weighted weak rankings as columns of a file, for models and checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

import numpy as np

from podium._validation import FormatError, PodiumError
from podium.model_file import REAL, Column, Content, Schema, Value
from podium.pairs import Round
from podium.stumps.scaled_feature import ScaledFeature
from podium.stumps.stump import Stump

FEATURE = Column("feature", np.int64, (0, "last_feature"), "n_rounds")
ABSTAIN = Column("abstain", np.int64, (0, 1), "n_rounds")
RANKINGS: dict[type, Schema] = {
    Stump: Schema(FEATURE, Column("threshold", bounds=REAL, size="n_rounds"), ABSTAIN, holds="rounds"),
    ScaledFeature: Schema(
        FEATURE, Column("low", size="n_rounds"), Column("high", size="n_rounds"), ABSTAIN, holds="rounds"
    ),
}
"""The weak rankings that a file holds, and the columns of each in the order in which it is made of them."""
WEIGHTS = Schema(
    Column("alpha", size="n_rounds"),
    Column("Z", bounds=REAL, size="n_rounds"),
    Column("r", bounds=REAL, size="n_rounds"),
    holds="rounds",
)
"""What else a round has."""


def rounds_to_columns(rounds: Sequence[Round]) -> Content:
    """Return the rounds as columns; their weak rankings must be of one kind."""
    kind = type(rounds[0].ranking) if rounds and type(rounds[0].ranking) in RANKINGS else Stump
    for number, round_ in enumerate(rounds):
        if type(round_.ranking) is not kind:
            raise PodiumError(
                f"A model file holds stumps only, or scaled features only; round {number + 1} has a "
                f"{type(round_.ranking).__name__}: a weak learner of your own makes rankings that no file can hold."
            )
    return RANKINGS[kind].write_rows([round_.ranking for round_ in rounds]) | WEIGHTS.write_rows(rounds)


def rounds_from_columns(columns: Value, path: str | PathLike[str], n_features: int) -> list[Round]:
    """Return the rounds that `rounds_to_columns` wrote, each value checked."""
    kind = ScaledFeature if isinstance(columns, dict) and "threshold" not in columns and "low" in columns else Stump
    own = RANKINGS[kind].read(columns, path, {"last_feature": n_features - 1})
    if kind is ScaledFeature and not np.all(own["low"] < own["high"]):
        raise FormatError(path, "a scaled feature has a low that is not below its high")
    weights = WEIGHTS.read(columns, path, {"n_rounds": len(own["feature"])})
    rankings = map(kind, *(column.tolist() for column in own.values()))
    return [Round(*one) for one in zip(rankings, *(column.tolist() for column in weights.values()), strict=True)]
