"""What comes of tasks of Dask: their results, while their workers are there, or why there are none."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from podium._validation import PodiumError

POLL_SECONDS = 0.5
"""How often the driver looks whether the workers that it waits for are still there."""
ERROR_SECONDS = 2.0
"""How long other tasks may take to end after one has failed."""


class WorkerLost(Exception):
    """A worker has gone, or has lost its connections: the work can be done again."""


class Releasable(Protocol):
    """A future of Dask."""

    def release(self) -> None:
        """Want it no more."""


def release(futures: Iterable[Releasable]) -> None:
    """Want nothing more of tasks, though an error may keep them.

    What is wanted stays with the scheduler, to be done by workers that may be gone; fits that need it too would wait.
    """
    for one in futures:
        one.release()


def failure_of(errors: Sequence[BaseException]) -> BaseException:
    """Return what to raise: an error of ours, else any that is no lost connection, else that a worker was lost."""
    from distributed.client import CancelledError, FutureCancelledError
    from distributed.scheduler import KilledWorker

    lost = (WorkerLost, OSError, KilledWorker, CancelledError, FutureCancelledError)
    for kind in (PodiumError, Exception):
        for error in errors:
            if isinstance(error, kind) and not isinstance(error, lost):
                return error
    return WorkerLost(str(errors[0]) if errors else "a task was cancelled")


class TaskResults:
    """Waits for tasks of a client that run together.

    Parameters
    ----------
    client : distributed.Client
    check_workers : callable
        Raises `WorkerLost` where a worker has gone that is waited for; called every now and then.
    """

    def __init__(self, client: Any, check_workers: Callable[[], None]) -> None:
        self.client, self.check_workers = client, check_workers

    def results(self, futures: Sequence[Any], n_results: int | None = None) -> list[Any]:
        """Return the results of all tasks, or of the first; raise where one fails or its worker goes.

        Nothing of them is wanted after that: what is wanted is done again once its worker is lost, by whom it may be.
        """
        try:
            self._wait_for(futures)
            return [self._result(one) for one in futures[:n_results]]
        finally:
            release(futures)

    def _wait_for(self, futures: Sequence[Any]) -> None:
        """Wait until tasks have ended; raise where one fails or its worker goes."""
        pending = set(futures)
        while pending:
            pending = {one for one in pending if one.status == "pending"}
            failed = [one for one in futures if one.status not in ("pending", "finished")]
            if failed:
                raise failure_of(list(_errors(futures)))
            if pending:
                self._pause(pending)

    def _pause(self, pending: set[Any]) -> None:
        """Wait until a task ends or for a moment; raise where a worker has gone."""
        from distributed import wait
        from distributed.client import CancelledError

        try:
            wait(pending, timeout=POLL_SECONDS, return_when="FIRST_COMPLETED")
        except TimeoutError:
            pass
        except CancelledError as error:  # what a task needs went with its worker
            raise WorkerLost(str(error)) from error
        if any(one.status == "pending" for one in pending):
            self.check_workers()

    def _result(self, future: Any) -> Any:
        """Return the result of a task that has ended; it is lost with its worker, and would be waited for for ever."""
        result = asyncio.run_coroutine_threadsafe(future._result(), self.client.loop.asyncio_loop)
        try:
            while not concurrent.futures.wait([result], POLL_SECONDS).done:
                self.check_workers()
            return result.result()
        except Exception as error:
            raise failure_of([error]) from error
        finally:
            result.cancel()


def _errors(futures: Sequence[Any]) -> Iterator[BaseException]:
    """Yield the errors of tasks, after a moment in which the others end too: the first is not always the cause."""
    end = time.monotonic() + ERROR_SECONDS
    while time.monotonic() < end and any(one.status == "pending" for one in futures):
        time.sleep(0.02)
    for one in futures:
        if one.status == "error":
            yield one.exception()
        elif one.status != "finished":
            yield WorkerLost(f"a task was {one.status}")
