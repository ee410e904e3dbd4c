"""One trial after the other: a fit with proposed parameters, measured on queries held out, told to the study."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from podium._validation import Array, PodiumError
from podium.boosting import fingerprint
from podium.data import Categories, hash_features, read_features
from podium.measures import Measure
from podium.rankers import Estimator
from podium.rankers.boosted import Boosted
from podium.rankers.categorical_ranker import CategoricalRanker
from podium.tuning.held_out import LabelledRows, fit_on, means_on, ranker_of, ranking_scores, rounds_of
from podium.tuning.search_spaces import Space, Value
from podium.tuning.trial_pruning import PRUNED, PrunedMonitor
from podium.tuning.trial_storage import finished_trials
from podium.tuning.tuning_result import TuningTrial

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial, Trial

CHANGES_NO_TRIAL = ("n_jobs", "verbose", "checkpoint")
"""Parameters that a storage file serves searches with any value of."""


class ParameterSearch:
    """What all trials of a search share.

    Parameters
    ----------
    model : Estimator
        As it is fitted, but for the parameters that are searched.
    measure : Measure
    space : Space
    train, valid : LabelledRows
        What is learned from and what is measured on.
    """

    def __init__(
        self, model: Estimator, measure: Measure, space: Space, train: LabelledRows, valid: LabelledRows
    ) -> None:
        self.model, self.measure, self.space, self.train, self.valid = model, measure, space, train, valid
        self.sign = 1.0 if measure.higher_is_better else -1.0

    def settings(self, random_state: int) -> dict[str, str]:
        """Return what a storage file must have been made with, by names that a message can say."""
        own = self.model.get_params(deep=False).items()
        fixed = {name: value for name, value in own if name not in (*self.space, *CHANGES_NO_TRIAL)}
        return {
            "ranker": type(self.model).__name__,
            "parameter": fingerprint(fixed, []),
            "search space": "; ".join(f"{name}: {one}" for name, one in self.space.items()),
            "measure": self.measure.name,
            "random_state": str(random_state),
            "data": fingerprint({}, self._contents()),
        }

    def _contents(self) -> list[Array]:
        """Return what tells one data set from another: its rows with queries and labels, whatever their order."""
        categories = None
        if isinstance(self.model, CategoricalRanker):
            categories = Categories.learn(self.train.X, self.model.categorical_features)
        columns = []
        for rows in (self.train, self.valid):
            keys = hash_features(read_features(rows.X, categories)[0])
            order = np.lexsort((keys, rows.y, rows.qid))
            columns += [rows.qid[order], rows.y[order], keys[order]]
        return columns

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
            fitted = self._fit(model)
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

    def _fit(self, model: Estimator) -> Estimator:
        """Fit a trial; that it learned nothing, where leaves must be large, its value says."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Nothing was learned")
            return fit_on(model, self.train, self.valid)

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
