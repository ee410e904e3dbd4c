"""RankBoost: boosting on pairs with stumps (Freund, Iyer, Schapire and Singer 2003, "RB")."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from podium._compiled import thread_count, threads_for
from podium._exchange import ALONE, Exchange
from podium._magnitudes import check_within
from podium._types import MatrixLike, PairsLike, QueryWeight
from podium._validation import Array, PodiumError
from podium.binning import Bins, bin_features, candidate_thresholds
from podium.binning.thresholds import Thresholds
from podium.data import CONTRADICTIONS, PAIR_WEIGHTS, RankingData, feedback_of, warn_of_one_query
from podium.pairs import LOG_LARGEST, RULES, Distribution, PairBoosting, WeakLearner, WeakResult
from podium.rankers.boosted_stumps import StumpRanker, refuse_beside_weak
from podium.rankers.estimator import Estimator
from podium.stumps import Cumulative, FeatureLearner, OwnLearner, StumpLearner


class RankBoost(StumpRanker):
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
        Rule for α: RB Eq. 6, for weak rankings whose values span at most 1; RB Eq. 2, for values 0 and 1 alone; or the
        numerical minimum of Z, for values of any range. By default that of the criterion for stumps, "r" for features,
        and "numeric" for a weak learner of your own. Values that a rule does not hold for are refused.
    undefined : {"smooth", "stop"}
        What to do with a stump that orders no pair wrongly but ties some, for which RB Eq. 2 has no finite α: give it
        a large one, as if a 10⁻¹² of its pairs were wrong; or end the fit before it (Connamacher et al. 2019, appendix
        B, where ``alpha="z"`` is called RB-D). RB Eq. 6, their RB-C, always has one. A stump that ties none either is
        without an error: it is taken with the large α, and ends the fit after it.
    cumulative : bool
        Keep the cumulative weight of each stump positive (WeakLearn.cum).
    abstain : {"learn", 0, 1}
        Value of a stump or feature where the feature is missing (q_def): learned with the threshold, or fixed. Refused
        beside a weak learner of your own.
    weak : {"stump", "feature"} or object
        Weak rankings: stumps, the features themselves scaled to [0, 1], or your own weak learner, an object
        with a method ``search`` (see `podium.pairs.WeakLearner`); a callable is called with the `RankingData` to make
        one.
    learning_rate : float
        Factor on every α.
    max_bins : int or None
        Thresholds of a feature: at most so many, at quantiles; None for one at every value, as in the paper. Of stumps
        alone.
    monotone_constraints : sequence of int, optional
        For each feature 1 (may only raise scores as it grows), -1 (only lower them) or 0. Refused beside a weak
        learner of your own.
    thresholds : mapping, sequence or None
        Candidate thresholds of your own (RB Figure 3): a mapping from the name or number of a column to its thresholds,
        the other columns being cut as `max_bins` says; a sequence with an entry for each feature, a sequence of
        thresholds or None; or one sequence of numbers for all features. At most 254 of them can part the values of a
        dense feature, any number with ``max_bins=None``.
    pair_weight : {"pairs", "queries", "differences"}
        Whether all pairs of labels weigh alike, or all queries; or a pair weighs the difference of its labels.
    contradictions : {"keep", "net"}
        Whether explicit pairs that contradict each other all count; or are netted, so that of two rows one stands above
        the other with the difference of the weights (RB section 2, where Φ is anti-symmetric; footnote 1 keeps them).
        Pairs that contradict labels are not netted but refused.
    {monitoring}
    n_jobs : int, optional
        Threads; the model does not depend on their number.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    rounds_ : list of Round
        One record per round: ``feature, threshold, abstain, alpha, Z, r``.
    best_iteration_ : int
        Rounds that `predict` uses: all of them, or with early stopping those up to the best measure.
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

    _parameter_constraints: dict[str, list[object]] = {  # noqa: RUF012 (scikit-learn's declaration)
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "criterion": [StrOptions({"r", "z"})],
        "alpha": [StrOptions(set(RULES)), None],
        "undefined": [StrOptions({"smooth", "stop"})],
        "cumulative": ["boolean"],
        "abstain": [StrOptions({"learn"}), Interval(Integral, 0, 1, closed="both")],
        "weak": [StrOptions({"stump", "feature"}), HasMethods("search"), callable],
        "learning_rate": [Interval(Real, 0, 100, closed="right")],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), None],
        "monotone_constraints": ["array-like", None],
        "thresholds": ["array-like", Mapping, None],
        "pair_weight": [StrOptions(set(PAIR_WEIGHTS))],
        "contradictions": [StrOptions(set(CONTRADICTIONS))],
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
        weak: str | WeakLearner | Callable[[RankingData], WeakLearner] = "stump",
        learning_rate: float = 1.0,
        max_bins: int | None = 255,
        monotone_constraints: Sequence[int] | None = None,
        thresholds: Thresholds | None = None,
        pair_weight: str = "pairs",
        contradictions: str = "keep",
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
        self.thresholds = thresholds
        self.pair_weight = pair_weight
        self.contradictions = contradictions
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn(self, data: RankingData, evals: list[RankingData], init_model: Estimator | None) -> None:
        self._check_boosting(evals, init_model)
        n_pairs = 0 if data.pairs is None else len(data.pairs.better)
        threads = threads_for(self.n_jobs, data.features.shape[0] * data.features.shape[1] + 4 * n_pairs)
        self._boost_pairs(self._make_boosting(data, threads), data, evals, init_model)

    def _make_boosting(self, data: RankingData, threads: int, exchange: Exchange = ALONE) -> PairBoosting:
        """Return the rounds on the training rows, of which other parts may have some."""
        distribution = self._first_distribution(data, threads, exchange)
        cumulative = Cumulative(self._weigh) if self.cumulative else None
        learner = self._make_learner(data, cumulative, threads, exchange)
        return PairBoosting(data, distribution, learner, self._weigh, cumulative, self.undefined == "stop")

    def _first_distribution(self, data: RankingData, threads: int, exchange: Exchange = ALONE) -> Distribution:
        """Return D₁ of the feedback in `data`."""
        feedback = feedback_of(data, self.pair_weight, self.contradictions, exchange)
        return Distribution(feedback, len(data.queries.rows), threads, exchange)

    def _check_parameters(self) -> None:
        """Refuse, too, parameters that the chosen weak rankings, or their rule for α, would ignore."""
        super()._check_parameters()
        if self.undefined == "stop" and (self.weak != "stump" or (self.alpha or self.criterion) == "r"):
            raise PodiumError(
                'undefined="stop" goes with stumps and alpha="z" or "numeric", which may be undefined; '
                f"got weak={self.weak!r}, criterion={self.criterion!r} and alpha={self.alpha!r}."
            )
        if self.weak == "stump":
            return
        unused = {"criterion": self.criterion != "r", "cumulative": self.cumulative, "max_bins": self.max_bins != 255}
        unused |= {"checkpoint": self.checkpoint is not None, "thresholds": self.thresholds is not None}
        unused['alpha="z"'] = self.alpha == "z" and self.weak == "feature"
        refuse_beside_weak(self.weak, unused, "stumps only")
        if not isinstance(self.weak, str):
            limits = {"abstain": self.abstain != "learn", "monotone_constraints": self.monotone_constraints is not None}
            refuse_beside_weak(self.weak, limits, "stumps and features only")

    def _weigh(self, found: WeakResult, distribution: Distribution) -> float:
        """Return α of a weak ranking, learning rate included."""
        if not isinstance(self.weak, str):
            check_within(found.values, "The values of a weak ranking", "finite scores")
        default = self.criterion if isinstance(self.weak, str) else "numeric"
        return self.learning_rate * RULES[self.alpha or default](found, distribution)

    def _make_learner(
        self, data: RankingData, cumulative: Cumulative | None, threads: int, exchange: Exchange
    ) -> WeakLearner:
        """Return the weak learner on the training data."""
        if not isinstance(self.weak, str):
            return OwnLearner(self.weak(data) if callable(self.weak) else self.weak)
        limits: dict[str, Any] = {
            "abstain": self.abstain,
            "monotone_constraints": self.monotone_constraints,
        }
        if self.weak == "feature":
            return FeatureLearner(data.features, data.queries.rows, **limits)
        return StumpLearner(
            self._make_bins(data, threads, exchange), criterion=self.criterion, cumulative=cumulative,
            n_threads=threads, exchange=exchange, **limits,
        )  # fmt: skip

    def _make_bins(self, data: RankingData, threads: int, exchange: Exchange) -> Bins:
        """Return the features as codes; without candidates of your own, those that no partitioning changes."""
        features, rows = data.features, data.queries.rows
        thresholds = candidate_thresholds(self.thresholds, features.shape[1], data.feature_names, features.dtype)
        keys = data.queries.place_keys() if thresholds is None else None
        return bin_features(
            features, rows, data.weights, self.max_bins, threads, thresholds=thresholds, keys=keys, exchange=exchange
        )

    def certificate(
        self,
        X: MatrixLike | None = None,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        pairs: PairsLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: QueryWeight | None = None,
    ) -> dict[str, Array]:
        """Return what vouches for the model, round by round: α, r, Z, the bound on the loss and, given data, the loss.

        Parameters
        ----------
        X, y, qid, group, pairs, sample_weight, query_weight
            The training data as `fit` had them, or other data; without them the loss is left out.

        Returns
        -------
        dict of str to ndarray
            "alpha", "r", "Z" of the fit; "bound" = ∏ Z, which the training ranking loss stays below (RB Theorem 1);
            "edge_bound" = ∏ √(1 − r²) of the fit, a bound on that for α by RB Eq. 6 without a learning rate; and
            "loss", the ranking loss of RB Eq. 1, a tie counting as an error. Given data, "bound" is the product of the
            normalisers that the rounds have on these data, weights included: the same on those of the fit, and above
            the loss on any, also where `init_model` had learned from others.
        """
        check_is_fitted(self)
        alpha, r, Z = (np.array([getattr(round_, name) for round_ in self.rounds_]) for name in ("alpha", "r", "Z"))
        with np.errstate(divide="ignore", over="ignore"):
            bound = np.exp(np.minimum(np.cumsum(np.log(Z)), LOG_LARGEST))
            edge_bound = np.exp(0.5 * np.cumsum(np.log(np.maximum(1 - r**2, 0.0))))
        records = {"alpha": alpha, "r": r, "Z": Z, "bound": bound, "edge_bound": edge_bound}
        if X is not None:
            self._check_rows(X)
            data = RankingData.from_arrays(
                X, y, qid=qid, group=group, pairs=pairs, sample_weight=sample_weight, query_weight=query_weight
            )
            if not data.queries_given:
                warn_of_one_query(data.labels, "", "group=[{}]")
            records["bound"], records["loss"] = self._losses(data, self.staged_predict(X))
        return records

    def _losses(self, data: RankingData, staged: Iterable[Array]) -> tuple[Array, Array]:
        """Return the exponential loss Σ D₁ exp(H(x₀) − H(x₁)) and the ranking loss after each round."""
        distribution, rows = self._first_distribution(data, thread_count(self.n_jobs)), data.queries.rows
        bounds, losses = [], []
        for round_, scores in zip(self.rounds_, staged, strict=True):
            distribution.update(round_.alpha * round_.ranking.predict(data.features)[rows])
            bounds.append(np.exp(min(distribution.log_loss, LOG_LARGEST)))
            losses.append(distribution.ranking_loss(scores[rows]))
        return np.array(bounds), np.array(losses)


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
        raise PodiumError(
            "The bound needs samples and rounds of at least 1, dimension >= 2 and 0 < delta < 1; "
            f"got n_low={n_low}, n_high={n_high}, n_rounds={n_rounds}, dimension={dimension} and delta={delta}."
        )
    complexity = 2 * (dimension + 1) * (n_rounds + 1) * np.log2(math.e * (n_rounds + 1))
    total = 0.0
    for size in (n_low, n_high):
        capacity = complexity * (np.log(2 * size / complexity) + 1)
        if 2 * size < complexity:
            return float("inf")
        total += 2 * np.sqrt((capacity + np.log(18 / delta)) / size)
    return float(total)
