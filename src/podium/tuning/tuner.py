"""Search of a ranker's parameters with Optuna: each trial is one fit, measured on queries held out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from podium._magnitudes import check_integer
from podium._types import MatrixLike
from podium._validation import PodiumError, check_choice
from podium.boosting import fingerprint
from podium.measures import Measure, parse_measure
from podium.rankers import Estimator
from podium.rankers.boosted import Boosted
from podium.tuning.held_out import LabelledRows, fit_on, means_on, query_folds, ranker_of, ranking_scores, rounds_of
from podium.tuning.interruption import noticing_interrupts
from podium.tuning.pruning import PRUNED, PrunedMonitor
from podium.tuning.search_spaces import SPACES, Choice, Real, Space, Value, Whole
from podium.tuning.trial_storage import finished_trials, open_study, quiet_optuna, seeded_sampler
from podium.tuning.tuning_result import Tuning, TuningTrial

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial, Trial

MOST_ROUNDS = 300
"""Rounds of a trial at most, where `n_estimators` is at its default and that is less."""
PATIENCE = 20
"""Rounds without a better value after which a trial ends, where `early_stopping_rounds` is not given."""
HELD_OUT_FOLDS = 5
"""One in so many queries is held out where no evaluation set is given."""


def tune(
    ranker: Estimator | type[Estimator] | str,
    X: MatrixLike,
    y: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    eval_set: Sequence[tuple[MatrixLike, ArrayLike]] | None = None,
    eval_qid: Sequence[ArrayLike] | None = None,
    eval_group: Sequence[ArrayLike] | None = None,
    n_trials: int = 30,
    measure: str = "ndcg@10",
    space: Space | None = None,
    storage: str | PathLike[str] | None = None,
    random_state: int = 0,
    on_trial: Callable[[TuningTrial], None] | None = None,
) -> Tuning:
    """Search the parameters of a ranker that do best on queries held out.

    The first trial has the ranker's own parameters, the others are proposed by Optuna's TPE. A boosted ranker stops
    early in each trial, and is given up where it is behind the median of earlier trials after as many rounds. Ctrl-C
    ends the search with the trials that are done. The same seed makes the same trials, whether or not the search was
    interrupted and gone on with from its storage file.

    Parameters
    ----------
    ranker : ranker, class or str
        What is not searched stays as it is there. ``n_estimators`` is the most rounds of a trial, 300 if it is at a
        default below; ``early_stopping_rounds`` is 20 unless given.
    X : array, frame, table or sparse matrix
    y : array-like
        Label of each row, numbers.
    qid, group : array-like
        Query id of each row, or sizes of queries whose rows stand together.
    eval_set : list of one (X, y), optional
        What trials are measured on; without it a fifth of the queries, drawn by `random_state`.
    eval_qid, eval_group : list, optional
        Queries of the evaluation set.
    n_trials : int
        Trials in all, those of the storage file counted.
    measure : str
        As `podium.evaluate` names them, in its own direction. Ordinal rankers are measured by their `predict_rank`.
    space : mapping of str to Real, Whole or Choice, optional
        What to search, of `podium.tuning`; by default ``SPACES`` of the ranker.
    storage : path, optional
        File that keeps each trial, an Optuna journal; a later call with the same settings goes on from there.
    random_state : int
        Seed of what is tried, and of the queries held out.
    on_trial : callable, optional
        Called with each `TuningTrial` when it is done.

    Returns
    -------
    Tuning
        ``best_ranker()``, ``best_parameters``, ``save("best.toml")``.
    """
    model = ranker_of(ranker)
    parsed = parse_measure(measure)
    ranges = _check_space(model, space)
    check_integer(n_trials, "n_trials", 1)
    check_integer(random_state, "random_state", 0)
    train, valid = _held_out(LabelledRows.of(X, y, qid, group), eval_set, eval_qid, eval_group, random_state)
    search = _Search(_prepared(model, parsed), parsed, ranges, train, valid)
    with quiet_optuna() as optuna, noticing_interrupts() as interruption:
        study = open_study(optuna, storage, search.settings(random_state))
        try:
            while (number := len(finished_trials(study))) < n_trials:
                study.sampler = seeded_sampler(optuna, random_state, number)
                if number == 0:
                    study.enqueue_trial(search.start())
                search.run(study, study.ask(), interruption.check)
                if on_trial is not None:
                    on_trial(search.trials(study)[-1])
        except KeyboardInterrupt:
            if not finished_trials(study):
                raise PodiumError("Interrupted before the first trial was done: nothing was measured.") from None
        trials = search.trials(study)
    given = _given(model, ranges)
    return Tuning(type(model).__name__, parsed.name, parsed.higher_is_better, trials, n_trials, given)


class _Search:
    """What all trials of a search share."""

    def __init__(
        self, model: Estimator, measure: Measure, space: Space, train: LabelledRows, valid: LabelledRows
    ) -> None:
        self.model, self.measure, self.space, self.train, self.valid = model, measure, space, train, valid
        self.sign = 1.0 if measure.higher_is_better else -1.0

    def settings(self, random_state: int) -> dict[str, str]:
        """Return what a storage file must have been made with, by names that a message can say."""
        fixed = {name: value for name, value in self.model.get_params(deep=False).items() if name not in self.space}
        fixed = {name: value for name, value in fixed.items() if name not in ("n_jobs", "verbose", "checkpoint")}
        return {
            "ranker": type(self.model).__name__,
            "parameter": fingerprint(fixed, []),
            "search space": "; ".join(f"{name}: {one}" for name, one in self.space.items()),
            "measure": self.measure.name,
            "random_state": str(random_state),
            "data": fingerprint({}, [column for rows in (self.train, self.valid) for column in _contents(rows)]),
        }

    def start(self) -> dict[str, Value]:
        """Return the ranker's own parameters, those that lie in the space."""
        own = self.model.get_params(deep=False)
        return {name: own[name] for name, one in self.space.items() if own[name] in one}

    def run(self, study: Study, trial: Trial, check: Callable[[], None]) -> None:
        """Make one trial and tell the study what it came to."""
        start = time.perf_counter()
        try:
            parameters = {name: one.suggest(trial, name) for name, one in self.space.items()}
            model = ranker_of(self.model, **parameters)
            if isinstance(model, Boosted):
                model._make_monitor = partial(PrunedMonitor, trial)
            fitted = fit_on(model, self.train, self.valid)
            check()
            pruned = getattr(fitted, "stop_reason_", None) == PRUNED
            value = self._value(fitted)
            check()
        except BaseException:
            study.tell(trial, state=_state("FAIL"))
            raise
        trial.set_user_attr("value", value)
        trial.set_user_attr("rounds", rounds_of(fitted))
        trial.set_user_attr("seconds", time.perf_counter() - start)
        if pruned:
            study.tell(trial, state=_state("PRUNED"))
        else:
            study.tell(trial, self.sign * value)

    def _value(self, fitted: Estimator) -> float:
        """Return the measure of a fitted ranker on the held-out queries."""
        value = means_on(ranking_scores(fitted, self.valid.X), self.valid, [self.measure.name])[self.measure.name]
        if math.isnan(value):
            raise PodiumError(f"{self.measure} has no value on the held-out queries; take another measure or others.")
        return value

    def trials(self, study: Study) -> tuple[TuningTrial, ...]:
        """Return the finished trials of a study, numbered from 1."""
        return tuple(_record(number, one) for number, one in enumerate(finished_trials(study), 1))


