"""What rankers share that follow a loss by lines or trees fitted to its negative gradients (CR 4.1)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from podium._compiled import ROW, SCORE, thread_count
from podium._validation import Array, Features, MatrixLike, PodiumError
from podium.boosting import BaseLearner, FunctionalGradient, ResponseRound
from podium.data import RankingData
from podium.export import Exported, Linear, TreeSum
from podium.linear import CenteredColumns, ComponentLearner, Line, LineSum, lines_from_columns, lines_to_columns
from podium.losses import Loss
from podium.model_file import Content, Scalar, Schema
from podium.rankers.boosted import Boosted
from podium.rankers.estimator import Estimator
from podium.rankers.ranker import Ranker, labels_alone
from podium.trees import Forest, LeastSquaresTrees, RegressionTree, trees_from_columns, trees_to_columns

BASES = ("linear", "stump", "tree")
SHARED_CONSTRAINTS: dict[str, list[object]] = {
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "base": [StrOptions(set(BASES))],
    "learning_rate": [Interval(Real, 0, 100, closed="right")],
    "max_leaves": [Interval(Integral, 2, None, closed="left")],
    "min_child_samples": [Interval(Integral, 1, None, closed="left")],
    "max_bins": [Interval(Integral, 2, 255, closed="both")],
    "early_stopping_rounds": [Interval(Integral, 1, None, closed="left"), None],
    "eval_metric": [str, list, tuple],
    "checkpoint": [str, PathLike, None],
    "n_jobs": [Integral, None],
    "verbose": ["verbose"],
}
"""What scikit-learn checks each shared parameter against."""
SHARED = """\
    base : {"linear", "stump", "tree"}
        What is fitted to the gradients by least squares: a line in one feature, a tree of two leaves, or of
        `max_leaves`.
    learning_rate : float
        κ: factor on what each round adds, at most 100.
    max_leaves : int
        Leaves of a tree.
    min_child_samples : int
        Least training rows of a leaf, of stumps too.
    max_bins : int
        Most bins of a feature, where stumps and trees split it.
    {monitoring}
    n_jobs : int, optional
        Threads; the model does not depend on their number.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    rounds_ : list of ResponseRound
        Each with its `ranking`, a `Line` or a `RegressionTree`, and its `gain`.
    coef_ : ndarray of shape (n_features_in_,)
        With ``base="linear"``: the score is ``intercept_ + coef_ @ x``, a missing value counted as `centers_`.
    intercept_ : float
    centers_ : ndarray of shape (n_features_in_,)
        Mean of each used feature over the training rows that have it.
    base_score_ : float
        Score before the first round.
    best_iteration_ : int
        Rounds that `predict` uses: all of them, or with early stopping those up to the best measure.
    evals_result_ : dict
        ``evals_result_["validation_0"]["hard_loss"]``: the measure after each round.
    feature_importances_ : ndarray
        Share of each feature in the squared error that the rounds explain of their gradients.
    stop_reason_ : str
        Why the fit ended.
