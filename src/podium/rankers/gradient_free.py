"""Gradient-free boosting: a linear ranker for any measure, also one without a gradient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from podium._compiled import ROW, thread_count, threads_for
from podium._magnitudes import check_within
from podium._validation import Array, Features, MatrixLike
from podium.data import RankingData
from podium.export import Linear
from podium.linear import (
    GradientFreeBoosting,
    IrregularLoss,
    LinearRound,
    linear_rounds_from_columns,
    linear_rounds_to_columns,
)
from podium.measures import parse_measure
from podium.model_file import Content, Scalar, Schema
from podium.rankers.boosted import Boosted
from podium.rankers.estimator import Estimator
from podium.rankers.ranker import Ranker, labels_alone
from podium.stumps import AdditiveModel


class GradientFreeBoost(Ranker, Boosted[LinearRound]):
    """Component-wise linear boosting whose singular rounds follow any measure (CR 5.1).

    "CR" is Werner's review of ranking problems. Its outlook proposes "gradient-free gradient boosting": a loss that is
    too irregular for a gradient, such as the hard ranking loss, takes part by *singular iterations*. The thesis with
    the details was not at hand; this is what was built. A regular round is L2-boosting: each feature alone is fitted to
    the residuals by least squares, with an intercept, and the one that lowers the squared loss most is added, times
    `learning_rate`. Every `singular_every`-th round is singular: coefficients are again those of least squares, but
    the feature is the one after whose step the measure `loss` of the training rows is best. Ours are the choice by the
    updated model, not by the fit of the residuals alone; the tie rule, by which features of equal measure go by the
    squared loss; and that the step is taken even where it does not better the measure.

    A missing value counts as the feature's average, so that it adds nothing. In regular rounds a row weighs its sample
    weight times its query's; in singular rounds a query weighs its weight times the mean weight of its rows. A regular
    round takes time in proportion to the entries of X; a singular one takes the measure once for each feature,
    O(n log n) each. Explicit pairs are refused: there must be labels to regress on.

    Parameters
    ----------
    n_estimators : int
        Rounds.
    loss : str
        Measure that chooses in singular rounds: "hard_loss", "ndcg@10" or any other name of `podium.measures`.
    singular_every : int or None
        Every so many-th round is singular, 1: all are; None: none is, which is L2-boosting.
    learning_rate : float
        Factor on every coefficient, at most 1.
    max_features : int, optional
        End the fit once so many different features are in use.
    {monitoring}
    n_jobs : int, optional
        Threads for singular rounds; the model does not depend on their number.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    rounds_ : list of LinearRound
        ``feature, average, alpha, fall, singular, measured`` of each round.
    coef_ : ndarray of shape (n_features_in_,)
        Sum of the α of each feature over the rounds that `predict` uses.
    base_score_ : float
        Score before the first round: the weighted mean of the labels.
    best_iteration_ : int
        Rounds that `predict` uses.
    evals_result_ : dict
        ``evals_result_["validation_0"]["hard_loss"]``: the measure after each round.
    feature_importances_ : ndarray
        Share of each feature in the fall of the squared loss.
    stop_reason_ : str
        Why the fit ended.
    n_features_in_, feature_names_in_
        As scikit-learn has them.

    Examples
    --------
    >>> from podium import GradientFreeBoost, make_search
    >>> train = make_search(n_queries=30, random_state=0)
    >>> model = GradientFreeBoost(20, loss="ndcg@10").fit(train.X, train.y, qid=train.qid)
    >>> [round_.singular for round_ in model.rounds_[:5]]
    [False, False, False, False, True]
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "loss": [str],
        "singular_every": [Interval(Integral, 1, None, closed="left"), None],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "early_stopping_rounds": [Interval(Integral, 1, None, closed="left"), None],
        "eval_metric": [str, list, tuple],
        "checkpoint": [str, PathLike, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }
    _kept: ClassVar[Schema] = Schema(Scalar("base_score", float, attribute="base_score_"))

    base_score_: float

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        loss: str = "hard_loss",
        singular_every: int | None = 5,
        learning_rate: float = 0.1,
        max_features: int | None = None,
        early_stopping_rounds: int | None = None,
        eval_metric: str | Sequence[str] = "pair_loss",
        checkpoint: str | PathLike[str] | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.loss = loss
        self.singular_every = singular_every
        self.learning_rate = learning_rate
        self.max_features = max_features
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        parse_measure(self.loss)

    def _learn(self, data: RankingData, evals: list[RankingData], init_model: Estimator | None) -> None:
        self._check_boosting(evals, init_model)
        labels = labels_alone(data, type(self).__name__)
        check_within(labels, "y", f"{type(self).__name__}, which computes with its values")
        loss = IrregularLoss(parse_measure(self.loss), data, labels)
        if self.singular_every is not None and np.ptp(labels) > 0:
            loss.check()
        start = init_model.base_score_ if isinstance(init_model, GradientFreeBoost) else _mean(labels, data.weights)
        threads = threads_for(self.n_jobs, data.features.shape[0] * data.features.shape[1])
        boosting = GradientFreeBoosting(
            data, labels, start, loss, self.singular_every, self.learning_rate, self.max_features, threads
        )
        sets, measures = self._evaluation_sets(evals, thread_count(self.n_jobs), lambda _: start)
        before = self._rounds_before(init_model)
        self._boost(boosting, sets, measures, before, data, lambda reason: reason, lambda: {"base_score": start})
        self.base_score_ = start

    def _keep(self, rounds: list[LinearRound], best_round: int) -> None:
        self.rounds_ = rounds
        self.best_iteration_ = best_round
        alphas = np.array([round_.alpha for round_ in rounds], float)
        self.model_ = AdditiveModel(tuple(round_.ranking for round_ in rounds), alphas)

    @property
    def coef_(self) -> Array:
        """Sum of the α of each feature over the rounds that `predict` uses."""
        return self._sums("alpha")

    @property
    def feature_importances_(self) -> Array:
        """Share of each feature in the fall of the squared loss over the rounds that `predict` uses."""
        falls = self._sums("fall")
        return falls / falls.sum() if falls.sum() > 0 else falls

    def _sums(self, name: str) -> Array:
        """Return the sum, over the rounds of each feature, of one of their numbers."""
        check_is_fitted(self)
        used = self.rounds_[: self.best_iteration_]
        features = np.array([round_.feature for round_ in used], ROW)
        numbers = np.array([getattr(round_, name) for round_ in used], float)
        sums: Array = np.bincount(features, numbers, self.n_features_in_)
        return sums

    def _score(self, features: Features) -> Array:
        return self.base_score_ + self.model_.first(self.best_iteration_).score(features, thread_count(self.n_jobs))

    def staged_predict(self, X: MatrixLike) -> Iterator[Array]:
        """Yield the scores of each row after each round; sums in another order than those of `predict`, to rounding."""
        for scores in self.model_.staged_scores(self._check_rows(X)):
            yield self.base_score_ + scores

    def _exported(self) -> Linear:
        coef, offsets = self.coef_, self._sums("offset")
        # Of rounds that go on from another fit the averages may differ: their mean by α is what adds up to nothing.
        averages = np.divide(offsets, coef, out=np.zeros_like(coef), where=coef != 0)
        intercept = self.base_score_ - float(offsets.sum())
        return Linear(coef, averages, intercept, self._names(), type(self).__name__)

    def _rounds_to_content(self, rounds: Sequence[LinearRound]) -> Content:
        return {"rounds": linear_rounds_to_columns(rounds)}

    def _rounds_from_content(self, content: Content, path: str | PathLike[str]) -> list[LinearRound]:
        return linear_rounds_from_columns(content.get("rounds"), path, self.n_features_in_)


def _mean(labels: Array, weights: Array) -> float:
    """Return the weighted mean."""
    return float(np.sum(weights * labels) / weights.sum())
