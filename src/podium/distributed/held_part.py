"""What a worker holds of a fit, and what it does when the driver asks: each function here is a task on a worker."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from socket import socket
from typing import NamedTuple

import numpy as np

from podium._exchange import Exchange
from podium._validation import Array, NoPairsError, PodiumError, check_seed
from podium._version import __version__
from podium.boosting import Stop
from podium.data import RankingData
from podium.distributed.held_evaluation import HeldEvaluation
from podium.distributed.part_table import Block, PartTable, ranking_data, read_blocks
from podium.distributed.socket_exchange import Endpoint, SocketExchange, listen
from podium.losses import Loss
from podium.rankers.boosted_trees import TreeRanker
from podium.rankers.score_start import InitModel, Start
from podium.trees import TreeBoosting, TreeRound


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
    labels: Array
    digest: int
    flat_reason: str | None


@dataclass(eq=False)
class HeldPart:
    """What one worker holds of one fit."""

    table: PartTable | None
    server: socket | None
    exchange: SocketExchange | None = None
    boosting: TreeBoosting | None = None
    start: Start | None = None
    evals: dict[int, HeldEvaluation] = field(default_factory=dict)

    def close(self) -> None:
        """Let the other workers know that this one has left."""
        for one in (self.exchange, self.server):
            if one is not None:
                one.close()


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
    ranker: TreeRanker,
    init_model: InitModel,
    threads: int,
) -> BeginReport:
    """Meet the other workers and make ready for the first round."""
    held = _held(name, place)
    if held.table is None or held.server is None:
        raise PodiumError("A worker without rows takes no part in a fit.")
    held.exchange = exchange = SocketExchange(held.server, rank, endpoints, token)
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


def _make_loss(ranker: TreeRanker, data: RankingData, threads: int, seed: int, exchange: Exchange) -> Loss:
    """Return the loss of a part; what is said where no part has a pair is said of all."""
    try:
        return ranker._make_loss(data, threads, seed, exchange)
    except NoPairsError:
        raise NoPairsError(
            "There is nothing to rank: in no query of any part two rows that count have different labels."
        ) from None


def step(name: str, place: int, number: int) -> tuple[TreeRound | Stop | None, str]:
    """Do one round together with the other workers; return it, from the first worker alone, and its digest."""
    held = _held(name, place)
    try:
        result = _boosting(held).step(number)
    except BaseException:
        held.close()
        raise
    found = result.reason.encode() if isinstance(result, Stop) else _tree_bytes(result)
    first = held.exchange is not None and held.exchange.rank == 0
    return (result if first else None), hashlib.sha256(found).hexdigest()


def catch_up(name: str, place: int, rounds: Sequence[TreeRound]) -> None:
    """Take earlier rounds into the scores of training and evaluation rows."""
    held = _HELD.get((name, place), HeldPart(None, None))
    for round_ in rounds:
        if held.boosting is not None:
            held.boosting.replay(round_)
        for one in held.evals.values():
            one.add(round_, one.n_rounds + 1, held.start)


def start_evaluation(name: str, place: int, start: Start) -> None:
    """Let the scores of evaluation rows begin where those of the training rows do."""
    _held(name, place).start = start


def measure(
    name: str, place: int, number: int, n_rounds: int, round_: TreeRound, names: Sequence[str]
) -> dict[str, tuple[Array, Array]] | None:
    """Take a round into the scores of an evaluation set, unless it is there, and measure the queries held here.

    Returns the digits of Σ value · weight and of Σ weight for each measure, over the queries that have a value; None
    where no row is held.
    """
    held = _HELD.get((name, place))
    one = None if held is None else held.evals.get(number)
    if held is None or one is None:
        return None
    one.add(round_, n_rounds, held.start)
    return one.measure(names, held.start)


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
