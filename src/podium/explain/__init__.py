"""Why one row stands above another, what would have to change, and what features do to scores."""

from __future__ import annotations

from podium.explain.contributions import Contributions, contributions_of
from podium.explain.effects import EffectCurve, Effects, effects_of
from podium.explain.explanation import (
    Explanation,
    QueryExplanation,
    json_value,
    names_or_numbers,
    value_text,
    with_categories,
)
from podium.explain.feature_functions import FeatureFunction, feature_functions
from podium.explain.what_if import WhatIf, smallest_changes, used_features

__all__ = [
    "Contributions",
    "EffectCurve",
    "Effects",
    "Explanation",
    "FeatureFunction",
    "QueryExplanation",
    "WhatIf",
    "contributions_of",
    "effects_of",
    "feature_functions",
    "json_value",
    "names_or_numbers",
    "smallest_changes",
    "used_features",
    "value_text",
    "with_categories",
]
