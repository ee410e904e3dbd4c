"""Training on Dask: boosted trees on data beyond one machine, bit for bit the model that one machine would give."""

from __future__ import annotations

from podium.distributed.dask_fit import fit, predict

__all__ = ["fit", "predict"]
