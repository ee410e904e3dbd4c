"""Linear and kernel scores from pairs: margins, their solvers, regularised least squares."""

from __future__ import annotations

from podium.linear.kernel_features import KERNELS, KernelFeatures, kernel_values
from podium.linear.margin_sums import MarginState, PairMargins
from podium.linear.newton import MarginProblem, Solution, minimize_l1, minimize_l2
from podium.linear.nonconvex import NONCONVEX, minimize_nonconvex
from podium.linear.pair_least_squares import PairLeastSquares

__all__ = [
    "KERNELS",
    "NONCONVEX",
    "KernelFeatures",
    "MarginProblem",
    "MarginState",
    "PairLeastSquares",
    "PairMargins",
    "Solution",
    "kernel_values",
    "minimize_l1",
    "minimize_l2",
    "minimize_nonconvex",
]
