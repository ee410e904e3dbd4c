"""What all ordinal rankers share: grades at the gate, costs, predictions in the labels' own kind, scores.

"OR" is Lin and Li (2009), "Combining ordinal preferences by boosting".
"""

from __future__ import annotations

from abc import abstractmethod
from os import PathLike
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from podium._magnitudes import scaled_weight
from podium._types import Features, MatrixLike
from podium._validation import Array, FormatError, PodiumError, check_weight
from podium.export import Additive, Exported, Graded, Linear
from podium.model_file import Content, Scalar, Schema
from podium.model_file.training_summary import summary_of
from podium.ordinal import COSTS, OrdinalData, cost_matrix, grades_of, row_costs
from podium.ordinal.ordinal_columns import Labels, grade_sizes
from podium.rankers.estimator import Estimator


class OrdinalRanker(ClassifierMixin, Estimator):
    """Base of all ordinal rankers.

    An ordinal ranker implements ``_learn_grades(data)``, which learns from `OrdinalData` and sets nothing before it
    has succeeded, and ``_grade(features)``, which returns grades 0 … K-1 of a checked matrix. It may implement
    ``_score(features)``, real numbers for ranking; without it, these are the ranks 1 … K.

    It has a parameter `cost`. In a file it keeps the labels and the other fields of ``_kept``. Its
    `training_summary_` has the rows of positive weight, and no queries.
    """

    cost: str | ArrayLike
    classes_: Array
    costs_convex_: bool

    _cost_constraint: ClassVar[list[object]] = [str, "array-like"]
    _kept: ClassVar[Schema] = Schema(Labels(), Scalar("costs_convex", bool, attribute="costs_convex_"))

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        sample_cost: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn to grade.

        Parameters
        ----------
        X : array, frame, table or sparse matrix of shape (n_rows, n_features)
            Features. NaN, or an absent entry of a sparse matrix, is missing.
        y : array-like
            Grade of each row, of any ordered kind: numbers, strings (sorted), an ordered categorical (its own order).
        sample_cost : array-like of shape (n_rows, K), optional
            Instead of `cost`: what each grade costs for each row, grades in the order of ``classes_``.
        sample_weight : array-like, optional
            Weight of each row; 2 means the row given twice, but where rows are drawn at random or counted.

        Returns
        -------
        self
        """
        self._check_parameters()
        return self._take(self._gate(X, y, sample_cost, sample_weight))

    def predict(self, X: MatrixLike) -> Array:
        """Return the grade of each row, as the labels of the fit have it."""
        grades = self._grade(self._check_rows(X))
        predicted: Array = self.classes_[grades]
        return predicted

    def predict_rank(self, X: MatrixLike) -> Array:
        """Return a real number for each row to rank it by: higher stands higher.

        On the scale of the ranks 1 … K: a single ranker's rank, an ensemble's weighted mean of ranks.
        """
        return self._score(self._check_rows(X))

    def score(
        self, X: MatrixLike, y: ArrayLike, sample_cost: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return minus the mean cost of the predicted grades: higher is better, 0 is best.

        Labels must be among those of the fit. Costs are those of `cost`, or `sample_cost` of each row.
        """
        features = self._check_rows(X)
        grades = grades_of(y, features.shape[0], self.classes_)
        if sample_cost is None:
            costs = cost_matrix(self.cost, self.classes_)[grades]
        else:
            costs = row_costs(sample_cost, grades, self.classes_)
        weight = scaled_weight(check_weight(sample_weight, len(grades), "sample_weight"))
        return 0.0 - float(np.average(costs[np.arange(len(grades)), self._grade(features)], weights=weight))

    def _gate(
        self, X: MatrixLike, y: ArrayLike, sample_cost: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> OrdinalData:
        """Return the checked training data."""
        if sample_cost is not None and not (isinstance(self.cost, str) and self.cost == "absolute"):
            raise PodiumError(f"sample_cost goes instead of cost: leave cost at its default; got cost={self.cost!r}.")
        return OrdinalData.from_arrays(X, y, cost=self.cost, sample_cost=sample_cost, sample_weight=sample_weight)

    def _take(self, data: OrdinalData) -> Self:
        """Learn from checked data and keep what describes it."""
        self._learn_grades(data)
        self._describe(data)
        return self

    def _describe(self, data: OrdinalData) -> None:
        """Keep what the checked data says of rows, labels, costs and columns."""
        self.classes_, self.costs_convex_ = data.classes, data.convex
        self.training_summary_ = summary_of(data.features, data.grades)
        self._describe_columns(data)

    @abstractmethod
    def _learn_grades(self, data: OrdinalData) -> None:
        """Learn from checked data."""

    @abstractmethod
    def _grade(self, features: Features) -> Array:
        """Return the grade 0 … K-1 of each row of a checked matrix."""

    def _score(self, features: Features) -> Array:
        return 1.0 + self._grade(features)

    def _export_record(self) -> Graded:
        """Return what gives the grades; a ranker that cuts a score gives the score to `_graded`."""
        raise PodiumError(f"{type(self).__name__} is no sum of trees nor of features that is cut into grades.")

    def _exported(self) -> Exported:
        raise PodiumError(f"{type(self).__name__} predicts grades, which are no sum over trees or features.")

    def _export_values(self, features: Features) -> Array:
        return self._grade(features).astype(np.float64)

    def _graded(self, score: Additive, thresholds: Array) -> Graded:
        """Return a score, and the thresholds that it reaches, as formats write them."""
        return Graded((score,), thresholds, tuple(self.classes_.tolist()), type(self).__name__)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.cost, str) and self.cost not in COSTS:
            cost_matrix(self.cost, np.arange(2))

    def _sizes(self) -> dict[str, int]:
        return super()._sizes() | (grade_sizes(len(self.classes_)) if hasattr(self, "classes_") else {})

    def _restore(self, content: Content, path: str | PathLike[str]) -> None:
        super()._restore(content, path)
        if not isinstance(self.cost, str):
            try:
                cost_matrix(self.cost, self.classes_)
            except (PodiumError, TypeError) as error:
                raise FormatError(path, f"a parameter cannot be used. {str(error).rstrip('.')}") from None


class OnScale(Protocol):
    """What an ordinal ranker of scaled features has."""

    means_: Array
    deviations_: Array

    def _names(self) -> tuple[str, ...] | None:
        """Return the names of the columns of the fit, if they had any."""


def scaled_sum(ranker: OnScale, weights: Array) -> Linear:
    """Return the weighted sum of features on their scale, a missing one at its mean, as a sum of the features."""
    own = weights / ranker.deviations_
    return Linear(own, ranker.means_, -float(own @ ranker.means_), ranker._names(), type(ranker).__name__)
