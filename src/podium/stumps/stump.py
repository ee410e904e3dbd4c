"""Stumps: weak rankings that compare one feature with a threshold.

"RB" is Freund, Iyer, Schapire and Singer (2003). A stump is 1 where the feature is above the threshold, 0
where it is not, and q_def where it is missing (RB Eq. 9). `StumpLearner` is WeakLearn of RB Figure 3 with its
variants: .3 (``criterion="r"``), .2 (``"z"``), and .cum (a `Cumulative`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from podium._compiled import SCORE, compiled, inlined_part
from podium._exchange import ALONE, Exchange
from podium._types import Features
from podium._validation import Array, PodiumError
from podium.binning import Bins, check_monotone
from podium.pairs import Distribution, WeakResult
from podium.stumps.crossing import CrossingWeights
from podium.stumps.cut_sums import SCALE, Sums, sums_above

LEAST_EDGE = 1e-12
"""A |r| (or |√W₋ - √W₊|) not above this is rounding: the stump does no better than chance."""
TIE_BITS = 22
R_TIE = 2.0**TIE_BITS / SCALE
"""r is rounded to multiples of this (2**-40 = 9e-13) in the search, so that rounding does not decide between equal
stumps: those whose |r| differ by less may be taken for each other. The r of what is found is not rounded."""
Z_TIE = 2.0**-30
"""√W₋ - √W₊ is rounded to multiples of this (9e-10), for the same reason; the root magnifies rounding."""
WEIGHT_ROUNDING = 1e-14
"""W₋ and W₊ come as differences of sums near 1; not above this they are rounding, and taken as 0."""


@dataclass(frozen=True)
class Stump:
    """A stump: 1 where ``x[feature] > threshold``, 0 where not, `abstain` where the feature is missing.

    Attributes
    ----------
    feature : int
    threshold : float
        A value of the training data; -inf for 1 wherever the feature is there at all.
    abstain : int
        q_def, 0 or 1.
    """

    feature: int
    threshold: float
    abstain: int

    def predict(self, X: Features) -> Array:
        """Return 0 or 1 for each row of X; an absent entry of a sparse X (by columns) is missing."""
        rows, x = column_of(X, self.feature)
        values = np.full(X.shape[0], float(self.abstain), SCORE)
        values[rows] = np.where(np.isnan(x), float(self.abstain), x > self.threshold)
        return values


def column_of(X: Features, feature: int) -> tuple[slice | Array, Array]:
    """Return the rows that are stored of one column of X, as an index, and their values."""
    if isinstance(X, np.ndarray):
        return slice(None), X[:, feature]
    own = slice(X.indptr[feature], X.indptr[feature + 1])
    return X.indices[own], X.data[own]


@dataclass(eq=False)
class Cumulative:
    """Keeps the cumulative weight of every stump positive (RB section 4, WeakLearn.cum).

    A stump may take a negative α only while the sum of all its α stays positive.

    Parameters
    ----------
    weigh : callable
        ``weigh(found, distribution)`` is the α, learning rate included, that the fit would give.

    Attributes
    ----------
    weights : dict of Stump to float
        Sum of the α of each stump used so far.
    """

    weigh: Callable[[WeakResult, Distribution], float]
    weights: dict[Stump, float] = field(default_factory=dict)

    def add(self, ranking: Any, alpha: float) -> None:
        """Note that a ranking was used with weight `alpha`."""
        self.weights[ranking] = self.weights.get(ranking, 0.0) + alpha

    def permits(self, found: WeakResult, distribution: Distribution) -> bool:
        """Return whether the found stump's cumulative weight would stay positive."""
        before = self.weights.get(found.ranking, 0.0)  # type: ignore[call-overload]
        return bool(before + self.weigh(found, distribution) > 0)


class _Choice(NamedTuple):
    """A stump by number, with what the criterion makes of it; smaller tuples are better."""

    loss: float
    feature: int
    cut: int
    abstain: int


