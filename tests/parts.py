"""Parts of a computation as threads of one process, which exchange arrays by a barrier; chunks of Dask's arrays."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

from podium._exchange import Exchange


class ThreadExchange(Exchange):
    """The exchange of one of several threads; a part that fails breaks the barrier, so that no other waits."""

    def __init__(self, rank, size, barrier, board):
        self.rank, self.size, self.barrier, self.board = rank, size, barrier, board

    def gather(self, own):
        return np.stack(self._all(np.array(own)))

    def scatter_sum(self, wanted):
        return np.sum([one[self.rank] for one in self._all([np.array(part) for part in wanted])], axis=0)

    def _all(self, own):
        self.board[self.rank] = own
        self.barrier.wait(60)
        found = list(self.board)
        self.barrier.wait(60)
        return found


def run_parts(function, parts):
    """Return ``function(part, exchange)`` of each part, all at once."""
    barrier, board = Barrier(len(parts)), [None] * len(parts)

    def one(rank):
        try:
            return function(parts[rank], ThreadExchange(rank, len(parts), barrier, board))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(len(parts)) as pool:
        return list(pool.map(one, range(len(parts))))


def in_chunks(size, *arrays):
    """Return arrays as Dask's, in chunks of so many rows."""
    import dask.array as da

    return [da.from_array(one, chunks=(size, *one.shape[1:])) for one in arrays]
