"""Rankers that learn at once, not in rounds: what only rounds can use is refused."""

from __future__ import annotations

from abc import abstractmethod

from podium._validation import PodiumError
from podium.data import RankingData
from podium.rankers.estimator import Estimator
from podium.rankers.ranker import Ranker


class AtOnceRanker(Ranker):
    """Base of rankers without rounds, which implement ``_learn_at_once(data)`` in the place of `_learn`."""

    def _learn(self, data: RankingData, evals: list[RankingData], init_model: Estimator | None = None) -> None:
        if evals or init_model is not None:
            raise PodiumError(
                f"{type(self).__name__} does not learn in rounds, so eval_set and init_model must be None."
            )
        self._learn_at_once(data)

    @abstractmethod
    def _learn_at_once(self, data: RankingData) -> None:
        """Learn from checked data."""
