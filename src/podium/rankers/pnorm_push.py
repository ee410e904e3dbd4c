"""PNormPush: boosting for the top of the list (Rudin 2009)."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from os import PathLike
from typing import ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from podium._compiled import threads_for
from podium._validation import PodiumError
from podium.binning import bin_features
from podium.data import Graded, RankingData, feedback_of
from podium.push import EdgeLearner, PushBoosting, PushDistribution
from podium.rankers.boosted_stumps import StumpRanker, refuse_beside_weak
from podium.rankers.estimator import Estimator
from podium.stumps import FeatureLearner, StumpLearner

LARGEST_POWER = 1000.0
"""Beyond it the loss is a maximum to all digits, and its minimum along a ranking a matter of rounding."""


class PNormPush(StumpRanker):
    """Boosted weak rankings that push bad rows down from the top of the list.

    Minimises ``Σ_q Σ_i (Σ_{j: y_j > y_i} exp(s_i - s_j))^p`` over rows i and j of the same query: each row pays for the
    better rows that it stands above, and the power p makes the rows that stand above many of them pay most. Those are
    at the top, so that larger p gives up order further down for a clean beginning. With p = 1 the loss is RankBoost's.
    Two grades are the case of Rudin (2009), "The P-norm push"; any other labels may be given too (d-partite ranking,
    continuous labels): a row then pays for all rows of higher labels. A row of weight 2 counts as the row given twice.

    Each round takes the weak ranking along which the loss falls steepest, and goes to the minimum along it. Time is
    O(n F) a round for n rows and F features, whatever the number of pairs.

    Parameters
    ----------
    n_estimators : int
        Rounds.
    p : float
        Power of the push, from 1 to 1000; its limit is `InfinitePush`.
    weak : {"stump", "feature"}
        Weak rankings: stumps, or the features themselves scaled to [0, 1], which makes a linear ranker.
    learning_rate : float
        Factor on every α.
    abstain : {"learn", 0, 1}
        Value of a weak ranking where the feature is missing: learned with the threshold, or fixed.
    max_bins : int or None
        Thresholds of a feature: at most so many, at quantiles; None for one at every value. Of stumps alone: another
        number than the default is refused with ``weak="feature"``.
    monotone_constraints : sequence of int, optional
        For each feature 1 (may only raise scores as it grows), -1 (only lower them) or 0.
    query_scale : {"loss", "sum"}
        "loss" divides the loss of each query by its value at equal scores, so that all queries begin alike; "sum" adds
        up losses as they are, in which a query with ten times as many good rows weighs 10^p times as much.
    {monitoring}
    n_jobs : int, optional
        Threads; the model does not depend on their number.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    rounds_ : list of Round
        ``feature, alpha, Z, r`` of each round, and ``threshold, abstain`` of stumps: Z is the factor by which the loss
        fell, p r the slope of its logarithm.
    best_iteration_, evals_result_, stop_reason_, n_features_in_, feature_names_in_
        As `RankBoost` has them.
    feature_importances_ : ndarray
        Share of each feature in the fall of the logarithm of the loss, Σ -ln Z_t of its rounds.

    Examples
    --------
    >>> from podium import PNormPush, make_search
    >>> train = make_search(n_queries=50, random_state=0)
    >>> model = PNormPush(20, p=4).fit(train.X, train.y, qid=train.qid)
    >>> model.predict(train.X).shape == train.y.shape
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "p": [Interval(Real, 1, LARGEST_POWER, closed="both")],
        "weak": [StrOptions({"stump", "feature"})],
        "learning_rate": [Interval(Real, 0, 100, closed="right")],
        "abstain": [StrOptions({"learn"}), Interval(Integral, 0, 1, closed="both")],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), None],
        "monotone_constraints": ["array-like", None],
        "query_scale": [StrOptions({"loss", "sum"})],
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
        p: float = 4.0,
        weak: str = "stump",
        learning_rate: float = 1.0,
        abstain: str | int = "learn",
        max_bins: int | None = 255,
        monotone_constraints: Sequence[int] | None = None,
        query_scale: str = "loss",
        early_stopping_rounds: int | None = None,
        eval_metric: str | Sequence[str] = "ndcg@10",
        checkpoint: str | PathLike[str] | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.p = p
        self.weak = weak
        self.learning_rate = learning_rate
        self.abstain = abstain
        self.max_bins = max_bins
        self.monotone_constraints = monotone_constraints
        self.query_scale = query_scale
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        if isinstance(self.p, int | float) and self.p > LARGEST_POWER:
            raise PodiumError(
                f"p must be from 1 to {LARGEST_POWER:,.0f}; got {self.p}: the limit of large powers is a problem of "
                "its own, which InfinitePush solves."
            )
        super()._check_parameters()
        if self.weak == "feature":
            refuse_beside_weak(self.weak, {"max_bins": self.max_bins != 255}, "stumps only")

    def _learn(self, data: RankingData, evals: list[RankingData], init_model: Estimator | None) -> None:
        self._check_boosting(evals, init_model)
        threads = threads_for(self.n_jobs, data.features.shape[0] * data.features.shape[1])
        distribution = PushDistribution(_graded(data), self.p, self.query_scale == "loss", threads)
        boosting = PushBoosting(data, distribution, self._make_learner(data, threads), self.learning_rate)
        self._boost_pairs(boosting, data, evals, init_model)

    def _make_learner(self, data: RankingData, threads: int) -> EdgeLearner:
        """Return the weak learner on the training data."""
        rows, signs = data.queries.rows, self.monotone_constraints
        if self.weak == "feature":
            return FeatureLearner(data.features, rows, abstain=self.abstain, monotone_constraints=signs)
        bins = bin_features(data.features, rows, data.weights, self.max_bins, threads)
        return StumpLearner(bins, abstain=self.abstain, monotone_constraints=signs, n_threads=threads)


def _graded(data: RankingData) -> Graded:
    """Return the labels as feedback, or refuse explicit pairs, which have no rows to sum over."""
    if data.pairs is not None:
        raise PodiumError(
            "PNormPush sums over all better rows of a query, so pairs must be None: give labels y, or use RankBoost."
        )
    (graded,) = feedback_of(data).parts
    if not isinstance(graded, Graded):
        raise TypeError(f"Labels must be graded feedback; got {type(graded).__name__}.")
    return graded
