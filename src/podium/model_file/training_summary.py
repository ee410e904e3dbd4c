"""The summary of a training in a model file: the data, the seed, why it ended, what was measured."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from podium._sparse import is_sparse
from podium._types import Features
from podium._validation import Array, FormatError
from podium.model_file.schema import Scalar, Schema
from podium.model_file.values import Content, Value

COUNTS = Schema(
    *(Scalar(name, int) for name in ("rows", "queries", "features", "grades", "pairs")),
    Scalar("missing", int, optional=True),
)
"""What `training_summary_` says of the training data; files of earlier versions do not say what was missing."""
CELLS_AT_ONCE = 2**20
"""Cells looked at together when missing values are counted."""


class Evals:
    """What was measured: by set, by measure, a list with one number a round."""

    name, attribute, optional = "evals", "evals_result_", True

    def write(self, value: dict[str, dict[str, list[float]]]) -> Value:
        """Return it as it is."""
        return value

    def read(self, value: Any, path: str | PathLike[str], sizes: dict[str, int]) -> dict[str, dict[str, list[float]]]:
        """Return the values, each checked."""
        sets = value.values() if isinstance(value, dict) else [None]
        series = [one for measures in sets for one in (measures.values() if isinstance(measures, dict) else [None])]
        if not all(isinstance(one, list) and all(type(number) in (int, float) for number in one) for one in series):
            raise FormatError(path, "evals must hold a list of numbers for each measure of each set")
        return dict(value)


FACTS = Schema(
    Scalar("seed", int, attribute="seed_", optional=True),
    Scalar("best_round", int, attribute="best_iteration_", optional=True),
    Scalar("stop_reason", str, attribute="stop_reason_", optional=True),
    Evals(),
)
"""What else the summary holds, of rankers that have it."""


def summary_of(features: Features, labels: Array | None, n_queries: int = 0, n_pairs: int = 0) -> dict[str, int]:
    """Return what there was to learn from: rows, queries, features, different labels, pairs, missing values."""
    grades = 0 if labels is None else len(np.unique(labels))
    n_rows, n_features = features.shape
    counts = (n_rows, n_queries, n_features, grades, n_pairs, count_missing(features))
    return dict(zip([field.name for field in COUNTS.fields], counts, strict=True))


def count_missing(features: Features) -> int:
    """Return how many values are missing: NaN, and what a sparse matrix leaves out."""
    if is_sparse(features):
        return int(features.shape[0]) * int(features.shape[1]) - int(np.count_nonzero(~np.isnan(features.data)))
    # In blocks of rows: a mask of all cells would take an eighth of their memory.
    parts = np.array_split(features, max(1, features.size // CELLS_AT_ONCE))
    return sum(int(np.count_nonzero(np.isnan(part))) for part in parts)


def training_content(ranker: object) -> Content:
    """Return the summary of a training; what is imported has none."""
    return {**getattr(ranker, "training_summary_", {}), **FACTS.write(ranker)}


def take_training(ranker: Any, training: Value, path: str | PathLike[str]) -> None:
    """Give a ranker the summary that `training_content` returned, each value checked."""
    if not isinstance(training, dict):
        raise FormatError(path, "the summary of the training is not one")
    if training.keys() & {field.name for field in COUNTS.fields}:
        ranker.training_summary_ = COUNTS.read(training, path, {})
    learned = getattr(ranker, "best_iteration_", None)
    FACTS.restore(ranker, training, path, {})
    if learned != getattr(ranker, "best_iteration_", None):
        raise FormatError(path, "best_round is not the best_iteration of what was learned")
