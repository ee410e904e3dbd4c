"""Weighted sums of features: margins and their solvers, least squares over pairs, boosting of single features."""

from __future__ import annotations

from podium.linear.centered_columns import CenteredColumns, CenteredFeature
from podium.linear.componentwise import SELECTIONS, ComponentLearner
from podium.linear.fitted_line import Line, LineSum, lines_from_columns, lines_to_columns
from podium.linear.huber_pairs import IMPORTANCES, HuberPairs
from podium.linear.kernel_features import KERNELS, KernelFeatures, kernel_values
from podium.linear.margin_sums import MarginState, PairMargins
from podium.linear.newton import MarginProblem, Solution, minimize_l1, minimize_l2
from podium.linear.nonconvex import NONCONVEX, minimize_nonconvex
from podium.linear.pair_least_squares import PairLeastSquares
from podium.linear.singular_steps import (
    ENOUGH_FEATURES,
    EXHAUSTED,
    GradientFreeBoosting,
    IrregularLoss,
    LinearRound,
    linear_rounds_from_columns,
    linear_rounds_to_columns,
)
from podium.linear.truncated_steps import TruncatedSteps

__all__ = [
    "ENOUGH_FEATURES",
    "EXHAUSTED",
    "IMPORTANCES",
    "KERNELS",
    "NONCONVEX",
    "SELECTIONS",
    "CenteredColumns",
    "CenteredFeature",
    "ComponentLearner",
    "GradientFreeBoosting",
    "HuberPairs",
    "IrregularLoss",
    "KernelFeatures",
    "Line",
    "LineSum",
    "LinearRound",
    "MarginProblem",
    "MarginState",
    "PairLeastSquares",
    "PairMargins",
    "Solution",
    "TruncatedSteps",
    "kernel_values",
    "linear_rounds_from_columns",
    "linear_rounds_to_columns",
    "lines_from_columns",
    "lines_to_columns",
    "minimize_l1",
    "minimize_l2",
    "minimize_nonconvex",
]