def _record(number: int, trial: FrozenTrial) -> TuningTrial:
    """Return a trial of Optuna as ours."""
    kept = trial.user_attrs
    pruned = trial.state.name == "PRUNED"
    return TuningTrial(number, dict(trial.params), kept["value"], pruned, kept["rounds"], kept["seconds"])


def _state(name: str) -> Any:
    """Return a state of Optuna's trials."""
    from optuna.trial import TrialState

    return TrialState[name]


def _prepared(model: Estimator, measure: Measure) -> Estimator:
    """Return a copy that stops early, where the ranker learns in rounds, by the measure, where it can be told."""
    own = model.get_params(deep=False)
    changes: dict[str, Any] = {}
    if isinstance(model, Boosted):
        default = type(model)().get_params(deep=False)["n_estimators"]
        if own["n_estimators"] == default:
            changes["n_estimators"] = max(default, MOST_ROUNDS)
        if own["early_stopping_rounds"] is None:
            changes["early_stopping_rounds"] = PATIENCE
    if "eval_metric" in own:
        changes["eval_metric"] = measure.name
    if "verbose" in own:
        changes["verbose"] = 0
    return ranker_of(model, **changes)


def _given(model: Estimator, space: Space) -> dict[str, Any]:
    """Return the parameters that were set to something else than their defaults, and are not searched."""
    default = type(model)().get_params(deep=False)
    unused = ("verbose", "early_stopping_rounds", "checkpoint", "n_jobs", *space)
    own = model.get_params(deep=False).items()
    return {name: value for name, value in own if name not in unused and repr(value) != repr(default[name])}


def _check_space(model: Estimator, space: Space | None) -> Space:
    """Return what is searched."""
    name = type(model).__name__
    if space is None:
        if name not in SPACES:
            raise PodiumError(f"{name} has no search space of its own: give space; those that have one: {_known()}.")
        return SPACES[name]
    if not space:
        raise PodiumError(f"There is nothing to search: all parameters in the space of {name} are set.")
    for parameter, one in space.items():
        check_choice(parameter, model.get_params(deep=False), f"A parameter of {name}")
        if not isinstance(one, Real | Whole | Choice):
            raise PodiumError(f"space must map parameters to Real, Whole or Choice; {parameter} has {one!r}.")
    return dict(space)


def _known() -> str:
    return ", ".join(SPACES)


def _held_out(
    rows: LabelledRows, eval_set: object, eval_qid: object, eval_group: object, random_state: int
) -> tuple[LabelledRows, LabelledRows]:
    """Return what is learned from and what is measured on."""
    if eval_set is None:
        folds = query_folds(len(rows.ids), min(HELD_OUT_FOLDS, len(rows.ids)), random_state)
        held_out = folds[rows.qid] == 0
        return rows.take(~held_out), rows.take(held_out)
    X, y = _only(eval_set, "eval_set")
    qid, group = (None if one is None else _only(one, name) for one, name in _named(eval_qid, eval_group))
    return rows, LabelledRows.of(X, y, qid, group, "eval_set")


def _named(eval_qid: object, eval_group: object) -> list[tuple[object, str]]:
    return [(eval_qid, "eval_qid"), (eval_group, "eval_group")]


def _only(given: object, name: str) -> Any:
    """Return the one entry of a list."""
    if not isinstance(given, list | tuple) or len(given) != 1 or (name == "eval_set" and len(given[0]) != 2):
        raise PodiumError(f"{name} must be a list of one entry, such as eval_set=[(X_valid, y_valid)].")
    return given[0]


def _contents(rows: LabelledRows) -> list[Any]:
    """Return what tells one data set from another: sizes and labels of its queries, whatever the order of rows."""
    order = np.lexsort((rows.y, rows.qid))
    return [rows.qid[order], rows.y[order]]
