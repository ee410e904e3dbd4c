"""ORBoost: an ensemble of stumps cut by thresholds, with large margins (Lin and Li 2006).

Lin and Li, "Large-margin thresholded ensembles for ordinal regression: theory and practice".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from numbers import Integral, Real
from os import PathLike
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from podium._compiled import thread_count, threads_for
from podium._validation import Array, Features, FormatError, MatrixLike
from podium.binning import bin_features
from podium.export import Graded, TreeSum, stump_tree
from podium.model_file import REAL, Column, Content, Schema
from podium.ordinal import (
    THRESHOLDS,
    MarginBoosting,
    Margins,
    OrdinalData,
    StagedGrades,
    ThresholdRound,
    margin_weights,
)
from podium.rankers.boosted import why_no_ranking
from podium.rankers.boosted_ordinal import BoostedOrdinalRanker
from podium.rankers.boosted_stumps import additive_model, importances
from podium.rankers.estimator import Estimator
from podium.rankers.ordinal_ranker import OrdinalRanker
from podium.stumps import Stump, StumpLearner, rounds_from_columns, rounds_to_columns


class ORBoost(BoostedOrdinalRanker[ThresholdRound]):
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
    {monitoring}
    n_jobs : int, optional
        Threads; the model does not depend on their number.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    rounds_ : list of ThresholdRound
        One record per round: ``feature, threshold, abstain, alpha, Z, r, thresholds``. A stump's values are 0 and 1, so
        that α is twice the paper's and the thresholds are shifted.
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

    _parameter_constraints: dict[str, list[object]] = {  # noqa: RUF012 (scikit-learn's declaration)
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "variant": [StrOptions({"all-margins", "left-right"})],
        "cost": OrdinalRanker._cost_constraint,
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), None],
        "early_stopping_rounds": [Interval(Integral, 1, None, closed="left"), None],
        "checkpoint": [str, PathLike, None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    _kept: ClassVar[Schema] = OrdinalRanker._kept.extended(
        Column("start_thresholds", bounds=REAL, size="n_thresholds", ascending=True, attribute="_start_thresholds")
    )

    rounds_: list[ThresholdRound]

    def __init__(
        self,
        n_estimators: int = 1000,
        *,
        variant: str = "all-margins",
        cost: str | ArrayLike = "absolute",
        learning_rate: float = 1.0,
        max_bins: int | None = 255,
        early_stopping_rounds: int | None = None,
        checkpoint: str | PathLike[str] | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.variant = variant
        self.cost = cost
        self.learning_rate = learning_rate
        self.max_bins = max_bins
        self.early_stopping_rounds = early_stopping_rounds
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _run(self, data: OrdinalData, evals: list[OrdinalData], init_model: Estimator | None) -> None:
        data.require_two_grades()
        n_rows, n_features = data.features.shape
        threads = threads_for(self.n_jobs, n_rows * n_features)
        bins = bin_features(data.features, None, data.weight, self.max_bins, threads)
        weights = margin_weights(data, self.variant)
        # Only ratios matter; over a power of two, which changes no digit, the largest is at most 1.
        margins = Margins(np.ldexp(weights, -int(np.frexp(weights.max())[1])), data.grades)
        start = margins.thresholds
        boosting = MarginBoosting(data.features, margins, StumpLearner(bins, n_threads=threads), self.learning_rate)
        why = partial(why_no_ranking, data.features)
        self._boost_grades(boosting, lambda one: StagedGrades(one.features), data, evals, init_model, why)
        self._start_thresholds = start

    def _keep(self, rounds: list[ThresholdRound], best_round: int) -> None:
        self.rounds_, self.best_iteration_ = rounds, best_round
        self.model_ = additive_model(rounds)

    @property
    def thresholds_(self) -> Array:
        """The thresholds after the last round that `predict` uses."""
        check_is_fitted(self)
        return self.rounds_[self.best_iteration_ - 1].thresholds if self.best_iteration_ else self._start_thresholds

    @property
    def feature_importances_(self) -> Array:
        """Share of each feature in the fall of the loss."""
        check_is_fitted(self)
        return importances(self.rounds_[: self.best_iteration_], self.n_features_in_)

    def _score(self, features: Features) -> Array:
        """Return H(x) of each row."""
        return self.model_.first(self.best_iteration_).score(features, thread_count(self.n_jobs))

    def _grade(self, features: Features) -> Array:
        return np.searchsorted(self.thresholds_, self._score(features), side="right")

    def _export_record(self) -> Graded:
        rounds = self.rounds_[: self.best_iteration_]
        trees = tuple(stump_tree(one.ranking, one.alpha) for one in rounds if isinstance(one.ranking, Stump))
        score = TreeSum(trees, 0.0, self.n_features_in_, self._names(), type(self).__name__)
        return self._graded(score, self.thresholds_)

    def staged_predict(self, X: MatrixLike) -> Iterator[Array]:
        """Yield the grade of each row after each round, as the labels of the fit have it."""
        staged = self.model_.staged_scores(self._check_rows(X))
        for round_, scores in zip(self.rounds_, staged, strict=True):
            yield self.classes_[np.searchsorted(round_.thresholds, scores, side="right")]

    def _rounds_to_content(self, rounds: Sequence[ThresholdRound]) -> Content:
        return {"rounds": rounds_to_columns(rounds), **Schema(THRESHOLDS).write_rows(rounds)}

    def _rounds_from_content(self, content: Content, path: str | PathLike[str]) -> list[ThresholdRound]:
        rounds = rounds_from_columns(content.get("rounds"), path, self.n_features_in_)
        if not all(isinstance(round_.ranking, Stump) for round_ in rounds):
            raise FormatError(path, "the rounds of ORBoost must be stumps")
        cuts = Schema(THRESHOLDS).read(content, path, self._sizes() | {"n_rounds": len(rounds)})["thresholds"]
        return [
            ThresholdRound(one.ranking, one.alpha, one.Z, one.r, own) for one, own in zip(rounds, cuts, strict=True)
        ]
