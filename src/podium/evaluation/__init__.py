"""Evaluation of rankings: tables with intervals, per-query values, paired tests, TREC runs, local optimality."""

from podium.evaluation.optimality import LocalOptimality, local_optimality
from podium.evaluation.queries import compare, evaluate
from podium.evaluation.results import Comparison, Evaluation, MeasureResult, PairedResult
from podium.evaluation.runs import evaluate_run

__all__ = [
    "Comparison",
    "Evaluation",
    "LocalOptimality",
    "MeasureResult",
    "PairedResult",
    "compare",
    "evaluate",
    "evaluate_run",
    "local_optimality",
]