class StumpLearner:
    """Finds the best stump of all features, thresholds and values of q_def, with either sign of α.

    Of equally good stumps it takes the one of the lowest feature, then the lowest threshold, then q_def = 0.
    (RB Figure 3 keeps the first it meets, from the highest threshold down, and q_def = 1 in a tie.)

    Parameters
    ----------
    bins : BlockBins or ColumnBins
    criterion : {"r", "z"}
        "r" makes |r| largest (RB Eq. 5): O(cells) a round. "z" makes Z = W₀ + 2 √(W₋ W₊) smallest (RB Eq. 3),
        exactly, at every threshold: O(cells log levels).
    abstain : {"learn", 0, 1}
        q_def: chosen with the threshold, or always the same.
    monotone_constraints : sequence of int, optional
        For each feature 1 (only α > 0), -1 (only α < 0) or 0.
    cumulative : Cumulative, optional
        Allow α < 0 only for stumps whose cumulative weight stays positive.
    n_threads : int
        Threads share out features; their number changes no bit.
    exchange : Exchange
        With the parts that have other queries, and the same cuts: all find the same stump.
    """

    def __init__(
        self,
        bins: Bins,
        *,
        criterion: str = "r",
        abstain: str | int = "learn",
        monotone_constraints: ArrayLike | None = None,
        cumulative: Cumulative | None = None,
        n_threads: int = 1,
        exchange: Exchange = ALONE,
    ) -> None:
        self.bins, self.cumulative = bins, cumulative
        self.abstains = lookup(ABSTAINS, abstain, "abstain")
        self.gains = lookup(CRITERIA, criterion, "criterion")(bins, n_threads, exchange)
        self.signs = allowed_signs(monotone_constraints, bins.cuts.n_features)

    def search(self, potentials: Array, distribution: Distribution) -> WeakResult | None:
        """Return the best stump for the current distribution, or None if none does better than chance."""
        gains = self.gains(potentials, distribution)
        choice = min(self._free_choice(gains), self._repeated_choice(gains, distribution))
        return None if choice.loss >= -LEAST_EDGE else self.found(choice)

    def found(self, choice: _Choice) -> WeakResult:
        """Return the chosen stump with its values on the training rows and r, to a multiple of 2**-62."""
        _, feature, cut, abstain = choice
        values = self.bins.indicator(feature, cut, abstain)
        stump = Stump(feature, self.bins.cuts.threshold(feature, cut), abstain)
        return WeakResult(stump, values, self.gains.edge(feature, cut, abstain), span=1.0)

    def _free_choice(self, gains: Array) -> _Choice:
        """Return the best stump among those whose sign is not a matter of what was used before."""
        cuts = self.bins.cuts
        best = np.zeros((cuts.n_features, 2), SCORE)
        place = np.zeros((cuts.n_features, 2, 2), np.int64)
        _best_cuts(gains, cuts.offsets, cuts.first, cuts.has_missing, self.abstains, best, place)
        signs = self.signs if self.cumulative is None else self.signs & np.array([True, False])
        best = np.where(signs, best, 0.0)
        feature = int(np.argmax(best.max(axis=1)))
        return min(_Choice(-best[feature, side], feature, *place[feature, side].tolist()) for side in range(2))

    def _repeated_choice(self, gains: Array, distribution: Distribution) -> _Choice:
        """Return the best stump with a negative gain that its cumulative weight allows; else one of loss 0."""
        chances = []
        for stump in self.cumulative.weights if self.cumulative else ():
            cut = self.bins.cuts.cut(stump.feature, stump.threshold)
            abstain = stump.abstain if self.bins.cuts.has_missing[stump.feature] else 0
            gain = gains[abstain, self.bins.cuts.offsets[stump.feature] + cut]
            if gain < 0 and self.signs[stump.feature, 1]:
                chances.append(_Choice(gain, stump.feature, cut, stump.abstain))
        for chance in sorted(chances):
            found = self.found(chance)
            if self.cumulative is not None and self.cumulative.permits(found, distribution):
                return chance
        return _Choice(0.0, 0, 0, 0)


class Gains(Protocol):
    """A criterion: what each stump gains."""

    def __call__(self, potentials: Array, distribution: Distribution) -> Array:
        """Return the gain for q_def = 0 (row 0) and 1 (row 1) at every cut of every feature."""

    def edge(self, feature: int, cut: int, abstain: int) -> float:
        """Return r of a stump under the last distribution."""


class PotentialGains:
    """r of every stump: Σ π above the cut, plus Σ π of the missing rows if q_def is 1 (RB Eq. 12)."""

    sums: Sums

    def __init__(self, bins: Bins, n_threads: int, exchange: Exchange = ALONE) -> None:
        self.bins, self.n_threads, self.exchange = bins, n_threads, exchange

    def __call__(self, potentials: Array, distribution: object) -> Array:
        """Return r for q_def = 0 (row 0) and 1 (row 1, where rows are missing) at every cut of every feature."""
        self.sums = sums_above(self.bins, potentials, self.n_threads, self.exchange)
        gains = np.empty((2, len(self.sums.above)), SCORE)
        cuts = self.bins.cuts
        _fill_gains(cuts.offsets, cuts.has_missing, self.sums.above, self.sums.missing, gains)
        return gains

    def edge(self, feature: int, cut: int, abstain: int) -> float:
        """Return r of a stump, not rounded to `R_TIE`."""
        return self.sums.ranked(self.bins.cuts.offsets[feature] + cut, feature, abstain) / SCALE


