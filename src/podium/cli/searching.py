"""Commands that fit a ranker many times: cv, tune. What a run will take is said before it, and after its first fit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from podium._validation import PodiumError
from podium.cli.files import column_names, load_table, named_columns
from podium.cli.options import Source, setting
from podium.cli.output import check_output, show
from podium.cli.ranker_table import SEARCHED_RANKER
from podium.cli.run_settings import make_ranker, number_columns, read_config
from podium.cli.wording import features_named
from podium.diagnosis import fit_seconds
from podium.rankers import Estimator
from podium.readers import RankingTable
from podium.tuning import SPACES, Fold, TuningTrial, cross_validate, space_of, tune

TRAINING_SHARE = 0.8
"""Share of the queries that trials learn from where a fifth is held out."""


class RunChoice(NamedTuple):
    """What --ranker, --set and --config say."""

    name: str | None
    settings: Sequence[str]
    config: Path | None

    def ranker_and_parameters(self) -> tuple[Estimator, set[str]]:
        """Return the ranker, and the names of the parameters that are given."""
        config = read_config(self.config)
        model = make_ranker(self.name or config.ranker or SEARCHED_RANKER, self.settings, config)
        return model, {*config.parameters, *(name for name, _ in map(setting, self.settings))}


class Timed(Protocol):
    """A fit that is done."""

    @property
    def seconds(self) -> float:
        """Its time."""


def run_folds(
    source: Source,
    choice: RunChoice,
    folds: int,
    measures: list[str],
    seed: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """Cross-validate a ranker on a data file."""
    model, _ = choice.ranker_and_parameters()
    model._check_trainable()
    table = load_table(*source)
    number_columns(model, table.feature_names)
    with FitProgress(folds, "fold", quiet) as progress, features_named(column_names(table)):
        result = cross_validate(
            model,
            named_columns(table),
            np.asarray(table.y),
            qid=table.qid,
            n_folds=folds,
            measures=measures,
            random_state=seed,
            on_fold=progress.fold,
            on_start=partial(progress.announce, model, table, 1 - 1 / max(folds, 1)),
        )
    show(result, as_json)
    if result.interrupted:
        raise PodiumError(f"Interrupted: {len(result.folds)} of {folds} folds are done, and shown.")


def run_trials(
    source: Source,
    held_out: Source | None,
    choice: RunChoice,
    trials: int,
    measure: str,
    storage: Path | None,
    output: Path | None,
    seed: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """Search the parameters of a ranker on a data file."""
    if output is not None:
        check_output(output, *source.files, *(() if held_out is None else held_out.files))
    if storage is not None:
        check_output(storage)
    model, chosen = choice.ranker_and_parameters()
    model._check_trainable()
    _check_searched(model)
    table = load_table(*source)
    number_columns(model, table.feature_names)
    given: dict[str, Any] = {"qid": table.qid, "space": space_of(model, table.X.shape[1], chosen)}
    if held_out is not None:
        like = {"n_features": table.X.shape[1], "sparse": sp.issparse(table.X)}
        valid = load_table(*held_out, **like)
        given |= {"eval_set": [(named_columns(valid), np.asarray(valid.y))], "eval_qid": [valid.qid]}
    with FitProgress(trials, "trial", quiet) as progress, features_named(column_names(table)):
        try:
            result = tune(
                model,
                named_columns(table),
                np.asarray(table.y),
                n_trials=trials,
                measure=measure,
                storage=storage,
                random_state=seed,
                on_trial=progress.trial,
                on_start=partial(progress.announce, model, table, TRAINING_SHARE if held_out is None else 1.0),
                **given,
            )
        except ImportError as error:
            raise PodiumError(str(error)) from None
    if output is not None:
        result.save(output)
    show(result, as_json)
    if not as_json:
        print(f"Saved to {output}" if output is not None else result.toml())
    if result.interrupted:
        again = "; the same command goes on from there" if storage is not None else ""
        raise PodiumError(f"Interrupted: {len(result.trials)} of {trials} trials are done, and kept{again}.")


def _check_searched(model: Estimator) -> None:
    """Refuse a ranker of which nothing is searched."""
    name = type(model).__name__
    if name not in SPACES:
        raise PodiumError(f"{name} has nothing that podium tune searches; it searches {', '.join(SPACES)}.")


class FitProgress:
    """A bar on standard error that counts fits, and after the first of them a line on what all will take."""

    def __init__(self, total: int, what: str, quiet: bool) -> None:
        self.total, self.what, self.quiet = total, what, quiet
        self.console = Console(file=sys.stderr)
        columns = BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn()
        shown = self.console.is_terminal and not quiet
        self.bar = Progress(*columns, console=self.console, disable=not shown, transient=True)
        self.task = self.bar.add_task(f"{what}s", total=total)
        self.began = False

    def __enter__(self) -> FitProgress:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def announce(self, model: Estimator, table: RankingTable, share: float, n_fits: int) -> None:
        """Say what some fits, each on a share of the rows, will take by measured costs, where there are such."""
        if self.quiet or n_fits < 1:
            return
        name, rounds = type(model).__name__, getattr(model, "n_estimators", 1)
        one = fit_seconds(name, table.X, _pairs_of(table), rounds)
        takes = "the first one tells how long" if one is None else f"about {_duration(one * share * n_fits)} in all"
        n_rows, n_features = table.X.shape
        size = f"{n_rows * share:,.0f} rows of {n_features:,} features"
        self.console.print(f"{n_fits} {self.what}s, each a fit of {name} on about {size}: {takes}.")

    def fold(self, fold: Fold) -> None:
        """Count a fold."""
        self._count(fold.number, fold, lambda: _first(fold.means))

    def trial(self, trial: TuningTrial) -> None:
        """Count a trial."""
        self._count(trial.number, trial, lambda: f"{trial.value:.4f}{' pruned' if trial.pruned else ''}")

    def _count(self, number: int, fit: Timed, text: Callable[[], str]) -> None:
        """Move the bar; say what the rest will take when the first fit of this run is done."""
        if not self.began and not self.quiet and number < self.total:
            left = fit.seconds * (self.total - number)
            self.console.print(
                f"{self.what.capitalize()} {number} took {_duration(fit.seconds)}; "
                f"{self.total - number} more take about {_duration(left)}. Ctrl-C keeps what is done."
            )
        self.began = True
        self.bar.update(self.task, completed=number, description=f"{self.what} {number}: {text()}")


def _pairs_of(table: RankingTable) -> int:
    """Return the pairs of rows of a query with different labels."""
    y = np.asarray(table.y)
    queries = np.zeros(len(y), int) if table.qid is None else np.unique(table.qid, return_inverse=True)[1]
    sizes, (_, equal) = np.bincount(queries), np.unique(np.stack([queries, y]), axis=1, return_counts=True)
    return int(np.sum(sizes * (sizes - 1)) - np.sum(equal * (equal - 1))) // 2


def _first(means: dict[str, float]) -> str:
    """Return the first measure of a fold."""
    name, value = next(iter(means.items()))
    return f"{name} {value:.4f}"


def _duration(seconds: float) -> str:
    """Return a time as people say it."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
