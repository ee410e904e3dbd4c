"""Weighted sums of features: margins and their solvers, least squares over pairs, component-wise boosting."""

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
from podium.linear.kernel_features import KERNELS, KernelFeatures, kernel_values
from podium.linear.margin_sums import MarginState, PairMargins
from podium.linear.newton import MarginProblem, Solution, minimize_l1, minimize_l2
from podium.linear.nonconvex import NONCONVEX, minimize_nonconvex
from podium.linear.pair_least_squares import PairLeastSquares
from podium.linear.componentwise import SELECTIONS, ComponentLearner
from podium.linear.line import Line, LineSum, lines_from_columns, lines_to_columns

__all__ = [
    "CenteredColumns",
    "CenteredFeature",
    "ComponentLearner",
    "ENOUGH_FEATURES",
    "EXHAUSTED",
    "GradientFreeBoosting",
    "IrregularLoss",
    "KERNELS",
    "KernelFeatures",
    "Line",
    "LineSum",
    "LinearRound",
    "MarginProblem",
    "MarginState",
    "NONCONVEX",
    "PairLeastSquares",
    "PairMargins",
    "SELECTIONS",
    "Solution",
    "kernel_values",
    "linear_rounds_from_columns",
    "linear_rounds_to_columns",
    "lines_from_columns",
    "lines_to_columns",
    "minimize_l1",
    "minimize_l2",
    "minimize_nonconvex",
]
