"""The reduction of ordinal ranking to binary classification, and back.

"OR" is Lin and Li (2009), "Combining ordinal preferences by boosting". A row x with rank y and costs c becomes K - 1
binary examples (x, k) of sign z = 2 [k < y] - 1 and weight w = |c[k+1] - c[k]| (OR Eq. 2, whose factor K - 1 changes
nothing here); a binary classifier g becomes the ranker 1 + #{k: g(x, k) > 0} (Eq. 1). The other way, binary examples
become a row of the rank 1 + #{k: z > 0} with the costs Σ w over what lies between (Eq. 3, printed k < ℓ ≤ y for
k ≤ ℓ < y), and a ranker r becomes the classifier 2 [k < r(x)] - 1 (Eq. 4).
"""

from __future__ import annotations

from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from podium._compiled import ROW, SCORE
from podium._sparse import is_sparse
from podium._types import Features, Learner, MatrixLike, SparseMatrix
from podium._validation import Array, FormatError, PodiumError
from podium.model_file import Content, Scalar, Schema
from podium.model_file.saved_rankers import content_of, inner_ranker, require_builtin_ranker
from podium.ordinal import OrdinalData, cost_steps, costs_of_steps
from podium.rankers.ordinal_ranker import OrdinalRanker

ENCODINGS = ("one-hot", "number")
SIGNS = (-1, 1)
"""What the binary classifier tells apart."""


def extend(grades: Array, costs: Array) -> tuple[Array, Array]:
    """Return the signs z and the weights w of the binary examples, both of shape (n_rows, K - 1) (OR Eq. 2).

    Parameters
    ----------
    grades : ndarray of int64
        0 … K - 1.
    costs : ndarray of float64, shape (n_rows, K)
        V-shaped, 0 at the row's own grade.
    """
    signs = np.where(np.arange(costs.shape[1] - 1) < grades[:, None], 1, -1)
    return signs, cost_steps(costs)


def reverse(signs: Array, weights: Array) -> tuple[Array, Array]:
    """Return the grades and costs that binary examples stand for: what `extend` started from (OR Eq. 3).

    Parameters
    ----------
    signs : ndarray of shape (n_rows, K - 1)
        1 before -1 in every row.
    weights : ndarray of float64, shape (n_rows, K - 1)
    """
    if np.any(np.diff(signs, axis=1) > 0):
        row = int(np.argmax(np.any(np.diff(signs, axis=1) > 0, axis=1)))
        raise PodiumError(
            f"The signs of a row must not rise with k, since a row above threshold k is above those below; row {row} "
            f"has {signs[row].tolist()}."
        )
    grades = np.sum(signs > 0, axis=1).astype(ROW)
    return grades, costs_of_steps(weights, grades)


def extended_features(features: Features, n_thresholds: int, encoding: str) -> Features:
    """Return [x, k] for every row x and, within it, every k, with k as a unit vector or as a number from 1."""
    n_rows = features.shape[0]
    numbers = np.tile(np.arange(n_thresholds), n_rows)
    codes = np.eye(n_thresholds)[numbers] if encoding == "one-hot" else (1.0 + numbers)[:, None]
    if is_sparse(features):
        repeated = sp.csr_array(features)[np.repeat(np.arange(n_rows), n_thresholds)]
        by_rows: SparseMatrix = sp.csr_array(sp.hstack([repeated, codes]))
        return by_rows
    return np.hstack([np.repeat(features, n_thresholds, axis=0), codes])


