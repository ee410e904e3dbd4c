"""Search for the next direction of RankBoost+: a ranking already used, or a new one, over all stumps.

"RB+" is Connamacher, Pancha, Liu and Ray (2019), section 4. The slope of ln Ê2 along a new ranking is -r, which one
histogram of the potentials gives for all stumps; along a ranking already used it is ε⁰ tanh η - r (Eq. 33).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from podium._validation import Array
from podium.binning import Bins
from podium.pairs import WeakResult
from podium.plus.independence import TOLERANCE, PairGraph
from podium.plus.plus_distribution import SLOPE_TIE, PlusDistribution
from podium.stumps import ABSTAINS, SCALE, PotentialGains, Stump, lookup, sums_above

LEAST_SLOPE = 1e-8
"""A slope not above this ends the fit: a step along it lowers Ê2 by less than 5e-17 of itself, below rounding."""
HASH_BITS = 44
"""Bits of a row's random number: differences of two, summed over up to 2¹⁸ rows, are within 62 bits."""
LEAST_PROJECTION = 1e-9
"""A random vector outside the span is this near to orthogonal to a ranking by chance alone once in 1e9."""


class EfficientLearner:
    """Finds the steepest member or stump: RB+ Algorithm 2.

    Where the steepest stump turns out to depend on the members, it is struck from the list for good, as in the
    algorithm's line 13, and the next one takes its turn. So the members grow to a largest independent set in the order
    in which slopes ask for it; RB+ instead completes it once, in a random order, to spare further least squares over
    pairs, which are not needed here.

    Of equally steep directions it takes a member, the oldest, before a stump, the one of the lowest feature, then the
    lowest threshold, then q_def = 0.

    Parameters
    ----------
    bins : BlockBins or ColumnBins
    distribution : PlusDistribution
        The one that `search` will be given.
    abstain : {"learn", 0, 1}
        q_def: chosen with the threshold, or always the same.
    """

    def __init__(self, bins: Bins, distribution: PlusDistribution, *, abstain: str | int = "learn") -> None:
        self.bins, self.distribution = bins, distribution
        self.abstains: Array = lookup(ABSTAINS, abstain, "abstain")
        self.gains = PotentialGains(bins, distribution.n_threads)
        self.candidates = distinct_stumps(bins, distribution.graph, self.abstains, distribution.n_threads)
        self.members: list[Stump] = []

    def add(self, ranking: Any, alpha: float) -> None:
        """Note the stump of the last step, which may have become a member."""
        if len(self.members) < len(self.distribution.eta):
            self.members.append(ranking)

    def search(self, potentials: Array, distribution: object) -> WeakResult | None:
        """Return the direction in which Ê2 falls steepest, or None where it falls in none."""
        if self.distribution.independent.size == self.distribution.graph.rank:
            self._exhaust()
        gains = self._sums(potentials) if len(self.candidates) else np.zeros(0)
        while True:
            codes, sizes = self._directions(gains, potentials)
            top = float(sizes.max(initial=0.0))
            member, _ = self.distribution.best_member(potentials, max(top, LEAST_SLOPE))
            if member >= 0:
                return _found(self.members[member], self.distribution.values(member), potentials)
            if top <= LEAST_SLOPE:
                return None
            code = int(codes[sizes >= top - SLOPE_TIE].min())
            stump, values = self._stump(code)
            if self._admit(code, values):
                return _found(stump, values, potentials)

    def _sums(self, quantity: Array) -> Array:
        """Return Σ quantity over the rows where each stump is 1, for all stumps by number."""
        distribution: Any = self.distribution
        sums: Array = self.gains(quantity, distribution).T.ravel()
        return sums

    def _directions(self, gains: Array, potentials: Array) -> tuple[Array, Array]:
        """Return stumps by number and the size of the slope of ln Ê2 along each."""
        return self.candidates, np.abs(gains[self.candidates])

    def _admit(self, code: int, values: Array) -> bool:
        """Strike a stump from the list, and return whether it is a direction of its own."""
        self.candidates = self.candidates[self.candidates != code]
        return self.distribution.locate(values).is_new

    def _exhaust(self) -> None:
        """Strike all stumps: the members span every ranking."""
        self.candidates = self.candidates[:0]

    def _stump(self, code: int) -> tuple[Stump, Array]:
        """Return a stump by number, and its values on the rows."""
        cuts, place = self.bins.cuts, code // 2
        feature = int(np.searchsorted(cuts.offsets, place, side="right")) - 1
        cut = place - int(cuts.offsets[feature])
        abstain = code % 2 if cuts.has_missing[feature] else int(self.abstains[0])
        return Stump(feature, cuts.threshold(feature, cut), abstain), self.bins.indicator(feature, cut, abstain)


