"""Weak learners of users' own: what they find is checked before it is used."""

from __future__ import annotations

import numpy as np

from podium._compiled import SCORE
from podium._validation import Array, PodiumError
from podium.boosting import Stop
from podium.pairs import Distribution, WeakLearner, WeakResult


class OwnLearner:
    """A user's weak learner, whose rankings are checked.

    Parameters
    ----------
    learner : WeakLearner
        Finds the rankings.
    """

    def __init__(self, learner: WeakLearner) -> None:
        self.learner = learner

    def search(self, potentials: Array, distribution: Distribution) -> WeakResult | Stop | None:
        """Return what the learner finds; refuse values that are not one finite number for each training row."""
        found = self.learner.search(potentials, distribution)
        if found is None or isinstance(found, Stop):
            return found
        values = np.asarray(found.values)
        if values.shape != potentials.shape or values.dtype.kind not in "fiub" or not np.isfinite(values).all():
            raise PodiumError(
                f"A weak learner must find one finite value for each of the {len(potentials)} training rows; "
                f"{type(found.ranking).__name__} has {_describe(values)}."
            )
        return found._replace(values=values.astype(SCORE, copy=False))


def _describe(values: Array) -> str:
    """Say what is wrong with the values of a weak ranking."""
    if values.dtype.kind not in "fiub":
        return f"values of dtype {values.dtype}"
    bad = np.flatnonzero(~np.isfinite(values))
    return f"{values.flat[bad[0]]} for row {bad[0]}" if len(bad) else f"values of shape {values.shape}"
