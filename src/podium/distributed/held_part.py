"""What a worker holds of a fit, and what it does when the driver asks: each function here is a task on a worker."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from socket import socket
from typing import Any, NamedTuple

import numpy as np

from podium._exact import digits_of
from podium._validation import Array, PodiumError
from podium._version import __version__
from podium.boosting import StagedScores, Stop
from podium.data import RankingData
from podium.distributed.held_boosting import DaskBoosting, DaskRanker, DaskRound, make_ready, round_bytes
from podium.distributed.part_table import Block, PartTable, ranking_data, read_blocks
from podium.distributed.socket_exchange import Endpoint, SocketExchange, listen
from podium.measures import measure_many, parse_measure
from podium.rankers.score_start import InitModel, Start


class LoadReport(NamedTuple):
    """What a worker says of the rows that it has read.

    Attributes
    ----------
    n_rows : int
    n_features : int
    names : tuple of str or None
    dtype : str
        Of the features.
    ids_of_blocks : dict of int to ndarray
        The different queries of each block.
    endpoint : Endpoint or None
        Where it listens, for training rows alone.
    machine : tuple of str
        What must be alike on all workers for the same bits: versions, and how logarithms and exponentials come out.
    """

    n_rows: int
    n_features: int
    names: tuple[str, ...] | None
    dtype: str
    ids_of_blocks: dict[int, Array]
    endpoint: Endpoint | None
    machine: tuple[str, ...]


class BeginReport(NamedTuple):
    """What all workers together know before the first round."""

    start: float
    n_rows: int
    n_queries: int
    n_pairs: int
    labels: Array
    digest: int
    flat_reason: str | None


@dataclass(eq=False)
class HeldPart:
    """What one worker holds of one fit."""

    table: PartTable | None
    server: socket | None
    exchange: SocketExchange | None = None
    boosting: DaskBoosting | None = None
    start: Start | None = None
    evals: dict[int, HeldEvaluation] = field(default_factory=dict)

    def close(self) -> None:
        """Let the other workers know that this one has left."""
        for one in (self.exchange, self.server):
            if one is not None:
                one.close()


@dataclass(eq=False)
class HeldEvaluation:
    """The part of an evaluation set that a worker holds, and how many rounds are in its scores."""

    data: RankingData
    staged: StagedScores | None = None
    n_rounds: int = 0


_HELD: dict[tuple[str, int], HeldPart] = {}
"""What this process holds, by the name of the fit's attempt and the worker's place in it."""


def load(name: str, place: int, host: str, blocks: Sequence[Block]) -> LoadReport:
    """Read the training rows of a worker, and listen for the others."""
    drop(name, place)
    table = read_blocks(blocks)
    server = None if table is None else listen(host)
    _HELD[name, place] = HeldPart(table, server)
    endpoint = None if server is None else Endpoint(host, server.getsockname()[1])
    return _report(table, endpoint)


def load_evaluation(name: str, place: int, number: int, blocks: Sequence[Block]) -> LoadReport:
    """Read the rows of an evaluation set."""
    table = read_blocks(blocks)
    if table is not None:
        held = _HELD.setdefault((name, place), HeldPart(None, None))
        data = RankingData.from_arrays(table.features, table.labels, qid=table.qid)
        held.evals[number] = HeldEvaluation(data)
    return _report(table, None)


def _report(table: PartTable | None, endpoint: Endpoint | None) -> LoadReport:
    """Say what has been read."""
    if table is None:
        return LoadReport(0, 0, None, "", {}, None, machine())
    shape = table.features.shape
    return LoadReport(
        shape[0], shape[1], table.names, str(table.features.dtype), table.ids_of_blocks, endpoint, machine()
    )  # fmt: skip


def machine() -> tuple[str, ...]:
    """Return what must be alike on all workers for the same bits."""
    values = np.linspace(0.01, 30.0, 1000)
    bits = np.concatenate([np.exp(values), np.log(values), np.exp2(values), np.log2(values), np.log1p(values)])
    digest = hashlib.sha256(bits.tobytes()).hexdigest()[:12]
    return __version__, np.__version__, platform.machine(), f"elementary functions {digest}"


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
    if held.table is None or held.server is None:
        raise PodiumError("A worker without rows takes no part in a fit.")
    held.exchange = exchange = SocketExchange(held.server, rank, endpoints, token)
    try:
        data = ranking_data(held.table, exchange)
        held.boosting, held.start, flat_reason = make_ready(ranker, data, init_model, threads, exchange)
        labels = np.zeros(0) if data.labels is None else np.unique(data.labels)
        digest = exchange.sum(np.array([data.queries.place_keys().sum()], np.uint64))
        return BeginReport(
            float(held.start.score), exchange.count(len(data.queries.rows)), exchange.count(len(data.queries)),
            exchange.count(0 if data.pairs is None else len(data.pairs.better)),
            np.unique(exchange.gather_rows(labels)), int(digest[0]), flat_reason,
        )  # fmt: skip
    except BaseException:
        held.close()
        raise
    finally:
        held.table = None


def step(name: str, place: int, number: int) -> tuple[DaskRound | Stop | None, str]:
    """Do one round together with the other workers; return it, from the first worker alone, and its digest."""
    held = _held(name, place)
    try:
        result = _boosting(held).step(number)
    except BaseException:
        held.close()
        raise
    first = held.exchange is not None and held.exchange.rank == 0
    return (result if first else None), hashlib.sha256(round_bytes(result)).hexdigest()


def catch_up(name: str, place: int, rounds: Sequence[DaskRound]) -> None:
    """Take earlier rounds into the scores of training and evaluation rows."""
    held = _HELD.get((name, place), HeldPart(None, None))
    for round_ in rounds:
        if held.boosting is not None:
            held.boosting.replay(round_)
        for one in held.evals.values():
            _staged(held, one).add(round_)
            one.n_rounds += 1


def start_evaluation(name: str, place: int, start: Start) -> None:
    """Let the scores of evaluation rows begin where those of the training rows do."""
    _held(name, place).start = start


def measure(
    name: str, place: int, number: int, n_rounds: int, round_: DaskRound, names: Sequence[str]
) -> dict[str, tuple[Array, Array]] | None:
    """Take a round into the scores of an evaluation set, unless it is there, and measure the queries held here.

    Returns the digits of Σ value · weight and of Σ weight for each measure, over the queries that have a value; None
    where no row is held.
    """
    held = _HELD.get((name, place))
    one = None if held is None else held.evals.get(number)
    if held is None or one is None:
        return None
    staged = _staged(held, one)
    if one.n_rounds < n_rounds:
        staged.add(round_)
        one.n_rounds = n_rounds
    queries, measures = one.data.queries, [parse_measure(name) for name in names]
    if one.data.labels is None:
        return None
    found = measure_many(measures, one.data.labels, staged.scores[queries.rows], queries.offsets)
    return {key: _weighted_digits(values.values, values.weights) for key, values in found.items()}


def _weighted_digits(values: Array, weights: Array) -> tuple[Array, Array]:
    """Return what `weighted_mean` divides, as digits."""
    known = ~np.isnan(values)
    return digits_of(values[known] * weights[known]), digits_of(weights[known])


def drop(name: str, place: int) -> None:
    """Forget a fit."""
    held = _HELD.pop((name, place), None)
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


def _staged(held: HeldPart, one: HeldEvaluation) -> StagedScores:
    """Return the scores of an evaluation set."""
    if one.staged is None:
        start: Any = 0.0 if held.start is None else held.start.scores(one.data.features)
        one.staged = StagedScores(one.data.features, start)
    return one.staged
