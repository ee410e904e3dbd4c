"""Why one row stands above another, and what would have to change."""

from __future__ import annotations

from podium.explain.contributions import contributions_of
from podium.explain.explanation import Explanation, QueryExplanation, names_or_numbers
from podium.explain.what_if import WhatIf, smallest_changes

__all__ = [
    "Explanation",
    "QueryExplanation",
    "WhatIf",
    "contributions_of",
    "names_or_numbers",
    "smallest_changes",
]
