"""Rankers behind one scikit-learn style interface, one file per paper family."""

from __future__ import annotations

from os import PathLike

from podium.model_file import read_model, saved_rankers
from podium.rankers.baselines import NearestNeighbor, PreferenceRegression, VectorSimilarity
from podium.rankers.estimator import Estimator
from podium.rankers.imported import ImportedLinear, ImportedTrees, import_model
from podium.rankers.lambdamart import MART, LambdaMART
from podium.rankers.ordinal_rankers import (
    SVOR,
    AdaBoostOR,
    BaggingOR,
    ExtendedBinary,
    ORBoost,
    OrdinalRanker,
    OrdinalThresholds,
    ORStump,
    PRank,
)
from podium.rankers.pairboost import L1Boost, L2Boost, PairBoost
from podium.rankers.rankboost import RankBoost, generalization_bound
from podium.rankers.rankboost_plus import RankBoostPlus, exponential_losses
from podium.rankers.ranker import Ranker

__all__ = [
    "MART",
    "RANKERS",
    "SVOR",
    "AdaBoostOR",
    "BaggingOR",
    "Estimator",
    "ExtendedBinary",
    "ImportedLinear",
    "ImportedTrees",
    "L1Boost",
    "L2Boost",
    "LambdaMART",
    "NearestNeighbor",
    "ORBoost",
    "ORStump",
    "OrdinalRanker",
    "OrdinalThresholds",
    "PRank",
    "PairBoost",
    "PreferenceRegression",
    "RankBoost",
    "RankBoostPlus",
    "Ranker",
    "VectorSimilarity",
    "exponential_losses",
    "generalization_bound",
    "import_model",
    "load",
]

RANKERS: dict[str, type[Estimator]] = saved_rankers.RANKERS
"""Every ranker by its name."""
RANKERS.update(
    (ranker.__name__, ranker)
    for ranker in (
        RankBoost,
        RankBoostPlus,
        LambdaMART,
        MART,
        PairBoost,
        L2Boost,
        L1Boost,
        PreferenceRegression,
        NearestNeighbor,
        VectorSimilarity,
        AdaBoostOR,
        BaggingOR,
        ORStump,
        ORBoost,
        PRank,
        SVOR,
        ExtendedBinary,
        OrdinalThresholds,
        ImportedTrees,
        ImportedLinear,
    )
)


def load(path: str | PathLike[str]) -> Estimator:
    """Return the fitted ranker that ``save`` wrote to a file.

    Nothing in the file is executed. A file that is damaged, or was made to do harm, is a `FormatError`.
    """
    ranker: Estimator = saved_rankers.fitted_ranker(read_model(path), path)
    return ranker
