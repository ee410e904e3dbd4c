"""Models as files of other programs, and what would change there."""

from __future__ import annotations

from podium.export.ensemble import Exported, Linear, TreeSum

__all__ = ["Exported", "Linear", "TreeSum"]
