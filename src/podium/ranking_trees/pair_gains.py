"""What putting a row on top of its cell gains: potentials of rows, from which every split of a ranking tree follows.

All rows of a cell C are tied. A split puts C' ⊂ C above the rest, and of the pairs of C those within C' and within the
rest stay tied. With c(i, j) the weight of the pair of i above j, and c(j, i) = -c(i, j) for the other order, the gain
of concordance is ``Σ_{i ∈ C'} π_i`` with the potential ``π_i = Σ_{j ∈ C} c(i, j)``: pairs within C' cancel. So the best
split is a problem of cost-sensitive classification: rows of class sign(π_i) and cost |π_i|. For two grades in one query
π_i is the weight of the other grade in the cell, which is how TreeRank weighs the two classes.

Pairs are those of different labels within a query. Three weights of a pair of labels y > y' are at hand, each of the
form ``above(y) - below(y')``:

- "pairs": 1, whose concordance is the AUC for two grades and (τ + 1)/2 for labels without ties;
- "iauc": the mean of AUC_y over the observed y, that is Σ of w(y'') over the labels y'' strictly between, where
  w = (weight at y'')/(weight above × weight below), and each query counts as much as its rows between;
- "triples": the weight of the rows strictly between, whose concordance is the chance that s(X) < s(X'') given
  Y < Y' < Y''. It is another number than "iauc", which weighs the extreme y as much as those in the middle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from podium._compiled import SCORE, compiled
from podium._types import Features
from podium._validation import Array
from podium.binning import BlockBins, as_blocks, bin_features
from podium.data import RankingData, hash_features

MEASURES = ("pairs", "iauc", "triples")
"""Weights of a pair of labels."""


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Training rows sorted by query and label, and what their pairs weigh.

    Attributes
    ----------
    bins : BlockBins
        Codes of the features.
    query : ndarray of int64
    labels : ndarray of float64
        Ascending within a query.
    weight : ndarray of float64
        Of the row; a pair weighs the product of its rows' weights.
    stake : ndarray of float64
        Weight of the row's query, once for each pair.
    above, below : ndarray of float64
        The weight of a pair of labels is `above` of the higher row minus `below` of the lower one.
    key : ndarray of uint64
        Equal for rows that must stay together where rows are parted for cross-validation.
    """

    bins: BlockBins
    query: Array
    labels: Array
    weight: Array
    stake: Array
    above: Array
    below: Array
    key: Array

    @classmethod
    def of(cls, data: RankingData, labels: Array, max_bins: int, n_threads: int = 1) -> RankedRows:
        """Sort and bin checked data; all pairs weigh alike."""
        query = np.repeat(np.arange(len(data.queries)), data.queries.sizes)
        order = np.lexsort((labels, query))
        rows, weight, stake = data.queries.rows[order], data.row_weight[order], data.query_weight[query][order]
        bins = as_blocks(bin_features(data.features, rows, weight * stake, max_bins, n_threads))
        above, below = pair_weights("pairs", query, labels[order], weight)
        key = _groups(data.features, rows, query, data.queries.offsets)
        return cls(bins, query, labels[order], weight, stake, above, below, key)

    @property
    def mass(self) -> Array:
        """What each row weighs in all."""
        return self.weight * self.stake

    @property
    def codes(self) -> Array:
        """Codes of the features, in blocks."""
        return self.bins.codes

    def weighing(self, weight: Array) -> RankedRows:
        """Return the rows with other weights."""
        return replace(self, weight=weight)

    def measured_by(self, measure: str) -> RankedRows:
        """Return the rows with other weights of pairs."""
        above, below = pair_weights(measure, self.query, self.labels, self.weight)
        return replace(self, above=above, below=below)

    def potentials(self, rows: Array, reference: Array | None = None) -> Array:
        """Return π of some rows, ascending: what each gains above those of positive weight in `reference`.

        By default the reference is the weight of the rows themselves.
        """
        out = np.empty(len(rows), SCORE)
        given = self.weight if reference is None else reference
        _fill_potentials(rows, self.query, self.labels, self.weight, given, self.stake, self.above, self.below, out)
        return out

    def median_potentials(self, rows: Array) -> Array:
        """Return π of some rows, ascending, for labels above and not above the median of their query's labels there."""
        out = np.empty(len(rows), SCORE)
        _fill_median_potentials(rows, self.query, self.labels, self.weight, self.stake, out)
        return out

    def total(self, rows: Array) -> float:
        """Return the weight of all pairs of some rows: the most that potentials can gain, twice."""
        out = np.empty(len(rows), SCORE)
        return float(
            _fill_potentials(
                rows, self.query, self.labels, self.weight, self.weight, self.stake, self.above, self.below, out
            )
        )


