"""The one gate for user input: checks that turn what users give into our arrays, or say what is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from podium._errors import FormatError as FormatError
from podium._errors import KindError as KindError
from podium._errors import NoPairsError as NoPairsError
from podium._errors import PodiumError as PodiumError
from podium._errors import SizeError as SizeError
from podium._frames import category_kind, column_values, frame_names, is_frame, masked_entries, plain_array, to_array
from podium._sparse import by_columns, is_sparse
from podium._types import Array as Array
from podium._types import Features as Features
from podium._types import Frame
from podium._types import Learner as Learner
from podium._types import MatrixLike as MatrixLike
from podium._types import QueryWeight as QueryWeight
from podium._types import Seed as Seed


def check_features(X: MatrixLike) -> tuple[Features, tuple[str, ...] | None]:
    """Return X as a float32 or float64 matrix (dense, or sparse by columns) and its column names, if any.

    Takes numpy arrays, pandas and polars frames, pyarrow tables and scipy sparse matrices. Nulls become NaN.
    """
    if is_sparse(X):
        return check_sparse(X), None
    matrix = _frame_to_matrix(X) if is_frame(X) else X
    dense = to_floats(matrix, "X")
    check_dimensions(dense.ndim)
    _check_shape(dense.shape)
    return dense, _column_names(X)


def check_dimensions(number: int, name: str = "X") -> None:
    """Refuse features that are no matrix."""
    if number != 2:
        raise PodiumError(
            f"{name} must be a matrix of rows and features; got an array of {number} dimension(s). "
            "Reshape your data: X.reshape(-1, 1) for a single feature, X.reshape(1, -1) for a single row."
        )


def check_labels(y: ArrayLike, n_rows: int, name: str = "y") -> Array:
    """Return labels as float64: one finite real number per row."""
    labels = _check_column(y, n_rows, name)
    bad = np.flatnonzero(~np.isfinite(labels))
    if len(bad):
        raise PodiumError(
            f"{name} must be finite; got {labels[bad[0]]} in row {bad[0]} ({len(bad)} such value(s)): "
            "leave rows without a label out."
        )
    return labels


def check_scores(scores: ArrayLike, n_rows: int, name: str = "scores") -> Array:
    """Return scores as float64: one number per row, infinite ones allowed, NaN not."""
    values = _check_column(scores, n_rows, name)
    bad = np.flatnonzero(np.isnan(values))
    if len(bad):
        raise PodiumError(f"{name} must not be NaN; row {bad[0]} is ({len(bad)} such row(s)).")
    return values


def check_weight(weight: ArrayLike | None, n_rows: int, name: str) -> Array:
    """Return weights as float64: finite, not negative, not all zero; ones where none were given."""
    if weight is None:
        return np.ones(n_rows)
    values = _check_column(weight, n_rows, name)
    bad = np.flatnonzero(~np.isfinite(values) | (values < 0))
    if len(bad):
        raise PodiumError(f"{name} must be finite and not negative; got {values[bad[0]]} in row {bad[0]}.")
    if not values.any():
        raise PodiumError(f"{name} must have a positive value; all {n_rows} are zero.")
    return values


def check_name_count(names: Sequence[str], n_features: int) -> None:
    """Refuse names of features that are more or fewer than the features."""
    if len(names) != n_features:
        raise PodiumError(f"feature_names must name each of the {n_features} features; got {len(names)} names.")


def check_seed(random_state: Seed) -> int:
    """Return an integer for a random state: itself, or one drawn from a generator of numpy."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))


def check_queries(qid: ArrayLike | None, group: ArrayLike | None, n_rows: int) -> tuple[Array, Array]:
    """Return the query number of each row and the id of each query.

    Parameters
    ----------
    qid : array-like of any dtype, optional
        Query id of each row, in any order.
    group : array-like of int, optional
        Sizes of the queries instead, whose rows then stand together.
    n_rows : int
    """
    if qid is not None and group is not None:
        raise PodiumError("Give qid (an id per row) or group (a size per query), not both.")
    if group is not None:
        sizes = _check_group(group, n_rows)
        return np.repeat(np.arange(len(sizes)), sizes), np.arange(len(sizes))
    if qid is None:
        return np.zeros(n_rows, np.int64), np.zeros(1, np.int64)
    ids = _ids_as_given(qid)
    if ids.ndim != 1 or len(ids) != n_rows:
        raise PodiumError(_qid_length_message(ids, n_rows))
    return _number_ids(ids)


