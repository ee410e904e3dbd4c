"""Sparse matrices behind the gate: whole, by columns, sorted."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from podium._errors import PodiumError
from podium._memory import enough_memory
from podium._types import Array, Features, SparseMatrix

if TYPE_CHECKING:
    from typing_extensions import TypeIs

PARTS = dict.fromkeys(("csr", "csc", "bsr"), ("data", "indices", "indptr")) | {"dia": ("data", "offsets")}
"""What a matrix of each format is made of, as its class takes it."""
DENSE_ADVICE = "take fewer features, or a ranker that needs none, such as RankBoost or RankSVM with kernel='linear'"
COLUMN_BYTES = 64
"""Least memory of a column, however empty, in a fit: its place, its hash and its bins."""


def is_sparse(X: object) -> TypeIs[SparseMatrix]:
    """Say whether X is a sparse matrix of scipy, so that type checkers know it too."""
    return bool(sp.issparse(X))


def take_rows(features: Features, rows: Array) -> Features:
    """Return some rows of a dense matrix, or of a sparse one by columns."""
    if is_sparse(features):
        taken: SparseMatrix = sp.csc_array(sp.csr_array(features)[rows])
        return taken
    return np.ascontiguousarray(features[rows])


def stacked(pieces: Sequence[Features]) -> Features:
    """Put rows of dense matrices together, or of sparse ones by columns."""
    if is_sparse(pieces[0]):
        whole: SparseMatrix = sp.csc_array(sp.vstack(pieces))
        return whole
    return np.concatenate([np.asarray(piece) for piece in pieces])


def dense_rows(features: Features) -> Array:
    """Return a matrix as a dense one in C order, entries that a sparse one does not hold as NaN."""
    if not is_sparse(features):
        return np.ascontiguousarray(features)
    stored = sp.coo_array(features)
    n_rows, n_columns = stored.shape
    what = f"A dense copy of a sparse X of {n_rows:,} rows and {n_columns:,} features"
    with enough_memory(n_rows * n_columns * stored.dtype.itemsize, what, DENSE_ADVICE):
        dense = np.full(stored.shape, np.nan, stored.dtype)
    dense[stored.coords] = stored.data
    return dense


def stored_columns(X: SparseMatrix) -> tuple[SparseMatrix, Array]:
    """Return the columns of a sparse matrix that have entries, and their numbers; one without, and none, if none has.

    It takes time and memory by the entries alone, where a column takes some of both however empty it is.
    """
    entries = sp.coo_array(_whole(X))
    columns, place = np.unique(entries.col, return_inverse=True)
    width = max(len(columns), min(X.shape[1], 1))
    return sp.csc_array((entries.data, (entries.row, place)), shape=(X.shape[0], width)), columns


def by_columns(X: sp.sparray) -> sp.csc_array:
    """Return a sparse matrix by columns, sorted, with repeats summed, in float32 or float64.

    scipy's own conversions run off their arrays where an index or a pointer is wrong, so the parts are checked
    first. What the matrix says of itself (that it is sorted, that it has no repeats) is not believed.
    """
    floats = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    what = f"A sparse X of {X.shape[1]} columns"
    with enough_memory(COLUMN_BYTES * X.shape[1], what, "number the features without gaps"):
        columns = sp.csc_array(_whole(X), dtype=floats, copy=False)
        if not columns.has_canonical_format:
            columns = columns.copy()
            columns.sum_duplicates()
    return columns


def _whole(X: sp.sparray) -> sp.sparray:
    """Return the same matrix, made anew of its parts; refuse parts that do not fit together."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # scipy warns of indices that are no integers
            return _made_anew(X)
    except (IndexError, TypeError, ValueError, OverflowError, UserWarning) as error:
        problem = str(error).strip().rstrip(".")
        raise PodiumError(f"X is not a whole sparse matrix ({problem}); build it anew.") from None


def _made_anew(X: sp.sparray) -> sp.sparray:
    """Return ``type(X)(parts, shape)``, checked."""
    if X.format == "lil":
        return _from_lists(X)
    if X.format == "coo":
        return sp.coo_array((X.data, (X.row, X.col)), shape=X.shape)
    if X.format not in PARTS:
        return sp.coo_array(X.tocoo())
    kind = {"csr": sp.csr_array, "csc": sp.csc_array, "bsr": sp.bsr_array, "dia": sp.dia_array}[X.format]
    parts = tuple(getattr(X, name) for name in PARTS[X.format])
    if any(part.dtype.kind not in "iu" for part in parts[1:]):
        raise TypeError("its indices must be integers")
    matrix = kind(parts, shape=X.shape)
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
    return matrix


def _from_lists(X: sp.sparray) -> sp.coo_array:
    """Return a matrix of lists as one of coordinates."""
    lengths = [len(columns) for columns in X.rows]
    if lengths != [len(values) for values in X.data] or len(lengths) != X.shape[0]:
        raise ValueError("rows and data differ in length")
    column = np.array([j for columns in X.rows for j in columns], np.int64)
    values = np.array([value for row in X.data for value in row], X.dtype)
    return sp.coo_array((values, (np.repeat(np.arange(len(lengths)), lengths), column)), shape=X.shape)
