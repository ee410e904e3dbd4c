"""What rankers share that tell categories apart: where they are found, kept and named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import ClassVar

from sklearn.utils.validation import check_is_fitted

from podium._validation import Array, MatrixLike, PodiumError
from podium.data import CategoricalFeatures, Categories, RankingData, categorical_columns
from podium.model_file import Content, Schema
from podium.rankers.estimator import Estimator
from podium.rankers.ranker import Ranker
from podium.trees import CategoryLists


class CategoricalRanker(Ranker):
    """Base of rankers with the parameter `categorical_features`."""

    _kept: ClassVar[Schema] = Schema(CategoryLists())
    categorical_features: CategoricalFeatures

    def _find_categories(self, X: MatrixLike, init_model: Estimator | None) -> Categories:
        """Return the categories of X, or those of the model of this kind that the fit goes on from."""
        before = None
        if isinstance(init_model, CategoricalRanker):
            check_is_fitted(init_model)
            before = init_model._categories
        return find_categories(X, self.categorical_features, None, before)

    def _describe(self, data: RankingData) -> None:
        super()._describe(data)
        self._categories = data.categories

    def _restore(self, content: Content, path: str | PathLike[str]) -> None:
        super()._restore(content, path)
        if self._categories is not None:
            self._categories = replace(self._categories, names=self._names())

    @property
    def categories_(self) -> dict[str | int, Array]:
        """The categories of each categorical column, by its name or number; a category's code is its place."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return {} if self._categories is None else self._categories.arrays(names)


def find_categories(
    X: MatrixLike, categorical_features: CategoricalFeatures, init_model: Estimator | None, before: Categories | None
) -> Categories:
    """Return the categories of X, or those that the trees to go on from mean by their sets.

    Parameters
    ----------
    X : array, frame, table or sparse matrix
    categorical_features : "from_dtype", sequence or None
    init_model : ranker or None
        What the fit goes on from.
    before : Categories or None
        Those of `init_model`, where it is made of trees.
    """
    if before is not None:
        check_categories_before(categorical_columns(X, categorical_features), before)
        return before
    found = Categories.learn(X, categorical_features)
    check_start_with_categories(found, init_model)
    return found


def check_categories_before(chosen: Sequence[int], before: Categories) -> None:
    """Refuse trees to go on from that have other categorical columns than the rows."""
    if list(chosen) != sorted(before.values):
        raise PodiumError(
            f"init_model must have the categorical columns of X: {list(chosen)} expected, {sorted(before.values)} "
            "given."
        )


def check_start_with_categories(found: Categories, init_model: Estimator | None) -> None:
    """Refuse categories beside a ranker to go on from that is not made of trees."""
    if found.values and init_model is not None:
        raise PodiumError(
            f"init_model must be made of trees where X has categorical columns; got {type(init_model).__name__}."
        )
