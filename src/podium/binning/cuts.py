"""Where a feature is cut: every distinct value where there are few, quantiles of the weighted rows otherwise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium._compiled import ROW, SCORE, compiled
from podium._validation import Array
from podium.binning.radix_sort import sort_values
from podium.binning.value_counts import count_values

MAX_ROWS_SORTED = 200_000
"""Rows beyond which quantiles come from a sample: sorting all rows would cost more than it improves the bins."""
SAMPLE_ROWS = 2**17
"""Rows in the sample: 255 bins then hold about 514 of them each, give or take 23."""


@dataclass(frozen=True, eq=False)
class Cuts:
    """The thresholds of all features.

    A feature with k bins has the cuts c = 0, ..., k, and rows have the codes 1, ..., k, or 0 where the
    feature is missing. "Code above c" says the same as "value above ``threshold(feature, c)``". Thresholds
    are values that occur in the data (so float32 data give thresholds that float32 holds), save the first,
    -inf, which parts ranked rows from abstaining ones, and the last, inf, which parts them the other way
    round.

    Attributes
    ----------
    thresholds : ndarray of float64
        Of all features, one after the other, ascending within a feature.
    offsets : ndarray of int64
        Feature f has ``thresholds[offsets[f] : offsets[f + 1]]``, its k + 1 thresholds.
    first : ndarray of int64
        First cut that may be used: 0, or 1 for a feature with the value -inf, which is not above -inf.
    has_missing : ndarray of bool
        Whether some row lacks the feature.
    """

    thresholds: Array
    offsets: Array
    first: Array
    has_missing: Array

    @classmethod
    def join(cls, uppers: list[Array], has_lowest: Array, has_missing: Array) -> Cuts:
        """Put the uppermost values of all features' bins, ascending, into one object."""
        return cls.of(np.concatenate(uppers), np.array([len(upper) for upper in uppers]), has_lowest, has_missing)

    @classmethod
    def of(cls, uppers: Array, n_bins: Array, has_lowest: Array, has_missing: Array) -> Cuts:
        """Do as `join` where the values of all features lie one after the other, `n_bins` of each."""
        upto = starts_of(n_bins)
        offsets = upto + np.arange(len(upto))
        thresholds = np.insert(uppers.astype(SCORE), upto[:-1], -np.inf)
        thresholds[offsets[1:][n_bins > 0] - 1] = np.inf
        return cls(thresholds, offsets, has_lowest.astype(ROW), has_missing)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.first)

    @property
    def n_bins(self) -> Array:
        """Number of bins of each feature, the missing one not counted."""
        return np.diff(self.offsets) - 1

    def threshold(self, feature: int, cut: int) -> float:
        """Return the value that rows must exceed to be above `cut`."""
        return float(self.thresholds[self.offsets[feature] + cut])

    def cut(self, feature: int, threshold: float) -> int:
        """Return the cut that parts the rows as `threshold` does, the inverse of `threshold` for those in use."""
        own = self.thresholds[self.offsets[feature] : self.offsets[feature + 1]]
        return int(np.searchsorted(own, threshold, side="right")) - 1


def starts_of(counts: Array) -> Array:
    """Return where each of some segments that lie one after the other begins, and where the last ends."""
    starts: Array = np.concatenate([[0], np.cumsum(counts)]).astype(ROW)
    return starts


def bin_uppers(values: Array, weight: Array | None, max_bins: int | None) -> Array:
    """Return the uppermost value of each bin of one feature, ascending.

    Parameters
    ----------
    values : ndarray
        The feature's values in an order that does not depend on the caller's; NaN is left out.
    weight : ndarray of float64 or None
        Weight of each value; None is 1 for all.
    max_bins : int or None
        If there are more distinct values, bins of about equal weight, found from a sample of `SAMPLE_ROWS` evenly
        spaced rows where there are more than `MAX_ROWS_SORTED`. None keeps every distinct value, however many.
    """
    if max_bins is not None and len(values) > MAX_ROWS_SORTED:
        sample = np.arange(SAMPLE_ROWS, dtype=ROW) * len(values) // SAMPLE_ROWS
        uppers, exact = sorted_uppers(values[sample], None if weight is None else weight[sample], max_bins)
        if not exact:
            return uppers
    return sorted_uppers(values, weight, max_bins)[0]


