"""Rankers behind one scikit-learn style interface, one file per paper family."""

from __future__ import annotations

from os import PathLike

from podium._validation import FormatError
from podium.model_file import read_model
from podium.rankers.base import Ranker
from podium.rankers.baselines import NearestNeighbor, PreferenceRegression, VectorSimilarity
from podium.rankers.imported import ImportedLinear, ImportedTrees, import_model
from podium.rankers.lambdamart import MART, LambdaMART
from podium.rankers.rankboost import RankBoost, generalization_bound
from podium.rankers.rankboost_plus import RankBoostPlus, exponential_losses

__all__ = [
    "MART",
    "RANKERS",
    "ImportedLinear",
    "ImportedTrees",
    "LambdaMART",
    "NearestNeighbor",
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

RANKERS: dict[str, type[Ranker]] = {
    ranker.__name__: ranker
    for ranker in (
        RankBoost,
        RankBoostPlus,
        LambdaMART,
        MART,
        PreferenceRegression,
        NearestNeighbor,
        VectorSimilarity,
        ImportedTrees,
        ImportedLinear,
    )
}
"""Every ranker by its name."""


def load(path: str | PathLike[str]) -> Ranker:
    """Return the fitted ranker that ``save`` wrote to a file."""
    content = read_model(path)
    ranker = RANKERS.get(str(content.get("ranker")))
    if ranker is None:
        raise FormatError(path, f"the ranker {content.get('ranker')!r} is not known")
    return ranker.from_content(content, path)
