"""Training from Parquet files larger than memory: the model that a fit in memory gives, bit for bit."""

from __future__ import annotations

from podium.out_of_core.parquet_fit import fit, predict

__all__ = ["fit", "predict"]
