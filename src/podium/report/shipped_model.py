"""A model as a page holds it: small enough to be walked there for any two documents that a reader picks."""

from __future__ import annotations

from base64 import b64encode

import numpy as np

from podium._types import Json
from podium._validation import Array
from podium.export import Exported, Linear, NetScore, TreeSum
from podium.trees import Forest

MAX_SPLITS = 60_000
"""Splits that a page holds: about two megabytes."""


def shipped_model(record: Exported, features: Array) -> dict[str, Json] | None:
    """Return a model for a page's script, or None where it is too large.

    Parameters
    ----------
    record : TreeSum or Linear
    features : ndarray of int64
        Features that the page holds, ascending: all that the model uses. Splits and weights name them by their places
        there.
    """
    if isinstance(record, Linear):
        return {
            "kind": "linear",
            "weights": record.weights[features].tolist(),
            "missing": record.missing[features].tolist(),
        }
    if isinstance(record, NetScore) or sum(len(tree.feature) for tree in record.trees) > MAX_SPLITS:
        return None
    return _trees(record, features)


def _trees(record: TreeSum, features: Array) -> dict[str, Json]:
    """Return the trees joined, as the script walks them; see `Forest`."""
    forest = Forest.of(record.trees)
    return {
        "kind": "trees",
        "feature": packed(np.searchsorted(features, forest.feature), "<i4"),
        "threshold": packed(forest.threshold, "<f8"),
        "missing_left": packed(forest.missing_left, "<u1"),
        "child": packed(forest.child, "<i4"),
        "value": packed(forest.value, "<f8"),
        "root": packed(forest.root, "<i4"),
        "set_of": packed(forest.set_of, "<i4"),
        "tables": packed(forest.tables, "<u1"),
    }


def packed(numbers: Array, kind: str) -> str:
    """Return numbers as base64 of their bytes, row after row.

    Parameters
    ----------
    numbers : ndarray
    kind : {"<f4", "<f8", "<i4", "<u1"}
    """
    return b64encode(np.ascontiguousarray(numbers, kind).tobytes()).decode()
