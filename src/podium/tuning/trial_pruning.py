"""The Monitor of a trial: it tells the measure to Optuna as the rounds go, and ends a fit that falls behind."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from podium.boosting import Monitor, MonitoredRound

AnyRound = TypeVar("AnyRound", bound=MonitoredRound)

REPORT_EVERY = 5
"""Rounds between reports: each is written to the storage file."""
PRUNED = "other trials were better after as many rounds"


class Reports(Protocol):
    """What a monitor needs of a trial of Optuna."""

    def report(self, value: float, step: int) -> None:
        """Take a value after so many rounds."""

    def should_prune(self) -> bool:
        """Say whether earlier trials were better by then."""


class PrunedMonitor(Monitor[AnyRound]):
    """A Monitor that also asks a trial whether the fit is worth going on with.

    Parameters
    ----------
    trial : Reports
    *args, **options
        As for `Monitor`.
    """

    def __init__(self, trial: Reports, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.trial = trial

    def replay(self, round_: AnyRound) -> None:
        """Take note of a round; every few, report the deciding measure, higher is better."""
        super().replay(round_)
        step = len(self.rounds)
        if not self.evals or step % REPORT_EVERY:
            return
        value = self.history[self.evals[-1].name][self.measures[0].name][-1]
        self.trial.report(value if self.measures[0].higher_is_better else -value, step)
        if self.trial.should_prune():
            self.stop(PRUNED)
