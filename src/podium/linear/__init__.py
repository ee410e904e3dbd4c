"""Linear models: base learners of one feature, and their sum."""

from __future__ import annotations

from podium.linear.componentwise import SELECTIONS, CenteredColumns, ComponentLearner
from podium.linear.line import Line, LineSum, lines_from_columns, lines_to_columns

__all__ = [
    "SELECTIONS",
    "CenteredColumns",
    "ComponentLearner",
    "Line",
    "LineSum",
    "lines_from_columns",
    "lines_to_columns",
]
