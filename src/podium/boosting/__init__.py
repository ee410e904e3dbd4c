"""One lifecycle for every boosted ranker: steps, the loop, what watches it, the file that a killed fit goes on from.

A boosted ranker writes a `Boosting`: ``step(number)`` does the paper's numbered steps, ``replay(round_)`` takes a round
of an earlier run again. `run` drives it; a `Monitor` measures evaluation sets, stops early, shows progress and hears
Ctrl-C; a `Checkpoint` keeps the rounds.
"""

from __future__ import annotations

from podium.boosting.checkpoint import Checkpoint, check_checkpoint, fingerprint
from podium.boosting.evaluation_sets import (
    EvaluationSet,
    ScoredRound,
    Staged,
    StagedScores,
    evaluation_sets,
    measured_sets,
    named_sets,
)
from podium.boosting.functional_gradient import (
    NOTHING_FOLLOWS,
    BaseLearner,
    BaseModel,
    FunctionalGradient,
    Learned,
    ResponseRound,
)
from podium.boosting.lifecycle import Boosting, Stop, run
from podium.boosting.monitor import Criterion, Monitor, MonitoredRound, RoundEvaluator

__all__ = [
    "NOTHING_FOLLOWS",
    "BaseLearner",
    "BaseModel",
    "Boosting",
    "Checkpoint",
    "Criterion",
    "EvaluationSet",
    "FunctionalGradient",
    "Learned",
    "Monitor",
    "MonitoredRound",
    "ResponseRound",
    "RoundEvaluator",
    "ScoredRound",
    "Staged",
    "StagedScores",
    "Stop",
    "check_checkpoint",
    "evaluation_sets",
    "fingerprint",
    "measured_sets",
    "named_sets",
    "run",
]
