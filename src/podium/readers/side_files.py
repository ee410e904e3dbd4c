"""Side files of other tools: pairs as CatBoost has them, query sizes and weights as LightGBM has them."""

from __future__ import annotations

import numpy as np

from podium._pair_gate import PairArrays
from podium._validation import FormatError, exact_sum
from podium.readers.line_blocks import PathLike
from podium.readers.spans import LineColumns, read_columns


def read_pairs(path: PathLike, *, progress: bool | None = None) -> PairArrays:
    """Read pairs as CatBoost has them: lines of ``winner loser`` or ``winner loser weight``; packed files too.

    Parameters
    ----------
    path : str or path-like
        The file: row numbers from 0, separated by tabs or other blanks.
    progress : bool, optional
        Show a bar on stderr. None shows one for files above 50 MB when stderr is a terminal.

    Returns
    -------
    PairArrays
        Rows `better` and `worse`, and `weight`, which is 1 where the file has none: ready for
        ``fit(X, pairs=...)``.

    Raises
    ------
    FormatError
        If a row number is not an integer from 0, a pair names one row twice, a weight is not positive and
        finite, or only some lines have a weight.
    """
    better, worse, weight = [], [], []
    weighted: bool | None = None
    for columns in read_columns(path, 2, 3, "winner loser [weight]", progress):
        better.append(columns.integers(0, "winner", 0))
        worse.append(columns.integers(1, "loser", 0))
        _refuse(columns, better[-1] == worse[-1], "a row cannot stand above itself")
        weighted = _has_weights(columns, weighted)
        weight.append(_weights(columns, 2) if weighted else np.ones(len(better[-1])))
    return PairArrays(np.concatenate(better), np.concatenate(worse), np.concatenate(weight))


def _has_weights(columns: LineColumns, before: bool | None) -> bool:
    """Whether the lines have a third column, as those before must have or lack it too."""
    has = columns.n_entries == 3
    first = bool(has[0]) if before is None else before
    other = "has no weight but the lines before it have one" if first else "has a weight but no line before it has"
    _refuse(columns, has != first, f"the line {other}; give every line one, or no line")
    return first


def _weights(columns: LineColumns, column: int) -> np.ndarray:
    """One column as weights above 0."""
    weight = columns.decimals(column, "weight")
    _refuse(columns, ~((weight > 0) & np.isfinite(weight)), "the weight must be positive and finite")
    return weight


def _refuse(columns: LineColumns, bad: np.ndarray, problem: str) -> None:
    """Raise for the first line where `bad`."""
    if bad.any():
        raise columns.error(int(np.argmax(bad)), problem)


def read_query_sizes(path: PathLike) -> np.ndarray:
    """Read a LightGBM ``.query`` file: the number of rows of each query, one a line; packed files too.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    ndarray of shape (n_queries,), int64
        Sizes, in the order of the rows: give them as ``group=``, or make queries of them with
        ``np.repeat(np.arange(len(sizes)), sizes)``.

    Raises
    ------
    FormatError
        If a line is not one integer from 1, or the sizes sum to 2⁶³ or more.
    """
    blocks = read_columns(path, 1, 1, "rows of a query")
    sizes = np.concatenate([columns.integers(0, "query size", 1) for columns in blocks])
    if exact_sum(sizes) > np.iinfo(sizes.dtype).max:
        raise FormatError(path, f"query sizes must sum to a number of rows; got {exact_sum(sizes)}")
    return sizes


def read_weights(path: PathLike) -> np.ndarray:
    """Read a LightGBM ``.weight`` file: the weight of each row, one a line; packed files too.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    ndarray of shape (n_rows,), float64
        Weights, at least 0.

    Raises
    ------
    FormatError
        If a line is not one finite number from 0.
    """
    parts = []
    for columns in read_columns(path, 1, 1, "weight of a row"):
        parts.append(columns.decimals(0, "weight"))
        bad = ~((parts[-1] >= 0) & np.isfinite(parts[-1]))
        _refuse(columns, bad, "the weight must be finite and at least 0")
    return np.concatenate(parts)
