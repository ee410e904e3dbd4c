"""RankBoost+: boosting on pairs that counts a tie as half an error.

"RB+" is Connamacher, Pancha, Liu and Ray (2019), "RankBoost+: an improvement to RankBoost"; "RB" is Freund, Iyer,
Schapire and Singer (2003). RB+ calls ``RankBoost(alpha="z")`` RB-D and ``RankBoost(alpha="r")`` RB-C.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from podium._compiled import threads_for
from podium._types import MatrixLike, PairsLike, QueryWeight
from podium._validation import Array
from podium.binning import bin_features
from podium.data import CONTRADICTIONS, PAIR_WEIGHTS, RankingData, feedback_of, warn_of_one_query
from podium.pairs import Distribution
from podium.plus import EfficientLearner, OptimalLearner, PlusBoosting, PlusDistribution, materialize_pairs
from podium.rankers.boosted_stumps import StumpRanker
from podium.rankers.estimator import Estimator

SEARCHES = {"efficient": EfficientLearner, "optimal": OptimalLearner}


class RankBoostPlus(StumpRanker):
    """Ranking by boosted stumps with the loss Ê2, to which a tied pair is half right and half wrong.

    To RankBoost's loss Ê1 a pair that a stump ties is neither; Ê2 multiplies its weight by cosh(η), the mean of the
    factors of a right and a wrong order, where η is the stump's weight in all. It bounds the ranking loss in which a
    tie is half an error, orders stumps as that loss does, and overfits less (RB+ section 5). It is defined over
    linearly independent stumps, so a step goes along a stump already used or one that is independent of those.

    Parameters
    ----------
    n_estimators : int
        Rounds.
    search : {"efficient", "optimal"}
        Directions to choose from: independent stumps (RB+ Algorithm 2); or dependent ones as well, each as the
        combination of used stumps that it is on the training pairs (RB+ section 4), which takes a numerical search for
        its α and a pass over the pairs for every used stump.
    abstain : {"learn", 0, 1}
        Value of a stump where the feature is missing (q_def): learned with the threshold, or fixed.
    max_bins : int or None
        Thresholds of a feature: at most so many, at quantiles; None for one at every value.
    pair_weight : {"pairs", "queries", "differences"}
        Whether all pairs of labels weigh alike, or all queries; or a pair weighs the difference of its labels.
    contradictions : {"keep", "net"}
        Whether explicit pairs that contradict each other all count, or are netted, as `RankBoost` has it.
    max_pairs : int or None
        Most pairs to list. Ties do not factor, so that labels, too, need a list of all their pairs: 36 bytes each at
        most, 20 while rounds go on. None for no limit.
    {monitoring}
    n_jobs : int, optional
        Threads; the model does not depend on their number.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    rounds_ : list of Round
        One record per round: ``feature, threshold, abstain, alpha, Z, r``. The product of all Z is Ê2.
    best_iteration_ : int
        Rounds that `predict` uses: all of them, or with early stopping those up to the best measure.
    evals_result_ : dict
        ``evals_result_["validation_0"]["ndcg@10"]``: the measure after each round.
    feature_importances_ : ndarray
        Share of each feature in the fall of Ê2, Σ -ln Z_t of its rounds.
    stop_reason_ : str
        Why the fit ended.
    n_features_in_, feature_names_in_
        As scikit-learn has them.

    Examples
    --------
    >>> from podium import make_preferences
    >>> from podium.rankers.rankboost_plus import RankBoostPlus
    >>> data = make_preferences(60, 20, random_state=0)
    >>> model = RankBoostPlus(n_estimators=20).fit(data.X, pairs=tuple(data.pairs))
    >>> bool(model.certificate()["bound"][-1] < 0.9)
    True
    """

    _parameter_constraints: dict[str, list[object]] = {  # noqa: RUF012 (scikit-learn's declaration)
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "search": [StrOptions(set(SEARCHES))],
        "abstain": [StrOptions({"learn"}), Interval(Integral, 0, 1, closed="both")],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), None],
        "pair_weight": [StrOptions(set(PAIR_WEIGHTS))],
        "contradictions": [StrOptions(set(CONTRADICTIONS))],
        "max_pairs": [Interval(Integral, 1, None, closed="left"), None],
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
        search: str = "efficient",
        abstain: str | int = "learn",
        max_bins: int | None = 255,
        pair_weight: str = "pairs",
        contradictions: str = "keep",
        max_pairs: int | None = 20_000_000,
        early_stopping_rounds: int | None = None,
        eval_metric: str | Sequence[str] = "pair_loss",
        checkpoint: str | PathLike[str] | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.search = search
        self.abstain = abstain
        self.max_bins = max_bins
        self.pair_weight = pair_weight
        self.contradictions = contradictions
        self.max_pairs = max_pairs
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn(self, data: RankingData, evals: list[RankingData], init_model: Estimator | None) -> None:
        self._check_boosting(evals, init_model)
        rows = data.queries.rows
        pairs = materialize_pairs(feedback_of(data, self.pair_weight, self.contradictions), len(rows), self.max_pairs)
        threads = threads_for(self.n_jobs, len(rows) * data.features.shape[1] + 4 * len(pairs.worse))
        distribution = PlusDistribution(pairs, len(rows), threads)
        bins = bin_features(data.features, rows, data.weights, self.max_bins, threads)
        learner = SEARCHES[self.search](bins, distribution, abstain=self.abstain)
        self._boost_pairs(PlusBoosting(data, distribution, learner), data, evals, init_model)

    def certificate(self) -> dict[str, Array]:
        """Return what vouches for the model, round by round: r, Z, Ê2, and the bound of RB+ Theorem 2.

        The training ranking loss, a tie counting as half an error, is at most ``bound`` = Ê2 = ∏ Z in every round (RB+
        Proposition 2 and Eq. 29); ``edge_bound`` is a bound on that (Theorem 2). `podium.evaluate` with the measure
        ``pair_loss`` gives the loss itself, also of `staged_predict`.
        """
        check_is_fitted(self)
        alpha, r, Z = (np.array([getattr(round_, name) for round_ in self.rounds_]) for name in ("alpha", "r", "Z"))
        return {"alpha": alpha, "r": r, "Z": Z, "bound": np.cumprod(Z), "edge_bound": slope_bound(slopes_of(Z))}


def slopes_of(Z: Array) -> Array:
    """Return |δ_t| = √(1 - Z_t²): RB+ Eq. 27 at the α of Eq. 34 is Z_t = √(1 - δ_t²)."""
    slopes: Array = np.sqrt(np.maximum(1 - np.square(Z), 0.0))
    return slopes


def slope_bound(delta: ArrayLike) -> Array:
    """Return the bound of RB+ Theorem 2 on the training ranking loss R̂2 after each round: exp(-½ Σ δ_t²).

    Parameters
    ----------
    delta : array-like
        δ_t = ε⁻ - ε⁺ + ε⁰ tanh(α′) of each round (Eq. 33), of either sign.
    """
    bound: Array = np.exp(-0.5 * np.cumsum(np.square(np.asarray(delta, float))))
    return bound


def exponential_losses(
    model: StumpRanker,
    X: MatrixLike,
    y: ArrayLike | None = None,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    pairs: PairsLike | None = None,
    sample_weight: ArrayLike | None = None,
    query_weight: QueryWeight | None = None,
    pair_weight: str = "pairs",
    contradictions: str = "keep",
    max_pairs: int | None = 20_000_000,
) -> dict[str, Array]:
    """Return the losses Ê1 and Ê2 of a fitted RankBoost or RankBoostPlus after each of its rounds.

    Ê1 is RankBoost's exponential loss (RB+ Eq. 5). Ê2 (Eq. 24) counts ties over an independent set of the rankings, as
    section 5 says: a ranking that depends on earlier ones adds its α to the weights of those that make it up.

    Parameters
    ----------
    model : RankBoost or RankBoostPlus
        Fitted, with weak rankings of values 0 and 1.
    X, y, qid, group, pairs, sample_weight, query_weight
        Data as `fit` takes them, the training data or others.
    pair_weight, contradictions, max_pairs
        As the parameters of `RankBoostPlus`.

    Returns
    -------
    dict
        "E1" and "E2", each with one value a round.
    """
    check_is_fitted(model)
    data = RankingData.from_arrays(
        X, y, qid=qid, group=group, pairs=pairs, sample_weight=sample_weight, query_weight=query_weight
    )
    if not data.queries_given:
        warn_of_one_query(data.labels, "", "group=[{}]")
    feedback, n_rows = feedback_of(data, pair_weight, contradictions), len(data.queries.rows)
    first, second = (
        Distribution(feedback, n_rows),
        PlusDistribution(materialize_pairs(feedback, n_rows, max_pairs), n_rows),
    )
    logs = np.empty((2, len(model.rounds_)))
    for t, round_ in enumerate(model.rounds_):
        step = round_.alpha * round_.ranking.predict(data.features)[data.queries.rows]
        first.update(step)
        second.update(step)
        logs[:, t] = first.log_loss, second.log_loss
    return {"E1": np.exp(logs[0]), "E2": np.exp(logs[1])}
