"""The distribution of RankBoost+: D_t, and the weight η of every ranking of an independent set.

"RB+" is Connamacher, Pancha, Liu and Ray (2019), "RankBoost+: an improvement to RankBoost"; "RB" is Freund, Iyer,
Schapire and Singer (2003). The loss Ê2 (RB+ Eq. 24) counts the ties of each distinct ranking by its accumulated weight,
and is defined over linearly independent rankings only. A step along a ranking that depends on those is a step along
several of them at once (RB+ sections 4 and 5).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from podium._compiled import SCORE, compiled
from podium._validation import Array, PodiumError
from podium.pairs import Moments, PairOrder
from podium.plus.independence import IndependentSet, PairGraph
from podium.plus.tied_pairs import RANKERS_PER_GROUP, TieWeights, pack_bits, tie_tables

SLOPE_TIE = 1e-12
"""Slopes nearer than this count as equal, so that rounding does not decide between equally good rankings."""

LONGEST_STEP = 300.0
"""Longer steps are taken in halves, so that no factor overflows."""


class Place(NamedTuple):
    """Where a ranking stands towards the independent set.

    Attributes
    ----------
    members : ndarray of int64
        Members of which it is a combination on every pair; the number of the next one for a new member.
    beta : ndarray of float64
        Coefficient of each.
    is_member : bool
        Whether it is one of the members itself.
    is_new : bool
        Whether it is independent of the members, and so would be one of them.
    """

    members: Array
    beta: Array
    is_member: bool
    is_new: bool


class PlusDistribution:
    """D_t of RankBoost+ over an independent set that grows as steps ask for it.

    Any steps may be taken, those of RankBoost+ or of another boosting: `log_loss` is then ln Ê2 of their sum, as RB+
    section 5 measures it.

    Parameters
    ----------
    order : PairOrder
        The pairs, as `podium.plus.materialized_pairs.materialize_pairs` gives them.
    n_rows : int
    n_threads : int
        Changes no bit.

    Attributes
    ----------
    eta : ndarray of float64
        Accumulated weight of each member of the independent set.
    scores : ndarray of float64
        H(x) of each row: the sum of all steps.
    log_loss : float
        ln Ê2 = Σ ln Z_t (RB+ Eq. 29).
    """

    def __init__(self, order: PairOrder, n_rows: int, n_threads: int = 1) -> None:
        self.weights = TieWeights(order, n_rows, n_threads)
        self.graph = PairGraph.of(order, n_rows)
        self.independent = IndependentSet(self.graph)
        self.n_rows, self.n_threads, self.log_loss = n_rows, n_threads, 0.0
        self.scores = np.zeros(n_rows, SCORE)
        self.eta, self.patterns = np.zeros(0, SCORE), np.zeros((0, n_rows), np.uint8)
        self._tied, self._drift = np.zeros(0, SCORE), np.zeros(0, SCORE)
        self._numbers: dict[bytes, int] = {}
        self._last: tuple[bytes, tuple[Array, Array]] = (b"", (np.zeros(0), np.zeros(0)))

    def potentials(self) -> Array:
        """Return π(x) = Σ D(x', x) - D(x, x') of each row (RB Eq. 10); they sum to 0."""
        return self.weights.potentials()

    def ordered_by(self, values: Array) -> bool:
        """Return whether such values of the rows put every pair into its order, none tied."""
        return self.weights.order.ordered_by(values)

    def values(self, member: int) -> Array:
        """Return the values of a member on the rows."""
        group, bit = divmod(member, RANKERS_PER_GROUP)
        values: Array = (self.patterns[group] >> np.uint8(bit) & np.uint8(1)).astype(SCORE)
        return values

    def locate(self, values: Array) -> Place:
        """Say whether a {0, 1}-valued ranking is a member, a combination of members, or independent of them."""
        key = self._key(values)
        if key in self._numbers:
            return Place(np.array([self._numbers[key]]), np.ones(1), is_member=True, is_new=False)
        coefficients, left = self._split(key, values)
        if left.any():
            return Place(np.array([self.independent.size]), np.ones(1), is_member=False, is_new=True)
        beta = self.independent.solve(coefficients)
        members = np.flatnonzero(beta)
        return Place(members, beta[members], is_member=False, is_new=False)

    def edge(self, values: Array, r: float) -> float | None:
        """Return -δ of RB+ Eq. 33, the slope of -ln Ê2, for a member or a new ranking; None for a combination.

        Along these, the best weight is α = artanh(-δ) and gives Z = √(1 - δ²): RB+ Eq. 34 with ε⁺ + ε⁰ + ε⁻ = 1 and
        r = ε⁺ - ε⁻ put in, and Eq. 27 at that α.
        """
        place = self.locate(values)
        if place.is_new:
            return r
        if not place.is_member:
            return None
        member = int(place.members[0])
        self._evaluate([member // RANKERS_PER_GROUP])
        return float(r - self._tied[member] * np.tanh(self.eta[member]))

    def update(self, step: Array) -> float:
        """Add `step` = α h(x) to the scores, h being 0 or 1; move to D_{t+1} and return Z_t (RB+ Eq. 26)."""
        above = step != 0
        values, alpha = above.astype(SCORE), float(step[np.argmax(above)])
        if not np.array_equal(alpha * values, step):
            raise PodiumError("The loss of RankBoost+ is defined for weak rankings of values 0 and 1 only.")
        if abs(alpha) > LONGEST_STEP:
            return self.update(0.5 * step) * self.update(0.5 * step)
        self.scores += step
        place = self.locate(values)
        if alpha == 0.0 or not len(place.members):
            return 1.0
        if place.is_new:
            self._add(values)
        before = self.eta[place.members]
        after = before + alpha * place.beta
        patterns, tables = self._ties(above, place, _log_cosh(after) - _log_cosh(before))
        Z, change = self.weights.move(above, alpha, patterns, tables, float(1 / np.cosh(alpha)))
        self.eta[place.members] = after
        self._drift += change
        self.log_loss += float(np.log(Z))
        return Z

    def moments(self, values: Array, alpha: float) -> Moments:
        """Return ln Z(α), Z'(α) / Z(α) and Z''(α) / Z(α) of a step along a member or a combination of members."""
        place = self.locate(values)
        before = np.zeros(1) if place.is_new else self.eta[place.members]
        after = before + alpha * place.beta
        own = [values] if place.is_new else [self.values(s) for s in place.members]
        slope = np.tanh(after)
        of_tie = np.stack(
            [_log_cosh(after) - _log_cosh(before), place.beta * slope, place.beta**2 * (1 - slope**2)], axis=1
        )
        patterns = pack_bits(np.array(own).reshape(-1, self.n_rows))
        total, first, second = self.weights.moments(values, alpha, patterns, tie_tables(of_tie))
        return Moments(float(np.log(total)), first / total, second / total)

    def member_edges(self, potentials: Array) -> Array:
        """Return -δ of RB+ Eq. 33 of every member."""
        self._evaluate(range(len(self.patterns)))
        return self._sums(potentials) - self._tied * np.tanh(self.eta)

    def best_member(self, potentials: Array, least: float) -> tuple[int, float]:
        """Return the first member with the largest |δ|, and that; (-1, 0.0) where all are below `least` - `SLOPE_TIE`.

        Only r of a member is at hand; its ε⁰ asks for a pass over the pairs. But ε⁰ has changed since its last such
        pass by at most the distance that D has moved, and is at most 1 - |r|. So only the members that may be the best
        are passed over, eight at a time: the answer is the same as if all were.
        """
        if not len(self.eta):
            return -1, 0.0
        r, slope = self._sums(potentials), np.tanh(self.eta)
        while True:
            best, stale, member = _steepest(r, slope, self._tied, self._drift, least)
            if stale < 0:
                return int(member), float(best)
            self._evaluate([stale // RANKERS_PER_GROUP])

    def _ties(self, above: Array, place: Place, log_factors: Array) -> tuple[Array, Array]:
        """Return the patterns of the members that move, and the factors of their ties by pattern."""
        if len(place.members) > 1 or place.beta[0] != 1.0:
            patterns = pack_bits(np.array([self.values(s) for s in place.members]))
            return patterns, np.exp(tie_tables(log_factors))
        table = np.ones((1, 256), SCORE)
        table[0, 0] = np.exp(log_factors[0])
        return above.view(np.uint8)[None], table

    def _evaluate(self, groups: Iterable[int]) -> None:
        """Compute ε⁰ of the members of some groups where it is not known for the current D."""
        stale = [g for g in groups if self._drift[g * RANKERS_PER_GROUP : (g + 1) * RANKERS_PER_GROUP].any()]
        if not stale:
            return
        for g, tied in zip(stale, self.weights.tied(self.patterns[stale]), strict=True):
            own = slice(g * RANKERS_PER_GROUP, min((g + 1) * RANKERS_PER_GROUP, len(self.eta)))
            self._tied[own], self._drift[own] = tied[: own.stop - own.start], 0.0

    def _sums(self, quantity: Array) -> Array:
        """Return Σ quantity over the rows where each member is 1."""
        sums = np.zeros((len(self.patterns), RANKERS_PER_GROUP), SCORE)
        _pattern_sums(self.patterns, quantity, sums)
        return sums.ravel()[: len(self.eta)]

    def _add(self, values: Array) -> None:
        """Make a ranking the next member, with weight 0."""
        key, number = self._key(values), len(self.eta)
        self.independent.extend(*self._split(key, values))
        self._numbers[key] = number
        if number % RANKERS_PER_GROUP == 0:
            self.patterns = np.concatenate([self.patterns, np.zeros((1, self.n_rows), np.uint8)])
        self.patterns[-1] |= values.astype(np.uint8) << np.uint8(number % RANKERS_PER_GROUP)
        self.eta, self._tied = np.append(self.eta, 0.0), np.append(self._tied, 0.5)
        self._drift = np.append(self._drift, np.inf)
        self._last = (b"", (np.zeros(0), np.zeros(0)))

    def _key(self, values: Array) -> bytes:
        return np.packbits(values[self.graph.rows] > 0).tobytes()

    def _split(self, key: bytes, values: Array) -> tuple[Array, Array]:
        """Split a ranking by the basis, once if it is asked for several times running."""
        if self._last[0] != key:
            self._last = (key, self.independent.split(values))
        return self._last[1]


def _log_cosh(x: Array) -> Array:
    """Return ln cosh x without overflow."""
    values: Array = np.abs(x) + np.log1p(np.exp(-2.0 * np.abs(x))) - np.log(2.0)
    return values


@compiled
def _steepest(r: Array, slope: Array, tied: Array, drift: Array, least: float) -> tuple[float, int, int]:
    """Return the largest |δ|, a member whose ε⁰ must be known to be sure of it or -1, and the first member that has it.

    A member's |δ| = |r - ε⁰ tanh η| is largest at an end of what ε⁰ may be. The size is 0, and the member -1, where no
    member comes up to `least`.
    """
    best, stale, worth = least, -1, 0.0
    for s in range(len(r)):
        if drift[s] == 0.0:
            best = max(best, abs(r[s] - tied[s] * slope[s]))
    for s in range(len(r)):
        room = max(1.0 - abs(r[s]), 0.0)
        low, high = min(max(tied[s] - drift[s], 0.0), room), min(tied[s] + drift[s], room)
        bound = max(abs(r[s] - low * slope[s]), abs(r[s] - high * slope[s]))
        if drift[s] > 0.0 and bound >= best - 2.0 * SLOPE_TIE and bound > worth:
            stale, worth = s, bound
    for s in range(len(r)):
        size = abs(r[s] - tied[s] * slope[s])
        if drift[s] == 0.0 and size >= best - SLOPE_TIE:
            return size, stale, s
    return 0.0, stale, -1


@compiled
def _pattern_sums(patterns: Array, quantity: Array, sums_out: Array) -> None:
    """Do ``sums[g, k] = quantity[bit k of patterns[g] == 1].sum()``."""
    for g in range(len(patterns)):
        sums = np.zeros(256)
        for i in range(len(quantity)):
            sums[patterns[g, i]] += quantity[i]
        for code in range(256):
            for k in range(8):
                if (code >> k) & 1 == 1:
                    sums_out[g, k] += sums[code]
