"""Parts of a computation as threads of one process, which exchange arrays by a barrier; rows as Dask's arrays."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

from podium import make_search
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


def mixed_rows():
    """Return features, of which some are missing, labels, queries and weights of rows in a random order."""
    given = make_search(n_queries=30, random_state=3)
    X, y, qid = np.array(given.X)[:, :10], np.asarray(given.y), np.asarray(given.qid)
    X[::7, 2] = np.nan
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order], qid[order], np.random.default_rng(1).random(len(y)) + 0.1


def assert_same(found, expected, X):
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    assert found.content()["learned"].keys() == expected.content()["learned"].keys()
    assert found.training_summary_ == expected.training_summary_
    assert found.evals_result_ == expected.evals_result_
    assert found.best_iteration_ == expected.best_iteration_
    assert found.stop_reason_ == expected.stop_reason_
    assert found.seed_ == expected.seed_
