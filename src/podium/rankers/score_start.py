"""What the scores of boosted trees begin with: a constant, or another ranker's scores."""

from __future__ import annotations

from os import PathLike
from typing import NamedTuple, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from podium._compiled import SCORE
from podium._types import Features
from podium._validation import Array, PodiumError
from podium.model_file import Content
from podium.model_file.saved_rankers import inner_ranker
from podium.rankers.estimator import Estimator

InitModel: TypeAlias = Estimator | None
"""What a fit of trees may go on from."""


class Start(NamedTuple):
    """What the scores of boosted trees begin with: a constant, and another ranker's scores where there is one."""

    model: Estimator | None
    score: float

    @classmethod
    def from_content(cls, content: Content, path: str | PathLike[str], n_features: int, score: float) -> Start:
        """Return the start that a file keeps."""
        inner = content.get("base_model")
        return cls(None if inner is None else inner_ranker(inner, path, n_features, "base model"), score)

    def content(self) -> Content:
        """Return what a file keeps of it."""
        return {"base_score": self.score, "base_model": None if self.model is None else self.model.content()}

    def scores(self, features: Features) -> Array:
        """Return the scores before the first tree."""
        if self.model is None:
            return np.full(features.shape[0], self.score, SCORE)
        scores: Array = self.score + self.model._score(self.model._check_rows(features))
        return scores


def check_start(init_model: object) -> None:
    """Refuse what has no scores to go on from."""
    if init_model is None:
        return
    if not isinstance(init_model, Estimator):
        raise PodiumError(f"init_model must be a fitted ranker; got {type(init_model).__name__}.")
    check_is_fitted(init_model)
