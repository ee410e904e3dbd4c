"""Evaluation of rankings: tables with intervals, values per query, paired tests, TREC runs; tests of weights and λ."""

from podium.evaluation.contest import Contest, PairTest
from podium.evaluation.feature_permutation import FeatureDrop, PermutationImportance, permutation_importance
from podium.evaluation.lambda_symmetry import LambdaSymmetry, lambda_symmetry
from podium.evaluation.leaderboard import AgainstOne, Leaderboard, leaderboard
from podium.evaluation.optimality import LocalOptimality, local_optimality
from podium.evaluation.paired_tests import paired_result
from podium.evaluation.queries import compare, evaluate, parse_measures, resampling_settings
from podium.evaluation.results import Comparison, Evaluation, MeasureResult, PairedResult, plain_text, table_of
from podium.evaluation.roc import (
    RocCurve,
    RocSurface,
    integrated_auc,
    integrated_roc_curve,
    roc_curve,
    roc_curves,
    roc_surface,
)
from podium.evaluation.runs import evaluate_run, evaluate_runs
from podium.evaluation.weight_curves import WeightCurves, weight_curves

__all__ = [
    "AgainstOne",
    "Comparison",
    "Contest",
    "Evaluation",
    "FeatureDrop",
    "LambdaSymmetry",
    "Leaderboard",
    "LocalOptimality",
    "MeasureResult",
    "PairTest",
    "PairedResult",
    "PermutationImportance",
    "RocCurve",
    "RocSurface",
    "WeightCurves",
    "compare",
    "evaluate",
    "evaluate_run",
    "evaluate_runs",
    "integrated_auc",
    "integrated_roc_curve",
    "lambda_symmetry",
    "leaderboard",
    "local_optimality",
    "paired_result",
    "parse_measures",
    "permutation_importance",
    "plain_text",
    "resampling_settings",
    "roc_curve",
    "roc_curves",
    "roc_surface",
    "table_of",
    "weight_curves",
]
