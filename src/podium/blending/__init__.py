"""The best linear combination of rankers, and a measure along the line between two of them."""

from podium.blending.combination import Blend, blend, blend_curve
from podium.blending.line import Curve

__all__ = ["Blend", "Curve", "blend", "blend_curve"]
