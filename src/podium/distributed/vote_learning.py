"""The rounds of AdaBoost.OR on Dask as the driver goes through them."""

from __future__ import annotations

import numpy as np

from podium._validation import Array, PodiumError
from podium.distributed.held_boosting import BeginReport
from podium.distributed.held_grades import AdaBoostOR, OrdinalRound
from podium.distributed.team import Team
from podium.distributed.team_learning import TeamBoosting, TeamEvaluation
from podium.ordinal import MeanCost, OrdinalData
from podium.rankers.score_start import InitModel


def learn_votes(ranker: AdaBoostOR, team: Team, begun: BeginReport, init_model: InitModel) -> None:
    """Go through the rounds of AdaBoost.OR, and keep what was learned."""
    facts = begun.grades
    if facts is None:
        raise PodiumError("The workers have told nothing of grades.")
    data, rounds = RemoteGrades.of(team, begun), TeamBoosting[OrdinalRound](team)
    sets = [TeamEvaluation(team, number) for number in range(len(team.sources) - 1)]
    ranker._boost(rounds, sets, [MeanCost()], ranker._rounds_before(init_model), data, lambda reason: reason)
    ranker._keep_costs(team.train_costs(), facts.largest, facts.constant)
    ranker._describe(data)
    ranker.costs_convex_, ranker.training_summary_ = facts.convex, dict(facts.summary)


class RemoteGrades(OrdinalData):
    """What the driver knows of rows of an ordinal ranker that lie on workers."""

    digest: int

    @classmethod
    def of(cls, team: Team, begun: BeginReport) -> RemoteGrades:
        """Return what workers have told."""
        nothing, classes = np.empty(0), begun.labels if team.grades is None else team.grades
        data = cls(np.empty((0, team.n_features)), team.names, nothing, nothing, classes, True, nothing, nothing)
        object.__setattr__(data, "digest", begun.digest)
        return data

    def columns(self) -> tuple[Array, ...]:
        """Return what another data set differs in."""
        return (np.array([self.digest], np.uint64),)
