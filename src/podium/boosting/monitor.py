"""What watches a run of rounds: history, early stopping, progress, checkpoints, Ctrl-C."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from podium._validation import PodiumError
from podium.boosting.round_progress import round_progress


class MonitoredRound(Protocol):
    """What a monitor needs of a round."""

    @property
    def progress_text(self) -> str:
        """What the progress bar says of the round where nothing is measured."""


class Criterion(Protocol):
    """What a monitor needs of a measure; `str` of it is shown in messages."""

    @property
    def name(self) -> str:
        """Key in the history."""

    @property
    def higher_is_better(self) -> bool:
        """Direction."""


AnyRound = TypeVar("AnyRound", bound=MonitoredRound)
SeenRound = TypeVar("SeenRound", contravariant=True)


class RoundEvaluator(Protocol[SeenRound]):
    """What a monitor needs of an evaluation set."""

    @property
    def name(self) -> str:
        """Key in the history."""

    def add(self, round_: SeenRound) -> dict[str, float]:
        """Take a round in and return the value of each criterion by its name."""


class Monitor(Generic[AnyRound]):
    """Watches a run of rounds: history, early stopping, progress, checkpoints, interruption.

    Parameters
    ----------
    n_rounds : int
    evals : sequence of RoundEvaluator
        The last one decides on early stopping.
    measures : sequence of Criterion
        The first one decides, in its own direction.
    patience : int, optional
        Stop when the deciding measure has not improved for so many rounds.
    verbose : int
        0 is silent, 1 shows a progress bar on standard error, or lines where that is no terminal.
    save : callable, optional
        Called with the rounds so far, every `save_every` rounds, to keep a checkpoint; never by a replay.
    save_every : int
    keep_interrupted : bool
        Whether Ctrl-C ends the run with the rounds so far; or is raised, where part of the rounds is worth nothing.

    Attributes
    ----------
    history : dict of str to dict of str to list of float
        ``history["validation_0"]["ndcg@10"][t]`` after round t + 1.
    best_round : int
        Number of rounds that predictions use: all of them, or with early stopping those after which the deciding
        measure was best.
    stopped : bool
    reason : str
        Why the run ended.
    """

    def __init__(
        self,
        n_rounds: int,
        evals: Sequence[RoundEvaluator[AnyRound]] = (),
        measures: Sequence[Criterion] = (),
        patience: int | None = None,
        verbose: int = 0,
        save: Callable[[list[AnyRound]], None] | None = None,
        save_every: int = 10,
        keep_interrupted: bool = True,
    ) -> None:
        self.evals, self.measures, self.patience = evals, measures, patience
        self.history: dict[str, dict[str, list[float]]] = {
            one.name: {measure.name: [] for measure in measures} for one in evals
        }
        self.rounds: list[AnyRound] = []
        self._best_round, self._best_value = 0, -np.inf
        self.stopped, self.reason = False, "all rounds are done"
        self._save, self._save_every, self._keep_interrupted = save, save_every, keep_interrupted
        self._progress = round_progress(n_rounds) if verbose else None

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Close the bar; turn Ctrl-C into an early end that keeps what was learned."""
        if self._progress is not None:
            self._progress.stop()
        if kind is None or not issubclass(kind, KeyboardInterrupt) or not (self.rounds and self._keep_interrupted):
            return False
        self.stop("it was interrupted")
        warnings.warn(f"Interrupted: the {len(self.rounds)} rounds learned so far are kept.", stacklevel=4)
        return True

    @property
    def best_round(self) -> int:
        """Number of rounds that predictions use."""
        return len(self.rounds) if self.patience is None or not self.evals else self._best_round

    def observe(self, round_: AnyRound) -> None:
        """Take note of a new round."""
        self.replay(round_)
        if self._save is not None and len(self.rounds) % self._save_every == 0:
            self._save(self.rounds)

    def replay(self, round_: AnyRound) -> None:
        """Take note of a round of an earlier run, which a checkpoint, if there is one, holds already."""
        # Measured before it is kept: interrupted while measuring, no round is without its values.
        measured = [(one.name, one.add(round_)) for one in self.evals]
        self.rounds.append(round_)
        for place, values in measured:
            for name, value in values.items():
                self.history[place][name].append(value)
        self._judge()
        if self._progress is not None:
            self._progress.update(len(self.rounds), self._progress_text())

    def stop(self, reason: str) -> None:
        """End the run after this round."""
        self.stopped, self.reason = True, reason

    def _judge(self) -> None:
        """Compare the deciding measure with its best, and stop where it has not improved for long enough."""
        if not self.evals:
            return
        n_rounds, measure = len(self.rounds), self.measures[0]
        value = self.history[self.evals[-1].name][measure.name][-1]
        if np.isnan(value):
            raise PodiumError(
                f"{measure} is not defined on {self.evals[-1].name}: no query there has anything to measure; "
                "give other data in eval_set or another eval_metric."
            )
        gain = value if measure.higher_is_better else -value
        if gain > self._best_value:
            self._best_round, self._best_value = n_rounds, gain
        elif self.patience is not None and n_rounds - self._best_round >= self.patience:
            direction = "highest" if measure.higher_is_better else "lowest"
            self.stop(f"{measure} of {self.evals[-1].name} was {direction} after round {self._best_round}")

    def _progress_text(self) -> str:
        """Return the last values of the deciding measure, or the round's own text where nothing is measured."""
        if not self.evals:
            return self.rounds[-1].progress_text
        name = self.measures[0].name
        return "  ".join(f"{one.name} {name} {self.history[one.name][name][-1]:.4f}" for one in self.evals)
