"""Rankers behind one scikit-learn style interface, one file per paper family."""

from __future__ import annotations

from os import PathLike

from podium.model_file import read_model, saved_rankers
from podium.rankers.baselines import NearestNeighbor, PreferenceRegression, VectorSimilarity
from podium.rankers.classic_rankers import (
    ITEM_MODELS,
    CRank,
    GradientFreeBoost,
    InfinitePush,
    L1Boost,
    L2Boost,
    LinearPlackettLuce,
    Mallows,
    PairBoost,
    PermutationModel,
    PlackettLuce,
    PlugInRanker,
    PNormPush,
    RankOver,
    RankRLS,
    RankSVM,
    RSRank,
    TreeRank,
    TreeRankForest,
    TreeRankTournament,
)
from podium.rankers.estimator import Estimator
from podium.rankers.imported import ImportedLinear, ImportedTrees, import_model
from podium.rankers.lambdamart import MART, LambdaMART
from podium.rankers.lambdarank import LambdaRank, RankNet
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
from podium.rankers.rankboost import RankBoost, generalization_bound
from podium.rankers.rankboost_plus import RankBoostPlus, exponential_losses
from podium.rankers.ranker import Ranker

__all__ = [
    "ITEM_MODELS",
    "MART",
    "RANKERS",
    "SVOR",
    "AdaBoostOR",
    "BaggingOR",
    "CRank",
    "Estimator",
    "ExtendedBinary",
    "GradientFreeBoost",
    "ImportedLinear",
    "ImportedTrees",
    "InfinitePush",
    "L1Boost",
    "L2Boost",
    "LambdaMART",
    "LambdaRank",
    "LinearPlackettLuce",
    "Mallows",
    "NearestNeighbor",
    "ORBoost",
    "ORStump",
    "OrdinalRanker",
    "OrdinalThresholds",
    "PNormPush",
    "PRank",
    "PairBoost",
    "PermutationModel",
    "PlackettLuce",
    "PlugInRanker",
    "PreferenceRegression",
    "RSRank",
    "RankBoost",
    "RankBoostPlus",
    "RankNet",
    "RankOver",
    "RankRLS",
    "RankSVM",
    "Ranker",
    "TreeRank",
    "TreeRankForest",
    "TreeRankTournament",
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
        RankNet,
        LambdaRank,
        PNormPush,
        InfinitePush,
        PairBoost,
        L2Boost,
        L1Boost,
        PreferenceRegression,
        NearestNeighbor,
        VectorSimilarity,
        LinearPlackettLuce,
        RankSVM,
        RSRank,
        RankRLS,
        PlugInRanker,
        GradientFreeBoost,
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
        TreeRank,
        TreeRankForest,
        TreeRankTournament,
        RankOver,
        CRank,
    )
)


def load(path: str | PathLike[str]) -> Estimator | PermutationModel:
    """Return the fitted ranker, or model of items, that ``save`` wrote to a file.

    Nothing in the file is executed. A file that is damaged, or was made to do harm, is a `FormatError`.
    """
    content = read_model(path)
    name = content.get("ranker")
    if isinstance(name, str) and name in ITEM_MODELS:
        return ITEM_MODELS[name].from_content(content, path)
    ranker: Estimator = saved_rankers.fitted_ranker(content, path)
    return ranker
