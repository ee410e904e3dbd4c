"""Weak rankings h and the learners that find them.

A weak learner is any object with a method

    search(potentials, distribution) -> WeakResult, Stop or None

`potentials` are π(x) of the training rows (RB Eq. 10), whose sum over rows weighted by h is r = Σ h(x) π(x),
the quantity to make large in size; `distribution` is the current `Distribution`, for ``ranking_weights`` (W₋,
W₀, W₊ of values 0 and 1 alone) and ``moments`` (Z and its derivatives). None says that no ranking helps and ends the
fit; a `podium.boosting.Stop` ends it with a reason of its own. What was found is given by its values on the training
rows, finite numbers of any range (``alpha="numeric"``, the default for a weak learner of your own, takes them all; RB
Eq. 6 asks for a span of at most 1, RB Eq. 2 for 0 and 1), and by an object with ``predict(X)`` for new ones.

"RB" is Freund, Iyer, Schapire and Singer (2003), "An efficient boosting algorithm for combining preferences".
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from podium._types import Features
from podium._validation import Array
from podium.boosting import Stop
from podium.pairs.distribution import Distribution

__all__ = ["WeakLearner", "WeakRanking", "WeakResult"]


class WeakRanking(Protocol):
    """A ranking of instances: higher values stand higher."""

    def predict(self, X: Features) -> Array:
        """Return the ranking's value of each row of X."""


class WeakResult(NamedTuple):
    """A weak ranking and what it says of the training rows.

    Attributes
    ----------
    ranking : WeakRanking
        The ranking itself; small, it is kept with the model.
    values : ndarray of float64
        Its value of each training row; not kept.
    r : float
        Σ values π: the weight of rightly ordered pairs less that of wrongly ordered ones for {0, 1} values.
    span : float, optional
        Largest less smallest value of all training rows; by default that of `values`. A learner that has a part of the
        rows gives it.
    """

    ranking: WeakRanking
    values: Array
    r: float
    span: float | None = None


class WeakLearner(Protocol):
    """Finds a weak ranking for the current distribution."""

    def search(self, potentials: Array, distribution: Distribution) -> WeakResult | Stop | None:
        """Return a weak ranking; or None if none does better than chance, or a `Stop` with another reason to end."""
