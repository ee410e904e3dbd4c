"""Grades, costs and votes, and what ordinal rankers are made of."""

from __future__ import annotations

from podium.ordinal.bounds import generalization_gaps, margin_bounds, stump_dimension
from podium.ordinal.costs import COSTS, cost_matrix, cost_steps, costs_of_steps, row_costs
from podium.ordinal.grades import NUMBER_KINDS, grades_of
from podium.ordinal.margin_boosting import MarginBoosting, StagedGrades, ThresholdRound, margin_weights
from podium.ordinal.margins import Margins
from podium.ordinal.mean_cost import MeanCost, mean_cost
from podium.ordinal.ordinal_columns import (
    CUTS,
    SCALING,
    STUMPS,
    THRESHOLDS,
    VOTES,
    Labels,
    grade_sizes,
    stumps_from_columns,
)
from podium.ordinal.ordinal_data import OrdinalData
from podium.ordinal.ordinal_stump import OrdinalStump, OrdinalStumpLearner, constant_stump
from podium.ordinal.perceptron import pocket_perceptron
from podium.ordinal.scaling import Scaling
from podium.ordinal.step_weights import StepWeights
from podium.ordinal.support_vectors import KERNELS, ExtendedMachine, fill_kernel
from podium.ordinal.vote_boosting import LEAST, BaseLearner, OrdinalRound, StagedMedians, VoteBoosting
from podium.ordinal.votes import Votes, vote_of_stumps

__all__ = [
    "COSTS",
    "CUTS",
    "KERNELS",
    "LEAST",
    "NUMBER_KINDS",
    "SCALING",
    "STUMPS",
    "THRESHOLDS",
    "VOTES",
    "BaseLearner",
    "ExtendedMachine",
    "Labels",
    "MarginBoosting",
    "Margins",
    "MeanCost",
    "OrdinalData",
    "OrdinalRound",
    "OrdinalStump",
    "OrdinalStumpLearner",
    "Scaling",
    "StagedGrades",
    "StagedMedians",
    "StepWeights",
    "ThresholdRound",
    "VoteBoosting",
    "Votes",
    "constant_stump",
    "cost_matrix",
    "cost_steps",
    "costs_of_steps",
    "fill_kernel",
    "generalization_gaps",
    "grade_sizes",
    "grades_of",
    "margin_bounds",
    "margin_weights",
    "mean_cost",
    "pocket_perceptron",
    "row_costs",
    "stump_dimension",
    "stumps_from_columns",
    "vote_of_stumps",
]
