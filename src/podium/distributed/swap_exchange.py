"""Exchanges in which each worker sends an array to each other one while one comes from each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from podium._exchange import Exchange
from podium._validation import Array

ANSWER_LIMIT_SECONDS = 120.0
"""How long a worker waits for a byte of another before it gives up."""


class Endpoint(NamedTuple):
    """Where a worker listens: its host and port, or, port 0, its address in Dask."""

    host: str
    port: int


class SwapExchange(Exchange):
    """An exchange that is made of swaps.

    Attributes
    ----------
    n_messages, bytes_sent : int
        Swaps so far, and bytes sent to all others.
    """

    n_messages: int = 0
    bytes_sent: int = 0

    @abstractmethod
    def close(self) -> None:
        """Leave, so that the other workers, and a thread that waits here, give up."""

    @abstractmethod
    def _swap(self, outgoing: dict[int, Array], incoming: dict[int, Array]) -> None:
        """Send a contiguous array to each other rank while one of known size comes from each."""

    @property
    def _others(self) -> list[int]:
        """Ranks of the other workers."""
        return [rank for rank in range(self.size) if rank != self.rank]

    def gather(self, own: Array) -> Array:
        """Return the arrays of all parts, by rank."""
        mine = np.ascontiguousarray(own)
        found = np.empty((self.size, *mine.shape), mine.dtype)
        found[self.rank] = mine
        self._count(dict.fromkeys(self._others, mine), {rank: found[rank] for rank in self._others})
        return found

    def scatter_sum(self, wanted: Sequence[Array]) -> Array:
        """Return the sum, over all parts, of what they have for this one."""
        total = np.ascontiguousarray(wanted[self.rank])
        received = {rank: np.empty_like(total) for rank in self._others}
        self._count({rank: np.ascontiguousarray(wanted[rank]) for rank in self._others}, received)
        for one in received.values():
            total += one
        return total

    def _count(self, outgoing: dict[int, Array], incoming: dict[int, Array]) -> None:
        """Swap, and count it."""
        self.n_messages += 1
        self.bytes_sent += sum(array.nbytes for array in outgoing.values())
        self._swap(outgoing, incoming)
