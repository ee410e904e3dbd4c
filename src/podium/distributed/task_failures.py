"""Tasks of Dask that fail: whether their worker was lost, and what becomes of what was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from podium._validation import PodiumError


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
