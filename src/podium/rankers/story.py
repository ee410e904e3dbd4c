"""The rounds of a boosted ranker as columns of a file, for models and checkpoints."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from podium._validation import FormatError, PodiumError
from podium.dataset import RankingData, hash_features
from podium.model_file import read_model, to_floats, to_texts, write_model
from podium.rounds import Round
from podium.weak.stump import Stump

NUMBERS = ("threshold", "alpha", "Z", "r")


def to_columns(rounds: Sequence[Round]) -> dict[str, Any]:
    """Return the rounds as columns, ready for JSON."""
    for number, done in enumerate(rounds):
        if not isinstance(done.ranking, Stump):
            raise PodiumError(
                f"A model file holds stumps only; round {number + 1} has a {type(done.ranking).__name__}."
            )
    return {
        "feature": [done.feature for done in rounds],
        "abstain": [done.abstain for done in rounds],
        **{name: to_texts(np.array([getattr(done, name) for done in rounds], float)) for name in NUMBERS},
    }


def from_columns(columns: Any, path: str | PathLike[str], n_features: int) -> list[Round]:
    """Return the rounds that `to_columns` wrote, each value checked."""
    if not isinstance(columns, dict) or not {"feature", "abstain", *NUMBERS} <= columns.keys():
        raise FormatError(path, "the rounds of the model are incomplete")
    whole = {name: to_floats(columns[name], path, name) for name in ("feature", "abstain")}
    numbers = {name: to_floats(columns[name], path, name) for name in NUMBERS}
    if len({len(column) for column in (*whole.values(), *numbers.values())}) != 1:
        raise FormatError(path, "the columns of the rounds differ in length")
    if not (np.isin(whole["feature"], np.arange(n_features)).all() and np.isin(whole["abstain"], (0, 1)).all()):
        raise FormatError(path, f"a round names a feature outside 0 to {n_features - 1}, or abstains otherwise")
    if not np.isfinite(numbers["alpha"]).all() or np.isnan(numbers["threshold"]).any():
        raise FormatError(path, "a round has an alpha that is not finite, or no threshold")
    return [
        Round(Stump(int(feature), threshold, int(abstain)), alpha, Z, r)
        for feature, abstain, threshold, alpha, Z, r in zip(
            *(column.tolist() for column in (*whole.values(), *numbers.values())), strict=True
        )
    ]


def fingerprint(data: RankingData, parameters: dict[str, Any]) -> str:
    """Return a digest of the training data and the parameters that a checkpoint belongs to."""
    digest = hashlib.sha256(repr(sorted(parameters.items())).encode())
    given = (data.labels, data.row_weight, data.query_weight, data.queries.offsets, *(data.pairs or ()))
    for column in (hash_features(data.features)[data.queries.rows], *given):
        digest.update(b"-" if column is None else np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


def write_checkpoint(path: str | PathLike[str], mark: str, rounds: Sequence[Round]) -> None:
    """Keep the rounds so far in a file."""
    write_model(path, {"checkpoint": mark, "rounds": to_columns(rounds)})


def read_checkpoint(path: str | PathLike[str], mark: str, n_features: int) -> list[Round]:
    """Return the rounds kept in a file, none where there is no file; refuse those of another fit."""
    if not Path(path).exists():
        return []
    content = read_model(path)
    if content.get("checkpoint") != mark:
        raise PodiumError(
            f"The checkpoint {path} belongs to other data or other parameters; "
            "delete it or name another file to start anew."
        )
    return from_columns(content.get("rounds"), path, n_features)
