"""The rounds that a worker does together with the others, for each kind of ranker that can be trained on Dask."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from podium._exchange import Exchange
from podium._validation import Array, NoPairsError, check_seed
from podium.boosting import Boosting, Stop
from podium.data import RankingData, column_facts
from podium.distributed.held_grades import AdaBoostOR, GradeFacts, GradeStart, OrdinalRound, ORStump, grades_ready
from podium.distributed.part_table import PartTable, ranking_data
from podium.losses import Loss
from podium.pairs import Round
from podium.rankers.boosted_trees import TreeRanker
from podium.rankers.rankboost import RankBoost
from podium.rankers.score_start import InitModel, Start
from podium.trees import TreeRound

__all__ = [
    "AdaBoostOR",
    "BeginReport",
    "DaskBoosting",
    "DaskRanker",
    "DaskRound",
    "GradeStart",
    "OrdinalRound",
    "TreeRanker",
    "make_ready",
    "round_bytes",
]

DaskRanker: TypeAlias = TreeRanker | RankBoost | AdaBoostOR
"""What can be trained on Dask."""
DaskRound: TypeAlias = TreeRound | Round | OrdinalRound
DaskBoosting: TypeAlias = Boosting[Any]
"""Rounds of one of these kinds."""
NOTHING = "There is nothing to rank: in no query of any part two rows that count have different labels."


class BeginReport(NamedTuple):
    """What all workers together know before the first round.

    Attributes
    ----------
    start : float
        What scores begin with.
    n_rows, n_queries, n_pairs, n_missing : int
    labels : ndarray
        The different ones.
    digest : int
        Of all rows, in any order.
    flat_reason : str or None
        Why the labels of a part teach nothing.
    grades : GradeFacts or None
        Of ordinal rankers.
    """

    start: float
    n_rows: int
    n_queries: int
    n_pairs: int
    n_missing: int
    labels: Array
    digest: int
    flat_reason: str | None
    grades: GradeFacts | None = None


class Ready(NamedTuple):
    """What a worker has before the first round: its rounds, what scores begin with, and what is told of the rows."""

    boosting: DaskBoosting
    start: Start | GradeStart
    report: BeginReport


def make_ready(ranker: DaskRanker, table: PartTable, init_model: InitModel, threads: int, exchange: Exchange) -> Ready:
    """Make ready for the first round."""
    if isinstance(ranker, AdaBoostOR):
        votes, classes, digest, facts = grades_ready(ranker, table, threads, exchange)
        report = BeginReport(0.0, facts.summary["rows"], 0, 0, 0, classes, digest, None, facts)
        return Ready(votes, GradeStart(classes, ranker.cost), report)
    data = ranking_data(table, exchange)
    rounds, start, flat_reason = _rounds_ready(ranker, data, init_model, threads, exchange)
    labels = np.zeros(0) if data.labels is None else np.unique(data.labels)
    digest = int(exchange.sum(np.array([data.queries.place_keys().sum()], np.uint64))[0])
    report = BeginReport(
        float(start.score), exchange.count(len(data.queries.rows)), exchange.count(len(data.queries)),
        exchange.count(0 if data.pairs is None else len(data.pairs.better)),
        exchange.count(int(column_facts(data.features).missing.sum())),
        np.unique(exchange.gather_rows(labels)), digest, flat_reason,
    )  # fmt: skip
    return Ready(rounds, start, report)


def _rounds_ready(
    ranker: TreeRanker | RankBoost, data: RankingData, init_model: InitModel, threads: int, exchange: Exchange
) -> tuple[DaskBoosting, Start, str | None]:
    """Return the rounds of a ranker of queries; what is said where no part has a pair is said of all."""
    try:
        if isinstance(ranker, RankBoost):
            return ranker._make_boosting(data, threads, exchange), Start(None, 0.0), None
        seed = check_seed(ranker.random_state)
        loss: Loss = ranker._make_loss(data, threads, seed, exchange)
    except NoPairsError:
        raise NoPairsError(NOTHING) from None
    start = ranker._start_after(init_model, loss)
    boosting = ranker._make_boosting(data, loss, start, threads, seed, exchange)
    return boosting, start, loss.flat_reason()


def round_bytes(result: DaskRound | Stop) -> bytes:
    """Return all that a round is, the same on all workers."""
    if isinstance(result, OrdinalRound):
        stump = result.ranker.stump_ if isinstance(result.ranker, ORStump) else None
        told = () if stump is None else (stump.feature, stump.direction, stump.missing, stump.thresholds.tolist())
        return repr((result.epsilon, result.weight, *told)).encode()
    if not isinstance(result, TreeRound):
        return repr(result).encode()
    tree = result.ranking
    columns = (
        tree.feature, tree.threshold, tree.missing_left, tree.left, tree.right, tree.value, tree.count, tree.set_of,
        tree.sets,
    )  # fmt: skip
    return b"".join(np.ascontiguousarray(column).tobytes() for column in columns)
