"""What the parts of a computation tell one another: nothing where there is one part, or arrays between machines.

Every part calls the same methods in the same order. What they exchange is integers, or maxima, so that the answer is
the same for any partitioning.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from podium._exact import digits_of, digits_of_columns, exact_sum, fixed_scale, fixed_sums, largest_size, rounded
from podium._validation import Array

COARSE_BITS = 12
"""First bits that keys are counted by."""
LARGEST_GATHERED = 2**15
"""Bytes up to which every part adds up arrays of all: one message, where sharing the work out takes two."""


class Exchange(ABC):
    """The ways from a part to all others.

    Attributes
    ----------
    rank : int
        Which part this is, from 0.
    size : int
        Number of parts.
    """

    rank: int
    size: int

    @abstractmethod
    def gather(self, own: Array) -> Array:
        """Return the arrays of all parts, of one shape and kind: ``(size, *own.shape)``, by rank."""

    @abstractmethod
    def scatter_sum(self, wanted: Sequence[Array]) -> Array:
        """Return the sum, over all parts, of what they have for this one.

        `wanted` has an array for each rank; that of this part may be written to.
        """

    def sum(self, own: Array) -> Array:
        """Return the sum of the integers of all parts.

        Of a large array each part adds up one share, so that no part receives more than twice the array.
        """
        if self.size > 2 and own.nbytes > LARGEST_GATHERED:
            filled = np.zeros(-(-own.size // self.size) * self.size, own.dtype)
            filled[: own.size] = own.reshape(-1)
            whole = self.gather(self.scatter_sum(np.split(filled, self.size)))
            return whole.reshape(-1)[: own.size].reshape(own.shape)
        summed: Array = self.gather(own).sum(axis=0)
        return summed

    def largest(self, own: Array) -> Array:
        """Return the largest of the numbers of all parts, place by place."""
        found: Array = self.gather(own).max(axis=0)
        return found

    def peak(self, values: Array) -> float:
        """Return the largest of all numbers of all parts; -inf where there is none."""
        return float(self.largest(values.max(initial=-np.inf, keepdims=True))[0])

    def agree(self, own: bool) -> bool:
        """Return whether something holds in every part."""
        return not self.count(not own)

    def gather_rows(self, own: Array) -> Array:
        """Return the rows of all parts, which may have different numbers of them: part after part, by rank."""
        counts = self.gather(np.array([len(own)], np.int64))[:, 0]
        filled = np.zeros((int(counts.max()), *own.shape[1:]), own.dtype)
        filled[: len(own)] = own
        return np.concatenate([rows[:count] for rows, count in zip(self.gather(filled), counts, strict=True)])

    def smallest(self, values: Array, number: int) -> int:
        """Return the `number`-th smallest, from 1, of the 64-bit keys of all parts: ``np.sort(keys)[number - 1]``.

        1. Count the keys by their first bits: the key is among those of one count.
        2. Gather these alone.
        """
        coarse = (values >> np.uint64(64 - COARSE_BITS)).astype(np.int64)
        upto = np.cumsum(self.sum(np.bincount(coarse, minlength=2**COARSE_BITS)))  # 1
        place = int(np.searchsorted(upto, number))
        near = self.gather_rows(values[coarse == place])  # 2
        within = number - 1 - (int(upto[place - 1]) if place else 0)
        return int(np.partition(near, within)[within])

    def count(self, own: int) -> int:
        """Return the sum of a count."""
        return int(self.sum(np.array([own], np.int64))[0])

    def total(self, values: Array) -> float:
        """Return the exact sum of the floats of all parts, rounded once."""
        return rounded(self.sum(digits_of(values))[None])[0]

    def totals(self, columns: Sequence[Array] | Array) -> list[float]:
        """Return the exact sum of each of some columns over all parts, each rounded once."""
        return rounded(self.sum(digits_of_columns(columns)))

    def sizes(self, columns: Sequence[Array], n_rows: int) -> Array:
        """Return about ``np.abs(column).sum()`` of each column over all parts, which have `n_rows` rows in all."""
        most = self.largest(np.array([largest_size(column) for column in columns]))
        scales = np.array([fixed_scale(one, n_rows) for one in most.tolist()])
        sums: Array = self.sum(fixed_sums(columns, scales.tolist())) / scales
        return sums


class Alone(Exchange):
    """The exchange of the only part."""

    rank, size = 0, 1

    def sum(self, own: Array) -> Array:
        """Return the integers themselves."""
        return own

    def peak(self, values: Array) -> float:
        """Return the largest number."""
        return float(values.max(initial=-np.inf))

    def total(self, values: Array) -> float:
        """Return the exact sum of floats."""
        return exact_sum(values)

    def totals(self, columns: Sequence[Array] | Array) -> list[float]:
        """Return the exact sum of each column."""
        return [exact_sum(column) for column in columns]

    def gather(self, own: Array) -> Array:
        """Return the one array as the row of a table."""
        return own[None]

    def gather_rows(self, own: Array) -> Array:
        """Return the rows themselves."""
        return own

    def scatter_sum(self, wanted: Sequence[Array]) -> Array:
        """Return the one array."""
        return wanted[0]


ALONE = Alone()
"""What a computation of one part exchanges with."""
