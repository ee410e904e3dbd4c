"""Selectors of features for ranking, as scikit-learn has them."""

from __future__ import annotations

from podium.selection.geng import GengSelector
from podium.selection.selector import RankingSelector
from podium.selection.similarity import FeatureRankings
from podium.selection.stability import ErrorControl, StabilitySelector, error_control
from podium.selection.stump_selector import BoostedStumpSelector

__all__ = [
    "BoostedStumpSelector",
    "ErrorControl",
    "FeatureRankings",
    "GengSelector",
    "RankingSelector",
    "StabilitySelector",
    "error_control",
]
