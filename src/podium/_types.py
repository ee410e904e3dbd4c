"""The types of what users give and of what checked code computes on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

Array = np.ndarray[Any, np.dtype[Any]]
"""Any numpy array; which dtype and shape is said where it matters."""


class SparseLike(Protocol):
    """A scipy sparse matrix or array of any format."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""

    def tocsc(self) -> SparseMatrix:
        """Return the same matrix by columns."""


class SparseMatrix(SparseLike, Protocol):
    """A scipy sparse matrix by columns (CSC), as it is behind the gate."""

    data: Array
    indices: Array
    indptr: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""

    def toarray(self) -> Array:
        """Return a dense matrix, absent entries as 0."""

    def copy(self) -> Self:
        """Return a copy."""

    def __getitem__(self, key: Any) -> Any: ...

    def __setitem__(self, key: Any, values: Any) -> None: ...


class Frame(Protocol):
    """A table with named columns: a pandas or polars frame, a pyarrow table."""

    @property
    def columns(self) -> Iterable[Any]:
        """Names of the columns (the columns themselves, in pyarrow)."""

    def __len__(self) -> int: ...

    def __getitem__(self, name: Any) -> Any: ...


class Learner(Protocol):
    """An estimator as scikit-learn has them, of ours or of others."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return its parameters."""

    def fit(self, X: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        """Learn from rows."""

    def predict(self, X: Any) -> Any:
        """Return a prediction for each row."""


Json: TypeAlias = "str | float | Sequence[Json] | Mapping[str, Json] | None"
"""A value of JSON."""
MatrixLike: TypeAlias = ArrayLike | SparseLike | Frame
"""Features as users may give them."""
Features: TypeAlias = Array | SparseMatrix
"""Features behind the gate: a matrix of float32 or float64, dense or sparse by columns."""
PairColumns: TypeAlias = tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, ArrayLike | None]
"""Explicit pairs by columns: better rows, worse rows and, if given, weights."""
PairsLike: TypeAlias = PairColumns | list[tuple[Any, ...]] | Frame
"""Explicit pairs as users may give them: by columns, as a list with a tuple for each pair, or as a frame."""
QueryWeight: TypeAlias = ArrayLike | Mapping[Any, float]
"""Weights of queries: by id, or one per row or query."""
Int: TypeAlias = int | np.integer
"""An integer of Python, or of NumPy where a kernel names its width."""
Seed: TypeAlias = int | np.integer | np.random.RandomState | None
"""A `random_state` as scikit-learn has it."""
