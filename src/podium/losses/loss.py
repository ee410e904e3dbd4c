"""What every loss has."""

from __future__ import annotations

from abc import ABC, abstractmethod

from podium._validation import Array


class Loss(ABC):
    """What a boosted ranker follows downhill."""

    def start(self) -> float:
        """Return the score that all rows begin with."""
        return 0.0

    @abstractmethod
    def derivatives(self, scores: Array, number: int = 0) -> tuple[Array, Array]:
        """Return gradient and curvature of each row at the scores before round `number`; valid until the next call."""

    def flat_reason(self) -> str | None:
        """Say why nothing tells rows apart, at whatever scores; None where something may."""
        return None

    def diverged(self, scores: Array) -> str | None:
        """Say that no further step comes back from these scores; None where one may."""
        return None

    def still_reason(self) -> str:
        """Say what it means that every gradient is 0."""
        return "every gradient is 0: the loss is at its least"
