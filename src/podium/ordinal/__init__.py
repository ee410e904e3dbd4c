"""Grades, costs and votes, and what ordinal rankers are made of."""

from __future__ import annotations

from podium.ordinal.bounds import generalization_gaps, margin_bounds, stump_dimension
from podium.ordinal.costs import COSTS, cost_matrix, cost_steps, costs_are_convex, costs_of_steps, row_costs
from podium.ordinal.grades import NUMBER_KINDS, OwnLabels, grades_of, merged_labels, require_two_labels
from podium.ordinal.margin_boosting import MarginBoosting, StagedGrades, ThresholdRound, margin_weights
from podium.ordinal.margins import Margins
from podium.ordinal.mean_cost import MeanCost, mean_cost
from podium.ordinal.ordinal_columns import CUTS, THRESHOLDS, VOTES
from podium.ordinal.ordinal_data import OrdinalData
from podium.ordinal.ordinal_stump import OrdinalStump, OrdinalStumpLearner, constant_stump
from podium.ordinal.step_weights import StepWeights
from podium.ordinal.vote_boosting import LEAST_VOTE, BaseLearner, OrdinalRound, StagedMedians, VoteBoosting
from podium.ordinal.votes import Votes, vote_of_stumps

__all__ = [
    "COSTS",
    "CUTS",
    "LEAST_VOTE",
    "NUMBER_KINDS",
    "THRESHOLDS",
    "VOTES",
    "BaseLearner",
    "MarginBoosting",
    "Margins",
    "MeanCost",
    "OrdinalData",
    "OrdinalRound",
    "OrdinalStump",
    "OrdinalStumpLearner",
    "OwnLabels",
    "StagedGrades",
    "StagedMedians",
    "StepWeights",
    "ThresholdRound",
    "VoteBoosting",
    "Votes",
    "constant_stump",
    "cost_matrix",
    "cost_steps",
    "costs_are_convex",
    "costs_of_steps",
    "generalization_gaps",
    "grades_of",
    "margin_bounds",
    "margin_weights",
    "mean_cost",
    "merged_labels",
    "require_two_labels",
    "row_costs",
    "stump_dimension",
    "vote_of_stumps",
]
