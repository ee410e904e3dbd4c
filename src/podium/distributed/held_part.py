"""What a worker holds of a fit, and what it does when the driver asks: each function here is a task on a worker."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Condition
from typing import NamedTuple

import numpy as np

from podium._validation import Array, NoPairsError, PodiumError, check_seed
from podium.boosting import Stop
from podium.data import RankingData
from podium.distributed.held_evaluation import HeldEvaluation, measure_together
from podium.distributed.load_reports import LoadReport, report_of
from podium.distributed.meeting import Meeting
from podium.distributed.part_table import Block, PartTable, ranking_data, read_blocks
from podium.distributed.swap_exchange import SILENCE_SECONDS, Endpoint, SwapExchange
from podium.losses import Loss
from podium.rankers.boosted_trees import TreeRanker
from podium.rankers.score_start import InitModel, Start
from podium.trees import TreeBoosting, TreeRound


class BeginReport(NamedTuple):
    """What all workers together know before the first round."""

    start: float
    n_rows: int
    n_queries: int
    labels: Array
    digest: int
    flat_reason: str | None


class StepReport(NamedTuple):
    """What all workers together have found in a round.

    Attributes
    ----------
    result : TreeRound or Stop
    measured : int64[n_sets, n_measures, 2, DIGITS]
        See `measure_together`; nothing after a stop.
    """

    result: TreeRound | Stop
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
    boosting: TreeBoosting | None = None
    start: Start | None = None
    evals: dict[int, HeldEvaluation] = field(default_factory=dict)
    n_rounds: int = 0
    stop: Stop | None = None
    turn: Condition = field(default_factory=Condition)
    under_way: bool = False
    closed: bool = False

    def begin_round(self, number: int) -> None:
        """Wait until all rounds before are done; raise where they will not be."""
        with self.turn:
            while not self.closed and self.stop is None and self.n_rounds < number - 1:
                if not self.turn.wait(SILENCE_SECONDS) and not self.under_way:
                    raise ConnectionError("a round before this one was not asked for")
            if self.closed:
                raise ConnectionError("a worker has lost its part of the fit")
            self.under_way = True

    def end_round(self, result: TreeRound | Stop | None) -> None:
        """Let the next round begin, or none after a stop or a failure."""
        with self.turn:
            self.under_way = False
            self.n_rounds += isinstance(result, TreeRound)
            self.stop = result if isinstance(result, Stop) else None
            self.turn.notify_all()

    def close(self) -> None:
        """Let the other workers know that this one has left."""
        with self.turn:
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
    table = read_blocks(blocks)
    if table is not None:
        held = _HELD.setdefault((name, place), HeldPart(None, None))
        data = RankingData.from_arrays(table.features, table.labels, qid=table.qid)
        held.evals[number] = HeldEvaluation(data)
    return report_of(table, None)


def begin(
    name: str,
    place: int,
    rank: int,
    endpoints: Sequence[Endpoint],
    token: bytes,
    ranker: TreeRanker,
    init_model: InitModel,
    threads: int,
) -> BeginReport:
    """Meet the other workers and make ready for the first round."""
    held = _held(name, place)
    if held.table is None or held.meeting is None:
        raise PodiumError("A worker without rows takes no part in a fit.")
    held.exchange = exchange = held.meeting.meet(rank, endpoints, token)
    try:
        data, seed = ranking_data(held.table, exchange), check_seed(ranker.random_state)
        loss = _make_loss(ranker, data, threads, seed, exchange)
        held.start = start = ranker._start_after(init_model, loss)
        held.boosting = ranker._make_boosting(data, loss, start, threads, seed, exchange)
        labels = np.zeros(0) if data.labels is None else np.unique(data.labels)
        digest = exchange.sum(np.array([data.queries.place_keys().sum()], np.uint64))
        return BeginReport(
            float(start.score), exchange.count(len(data.queries.rows)), exchange.count(len(data.queries)),
            np.unique(exchange.gather_rows(labels)), int(digest[0]), loss.flat_reason(),
        )  # fmt: skip
    except BaseException:
        held.close()
        raise
    finally:
        held.table = None


def _make_loss(ranker: TreeRanker, data: RankingData, threads: int, seed: int, exchange: SwapExchange) -> Loss:
    """Return the loss of a part; what is said where no part has a pair is said of all."""
    try:
        return ranker._make_loss(data, threads, seed, exchange)
    except NoPairsError:
        raise NoPairsError(
            "There is nothing to rank: in no query of any part two rows that count have different labels."
        ) from None


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
        if isinstance(result, TreeRound):  # 3
            for one in held.evals.values():
                one.add(result, held.start)
        measured = measure_together(
            held.evals, n_sets if isinstance(result, TreeRound) else 0, names, held.exchange
        )  # fmt: skip
    except BaseException:
        held.close()
        raise
    finally:
        held.end_round(result)
    return StepReport(result, measured) if held.exchange.rank == 0 else None


def _check_same(result: TreeRound | Stop, exchange: SwapExchange) -> None:
    """Refuse workers that have grown different trees."""
    found = result.reason.encode() if isinstance(result, Stop) else _tree_bytes(result)
    digests = exchange.gather(np.frombuffer(hashlib.sha256(found).digest(), np.uint8))
    if (digests != digests[0]).any():
        raise PodiumError(
            "The workers have grown different trees, which must not be: their processors or libraries compute "
            "differently; run all workers on machines of one kind."
        )


def catch_up(name: str, place: int, rounds: Sequence[TreeRound]) -> None:
    """Take earlier rounds into the scores of training and evaluation rows."""
    held = _HELD.get((name, place), HeldPart(None, None))
    for round_ in rounds:
        if held.boosting is not None:
            held.boosting.replay(round_)
        for one in held.evals.values():
            one.add(round_, held.start)
    held.n_rounds += len(rounds)


def start_evaluation(name: str, place: int, start: Start) -> None:
    """Let the scores of evaluation rows begin where those of the training rows do."""
    _held(name, place).start = start


def measure(name: str, place: int, number: int, n_rounds: int, round_: TreeRound, names: Sequence[str]) -> Array:
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


def _boosting(held: HeldPart) -> TreeBoosting:
    """Return the rounds that were made ready."""
    if held.boosting is None:
        raise PodiumError("A worker is asked for a round before the fit has begun.")
    return held.boosting


def _tree_bytes(round_: TreeRound) -> bytes:
    """Return all that a tree is."""
    tree = round_.ranking
    columns = (tree.feature, tree.threshold, tree.missing_left, tree.left, tree.right, tree.value, tree.count)
    return b"".join(np.ascontiguousarray(column).tobytes() for column in columns)
