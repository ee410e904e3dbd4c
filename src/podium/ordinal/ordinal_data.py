"""What an ordinal ranker learns from: rows, grades and costs, checked and in a canonical order."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from podium._magnitudes import scaled_weight
from podium._sparse import take_rows
from podium._types import Features, MatrixLike
from podium._validation import Array, PodiumError, check_weight
from podium.data import hash_features, read_features, row_keys
from podium.ordinal.costs import cost_matrix, costs_are_convex, row_costs
from podium.ordinal.grades import check_grades, grades_of


@dataclass(frozen=True, eq=False)
class OrdinalData:
    """What an ordinal ranker learns from, checked once and never changed.

    Rows stand in a canonical order, by a hash of all that is known of them, so that the order in which they were given
    cannot change a result. Rows of zero weight are left out.

    Attributes
    ----------
    features : ndarray or scipy.sparse.csc_array
        NaN, or an absent entry of a sparse matrix, is missing.
    feature_names : tuple of str or None
    grades : ndarray of int64
        Grade 0 … K-1 of each row.
    costs : ndarray of float64, shape (n_rows, K)
        Cost of each grade for each row, times the row's weight.
    classes : ndarray
        Label of each grade.
    convex : bool
        Whether every cost vector is convex, as OR Theorem 1 needs it.
    rows : ndarray of int64
        The caller's number of each row.
    weight : ndarray of float64
        Weight of each row, for what is not a sum of costs: quantiles, means and draws of rows.
    name : str
        What an evaluation set is called; empty where the caller gave no name.
    """

    features: Features
    feature_names: tuple[str, ...] | None
    grades: Array
    costs: Array
    classes: Array
    convex: bool
    rows: Array
    weight: Array
    name: str = ""

    @classmethod
    def from_arrays(
        cls,
        X: MatrixLike,
        y: ArrayLike,
        *,
        cost: str | ArrayLike = "absolute",
        sample_cost: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        classes: Array | None = None,
    ) -> OrdinalData:
        """Check what the caller gave and put it into the canonical order.

        Parameters
        ----------
        X, y, cost, sample_cost, sample_weight
            As `OrdinalRanker.fit` has them; `sample_cost` goes before `cost`.
        classes : ndarray, optional
            Labels of the grades where a fit has set them already.
        """
        features, names = read_features(X, None)
        n_rows = features.shape[0]
        if classes is None:
            grades, classes = check_grades(y, n_rows)
        else:
            grades = grades_of(y, n_rows, classes)
        weight = scaled_weight(check_weight(sample_weight, n_rows, "sample_weight"))
        matrix = cost_matrix(cost, classes)
        costs = matrix[grades] if sample_cost is None else row_costs(sample_cost, grades, classes)
        convex = costs_are_convex(matrix if sample_cost is None else costs)
        keys = row_keys(features, grades.astype(float), weight, None)
        order = np.lexsort((hash_features(costs), keys))
        order = order[weight[order] > 0]
        costs = np.ascontiguousarray((costs * weight[:, None])[order])
        if not costs.any():
            raise PodiumError("There is nothing to learn: all costs of rows with a positive weight are zero.")
        return cls(take_rows(features, order), names, grades[order], costs, classes, convex, order, weight[order])

    def columns(self) -> tuple[Array, ...]:
        """Return what there is to learn from, as arrays that another data set differs in."""
        return hash_features(self.features), self.grades, self.costs, self.weight, np.array(self.classes.tolist())

    def take(self, rows: Array) -> OrdinalData:
        """Return some rows, each as often as it is named."""
        own = {name: getattr(self, name)[rows] for name in ("grades", "costs", "rows", "weight")}
        return replace(self, features=take_rows(self.features, rows), **own)

    def require_two_grades(self) -> None:
        """Refuse rows that all have one grade, which rows of zero weight may have hidden."""
        if self.grades.min() == self.grades.max():
            only = self.classes.tolist()[self.grades[0]]
            raise PodiumError(f"y must have two grades (classes) to tell apart; all rows with a weight have {only!r}.")
