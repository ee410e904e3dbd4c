"""The workers of one fit: who has which blocks, what they are asked, and what happens when one is lost.

The driver owns the rounds. When a worker is lost, all others give up what they are at; blocks are then shared out among
the workers that are there, read again from their source, and the rounds so far are replayed. Since no partitioning
changes a bit, the fit goes on as if nothing had happened. Nothing is waited for that cannot come: while it waits, the
driver looks whether every worker it has asked is still there and has been heard of. Workers that come are taken in
where that saves more time than it takes.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from podium._types import PairsLike
from podium._validation import Array, PodiumError
from podium.distributed import held_part
from podium.distributed.dask_blocks import Source, merged_labels, split_queries
from podium.distributed.heartbeats import Heartbeats
from podium.distributed.held_boosting import AdaBoostOR, BeginReport, DaskRanker, DaskRound, GradeStart, TreeRanker
from podium.distributed.load_reports import LoadReport, check_evaluation_reports, check_model_columns, check_reports
from podium.distributed.part_categories import Categories, shared_categories
from podium.distributed.socket_exchange import TOKEN_BYTES
from podium.distributed.start_clock import StartClock
from podium.distributed.task_results import POLL_SECONDS, TaskResults, WorkerLost, release
from podium.rankers.score_start import InitModel, Start

HEARD_SECONDS = 5.0
"""How long a worker may be silent before a new attempt leaves it out."""
NEW_WORKER_SECONDS = 60.0
"""How long the driver waits for a worker where none is left."""
DROP_SECONDS = 5.0
"""How long the driver waits for workers to give up what they are at."""
TASKS_AHEAD = 2
"""Tasks that are asked for before the last one is done, so that workers wait neither for the driver nor for Dask."""
ATTEMPTS_BY_SOCKETS = 3
"""Attempts after which workers exchange sums by Dask's own connections: they may not reach each other otherwise."""
NO_ROWS = "X must have at least one row; every part is empty."
MOST_ATTEMPTS = 5
"""Attempts without a new round after which a fit is given up."""


