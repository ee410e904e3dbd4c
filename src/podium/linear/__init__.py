"""Rankers that are weighted sums of features."""

from __future__ import annotations

from podium.linear.centered_columns import CenteredColumns, CenteredFeature
from podium.linear.gradient_free import (
    ENOUGH_FEATURES,
    EXHAUSTED,
    GradientFreeBoosting,
    IrregularLoss,
    LinearRound,
    linear_rounds_from_columns,
    linear_rounds_to_columns,
)

__all__ = [
    "ENOUGH_FEATURES",
    "EXHAUSTED",
    "CenteredColumns",
    "CenteredFeature",
    "GradientFreeBoosting",
    "IrregularLoss",
    "LinearRound",
    "linear_rounds_from_columns",
    "linear_rounds_to_columns",
]
