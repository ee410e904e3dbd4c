"""RankBoost: boosting on pairs with stumps (Freund, Iyer, Schapire and Singer 2003, "RB")."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from numbers import Integral, Real
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from podium._compiled import thread_count
from podium._validation import Array, PodiumError
from podium.alpha import RULES
from podium.binning import bin_features
from podium.dataset import RankingData
from podium.distribution import Distribution
from podium.feedback import feedback_of
from podium.measures import parse_measure
from podium.model import AdditiveModel
from podium.rankers.base import Ranker
from podium.rankers.story import load_rounds, save_checkpoint, rounds_to_columns
from podium.rounds import EvaluationSet, Monitor, Round, boost, repeat
from podium.weak import Found, WeakLearner
from podium.weak.feature import FeatureLearner
from podium.weak.stump import Cumulative, StumpLearner


class RankBoost(Ranker):
    """Ranking by boosted weak rankings.

    Each round finds the stump (a feature above a threshold) that orders the pairs best under the current
    weights, gives it the weight α, and shifts the weights to the pairs that are still wrong. The training
    ranking loss is at most the product of the normalisers Z_t (RB Theorem 1).

    Parameters
    ----------
    n_estimators : int
        Rounds.
    criterion : {"r", "z"}
        What the weak learner looks for: the largest edge |r| (WeakLearn.3), or the smallest Z exactly
        (WeakLearn.2).
    alpha : {"r", "z", "numeric"}, optional
        Rule for α: RB Eq. 6, RB Eq. 2, or the numerical minimum of Z. By default that of the criterion.
    cumulative : bool
        Keep the cumulative weight of each stump positive (WeakLearn.cum).
    abstain : {"learn", 0, 1}
        Value of a stump where the feature is missing (q_def): learned with the threshold, or fixed.
    weak : {"stump", "feature"} or object
        Weak rankings: stumps, the features themselves scaled to [0, 1], or your own weak learner, an object
        with a method ``search`` (see `podium.weak`); a callable is called with the `RankingData` to make one.
    learning_rate : float
        Factor on every α.
    max_bins : int or None
        Thresholds of a feature: at most so many, at quantiles; None for one at every value, as in the paper.
    monotone_constraints : sequence of int, optional
        For each feature 1 (may only raise scores as it grows), -1 (only lower them) or 0.
    pair_weight : {"pairs", "queries"}
        Whether all pairs of labels weigh alike, or all queries.
    early_stopping_rounds : int, optional
        Stop when the first `eval_metric` on the last evaluation set has not improved for so many rounds.
    eval_metric : str or list of str
        Measures of the evaluation sets.
    checkpoint : path, optional
        File to keep the rounds in while fitting: a fit that was killed goes on from there and ends where the
        uninterrupted one would have ended, bit for bit.
    n_jobs : int, optional
        Threads; the model does not depend on their number.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    rounds_ : list of Round
        The story: ``feature, threshold, abstain, alpha, Z, r`` of each round.
    best_iteration_ : int
        Rounds that `predict` uses: the best by early stopping's measure, all without evaluation sets.
    evals_result_ : dict
        ``evals_result_["validation_0"]["ndcg@10"]``: the measure after each round.
    feature_importances_ : ndarray
        Share of each feature in the fall of the loss bound, Σ −ln Z_t of its rounds.
    stop_reason_ : str
        Why the fit ended.
    n_features_in_, feature_names_in_
        As scikit-learn has them.

    Examples
    --------
    >>> from podium import RankBoost, make_search
    >>> train = make_search(n_queries=50, random_state=0)
    >>> model = RankBoost(n_estimators=20).fit(train.X, train.y, qid=train.qid)
    >>> model.predict(train.X).shape == train.y.shape
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's declaration)
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "criterion": [StrOptions({"r", "z"})],
        "alpha": [StrOptions(set(RULES)), None],
        "cumulative": ["boolean"],
        "abstain": [StrOptions({"learn"}), Interval(Integral, 0, 1, closed="both")],
        "weak": [StrOptions({"stump", "feature"}), HasMethods("search"), callable],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), None],
        "monotone_constraints": ["array-like", None],
        "pair_weight": [StrOptions({"pairs", "queries"})],
        "early_stopping_rounds": [Interval(Integral, 1, None, closed="left"), None],
        "eval_metric": [str, list, tuple],
        "checkpoint": [str, PathLike, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "r",
        alpha: str | None = None,
        cumulative: bool = False,
        abstain: str | int = "learn",
        weak: Any = "stump",
        learning_rate: float = 1.0,
        max_bins: int | None = 255,
        monotone_constraints: Sequence[int] | None = None,
        pair_weight: str = "pairs",
        early_stopping_rounds: int | None = None,
        eval_metric: str | Sequence[str] = "pair_loss",
        checkpoint: str | PathLike[str] | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.alpha = alpha
        self.cumulative = cumulative
        self.abstain = abstain
        self.weak = weak
        self.learning_rate = learning_rate
        self.max_bins = max_bins
        self.monotone_constraints = monotone_constraints
        self.pair_weight = pair_weight
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn(self, data: RankingData, evals: list[RankingData], init_model: Any) -> None:
        self._check_combinations(evals, init_model)
        threads = thread_count(self.n_jobs)
        distribution = Distribution(feedback_of(data, self.pair_weight), len(data.queries.rows), threads)
        cumulative = Cumulative(self._weigh) if self.cumulative else None
        learner = self._make_learner(data, cumulative, threads)
        taken = None if cumulative is None else cumulative.add

        done = [] if init_model is None else list(init_model.rounds_)
        save = None
        if self.checkpoint is not None:
            mark = fingerprint(data, self._marked_parameters(done))
            done = read_checkpoint(self.checkpoint, mark, data.features.shape[1]) or done
            save = partial(write_checkpoint, self.checkpoint, mark)
        monitor = self._make_monitor(evals, threads, save)
        repeat(done[: self.n_estimators], data, distribution, monitor, taken)
        rounds = boost(distribution, learner, self._weigh, monitor, self.n_estimators, taken)
        if save is not None:
            save(rounds)
        self._keep(rounds, monitor.best_round, data.features.shape[1])
        self.evals_result_ = monitor.history
        self.stop_reason_ = monitor.reason

    def _weigh(self, found: Found, distribution: Distribution) -> float:
        """Return α of a weak ranking, learning rate included."""
        return self.learning_rate * RULES[self.alpha or self.criterion](found, distribution)

    def _make_learner(self, data: RankingData, cumulative: Cumulative | None, threads: int) -> WeakLearner:
        """Return the weak learner on the training data."""
        if not isinstance(self.weak, str):
            return self.weak(data) if callable(self.weak) else self.weak
        if self.weak == "feature":
            return FeatureLearner(data.features, data.queries.rows, abstain=self.abstain)
        bins = bin_features(data.features, data.queries.rows, data.row_weight, self.max_bins, threads)
        return StumpLearner(
            bins,
            criterion=self.criterion,
            abstain=self.abstain,
            monotone_constraints=self.monotone_constraints,
            cumulative=cumulative,
            n_threads=threads,
        )

    def _make_monitor(
        self, evals: list[RankingData], threads: int, save: Callable[[list[Round]], None] | None
    ) -> Monitor:
        """Return the monitor of the evaluation sets."""
        measures = [parse_measure(name) for name in self._monitor_measures()]
        sets = [EvaluationSet(f"validation_{i}", one, measures, threads) for i, one in enumerate(evals)]
        return Monitor(self.n_estimators, sets, measures, self.early_stopping_rounds, self.verbose, save)

    def _keep(self, rounds: list[Round], best_round: int, n_features: int) -> None:
        """Set what the fit, or a file, gives."""
        self.rounds_ = rounds
        self.best_iteration_ = best_round
        self.model_ = AdditiveModel(
            tuple(done.ranking for done in rounds), np.array([done.alpha for done in rounds], float)
        )
        self.feature_importances_ = _importances(rounds[:best_round], n_features)

    def _score(self, features: Any) -> Array:
        return self.model_.first(self.best_iteration_).score(features, thread_count(self.n_jobs))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the scores of each row after each round."""
        yield from self.model_.staged_scores(self._check_rows(X))
