"""Fusion of TREC runs: formulas, and RankBoost that learns from judgements how far to trust each run."""

from podium.fusion.fused_run import Fusion, fuse
from podium.fusion.learned import LearnedFusion

__all__ = ["Fusion", "LearnedFusion", "fuse"]
