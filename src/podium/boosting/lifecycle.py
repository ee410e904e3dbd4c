"""The protocol of boosting, and the loop t = 1 … T that drives it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from podium.boosting.monitor import Monitor, MonitoredRound

AnyRound = TypeVar("AnyRound", bound=MonitoredRound)


@dataclass(frozen=True)
class Stop:
    """What a step returns instead of a round when there is nothing more to learn.

    Attributes
    ----------
    reason : str
        Why; the fit's `stop_reason_`.
    """

    reason: str


class Boosting(Protocol[AnyRound]):
    """An algorithm that learns in rounds, with the state that one round leaves to the next."""

    def step(self, number: int) -> AnyRound | Stop:
        """Learn round `number`, counted from 1, and take it into the state; or say why there is none."""

    def replay(self, round_: AnyRound) -> None:
        """Take a round of an earlier run into the state, as if it had just been learned."""


def run(
    boosting: Boosting[AnyRound], monitor: Monitor[AnyRound], n_rounds: int, before: Sequence[AnyRound] = ()
) -> None:
    """Replay earlier rounds, then learn until there are `n_rounds` in all, no step is left, or the monitor stops.

    Replayed rounds are measured too, so that a run ends where one without interruption would have ended.

    Parameters
    ----------
    boosting : Boosting
    monitor : Monitor
        Has the rounds afterwards.
    n_rounds : int
        Rounds in all.
    before : sequence of rounds
        Of an earlier model or a checkpoint.
    """
    for round_ in before[:n_rounds]:
        if monitor.stopped:
            break
        boosting.replay(round_)
        monitor.replay(round_)
    with monitor:
        while len(monitor.rounds) < n_rounds and not monitor.stopped:
            result = boosting.step(len(monitor.rounds) + 1)
            if isinstance(result, Stop):
                monitor.stop(result.reason)
            else:
                monitor.observe(result)
