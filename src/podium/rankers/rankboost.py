"""RankBoost: boosting on pairs with stumps (Freund, Iyer, Schapire and Singer 2003, "RB")."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from podium._compiled import thread_count, threads_for
from podium._validation import Array, FormatError, PodiumError
from podium.alpha import RULES, SMOOTHING
from podium.binning import bin_features
from podium.dataset import RankingData
from podium.distribution import Distribution
from podium.feedback import feedback_of
from podium.measures import parse_measure
from podium.model import AdditiveModel
from podium.rankers.base import Ranker
from podium.rankers.story import fingerprint, from_columns, read_checkpoint, to_columns, write_checkpoint
from podium.rounds import EvaluationSet, Monitor, Round, boost, repeat
from podium.weak import Found, WeakLearner
from podium.weak.feature import FeatureLearner
from podium.weak.stump import Cumulative, StumpLearner

NOT_MARKED = ("n_estimators", "n_jobs", "verbose", "checkpoint", "eval_metric", "early_stopping_rounds")
"""Parameters that do not change a round, so that a checkpoint serves fits that differ in them."""


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
    undefined : {"smooth", "stop"}
        What to do with a stump that orders no pair wrongly but ties some, for which RB Eq. 2 has no finite α: give it
        a large one, as if a 10⁻¹² of its pairs were wrong; or end the fit before it (Connamacher et al. 2019, appendix
        B, where ``alpha="z"`` is called RB-D). RB Eq. 6, their RB-C, always has one.
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
        "undefined": [StrOptions({"smooth", "stop"})],
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
        undefined: str = "smooth",
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
        self.undefined = undefined
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
        n_pairs = 0 if data.pairs is None else len(data.pairs.better)
        threads = threads_for(self.n_jobs, data.features.shape[0] * data.features.shape[1] + 4 * n_pairs)
        distribution = Distribution(feedback_of(data, self.pair_weight), len(data.queries.rows), threads)
        cumulative = Cumulative(self._weigh) if self.cumulative else None
        learner = self._make_learner(data, cumulative, threads)
        taken: Callable[[Any, float], None] | None = None if cumulative is None else cumulative.add

        done = [] if init_model is None else list(init_model.rounds_)
        save = None
        if self.checkpoint is not None:
            mark = fingerprint(data, self._marked_parameters(done))
            done = read_checkpoint(self.checkpoint, mark, data.features.shape[1]) or done
            save = partial(write_checkpoint, self.checkpoint, mark)
        monitor = self._make_monitor(evals, threads, save)
        repeat(done[: self.n_estimators], data, distribution, monitor, taken)
        stopper = StopsUndefined(learner) if self.undefined == "stop" else None
        rounds = boost(distribution, stopper or learner, self._weigh, monitor, self.n_estimators, taken)
        if stopper is not None and stopper.met:
            monitor.reason = UNDEFINED
        if not rounds:
            raise PodiumError(_why_nothing_was_learned(data.features, monitor.reason))
        if save is not None:
            save(rounds)
        self._keep(rounds, monitor.best_round, data.features.shape[1])
        self.evals_result_ = monitor.history
        self.stop_reason_ = monitor.reason

    def _check_combinations(self, evals: list[RankingData], init_model: Any) -> None:
        """Refuse parameters that would be ignored together with others."""
        if self.early_stopping_rounds is not None and not evals:
            raise PodiumError("early_stopping_rounds needs an eval_set to measure each round on.")
        if self.weak != "stump":
            unused = {"criterion": self.criterion != "r", "cumulative": self.cumulative}
            unused["checkpoint"] = self.checkpoint is not None
            unused['alpha="z"'] = self.alpha == "z" and self.weak == "feature"
            for name in (name for name, given in unused.items() if given):
                raise PodiumError(f"{name} goes with stumps only; leave it out with weak={self.weak!r}.")
        if self.undefined == "stop" and (self.weak != "stump" or (self.alpha or self.criterion) == "r"):
            raise PodiumError('undefined="stop" goes with stumps and alpha="z" or "numeric", which may be undefined.')
        if init_model is not None:
            if not isinstance(init_model, RankBoost):
                raise PodiumError(f"init_model must be a fitted RankBoost; got {type(init_model).__name__}.")
            check_is_fitted(init_model)

    def _weigh(self, found: Found, distribution: Distribution) -> float:
        """Return α of a weak ranking, learning rate included."""
        return self.learning_rate * RULES[self.alpha or self.criterion](found, distribution)

    def _make_learner(self, data: RankingData, cumulative: Cumulative | None, threads: int) -> WeakLearner:
        """Return the weak learner on the training data."""
        if not isinstance(self.weak, str):
            own: WeakLearner = self.weak(data) if callable(self.weak) else self.weak
            return own
        limits: dict[str, Any] = {
            "abstain": self.abstain,
            "monotone_constraints": self.monotone_constraints,
        }
        if self.weak == "feature":
            return FeatureLearner(data.features, data.queries.rows, **limits)
        bins = bin_features(data.features, data.queries.rows, data.row_weight, self.max_bins, threads)
        return StumpLearner(bins, criterion=self.criterion, cumulative=cumulative, n_threads=threads, **limits)

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

    def certificate(self) -> dict[str, Array]:
        """Return what vouches for the model, round by round: r, Z, and the bound ∏ Z on the training loss.

        The training ranking loss, a tie counting as an error, is at most ``bound`` in every round (RB
        Theorem 1); ``edge_bound`` = ∏ √(1 − r²) is a bound on that, for α by RB Eq. 6 without a learning
        rate. `podium.evaluate` with the measure ``pair_loss_1`` gives the loss itself, also of
        `staged_predict`.
        """
        check_is_fitted(self)
        r, Z = (np.array([getattr(done, name) for done in self.rounds_]) for name in ("r", "Z"))
        alpha = np.array([done.alpha for done in self.rounds_])
        edge = np.sqrt(np.maximum(1 - r**2, 0.0))
        return {"alpha": alpha, "r": r, "Z": Z, "bound": np.cumprod(Z), "edge_bound": np.cumprod(edge)}

    def _marked_parameters(self, done: list[Round]) -> dict[str, Any]:
        """Return what a checkpoint must agree in: parameters that change rounds, and where it started."""
        given = {name: value for name, value in self.get_params(deep=False).items() if name not in NOT_MARKED}
        return {**given, "before": [(one.ranking, one.alpha) for one in done]}

    def _learned(self) -> dict[str, Any]:
        return {"rounds": to_columns(self.rounds_), "best_iteration": self.best_iteration_}

    def _restore(self, content: dict[str, Any], path: str | PathLike[str]) -> None:
        rounds = from_columns(content.get("rounds"), path, self.n_features_in_)
        best = content.get("best_iteration")
        if not isinstance(best, int) or not 0 <= best <= len(rounds):
            raise FormatError(path, f"best_iteration must be 0 to {len(rounds)}, the number of rounds")
        self._keep(rounds, best, self.n_features_in_)


UNDEFINED = "the next weak ranking makes no reverse ranking, so that its alpha is undefined"


class StopsUndefined:
    """A weak learner that ends the fit before a ranking without a finite best α.

    Parameters
    ----------
    learner : WeakLearner
        Finds the rankings.

    Attributes
    ----------
    met : bool
        Whether such a ranking was found.
    """

    def __init__(self, learner: WeakLearner) -> None:
        self.learner, self.met = learner, False

    def search(self, potentials: Array, distribution: Distribution) -> Found | None:
        """Return what the learner finds, or None where it orders all pairs that it does not tie one way."""
        found = self.learner.search(potentials, distribution)
        if found is not None:
            right, _, wrong = distribution.ranking_weights(found.values)
            self.met = min(right, wrong) <= SMOOTHING * (right + wrong)
        return None if self.met else found


def generalization_bound(n_low: int, n_high: int, n_rounds: int, dimension: int, delta: float = 0.05) -> float:
    """Return how far the ranking loss on new pairs can be from that on the training pairs (RB Theorem 3).

    With probability 1 − δ over bipartite samples, for all combinations of T weak rankings of values 0 and 1,

        |ε̂(H) − ε(H)| ≤ Σ_{k ∈ (m, n)} 2 √((d′ (ln(2k/d′) + 1) + ln(18/δ)) / k),
        d′ = 2 (d + 1) (T + 1) log₂(e (T + 1)).

    Parameters
    ----------
    n_low, n_high : int
        Rows that should stand low (m) and high (n).
    n_rounds : int
        T.
    dimension : int
        VC dimension d ≥ 2 of the weak rankings; for stumps on F features it is at most
        2 (log₂ F + 1), and 2 for one feature with either sign.
    delta : float
        Probability that the bound fails.

    Returns
    -------
    float
        Infinite where a sample is smaller than half of d′: there the theorem says nothing.
    """
    if min(n_low, n_high, n_rounds) < 1 or dimension < 2 or not 0 < delta < 1:
        raise PodiumError("The bound needs samples and rounds of at least 1, dimension >= 2 and 0 < delta < 1.")
    complexity = 2 * (dimension + 1) * (n_rounds + 1) * np.log2(np.e * (n_rounds + 1))
    total = 0.0
    for size in (n_low, n_high):
        capacity = complexity * (np.log(2 * size / complexity) + 1)
        if 2 * size < complexity:
            return float("inf")
        total += 2 * np.sqrt((capacity + np.log(18 / delta)) / size)
    return float(total)


def _why_nothing_was_learned(features: Any, reason: str) -> str:
    """Say why the first round found no weak ranking."""
    if reason == UNDEFINED:
        return 'The first weak ranking makes no reverse ranking: its alpha is undefined; consider undefined="smooth".'
    n_features = features.shape[1]
    stored = features.data if sp.issparse(features) else features
    if np.isnan(stored).all():
        return f"No feature can rank anything: all {n_features} are missing in every row."
    if not sp.issparse(features) and np.all((features == features[0]) | np.isnan(features) & np.isnan(features[0])):
        return f"No feature can rank anything: all {n_features} are constant."
    return "No weak ranking is better than chance: no feature orders the pairs either way."


def _importances(rounds: list[Round], n_features: int) -> Array:
    """Return each feature's share of Σ −ln Z_t; zeros where the weak rankings have no feature."""
    falls = np.zeros(n_features)
    for done in rounds:
        feature = getattr(done.ranking, "feature", None)
        if feature is not None:
            falls[feature] += max(0.0, -np.log(max(done.Z, np.finfo(float).tiny)))
    return falls / falls.sum() if falls.sum() > 0 else falls