def check_query_weight(weight: QueryWeight | None, codes: Array, ids: Array, grouped: bool) -> Array:
    """Return one weight per query, in the order of `ids`.

    Parameters
    ----------
    weight : mapping, array-like or None
        A mapping from query id to weight; or one weight per row, the same within a query; or, where `group`
        gave the sizes, one per query.
    codes, ids : ndarray
        Query number of each row and id of each query, as `check_queries` returns them.
    grouped : bool
        Whether `group` gave the sizes.
    """
    if weight is None:
        return np.ones(len(ids))
    if isinstance(weight, Mapping):
        missing = [query for query in ids.tolist() if query not in weight]
        if missing:
            raise PodiumError(f"query_weight has no weight for query {missing[0]!r}.")
        return check_weight([weight[query] for query in ids.tolist()], len(ids), "query_weight")
    values = to_array(weight, "query_weight")
    if values.ndim == 0:
        raise PodiumError(f"query_weight must be a mapping or a list of weights; got {weight!r}.")
    if grouped and len(values) == len(ids):
        return check_weight(weight, len(ids), "query_weight")
    per_row = check_weight(weight, len(codes), "query_weight")
    first = np.zeros(len(ids))
    first[codes[::-1]] = per_row[::-1]
    differs = np.flatnonzero(per_row != first[codes])
    if len(differs):
        raise PodiumError(
            "query_weight must be the same for all rows of a query; "
            f"row {differs[0]} of query {ids[codes[differs[0]]]!r} differs from the first."
        )
    return first


def check_choice(value: object, choices: Iterable[str], name: str) -> str:
    """Return `value` if it is one of `choices`, else raise an error that lists them and the nearest."""
    known = list(choices)
    if value in known:
        return str(value)
    raise PodiumError(f"{name} must be one of {', '.join(known)}; got {value!r}{near_matches(value, known)}.")


def near_matches(value: object, known: Iterable[str]) -> str:
    """Return ``", did you mean a or b?"``-like advice, or nothing where no known name is near."""
    names = {name.lower(): name for name in known}
    near = [names[one] for one in difflib.get_close_matches(str(value).lower(), names, n=3, cutoff=0.6)]
    return f" (did you mean {' or '.join(near)}?)" if near else ""


def check_sparse(X: sp.sparray | sp.spmatrix) -> sp.csc_array:
    """Return a sparse matrix by columns, sorted, with repeats summed, in floats."""
    if X.ndim != 2:
        raise PodiumError(f"X must be a matrix of rows and features; got {X.ndim} dimension(s).")
    if np.issubdtype(X.dtype, np.complexfloating):
        raise PodiumError(f"X must hold real numbers. Complex data not supported: {X.dtype}.")
    if X.dtype.kind not in "biuf":
        raise PodiumError(f"X must hold numbers; got a sparse matrix of {X.dtype}.")
    _check_shape(X.shape)
    return by_columns(X)


def _check_shape(shape: tuple[int, ...]) -> None:
    """Refuse a matrix without rows or without columns, in scikit-learn's words."""
    for count, name in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if count == 0:
            raise PodiumError(f"Found array with 0 {name} (shape={shape}) while a minimum of 1 is required.")


def _frame_to_matrix(frame: Frame) -> Array:
    """Return the values of a pandas, polars or pyarrow table as a numeric matrix, nulls as NaN."""
    columns = {name: _numeric_column(frame[name], name) for name in frame_names(frame)}
    if not columns:
        return np.empty((len(frame), 0))
    floats = np.float32 if all(c.dtype == np.float32 for c in columns.values()) else np.float64
    matrix = np.empty((len(next(iter(columns.values()))), len(columns)), floats, order="F")
    for j, (name, values) in enumerate(columns.items()):
        matrix[:, j] = to_floats(values, f"Column {name!r} of X")
    return matrix


def _numeric_column(column: object, name: object) -> Array:
    """Return a column that must be of numbers as a numpy array, nulls as NaN; refuse categories."""
    if category_kind(column) is not None:
        raise PodiumError(
            f"Column {name!r} of X holds categories: make numbers of them, or use LambdaMART or MART with "
            "categorical_features='from_dtype' at its fit."
        )
    return column_values(column)


def _column_names(X: MatrixLike) -> tuple[str, ...] | None:
    """Names of the columns where all of them are strings, as scikit-learn's feature_names_in_ has it."""
    if not is_frame(X):
        return None
    names = frame_names(X)
    return tuple(names) if all(isinstance(name, str) for name in names) else None


def to_floats(values: object, name: str) -> Array:
    """Return an array of float32 or float64; anything else numeric becomes float64, masked entries NaN."""
    masked = masked_entries(values).any()
    array = np.ma.array(values) if masked else plain_array(values, name)
    if np.iscomplexobj(array):
        raise PodiumError(f"{name} must hold real numbers. Complex data not supported: {array.dtype}.")
    if array.dtype in (np.float32, np.float64) and not masked:
        return array
    if array.dtype.kind in "mM":
        raise PodiumError(f"{name} must hold numbers; got times ({array.dtype}): subtract a first one and divide.")
    try:
        floats = array.astype(np.float64)
        return np.ma.filled(floats, np.nan) if isinstance(floats, np.ma.MaskedArray) else floats
    except TypeError as error:
        raise KindError(f"{name} must hold numbers: {error}.") from None
    except OverflowError:
        raise PodiumError(f"{name} must lie within ±1.8e308; got {_shown(_first_text(array))}.") from None
    except ValueError:
        raise PodiumError(f"{name} must hold numbers; got {_shown(_first_text(array))}.") from None


