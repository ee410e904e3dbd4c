"""Search of a ranker's parameters with Optuna: each trial is one fit, measured on queries held out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import combinations, product
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from podium._magnitudes import check_integer
from podium._types import MatrixLike
from podium._validation import PodiumError, check_choice
from podium.measures import Measure, parse_measure
from podium.rankers import Estimator
from podium.rankers.boosted import Boosted
from podium.tuning.held_out import LabelledRows, learned_and_held_out, ranker_of
from podium.tuning.interruption import noticing_interrupts
from podium.tuning.parameter_search import ParameterSearch
from podium.tuning.search_spaces import SPACES, Choice, Range, Real, Space, Value, Whole, for_features
from podium.tuning.trial_storage import finished_trials, open_study, quiet_optuna, seeded_sampler
from podium.tuning.tuning_result import Tuning, TuningTrial

MOST_ROUNDS = 300
"""Rounds of a trial at most, where `n_estimators` is at its default and that is less."""
PATIENCE = 20
"""Rounds without a better value after which a trial ends, where `early_stopping_rounds` is not given."""


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
    on_start: Callable[[int], None] | None = None,
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
        What to search, of `podium.tuning`; by default ``SPACES`` of the ranker, without choices that its other
        parameters refuse, and with no more `n_neighbors` than features.
    storage : path, optional
        File that keeps each trial, an Optuna journal; a later call with the same settings goes on from there.
    random_state : int
        Seed of what is tried, and of the queries held out.
    on_trial : callable, optional
        Called with each `TuningTrial` when it is done.
    on_start : callable, optional
        Called with the number of fits ahead, when all is checked and before the first one.

    Returns
    -------
    Tuning
        ``best_ranker()``, ``best_parameters``, ``save("best.toml")``.
    """
    model = ranker_of(ranker)
    parsed = parse_measure(measure)
    if space is not None:
        _check_space(model, space)
    check_integer(n_trials, "n_trials", 1)
    check_integer(random_state, "random_state", 0)
    train, valid = learned_and_held_out(LabelledRows.of(X, y, qid, group), eval_set, eval_qid, eval_group, random_state)
    ranges = space_of(model, train.n_features) if space is None else dict(space)
    search = ParameterSearch(_prepared(model, parsed), parsed, ranges, train, valid)
    with quiet_optuna() as optuna, noticing_interrupts() as interruption:
        study = open_study(optuna, storage, search.settings(random_state))
        if on_start is not None:
            on_start(n_trials - len(finished_trials(study)))
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


def space_of(
    ranker: Estimator | type[Estimator] | str, n_features: int, given: Collection[str] = ()
) -> dict[str, Range]:
    """Return what `tune` searches of a ranker where no space is given.

    Parameters
    ----------
    ranker : ranker, class or str
        Choices that its other parameters refuse are left out.
    n_features : int
        No more `n_neighbors` are searched.
    given : collection of str
        Parameters that are not searched.

    Returns
    -------
    dict of str to Real, Whole or Choice
    """
    model = ranker_of(ranker)
    check_integer(n_features, "n_features", 1)
    name = type(model).__name__
    if name not in SPACES:
        raise PodiumError(
            f"{name} has no search space of its own: give space to tune; those that have one: {', '.join(SPACES)}."
        )
    fitting = {parameter: _fitting(model, parameter, one) for parameter, one in SPACES[name].items()}
    searched = {parameter: one for parameter, one in fitting.items() if one is not None and parameter not in given}
    return dict(for_features(searched, n_features))


def _fitting(model: Estimator, parameter: str, one: Range) -> Range | None:
    """Return a range without choices that the ranker's other parameters refuse; None if there is no choice left."""
    if not isinstance(one, Choice):
        return one
    values = tuple(value for value in one.values if _takes(model, parameter, value))
    return Choice(values) if len(values) > 1 else None


def _takes(model: Estimator, parameter: str, value: Value) -> bool:
    """Return whether a ranker may have a value beside its other parameters."""
    try:
        ranker_of(model, **{parameter: value})
    except PodiumError:
        return False
    return True


def _check_space(model: Estimator, space: Space) -> None:
    """Refuse a space that is empty, or not of the ranker."""
    name = type(model).__name__
    if not space:
        raise PodiumError(f"There is nothing to search: all parameters in the space of {name} are set.")
    for parameter, one in space.items():
        check_choice(parameter, model.get_params(deep=False), f"A parameter of {name}")
        if not isinstance(one, Real | Whole | Choice):
            raise PodiumError(f"space must map parameters to Real, Whole or Choice; {parameter} has {one!r}.")
    _check_pairs(model, space)


def _check_pairs(model: Estimator, space: Space) -> None:
    """Refuse a space with a trial that the ranker refuses, found by values of one range or of two."""
    own = model.get_params(deep=False)
    usual = {name: own[name] if own[name] in one else _examples(one)[0] for name, one in space.items()}
    for names in (*combinations(space, 1), *combinations(space, 2)):
        for values in product(*(_examples(space[name]) for name in names)):
            tried = dict(zip(names, values, strict=True))
            try:
                ranker_of(model, **{**usual, **tried})
            except PodiumError as error:
                shown = " and ".join(f"{name}={value!r}" for name, value in tried.items())
                raise PodiumError(f"space must have no trials that are refused, as {shown} would be: {error}") from None


def _examples(one: Range) -> tuple[Value, ...]:
    """Return all values of a choice, the ends of integers, and the middle of numbers, whose ends no trial may reach."""
    if isinstance(one, Choice):
        return one.values
    return (one.low, one.high) if isinstance(one, Whole) else ((one.low + one.high) / 2,)
