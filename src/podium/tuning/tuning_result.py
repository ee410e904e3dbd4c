"""What a search of parameters came to: its trials, the best of them, and the best one as a settings file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

from rich.table import Table

from podium._magnitudes import check_integer
from podium._result_frames import Columns, Framed
from podium._types import Json
from podium.evaluation.results import plain_text, table_of
from podium.model_file import write_text
from podium.rankers import Estimator
from podium.tuning.held_out import ranker_of
from podium.tuning.search_spaces import Value
from podium.tuning.settings_file import settings_text

MOST_SHOWN = 10
"""Trials in the table."""


@dataclass(frozen=True)
class TuningTrial:
    """One fit with parameters that were tried.

    Attributes
    ----------
    number : int
        From 1 on; the first has the ranker's own parameters.
    parameters : dict
    value : float
        The measure on the held-out queries; of a pruned trial the last that was seen.
    pruned : bool
        Whether it was ended because it fell behind.
    rounds : int or None
        Rounds that predictions use; None of rankers without rounds.
    seconds : float
    """

    number: int
    parameters: dict[str, Value]
    value: float
    pruned: bool
    rounds: int | None
    seconds: float


@dataclass(frozen=True, eq=False)
class Tuning(Framed):
    """Trials of parameters; ``print(result)`` is a table with the best on top.

    Attributes
    ----------
    ranker : str
    measure : str
    higher_is_better : bool
        Direction of the measure.
    trials : tuple of TuningTrial
        In the order they were made.
    n_trials : int
        Those that were wanted; more than were made if Ctrl-C was pressed.
    given : dict
        Parameters that were set and not searched.
    """

    ranker: str
    measure: str
    higher_is_better: bool
    trials: tuple[TuningTrial, ...]
    n_trials: int
    given: dict[str, Any]

    @property
    def interrupted(self) -> bool:
        """Whether trials are missing."""
        return len(self.trials) < self.n_trials

    @property
    def ordered(self) -> list[TuningTrial]:
        """Trials from the best to the worst, those that were pruned last; of equal ones the earlier first."""
        sign = -1.0 if self.higher_is_better else 1.0
        return sorted(self.trials, key=lambda one: (one.pruned, sign * one.value, one.number))

    @property
    def best(self) -> TuningTrial:
        """The best trial."""
        return self.ordered[0]

    @property
    def best_value(self) -> float:
        """The best value of the measure on the held-out queries: a little better than on new ones."""
        return self.best.value

    @property
    def best_parameters(self) -> dict[str, Any]:
        """Parameters of the best trial with what was given; ``n_estimators`` as early stopping found it."""
        return self._parameters(self.best)

    def best_ranker(self) -> Estimator:
        """Return an unfitted ranker with the best parameters."""
        return self.best_rankers(1)[0]

    def best_rankers(self, n_best: int = 5) -> list[Estimator]:
        """Return unfitted rankers of the best trials, the best first; `podium.blend_ranks` makes one ranking of theirs.

        The best of many trials owes a part of its lead to the queries that were held out; the mean of several does so
        less. Parameters that were tried twice count once, pruned trials only where there is no other; there are fewer
        than `n_best` where fewer were tried.
        """
        check_integer(n_best, "n_best", 1)
        distinct: dict[str, TuningTrial] = {}
        for one in [one for one in self.ordered if not one.pruned] or self.ordered:
            distinct.setdefault(repr(one.parameters), one)
        best = list(distinct.values())[:n_best]
        return [ranker_of(ranker_of(self.ranker), **self._parameters(one)) for one in best]

    def _parameters(self, trial: TuningTrial) -> dict[str, Any]:
        """Parameters of a trial with what was given, its rounds as early stopping found them."""
        rounds = {} if trial.rounds is None else {"n_estimators": trial.rounds}
        return {**self.given, **trial.parameters, **rounds}

    def toml(self) -> str:
        """Return the best parameters as a settings file."""
        best = self.best
        found = f"trial {best.number} of {len(self.trials)}: {self.measure} {best.value:.6f} on held-out queries"
        return settings_text(self.ranker, self.best_parameters, (found,))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the best parameters as a settings file, whole or not at all."""
        write_text(path, self.toml())

    def to_dict(self) -> dict[str, Json]:
        """Return the search as plain values, ready for JSON."""
        return {
            "ranker": self.ranker,
            "measure": self.measure,
            "interrupted": self.interrupted,
            "best": {"trial": self.best.number, "value": self.best_value, "parameters": self.best_parameters},
            "trials": [asdict(one) for one in self.trials],
        }

    def columns(self) -> Columns:
        """Return a row for each trial, as columns."""
        rows = [{**asdict(one), **one.parameters} for one in self.trials]
        return {name: [row[name] for row in rows] for name in rows[0] if name != "parameters"}

    def table(self) -> Table:
        """Return the best trials as a rich table."""
        with_rounds = self.best.rounds is not None
        rows = [
            [str(one.number), f"{one.value:.4f}{' pruned' if one.pruned else ''}"]
            + ([str(one.rounds)] if with_rounds else [])
            + [f"{one.seconds:.2f}", _texts(one.parameters)]
            for one in self.ordered[:MOST_SHOWN]
        ]
        n_pruned = sum(one.pruned for one in self.trials)
        done = f"{len(self.trials)} of {self.n_trials}" if self.interrupted else f"{self.n_trials}"
        title = f"{self.ranker}, {done} trials, {n_pruned} of them pruned; the best {len(rows)}"
        header = ["trial", self.measure, *(["rounds"] if with_rounds else []), "seconds", "parameters"]
        table = table_of(title, header, rows)
        table.columns[-1].justify = "left"
        return table

    def __str__(self) -> str:
        return plain_text(self.table())


def _texts(parameters: dict[str, Value]) -> str:
    """Return parameters in a line, numbers in a few digits."""
    values = {name: f"{one:.4g}" if isinstance(one, float) else str(one) for name, one in parameters.items()}
    return " ".join(f"{name}={text}" for name, text in values.items())
