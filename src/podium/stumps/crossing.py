"""W₋ and W₊ of every stump of every feature, exactly and in linear time: what the z criterion needs.

"RB" is Freund, Iyer, Schapire and Singer (2003), section 3.2: W₋ is the weight of the pairs that a {0,
1}-valued ranking orders rightly, W₊ of those it orders wrongly. Let S be the rows with value 0. The pairs
whose better row is in S weigh Σ_S Σ_x' D(x', x), a sum of row quantities; those of them whose worse row is in
S too are not wrongly ordered but tied. So with the weight I(S) of the pairs inside S

    W₊ = Σ_S (mass as better member) - I(S),    W₋ = Σ_S (mass as worse member) - I(S),

and only I(S) asks for pairs. A pair is inside the rows up to a code if its larger code is not above it, so
one pass that adds each pair at its larger code gives I for every threshold. RB pays O(pairs) for each
threshold.
"""

from __future__ import annotations

import numpy as np

from podium._compiled import SCORE, compiled, even_ranges, run_threads
from podium._exchange import ALONE, Exchange
from podium._validation import Array
from podium.binning import BLOCK, Bins, BlockBins, ColumnBins
from podium.pairs import Distribution, GradedPart, PairsPart
from podium.stumps.block_walk import BlockWalk
from podium.stumps.column_walk import ColumnWalk
from podium.stumps.cut_sums import SCALE, Sums, half_blocks, sums_above, to_multiples


