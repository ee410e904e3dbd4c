"""What model files keep of ordinal rankers: labels of grades, thresholds, ordinal stumps, votes, scales of features."""

from __future__ import annotations

import math
from os import PathLike
from reprlib import repr as short
from typing import Any

import numpy as np

from podium._compiled import ROW
from podium._validation import Array, FormatError, PodiumError
from podium.model_file import NOT_NEGATIVE, POSITIVE, REAL, Column, Schema, Value
from podium.ordinal.grades import NUMBER_KINDS
from podium.ordinal.ordinal_stump import OrdinalStump
from podium.ordinal.vote_boosting import ROUNDING

KINDS = {"U": "texts", "O": "objects"}
"""Kinds of labels that are not numbers, by numpy's letter, and their names in a file."""
MOST_LETTERS = 2**22
"""Letters of all labels in a file if each were as long as the longest, as numpy keeps them: 16 MB."""

THRESHOLDS = Column("thresholds", bounds=REAL, size="n_rounds", width="n_thresholds", ascending=True)
"""Those of each stump or round: one less than grades, infinite ones allowed."""
CUTS = Column("thresholds_", bounds=REAL, size="n_thresholds", ascending=True)
"""Those of a ranker that cuts one score."""
STUMPS = Schema(
    Column("feature", ROW, (0, "last_feature"), "n_rounds"),
    Column("direction", ROW, size="n_rounds", choices=(1, -1)),
    THRESHOLDS,
    Column("missing", ROW, (0, "last_grade"), "n_rounds"),
    holds="stumps",
)
"""The columns of ordinal stumps, in the order in which a stump is made of them."""
VOTES = Schema(
    Column("epsilon", bounds=(0.0, 0.5 + ROUNDING), size="n_rounds"),
    Column("weight", bounds=NOT_NEGATIVE, size="n_rounds"),
)
"""The columns of the rounds of AdaBoost.OR, beside their rankers."""
SCALING = (Column("means_", size="n_features"), Column("deviations_", bounds=POSITIVE, size="n_features"))


def grade_sizes(n_grades: int) -> dict[str, int]:
    """Return the bounds and sizes that fields name and that depend on the number of grades."""
    return {"last_grade": n_grades - 1, "n_thresholds": n_grades - 1}


class Labels:
    """The labels of the grades, from low to high: an array of numbers, or a list of `values` with their `kind`."""

    name, attribute, optional = "classes", "classes_", False

    def write(self, value: Array) -> Value:
        """Return the labels; refuse those that a file cannot hold."""
        if value.dtype.kind in NUMBER_KINDS:
            return value
        values = value.tolist()
        if not _are_labels(values, value.dtype.kind):
            raise PodiumError(
                "A model file holds different labels that are numbers, or texts that are not very long; got "
                f"{short(values)}."
            )
        return {"kind": KINDS[value.dtype.kind], "values": values}

    def read(self, value: Any, path: str | PathLike[str], sizes: dict[str, int]) -> Array:
        """Return the labels, each checked; their number is the bound of later fields."""
        if isinstance(value, np.ndarray) and value.ndim == 1:
            kind, values = value.dtype.kind, value.tolist()
        else:
            named = value if isinstance(value, dict) else {}
            kind = next((code for code, name in KINDS.items() if name == named.get("kind")), "")
            values = named.get("values")
        if not _are_labels(values, kind):
            raise FormatError(path, "classes must be at least two different labels, numbers or strings")
        sizes |= grade_sizes(len(values))
        return value if isinstance(value, np.ndarray) else np.array(values, kind)


def _are_labels(values: Value, kind: str) -> bool:
    """Say whether values are the labels of two grades or more, each of its own; strings must not be vast."""
    if not isinstance(values, list) or len(values) < 2:
        return False
    if kind == "U" and not all(isinstance(value, str) for value in values):
        return False
    if kind == "U" and len(values) * max(map(len, values)) > MOST_LETTERS:
        return False
    return all(map(_is_label, values)) and len(set(values)) == len(values) and kind in (*NUMBER_KINDS, *KINDS)


def _is_label(value: object) -> bool:
    """Say whether a value is a text or a finite number."""
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def stumps_from_columns(columns: Value, path: str | PathLike[str], sizes: dict[str, int]) -> list[OrdinalStump]:
    """Return the stumps that ``STUMPS.write_rows`` wrote, each value checked."""
    found = STUMPS.read(columns, path, sizes)
    tables = {name: column if column.ndim > 1 else column.tolist() for name, column in found.items()}
    return [OrdinalStump(*numbers) for numbers in zip(*tables.values(), strict=True)]
