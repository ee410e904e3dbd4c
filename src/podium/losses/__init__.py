"""Losses of a vector of scores: their gradients and curvatures, one of each a row.

LM is Burges 2010, "From RankNet to LambdaRank to LambdaMART: An Overview". A loss is an object with

    start() -> float                                        the score that all rows begin with
    derivatives(scores, number) -> (gradient, curvature)    at the scores before round `number`
    flat_reason() -> str or None                            why no scores could ever have a gradient

    diverged(scores), still_reason()                        what went wrong, for rankers that ask

on rows grouped by query. `lambdas` holds the pairwise logistic loss weighted by what a swap changes; `pointwise`
what looks at one row at a time, or at a query as a distribution; `pair_surrogates` the exponential, hinge and ramp of
pairs of continuous labels, by signs (`sign_pairs`) or by products (`product_pairs`).
"""

from __future__ import annotations

from podium.losses.deltas import DELTAS
from podium.losses.lambdas import NORMALIZATIONS, LambdaLoss, PairLoss, SumOfLosses
from podium.losses.loss import Loss
from podium.losses.pair_surrogates import PAIRS, RESPONSES, SURROGATES, Absolute, PairSurrogate
from podium.losses.pointwise import POINTWISE, CrossEntropy, Squared, UserLoss, pointwise_loss

__all__ = [
    "DELTAS",
    "NORMALIZATIONS",
    "PAIRS",
    "POINTWISE",
    "RESPONSES",
    "SURROGATES",
    "Absolute",
    "CrossEntropy",
    "LambdaLoss",
    "Loss",
    "PairLoss",
    "PairSurrogate",
    "Squared",
    "SumOfLosses",
    "UserLoss",
    "pointwise_loss",
]
