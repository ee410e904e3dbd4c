"""Several rankers as one: their best linear combination, a measure along the line between two, and their mean rank."""

from podium.blending.combination import Blend, blend, blend_curve
from podium.blending.line import Curve
from podium.blending.ranks import blend_ranks

__all__ = ["Blend", "Curve", "blend", "blend_curve", "blend_ranks"]