def sorted_uppers(values: Array, weight: Array | None, max_bins: int | None) -> tuple[Array, bool]:
    """Sort values and return the uppers of their bins, and whether each distinct value has a bin."""
    return uppers_of_runs(*distinct_runs(values, weight), max_bins)


def uppers_of_runs(distinct: Array, share: Array, max_bins: int | None) -> tuple[Array, bool]:
    """Return the uppers of the bins of distinct values, and whether each has a bin."""
    if max_bins is None or len(distinct) <= max_bins:
        return distinct, True
    return quantiles(distinct, share, max_bins), False


def distinct_runs(values: Array, weight: Array | None) -> tuple[Array, Array]:
    """Return the distinct values, ascending, and what each weighs: as many as it occurs, or the sum of its weights."""
    if weight is None:
        return runs_of_values(values)
    sequence = np.argsort(values)
    return runs_of_sorted(values[sequence], weight[sequence])


def runs_of_values(values: Array) -> tuple[Array, Array]:
    """Return the distinct values, ascending, NaN left out, and how often each occurs."""
    counted = count_values(values)
    return runs_of_sorted(sort_values(values), None) if counted is None else counted


def runs_of_sorted(ordered: Array, weight: Array | None) -> tuple[Array, Array]:
    """Return the distinct ones of sorted values, NaN last and left out, and what each weighs."""
    distinct, share = np.empty_like(ordered), np.empty(len(ordered), SCORE)
    count = sum_runs(ordered, np.empty(0, SCORE) if weight is None else weight, distinct, share)
    return distinct[:count] + ordered.dtype.type(0), share[:count]  # the sum turns -0.0 into 0.0


def quantiles(distinct: Array, share: Array, max_bins: int) -> Array:
    """Return the uppermost values of at most `max_bins` bins of about equal weight."""
    uppers = np.empty(max_bins, distinct.dtype)
    return uppers[: fill_quantiles(distinct, share, max_bins, uppers)]


@compiled
def sum_runs(ordered: Array, shares: Array, distinct_out: Array, share_out: Array) -> int:
    """Write each distinct value before the NaNs and the sum of its shares (1 each if empty); return their number.

    Every value is written to the place of its run, and the next place is taken where the next value differs: without a
    branch, which would often go the other way, 1 ns a value.
    """
    n, count, first, total = len(ordered), 0, 0, 0.0
    while n > 0 and ordered[n - 1] != ordered[n - 1]:
        n -= 1
    for i in range(n if len(shares) == 0 else 0):
        distinct_out[count], share_out[count] = ordered[i], i + 1 - first
        ends = ordered[i] != ordered[min(i + 1, n - 1)]
        first = i + 1 if ends else first
        count += ends
    for i in range(len(shares[:n])):
        total += shares[i]
        distinct_out[count], share_out[count] = ordered[i], total
        ends = ordered[i] != ordered[min(i + 1, n - 1)]
        total = 0.0 if ends else total
        count += ends
    return count + (n > 0)


@compiled
def fill_quantiles(distinct: Array, share: Array, limit: int, uppers_out: Array) -> int:
    """Write the uppermost value of each bin and return the number of bins.

    A value heavier than a `limit`-th of the whole ends a bin, of its own if bins allow. The others share the
    bins that are left: a bin is closed where it is nearest to its part of their weight.
    """
    total = light_left = 0.0
    heavy_left = 0
    for i in range(len(share)):
        total += share[i]
    heavy = total / limit
    for i in range(len(share)):
        light_left += share[i] if share[i] < heavy else 0.0
        heavy_left += share[i] >= heavy
    own = 0.0
    bins = 0
    room = limit - heavy_left
    part = light_left / max(room, 1)
    for i in range(len(distinct) - 1):
        own += share[i]
        full = share[i + 1] >= heavy or own + 0.5 * share[i + 1] >= part
        if bins + 1 < limit and own > 0.0 and (share[i] >= heavy or (room > 1 and full)):
            uppers_out[bins] = distinct[i]
            bins += 1
            if share[i] >= heavy:
                heavy_left -= 1
            else:
                light_left -= own
            own = 0.0
            room = limit - bins - heavy_left
            part = light_left / max(room, 1)
    uppers_out[bins] = distinct[len(distinct) - 1]
    return bins + 1
