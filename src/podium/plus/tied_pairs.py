"""The pair distribution of RankBoost+, in which a tie costs cosh(η): O(m) a round for m pairs.

"RB+" is Connamacher, Pancha, Liu and Ray (2019), "RankBoost+: an improvement to RankBoost". Its loss of a pair is a
product over the rankers of exp(-η) where the ranker f orders the pair rightly, exp(η) where it reverses it and
cosh(η) where it ties it (Eq. 23). The first two are differences of scores, as in RankBoost; only the third asks which
rankers tie which pair. Eight rankers at a time are the bits of one byte a row: the rankers that tie a pair are the
zeros of the exclusive or of its rows' bytes, so that one pass over the pairs serves eight of them.

Pairs lighter than `FLOOR` of the whole, far below rounding, are held there, and so are never lost to underflow.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import SCORE, compiled, run_threads
from podium._validation import Array
from podium.pairs import PairOrder

RANKERS_PER_GROUP = 8
"""Rankers in a group: the bits of a byte, whose 256 patterns make a histogram that stays in the first-level cache."""
FLOOR = 1e-290
"""Least share of a pair; slower denormal numbers are kept away as well."""
ROUNDING = 1e-12
"""A sum of all shares this near to 1 is 1 but for rounding: Z_t is then what it was expected to be."""


class TieWeights:
    """The weight of every pair, moved on by products of factors.

    Parameters
    ----------
    order : PairOrder
        The pairs; their weights are D₁.
    n_rows : int
    n_threads : int
        Changes no bit.

    Attributes
    ----------
    shares : ndarray of float64
        Weight of each pair in the order of `order`; divided by `total` it is D_t.
    total : float
        Their sum, near 1.
    better, worse : ndarray of float64
        Sum of the shares of the pairs in which each row is the better, or the worse, member.
    """

    def __init__(self, order: PairOrder, n_rows: int, n_threads: int = 1) -> None:
        self.order, self.n_rows, self.n_threads = order, n_rows, n_threads
        self.shares = order.weight / order.weight.sum()
        self._chunks = order.chunks()
        self.total, self.better, self.worse = 1.0, np.zeros(n_rows, SCORE), np.zeros(n_rows, SCORE)
        self.move(np.zeros(n_rows, np.bool_), 0.0, np.zeros((0, n_rows), np.uint8), np.ones((0, 256), SCORE), 1.0)

    def move(self, above: Array, alpha: float, patterns: Array, tables: Array, expected: float) -> tuple[float, float]:
        """Multiply each pair by exp(α (h(worse) - h(better))) and by the factor of its ties.

        Parameters
        ----------
        above : ndarray of bool
            Rows where h is 1.
        alpha : float
        patterns : ndarray of uint8, shape (n_groups, n_rows)
            Bits of the rankers whose ties change.
        tables : ndarray of float64, shape (n_groups, 256)
            Factor of a pair by the exclusive or of its rows' patterns.
        expected : float
            What Z_t is if α is the best weight; otherwise only the size of the shares depends on it.

        Returns
        -------
        Z : float
            The normaliser Z_t: sum of the new weights, that of the old ones being 1.
        change : float
            A bound on ½ Σ |D_{t+1} - D_t|, by which no share of any set of pairs has changed more.
        """
        for pattern, table in zip(patterns[1:], tables[1:], strict=True):
            _scale_ties(*self._pairs, pattern, table, self.shares)
        pattern = patterns[0] if len(patterns) else np.zeros(self.n_rows, np.uint8)
        table = tables[0] if len(tables) else np.ones(256)
        scale = 1.0 / (self.total * expected)
        rise, fall = np.where(above, np.exp(alpha), 1.0), np.where(above, np.exp(-alpha) * scale, scale)
        chunks = self._chunks
        worse, sums = np.zeros((len(chunks), self.n_rows), SCORE), np.zeros((len(chunks), 2), SCORE)
        moved = (pattern, table, rise, fall, 1.0 / self.total, self.shares, self.better)
        calls = [(*self._pairs, *moved, worse[c], sums[c], *chunk) for c, chunk in enumerate(chunks)]
        run_threads(_move, calls, self.n_threads)
        self.worse = worse.sum(axis=0)
        self.total, change = sums.sum(axis=0).tolist()
        bound = np.inf if len(patterns) > 1 else 0.5 * (change + abs(self.total - 1.0))
        return expected if abs(self.total - 1.0) <= ROUNDING else self.total * expected, bound

    def potentials(self) -> Array:
        """Return π(x) = Σ D(x', x) - D(x, x') of each row (RB Eq. 10)."""
        return (self.better - self.worse) / self.total

    def tied(self, patterns: Array) -> Array:
        """Return ε⁰ (RB+ Eq. 8) of the rankers of each group, shape (n_groups, 8)."""
        tied = np.zeros((len(patterns), RANKERS_PER_GROUP), SCORE)
        calls = [(*self._pairs, pattern, self.shares, out) for pattern, out in zip(patterns, tied, strict=True)]
        run_threads(_tied_shares, calls, self.n_threads)
        return tied / self.total

    def moments(self, ranking: Array, alpha: float, patterns: Array, tables: Array) -> tuple[float, float, float]:
        """Return Σ D e^g, Σ D e^g g' and Σ D e^g (g'² + g'') for the exponent g of each pair as a function of α.

        A pair's g is α (h(worse) - h(better)) and what its ties add: ``tables[k, pattern]`` holds that of group k to g,
        to its derivative and to its second derivative.
        """
        sums = _moments(*self._pairs, self.shares, ranking, alpha, patterns, tables)
        total, first, second = (np.array(sums) / self.total).tolist()
        return total, first, second

    @property
    def _pairs(self) -> tuple[Array, Array, Array]:
        return self.order.better, self.order.start, self.order.worse


def pack_bits(values: Array) -> Array:
    """Return {0, 1}-valued rankings, one a row of `values`, as bits: shape (n_groups, n_rows), uint8."""
    n_groups = -(-len(values) // RANKERS_PER_GROUP)
    padded = np.zeros((n_groups * RANKERS_PER_GROUP, values.shape[1]), np.uint8)
    padded[: len(values)] = values
    bits = np.uint8(1) << np.arange(RANKERS_PER_GROUP, dtype=np.uint8)
    by_group = padded.reshape(n_groups, RANKERS_PER_GROUP, values.shape[1])
    patterns: Array = (by_group * bits[:, None]).sum(axis=1, dtype=np.uint8)
    return patterns


def tie_tables(of_tie: Array) -> Array:
    """Return, for every pattern of a group, the sum over its zero bits of what each ranker adds when it ties.

    Parameters
    ----------
    of_tie : ndarray of float64, shape (n_rankers, ...)

    Returns
    -------
    ndarray of float64, shape (n_groups, 256, ...)
    """
    n_groups = -(-len(of_tie) // RANKERS_PER_GROUP)
    padded = np.zeros((n_groups * RANKERS_PER_GROUP, *of_tie.shape[1:]), SCORE)
    padded[: len(of_tie)] = of_tie
    zero = (np.arange(256)[:, None] >> np.arange(RANKERS_PER_GROUP)) & 1 == 0
    by_group = padded.reshape(n_groups, RANKERS_PER_GROUP, *of_tie.shape[1:])
    tables: Array = np.einsum("pb,gb...->gp...", zero.astype(SCORE), by_group)
    return tables


@compiled
def _scale_ties(better: Array, start: Array, worse: Array, pattern: Array, table: Array, shares_out: Array) -> None:
    """Do ``shares *= table[pattern[better] ^ pattern[worse]]``."""
    for b in range(len(better)):
        own = pattern[better[b]]
        for p in range(start[b], start[b + 1]):
            shares_out[p] *= table[own ^ pattern[worse[p]]]


@compiled
def _move(
    better: Array,
    start: Array,
    worse: Array,
    pattern: Array,
    table: Array,
    rise: Array,
    fall: Array,
    scale: float,
    shares_out: Array,
    better_out: Array,
    worse_out: Array,
    sums_out: Array,
    first: int,
    last: int,
) -> None:
    """Do ``shares *= table[pattern[better] ^ pattern[worse]] * rise[worse] * fall[better]`` and sum what is new.

    Sums by better row, by worse row, in all, and the absolute difference to ``shares * scale``.
    """
    total = change = 0.0
    for b in range(first, last):
        own, factor = pattern[better[b]], fall[better[b]]
        mass = 0.0
        for p in range(start[b], start[b + 1]):
            w = worse[p]
            share = max(shares_out[p] * (table[own ^ pattern[w]] * (rise[w] * factor)), FLOOR)
            change += abs(share - shares_out[p] * scale)
            shares_out[p] = share
            mass += share
            worse_out[w] += share
        better_out[better[b]] = mass
        total += mass
    sums_out[0] = total
    sums_out[1] = change


@compiled
def _tied_shares(better: Array, start: Array, worse: Array, pattern: Array, shares: Array, tied_out: Array) -> None:
    """Sum the shares of the pairs that each of eight rankers ties.

    Slow line: ``tied[k] = shares[bit k of pattern[better] ^ pattern[worse] == 0].sum()``. Four histograms by turns
    keep one add from waiting for the store of the last.
    """
    sums = np.zeros((4, 256))
    for b in range(len(better)):
        own = pattern[better[b]]
        for p in range(start[b], start[b + 1]):
            sums[p & 3, own ^ pattern[worse[p]]] += shares[p]
    for code in range(256):
        share = sums[0, code] + sums[1, code] + sums[2, code] + sums[3, code]
        for k in range(RANKERS_PER_GROUP):
            if (code >> k) & 1 == 0:
                tied_out[k] += share


@compiled
def _moments(
    better: Array,
    start: Array,
    worse: Array,
    shares: Array,
    ranking: Array,
    alpha: float,
    patterns: Array,
    tables: Array,
) -> tuple[float, float, float]:
    """Sum e^g, e^g g' and e^g (g'² + g'') over the pairs, weighed by their shares."""
    total = first = second = 0.0
    for b in range(len(better)):
        row = better[b]
        for p in range(start[b], start[b + 1]):
            w = worse[p]
            slope = ranking[w] - ranking[row]
            g, curvature = alpha * slope, 0.0
            for k in range(len(patterns)):
                tie = tables[k, patterns[k, w] ^ patterns[k, row]]
                g += tie[0]
                slope += tie[1]
                curvature += tie[2]
            weight = shares[p] * np.exp(g)
            total += weight
            first += weight * slope
            second += weight * (slope * slope + curvature)
    return total, first, second
