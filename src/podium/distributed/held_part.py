"""What a worker holds of a fit, and what it does when the driver asks: each function here is a task on a worker."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Condition
from typing import NamedTuple

import numpy as np

from podium._validation import Array, PodiumError
from podium.boosting import Stop
from podium.data import RankingData
from podium.distributed.freed_memory import FREED_MEMORY
from podium.distributed.held_boosting import BeginReport, DaskBoosting, DaskRanker, DaskRound, make_ready, round_bytes
from podium.distributed.held_evaluation import HeldEvaluation, measure_together
from podium.distributed.held_grades import GradeStart
from podium.distributed.load_reports import LoadReport, report_of
from podium.distributed.meeting import Meeting
from podium.distributed.part_table import Block, PartTable, read_blocks
from podium.distributed.swap_exchange import ANSWER_LIMIT_SECONDS, Endpoint, SwapExchange
from podium.rankers.score_start import InitModel, Start


class StepReport(NamedTuple):
    """What all workers together have found in a round.

    Attributes
    ----------
    result : DaskRound or Stop
    measured : int64[n_sets, n_measures, 2, DIGITS]
        See `measure_together`; nothing after a stop.
    """

    result: DaskRound | Stop
    measured: Array


@dataclass(eq=False)
class HeldPart:
    """What one worker holds of one fit.

    Attributes
    ----------
    n_rounds : int
        Rounds that are in the scores of the training rows.
    stop : Stop, optional
        Why there are no more.
    turn : Condition
        Rounds are asked for before they can begin; each waits for its turn.
    under_way, closed : bool
        Whether a round is, and whether there will be none any more.
    """

    table: PartTable | None
    meeting: Meeting | None
    exchange: SwapExchange | None = None
    boosting: DaskBoosting | None = None
    start: Start | GradeStart | None = None
    evals: dict[int, HeldEvaluation] = field(default_factory=dict)
    n_rounds: int = 0
    stop: Stop | None = None
    turn: Condition = field(default_factory=Condition)
    under_way: bool = False
    closed: bool = False

    def __post_init__(self) -> None:
        FREED_MEMORY.keep()

    def begin_round(self, number: int) -> None:
        """Wait until all rounds before are done; raise where they will not be."""
        with self.turn:
            while not self.closed and self.stop is None and self.n_rounds < number - 1:
                if not self.turn.wait(ANSWER_LIMIT_SECONDS) and not self.under_way:
                    raise ConnectionError("a round before this one was not asked for")
            if self.closed:
                raise ConnectionError("a worker has lost its part of the fit")
            self.under_way = True

    def end_round(self, result: DaskRound | Stop | None) -> None:
        """Let the next round begin, or none after a stop or a failure."""
        with self.turn:
            self.under_way = False
            self.n_rounds += not isinstance(result, Stop | None)
            self.stop = result if isinstance(result, Stop) else None
            self.turn.notify_all()

    def close(self) -> None:
        """Let the other workers know that this one has left."""
        with self.turn:
            if not self.closed:
                FREED_MEMORY.give_back()
            self.closed = True
            self.turn.notify_all()
        if self.exchange is not None:
            self.exchange.close()
        if self.meeting is not None:
            self.meeting.close()


_HELD: dict[tuple[str, int], HeldPart] = {}
"""What this process holds, by the name of the fit's attempt and the worker's place in it."""


def load(name: str, place: int, host: str | None, blocks: Sequence[Block]) -> LoadReport:
    """Read the training rows of a worker, and wait for the others: on its host, or without one by Dask itself."""
    drop(name, place)
    table = read_blocks(blocks)
    meeting = None if table is None else Meeting(host)
    _HELD[name, place] = HeldPart(table, meeting)
    return report_of(table, None if meeting is None else meeting.endpoint)


def load_evaluation(name: str, place: int, number: int, blocks: Sequence[Block]) -> LoadReport:
    """Read the rows of an evaluation set."""
    try:
        table = read_blocks(blocks)
    except PodiumError as error:
        raise PodiumError(f"eval_set[{number}]: {error}") from None
    if table is not None:
        held = _HELD[name, place] = _HELD.get((name, place)) or HeldPart(None, None)
        data = RankingData.from_arrays(table.features, table.labels, qid=table.qid)
        held.evals[number] = HeldEvaluation(data)
    return report_of(table, None)


def begin(
    name: str,
    place: int,
    rank: int,
    endpoints: Sequence[Endpoint],
    token: bytes,
    ranker: DaskRanker,
    init_model: InitModel,
    threads: int,
) -> BeginReport:
    """Meet the other workers and make ready for the first round."""
    held = _held(name, place)
    if held.table is None or held.meeting is None:
        raise PodiumError("A worker without rows takes no part in a fit.")
    held.exchange = exchange = held.meeting.meet(rank, endpoints, token)
    try:
        held.boosting, held.start, report = make_ready(ranker, held.table, init_model, threads, exchange)
        return report
    except BaseException:
        held.close()
        raise
    finally:
        held.table = None


def steps(name: str, place: int, numbers: Sequence[int], n_sets: int, names: Sequence[str]) -> list[StepReport]:
    """Do some rounds, up to a stop; the first worker reports them."""
    found: list[StepReport | None] = []
    for number in numbers:
        found.append(step(name, place, number, n_sets, names))
        if _held(name, place).stop is not None:
            break
    return [one for one in found if one is not None]


def step(name: str, place: int, number: int, n_sets: int, names: Sequence[str]) -> StepReport | None:
    """Do one round together with the other workers, and measure the evaluation sets; the first worker reports.

    1. Wait for the rounds before, which were asked for earlier.
    2. Learn the round, and see that all workers have found the same.
    3. Take it into the scores of the evaluation sets and measure these.
    """
    held = _held(name, place)
    held.begin_round(number)  # 1
    result = None
    try:
        result = _boosting(held).step(number) if held.stop is None else held.stop  # 2
        if held.exchange is None:
            raise ConnectionError("a worker has lost its part of the fit")
        _check_same(result, held.exchange)
        if not isinstance(result, Stop):  # 3
            for one in held.evals.values():
                one.add(result, held.start)
        measured = measure_together(
            held.evals, 0 if isinstance(result, Stop) else n_sets, names, held.exchange
        )  # fmt: skip
    except BaseException:
        held.close()
        raise
    finally:
        held.end_round(result)
    return StepReport(result, measured) if held.exchange.rank == 0 else None


def _check_same(result: DaskRound | Stop, exchange: SwapExchange) -> None:
    """Refuse workers that have found different rounds."""
    digests = exchange.gather(np.frombuffer(hashlib.sha256(round_bytes(result)).digest(), np.uint8))
    if (digests != digests[0]).any():
        raise PodiumError(
            "The workers have found different rounds, which must not be: their processors or libraries compute "
            "differently; run all workers on machines of one kind."
        )


def catch_up(name: str, place: int, rounds: Sequence[DaskRound]) -> None:
    """Take earlier rounds into the scores of training and evaluation rows."""
    held = _HELD.get((name, place))
    if held is None:
        return
    for round_ in rounds:
        if held.boosting is not None:
            held.boosting.replay(round_)
        for one in held.evals.values():
            one.add(round_, held.start)
        held.n_rounds += 1


def start_evaluation(name: str, place: int, start: Start | GradeStart, max_grades: Sequence[float]) -> None:
    """Let the scores of evaluation rows begin where those of the training rows do; note each set's highest label."""
    held = _held(name, place)
    held.start = start
    for number, one in held.evals.items():
        one.max_grade = max_grades[number]


