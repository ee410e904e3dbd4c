"""Monotone constraints: for each feature whether scores may only rise with it, only fall, or do as they like."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from podium._frames import to_array
from podium._validation import Array, PodiumError


def check_monotone(constraints: ArrayLike | None, n_features: int) -> Array | None:
    """Return 1, -1 or 0 for each feature, or None where none is constrained."""
    if constraints is None:
        return None
    if isinstance(constraints, Mapping):
        raise PodiumError(
            f"monotone_constraints must be a list with 1, -1 or 0 for each of the {n_features} features, in the order "
            f"of the columns; got the mapping {constraints!r}."
        )
    given = to_array(constraints, "monotone_constraints")
    if given.shape != (n_features,):
        raise PodiumError(f"monotone_constraints must have one entry per feature, {n_features}; got {given.size}.")
    wrong = ~np.isin(given, (-1, 0, 1))
    if wrong.any():
        raise PodiumError(f"monotone_constraints must be -1, 0 or 1; got {given[wrong][0]}.")
    return given.astype(np.int8)
