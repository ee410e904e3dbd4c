"""What every reader of features returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from podium._validation import PodiumError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class RankingTable(NamedTuple):
    """Rows to rank, as they stand in a file or as they were made.

    Parameters
    ----------
    X : ndarray or scipy.sparse.csr_array of shape (n_rows, n_features)
        Features. In a dense array NaN is missing; in a sparse one an absent entry is.
    y : ndarray of shape (n_rows,), float64, or None
        Labels: the higher, the higher a row should stand within its query; None when the source has none.
    qid : ndarray of shape (n_rows,) or None
        Query of each row, int64 or str; None when the source names no queries.
    docid : ndarray of shape (n_rows,) or None
        Name of each row's document, str (an object array with None for rows without a name, if there are
        some); None when the source names no documents.
    feature_names : list of str or None
        Names of the columns of `X`; None when they are only numbered.

    Examples
    --------
    >>> from podium.data.generators import make_search
    >>> table = make_search(n_queries=3, docs_per_query=10, n_features=5)
    >>> table.X.shape[1], len(table.y) == len(table.qid)
    (5, True)
    """

    X: np.ndarray | csr_array
    y: np.ndarray | None
    qid: np.ndarray | None
    docid: np.ndarray | None
    feature_names: list[str] | None


def check_dtype(dtype: DTypeLike) -> np.dtype[np.floating]:
    """Return the type of `X`, float64 or float32."""
    try:
        floats: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        floats = np.dtype(object)
    if floats not in (np.float64, np.float32):
        raise PodiumError(f"dtype must be float64 or float32; got {dtype!r}.")
    return floats
