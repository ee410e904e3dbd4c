"""Training and test data of whole queries."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

from podium._frames import to_array
from podium._types import Seed
from podium._validation import PodiumError, check_queries, check_seed


def train_test_split(
    *arrays: Any, qid: ArrayLike, test_size: float | int = 0.25, random_state: Seed = None
) -> list[Any]:
    """Split arrays into training and test parts of whole queries, drawn at random.

    Parameters
    ----------
    *arrays : arrays, frames, tables or sparse matrices
        Of as many rows as `qid`, such as X and y.
    qid : array-like
        Query of each row.
    test_size : float or int
        Share of the queries to test on, or their number.
    random_state : int, RandomState or None
        Seed; the draw depends on the ids of the queries, not on the order of rows.

    Returns
    -------
    list
        The training and the test part of each array, and of `qid` last, rows in their order.

    Examples
    --------
    >>> X, y, qid = np.arange(10).reshape(5, 2), np.arange(5), ["a", "b", "a", "c", "b"]
    >>> parts = train_test_split(X, y, qid=qid, test_size=1, random_state=0)
    >>> [len(part) for part in parts]
    [4, 1, 4, 1, 4, 1]
    """
    given = to_array(qid, "qid")
    codes, ids = check_queries(qid, None, len(given))
    drawn = np.random.default_rng(check_seed(random_state)).permutation(len(ids))
    in_test = np.isin(codes, drawn[: _n_test(test_size, len(ids))])
    parts = []
    for number, array in enumerate([*arrays, given]):
        n_rows = array.shape[0] if hasattr(array, "shape") else len(array)
        if n_rows != len(given):
            raise PodiumError(f"Array {number} must have as many rows as qid: {len(given)} expected, {n_rows} given.")
        parts += [_safe_indexing(array, np.flatnonzero(~in_test)), _safe_indexing(array, np.flatnonzero(in_test))]
    return parts


def _n_test(test_size: object, n_queries: int) -> int:
    """Return the number of queries to test on, at least one and not all."""
    if isinstance(test_size, bool) or not isinstance(test_size, Real):
        raise PodiumError(f"test_size must be a share of the queries or their number; got {test_size!r}.")
    exact = float(test_size)
    number = round(exact * n_queries) if exact < 1 else int(exact)
    if not 1 <= number < n_queries or (exact >= 1 and exact != number):
        raise PodiumError(
            f"test_size must leave at least one of the {n_queries} queries to learn from and one to test on; got "
            f"{test_size!r}."
        )
    return number
