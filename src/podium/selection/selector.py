"""What selectors of features share: the gate at `fit`, columns, and the chosen features as scikit-learn has them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from podium._types import MatrixLike, QueryWeight
from podium._validation import Array, PodiumError
from podium.data import RankingData, warn_of_one_query
from podium.rankers.checked_parameters import CheckedParameters


class RankingSelector(SelectorMixin, CheckedParameters, ABC):
    """Base of selectors of features for ranking.

    A selector implements ``_choose(data, labels)``, which returns the chosen features from checked data and sets
    nothing else before it has succeeded, and a `fit` that names what it takes, for scikit-learn's routing.

    Attributes
    ----------
    support_ : ndarray of bool
        Whether each feature was chosen.
    """

    # Mangled by Python, found by scikit-learn: `qid` is routed without being asked for.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True}

    support_: Array

    @abstractmethod
    def _choose(self, data: RankingData, labels: Array) -> Array:
        """Return the numbers of the chosen features."""

    def _fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None,
        qid: ArrayLike | None,
        group: ArrayLike | None,
        sample_weight: ArrayLike | None,
        query_weight: QueryWeight | None,
    ) -> None:
        """Check what the caller gave, choose features and keep them."""
        self._check_parameters()
        if y is None:
            raise PodiumError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        data = RankingData.from_arrays(
            X, y, qid=qid, group=group, sample_weight=sample_weight, query_weight=query_weight
        )
        if not data.queries_given:
            warn_of_one_query(data.labels, "", "group=[{}]", 4)
        if not data.weights.any():
            raise PodiumError(f"{type(self).__name__} needs a row of positive weight in a query of positive weight.")
        labels = np.empty(0) if data.labels is None else data.labels
        self._keep(data, self._choose(data, labels))

    def _keep(self, data: RankingData, chosen: Array) -> None:
        """Keep the columns of the training data and the chosen ones."""
        self.n_features_in_ = data.features.shape[1]
        if data.feature_names is not None:
            self.feature_names_in_ = np.array(data.feature_names, object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.support_ = np.isin(np.arange(self.n_features_in_), chosen)

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def number_to_select(given: int | None, n_features: int) -> int:
    """Return how many features to choose: half of them where nothing is said, as scikit-learn has it."""
    if given is None:
        return max(1, n_features // 2)
    if given > n_features:
        raise PodiumError(f"n_features_to_select must be at most the number of features, {n_features}; got {given}.")
    return int(given)


def largest_first(values: Array, n_largest: int) -> Array:
    """Return the places of the largest values, of equal ones the first."""
    places: Array = np.argsort(-values, kind="stable")[:n_largest]
    return places