def _first_text(array: Array) -> object:
    """Return the first value that is not a number."""
    for value in array.ravel().tolist():
        try:
            float(value)
        except (TypeError, ValueError, OverflowError):
            return value
    return None


def _shown(value: object) -> str:
    """Return a value for a message: a very large number, which Python may refuse to write, by its size."""
    if isinstance(value, int) and value.bit_length() > 1024:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _check_column(values: ArrayLike, n_rows: int, name: str) -> Array:
    """Return a float64 column of the right length; a matrix of one column is flattened."""
    column = to_floats(to_array(values, name), name)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise PodiumError(f"{name} must be one-dimensional; got shape {column.shape}.")
    if len(column) != n_rows:
        raise PodiumError(f"{name} must have one value per row: {n_rows} expected, {len(column)} given.")
    return np.ascontiguousarray(column, np.float64)


def _check_group(group: ArrayLike, n_rows: int) -> Array:
    """Return query sizes that sum to the number of rows."""
    sizes = to_array(group, "group")
    if sizes.ndim != 1 or not np.issubdtype(sizes.dtype, np.integer):
        raise PodiumError(f"group must be a list of integers, the query sizes; got dtype {sizes.dtype}.")
    total = exact_sum(sizes)
    if len(sizes) and total == n_rows and sizes.min() > 0:
        return sizes
    if len(sizes) == n_rows and n_rows > 1:
        raise PodiumError(f"group looks like ids, one per row ({n_rows} values, sum {total}); pass it as qid.")
    if len(sizes) and sizes.min() <= 0:
        raise PodiumError(f"group must hold positive sizes; got {sizes.min()}.")
    raise PodiumError(f"group sizes must sum to the number of rows: {n_rows} expected, {total} given.")


def exact_sum(numbers: Array) -> int:
    """Return the sum of integers, which in 64 bits could wrap around to any number."""
    return sum(numbers.tolist())


def _qid_length_message(ids: Array, n_rows: int) -> str:
    """Say what is wrong with a qid array of the wrong shape, and whether it holds sizes."""
    if ids.ndim == 1 and np.issubdtype(ids.dtype, np.integer) and exact_sum(ids) == n_rows:
        return f"qid looks like query sizes ({len(ids)} values that sum to the {n_rows} rows); pass it as group."
    return f"qid must have one id per row: {n_rows} expected, {ids.size if ids.ndim == 1 else ids.shape} given."


def _ids_as_given(qid: ArrayLike) -> Array:
    """Return ids as an array that keeps each as it is: numpy would make one kind of 1 and "1"."""
    ids = to_array(qid, "qid")
    if isinstance(qid, list | tuple) and ids.ndim == 1 and len({type(value) for value in qid}) > 1:
        ids = np.empty(len(qid), object)
        ids[:] = qid
    elif isinstance(qid, list | tuple) and ids.dtype.kind == "f" and len(ids) and not isinstance(qid[0], float):
        ids = np.array(qid, object)  # integers too large for one integer type
    return ids


def _number_ids(ids: Array) -> tuple[Array, Array]:
    """Number query ids 0, 1, … in sorted order; ids of mixed kinds in the order they appear."""
    if ids.dtype == object:
        _check_objects(ids)
    else:
        _refuse_missing(ids, ids != ids)
        unique, codes = np.unique(ids, return_inverse=True)
        return codes.astype(np.int64), unique
    numbers: dict[Any, int] = {}
    for value in ids.tolist():
        numbers.setdefault(value, len(numbers))
    if all(isinstance(value, str) for value in numbers) or all(isinstance(value, int) for value in numbers):
        numbers = {value: number for number, value in enumerate(sorted(numbers))}
    unique = np.empty(len(numbers), object)
    unique[:] = list(numbers)
    return np.array([numbers[value] for value in ids.tolist()], np.int64), unique


def _check_objects(ids: Array) -> None:
    """Refuse objects that cannot be ids: lists and others that can change, and what is missing."""
    for row, value in enumerate(ids.tolist()):
        try:
            hash(value)
        except TypeError:
            raise PodiumError(
                f"qid must hold numbers, strings or other fixed ids; row {row} has {_shown(value)}."
            ) from None
    _refuse_missing(ids, [is_null(value) for value in ids.tolist()])


def _refuse_missing(ids: Array, missing: Array | list[bool]) -> None:
    """Refuse ids that stand for nothing."""
    rows = np.flatnonzero(missing)
    if len(rows):
        raise PodiumError(f"qid must not be missing; row {rows[0]} has {ids[rows[0]]!r}.")


def is_null(value: object) -> bool:
    """Say whether a value stands for nothing: None, NaN, NaT or pandas' NA."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)
