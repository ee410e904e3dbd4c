"""Numbers of many features, one feature after the other: sorted, cut and coded together.

Python takes longer over a feature than a kernel over a thousand of its entries, and sparse data may have a million
features of two entries each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podium._compiled import SCORE, compiled
from podium._exchange import Exchange
from podium._validation import Array
from podium.binning import cuts
from podium.binning.cuts import fill_quantiles, starts_of, sum_runs


class Segments(NamedTuple):
    """Numbers of some features.

    Attributes
    ----------
    values : ndarray of float32 or float64
    shares : ndarray of float64 or None
        What each weighs; None is 1 for all.
    starts : ndarray of int64
        Feature j has ``values[starts[j] : starts[j + 1]]``.
    """

    values: Array
    shares: Array | None
    starts: Array

    @property
    def counts(self) -> Array:
        """How many numbers each feature has."""
        counts: Array = np.diff(self.starts)
        return counts

    def has_lowest(self) -> Array:
        """Return whether each feature has the value -inf."""
        found = np.zeros(len(self.starts) - 1, np.bool_)
        found[owners(self.counts)[self.values == -np.inf]] = True
        return found

    def take(self, kept: Array) -> Segments:
        """Return the numbers that `kept` holds of, for the same features."""
        shares = None if self.shares is None else self.shares[kept]
        return Segments(self.values[kept], shares, starts_of(kept)[self.starts])

    def take_features(self, kept: Array) -> Segments:
        """Return the same features, without numbers where `kept` does not hold of them."""
        return self.take(np.repeat(kept, self.counts))

    def between(self, first: int, last: int) -> Segments:
        """Return the features from `first` up to `last`."""
        own = slice(self.starts[first], self.starts[last])
        shares = None if self.shares is None else self.shares[own]
        return Segments(self.values[own], shares, self.starts[first : last + 1] - self.starts[first])

    def replaced(self, where: Array, others: Segments) -> Segments:
        """Return the values of others for the features that `where` holds of; slow line: ``np.where`` by features."""
        counts = np.where(where, others.counts, self.counts)
        from_others, values = np.repeat(where, counts), np.empty(counts.sum(), self.values.dtype)
        values[from_others] = others.take_features(where).values
        values[~from_others] = self.take_features(~where).values
        return Segments(values, None, starts_of(counts))

    def gathered(self, exchange: Exchange) -> Segments:
        """Return the numbers of all parts, by feature and then by rank."""
        if exchange.size == 1:
            return self
        counts = exchange.gather(self.counts)
        order = np.argsort(np.concatenate([owners(own) for own in counts]), kind="stable")
        shares = None if self.shares is None else exchange.gather_rows(self.shares)[order]
        return Segments(exchange.gather_rows(self.values)[order], shares, starts_of(counts.sum(axis=0)))

    def sequence(self, ties: Array | None = None) -> Array:
        """Return an order in which the values of each feature ascend, equal ones by `ties` where these are given."""
        if ties is None:
            by_value = np.argsort(self.values)
        else:
            by_tie = np.argsort(ties)
            by_value = by_tie[np.argsort(self.values[by_tie], kind="stable")]
        order: Array = by_value[np.argsort(owners(self.counts)[by_value], kind="stable")]
        return order

    def runs(self) -> Segments:
        """Return the distinct values of each feature, ascending, and what each weighs."""
        if self.shares is None and len(self.starts) == 2:
            values, weighed = cuts.runs_of_values(self.values)
            return Segments(values, weighed, starts_of(np.array([len(values)])))
        order = self.sequence()
        shares = None if self.shares is None else self.shares[order]
        return Segments(self.values[order], shares, self.starts).runs_of_sorted()

    def runs_of_sorted(self) -> Segments:
        """Return what `runs` does where the values of each feature ascend."""
        distinct, weighed = np.empty_like(self.values), np.empty(len(self.values), SCORE)
        starts = np.zeros_like(self.starts)
        _sum_runs_each(self.values, self._weighed(), self.starts, distinct, weighed, starts)
        n_runs = starts[-1]
        return Segments(distinct[:n_runs] + distinct.dtype.type(0), weighed[:n_runs], starts)  # -0.0 becomes 0.0

    def _weighed(self) -> Array:
        """Return the shares, none where all are 1."""
        return np.empty(0, SCORE) if self.shares is None else self.shares

    def uppers(self, max_bins: int) -> Segments:
        """Return the uppermost values of the bins of each feature, of whose runs these are."""
        uppers, starts = np.empty_like(self.values), np.zeros_like(self.starts)
        _fill_uppers_each(self.values, self._weighed(), self.starts, max_bins, uppers, starts)
        return Segments(uppers[: starts[-1]], None, starts)

    def codes(self, uppers: Segments) -> Array:
        """Return the code of each value where each feature is cut at such values."""
        codes = np.empty(len(self.values), np.uint32)
        _fill_codes_each(self.values, self.starts, uppers.values, uppers.starts, codes)
        return codes

    def codes_of_sorted(self, uppers: Segments) -> Array:
        """Return what `codes` does where the values of each feature ascend."""
        codes = np.empty(len(self.values), np.uint32)
        _fill_sorted_codes_each(self.values, self.starts, uppers.values, uppers.starts, codes)
        return codes


def owners(counts: Array) -> Array:
    """Return the feature of each number, of 16 bits, by which numpy sorts stably in linear time."""
    numbers: Array = np.repeat(np.arange(len(counts), dtype=np.uint16), counts)
    return numbers


@compiled
def _sum_runs_each(
    ordered: Array, shares: Array, starts: Array, distinct_out: Array, share_out: Array, starts_out: Array
) -> None:
    """Do `sum_runs` for each feature, one after the other."""
    end = 0
    for j in range(len(starts) - 1):
        own, weighed = ordered[starts[j] : starts[j + 1]], shares[starts[j] : starts[j + 1]]
        end += sum_runs(own, weighed, distinct_out[end:], share_out[end:])
        starts_out[j + 1] = end


@compiled
def _fill_uppers_each(
    distinct: Array, share: Array, starts: Array, max_bins: int, uppers_out: Array, starts_out: Array
) -> None:
    """Write the values of a feature that has no more than `max_bins` of them, and the quantiles of others."""
    end = 0
    for j in range(len(starts) - 1):
        first, n_values = starts[j], starts[j + 1] - starts[j]
        if n_values > max_bins:
            end += fill_quantiles(
                distinct[first : starts[j + 1]], share[first : starts[j + 1]], max_bins, uppers_out[end:]
            )
        else:
            for i in range(n_values):
                uppers_out[end + i] = distinct[first + i]
            end += n_values
        starts_out[j + 1] = end


@compiled
def _fill_codes_each(values: Array, starts: Array, uppers: Array, upper_starts: Array, codes_out: Array) -> None:
    """Do ``codes_out[own] = 1 + np.searchsorted(uppers[upper_own][:-1], values[own])`` for each feature."""
    for j in range(len(starts) - 1):
        first, n_inner = upper_starts[j], upper_starts[j + 1] - upper_starts[j] - 1
        for i in range(starts[j], starts[j + 1]):
            low, left = first, n_inner
            while left > 0:
                half = (left + 1) >> 1
                low += half * (uppers[low + half - 1] < values[i])
                left -= half
            codes_out[i] = low - first + 1


@compiled
def _fill_sorted_codes_each(values: Array, starts: Array, uppers: Array, upper_starts: Array, codes_out: Array) -> None:
    """Do `sorted_codes` for each feature."""
    for j in range(len(starts) - 1):
        own, upper_own = slice(starts[j], starts[j + 1]), slice(upper_starts[j], upper_starts[j + 1])
        sorted_codes(values[own], uppers[upper_own], codes_out[own])


@compiled
def sorted_codes(ordered: Array, uppers: Array, codes_out: Array) -> None:
    """Do ``codes_out[:] = 1 + np.searchsorted(uppers, ordered)`` for sorted values."""
    code = 0
    for i in range(len(ordered)):
        while ordered[i] > uppers[code]:
            code += 1
        codes_out[i] = code + 1