"""
"""Parameters and attributes of these rankers, for the docstring of each."""


class FunctionalGradientRanker(Ranker, Boosted[ResponseRound]):
    """Base of rankers by functional gradient boosting: everything but the loss and its own parameters."""

    _shared_parameters: ClassVar[str] = SHARED
    _parameter_constraints: ClassVar[dict[str, list[object]]] = SHARED_CONSTRAINTS
    _kept: ClassVar[Schema] = Schema(Scalar("base_score", float, attribute="base_score_"))
    _fixed_by_fit: ClassVar[tuple[str, ...]] = ("base",)

    base: str
    learning_rate: float
    max_leaves: int
    min_child_samples: int
    max_bins: int
    n_jobs: int | None
    base_score_: float

    @abstractmethod
    def _make_loss(self, data: RankingData, labels: Array, threads: int) -> Loss:
        """Return the loss of the training rows."""

    def _selection(self, loss: Loss) -> tuple[str, Callable[[Array], float]]:
        """Return how the feature of a line is chosen, and the loss that this may ask for."""
        return "squares", lambda scores: 0.0

    def _learn(self, data: RankingData, evals: list[RankingData], init_model: Estimator | None) -> None:
        self._check_boosting(evals, init_model)
        threads = thread_count(self.n_jobs)
        loss = self._make_loss(data, labels_alone(data, type(self).__name__), threads)
        before = self._rounds_before(init_model)
        start = init_model.base_score_ if isinstance(init_model, FunctionalGradientRanker) else loss.start()
        scores = np.full(len(data.queries.rows), start, SCORE)
        boosting = FunctionalGradient(data, loss, self._make_learner(data, loss, threads), scores)
        sets, measures = self._evaluation_sets(evals, threads, lambda features: start)
        self._boost(boosting, sets, measures, before, data, lambda reason: reason)
        self.base_score_ = start

    def _make_learner(self, data: RankingData, loss: Loss, threads: int) -> BaseLearner:
        """Return the base learner of the training rows."""
        if self.base == "linear":
            columns = CenteredColumns.of(data.features, data.queries.rows, data.weights)
            return ComponentLearner(columns, self.learning_rate, *self._selection(loss))
        leaves = 2 if self.base == "stump" else self.max_leaves
        return LeastSquaresTrees.of(data, self.learning_rate, leaves, self.min_child_samples, self.max_bins, threads)

    def _check_init_model(self, init_model: object) -> None:
        super()._check_init_model(init_model)
        if isinstance(init_model, FunctionalGradientRanker) and init_model.base != self.base:
            raise PodiumError(f"init_model must have base={self.base!r}, as this one has; got {init_model.base!r}.")

    def _keep(self, rounds: list[ResponseRound], best_round: int) -> None:
        self.rounds_, self.best_iteration_ = rounds, best_round
        self._forest = Forest.of(self._trees(best_round))

    def _lines(self, n_rounds: int | None = None) -> list[Line]:
        """Return the lines of the first rounds."""
        return [done.ranking for done in self.rounds_[:n_rounds] if isinstance(done.ranking, Line)]

    def _trees(self, n_rounds: int | None = None) -> list[RegressionTree]:
        """Return the trees of the first rounds."""
        return [done.ranking for done in self.rounds_[:n_rounds] if isinstance(done.ranking, RegressionTree)]

    def _line_sum(self) -> LineSum:
        """Return the sum of the lines that `predict` uses; refuse where there are trees."""
        check_is_fitted(self)
        if self.base != "linear":
            raise AttributeError(f'Coefficients are there with base="linear" alone; got base={self.base!r}.')
        return LineSum.of(self._lines(self.best_iteration_), self.n_features_in_, self.base_score_)

    @property
    def coef_(self) -> Array:
        """Weight of each feature in the score."""
        return self._line_sum().coef

    @property
    def centers_(self) -> Array:
        """What a missing value of each feature counts as."""
        return self._line_sum().centers

    @property
    def intercept_(self) -> float:
        """What the score begins with."""
        model = self._line_sum()
        return model.intercept - float(model.coef @ model.centers)

    @property
    def feature_importances_(self) -> Array:
        """Share of each feature in the gains of the rounds that `predict` uses."""
        check_is_fitted(self)
        used = [done.ranking for done in self.rounds_[: self.best_iteration_]]
        features = np.concatenate([np.empty(0, ROW), *(np.atleast_1d(one.feature) for one in used)])
        explained = np.concatenate([np.empty(0), *(np.atleast_1d(one.gain) for one in used)])
        gains: Array = np.bincount(features, explained, self.n_features_in_)
        return gains / gains.sum() if gains.sum() > 0 else gains

    def _score(self, features: Features) -> Array:
        if self.base == "linear":
            return self._line_sum().score(features)
        scores: Array = self.base_score_ + self._forest.score(features, thread_count(self.n_jobs))
        return scores

    def staged_predict(self, X: MatrixLike) -> Iterator[Array]:
        """Yield the scores of each row after each round; sums in another order than those of `predict`, to rounding."""
        features = self._check_rows(X)
        scores = np.full(features.shape[0], self.base_score_, SCORE)
        for done in self.rounds_:
            scores = scores + done.ranking.predict(features)
            yield scores

    def _exported(self) -> Exported:
        name = type(self).__name__
        if self.base == "linear":
            return Linear(self.coef_, self.centers_, self.intercept_, self._names(), name)
        trees = tuple(self._trees(self.best_iteration_))
        return TreeSum(trees, float(self.base_score_), self.n_features_in_, self._names(), name)

    def _rounds_to_content(self, rounds: Sequence[ResponseRound]) -> Content:
        models = [done.ranking for done in rounds]
        if self.base == "linear":
            return {"lines": lines_to_columns([one for one in models if isinstance(one, Line)])}
        return {"trees": trees_to_columns([one for one in models if isinstance(one, RegressionTree)])}

    def _rounds_from_content(self, content: Content, path: str | PathLike[str]) -> list[ResponseRound]:
        if self.base == "linear":
            return [ResponseRound(one) for one in lines_from_columns(content.get("lines"), path, self.n_features_in_)]
        return [ResponseRound(one) for one in trees_from_columns(content.get("trees"), path, self.n_features_in_, {})]
