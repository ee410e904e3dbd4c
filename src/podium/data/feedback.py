"""The feedback Φ: what should stand above what, and how much it matters.

Freund, Iyer, Schapire and Singer (2003), section 2: Φ(x₀, x₁) > 0 says that x₁ should stand above x₀ and how
important that is. Labels within queries and explicit pairs are two ways to say it; several feedbacks add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from podium._compiled import ROW, SCORE
from podium._exchange import ALONE, Exchange
from podium._validation import Array, NoPairsError, PodiumError, check_choice
from podium.data.ranking_data import RankingData, weights_of_rows

PAIR_WEIGHTS = ("pairs", "queries", "differences")
"""What a pair of labels may weigh."""
CONTRADICTIONS = ("keep", "net")
ROUNDING = 1e-12
"""Contradictory weights that differ by no more than this part of their sum cancel out."""


@dataclass(frozen=True, eq=False)
class Graded:
    """Labels within queries: a row should stand above each row of its query that has a lower label.

    The pair (low, high) of query q weighs ``query_weight[q] * row_weight[low] * row_weight[high]``, so a row
    of weight 2 counts as the row given twice. With `by_difference` it weighs ``labels[high] - labels[low]`` times
    that. No list of pairs is ever made: every count is O(n log n).

    Parameters
    ----------
    labels : ndarray of float64, one per row
        Any real numbers: two grades, many, or a continuous amount. Rows of a query stand together.
    offsets : ndarray of int64, one per query and one more
        Query q has the rows ``offsets[q]`` up to, not including, ``offsets[q + 1]``.
    row_weight : ndarray of float64, one per row
    query_weight : ndarray of float64, one per query
    by_difference : bool
        Whether the difference of its labels is a factor of a pair's weight.
    """

    labels: Array
    offsets: Array
    row_weight: Array
    query_weight: Array
    by_difference: bool = False

    @cached_property
    def pairs_per_query(self) -> Array:
        """Effective pairs of each query: pairs of rows whose labels differ and whose weights count."""
        counted = np.where(self.row_weight > 0, 1.0, 0.0)
        pairs = np.rint(_different_pairs(self.labels, self.offsets, counted)).astype(ROW)
        return np.where(self.query_weight > 0, pairs, 0)

    @property
    def n_pairs(self) -> int:
        """Number of effective pairs over all queries."""
        return int(self.pairs_per_query.sum())

    @property
    def weights(self) -> Array:
        """What each row weighs in all, as `RankingData.weights` has it."""
        return weights_of_rows(self.row_weight, self.query_weight, self.offsets)

    def _pair_sums(self, row_weight: Array) -> Array:
        """Sum the weights of the pairs of each query, its own weight left out."""
        return (_label_differences if self.by_difference else _different_pairs)(self.labels, self.offsets, row_weight)

    def with_equal_queries(self) -> Graded:
        """Give each query that has pairs a total weight of its own query weight, however long it is."""
        # Relative to the query's heaviest row, so that no square of a weight leaves the range of floats.
        heaviest = np.maximum.reduceat(self.row_weight, self.offsets[:-1])
        relative = self.row_weight / np.repeat(np.where(heaviest > 0, heaviest, 1.0), np.diff(self.offsets))
        raw = self._pair_sums(relative)
        equal = np.divide(self.query_weight, raw, out=np.zeros_like(raw), where=raw > 0)
        return replace(self, row_weight=relative, query_weight=equal)

    @property
    def parts(self) -> tuple[Graded]:
        """The one part that this feedback is, as `FeedbackSum` has several."""
        return (self,)

    def __add__(self, other: Feedback) -> FeedbackSum:
        return FeedbackSum(self.parts + other.parts)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Explicit pairs: row ``better[i]`` should stand above row ``worse[i]``, with importance ``weight[i]``.

    Pairs may repeat (their weights add up), contradict each other and join rows of different queries.
    """

    better: Array
    worse: Array
    weight: Array

    @property
    def n_pairs(self) -> int:
        """Number of pairs, repeats included."""
        return len(self.better)

    def netted(self) -> Pairs:
        """Give each two rows one pair at most: max(Φ(x₀, x₁) - Φ(x₁, x₀), 0), RB's anti-symmetric Φ."""
        first, second = np.minimum(self.better, self.worse), np.maximum(self.better, self.worse)
        order = np.lexsort((self.weight, self.better, second, first))
        first, second, upward = first[order], second[order], (self.better == np.minimum(self.better, self.worse))[order]
        starts = np.ones(len(order), bool)
        starts[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
        run = np.flatnonzero(starts)
        with np.errstate(over="ignore"):
            weights = np.where([upward, ~upward], self.weight[order], 0.0)
            for_first, for_second = np.add.reduceat(weights, run, axis=1)
        if not np.isfinite([for_first, for_second]).all():
            raise PodiumError("Pairs can be netted only if the weights of the same pair have a finite sum; scale them.")
        net = for_first - for_second
        left = np.abs(net) > ROUNDING * np.maximum(for_first, for_second)
        better, worse = np.where(net > 0, first[run], second[run]), np.where(net > 0, second[run], first[run])
        return Pairs(better[left], worse[left], np.abs(net[left]))

    @property
    def parts(self) -> tuple[Pairs]:
        """The one part that this feedback is, as `FeedbackSum` has several."""
        return (self,)

    def __add__(self, other: Feedback) -> FeedbackSum:
        return FeedbackSum(self.parts + other.parts)


@dataclass(frozen=True, eq=False)
class FeedbackSum:
    """The sum of several feedbacks on the same rows: Φ = Σ Φ_j."""

    parts: tuple[Graded | Pairs, ...]

    @property
    def n_pairs(self) -> int:
        """Number of pairs of all parts; a pair named by two parts counts twice."""
        return sum(part.n_pairs for part in self.parts)

    def __add__(self, other: Feedback) -> FeedbackSum:
        return FeedbackSum(self.parts + other.parts)

    def __iter__(self) -> Iterator[Graded | Pairs]:
        return iter(self.parts)


Feedback = Graded | Pairs | FeedbackSum


def feedback_of(
    data: RankingData, pair_weight: str = "pairs", contradictions: str = "keep", exchange: Exchange = ALONE
) -> Feedback:
    """Return the feedback that labels and explicit pairs of `data` give together.

    Parameters
    ----------
    data : RankingData
    pair_weight : {"pairs", "queries", "differences"}
        Whether all label pairs weigh alike; or all queries do, so that a query of a thousand rows does not outweigh a
        hundred queries of ten; or a pair weighs the difference of its labels, |y_i - y_j|, so that grades far apart,
        or amounts, matter more than near ones. Explicit pairs keep their own weights.
    contradictions : {"keep", "net"}
        Whether explicit pairs that contradict each other all count, as footnote 1 of the RankBoost paper allows; or
        are netted, so that Φ is anti-symmetric as its section 2 has it: of two rows, one stands above the other with
        the difference of the weights. Pairs that contradict labels cannot be netted, and are then refused.
    exchange : Exchange
        With the parts that have other queries: it is enough that one of them has a pair.

    Raises
    ------
    NoPairsError
        Nothing is said to stand above anything else; the message says why.
    """
    check_choice(pair_weight, PAIR_WEIGHTS, "pair_weight")
    parts: list[Graded | Pairs] = []
    if data.labels is not None:
        offsets = data.queries.offsets
        by_difference = pair_weight == "differences"
        graded = Graded(data.labels, offsets, data.row_weight, data.query_weight, by_difference)
        if exchange.count(graded.n_pairs):
            parts.append(graded.with_equal_queries() if pair_weight == "queries" else graded)
    if data.pairs is not None:
        pairs = Pairs(*data.pairs)
        if check_choice(contradictions, CONTRADICTIONS, "contradictions") == "net":
            pairs = pairs.netted()
            _refuse_contradicted_labels(data, pairs)
        if exchange.count(pairs.n_pairs):
            parts.append(pairs)
    if not parts:
        raise NoPairsError(why_no_pairs(data))
    return parts[0] if len(parts) == 1 else FeedbackSum(tuple(parts))


def _refuse_contradicted_labels(data: RankingData, pairs: Pairs) -> None:
    """Refuse pairs that say the opposite of labels: these have no list from which something could be subtracted."""
    if data.labels is None:
        return
    query = np.repeat(np.arange(len(data.query_weight)), data.queries.sizes)
    counted = (data.row_weight > 0) & (data.query_weight[query] > 0)
    better, worse = pairs.better, pairs.worse
    opposed = (query[better] == query[worse]) & (data.labels[better] < data.labels[worse])
    bad = np.flatnonzero(opposed & counted[better] & counted[worse])
    if len(bad):
        high, low = (int(data.queries.rows[side[bad[0]]]) for side in (better, worse))
        raise PodiumError(
            f'contradictions="net" nets pairs with pairs, not with labels; {len(bad)} pair(s) contradict labels, as '
            f"that of row {high} above row {low} does: leave them out, or give all feedback as pairs."
        )


def why_no_pairs(data: RankingData) -> str:
    """Return the reason why nothing in `data` puts a row above another, as a sentence with advice."""
    sizes = np.diff(data.queries.offsets)
    if data.pairs is not None:
        return (
            "There is nothing to rank: all pairs contradict each other, and no weight is left of them; "
            'consider contradictions="keep".'
        )
    if data.labels is None:
        return (
            "A ranker requires y to be passed, but the target y is None and there are no pairs: "
            "give labels y, pairs, or both."
        )
    if len(data.labels) == 1:
        return "There is nothing to rank: there is 1 sample."
    if np.all(sizes == 1):
        return (
            f"There is nothing to rank: each of the {len(sizes)} queries has one row; "
            "qid must be the same for all rows that compete with each other."
        )
    if _different_pairs(data.labels, data.queries.offsets, np.ones(len(data.labels))).sum() > 0:
        return "There is nothing to rank: every pair of rows with different labels has weight zero."
    place = "all rows have" if len(sizes) == 1 else f"in each of the {len(sizes)} queries all rows have"
    return f"There is nothing to rank: {place} the same label."


@dataclass(frozen=True)
class FeedbackSummary:
    """What there is to learn from: counts to read before a fit.

    Attributes
    ----------
    n_rows, n_queries : int
    candidate_pairs : int
        Pairs of rows within queries.
    label_pairs : int
        Those of them with different labels: the effective pairs.
    explicit_pairs : int
    silent_queries : int
        Queries with nothing to learn: one row, or one label for all rows.
    n_labels : int
        Number of distinct labels.
    """

    n_rows: int
    n_queries: int
    candidate_pairs: int
    label_pairs: int
    explicit_pairs: int
    silent_queries: int
    n_labels: int


def summarize(data: RankingData) -> FeedbackSummary:
    """Count pairs, effective pairs and queries with nothing to learn, in O(n log n)."""
    offsets = data.queries.offsets
    sizes = np.diff(offsets)
    labels = np.zeros(len(data.queries.rows), SCORE) if data.labels is None else data.labels
    per_query = Graded(labels, offsets, data.row_weight, data.query_weight).pairs_per_query
    return FeedbackSummary(
        n_rows=len(labels),
        n_queries=len(sizes),
        candidate_pairs=int((sizes * (sizes - 1) // 2).sum()),
        label_pairs=int(per_query.sum()),
        explicit_pairs=0 if data.pairs is None else len(data.pairs.better),
        silent_queries=int((per_query == 0).sum()),
        n_labels=0 if data.labels is None else len(np.unique(labels)),
    )


def _different_pairs(labels: Array, offsets: Array, weight: Array) -> Array:
    """Sum ``weight[i] * weight[j]`` over the pairs of each query whose labels differ.

    All pairs less the pairs within a level: ((Σ w)² − Σ_levels (Σ_level w)²) / 2.
    """
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((labels, query))
    query, labels, weight = query[order], labels[order], weight[order]
    starts = np.ones(len(labels), bool)
    starts[1:] = (query[1:] != query[:-1]) | (labels[1:] != labels[:-1])
    first = np.flatnonzero(starts)
    level = np.add.reduceat(weight, first)
    before = np.add.reduceat(weight, offsets[:-1])
    same = np.bincount(query[first], level * level, minlength=len(offsets) - 1)
    return np.maximum(before * before - same, 0.0) / 2


def _label_differences(labels: Array, offsets: Array, weight: Array) -> Array:
    """Sum ``weight[i] * weight[j] * abs(labels[i] - labels[j])`` over the pairs of each query.

    A difference is the sum of the gaps between neighbouring labels that it spans, so that each gap counts once for
    every pair across it: Σ gap * (Σ weights up to it) * (Σ weights from it on), a sum of positive numbers.
    """
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((labels, query))
    sums = np.zeros(len(offsets) - 1, SCORE)
    for q in range(len(sums)):
        own = order[offsets[q] : offsets[q + 1]]
        below, above = np.cumsum(weight[own])[:-1], np.cumsum(weight[own][::-1])[-2::-1]
        sums[q] = np.sum(np.diff(labels[own]) * below * above)
    return sums
