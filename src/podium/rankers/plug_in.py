"""Plug-in ranking: the probability of a high grade, by logistic regression, as the score."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import Interval

from podium._types import Features
from podium._validation import Array, PodiumError
from podium.data import RankingData, feedback_of
from podium.export import Linear
from podium.model_file import POSITIVE, Column, Schema
from podium.ordinal.scaling import Scaling, linear_scores
from podium.rankers.scaled_ranker import ScaledRanker

MOST_GRADES = 50
"""Grades that are told apart, one logistic regression for each but the lowest."""
FACTORED_FEATURES = 2000
"""Features up to which Newton's steps take a matrix of features by features."""


class PlugInRanker(ScaledRanker):
    """Ranks by an estimate of how probable high grades are (the plug-in approach, CR 3.1), by logistic regression.

    With two grades the score is the log odds of the higher, which orders rows as its probability does. With more, grade
    by grade, the probability of each label above is estimated by a logistic regression of its own (cumulative logits,
    with slopes of their own), and the score is the expected label above the lowest,
    ``Σ_k (y_{k+1} - y_k) P(y > y_k | x)``.

    Rows are looked at one by one: queries matter for their weights alone. `MART(loss="logistic")` is the same with
    boosted trees for the log odds (LogitBoost); see docs/margins.md.

    Parameters
    ----------
    C : float
        Weight of the mean loss against the penalty: minimises ``½ ‖w‖² + C · mean logistic loss``, the mean by the
        weights of rows; n times what scikit-learn's LogisticRegression calls C.
    scale : bool
        Put features to standard deviation 1, by the weights of the training rows; C is of that scale. A missing value
        counts as the feature's mean.
    tol : float
        Tolerance of scikit-learn's solver: "newton-cholesky", or "newton-cg" for more than 2,000 features.
    max_iter : int
        Its steps at most.
    eval_metric : str or list of str
        Measure of `score`.

    Attributes
    ----------
    coefs_ : ndarray of shape (n_thresholds, n_features_in_)
        Weights of the scaled features for each label but the lowest.
    intercepts_ : ndarray of shape (n_thresholds,)
    gaps_ : ndarray of shape (n_thresholds,)
        Differences between neighbouring labels.
    means_, deviations_ : ndarray of shape (n_features_in_,)
        The scale of the features.

    Examples
    --------
    >>> PlugInRanker().fit([[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]).rank([[0.0], [5.0]]).tolist()
    [2, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "C": [Interval(Real, 0, 1e100, closed="right")],
        "scale": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "eval_metric": [str, list, tuple],
    }
    _kept: ClassVar[Schema] = ScaledRanker._kept.extended(
        Column("deviations_", bounds=POSITIVE, size="n_features"),
        Column("gaps_", bounds=POSITIVE, size="n_thresholds"),
        Column("intercepts_", size="n_thresholds"),
        Column("coefs", size="n_thresholds", width="n_features", attribute="coefs_"),
    )
    _by_query = False

    def __init__(
        self,
        C: float = 100.0,
        *,
        scale: bool = True,
        tol: float = 1e-8,
        max_iter: int = 100,
        eval_metric: str | Sequence[str] = "pair_loss",
    ) -> None:
        self.C = C
        self.scale = scale
        self.tol = tol
        self.max_iter = max_iter
        self.eval_metric = eval_metric

    def _learn_at_once(self, data: RankingData) -> None:
        labels = self._labels(data)
        rows, scaling = self._scaled_as_given(data)
        weights = data.weights / data.weights.max()
        grades = np.unique(labels[weights > 0])
        if len(grades) > MOST_GRADES:
            raise PodiumError(
                f"PlugInRanker takes at most {MOST_GRADES} labels; got {len(grades)}: use RankRLS for amounts."
            )
        fits = [self._fit(rows, labels > grade, weights) for grade in grades[:-1]]
        self.coefs_ = np.concatenate([fit.coef_ for fit in fits])
        self.intercepts_ = np.concatenate([fit.intercept_ for fit in fits])
        self.gaps_, self.means_, self.deviations_ = np.diff(grades), scaling.means, scaling.deviations

    def _labels(self, data: RankingData) -> Array:
        """Return the labels; refuse data without, with pairs, or with one grade."""
        if data.labels is None:
            raise PodiumError("PlugInRanker requires y to be passed, but the target y is None: use RankSVM for pairs.")
        if data.pairs is not None:
            raise PodiumError("PlugInRanker learns from labels alone, so pairs must be None: use RankSVM.")
        feedback_of(data)  # refuses rows of which none should stand above another
        return data.labels

    def _fit(self, rows: Features, above: Array, weights: Array) -> LogisticRegression:
        """Return scikit-learn's model of one label; no matrix of features by features is made of many."""
        solver = "newton-cholesky" if rows.shape[1] <= FACTORED_FEATURES else "newton-cg"
        model = LogisticRegression(C=self.C, solver=solver, tol=self.tol, max_iter=self.max_iter)
        counted = weights > 0
        shares = weights[counted] / weights.sum()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r"[\s\S]*resort to lbfgs")  # which ends at the same optimum
            return model.fit(rows[counted], above[counted], sample_weight=shares)

    def _score(self, features: Features) -> Array:
        rows = Scaling(self.means_, self.deviations_).apply_as_given(features)
        scores = np.zeros(rows.shape[0])
        for coef, intercept, gap in zip(self.coefs_, self.intercepts_, self.gaps_, strict=True):
            logits = intercept + linear_scores(rows, coef)
            scores += logits if len(self.gaps_) == 1 else gap * expit(logits)
        return scores

    def _exported(self) -> Linear:
        if len(self.gaps_) > 1:
            raise PodiumError(
                f"PlugInRanker of {len(self.gaps_) + 1} labels is no sum of features, so no format can hold it; "
                "that of two labels is one."
            )
        coef = self.coefs_[0] / self.deviations_
        intercept = float(self.intercepts_[0] - coef @ self.means_)
        return Linear(coef, self.means_, intercept, self._names(), type(self).__name__)
