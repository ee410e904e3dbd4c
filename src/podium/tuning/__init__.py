"""Cross-validation by query, and the search of parameters: many fits of one ranker, measured on queries held out."""

from __future__ import annotations

from podium.tuning.cross_validation import CrossValidation, Fold, cross_validate
from podium.tuning.search_spaces import SPACES, Choice, Real, Space, Whole
from podium.tuning.tuner import space_of, tune
from podium.tuning.tuning_result import Tuning, TuningTrial

__all__ = [
    "SPACES",
    "Choice",
    "CrossValidation",
    "Fold",
    "Real",
    "Space",
    "Tuning",
    "TuningTrial",
    "Whole",
    "cross_validate",
    "space_of",
    "tune",
]
