"""The workers of one fit: who has which blocks, what they are asked, and what happens when one is lost.

The driver owns the rounds. When a worker is lost, all others give up what they are at; blocks are then shared out among
the workers that are there, read again from their source, and the rounds so far are replayed. Since no partitioning
changes a bit, the fit goes on as if nothing had happened. Nothing is waited for that cannot come: while it waits, the
driver looks whether every worker it has asked is still there.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from podium._validation import Array, PodiumError
from podium.distributed import held_part
from podium.distributed.dask_blocks import Source, split_queries
from podium.distributed.held_boosting import DaskRanker, DaskRound
from podium.distributed.held_part import BeginReport, LoadReport
from podium.distributed.socket_exchange import TOKEN_BYTES
from podium.rankers.boosted_trees import TreeRanker
from podium.rankers.score_start import InitModel, Start

POLL_SECONDS = 0.5
"""How often the driver looks whether the workers that it waits for are still there."""
PING_SECONDS = 30.0
"""How long a worker may take to answer before a new attempt leaves it out."""
NEW_WORKER_SECONDS = 30.0
"""How long the driver waits for a worker where none is left."""
MOST_ATTEMPTS = 5
"""Attempts without a new round after which a fit is given up."""


class WorkerLost(Exception):
    """A worker has gone, or has lost its connections: the work can be done again."""


class Team:
    """The workers of one fit.

    Parameters
    ----------
    client : distributed.Client
    source : Source
        The training rows.
    evals : sequence of Source
        Evaluation sets.
    ranker : LambdaMART, MART or RankBoost
        Not fitted; workers get a copy.
    init_model : ranker or None
    regroup : bool
        Whether queries that several blocks have are put together, or refused.
    """

    def __init__(
        self,
        client: Any,
        source: Source,
        evals: Sequence[Source],
        ranker: DaskRanker,
        init_model: InitModel,
        regroup: bool,
    ) -> None:
        self.client, self.sources = client, [source, *evals]
        self.ranker, self.init_model, self.regroup = ranker, init_model, regroup
        self.rounds: list[DaskRound] = []
        self.n_losses = 0
        self._name, self._workers, self._ranks = "", [""], [0]

    def start(self) -> BeginReport:
        """Share out blocks among the workers that are there, and make ready for the next round.

        1. Every worker reads its blocks; queries that several workers have are regrouped, or refused.
        2. Workers with training rows meet, and make ready.
        3. All take the rounds so far.
        """
        self.close()
        self._name, self._workers = f"podium-{secrets.token_hex(8)}", self._answering()
        reports = [self._load(number) for number in range(len(self.sources))]  # 1
        _check_reports([one for of_set in reports for one in of_set])
        self._ranks = [place for place, one in enumerate(reports[0]) if one.n_rows]
        if not self._ranks:
            raise PodiumError("X must have at least one row; every part is empty.")
        self.n_features, self.names = reports[0][self._ranks[0]].n_features, reports[0][self._ranks[0]].names
        begun = self._begin([reports[0][place] for place in self._ranks])  # 2
        if len(self.sources) > 1:
            start = self._start(begun)
            self._ask(held_part.start_evaluation, [(place, start) for place in self._holders(reports)])
        if self.rounds:  # 3
            self._ask(held_part.catch_up, [(place, self.rounds) for place in self._holders(reports)])
        return begun

    def _start(self, begun: BeginReport) -> Start:
        """Return what scores begin with."""
        return Start(None if isinstance(self.init_model, TreeRanker) else self.init_model, begun.start)

    def step(self, number: int) -> Any:
        """Return the next round, found by all workers together, or why there is none."""
        found = self.again(lambda: self._ask(held_part.step, [(place, number) for place in self._ranks]))
        if len({digest for _, digest in found}) != 1:
            raise PodiumError(
                "The workers have found different rounds, which must not be: their processors or libraries compute "
                "differently; run all workers on machines of one kind."
            )
        return found[0][0]

    def take(self, round_: DaskRound) -> None:
        """Let all workers take an earlier round, the last of the team's."""
        calls = [(place, [round_]) for place in range(len(self._workers))]
        before = self.n_losses
        self.again(lambda: [] if self.n_losses > before else self._ask(held_part.catch_up, calls))

    def measure(self, number: int, names: Sequence[str]) -> list[dict[str, tuple[Array, Array]]]:
        """Return what each worker has measured of an evaluation set after the last round."""
        found = self.again(
            lambda: self._ask(
                held_part.measure,
                [(place, number, len(self.rounds), self.rounds[-1], names) for place in range(len(self._workers))],
            )
        )
        return [one for one in found if one is not None]

    def again(self, work: Callable[[], list[Any]]) -> list[Any]:
        """Do some work, and after the loss of a worker start anew and do it again."""
        for attempt in range(MOST_ATTEMPTS):
            try:
                if attempt:
                    self.start()
                return work()
            except WorkerLost as error:
                self.n_losses += 1
                lost = error
        raise PodiumError(f"The fit was given up after {MOST_ATTEMPTS} attempts in which workers were lost: {lost}.")

    def close(self) -> None:
        """Let workers forget the fit; those that do not answer have forgotten it, or will with their process."""
        if not self._name:
            return
        from distributed import fire_and_forget

        alive = set(self._alive())
        for place, worker in enumerate(self._workers):
            if worker in alive:
                with contextlib.suppress(Exception):
                    fire_and_forget(self._submit(held_part.drop, worker, self._name, place))
        self._name = ""

    def _load(self, number: int) -> list[LoadReport]:
        """Let workers read their blocks of a set of rows."""
        found = self._read(number)
        together = {place: _joined(one.ids_of_blocks) for place, one in enumerate(found)}
        blocks = {key: ids for one in found for key, ids in one.ids_of_blocks.items()}
        split = split_queries(together if self.regroup else blocks)
        if split is None:
            return found
        if not self.regroup:
            query, parts = split_queries(blocks) or split
            raise PodiumError(
                f"Every query must lie in one part where regroup=False; query {query!r} lies in parts {parts}: "
                "repartition the data by query, or let it be regrouped."
            )
        self.sources[number] = self.sources[number].regrouped(len(self._workers))
        return self._read(number)

    def _read(self, number: int) -> list[LoadReport]:
        """Let workers hold blocks; any may read them, for a task that only a lost worker may do is never done."""
        shares = np.array_split(np.arange(len(self.sources[number].blocks)), len(self._workers))
        blocks = self.client.compute(list(self.sources[number].blocks))
        futures = []
        for place, (worker, own) in enumerate(zip(self._workers, shares, strict=True)):
            known = (self._name, place, _host(worker)) if number == 0 else (self._name, place, number - 1)
            function = held_part.load if number == 0 else held_part.load_evaluation
            futures.append(self._submit(function, worker, *known, [blocks[one] for one in own]))
        return self._wait(futures)

    def _begin(self, reports: Sequence[LoadReport]) -> BeginReport:
        """Let the workers that have training rows meet and make ready."""
        token, endpoints = secrets.token_bytes(TOKEN_BYTES), [one.endpoint for one in reports]
        known = self.client.scheduler_info()["workers"]
        if not known.keys() >= set(self._workers):
            raise WorkerLost("a worker has gone before the first round")
        threads = [int(known[self._workers[place]]["nthreads"]) for place in self._ranks]
        calls = [
            (place, rank, endpoints, token, self.ranker, self.init_model, threads[rank])
            for rank, place in enumerate(self._ranks)
        ]
        found: list[BeginReport] = self._ask(held_part.begin, calls)
        reasons = [one.flat_reason for one in found]
        return found[0]._replace(flat_reason=reasons[0] if None not in reasons else None)

    def _holders(self, reports: Sequence[Sequence[LoadReport]]) -> list[int]:
        """Return the places that hold rows of any set."""
        return [place for place in range(len(self._workers)) if any(of_set[place].n_rows for of_set in reports)]

    def _ask(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a function on workers, all at once; each call begins with the worker's place."""
        return self._wait(
            [self._submit(function, self._workers[call[0]], self._name, *call) for call in calls]
        )  # fmt: skip

    def _submit(self, function: Callable[..., Any], worker: str, *arguments: Any) -> Any:
        """Submit a task to one worker and no other."""
        key = f"podium_{function.__name__}-{secrets.token_hex(8)}"
        return self.client.submit(
            function, *arguments, key=key, workers=[worker], allow_other_workers=False, pure=False
        )  # fmt: skip

    def _wait(self, futures: Sequence[Any]) -> list[Any]:
        """Return the results of tasks that run together; leave where one fails or its worker goes."""
        pending = set(futures)
        while pending:
            pending = {one for one in pending if one.status == "pending"}
            failed = [one for one in futures if one.status not in ("pending", "finished")]
            if failed:
                raise _failure(list(self._errors(futures)))
            if pending:
                self._pause(pending)
        return [self._result(one) for one in futures]

    def _result(self, future: Any) -> Any:
        """Return the result of a task that has ended; it is lost with its worker, and would be waited for for ever."""
        seconds = POLL_SECONDS
        while True:
            try:
                return future.result(timeout=seconds)
            except TimeoutError:
                self._check_workers()
                seconds *= 2  # a large result takes its time
            except Exception as error:
                raise _failure([error]) from error

    def _pause(self, pending: set[Any]) -> None:
        """Wait until a task ends or for a moment; raise where a worker has gone."""
        from distributed import wait

        with contextlib.suppress(TimeoutError):
            wait(pending, timeout=POLL_SECONDS, return_when="FIRST_COMPLETED")
        if any(one.status == "pending" for one in pending):
            self._check_workers()

    def _check_workers(self) -> None:
        """Raise where a worker of the team has gone."""
        gone = set(self._workers) - set(self._alive())
        if gone:
            raise WorkerLost(f"worker {min(gone)} has gone")

    def _errors(self, futures: Sequence[Any]) -> Iterator[BaseException]:
        """Yield the errors of tasks, after a moment in which the others end too: the first is not always the cause."""
        end = time.monotonic() + 2.0
        while time.monotonic() < end and any(one.status == "pending" for one in futures):
            time.sleep(0.02)
        for one in futures:
            if one.status == "error":
                yield one.exception()
            elif one.status != "finished":
                yield WorkerLost(f"a task was {one.status}")

    def _alive(self) -> list[str]:
        """Return the addresses of the workers that the scheduler knows."""
        return sorted(self.client.scheduler_info()["workers"])

    def _answering(self) -> list[str]:
        """Return the workers that answer, after a while in which new ones may come where there are none."""
        end = time.monotonic() + (NEW_WORKER_SECONDS if self.rounds else 0.0)
        while True:
            alive = self._alive()
            asked = {worker: self._submit(int, worker) for worker in alive}
            until = time.monotonic() + PING_SECONDS
            while time.monotonic() < until and any(one.status == "pending" for one in asked.values()):
                time.sleep(0.01)
            found = [worker for worker, one in asked.items() if one.status == "finished"]
            if found:
                return found
            if time.monotonic() > end:
                raise PodiumError("The client has no workers; start some, such as by dask.distributed.LocalCluster.")
            time.sleep(POLL_SECONDS)


def _host(worker: str) -> str:
    """Return the host that a worker listens on."""
    parts = urlsplit(worker)
    if parts.scheme == "tls":
        raise PodiumError("Workers exchange sums unencrypted, so that clusters with TLS are refused.")
    return "127.0.0.1" if parts.scheme == "inproc" else str(parts.hostname)


def _joined(ids_of_blocks: dict[int, Array]) -> Array:
    """Return the different queries of several blocks."""
    return np.unique(np.concatenate(list(ids_of_blocks.values()))) if ids_of_blocks else np.empty(0)


def _failure(errors: Sequence[BaseException]) -> BaseException:
    """Return what to raise: an error of ours, else any that is no lost connection, else that a worker was lost."""
    from distributed.client import CancelledError, FutureCancelledError
    from distributed.scheduler import KilledWorker

    lost = (WorkerLost, OSError, KilledWorker, CancelledError, FutureCancelledError)
    for kind in (PodiumError, Exception):
        for error in errors:
            if isinstance(error, kind) and not isinstance(error, lost):
                return error
    return WorkerLost(str(errors[0]) if errors else "a task was cancelled")


def _check_reports(reports: Sequence[LoadReport]) -> None:
    """Refuse workers that would compute different bits, and columns that differ."""
    for one in reports[1:]:
        if one.machine != reports[0].machine:
            raise PodiumError(
                f"All workers must have the same libraries and kind of processor; one has {reports[0].machine}, "
                f"another {one.machine}."
            )
    shapes = [(one.n_features, one.names, one.dtype, min(one.ids_of_blocks)) for one in reports if one.n_rows]
    for shape in shapes[1:]:
        if shape[:3] != shapes[0][:3]:
            raise PodiumError(
                f"All parts must have the same columns; part {shapes[0][3]} has {_text(shapes[0])}, part {shape[3]} "
                f"has {_text(shape)}."
            )


def _text(shape: tuple[int, tuple[str, ...] | None, str, int]) -> str:
    """Say which columns a part has."""
    names = "" if shape[1] is None else f" ({', '.join(shape[1][:5])}, …)"
    return f"{shape[0]} columns of {shape[2]}{names}"