class Team:
    """The workers of one fit.

    Parameters
    ----------
    client : distributed.Client
    source : Source
        The training rows.
    evals : sequence of Source
        Evaluation sets.
    ranker : LambdaMART, MART, RankBoost or AdaBoostOR
        Not fitted; workers get a copy.
    init_model : ranker or None
    regroup : bool
        Whether queries that several blocks have are put together, or refused.
    measures : sequence of str
        What evaluation sets are measured by.
    pairs : PairsLike, optional
        Explicit pairs, whose rows are numbered through all blocks of the training rows.
    """

    def __init__(
        self,
        client: Any,
        source: Source,
        evals: Sequence[Source],
        ranker: DaskRanker,
        init_model: InitModel,
        regroup: bool,
        measures: Sequence[str],
        pairs: PairsLike | None = None,
    ) -> None:
        self.client, self.sources, self.pairs = client, [source, *evals], pairs
        self.ranker, self.init_model, self.regroup, self.measures = ranker, init_model, regroup, list(measures)
        self.rounds: list[DaskRound] = []
        self.n_losses = 0
        self.begun: BeginReport | None = None
        self.categories: Categories | None = None
        self.grades: Array | None = None
        self._name, self._workers, self._ranks = "", [""], [0]
        self._ever_asked: set[str] = set()
        self._heartbeats, self._clock = Heartbeats(client), StartClock()
        self._tasks = TaskResults(client, self._check_workers)
        self._holders: list[list[int]] = []
        self._by_rpc = False
        self._ahead: deque[tuple[int, list[Any]]] = deque()
        self._reported: dict[int, held_part.StepReport] = {}
        self._next_round = 0
        self._measured: tuple[str, int, Array] = "", 0, np.zeros(0)

    def begin(self) -> BeginReport:
        """Start with the workers that are there, and again where one is lost meanwhile."""
        before = self.n_losses
        found: BeginReport = self.again(lambda: [self.start() if self.n_losses == before else self.begun])[0]
        return found

    def start(self) -> BeginReport:
        """Share out blocks among the workers that are there, and make ready for the next round.

        1. Every worker reads its blocks; queries that several workers have are regrouped, or refused.
        2. Workers with training rows meet, and make ready.
        3. All take the rounds so far.
        """
        self.close()
        self._clock.start()
        self._name, self._workers = f"podium-{secrets.token_hex(8)}", self._present()
        self._ever_asked.update(self._workers)
        self._by_rpc |= any(_host(worker) is None for worker in self._workers)
        self._code_categories()
        self._number_grades()
        self._share_pairs()
        reports = [self._load(number) for number in range(len(self.sources))]  # 1
        for number, of_set in enumerate(reports[1:]):
            check_evaluation_reports(reports[0], of_set, number)
        self._ranks = [place for place, one in enumerate(reports[0]) if one.n_rows]
        if not self._ranks:
            raise PodiumError(NO_ROWS)
        self.n_features, self.names = reports[0][self._ranks[0]].n_features, reports[0][self._ranks[0]].names
        check_model_columns(reports[0][self._ranks[0]], self.init_model)
        self._holders = [[place for place, one in enumerate(of_set) if one.n_rows] for of_set in reports]
        holders = sorted(set().union(*self._holders))
        begun = self._begin([reports[0][place] for place in self._ranks])  # 2
        if len(self.sources) > 1:
            ranker = self.ranker
            graded = GradeStart(begun.labels, ranker.cost) if isinstance(ranker, AdaBoostOR) else None
            start = graded or self._start(begun)
            highest = [max(0.0, *(one.highest_label for one in of_set)) for of_set in reports[1:]]
            self._ask(held_part.start_evaluation, [(place, start, highest) for place in holders])
        if self.rounds:  # 3
            self._ask(held_part.catch_up, [(place, self.rounds) for place in holders])
        self._clock.begin(len(self.rounds))
        self.begun = begun
        return begun

    def _start(self, begun: BeginReport) -> Start:
        """Return what scores begin with; rounds to go on from are replayed."""
        replayed = not isinstance(self.ranker, TreeRanker) or isinstance(self.init_model, TreeRanker)
        return Start(None if replayed else self.init_model, begun.start)

    def train_costs(self) -> list[float]:
        """Return the mean training cost after each round of AdaBoost.OR."""
        found: list[float] = self.again(lambda: self._ask(held_part.train_costs, [(self._ranks[0],)]))[0]
        return found

    def step(self, number: int) -> Any:
        """Return the next round, found by all workers together, or why there is none."""
        if self._clock.is_due() and self._newcomers_help():
            self.begin()
        report = self.again(lambda: self._round(number))[0]
        self._measured = self._name, number, report.measured
        return report.result

    def _round(self, number: int) -> list[held_part.StepReport]:
        """Return what the first worker reports of a round; ask for it and some after it, unless they were asked for."""
        if number not in self._reported:
            self._ask_ahead(number)
            first, futures = self._ahead.popleft()
            reports = self._tasks.results(futures, n_results=1)[0]
            self._clock.note(len(reports))
            self._reported = {first + place: one for place, one in enumerate(reports)}
        return [self._reported.pop(number)]

    def _ask_ahead(self, number: int) -> None:
        """Let workers have some tasks before them, the first of which begins with the round; short rounds share one."""
        last, asked, names = self.ranker.n_estimators, len(self.sources) - 1, self.measures
        while len(self._ahead) <= TASKS_AHEAD and (first := self._first_not_asked(number)) <= last:
            rounds = range(first, min(first + self._clock.rounds_a_task(), last + 1))
            calls = [(place, rounds, asked, names) for place in self._ranks]
            self._ahead.append((first, self._asked(held_part.steps, calls, priority=-first)))
            self._next_round = rounds.stop

    def _first_not_asked(self, number: int) -> int:
        """Return the first round that no task has been asked for."""
        return self._next_round if self._ahead else number

    def _newcomers_help(self) -> bool:
        """Say whether a start with the workers that have come saves more time than it takes."""
        useful = min(len(self._heartbeats.present()), len(self.sources[0].blocks))
        saved = 1.0 - len(self._workers) / useful if useful > len(self._workers) else 0.0
        return self._clock.repays(saved, len(self.rounds), self.ranker.n_estimators)

    def take(self, round_: DaskRound) -> None:
        """Let all workers take an earlier round, the last of the team's."""
        calls = [(place, [round_]) for place in range(len(self._workers))]
        before = self.n_losses
        self.again(lambda: [] if self.n_losses > before else self._ask(held_part.catch_up, calls))

    def measure(self, number: int) -> Array:
        """Return the digits of an evaluation set's measures after the last round: int64[n_measures, 2, DIGITS]."""
        found: Array = np.sum(self.again(lambda: self._measure(number)), axis=0)
        return found

    def _measure(self, number: int) -> list[Array]:
        """Ask the workers that hold rows of the set; those that have learned the round have measured it with it."""
        n_rounds, holders, known = len(self.rounds), self._holders[number + 1], []
        if self._measured[:2] == (self._name, n_rounds):
            known, holders = [self._measured[2][number]], [one for one in holders if one not in self._ranks]
        calls = [(place, number, n_rounds, self.rounds[-1], self.measures) for place in holders]
        return known + (self._ask(held_part.measure, calls) if calls else [])

    def again(self, work: Callable[[], list[Any]]) -> list[Any]:
        """Do some work, and after the loss of a worker start anew and do it again."""
        for attempt in range(MOST_ATTEMPTS):
            try:
                self._by_rpc |= attempt >= ATTEMPTS_BY_SOCKETS
                if attempt:
                    self.start()
                return work()
            except WorkerLost as error:
                self.n_losses += 1
                lost = str(error)  # the error itself would keep what was asked for from being forgotten
        raise PodiumError(f"The fit was given up after {MOST_ATTEMPTS} attempts in which workers were lost: {lost}.")

    def close(self) -> None:
        """Let workers forget the fit, and give up what they are at; those that are silent are not waited for."""
        for _, futures in self._ahead:
            release(futures)
        self._ahead.clear()
        self._reported.clear()
        name, self._name = self._name, ""
        with contextlib.suppress(Exception):
            if name and (there := sorted(self._heartbeats.present().intersection(self._workers))):
                run = partial(self.client._run, held_part.drop, name, workers=there, on_error="ignore")
                self.client.sync(run, callback_timeout=DROP_SECONDS)

    def _code_categories(self) -> None:
        """Give all blocks the codes of the categories, which are counted in all training rows first."""
        if self.categories is None and isinstance(self.ranker, TreeRanker):
            given = self.sources[0]
            known = self.ranker, given.layout, self.init_model
            found = shared_categories(*known, lambda j: self._tasks.results(self._compute(given.category_counts(j))))
            self.categories, self.sources = found, [one.coded(found) for one in self.sources]

    def _number_grades(self) -> None:
        """Give all blocks numbers of grades, where labels are no numbers; those of all training rows are read first."""
        if self.grades is None and isinstance(self.ranker, AdaBoostOR) and not self.sources[0].numeric:
            found = [one for one in self._tasks.results(self._compute(self.sources[0].labels())) if one is not None]
            if not found:
                raise PodiumError(NO_ROWS)
            self.grades = merged_labels(found)
            names = ["", *(f"eval_set[{number}]: " for number in range(len(self.sources) - 1))]
            graded = zip(self.sources, names, strict=True)
            self.sources = [source.graded(self.grades, name) for source, name in graded]

    def _share_pairs(self) -> None:
        """Give each block the pairs of its better rows, for which the rows of all blocks are counted."""
        if self.pairs is not None:
            lengths = self._tasks.results(self._compute(self.sources[0].lengths()))
            self.sources[0], self.pairs = self.sources[0].with_pairs(self.pairs, lengths), None

    def _load(self, number: int) -> list[LoadReport]:
        """Let workers read their blocks of a set of rows."""
        found = self._read(number)
        check_reports(found)
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
        """Let workers hold blocks; any of them may read them, for a task that only a lost one may do is never done."""
        shares = np.array_split(np.arange(len(self.sources[number].blocks)), len(self._workers))
        blocks = self._compute(self.sources[number].blocks)
        futures = []
        for place, (worker, own) in enumerate(zip(self._workers, shares, strict=True)):
            host = None if self._by_rpc else _host(worker)
            known = (self._name, place, host) if number == 0 else (self._name, place, number - 1)
            function = held_part.load if number == 0 else held_part.load_evaluation
            futures.append(self._submit(function, worker, *known, [blocks[one] for one in own]))
        try:
            return self._tasks.results(futures)
        finally:
            release(blocks)

    def _compute(self, lazy: Sequence[Any]) -> list[Any]:
        """Compute on workers of the team, or on others once these are gone: other fits may need the same blocks.

        Where the team is all that there are, any may: Dask lets a worker that comes begin no task that prefers others.
        """
        preferred = {"workers": self._workers, "allow_other_workers": True}
        left_out = self._heartbeats.ages().keys() - set(self._workers)
        found: list[Any] = self.client.compute(list(lazy), **preferred if left_out else {})
        return found

    def _begin(self, reports: Sequence[LoadReport]) -> BeginReport:
        """Let the workers that have training rows meet and make ready."""
        token, endpoints = secrets.token_bytes(TOKEN_BYTES), [one.endpoint for one in reports]
        known = self._heartbeats.threads()
        if not known.keys() >= set(self._workers):
            raise WorkerLost("a worker has gone before the first round")
        threads = [known[self._workers[place]] for place in self._ranks]
        calls = [
            (place, rank, endpoints, token, self.ranker, self.init_model, threads[rank])
            for rank, place in enumerate(self._ranks)
        ]
        found: list[BeginReport] = self._ask(held_part.begin, calls)
        reasons = [one.flat_reason for one in found]
        return found[0]._replace(flat_reason=reasons[0] if None not in reasons else None)

    def _ask(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a function on workers, all at once; each call begins with the worker's place."""
        return self._tasks.results(self._asked(function, calls))

    def _asked(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], priority: int = 0) -> list[Any]:
        """Submit such calls; of those that a worker has not begun, it does the ones of higher priority first."""
        return [self._submit(function, self._workers[call[0]], self._name, *call, priority=priority) for call in calls]

    def _submit(self, function: Callable[..., Any], worker: str, *arguments: Any, priority: int = 0) -> Any:
        """Submit a task to one worker and no other."""
        key = f"podium_{function.__name__}-{secrets.token_hex(8)}"
        options = {"workers": [worker], "allow_other_workers": False, "pure": False, "priority": priority}
        return self.client.submit(function, *arguments, key=key, **options)

    def _check_workers(self) -> None:
        """Raise where a worker has gone, is silent or paused; restart silent ones, which may have blocks."""
        silent = self._heartbeats.restart_silent(self._ever_asked)
        if gone := set(self._workers) - (self._heartbeats.present() - silent):
            raise WorkerLost(f"worker {min(gone)} has gone or is silent")
        self._heartbeats.check_paused(self._workers)

    def _present(self) -> list[str]:
        """Return the workers that there are; after a loss those that are heard of, for which it waits a while."""
        end = time.monotonic() + (NEW_WORKER_SECONDS if self.n_losses else 0.0)
        while True:
            found = self._heartbeats.heard(HEARD_SECONDS) if self.n_losses else sorted(self._heartbeats.ages())
            if found:
                return found
            if time.monotonic() > end:
                raise PodiumError(_nobody(self.n_losses > 0))
            time.sleep(POLL_SECONDS)


def _nobody(after_loss: bool) -> str:
    """Say that there is no worker to fit on."""
    if not after_loss:
        return "The client has no workers; start some, such as by dask.distributed.LocalCluster."
    return (
        f"All workers were lost or are silent, and none has come for {NEW_WORKER_SECONDS:g} s; start some and fit "
        "again, which with a checkpoint goes on from it."
    )


def _host(worker: str) -> str | None:
    """Return the host that a worker listens on; None where what is sent must be encrypted."""
    parts = urlsplit(worker)
    if parts.scheme == "tls":
        return None
    return "127.0.0.1" if parts.scheme == "inproc" else str(parts.hostname)


def _joined(ids_of_blocks: dict[int, Array]) -> Array:
    """Return the different queries of several blocks."""
    return np.unique(np.concatenate(list(ids_of_blocks.values()))) if ids_of_blocks else np.empty(0)
