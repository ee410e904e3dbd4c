"""What rankers boosted with stumps share: running the rounds, scores, the file they are saved to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from podium._compiled import thread_count
from podium._validation import Array, PodiumError
from podium.boosting.rounds import AlphaRule, Monitor, Round, boost, evaluation_sets, repeat
from podium.data.ranking_data import RankingData
from podium.export import TreeSum
from podium.export.ensemble import stump_tree
from podium.measures import parse_measure
from podium.model_file import check_whole
from podium.rankers.ranker import Ranker, check_rounds_before, name_tuple
from podium.rankers.story import Checkpoint, check_checkpoint, fingerprint, from_columns, to_columns
from podium.stumps.additive_model import AdditiveModel
from podium.stumps.stump import Stump

NOT_MARKED = ("n_estimators", "n_jobs", "verbose", "checkpoint", "eval_metric", "early_stopping_rounds")
"""Parameters that do not change a round, so that a checkpoint serves fits that differ in them."""


class BoostedRanker(Ranker):
    """Base of rankers that learn a sum of weighted stumps, one a round.

    It expects the parameters ``n_estimators, early_stopping_rounds, eval_metric, checkpoint, n_jobs, verbose``.
    """

    n_estimators: int
    early_stopping_rounds: int | None
    checkpoint: str | PathLike[str] | None
    n_jobs: int | None
    verbose: int

    def _run(
        self,
        data: RankingData,
        evals: list[RankingData],
        init_model: Any,
        distribution: Any,
        learner: Any,
        weigh: AlphaRule,
        taken: Callable[[Any, float], None] | None = None,
    ) -> None:
        """Repeat the rounds of an earlier model or checkpoint, go on to the last one, and keep what was learned."""
        done = [] if init_model is None else list(init_model.rounds_)
        checkpoint = None
        if self.checkpoint is not None:
            mark = fingerprint(data, self._marked_parameters(done))
            checkpoint = Checkpoint(self.checkpoint, mark, data.features.shape[1])
            done = checkpoint.rounds or done
        monitor = self._make_monitor(evals, None if checkpoint is None else checkpoint.save)
        repeat(done[: self.n_estimators], data, distribution, monitor, taken)
        rounds = boost(distribution, learner, weigh, monitor, self.n_estimators, taken)
        own_reason = getattr(learner, "stop_reason", "")
        monitor.reason = own_reason or monitor.reason
        if not rounds:
            why = f"Nothing was learned: {own_reason}." if own_reason else why_nothing_was_learned(data.features)
            raise PodiumError(why)
        if checkpoint is not None:
            checkpoint.save(rounds)
        self._keep(rounds, monitor.best_round)
        self.evals_result_ = monitor.history
        self.stop_reason_ = monitor.reason

    def _check_run(self, evals: list[RankingData], init_model: Any) -> None:
        """Refuse early stopping without data to measure, and a start from another kind of model."""
        self._check_stopping(evals)
        if self.checkpoint is not None:
            check_checkpoint(self.checkpoint)
        if init_model is not None:
            if not isinstance(init_model, type(self)):
                name = type(self).__name__
                raise PodiumError(f"init_model must be a fitted {name}; got {type(init_model).__name__}.")
            check_is_fitted(init_model)
            check_rounds_before(len(init_model.rounds_), self.n_estimators)

    def _make_monitor(self, evals: list[RankingData], save: Callable[[list[Round]], None] | None) -> Monitor[Round]:
        """Return the monitor of the evaluation sets."""
        measures, threads = [parse_measure(name) for name in self._monitor_measures()], thread_count(self.n_jobs)
        sets = evaluation_sets(evals, measures, threads)
        return Monitor(self.n_estimators, sets, measures, self.early_stopping_rounds, self.verbose, save)

    def _keep(self, rounds: list[Round], best_round: int) -> None:
        """Set what the fit, or a file, gives."""
        self.rounds_ = rounds
        self.best_iteration_ = best_round
        self.model_ = AdditiveModel(
            tuple(done.ranking for done in rounds), np.array([done.alpha for done in rounds], float)
        )

    @property
    def feature_importances_(self) -> Array:
        """Share of each feature in Σ -ln Z_t over the rounds that `predict` uses."""
        check_is_fitted(self)
        return importances(self.rounds_[: self.best_iteration_], self.n_features_in_)

    def _score(self, features: Any) -> Array:
        return self.model_.first(self.best_iteration_).score(features, thread_count(self.n_jobs))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the scores of each row after each round."""
        yield from self.model_.staged_scores(self._check_rows(X))

    def _marked_parameters(self, done: list[Round]) -> dict[str, Any]:
        """Return what a checkpoint must agree in: parameters that change rounds, and where it started."""
        given = {name: value for name, value in self.get_params(deep=False).items() if name not in NOT_MARKED}
        return {**given, "before": [(one.ranking, one.alpha) for one in done]}

    def _exported(self) -> TreeSum:
        trees = []
        for number, done in enumerate(self.rounds_[: self.best_iteration_]):
            if not isinstance(done.ranking, Stump):
                kind = type(done.ranking).__name__
                raise PodiumError(f"Only stumps can be exported; the weak ranking of round {number + 1} is a {kind}.")
            trees.append(stump_tree(done.ranking, done.alpha))
        return TreeSum(tuple(trees), 0.0, self.n_features_in_, name_tuple(self), type(self).__name__)

    def _learned(self) -> dict[str, Any]:
        return {"rounds": to_columns(self.rounds_), "best_iteration": self.best_iteration_}

    def _restore(self, content: dict[str, Any], path: str | PathLike[str]) -> None:
        rounds = from_columns(content.get("rounds"), path, self.n_features_in_)
        self._keep(rounds, check_whole(content.get("best_iteration"), path, "best_iteration", 0, len(rounds)))


def why_nothing_was_learned(features: Any) -> str:
    """Say why the first round found no weak ranking."""
    n_features = features.shape[1]
    stored = features.data if sp.issparse(features) else features
    if np.isnan(stored).all():
        return f"No feature can rank anything: all {n_features} are missing in every row."
    if not sp.issparse(features) and np.all((features == features[0]) | np.isnan(features) & np.isnan(features[0])):
        return f"No feature can rank anything: all {n_features} are constant."
    return "No weak ranking is better than chance: no feature orders the pairs either way."


def importances(rounds: list[Round], n_features: int) -> Array:
    """Return each feature's share of Σ -ln Z_t; zeros where the weak rankings have no feature."""
    falls = np.zeros(n_features)
    for done in rounds:
        feature = getattr(done.ranking, "feature", None)
        if feature is not None:
            falls[feature] += max(0.0, -np.log(max(done.Z, np.finfo(float).tiny)))
    return falls / falls.sum() if falls.sum() > 0 else falls