class CrossingWeights:
    """Computes W₋ and W₊ of all stumps on the same bins, for one distribution after the other.

    Parameters
    ----------
    bins : BlockBins or ColumnBins
    n_threads : int
        Threads share out features; their number changes no bit.
    exchange : Exchange
        With the parts that have other queries.

    Attributes
    ----------
    better, worse : Sums
        Of the weight of each row as better and as worse member of pairs, for the last distribution.
    """

    better: Sums
    worse: Sums

    def __init__(self, bins: Bins, n_threads: int = 1, exchange: Exchange = ALONE) -> None:
        self.bins, self.n_threads, self.exchange = bins, n_threads, exchange
        self._walks: dict[int, BlockWalk | ColumnWalk | BlockPairs | ColumnPairs] = {}

    def __call__(self, distribution: Distribution) -> tuple[Array, Array]:
        """Return W₋ and W₊ at every cut of every feature, for q_def = 0 (row 0) and 1 (row 1)."""
        self.better, self.worse = (
            sums_above(self.bins, mass, self.n_threads, self.exchange) for mass in distribution.masses()
        )
        blocks = isinstance(self.bins, BlockBins)
        n_features, n_cuts = self.bins.cuts.n_features, len(self.bins.cuts.thresholds)
        shape = (-(-n_features // 8), 2, 8, 256) if blocks else (2, n_cuts)
        inside = np.zeros(shape, np.int64)
        for part in distribution.parts:
            self._walk(part).add(distribution.log_total, inside)
        inside = self.exchange.sum(inside)
        minus, plus = (np.empty((2, n_cuts), SCORE) for _ in range(2))
        fill = _block_weights if blocks else _column_weights
        fill(self.bins.cuts.offsets, *self.better, *self.worse, inside, minus, plus)
        return minus, plus

    def _walk(self, part: GradedPart | PairsPart) -> BlockWalk | ColumnWalk | BlockPairs | ColumnPairs:
        """Return what is prepared once for each part of the feedback."""
        if id(part) not in self._walks:
            self._walks[id(part)] = WALKS[type(self.bins), type(part)](self.bins, part, self.n_threads)
        return self._walks[id(part)]


class BlockPairs:
    """Weight of the explicit pairs among the rows up to each code, for binned features: O(pairs) a feature."""

    def __init__(self, bins: BlockBins, part: PairsPart, n_threads: int = 1) -> None:
        self.bins, self.part, self.n_threads = bins, part, n_threads

    def add(self, log_total: float, inside_out: Array) -> None:
        """Add the pairs as `BlockWalk.add` does."""
        order, words = self.part.order, half_blocks(self.bins)
        weight = to_multiples(self.part.pair_weights() * self.part.scale(log_total))
        pairs = order.better, order.start, order.worse, weight
        calls = [
            (words[f // BLOCK], f % BLOCK // 8, *pairs, inside_out[f // 8])
            for f in range(0, self.bins.cuts.n_features, 8)
        ]
        run_threads(_add_block_pairs, calls, self.n_threads)


class ColumnPairs:
    """Weight of the explicit pairs among ranked rows, for sorted columns: O(pairs whose better row is ranked)."""

    def __init__(self, bins: ColumnBins, part: PairsPart, n_threads: int = 1) -> None:
        self.bins, self.part, self.n_threads = bins, part, n_threads
        counts = np.zeros(bins.n_rows + 1, np.int64)
        counts[part.order.better + 1] = np.diff(part.order.start)
        self.start = np.cumsum(counts)

    def add(self, log_total: float, inside_out: Array) -> None:
        """Add the pairs as `ColumnWalk.add` does."""
        bins = self.bins
        weight = to_multiples(self.part.pair_weights() * self.part.scale(log_total))
        pairs = (self.start, self.part.order.worse, weight, bins.n_rows, bins.cuts.offsets, inside_out)
        runs = even_ranges(bins.cuts.n_features, 4 * self.n_threads)
        calls = [(bins.rows, bins.codes, bins.starts, *pairs, *run) for run in runs]
        run_threads(_add_column_pairs, calls, self.n_threads)


WALKS: dict[tuple[type, type], type] = {
    (BlockBins, GradedPart): BlockWalk,
    (BlockBins, PairsPart): BlockPairs,
    (ColumnBins, GradedPart): ColumnWalk,
    (ColumnBins, PairsPart): ColumnPairs,
}


@compiled
def _add_block_pairs(
    words: Array, half: int, better: Array, start: Array, worse: Array, weight: Array, inside_out: Array
) -> None:
    """Do ``inside[both ranked, f, max(code of better, code of worse)] += weight`` for eight features."""
    byte = np.uint64(255)
    for b in range(len(better)):
        own = words[better[b], half]
        for p in range(start[b], start[b + 1]):
            other = words[worse[p], half]
            for j in range(8):
                code = (own >> np.uint64(8 * j)) & byte
                partner = (other >> np.uint64(8 * j)) & byte
                ranked = 1 if min(code, partner) > 0 else 0
                inside_out[ranked, j, max(code, partner)] += weight[p]


@compiled
def _add_column_pairs(
    rows: Array,
    codes: Array,
    starts: Array,
    start: Array,
    worse: Array,
    weight: Array,
    n_rows: int,
    offsets: Array,
    inside_out: Array,
    first: int,
    last: int,
) -> None:
    """Add each pair of ranked rows at its smaller code (row 0) and its larger one (row 1)."""
    code_of = np.zeros(n_rows, np.int64)
    for f in range(first, last):
        for k in range(starts[f], starts[f + 1]):
            code_of[rows[k]] = codes[k]
        for k in range(starts[f], starts[f + 1]):
            for p in range(start[rows[k]], start[rows[k] + 1]):
                partner = code_of[worse[p]]
                if partner > 0:
                    inside_out[0, offsets[f] + min(partner, codes[k])] += weight[p]
                    inside_out[1, offsets[f] + max(partner, codes[k])] += weight[p]
        for k in range(starts[f], starts[f + 1]):
            code_of[rows[k]] = 0


@compiled
def _block_weights(
    offsets: Array,
    better_above: Array,
    better_missing: Array,
    better_all: int,
    worse_above: Array,
    worse_missing: Array,
    worse_all: int,
    inside: Array,
    minus_out: Array,
    plus_out: Array,
) -> None:
    """Write W₋ and W₊ from the masses and the pairs of the rows with value 0, which lie up to a code."""
    for f in range(len(offsets) - 1):
        tied_0 = tied_1 = np.int64(0)
        for cut in range(offsets[f + 1] - offsets[f]):
            place = offsets[f] + cut
            tied_1 += inside[f // 8, 1, f % 8, cut]
            tied_0 += inside[f // 8, 1, f % 8, cut] + inside[f // 8, 0, f % 8, cut]
            as_better, as_worse = better_all - better_above[place], worse_all - worse_above[place]
            plus_out[0, place] = max(as_better - tied_0, 0) / SCALE
            minus_out[0, place] = max(as_worse - tied_0, 0) / SCALE
            plus_out[1, place] = max(as_better - better_missing[f] - tied_1, 0) / SCALE
            minus_out[1, place] = max(as_worse - worse_missing[f] - tied_1, 0) / SCALE


@compiled
def _column_weights(
    offsets: Array,
    better_above: Array,
    better_missing: Array,
    better_all: int,
    worse_above: Array,
    worse_missing: Array,
    worse_all: int,
    inside: Array,
    minus_out: Array,
    plus_out: Array,
) -> None:
    """Write W₋ and W₊: for q_def = 1 as for blocks, for q_def = 0 from the rows with value 1 the same way round."""
    for f in range(len(offsets) - 1):
        tied = np.int64(0)
        for place in range(offsets[f], offsets[f + 1]):
            tied += inside[1, place]
            as_better = better_all - better_missing[f] - better_above[place]
            as_worse = worse_all - worse_missing[f] - worse_above[place]
            plus_out[1, place] = max(as_better - tied, 0) / SCALE
            minus_out[1, place] = max(as_worse - tied, 0) / SCALE
        tied = np.int64(0)
        for place in range(offsets[f + 1] - 1, offsets[f] - 1, -1):
            minus_out[0, place] = max(better_above[place] - tied, 0) / SCALE
            plus_out[0, place] = max(worse_above[place] - tied, 0) / SCALE
            tied += inside[0, place]
