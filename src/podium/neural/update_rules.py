"""How weights follow a gradient: stochastic gradient descent and Adam, on one vector, with a state for files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

MEAN_DECAY, SQUARE_DECAY, LEAST_ROOT = 0.9, 0.999, 1e-8
"""β₁, β₂ and ε of Adam (Kingma and Ba 2015)."""


@dataclass(frozen=True)
class UpdateRule:
    """A rule of updates.

    Attributes
    ----------
    n_moments : int
        Vectors that it remembers.
    direction : callable
        ``direction(gradient, moments, n_steps)`` is what weights move against; it changes the moments in place.
        `n_steps` counts this update.
    """

    n_moments: int
    direction: Callable[[Tensor, Tensor, int], Tensor]

    def update(
        self, weights: Tensor, gradient: Tensor, moments: Tensor, n_steps: int, rate: float, weight_decay: float
    ) -> None:
        """Move weights in place: w ← (1 - η decay) w - η direction; decay does not pass through the moments."""
        if weight_decay:
            weights.mul_(1.0 - rate * weight_decay)
        weights.sub_(self.direction(gradient, moments, n_steps), alpha=rate)


def _adam(gradient: Tensor, moments: Tensor, n_steps: int) -> Tensor:
    """Return the mean of gradients over the root of their mean square, both corrected for their start at 0."""
    mean, square = moments[0], moments[1]
    mean.mul_(MEAN_DECAY).add_(gradient, alpha=1.0 - MEAN_DECAY)
    square.mul_(SQUARE_DECAY).addcmul_(gradient, gradient, value=1.0 - SQUARE_DECAY)
    root = (square / (1.0 - SQUARE_DECAY**n_steps)).sqrt_().add_(LEAST_ROOT)
    return mean / (1.0 - MEAN_DECAY**n_steps) / root


UPDATE_RULES = {
    "adam": UpdateRule(2, _adam),
    "sgd": UpdateRule(0, lambda gradient, moments, n_steps: gradient),
}
"""Every rule by its name."""
