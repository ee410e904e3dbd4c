"""The rounds of a boosted ranker as columns of a file, for models and checkpoints."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from podium._validation import FormatError, PodiumError
from podium.boosting.rounds import Round
from podium.data.ranking_data import RankingData, hash_features
from podium.model_file import check_writable, read_model, to_floats, to_whole, write_model
from podium.stumps.scaled_feature import ScaledFeature
from podium.stumps.stump import Stump

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


def fingerprint(data: RankingData, parameters: dict[str, Any]) -> str:
    """Return a digest of the training data and the parameters that a checkpoint belongs to."""
    digest = hashlib.sha256(repr(sorted(parameters.items())).encode())
    given = (data.labels, data.row_weight, data.query_weight, data.queries.offsets, *(data.pairs or ()))
    for column in (hash_features(data.features)[data.queries.rows], *given):
        digest.update(b"-" if column is None else np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


class Checkpoint:
    """The file that keeps the rounds of a fit, so that a killed one goes on; it never gets shorter.

    Parameters
    ----------
    path : path
        Of a regular file, which need not be there yet.
    mark : str
        `fingerprint` of the fit; a file of another fit is refused.
    n_features : int

    Attributes
    ----------
    rounds : list of Round
        Those that the file had at the start, none where there was no file.
    """

    def __init__(self, path: str | PathLike[str], mark: str, n_features: int) -> None:
        self.path, self.mark = path, mark
        self.rounds = self._read(n_features)
        self._n_kept, self._warned = len(self.rounds), False

    def save(self, rounds: Sequence[Round]) -> None:
        """Keep the rounds so far, if they are more than the file has.

        A file that cannot be written, on a full disk say, is warned of once: the fit is worth more than its checkpoint.
        """
        if len(rounds) <= self._n_kept:
            return
        content = {"checkpoint": self.mark, "rounds": to_columns(rounds)}
        try:
            write_model(self.path, content)
        except (OSError, PodiumError) as error:  # the latter where its folder is gone
            self._warn(error)
        else:
            self._n_kept = len(rounds)

    def _warn(self, error: Exception) -> None:
        """Say, the first time, that the checkpoint is not kept."""
        why = error.strerror if isinstance(error, OSError) else str(error).rstrip(".")
        if not self._warned:
            warnings.warn(f"The checkpoint {self.path} is not kept ({why}); the fit goes on.", stacklevel=2)
        self._warned = True

    def _read(self, n_features: int) -> list[Round]:
        """Return the rounds kept in the file, none where there is no file; refuse those of another fit."""
        if not Path(self.path).exists():
            return []
        content = read_model(self.path)
        if content.get("checkpoint") != self.mark:
            raise PodiumError(
                f"The checkpoint {self.path} belongs to other data or other parameters; "
                "delete it or name another file to start anew."
            )
        return from_columns(content.get("rounds"), self.path, n_features)


def check_checkpoint(path: str | PathLike[str]) -> None:
    """Refuse a path that cannot be written to, or not read again, before a fit begins."""
    check_writable(path)
    if Path(path).exists() and not Path(path).is_file():
        raise PodiumError(f"checkpoint must name a file that can be read again; {path} is a pipe or a device.")
