"""The rankers that reviews of the field compare with, together: margins, pushes, ranking trees, permutations, sums."""

from __future__ import annotations

from podium.rankers.gradient_free import GradientFreeBoost
from podium.rankers.infinite_push import InfinitePush
from podium.rankers.pairboost import L1Boost, L2Boost, PairBoost
from podium.rankers.permutation_models import ITEM_MODELS, LinearPlackettLuce, Mallows, PermutationModel, PlackettLuce
from podium.rankers.plug_in import PlugInRanker
from podium.rankers.pnorm_push import PNormPush
from podium.rankers.rank_rls import RankRLS
from podium.rankers.rank_svm import RankSVM
from podium.rankers.rs_rank import RSRank
from podium.rankers.treerank import CRank, RankOver, TreeRank
from podium.rankers.treerank_forest import TreeRankForest, TreeRankTournament

__all__ = [
    "ITEM_MODELS",
    "CRank",
    "GradientFreeBoost",
    "InfinitePush",
    "L1Boost",
    "L2Boost",
    "LinearPlackettLuce",
    "Mallows",
    "PNormPush",
    "PairBoost",
    "PermutationModel",
    "PlackettLuce",
    "PlugInRanker",
    "RSRank",
    "RankOver",
    "RankRLS",
    "RankSVM",
    "TreeRank",
    "TreeRankForest",
    "TreeRankTournament",
]
