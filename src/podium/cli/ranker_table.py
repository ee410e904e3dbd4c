"""The rankers that can be trained, written out for the help: to import them takes longer than all of `--help`."""

from __future__ import annotations

from difflib import get_close_matches
from typing import NamedTuple

from podium._errors import PodiumError


class Entry(NamedTuple):
    """What the table says of a ranker: what it optimises, and one line."""

    optimises: str
    line: str


TABLE = {
    "LambdaMART": Entry("NDCG, AP, RR, ERR, AUC or a localized loss", "boosted trees that follow a measure"),
    "MART": Entry("squared, logistic or cross-entropy loss", "boosted trees on labels, row by row or query by query"),
    "RankBoost": Entry("exponential loss of pairs", "boosted stumps with a bound on the training loss"),
    "RankBoostPlus": Entry("exponential loss of pairs, ties as half errors", "boosted stumps that overfit less"),
    "RankNet": Entry("logistic loss of pairs", "a net, or a linear score, learned from pairs (needs torch)"),
    "LambdaRank": Entry("NDCG, AP, RR or ERR", "a net, or a linear score, that follows a measure (needs torch)"),
    "PNormPush": Entry("p-norm of what each row stands above", "boosted stumps for a clean top of the list"),
    "InfinitePush": Entry("the worst row of each query", "few weights, for the very top of the list"),
    "PairBoost": Entry("a surrogate of the pair loss", "boosted lines, stumps or trees for continuous labels"),
    "L2Boost": Entry("squared error", "boosted lines, stumps or trees: a yardstick"),
    "L1Boost": Entry("absolute error", "boosted lines, stumps or trees: a yardstick"),
    "GradientFreeBoost": Entry("any measure, also one without a gradient", "boosted lines, feature by feature"),
    "LinearPlackettLuce": Entry("likelihood of Plackett and Luce", "linear; rows are chosen one after the other"),
    "RankSVM": Entry("squared hinge loss of pairs", "linear or kernels, with margins between rows"),
    "RSRank": Entry("Huber loss of pairs, weighed by gains", "linear with few weights, by truncated gradient steps"),
    "RankRLS": Entry("squared error of differences of labels", "linear or kernels, in closed form"),
    "PlugInRanker": Entry("likelihood of grades", "logistic regression as a ranker"),
    "TreeRank": Entry("area under the ROC curve", "one tree whose cells are ranked"),
    "TreeRankForest": Entry("area under the ROC curve", "many ranking trees and their consensus"),
    "TreeRankTournament": Entry("area under the ROC curve, grade by grade", "duels of two grades and their consensus"),
    "RankOver": Entry("area under the ROC curve", "classifiers laid one over the other"),
    "CRank": Entry("concordance with continuous labels", "one ranking tree, cut at medians"),
    "PreferenceRegression": Entry("squared error", "least squares on ratings of others"),
    "NearestNeighbor": Entry("pair loss of single features", "the best feature, or the mean of the best"),
    "VectorSimilarity": Entry("nothing: weights are similarities", "ratings of others by how alike they are"),
    "AdaBoostOR": Entry("cost of grades", "predicts grades: a weighted vote of ordinal rankers"),
    "BaggingOR": Entry("cost of grades", "predicts grades: a vote on drawn rows"),
    "ORBoost": Entry("exponential loss of margins between grades", "predicts grades: a sum of stumps, cut"),
    "ORStump": Entry("cost of grades", "predicts grades: one feature, cut"),
    "PRank": Entry("cost of grades", "predicts grades: the ranking perceptron"),
    "SVOR": Entry("hinge loss of grades", "predicts grades: support vectors, cut"),
    "OrdinalThresholds": Entry("cost of grades", "predicts grades: any ranker's scores, cut"),
}
"""Every ranker that `podium train` can train, with what it optimises and one line."""
DEFAULT_RANKER = "RankBoost"
"""What `podium train` trains where neither --ranker nor --config names a ranker."""
SEARCHED_RANKER = "LambdaMART"
"""What `podium cv` and `podium tune` fit then."""


def ranker_name(text: str, known: tuple[str, ...] = tuple(TABLE)) -> str:
    """Return the name of a ranker that was written in any case, with or without hyphens; refuse others."""
    names = {_plain(name): name for name in known}
    if _plain(text) in names:
        return names[_plain(text)]
    near = [names[one] for one in get_close_matches(_plain(text), names, n=3)]
    advice = f" (did you mean {' or '.join(near)}?)" if near else ""
    raise PodiumError(f"There is no ranker {text!r}{advice}; `podium rankers` lists all.")


def matching_rankers(start: str) -> list[str]:
    """Return the names that begin so, for the completion of shells."""
    return [name for name in TABLE if name.lower().startswith(start.lower())]


def _plain(text: str) -> str:
    """Return a name in lower case, with nothing but letters and digits; + is plus."""
    return "".join(letter for letter in text.lower().replace("+", "plus") if letter.isalnum())
