"""The rounds that a worker does together with the others, for each kind of ranker that can be trained on Dask."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from podium._exchange import Exchange
from podium._validation import NoPairsError, check_seed
from podium.boosting import Boosting, Stop
from podium.data import RankingData
from podium.losses import Loss
from podium.pairs import Round
from podium.rankers.boosted_trees import TreeRanker
from podium.rankers.rankboost import RankBoost
from podium.rankers.score_start import InitModel, Start
from podium.trees import TreeRound

DaskRanker: TypeAlias = TreeRanker | RankBoost
"""What can be trained on Dask."""
DaskRound: TypeAlias = TreeRound | Round
DaskBoosting: TypeAlias = Boosting[Any]
"""Rounds of one of these kinds."""
NOTHING = "There is nothing to rank: in no query of any part two rows that count have different labels."


class Ready(NamedTuple):
    """What a worker has before the first round.

    Attributes
    ----------
    boosting : Boosting
    start : Start
        What scores begin with.
    flat_reason : str or None
        Why the labels of this part teach nothing.
    """

    boosting: DaskBoosting
    start: Start
    flat_reason: str | None


def make_ready(ranker: DaskRanker, data: RankingData, init_model: InitModel, threads: int, exchange: Exchange) -> Ready:
    """Make ready for the first round; what is said where no part has a pair is said of all."""
    try:
        if isinstance(ranker, RankBoost):
            return Ready(ranker._make_boosting(data, threads, exchange), Start(None, 0.0), None)
        seed = check_seed(ranker.random_state)
        loss: Loss = ranker._make_loss(data, threads, seed, exchange)
    except NoPairsError:
        raise NoPairsError(NOTHING) from None
    start = ranker._start_after(init_model, loss)
    boosting = ranker._make_boosting(data, loss, start, threads, seed, exchange)
    return Ready(boosting, start, loss.flat_reason())


def round_bytes(result: DaskRound | Stop) -> bytes:
    """Return all that a round is, the same on all workers."""
    if not isinstance(result, TreeRound):
        return repr(result).encode()
    tree = result.ranking
    columns = (tree.feature, tree.threshold, tree.missing_left, tree.left, tree.right, tree.value, tree.count)
    return b"".join(np.ascontiguousarray(column).tobytes() for column in columns)
