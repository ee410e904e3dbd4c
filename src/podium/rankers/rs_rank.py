"""RSRank: a robust and sparse linear ranker, by Huber's loss of weighted pairs (Sun et al. 2009)."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from os import PathLike
from typing import ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from podium._validation import Array
from podium.boosting import BaseLearner
from podium.data import Graded, RankingData, feedback_of
from podium.linear import IMPORTANCES, CenteredColumns, HuberPairs, TruncatedSteps
from podium.losses import Loss
from podium.measures.conventions import Gain
from podium.rankers.gradient_rankers import FunctionalGradientRanker


class RSRank(FunctionalGradientRanker):
    """A linear ranker of few features that no single pair can pull far, with pairs weighed for the top of the list.

    Minimises ``Σ v_ij h(s_i - s_j) / Σ v_ij + alpha ‖β‖₁`` for scores s linear in the features, over the pairs of a
    query in which row i has the higher label. h is Huber's loss: 0 from a margin of 1 on, ``(1 - z)²/(2δ)`` within δ
    below it, and a line of slope 1 further down, so that a pair that is far out of order pulls no harder than others.
    v_ij is the importance of a pair, times the weights of its rows and its query.

    The paper (Sun, Qin, Tao and Wang 2009, "Robust sparse rank learning for non-smooth ranking measures") was not at
    hand; CR (Werner, "A review on ranking problems", section 3.1) names weighted pairs that stand for NDCG, the Huber
    function in the place of the indicator, an l1 penalty, and truncated gradient boosting. Ours are: the importance of
    a pair by its gains, or by what NDCG loses where its rows change places in the *best* order, both of labels alone;
    the margin and δ; and one feature a round. That is the feature whose truncated step is certain to lower the
    objective most: a step down its slope, of the length that a bound of the curvature allows, then towards 0 by `alpha`
    times that length, and not beyond 0. No step raises the objective, and the rounds go to its minimum.

    The importance is a sum of products of numbers of either row, so that sums over pairs are order statistics: a round
    takes O(n F + n log n), and no list of pairs is made. The best DCG counts rows whatever they weigh, so that a row of
    weight 2 is the row given twice with ``importance="none"`` alone.

    Parameters
    ----------
    n_estimators : int
        Rounds.
    alpha : float
        Weight of the l1 penalty of coefficients of features over their standard deviation: larger is sparser.
    importance : {"gain", "ndcg", "none"}
        v_ij: ``G_i - G_j`` for G the gain of a row over the best DCG of its query; ``(G_i - G_j)(D_i - D_j)`` for D the
        mean discount of its label's places in the best order, by which NDCG falls where the two rows change places
        there; or 1.
    delta : float
        δ, from 0.001 to 100: with 2 the loss is a quarter of the modified Huber loss, near 0 it is the plain hinge.
    gain : "exp2", "linear", mapping or callable
        Gain of a label, which must not fall as labels rise: 2^y - 1, y, or what it is mapped to.
    learning_rate : float
        Share of the step that the bound of the curvature allows, at most 1.
    {monitoring}
    n_jobs : int, optional
        Threads, which share out queries; the model does not depend on their number.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    rounds_ : list of ResponseRound
        Each with its `ranking`, a `Line` in one feature, and its `gain`: a bound of how far the objective fell.
    coef_ : ndarray of shape (n_features_in_,)
        Of the features as given: the score is ``intercept_ + coef_ @ x``, a missing value counted as `centers_`.
    intercept_ : float
    centers_ : ndarray of shape (n_features_in_,)
        Mean of each used feature over the training rows that have it.
    best_iteration_, evals_result_, stop_reason_
        As `PairBoost` has them.
    feature_importances_ : ndarray
        Share of each feature in the sum of the rounds' gains.

    Examples
    --------
    >>> from podium import RSRank, make_search
    >>> train = make_search(n_queries=50, random_state=0)
    >>> model = RSRank(100, alpha=0.02).fit(train.X, train.y, qid=train.qid)
    >>> int((model.coef_ != 0).sum()) < train.X.shape[1]
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "importance": [StrOptions(set(IMPORTANCES))],
        "delta": [Interval(Real, 0.001, 100, closed="both")],
        "gain": [StrOptions({"exp2", "linear"}), dict, callable],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "early_stopping_rounds": [Interval(Integral, 1, None, closed="left"), None],
        "eval_metric": [str, list, tuple],
        "checkpoint": [str, PathLike, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }
    base = "linear"

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        alpha: float = 0.01,
        importance: str = "gain",
        delta: float = 1.0,
        gain: Gain = "exp2",
        learning_rate: float = 1.0,
        early_stopping_rounds: int | None = None,
        eval_metric: str | Sequence[str] = "ndcg@10",
        checkpoint: str | PathLike[str] | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.alpha = alpha
        self.importance = importance
        self.delta = delta
        self.gain = gain
        self.learning_rate = learning_rate
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _make_loss(self, data: RankingData, labels: Array, threads: int) -> HuberPairs:
        feedback_of(data)  # which says why there may be nothing to rank
        graded = Graded(labels, data.queries.offsets, data.row_weight, data.query_weight)
        return HuberPairs(graded, self.importance, self.delta, self.gain, threads)

    def _make_learner(self, data: RankingData, loss: Loss, threads: int) -> BaseLearner:
        if not isinstance(loss, HuberPairs):
            raise TypeError(f"RSRank follows HuberPairs; got {type(loss).__name__}.")
        columns = CenteredColumns.of(data.features, data.queries.rows, data.weights)
        total = float(data.weights.sum())
        return TruncatedSteps(columns, loss.curvatures(columns), float(self.learning_rate), float(self.alpha), total)
