"""Why one row stands above another, and what would have to change."""

from __future__ import annotations

from podium.explain.contributions import contributions_of
from podium.explain.effects import EffectCurve, Effects, effects_of
from podium.explain.explanation import Explanation, QueryExplanation, names_or_numbers
from podium.explain.what_if import WhatIf, smallest_changes, used_features

__all__ = [
    "EffectCurve",
    "Effects",
    "Explanation",
    "QueryExplanation",
    "WhatIf",
    "contributions_of",
    "effects_of",
    "names_or_numbers",
    "smallest_changes",
    "used_features",
]
