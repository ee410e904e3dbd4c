"""What models of rankings of items share: parameters at the gate, probabilities, and files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from os import PathLike
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from podium._validation import Array, PodiumError
from podium.model_file import Content, Schema, write_model
from podium.model_file.saved_rankers import make_ranker
from podium.permutations import ItemId, Rankings, blocks_of_ids, read_rankings
from podium.rankers.checked_parameters import CheckedParameters


class PermutationModel(CheckedParameters, ABC):
    """Base of models that learn from rankings of items, not from rows of features.

    A model implements ``_log_probability(ranking)`` and declares in ``_kept`` what a file keeps, the items first.

    Attributes
    ----------
    items_ : ndarray
        Ids of all items, ascending.
    ranking_ : ndarray
        The same ids, best first.
    """

    _kept: ClassVar[Schema] = Schema()
    items_: Array
    ranking_: Array

    @abstractmethod
    def _log_probability(self, ranking: Rankings) -> float:
        """Return the log of the probability of one ranking of known items."""

    def log_probability(self, ranking: Iterable[object]) -> float:
        """Return the log of the probability of a ranking, given as `fit` takes them; -inf where it cannot be."""
        check_is_fitted(self)
        blocks_of_ids(ranking)  # its own words for what is wrong with one ranking
        return self._log_probability(read_rankings([ranking], None, None, self.items_))

    def probability(self, ranking: Iterable[object]) -> float:
        """Return the probability of a ranking, given as `fit` takes them."""
        return float(np.exp(self.log_probability(ranking)))

    def score(self, rankings: Iterable[Iterable[object]], y: None = None, weights: ArrayLike | None = None) -> float:
        """Return the mean log-probability of rankings: higher is better."""
        found = [self.log_probability(one) for one in rankings]
        return float(np.average(found, weights=None if weights is None else np.asarray(weights, float)))

    def rank(self, items: Iterable[ItemId] | None = None) -> list[ItemId]:
        """Return some items, or all, best first."""
        check_is_fitted(self)
        ranked: list[ItemId] = self.ranking_.tolist()
        if items is None:
            return ranked
        wanted = list(items)
        unknown = [one for one in wanted if one not in ranked]
        if unknown:
            raise PodiumError(f"Item {unknown[0]!r} is not known.")
        return [one for one in ranked if one in wanted]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file, for `podium.load`; an old file stays whole if this fails."""
        write_model(path, self.content())

    def content(self) -> Content:
        """Return what a model file keeps of the fitted model, for `from_content`."""
        check_is_fitted(self)
        return {
            "ranker": type(self).__name__,
            "parameters": self.get_params(deep=False),
            "learned": self._kept.write(self),
        }

    @classmethod
    def from_content(cls, content: Content, path: str | PathLike[str]) -> Self:
        """Return the fitted model that a model file holds."""
        model = make_ranker(cls, content.get("parameters"), path)
        cls._kept.restore(model, content.get("learned"), path, {})
        model._check_learned(path)
        model._take_up()
        return model

    def _check_learned(self, path: str | PathLike[str]) -> None:
        """Refuse fields of a file that do not fit together."""

    def _take_up(self) -> None:
        """Set what follows from the fields of a file."""