class ExtendedBinary(OrdinalRanker):
    """Any binary classifier that takes `sample_weight`, as an ordinal ranker.

    Trains one classifier g(x, k) on all binary examples together, with k among its features (Li and Lin 2007). If g
    never rises in k, or all costs are convex, the cost of the ranker is at most the weighted error of g (OR Theorem 1).
    Features are handed on as they are, so the classifier decides on missing values and sparse matrices. A ranker of
    Podium serves as well: g is positive where its prediction is. Only such a model can be saved.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        Cloned for the fit. By default ``HistGradientBoostingClassifier(random_state=0)``: from 10,000 examples on it
        holds some out at random, to stop early.
    encoding : {"one-hot", "number"}
        How k stands among the features: K - 1 columns of 0 and 1, or one column of 1 … K - 1. A linear classifier needs
        the first to have a threshold for each k; trees do with the second.
    cost : {"absolute", "squared", "zero-one"} or array-like of shape (K, K)
        Cost of each grade for rows of each grade.

    Attributes
    ----------
    estimator_ : classifier
        g.
    not_monotone_ : float
        Share of the training rows where g rises somewhere in k.
    rank_monotone_ : bool
        Whether there is no such row.
    classes_, costs_convex_, n_features_in_, feature_names_in_
        As every ordinal ranker has them.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "mid", "top"]
    >>> model = ExtendedBinary(LogisticRegression(C=100)).fit(X, y)
    >>> model.predict([[-1.0], [2.1], [9.0]]).tolist(), model.rank_monotone_
    (['low', 'mid', 'top'], True)
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "encoding": [StrOptions(set(ENCODINGS))],
        "cost": OrdinalRanker._cost_constraint,
    }

    _kept: ClassVar[Schema] = OrdinalRanker._kept.extended(Scalar("not_monotone_", float))

    def __init__(
        self, estimator: Learner | None = None, *, encoding: str = "one-hot", cost: str | ArrayLike = "absolute"
    ) -> None:
        self.estimator = estimator
        self.encoding = encoding
        self.cost = cost

    def _learn_grades(self, data: OrdinalData) -> None:
        given = self._given()
        if not has_fit_parameter(given, "sample_weight"):
            raise PodiumError(
                f"estimator must take sample_weight in fit, which carries the costs; {type(given).__name__} does not."
            )
        data.require_two_grades()
        signs, weights = extend(data.grades, data.costs)
        used = np.unique(signs[weights > 0])
        if len(used) < 2:
            raise PodiumError(
                f"All costs point to the {'highest' if used[0] > 0 else 'lowest'} grade: nothing to learn."
            )
        extended = extended_features(data.features, signs.shape[1], self.encoding)
        fitted = clone(given).fit(extended, signs.ravel(), sample_weight=weights.ravel())
        values = np.asarray(fitted.predict(extended)).reshape(signs.shape)
        self.estimator_ = fitted
        self.not_monotone_ = share_not_monotone(values)
        self.rank_monotone_ = self.not_monotone_ == 0

    def _check_trainable(self) -> None:
        super()._check_trainable()
        try:
            require_builtin_ranker(self._given())
        except PodiumError as error:
            why = str(error).rstrip(".")
            raise PodiumError(f"{why}: ExtendedBinary needs an estimator of Podium, given in Python.") from None

    def _given(self) -> Learner:
        """Return the classifier to clone."""
        if self.estimator is not None:
            return self.estimator
        from sklearn.ensemble import HistGradientBoostingClassifier  # here: it takes long to import

        default: Learner = HistGradientBoostingClassifier(random_state=0)
        return default

    def binary_values(self, X: MatrixLike) -> Array:
        """Return g(x, k), 1 or -1, of each row and threshold: shape (n_rows, K - 1)."""
        return self._values(self._check_rows(X))

    def _values(self, features: Features) -> Array:
        extended = extended_features(features, len(self.classes_) - 1, self.encoding)
        values: Array = np.asarray(self.estimator_.predict(extended)).reshape(features.shape[0], -1)
        return values

    def _grade(self, features: Features) -> Array:
        grades: Array = np.sum(self._values(features) > 0, axis=1)
        return grades

    def _learned(self) -> Content:
        return {**super()._learned(), "estimator": content_of(self.estimator_)}

    def _restore(self, content: Content, path: str | PathLike[str]) -> None:
        super()._restore(content, path)
        self.rank_monotone_ = self.not_monotone_ == 0
        n_codes = len(self.classes_) - 1 if self.encoding == "one-hot" else 1
        self.estimator_ = inner_ranker(content.get("estimator"), path, self.n_features_in_ + n_codes, "estimator")
        if not np.array_equal(getattr(self.estimator_, "classes_", SIGNS), SIGNS):
            raise FormatError(path, "the estimator must tell -1 and 1 apart")

    def _score(self, features: Features) -> Array:
        """Return the expected rank, 1 + Σ_k P(rank > k), where the classifier has probabilities; else the rank."""
        if not hasattr(self.estimator_, "predict_proba"):
            return super()._score(features)
        extended = extended_features(features, len(self.classes_) - 1, self.encoding)
        above = np.asarray(self.estimator_.predict_proba(extended))[:, 1]
        expected: Array = 1.0 + np.sum(above.reshape(features.shape[0], -1), axis=1)
        return expected


def share_not_monotone(values: Array) -> float:
    """Return the share of rows where g(x, k) rises somewhere in k."""
    return float(np.mean(np.any(np.diff(values, axis=1) > 0, axis=1)))


class ReversedOrdinal(ClassifierMixin, BaseEstimator):
    """An ordinal ranker as a binary classifier of extended examples (OR Eq. 3 and 4).

    It is the inverse of `ExtendedBinary`: ``ExtendedBinary(ReversedOrdinal(ranker))`` is the ranker.

    Parameters
    ----------
    ranker : OrdinalRanker
        Cloned for the fit, which gives it grades 0 … K - 1 and `sample_cost`.
    n_thresholds : int
        K - 1: examples come in runs of so many, one for each k of a row, with k as unit vectors in the last columns.

    Attributes
    ----------
    ranker_ : OrdinalRanker
    classes_ : ndarray
        -1 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from podium.rankers.prank import PRank
    >>> signs, weights = extend(np.array([0, 1, 2]), np.array([[0.0, 1, 2], [1, 0, 1], [2, 1, 0]]))
    >>> extended = extended_features(np.array([[1.0], [2.0], [3.0]]), 2, "one-hot")
    >>> model = ReversedOrdinal(PRank(epochs=50), 2).fit(extended, signs.ravel(), weights.ravel())
    >>> model.predict(extended).tolist()
    [-1, -1, 1, -1, 1, 1]
    """

    def __init__(self, ranker: OrdinalRanker, n_thresholds: int) -> None:
        self.ranker = ranker
        self.n_thresholds = n_thresholds

    def fit(self, X: Features, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the examples that `extend` and `extended_features` make."""
        signs = np.asarray(y).reshape(-1, self.n_thresholds)
        given = np.ones(signs.shape) if sample_weight is None else sample_weight
        weights = np.asarray(given, SCORE).reshape(-1, self.n_thresholds)
        grades, costs = reverse(signs, weights)
        self.ranker_ = clone(self.ranker).fit(self._rows(X), grades, sample_cost=costs)
        self.classes_ = np.array(SIGNS)
        return self

    def predict(self, X: Features) -> Array:
        """Return 2 [k < r(x)] - 1 of each example."""
        check_is_fitted(self)
        grades = np.asarray(self.ranker_.predict(X[:, : -self.n_thresholds]))
        numbers = np.argmax(_dense(X[:, -self.n_thresholds :]), axis=1)
        signs: Array = np.where(numbers < grades, 1, -1)
        return signs

    def _rows(self, X: Features) -> Any:
        """Return the features of the rows, each of which every example repeats."""
        return X[:: self.n_thresholds, : -self.n_thresholds]


def _dense(matrix: Features) -> Array:
    """Return a matrix as an array."""
    return np.asarray(matrix.toarray() if is_sparse(matrix) else matrix)
