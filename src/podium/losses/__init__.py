"""Losses of a vector of scores: their gradients and curvatures, one of each a row.

LM is Burges 2010, "From RankNet to LambdaRank to LambdaMART: An Overview". A loss is an object with

    start() -> float                                        the score that all rows begin with
    derivatives(scores, number) -> (gradient, curvature)    at the scores before round `number`
    flat_reason() -> str or None                            why no scores could ever have a gradient

on rows grouped by query. `lambdas` holds the pairwise logistic loss weighted by what a swap changes; `pointwise`
what looks at one row at a time, or at a query as a distribution.
"""

from __future__ import annotations

from podium.losses.deltas import DELTAS
from podium.losses.lambdas import NORMALIZATIONS, LambdaLoss, PairLoss, SumOfLosses
from podium.losses.loss import Loss
from podium.losses.pointwise import POINTWISE, CrossEntropy, UserLoss, pointwise_loss

__all__ = [
    "DELTAS",
    "NORMALIZATIONS",
    "POINTWISE",
    "CrossEntropy",
    "LambdaLoss",
    "Loss",
    "PairLoss",
    "SumOfLosses",
    "UserLoss",
    "pointwise_loss",
]