def measure(name: str, place: int, number: int, n_rounds: int, round_: DaskRound, names: Sequence[str]) -> Array:
    """Take a round into the scores of an evaluation set, unless it is there, and measure the queries held here."""
    held = _held(name, place)
    one = held.evals[number]
    if one.n_rounds < n_rounds:
        one.add(round_, held.start)
    return one.measured(names)


def drop(name: str, place: int | None = None) -> None:
    """Forget a fit, or what one place holds of it; whatever waits for other workers ends."""
    for key in [one for one in list(_HELD) if one[0] == name and place in (None, one[1])]:
        held = _HELD.pop(key, None)
        if held is not None:
            held.close()


def _held(name: str, place: int) -> HeldPart:
    """Return what this process holds of a fit; nothing where it was started anew."""
    if (name, place) not in _HELD:
        raise ConnectionError("a worker has lost its part of the fit")
    return _HELD[name, place]


def _boosting(held: HeldPart) -> DaskBoosting:
    """Return the rounds that were made ready."""
    if held.boosting is None:
        raise PodiumError("A worker is asked for a round before the fit has begun.")
    return held.boosting


def train_costs(name: str, place: int) -> list[float]:
    """Return the mean cost of the votes on the training rows after each round of AdaBoost.OR."""
    found: list[float] = _boosting(_held(name, place)).train_costs  # type: ignore[attr-defined]
    return found
