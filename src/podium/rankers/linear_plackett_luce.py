"""LinearPlackettLuce: the model of Plackett and Luce with strengths that are linear in features."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from podium._compiled import SCORE
from podium._magnitudes import check_within
from podium._types import Features
from podium._validation import Array
from podium.data import RankingData, feedback_of
from podium.export import Linear
from podium.model_file import Column, Scalar, Schema
from podium.ordinal.scaling import centered_scores
from podium.permutations import LinearLikelihood, maximise, row_choices
from podium.rankers.scaled_ranker import ScaledRanker


class LinearPlackettLuce(ScaledRanker):
    """The linear model of Plackett and Luce: rows of a query are chosen one after the other, best first.

    With scores ``s = coef_·x`` a row is chosen from those that are left with probability ``exp(s)`` over the sum of
    ``exp``; rows with higher labels are chosen first. Rows with equal labels are each chosen from all that have their
    label or a lower one (Breslow's rule); the rows with the lowest label of a query make no choice, since nothing
    stands below them. A pair (better, worse) is a choice of one out of two. Newton's method maximises
    ``log-likelihood - alpha/2 Σ w²`` with w the coefficients of features scaled to a standard deviation of 1; a step
    costs O(n F) for n rows and F features, after one sort of the labels.

    Missing values, or absent entries of a sparse matrix, count as the feature's mean over the training rows. A row of
    weight 2 is the row twice: it is chosen twice, and stands twice in the sets that are chosen from. The weight of
    a query is that of all its choices.

    Parameters
    ----------
    alpha : float
        Weight of the penalty, positive: where some direction of the features orders all rows rightly there is no finite
        maximum without it.
    tol : float
        Largest change of a scaled coefficient in the last step.
    max_iter : int
        Most steps.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        Weights of the features as they are.
    means_ : ndarray of shape (n_features_in_,)
        What missing values count as. A row's score is ``coef_ @ (x - means_)``.
    log_likelihood_ : float
        Of the training rows, without the penalty.
    n_iter_ : int
        Steps that were taken.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [0.0], [1.0], [2.0]]
    >>> model = LinearPlackettLuce().fit(X, [0, 1, 2, 0, 2, 1], qid=[1, 1, 1, 2, 2, 2])
    >>> model.rank([[2.0], [0.0], [1.0]]).tolist()
    [1, 3, 2]
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }
    _kept: ClassVar[Schema] = Schema(
        Column("coef_", size="n_features"),
        Column("means_", size="n_features"),
        Scalar("log_likelihood_", float),
        Scalar("n_iter_", int),
    )

    scale = True

    def __init__(self, alpha: float = 1.0, *, tol: float = 1e-8, max_iter: int = 100) -> None:
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter

    def _learn_at_once(self, data: RankingData) -> None:
        feedback_of(data)  # which says it where there is nothing to rank
        rows, scaling = self._scaled_as_given(data)
        likelihood = LinearLikelihood(row_choices(data), rows)
        start = np.zeros(rows.shape[1], SCORE)
        found = maximise(likelihood, start, start, self.alpha, self.tol, self.max_iter)
        if not found.converged:
            text = f"LinearPlackettLuce stopped after {self.max_iter} steps; raise max_iter or alpha."
            warnings.warn(text, ConvergenceWarning, stacklevel=4)
        coef = found.parameters / scaling.deviations
        check_within(coef, "The weights of features", "finite scores; give features of a larger scale")
        self.coef_, self.means_ = coef, scaling.means
        self.log_likelihood_, self.n_iter_ = float(found.point.value), found.n_iter

    def _score(self, features: Features) -> Array:
        return centered_scores(features, self.coef_, self.means_)

    def _exported(self) -> Linear:
        return Linear(self.coef_, self.means_, -float(self.coef_ @ self.means_), self._names(), type(self).__name__)