class OptimalLearner(EfficientLearner):
    """Finds the steepest of all directions, those of dependent stumps included: RB+ section 4.

    The slope along a dependent stump Σ β_s f_s is the members' gradient times β / ‖β‖. A stump that depends on the
    members does so ever after, with the same β.
    """

    def __init__(self, bins: Bins, distribution: PlusDistribution, *, abstain: str | int = "learn") -> None:
        super().__init__(bins, distribution, abstain=abstain)
        self.dependent = np.zeros(0, np.int64)
        self._combinations: list[tuple[Array, Array]] = []
        self._known = 0
        graph = distribution.graph
        noise = np.zeros(distribution.n_rows)
        noise[graph.rows] = np.random.default_rng(0).standard_normal(len(graph.rows))
        probe = graph.centred(noise)
        self._probe = probe / max(float(np.sqrt(np.sum(probe**2))), np.finfo(float).tiny)

    def _directions(self, gains: Array, potentials: Array) -> tuple[Array, Array]:
        self._find_dependent()
        codes, sizes = super()._directions(gains, potentials)
        if not len(self.dependent):
            return codes, sizes
        edges = self.distribution.member_edges(potentials)
        members, shares = (np.concatenate(part) for part in zip(*self._combinations, strict=True))
        lengths = np.array([len(part) for part, _ in self._combinations])
        slopes = np.add.reduceat(shares * edges[members], np.cumsum(lengths) - lengths)
        return np.concatenate([codes, self.dependent]), np.concatenate([sizes, np.abs(slopes)])

    def _find_dependent(self) -> None:
        """Move the stumps that new members have made dependent to the others.

        What the basis leaves of a random vector is orthogonal to every dependent stump, and to hardly any other: one
        histogram of it tells which stumps to look at.
        """
        basis = self.distribution.independent.basis
        if self._known == len(basis):
            return
        for vector in basis[self._known :]:
            self._probe = self._probe - np.sum(vector * self._probe) * vector
        self._known = len(basis)
        for code in self._suspects().tolist():
            values = self._stump(code)[1]
            if not self.distribution.locate(values).is_new:
                self._admit(code, values)

    def _suspects(self) -> Array:
        """Return the stumps to look at; all of them where the basis leaves nothing of the vector."""
        length = float(np.sqrt(np.sum(self._probe**2)))
        if length <= TOLERANCE:
            return self.candidates
        probe, size = np.zeros(self.distribution.n_rows), np.sqrt(len(self._probe))
        probe[self.distribution.graph.rows] = self._probe / (length * size)
        near: Array = self.candidates[np.abs(self._sums(probe)[self.candidates]) * size <= LEAST_PROJECTION]
        return near

    def _admit(self, code: int, values: Array) -> bool:
        if code in self.dependent:
            return True
        if super()._admit(code, values):
            return True
        place = self.distribution.locate(values)
        self.dependent = np.append(self.dependent, code)
        self._combinations.append((place.members, place.beta / np.linalg.norm(place.beta)))
        return False

    def _exhaust(self) -> None:
        """Strike nothing: dependent stumps are directions too."""


def distinct_stumps(bins: Bins, graph: PairGraph, abstains: Array, n_threads: int = 1) -> Array:
    """Return the stumps that order some pair, each once.

    Of those that order every pair alike, or every pair the other way round, it is the first. Two stumps order every
    pair alike exactly if they differ by a constant in each component of the pairs' graph. So each row gets a whole
    random number such that the numbers of a component sum to zero: a stump's sum is then zero for a stump that orders
    nothing, the same for equal stumps and its negative for a reversed one. One integer histogram gives the sums of all
    stumps. Two such sums of 44 bits tell stumps apart but for a chance of 2⁻⁸⁶ a pair.

    Returns
    -------
    ndarray of int64
        Twice the number of the cut (in ``cuts.thresholds``) and q_def, ascending.
    """
    cuts = bins.cuts
    feature = np.repeat(np.arange(cuts.n_features), np.diff(cuts.offsets))
    marks = np.empty((2, 2 * len(feature)), np.int64)
    rng = np.random.default_rng(0)
    for mark in marks:
        quantity = np.zeros(bins.n_rows)
        quantity[graph.rows] = _zero_sums(rng, graph) / SCALE
        sums = sums_above(bins, quantity, n_threads)
        mark[0::2], mark[1::2] = sums.above, sums.above + sums.missing[feature]
    marks *= np.where((marks[0] < 0) | (marks[0] == 0) & (marks[1] < 0), -1, 1)
    usable = np.arange(len(feature)) - cuts.offsets[feature] >= cuts.first[feature]
    some = cuts.has_missing[feature]
    allowed = np.stack([usable & (~some | (0 in abstains)), usable & some & (1 in abstains)], axis=1).ravel()
    codes = np.flatnonzero(allowed & marks.any(axis=0))
    _, first = np.unique(marks[:, codes], axis=1, return_index=True)
    return np.sort(codes[first]).astype(np.int64)


def _zero_sums(rng: np.random.Generator, graph: PairGraph) -> Array:
    """Return a whole random number for each paired row; those of a component sum to zero.

    Differences between neighbours on a ring: a stump's sum of them adds a number wherever the stump changes along the
    ring, and so is zero, but for chance, only for one that does not change at all.
    """
    sequence = np.argsort(graph.component, kind="stable")
    numbers = rng.integers(0, 2**HASH_BITS, len(sequence)).astype(np.float64)
    following = np.append(numbers[1:], 0.0)
    last = np.cumsum(graph.sizes) - 1
    following[last] = numbers[np.append(0, last[:-1] + 1)]
    out = np.empty_like(numbers)
    out[sequence] = numbers - following
    return out


def _found(stump: Stump, values: Array, potentials: Array) -> WeakResult:
    """Return a stump with its values on the training rows, and r."""
    return WeakResult(stump, values, float(np.sum(values * potentials)))
