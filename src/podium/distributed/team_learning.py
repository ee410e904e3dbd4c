"""The rounds of a fit on Dask as the driver goes through them: the lifecycle of every fit, its steps on workers."""

from __future__ import annotations

from functools import partial
from typing import Generic, TypeVar

import numpy as np

from podium._exact import rounded
from podium._validation import Array
from podium.boosting import Stop
from podium.data import Queries, RankingData
from podium.distributed.held_boosting import BeginReport, OrdinalRound, TreeRanker
from podium.distributed.team import Team
from podium.pairs import Round
from podium.rankers.boosted import why_no_ranking
from podium.rankers.rankboost import RankBoost
from podium.rankers.score_start import InitModel
from podium.trees import TreeRound

AnyRound = TypeVar("AnyRound", Round, TreeRound, OrdinalRound)


def learn(ranker: TreeRanker | RankBoost, team: Team, begun: BeginReport, init_model: InitModel) -> None:
    """Go through the rounds on the driver, and keep what was learned."""
    data = RemoteData.of(team, begun)
    measures = ranker._evaluation_sets([], 1)[1]
    sets = [TeamEvaluation(team, number) for number in range(len(team.sources) - 1)]
    if isinstance(ranker, RankBoost):
        pair_rounds, why = TeamBoosting[Round](team), partial(why_no_ranking, None)
        ranker._boost(pair_rounds, sets, measures, ranker._rounds_before(init_model), data, why)
    else:
        tree_rounds, start = TeamBoosting[TreeRound](team), team._start(begun)
        known = data, start, begun.n_rows, lambda: begun.flat_reason
        ranker._boost_trees(tree_rounds, sets, measures, init_model, *known)
    ranker._describe(data)
    counts = {"rows": begun.n_rows, "queries": begun.n_queries, "pairs": begun.n_pairs, "missing": begun.n_missing}
    ranker.training_summary_ |= counts


class TeamBoosting(Generic[AnyRound]):
    """The rounds of a fit on the workers of a cluster."""

    def __init__(self, team: Team) -> None:
        self.team = team

    def step(self, number: int) -> AnyRound | Stop:
        """Let the workers learn the next round."""
        found: AnyRound | Stop = self.team.step(number)
        if not isinstance(found, Stop):
            self.team.rounds.append(found)
        return found

    def replay(self, round_: AnyRound) -> None:
        """Let the workers take an earlier round."""
        self.team.rounds.append(round_)
        self.team.take(round_)


class TeamEvaluation:
    """An evaluation set on the workers of a cluster."""

    def __init__(self, team: Team, number: int) -> None:
        self.team, self.number, self.name = team, number, f"validation_{number}"

    def add(self, round_: object) -> dict[str, float]:
        """Return the mean of each measure over all queries, from exact sums, after a round that the team has taken."""
        return dict(zip(self.team.measures, map(_mean, self.team.measure(self.number)), strict=True))


def _mean(digits: Array) -> float:
    """Return Σ value · weight over Σ weight, NaN where nothing weighs."""
    total, weight = rounded(digits)
    return float(total / weight) if weight > 0 else float("nan")


class RemoteData(RankingData):
    """What the driver knows of rows that lie on workers: columns, labels, and a digest that no order changes."""

    digest: int

    @classmethod
    def of(cls, team: Team, begun: BeginReport) -> RemoteData:
        """Return what workers have told."""
        nothing = np.empty(0)
        data = cls(
            np.empty((0, team.n_features)), team.names, Queries(nothing, nothing, nothing), begun.labels, nothing,
            nothing, None, team.categories,
        )  # fmt: skip
        object.__setattr__(data, "digest", begun.digest)
        return data

    def columns(self) -> tuple[Array | None, ...]:
        """Return what another data set differs in."""
        return (np.array([self.digest], np.uint64),)
