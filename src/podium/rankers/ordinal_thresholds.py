"""Cut points that turn the scores of any ranker into grades.

"OR" is Lin and Li (2009), "Combining ordinal preferences by boosting".
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from podium._compiled import ROW, SCORE
from podium._frames import to_array
from podium._sparse import take_rows
from podium._validation import (
    Array,
    Features,
    FormatError,
    Learner,
    MatrixLike,
    PodiumError,
    check_queries,
    check_scores,
    check_weight,
)
from podium.data import canonical_order, hash_features, row_keys
from podium.export import Graded, NetScore, negated
from podium.model_file import Content, Scalar, Schema
from podium.model_file.saved_rankers import content_of, inner_ranker
from podium.ordinal import CUTS, NUMBER_KINDS, OrdinalData, OrdinalStumpLearner, StepWeights, cost_steps
from podium.rankers.estimator import Estimator
from podium.rankers.lambdamart import MART
from podium.rankers.ordinal_ranker import OrdinalRanker


class OrdinalThresholds(OrdinalRanker):
    """Grades from the scores of another ranker, cut where the training cost is lowest.

    The cut points are exact: the dynamic programme of `ORStump` on the one column of scores. They are taken from
    scores of rows that the ranker did not see, by cross-validation: a boosted ranker spreads the rows it has learned
    farther apart than new ones, and cuts between the former would misplace the latter.

    Parameters
    ----------
    estimator : ranker, optional
        Cloned and fitted with the ranks 1 … K as labels, and with `qid` where that is given. Any object with ``fit``
        and a ``predict`` that returns scores will do; by default ``MART()``. The loss of `LambdaMART` looks at the top
        of each query only, unless ``truncation=None``.
    folds : int, "prefit" or None
        Folds of the cross-validation: of whole queries where `qid` is given, else of rows with equal shares of every
        grade, equal rows in one fold. The ranker itself learns from all rows. None cuts the scores of the training
        rows. "prefit" takes the estimator as it is, fitted on other rows.
    cost : {"absolute", "squared", "zero-one"} or array-like of shape (K, K)
        Cost of each grade for rows of each grade.

    Attributes
    ----------
    estimator_ : ranker
    thresholds_ : ndarray of shape (K - 1,)
        Ascending, of ``direction_`` times the score.
    direction_ : int
        1; or -1 where grades fall as the scores rise.
    classes_, costs_convex_, n_features_in_, feature_names_in_
        As every ordinal ranker has them.

    Examples
    --------
    >>> from podium import MART
    >>> X, y = [[float(i)] for i in range(60)], ["low"] * 20 + ["mid"] * 20 + ["top"] * 20
    >>> model = OrdinalThresholds(MART(n_estimators=20, min_child_samples=5)).fit(X, y)
    >>> model.predict([[1.0], [30.0], [59.0]]).tolist()
    ['low', 'mid', 'top']
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True}
    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "folds": [Interval(Integral, 2, None, closed="left"), StrOptions({"prefit"}), None],
        "cost": OrdinalRanker._cost_constraint,
    }
    _kept: ClassVar[Schema] = OrdinalRanker._kept.extended(CUTS, Scalar("direction_", int, (-1, 1), choices=(1, -1)))

    def __init__(
        self, estimator: Learner | None = None, *, folds: int | str | None = 5, cost: str | ArrayLike = "absolute"
    ) -> None:
        self.estimator = estimator
        self.folds = folds
        self.cost = cost

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_cost: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn to grade.

        Parameters
        ----------
        X, y, sample_cost, sample_weight
            As for every ordinal ranker. Weights go to the estimator too.
        qid : array-like, optional
            Query of each row, for estimators that rank within queries. Cut points are common to all queries.

        Returns
        -------
        self
        """
        self._check_parameters()
        data = self._gate(X, y, sample_cost, sample_weight)
        given = {"qid": qid, "sample_weight": sample_weight}
        beside = {name: to_array(values, name)[data.rows] for name, values in given.items() if values is not None}
        self._cut(data, beside)
        self._describe(data)
        return self

    def _learn_grades(self, data: OrdinalData) -> None:
        alike = bool(np.all(data.weight == data.weight[0]))  # an estimator that takes no weights serves then, too
        self._cut(data, {} if alike else {"sample_weight": data.weight})

    def _cut(self, data: OrdinalData, beside: dict[str, Array]) -> None:
        """Learn the scores and cut them; `beside` are the queries and weights of the rows, where given."""
        data.require_two_grades()
        estimator, scores = self._learn_scores(data, beside, self._fold_of_rows(data, beside))
        weights = StepWeights(cost_steps(data.costs), data.grades)
        stump = OrdinalStumpLearner(scores[:, None], len(data.classes) - 1).search(weights).stump
        self.estimator_, self.thresholds_, self.direction_ = estimator, stump.thresholds, stump.direction

    def _fold_of_rows(self, data: OrdinalData, beside: dict[str, Array]) -> Array:
        """Return the fold of each row: queries, or rows by grade, dealt out in their canonical order."""
        n_rows = len(data.grades)
        if self.folds is None or isinstance(self.folds, str):
            return np.zeros(n_rows, ROW)
        if "qid" in beside:
            codes, ids = check_queries(beside["qid"], None, n_rows)
            weight = check_weight(beside.get("sample_weight"), n_rows, "sample_weight")
            keys = row_keys(data.features, data.grades.astype(SCORE), weight, None)
            place = np.argsort(canonical_order(keys, codes, ids)[1])[codes]
        else:
            place = _places(data)
        n_units, unit = int(place.max()) + 1, "queries" if "qid" in beside else "different rows"
        if n_units < self.folds:
            raise PodiumError(f"folds={self.folds} needs as many {unit}; got {n_units}: give fewer, or None.")
        folds: Array = place % int(self.folds)
        return folds

    def _learn_scores(self, data: OrdinalData, beside: dict[str, Array], folds: Array) -> tuple[Learner, Array]:
        """Return the fitted estimator and the scores to cut."""
        every = np.ones(len(folds), bool)
        if self.folds == "prefit":
            given = self._given()
            check_is_fitted(given)
            return given, self._scores_of(given, data.features)
        estimator = self._fitted(data, beside, every)
        if self.folds is None:
            return estimator, self._scores_of(estimator, data.features)
        scores = np.empty(len(folds), SCORE)
        for fold in range(int(folds.max()) + 1):
            own = folds == fold
            scores[own] = self._scores_of(self._fitted(data, beside, ~own), take_rows(data.features, own))
        return estimator, scores

    def _given(self) -> Learner:
        """Return the estimator to clone."""
        return MART() if self.estimator is None else self.estimator

    def _fitted(self, data: OrdinalData, beside: dict[str, Array], rows: Array) -> Learner:
        """Return a clone of the estimator, fitted on some rows."""
        extra: dict[str, Any] = {name: values[rows] for name, values in beside.items()}
        if "qid" not in beside and has_fit_parameter(self._given(), "group"):
            extra["group"] = [int(rows.sum())]  # grades mean the same in all rows, so that one query is meant
        fitted: Learner = clone(self._given()).fit(take_rows(data.features, rows), 1 + data.grades[rows], **extra)
        return fitted

    @staticmethod
    def _scores_of(estimator: Learner, features: Features) -> Array:
        """Return the scores that an estimator gives, checked."""
        return check_scores(estimator.predict(features), features.shape[0], "The scores of estimator")

    def _score(self, features: Features) -> Array:
        """Return the scores of the estimator, turned so that grades rise with them."""
        return self.direction_ * self._scores_of(self.estimator_, features)

    def _grade(self, features: Features) -> Array:
        return np.searchsorted(self.thresholds_, self._score(features), side="right")

    def _export_record(self) -> Graded:
        if not isinstance(self.estimator_, Estimator):
            raise PodiumError(f"Rankers of Podium can be exported; {type(self.estimator_).__name__} is not one.")
        record = self.estimator_._exported()
        if isinstance(record, NetScore):
            raise PodiumError(f"Grades by the net of a {record.name} cannot be exported; the net itself can.")
        score = replace(record, feature_names=self._names())
        return self._graded(score if self.direction_ > 0 else negated(score), self.thresholds_)

    def _learned(self) -> Content:
        return {**super()._learned(), "estimator": content_of(self.estimator_)}

    def _restore(self, content: Content, path: str | PathLike[str]) -> None:
        super()._restore(content, path)
        self.estimator_ = inner_ranker(content.get("estimator"), path, self.n_features_in_, "estimator")
        if getattr(self.estimator_, "classes_", np.empty(0)).dtype.kind not in NUMBER_KINDS:
            raise FormatError(path, "the estimator must predict numbers")


def _places(data: OrdinalData) -> Array:
    """Return the place of each row, by grade and features: rows that are equal share one, as one of their weight has.

    So a row of weight 2 is the row given twice, and no fold is measured by rows that stand in the others.
    """
    keys = hash_features(data.features)
    order = np.lexsort((keys, data.grades))
    starts = (np.diff(data.grades[order]) != 0) | (keys[order][1:] != keys[order][:-1])
    places = np.empty(len(order), ROW)
    places[order] = np.append(0, np.cumsum(starts))
    return places