class CrossingGains:
    """√W₋ - √W₊ of every stump: Z = W₀ + 2 √(W₋ W₊) = 1 - (√W₋ - √W₊)², smallest where this is largest."""

    def __init__(self, bins: Bins, n_threads: int, exchange: Exchange = ALONE) -> None:
        self.weights = CrossingWeights(bins, n_threads, exchange)

    def __call__(self, potentials: Array, distribution: Distribution) -> Array:
        """Return √W₋ - √W₊ for q_def = 0 (row 0) and 1 (row 1) at every cut of every feature."""
        minus, plus = (np.where(weight > WEIGHT_ROUNDING, weight, 0.0) for weight in self.weights(distribution))
        return np.rint((np.sqrt(minus) - np.sqrt(plus)) / Z_TIE) * Z_TIE

    def edge(self, feature: int, cut: int, abstain: int) -> float:
        """Return r of a stump: of the rows with value 1, the weight as better members less that as worse ones."""
        place = self.weights.bins.cuts.offsets[feature] + cut
        better, worse = (sums.ranked(place, feature, abstain) for sums in (self.weights.better, self.weights.worse))
        return (better - worse) / SCALE


Item = TypeVar("Item")

CRITERIA: dict[str, Callable[[Bins, int, Exchange], Gains]] = {
    "r": PotentialGains,
    "z": CrossingGains,
}
ABSTAINS: dict[str | int, Array] = {"learn": np.array([0, 1]), 0: np.array([0]), 1: np.array([1])}


def lookup(table: Mapping[Any, Item], key: object, name: str) -> Item:
    """Return ``table[key]`` or say which keys there are."""
    if not isinstance(key, str | int) or key not in table:
        keys = ", ".join(repr(known) for known in table)
        raise PodiumError(f"{name} must be one of {keys}; got {key!r}.")
    return table[key]


def allowed_signs(constraints: ArrayLike | None, n_features: int) -> Array:
    """Return, for each feature, whether α > 0 and whether α < 0 is allowed: shape (n_features, 2)."""
    signs = check_monotone(constraints, n_features)
    if signs is None:
        return np.ones((n_features, 2), np.bool_)
    return np.stack([signs >= 0, signs <= 0], axis=1)


@compiled
def _fill_gains(offsets: Array, has_missing: Array, above: Array, missing: Array, gains_out: Array) -> None:
    """Write r without, and where something is missing with, the missing rows above, to a multiple of `R_TIE`."""
    half = np.int64(1) << (TIE_BITS - 1)
    for f in range(len(has_missing)):
        for place in range(offsets[f], offsets[f + 1]):
            gains_out[0, place] = ((above[place] + half) >> TIE_BITS) * R_TIE
        if has_missing[f]:
            for place in range(offsets[f], offsets[f + 1]):
                gains_out[1, place] = ((above[place] + missing[f] + half) >> TIE_BITS) * R_TIE


@compiled
def _best_cuts(
    gains: Array, offsets: Array, first: Array, has_missing: Array, abstains: Array, best_out: Array, place_out: Array
) -> None:
    """Write the largest gain, and minus the smallest, of each feature, and their (cut, q_def).

    Leaves out stumps that are the same for all rows: there the gain is 0 but for rounding. Where nothing is
    missing, q_def does not matter and the first is taken.
    """
    for f in range(len(first)):
        n_cuts = offsets[f + 1] - offsets[f]
        for number in range(len(abstains) if has_missing[f] else 1):
            abstain = abstains[number]
            start = max(first[f], 1 if abstain == 1 or not has_missing[f] else 0)
            stop = n_cuts if abstain == 1 and has_missing[f] else n_cuts - 1
            highest, top, lowest, bottom = _extremes(gains, abstain if has_missing[f] else 0, offsets[f], start, stop)
            for side in range(2):
                gain = highest if side == 0 else -lowest
                cut = top if side == 0 else bottom
                if gain > best_out[f, side] or (gain == best_out[f, side] > 0 and cut < place_out[f, side, 0]):
                    best_out[f, side] = gain
                    place_out[f, side, 0] = cut
                    place_out[f, side, 1] = abstain


@inlined_part
def _extremes(gains: Array, abstain: int, first: int, start: int, stop: int) -> tuple[float, int, float, int]:
    """Return the largest of ``gains[abstain, first + i]`` and 0, and the smallest, each with its first i."""
    highest = lowest = 0.0
    top = bottom = 0
    for i in range(start, stop):
        value = gains[abstain, first + i]
        if value > highest:
            highest, top = value, i
        elif value < lowest:
            lowest, bottom = value, i
    return highest, top, lowest, bottom
