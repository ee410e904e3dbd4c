"""The round loop t = 1 … T of boosting on pairs, and the Monitor that watches it.

"RB" is Freund, Iyer, Schapire and Singer (2003). The loop names the paper's steps and does nothing else; the
Monitor keeps the history, measures evaluation sets, shows progress, decides when to stop.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from podium._compiled import SCORE
from podium._validation import Array, PodiumError
from podium.data.ranking_data import RankingData
from podium.measures import Measure, measure_many
from podium.pairs.distribution import Distribution
from podium.pairs.weak_ranking import Found, WeakLearner, WeakRanking


class Watched(Protocol):
    """What a monitor needs of a round."""

    @property
    def line(self) -> str:
        """What the progress bar says of the round where nothing is measured."""


class ScoredRound(Watched, Protocol):
    """A round that adds ``alpha * ranking.predict(X)`` to the scores."""

    @property
    def ranking(self) -> WeakRanking:
        """What the round learned."""

    @property
    def alpha(self) -> float:
        """Its weight."""


class Criterion(Protocol):
    """What a monitor needs of a measure; `str` of it is shown in messages."""

    @property
    def name(self) -> str:
        """Key in the history."""

    @property
    def higher_is_better(self) -> bool:
        """Direction."""


AnyRound = TypeVar("AnyRound", bound=Watched)
SeenRound = TypeVar("SeenRound", contravariant=True)


class Evaluated(Protocol[SeenRound]):
    """What a monitor needs of an evaluation set."""

    @property
    def name(self) -> str:
        """Key in the history."""

    def add(self, done: SeenRound) -> dict[str, float]:
        """Take a round in and return the value of each criterion by its name."""


@dataclass(frozen=True)
class Round:
    """One round of boosting.

    Attributes
    ----------
    ranking : WeakRanking
        The weak ranking h_t.
    alpha : float
        Its weight α_t; carries the sign.
    Z : float
        Normaliser Z_t: the factor by which the exponential loss fell.
    r : float
        Σ D_t(x₀, x₁) (h_t(x₁) − h_t(x₀)), the edge of h_t (RB Eq. 5).
    """

    ranking: WeakRanking
    alpha: float
    Z: float
    r: float

    @property
    def line(self) -> str:
        """What the progress bar says of the round."""
        return f"Z {self.Z:.4f}"

    @property
    def feature(self) -> int:
        """Column of the weak ranking."""
        return int(self.ranking.feature)  # type: ignore[attr-defined]

    @property
    def threshold(self) -> float:
        """The stump is 1 where x > threshold."""
        return float(self.ranking.threshold)  # type: ignore[attr-defined]

    @property
    def abstain(self) -> float:
        """Value of the weak ranking where the feature is missing: q_def."""
        return self.ranking.abstain  # type: ignore[attr-defined, no-any-return]


AlphaRule = Callable[[Found, Distribution], float]

FLAWLESS = "the last weak ranking orders every pair rightly"
"""Reason to end after a weak ranking without an error: its best weight is infinite, and it would be found again."""


def boost(
    distribution: Distribution,
    learner: WeakLearner,
    weigh: AlphaRule,
    monitor: Monitor[Round],
    n_rounds: int,
    taken: Callable[[WeakRanking, float], None] | None = None,
) -> list[Round]:
    """Run RankBoost (RB Figure 1) for `n_rounds` rounds, or until nothing is left or the monitor stops.

    Minimises Σ D(x₀, x₁) exp(H(x₀) − H(x₁)) over H = Σ α_t h_t, one weak ranking a round:

    1. train the weak learner with D_t: a ranking h_t with a large edge;
    2. choose its weight α_t;
    3. update D_{t+1} ∝ D_t exp(α_t (h_t(x₀) − h_t(x₁))), with normaliser Z_t;
    4. end after a ranking that alone, and in the sum, orders every pair rightly, none tied.

    Parameters
    ----------
    distribution : Distribution
        D_1, or where `repeat` has left it; moved on round by round.
    learner : WeakLearner
    weigh : callable
        ``weigh(found, distribution)`` is α_t, learning rate included.
    monitor : Monitor
        Knows the rounds so far, those of an earlier run included.
    n_rounds : int
        Rounds in all.
    taken : callable, optional
        Told each weak ranking and its α.
    """
    with monitor:
        while len(monitor.rounds) < n_rounds and not monitor.stopped:
            found = learner.search(distribution.potentials(), distribution)  # 1
            if found is None:
                monitor.stop("no weak ranking is better than chance")
                break
            alpha = weigh(found, distribution)  # 2
            step = alpha * found.values
            Z = distribution.update(step)  # 3
            if taken is not None:
                taken(found.ranking, alpha)
            monitor.observe(Round(found.ranking, alpha, Z, found.r))
            _end_if_flawless(distribution, step, monitor)  # 4
    return monitor.rounds


def repeat(
    rounds: Iterable[Round],
    data: RankingData,
    distribution: Distribution,
    monitor: Monitor[Round],
    taken: Callable[[WeakRanking, float], None] | None = None,
) -> None:
    """Take the steps of earlier rounds again, so that `boost` goes on as if it had never stopped.

    It ends where a fit at once would have ended by early stopping.
    """
    step = np.zeros(len(data.queries.rows), SCORE)
    for done in rounds:
        if monitor.stopped:
            break
        step = done.alpha * done.ranking.predict(data.features)[data.queries.rows]
        distribution.update(step)
        if taken is not None:
            taken(done.ranking, done.alpha)
        monitor.replay(done)
    _end_if_flawless(distribution, step, monitor)


def _end_if_flawless(distribution: Distribution, step: Array, monitor: Monitor[Round]) -> None:
    """End the run where the last step α h, and the sum of all steps, order every pair rightly."""
    if distribution.ordered_by(step) and distribution.ordered_by(distribution.scores):
        monitor.stop(FLAWLESS)


class EvaluationSet:
    """Further data whose scores follow the rounds.

    Parameters
    ----------
    name : str
        Key in the history.
    data : RankingData
    measures : list of Measure
    """

    def __init__(self, name: str, data: RankingData, measures: Sequence[Measure], n_threads: int = 1) -> None:
        self.name, self.data, self.measures, self.n_threads = name, data, measures, n_threads
        self.scores = np.zeros(data.features.shape[0], SCORE)
        if data.labels is None:
            raise PodiumError(f"{name} must have labels: eval_set is a list of (X, y).")
        self.labels = data.labels

    def add(self, done: ScoredRound) -> dict[str, float]:
        """Add a round to the scores and return the mean of each measure."""
        self.scores += done.alpha * done.ranking.predict(self.data.features)
        queries, scores = self.data.queries, self.scores[self.data.queries.rows]
        values = measure_many(self.measures, self.labels, scores, queries.offsets, n_jobs=self.n_threads)
        return {name: found.mean for name, found in values.items()}


def evaluation_sets(evals: Sequence[RankingData], measures: Sequence[Measure], n_threads: int) -> list[EvaluationSet]:
    """Return the sets under the names that the history has, validation_0 and so on."""
    return [EvaluationSet(f"validation_{number}", data, measures, n_threads) for number, data in enumerate(evals)]


class Monitor(Generic[AnyRound]):
    """Watches a run of rounds: history, early stopping, progress, checkpoints, interruption.

    Parameters
    ----------
    n_rounds : int
    evals : sequence of EvaluationSet
        Or anything `Evaluated`. The last one decides on early stopping.
    measures : sequence of Measure
        Or anything that is a `Criterion`.
        The first one decides, in its own direction.
    patience : int, optional
        Stop when the deciding measure has not improved for so many rounds.
    verbose : int
        0 is silent, 1 shows a progress bar on standard error.
    save : callable, optional
        Called with the rounds so far, every `save_every` rounds, to keep a checkpoint; never by a replay.
    save_every : int

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
        evals: Sequence[Evaluated[AnyRound]] = (),
        measures: Sequence[Criterion] = (),
        patience: int | None = None,
        verbose: int = 0,
        save: Callable[[list[AnyRound]], None] | None = None,
        save_every: int = 10,
    ) -> None:
        self.evals, self.measures, self.patience = evals, measures, patience
        self.history: dict[str, dict[str, list[float]]] = {
            one.name: {measure.name: [] for measure in measures} for one in evals
        }
        self.rounds: list[AnyRound] = []
        self._best_round, self._best_value = 0, -np.inf
        self.stopped, self.reason = False, "all rounds are done"
        self._save, self._save_every = save, save_every
        self._progress = _progress_bar() if verbose else None
        self._task = None if self._progress is None else self._progress.add_task("", total=n_rounds)

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
        if kind is None or not issubclass(kind, KeyboardInterrupt) or not self.rounds:
            return False
        self.stop("it was interrupted")
        warnings.warn(f"Interrupted: the {len(self.rounds)} rounds learned so far are kept.", stacklevel=4)
        return True

    @property
    def best_round(self) -> int:
        """Number of rounds that predictions use."""
        return len(self.rounds) if self.patience is None or not self.evals else self._best_round

    def observe(self, done: AnyRound) -> None:
        """Take note of a new round."""
        self.replay(done)
        if self._save is not None and len(self.rounds) % self._save_every == 0:
            self._save(self.rounds)

    def replay(self, done: AnyRound) -> None:
        """Take note of a round of an earlier run, which a checkpoint, if there is one, holds already."""
        # Measured before it is kept: interrupted while measuring, no round is without its values.
        measured = [(one.name, one.add(done)) for one in self.evals]
        self.rounds.append(done)
        for place, values in measured:
            for name, value in values.items():
                self.history[place][name].append(value)
        self._judge()
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=len(self.rounds), description=self._line())

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

    def _line(self) -> str:
        """Return the last values of the deciding measure, or the round's own line where nothing is measured."""
        if not self.evals:
            return self.rounds[-1].line
        name = self.measures[0].name
        return "  ".join(f"{one.name} {name} {self.history[one.name][name][-1]:.4f}" for one in self.evals)


def _progress_bar() -> Progress:
    """Return a bar on standard error that leaves standard output to the caller."""
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True))
