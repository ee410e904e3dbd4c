"""ORBoost: an ensemble of stumps cut by thresholds, with large margins (Lin and Li 2006).

Lin and Li, "Large-margin thresholded ensembles for ordinal regression: theory and practice".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from podium._compiled import SCORE, thread_count, threads_for
from podium._validation import Array, FormatError, PodiumError
from podium.binning import bin_features
from podium.boosting.rounds import Monitor, Round
from podium.model_file import check_whole
from podium.ordinal.costs import cost_steps
from podium.ordinal.margins import Margins
from podium.pairs.alpha import SMOOTHING
from podium.rankers.boosted import importances, why_nothing_was_learned
from podium.rankers.ordinal_evals import check_eval_sets
from podium.rankers.ordinal_ranker import OrdinalData, OrdinalRanker, check_thresholds
from podium.rankers.story import from_columns, to_columns
from podium.rankers.vote_rounds import MeanCost
from podium.stumps.additive_model import AdditiveModel
from podium.stumps.stump import Stump, StumpLearner


@dataclass(frozen=True)
class ThresholdRound(Round):
    """One round of ORBoost.

    Attributes
    ----------
    ranking, alpha
        The stump, of values 0 and 1, and its weight.
    Z : float
        Factor by which the loss fell.
    r : float
        Σ potentials where the stump is 1, as a share of the loss.
    thresholds : ndarray of shape (K - 1,)
        Those after the round.
    """

    thresholds: Array


LEAST_LOSS = 1e-280
"""Loss, weights being at most 1, below which rounds end: exponentials of further scores would leave float64."""


class ORBoost(OrdinalRanker):
    """Grades by a sum of stumps and thresholds, boosted on all margins between them (Lin and Li 2006).

    Minimises ``Σ_n Σ_k s_nk exp(-margin)``, where the margin of row n at threshold k is H(x_n) - θ_k if k < y_n and
    θ_k - H(x_n) else. Each round takes the stump h of the largest edge |Σ_n φ_n h(x_n)|, φ the slope of the loss, gives
    it α = ½ ln(what it pulls the right way / the wrong way), and then moves all thresholds to where the loss is lowest
    while they ascend. So the loss never rises. Under "all-margins" with absolute costs each threshold's own optimum is
    in order already. A row's rank is ``1 + #{k: H(x) ≥ θ_k}``. A stump without an error ends the run once all
    grades are right.

    Parameters
    ----------
    n_estimators : int
        Rounds.
    variant : {"all-margins", "left-right"}
        ORBoost-All: s_nk = |c_n[k+1] - c_n[k]| for every threshold, which bounds the cost. ORBoost-LR: only for the
        two thresholds next to the row's grade, which bounds the number of errors.
    cost : {"absolute", "squared", "zero-one"} or array-like of shape (K, K)
        Cost of each grade for rows of each grade.
    learning_rate : float
        Factor on every α.
    max_bins : int or None
        Thresholds of a feature: at most so many, at quantiles; None for one at every value, as in the paper.
    early_stopping_rounds : int, optional
        Stop when the mean cost of the last evaluation set has not fallen for so many rounds, and predict with the
        rounds up to its lowest value.
    n_jobs : int, optional
        Threads; the model does not depend on their number.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    rounds_ : list of ThresholdRound
        The story: ``feature, threshold, abstain, alpha, Z, r, thresholds`` of each round. A stump's values are 0 and 1,
        so that α is twice the paper's and the thresholds are shifted.
    best_iteration_ : int
        Rounds that `predict` uses: all of them, or with early stopping those up to the best cost.
    thresholds_ : ndarray of shape (K - 1,)
        Those after that round.
    evals_result_ : dict
        ``evals_result_["validation_0"]["cost"]``: the mean cost after each round.
    feature_importances_ : ndarray
        Share of each feature in the fall of the loss, Σ −ln Z_t of its rounds.
    stop_reason_ : str
        Why the fit ended.
    classes_, costs_convex_, n_features_in_, feature_names_in_
        As every ordinal ranker has them.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((200, 2))
    >>> y = np.digitize(X.sum(axis=1), [0.7, 1.3])
    >>> ORBoost(n_estimators=50).fit(X, y).predict([[0.1, 0.2], [0.5, 0.5], [0.9, 0.8]]).tolist()
    [0, 1, 2]
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's declaration)
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "variant": [StrOptions({"all-margins", "left-right"})],
        "cost": OrdinalRanker._cost_constraint,
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), None],
        "early_stopping_rounds": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    rounds_: list[ThresholdRound]

    def __init__(
        self,
        n_estimators: int = 1000,
        *,
        variant: str = "all-margins",
        cost: Any = "absolute",
        learning_rate: float = 1.0,
        max_bins: int | None = 255,
        early_stopping_rounds: int | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.variant = variant
        self.cost = cost
        self.learning_rate = learning_rate
        self.max_bins = max_bins
        self.early_stopping_rounds = early_stopping_rounds
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(  # type: ignore[override]  # no queries, no pairs
        self,
        X: Any,
        y: Any,
        *,
        sample_cost: Any = None,
        sample_weight: Any = None,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        eval_cost: Sequence[Any] | None = None,
    ) -> Self:
        """Learn to grade.

        Parameters
        ----------
        X, y, sample_cost, sample_weight
            As for every ordinal ranker.
        eval_set : list of (X, y), optional
            Further data whose mean cost is measured each round; the last one decides on early stopping.
        eval_cost : list of array-like, optional
            Costs of each evaluation set, beside `eval_set`; needed with `sample_cost`.

        Returns
        -------
        self
        """
        self._check_parameters()
        data = self._gate(X, y, sample_cost, sample_weight)
        own_costs = sample_cost is not None
        evals = check_eval_sets(data, eval_set, eval_cost, self.cost, own_costs, self.early_stopping_rounds)
        sets = [ScoredSet(f"validation_{number}", one) for number, one in enumerate(evals)]
        self._run(data, sets)
        self._describe(data)
        return self

    def _learn_grades(self, data: OrdinalData) -> None:
        self._run(data, [])

    def _run(self, data: OrdinalData, evals: list[ScoredSet]) -> None:
        """Run the rounds on checked data and keep what was learned."""
        data.require_two_grades()
        n_rows, n_features = data.features.shape
        threads = threads_for(self.n_jobs, n_rows * n_features)
        bins = bin_features(data.features, None, data.weight, self.max_bins, threads)
        learner = StumpLearner(bins, n_threads=threads)
        weights = margin_weights(data, self.variant)
        # Only ratios matter; over a power of two, which changes no digit, the largest is at most 1.
        margins = Margins(np.ldexp(weights, -int(np.frexp(weights.max())[1])), data.grades)
        monitor: Monitor[ThresholdRound] = Monitor(
            self.n_estimators, evals, [MeanCost()], self.early_stopping_rounds, self.verbose
        )
        boost_margins(margins, learner, monitor, self.n_estimators, self.learning_rate)
        if not monitor.rounds:
            raise PodiumError(why_nothing_was_learned(data.features))
        self._keep(monitor.rounds, monitor.best_round)
        self.evals_result_, self.stop_reason_ = monitor.history, monitor.reason

    def _keep(self, rounds: list[ThresholdRound], best_round: int) -> None:
        """Set what a fit, or a file, gives."""
        self.rounds_, self.best_iteration_ = rounds, best_round
        self.thresholds_ = rounds[best_round - 1].thresholds
        self.model_ = AdditiveModel(tuple(done.ranking for done in rounds), np.array([done.alpha for done in rounds]))

    @property
    def feature_importances_(self) -> Array:
        """Share of each feature in the fall of the loss."""
        check_is_fitted(self)
        return importances(list(self.rounds_[: self.best_iteration_]), self.n_features_in_)

    def _score(self, features: Any) -> Array:
        """Return H(x) of each row."""
        return self.model_.first(self.best_iteration_).score(features, thread_count(self.n_jobs))

    def _grade(self, features: Any) -> Array:
        return np.searchsorted(self.thresholds_, self._score(features), side="right")

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the grade of each row after each round, as the labels of the fit have it."""
        staged = self.model_.staged_scores(self._check_rows(X))
        for done, scores in zip(self.rounds_, staged, strict=True):
            yield self.classes_[np.searchsorted(done.thresholds, scores, side="right")]

    def _learned(self) -> dict[str, Any]:
        thresholds = np.concatenate([done.thresholds for done in self.rounds_])
        story = {"rounds": to_columns(self.rounds_), "thresholds": thresholds}
        return {**super()._learned(), **story, "best_iteration": self.best_iteration_}

    def _restore(self, content: dict[str, Any], path: str | PathLike[str]) -> None:
        super()._restore(content, path)
        rounds = from_columns(content.get("rounds"), path, self.n_features_in_)
        if not all(isinstance(done.ranking, Stump) for done in rounds):
            raise FormatError(path, "the rounds of ORBoost must be stumps")
        cuts = check_thresholds(content.get("thresholds"), path, len(self.classes_), len(rounds))
        best = check_whole(content.get("best_iteration"), path, "best_iteration", 1, len(rounds))
        story = [ThresholdRound(d.ranking, d.alpha, d.Z, d.r, own) for d, own in zip(rounds, cuts, strict=True)]
        self._keep(story, best)


def margin_weights(data: OrdinalData, variant: str) -> Array:
    """Return the weight of each margin: |c[k+1] - c[k]|, or that of the two next to the grade only."""
    steps = cost_steps(data.costs)
    if variant == "all-margins":
        return steps
    distance = np.arange(steps.shape[1]) - data.grades[:, None]
    return np.where((distance == 0) | (distance == -1), steps, 0.0)


def boost_margins(
    margins: Margins, learner: StumpLearner, monitor: Monitor[ThresholdRound], n_rounds: int, learning_rate: float
) -> None:
    """Run ORBoost.

    1. Find the stump of the largest edge for the potentials of the rows.
    2. α = ½ ln(pull with it / pull against it), for a stump of values -1 and 1: 2 α for one of 0 and 1.
    3. Add it to the scores, and move the thresholds to the lowest loss.
    4. End after a stump without any pull against it, whose best α is infinite, once all grades are right.
    """
    with monitor:
        while len(monitor.rounds) < n_rounds and not monitor.stopped:
            if margins.loss < LEAST_LOSS:
                monitor.stop("the loss has fallen to nothing")
                break
            found = learner.search(margins.potentials(), None)  # type: ignore[arg-type]  # the edge needs no pairs # 1
            if found is None:
                monitor.stop("no stump is better than chance")
                break
            right, wrong = margins.sides(found.values)
            alpha = learning_rate * float(np.log(max(right, SMOOTHING) / max(wrong, SMOOTHING)))  # 2
            Z = margins.add(alpha * found.values)  # 3
            monitor.observe(ThresholdRound(found.ranking, alpha, Z, found.r, margins.thresholds))
            if min(right, wrong) == 0.0 and margins.flawless():  # 4
                monitor.stop("the last stump makes no error")


class ScoredSet:
    """Further data whose scores follow the rounds.

    Parameters
    ----------
    name : str
        Key in the history.
    data : OrdinalData
    """

    def __init__(self, name: str, data: OrdinalData) -> None:
        self.name, self.data = name, data
        self.scores = np.zeros(len(data.grades), SCORE)

    def add(self, done: ThresholdRound) -> dict[str, float]:
        """Add a round to the scores and return the mean cost."""
        self.scores += done.alpha * done.ranking.predict(self.data.features)
        grades = np.searchsorted(done.thresholds, self.scores, side="right")
        return {"cost": float(self.data.costs[np.arange(len(grades)), grades].mean())}