def _groups(features: Features, rows: Array, query: Array, offsets: Array) -> Array:
    """Return a hash of each row's features; with several queries the lowest of its query, which repeats leave alone."""
    keys = hash_features(features)[rows]
    if len(offsets) <= 2:
        return keys
    lowest: Array = np.minimum.reduceat(keys, offsets[:-1])[query]
    return lowest


def pair_weights(measure: str, query: Array, labels: Array, weight: Array) -> tuple[Array, Array]:
    """Return `above` and `below` of rows sorted by query and label."""
    if measure == "pairs":
        return np.ones(len(query), SCORE), np.zeros(len(query), SCORE)
    levels = np.cumsum((np.diff(query, prepend=query[0]) != 0) | (np.diff(labels, prepend=labels[0]) != 0))
    at = np.bincount(levels, weight)
    first = np.flatnonzero(np.diff(levels, prepend=-1))
    of_query = query[first]
    upto = _running(at, of_query)
    lower, all_rows = upto - at, np.bincount(of_query, at)[of_query]
    share = at if measure == "triples" else _shares(at, lower, all_rows - upto)
    running = _running(share, of_query)
    return (running - share)[levels], running[levels]


def _shares(at: Array, lower: Array, higher: Array) -> Array:
    """Return w of each level, 0 for one that has no rows on either side."""
    between = (lower > 0) & (higher > 0) & (at > 0)
    shares: Array = np.divide(at, lower * higher, out=np.zeros_like(at), where=between)
    return shares


def _running(values: Array, query: Array) -> Array:
    """Return sums of the values so far within each query."""
    sums = np.cumsum(values)
    starts = np.flatnonzero(np.diff(query, prepend=-1))
    before = np.concatenate([[0.0], sums])[starts]
    running: Array = sums - np.repeat(before, np.diff([*starts, len(query)]))
    return running


@compiled
def _fill_potentials(
    rows: Array,
    query: Array,
    labels: Array,
    weight: Array,
    reference: Array,
    stake: Array,
    above: Array,
    below: Array,
    out: Array,
) -> float:
    """Write π of each row and return the weight of all pairs.

    Slow line: ``out[i] = stake[i] * weight[i] * (sum(reference[j] * (above[i] - below[j]) for j lower than i)
    - sum(reference[j] * (above[j] - below[i]) for j higher than i))``, both of the same query.
    """
    total = 0.0
    start = 0
    while start < len(rows):
        stop = start
        while stop < len(rows) and query[rows[stop]] == query[rows[start]]:
            stop += 1
        lower = lower_below = 0.0
        first = start
        while first < stop:
            last = first
            while last < stop and labels[rows[last]] == labels[rows[first]]:
                out[last] = above[rows[last]] * lower - lower_below
                total += stake[rows[last]] * weight[rows[last]] * out[last]
                last += 1
            for i in range(first, last):
                lower += reference[rows[i]]
                lower_below += reference[rows[i]] * below[rows[i]]
            first = last
        higher = higher_above = 0.0
        last = stop
        while last > start:
            first = last
            while first > start and labels[rows[first - 1]] == labels[rows[last - 1]]:
                first -= 1
                out[first] -= higher_above - below[rows[first]] * higher
                out[first] *= stake[rows[first]] * weight[rows[first]]
            for i in range(first, last):
                higher += reference[rows[i]]
                higher_above += reference[rows[i]] * above[rows[i]]
            last = first
        start = stop
    return total


@compiled
def _fill_median_potentials(rows: Array, query: Array, labels: Array, weight: Array, stake: Array, out: Array) -> None:
    """Write π of each row for two classes: labels above the median of the query's rows, and the others.

    The median is the lowest label that half of the weight does not exceed; where no label is above it, it is a class
    of its own. Slow line: ``out[i] = weight[i] * (sum(weight[lower]) if upper[i] else -sum(weight[upper]))``.
    """
    start = 0
    while start < len(rows):
        stop, total = start, 0.0
        while stop < len(rows) and query[rows[stop]] == query[rows[start]]:
            total += weight[rows[stop]]
            stop += 1
        middle, upto = start, weight[rows[start]]
        while 2.0 * upto < total and middle + 1 < stop:
            middle += 1
            upto += weight[rows[middle]]
        median = labels[rows[middle]]
        alone = labels[rows[stop - 1]] == median
        lower = 0.0
        for i in range(start, stop):
            upper = labels[rows[i]] >= median if alone else labels[rows[i]] > median
            lower += 0.0 if upper else weight[rows[i]]
        for i in range(start, stop):
            upper = labels[rows[i]] >= median if alone else labels[rows[i]] > median
            out[i] = stake[rows[i]] * weight[rows[i]] * (lower if upper else lower - total)
        start = stop
