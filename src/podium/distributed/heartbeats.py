"""Which workers a cluster has and when each was last heard of: a stopped process is listed for minutes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from functools import partial
from typing import Any, Protocol

import numpy as np

from podium._validation import PodiumError

ANSWER_SECONDS = 60.0
"""How long the scheduler may take to answer."""
SILENCE_SECONDS = 20.0
"""How long a worker may be silent; it says that it is there once or twice a second, also while it computes."""
SILENCE_SETTING = "podium.worker-silence"
"""Name of another such time in Dask's configuration, such as "60s"."""
UNSEEN_SECONDS = 5.0
"""Time between two looks after which silence counts anew: this process may have been stopped itself."""
RESTART_SECONDS = 10.0
"""How long the scheduler may take to restart a worker."""
PAUSED_SECONDS = 300.0
"""How long Dask may keep a worker from beginning tasks, since its memory is nearly full, before a fit ends."""
HEARTBEATS_PER_SILENCE = 10
"""Heartbeats that a worker of a large cluster, which has fewer of them, may miss."""


class Heartbeats:
    """The workers that the scheduler of a client knows, and how long each has been silent.

    Ages are taken by the clock of this process, from when a heartbeat was first seen: clocks of machines differ.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._seen: dict[str, tuple[float, float]] = {}
        self._paused: dict[str, float] = {}
        self._looked = time.monotonic()

    def threads(self) -> dict[str, int]:
        """Return the threads of each worker, by its address."""
        return {worker: int(known["nthreads"]) for worker, known in self._workers().items()}

    def ages(self) -> dict[str, float]:
        """Return the seconds since each worker was last heard of, by its address."""
        now, before, paused, workers = time.monotonic(), self._seen, self._paused, self._workers()
        beats = {worker: float(known["last_seen"]) for worker, known in workers.items()}
        if now - self._looked > UNSEEN_SECONDS:
            before, paused = {}, {}
        self._paused = {one: paused.get(one, now) for one, known in workers.items() if known.get("status") == "paused"}
        self._looked = time.monotonic()
        self._seen = {
            worker: before[worker] if worker in before and before[worker][0] == beat else (beat, now)
            for worker, beat in beats.items()
        }
        return {worker: now - at for worker, (_, at) in self._seen.items()}

    def silence(self) -> float:
        """Return after how many seconds a worker is given up."""
        from dask import config
        from dask.utils import parse_timedelta
        from distributed.scheduler import heartbeat_interval

        setting = float(parse_timedelta(config.get(SILENCE_SETTING, SILENCE_SECONDS)))
        return max(setting, HEARTBEATS_PER_SILENCE * float(heartbeat_interval(len(self._seen))))

    def silent(self) -> set[str]:
        """Return the workers that are given up though the scheduler knows them."""
        return {worker for worker, age in self.ages().items() if age > self.silence()}

    def present(self) -> set[str]:
        """Return the workers that the scheduler knows and that are not silent."""
        return {worker for worker, age in self.ages().items() if age <= self.silence()}

    def check_paused(self, workers: Iterable[str]) -> None:
        """Refuse to wait for workers that have begun no task for long, as of the last look."""
        late = [one for one in workers if time.monotonic() - self._paused.get(one, np.inf) > PAUSED_SECONDS]
        if late:
            raise PodiumError(
                f"Dask has paused worker {late[0]} for {PAUSED_SECONDS:g} s, since its memory is nearly full: give "
                "workers more memory, or add workers."
            )

    def heard(self, seconds: float) -> list[str]:
        """Return the workers that are heard of within some seconds from now, as soon as all but silent ones are."""
        end, silent, before = time.monotonic() + seconds, self.silent(), dict(self._seen)
        while True:
            known = self.ages()
            found = {worker for worker in known if self._seen[worker] != before.get(worker)}
            if known.keys() <= found | silent or time.monotonic() > end:
                return sorted(found)
            time.sleep(0.05)

    def restart_silent(self, workers: Iterable[str]) -> set[str]:
        """Let the scheduler restart those of some workers that are silent, and all others hang up on them; return them.

        Dask does so too, after minutes, in which others wait for the blocks that a silent worker has read.
        """
        silent = sorted(self.silent().intersection(workers))
        if silent:
            self._restart(silent)
        return set(silent)

    def _restart(self, silent: list[str]) -> None:
        """Let the scheduler restart workers, and all others hang up on them; what fails is left to Dask."""
        restart = partial(self.client.scheduler.restart_workers, workers=silent, wait_for_workers=False)
        with contextlib.suppress(Exception):
            self.client.sync(
                restart, timeout=RESTART_SECONDS, on_error="return", stimulus_id=f"podium-silent-{time.time()}",
                callback_timeout=2 * RESTART_SECONDS,
            )  # fmt: skip
        with contextlib.suppress(Exception):
            others = sorted(self.ages().keys() - set(silent))
            hang_up = partial(self.client._run, _hang_up, silent, workers=others, on_error="ignore")
            self.client.sync(hang_up, callback_timeout=RESTART_SECONDS)

    def _workers(self) -> dict[str, Any]:
        """Ask the scheduler for its workers; it may be lost."""
        try:
            found = self.client.sync(self.client.scheduler.identity, n_workers=-1, callback_timeout=ANSWER_SECONDS)
        except Exception as error:
            raise PodiumError(
                "The scheduler of the cluster does not answer, so that the fit has ended; with a checkpoint, a new fit "
                "on another cluster goes on from it."
            ) from error
        workers: dict[str, Any] = found["workers"]
        return workers


class Connections(Protocol):
    """The connections of a worker of Dask."""

    def remove(self, addr: str) -> None:
        """Close those to an address."""


class Connected(Protocol):
    """A worker of Dask."""

    rpc: Connections


def _hang_up(addresses: Iterable[str], dask_worker: Connected) -> None:
    """Close a worker's connections to others, so that what it fetches from them is read elsewhere."""
    for address in addresses:
        dask_worker.rpc.remove(address)
