"""What rankers with linear scores or kernels share: scores, files, exports."""

from __future__ import annotations

from os import PathLike
from typing import ClassVar

import numpy as np

from podium._types import Features
from podium._validation import Array, PodiumError
from podium.export import Linear
from podium.linear import KernelFeatures, kernel_values
from podium.model_file import POSITIVE, Column, Content, Scalar, Schema
from podium.ordinal.scaling import Scaling, centered_scores
from podium.rankers.scaled_ranker import ScaledRanker

LINEAR = Schema(Column("coef_", size="n_features"))
"""What a file keeps of a linear score."""
KERNEL = Schema(
    Scalar("gamma_", float, POSITIVE),
    Column("deviations_", bounds=POSITIVE, size="n_features"),
    Column("dual_coef_", size="n_support"),
    Column("support_vectors", size="n_support", width="n_features", attribute="support_vectors_"),
)
"""What a file keeps of a score by a kernel."""
ROWS_AT_ONCE = 512
"""Rows scored at a time: their kernel values with some thousand support vectors stay in the second-level cache."""


class KernelRanker(ScaledRanker):
    """Base of rankers that learn weights of scaled features, or of kernels of scaled rows."""

    _fixed_by_fit: ClassVar[tuple[str, ...]] = ("kernel",)
    kernel: str
    gamma: float | None
    coef_: Array

    def _gamma(self, n_features: int) -> float:
        """Return γ of the kernels."""
        return 1.0 / n_features if self.gamma is None else float(self.gamma)

    def _kernel_features(self, rows: Array) -> KernelFeatures:
        """Return the features that the kernel stands for."""
        return KernelFeatures.of(rows, self.kernel, self._gamma(rows.shape[1]), type(self).__name__)

    def _keep_linear(self, coef: Array, scaling: Scaling) -> None:
        """Set a linear score, in the given scale of the features."""
        self._forget()
        self.coef_, self.means_ = coef / scaling.deviations, scaling.means

    def _keep_kernel(self, weights: Array, rows: Array, scaling: Scaling) -> None:
        """Set a score by the kernel of scaled rows with a weight."""
        self._forget()
        support = weights != 0
        self.dual_coef_, self.support_vectors_ = weights[support], rows[support]
        self.means_, self.deviations_ = scaling.means, scaling.deviations
        self.gamma_ = self._gamma(rows.shape[1])

    def _forget(self) -> None:
        """Drop what an earlier fit with another kernel left."""
        for name in ("coef_", "dual_coef_", "support_vectors_", "deviations_", "gamma_"):
            if hasattr(self, name):
                delattr(self, name)

    def _score(self, features: Features) -> Array:
        """Return the linear score, or the weighted sum of kernels with the support vectors."""
        if hasattr(self, "coef_"):
            return centered_scores(features, self.coef_, self.means_)
        rows = Scaling(self.means_, self.deviations_).apply(features)
        parts = [rows[start : start + ROWS_AT_ONCE] for start in range(0, len(rows), ROWS_AT_ONCE)]
        kernels = (kernel_values(part, self.support_vectors_, self.kernel, self.gamma_) for part in parts)
        return np.concatenate([np.sum(kernel * self.dual_coef_, axis=1) for kernel in kernels])

    def _model_schema(self) -> Schema:
        """Return what a file keeps of the score, by the kernel that its parameters name."""
        return LINEAR if self.kernel == "linear" else KERNEL

    def _learned(self) -> Content:
        return {**super()._learned(), **self._model_schema().write(self)}

    def _restore(self, content: Content, path: str | PathLike[str]) -> None:
        super()._restore(content, path)
        self._model_schema().restore(self, content, path, self._sizes())

    def _exported(self) -> Linear:
        if not hasattr(self, "coef_"):
            raise PodiumError(
                f"{type(self).__name__} with kernel={self.kernel!r} is no sum of features, so no format can "
                'hold it; kernel="linear" is one.'
            )
        return Linear(self.coef_, self.means_, -float(self.coef_ @ self.means_), self._names(), type(self).__name__)
