"""CSV and Parquet files: one row a line, columns by name. pyarrow does the reading."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from podium._compiled import ROW, SCORE
from podium._memory import enough_memory
from podium._validation import FormatError, PodiumError, near_matches
from podium.readers.line_blocks import PathLike, refuse_binary
from podium.readers.packed_files import open_unpacked
from podium.readers.ranking_table import RankingTable, check_dtype

if TYPE_CHECKING:
    from numpy.typing import DTypeLike
    from pyarrow import Schema, Table

_NOT_A_NUMBER = re.compile(r"In CSV column #(\d+): Row #(\d+): CSV conversion error to \w+: invalid value (.*)")
_ROW_NUMBER = re.compile(r"(?:CSV parse error: )?Row #(\d+): ")


class _Roles(NamedTuple):
    """Which columns are what."""

    label: str | None
    qid: str | None
    docid: str | None
    features: list[str]

    def numbers(self) -> list[str]:
        """Columns that hold numbers."""
        return self.features if self.label is None else [self.label, *self.features]

    def texts(self) -> list[str]:
        """Columns that hold names."""
        return [name for name in (self.qid, self.docid) if name is not None]


def read_csv(
    path: PathLike,
    *,
    label: str | None,
    qid: str | None = None,
    docid: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    delimiter: str = ",",
    dtype: DTypeLike = np.float64,
) -> RankingTable:
    r"""Read a CSV file whose first line names the columns; packed (gzip, xz, zstandard) too.

    Parameters
    ----------
    path : str or path-like
        The file, in UTF-8.
    label : str or None
        Column of the labels; None for data without labels, whose `y` is None.
    qid, docid : str, optional
        Columns of the queries and of the documents.
    features : sequence of str, optional
        Columns of the features, in the order wanted. None takes all that are not named here otherwise.
    ignore : sequence of str, optional
        Columns that are no features, where the file has them.
    delimiter : str, default ","
        What stands between two entries, such as ``"\t"``.
    dtype : {float64, float32}, default float64
        Type of `X`.

    Returns
    -------
    RankingTable
        Empty feature cells, and cells such as ``NA`` or ``null``, are NaN: missing. `qid` is int64 if every
        query is an integer as Python writes it, else str.

    Raises
    ------
    FormatError
        If a column is not there (with its near matches), a feature or label is not a number, a label or
        query is empty, or there are no rows.
    PodiumError
        If pyarrow is not installed.
    """
    arrow, floats = _pyarrow("pyarrow"), check_dtype(dtype)
    roles = _roles(path, _csv_names(path, delimiter), label, qid, docid, features, ignore)
    table = _read_csv(path, roles, delimiter)
    return _ranking_table(path, table, roles, arrow, floats)


def read_parquet(
    path: PathLike,
    *,
    label: str | None,
    qid: str | None = None,
    docid: str | None = None,
    features: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    dtype: DTypeLike = np.float64,
) -> RankingTable:
    """Read a Parquet file.

    Parameters
    ----------
    path : str or path-like
        The file.
    label : str or None
        Column of the labels; None for data without labels, whose `y` is None.
    qid, docid : str, optional
        Columns of the queries and of the documents.
    features : sequence of str, optional
        Columns of the features, in the order wanted. None takes all that are not named here otherwise.
    ignore : sequence of str, optional
        Columns that are no features, where the file has them.
    dtype : {float64, float32}, default float64
        Type of `X`.

    Returns
    -------
    RankingTable
        Nulls among the features are NaN: missing. `qid` is int64 if every query is an integer, else str.

    Raises
    ------
    FormatError
        If a column is not there (with its near matches), a feature or label column does not hold numbers, a
        label or query is null, there are no rows, or the file is not a Parquet file.
    PodiumError
        If pyarrow is not installed.
    """
    arrow, parquet, floats = _pyarrow("pyarrow"), _pyarrow("pyarrow.parquet"), check_dtype(dtype)
    with open(path, "rb") as stream:
        try:
            file = parquet.ParquetFile(stream)
            roles = _roles(path, file.schema_arrow.names, label, qid, docid, features, ignore)
            table = file.read(columns=[*roles.numbers(), *roles.texts()], use_threads=False)
        except (arrow.ArrowException, OSError) as error:
            raise FormatError(path, f"not a whole Parquet file ({_short(error)})") from error
    _refuse_text_columns(path, table.schema, roles, arrow)
    return _ranking_table(path, table, roles, arrow, floats)


def table_columns(path: PathLike, kind: str) -> list[str]:
    """Return the names of the columns of a "csv" or "parquet" file."""
    if kind == "csv":
        return _csv_names(path, ",")
    arrow, parquet = _pyarrow("pyarrow"), _pyarrow("pyarrow.parquet")
    with open(path, "rb") as stream:
        try:
            return list(parquet.read_schema(stream).names)
        except (arrow.ArrowException, OSError) as error:
            raise FormatError(path, f"not a whole Parquet file ({_short(error)})") from error


def read_named_columns(path: PathLike, kind: str, texts: Sequence[str], numbers: Sequence[str]) -> Table:
    """Read some columns of a "csv" or "parquet" file as an arrow table: `texts` as strings, `numbers` as float64."""
    arrow = _pyarrow("pyarrow")
    roles = _Roles(None, texts[0], texts[1], list(numbers))
    if kind == "csv":
        return _read_csv(path, roles, ",")
    parquet = _pyarrow("pyarrow.parquet")
    with open(path, "rb") as stream:
        table = parquet.read_table(stream, columns=[*numbers, *texts], use_threads=False)
    _refuse_text_columns(path, table.schema, roles, arrow)
    types = [(name, arrow.float64()) for name in numbers] + [(name, arrow.string()) for name in texts]
    return table.cast(arrow.schema(types), safe=False)


def _pyarrow(module: str) -> ModuleType:
    """Import a part of pyarrow, which not every installation has."""
    try:
        return import_module(module)
    except ImportError as error:
        advice = 'Reading CSV and Parquet files needs pyarrow: pip install "podium[tables]".'
        raise PodiumError(advice) from error


def _short(error: BaseException) -> str:
    """First sentence of another library's message."""
    return str(error).split(".")[0].split("\n")[0]


def _roles(
    path: PathLike,
    names: list[str],
    label: str | None,
    qid: str | None,
    docid: str | None,
    features: Sequence[str] | None,
    ignore: Sequence[str],
) -> _Roles:
    """Check the columns that were named, and say which ones the features are."""
    others = [name for name in (label, qid, docid) if name is not None]
    for what, given in (("features", features), ("ignore", ignore)):
        if isinstance(given, str) or not isinstance(given, Iterable | None):
            raise PodiumError(f"{what} must be a list of column names; got {given!r}.")
    passed_over = [*others, *(name for name in ignore if name in names and name not in others)]
    chosen = [name for name in names if name not in passed_over] if features is None else list(features)
    wanted = [*others, *chosen]
    for name in wanted:
        if names.count(name) != 1:
            raise FormatError(path, _wrong_column(name, names))
        if wanted.count(name) > 1:
            raise PodiumError(f"column {name!r} must be named once among label, qid, docid and features.")
    if not chosen:
        raise FormatError(path, f"no column is left for the features beside {', '.join(passed_over)}")
    return _Roles(label, qid, docid, chosen)


def _wrong_column(name: str, names: list[str]) -> str:
    """What is wrong with the name of a column that is not there exactly once."""
    if name in names:
        return f"column {name!r} stands there {names.count(name)} times"
    listed = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    return f"there is no column {name!r}{near_matches(name, names)} among {listed}"


def _csv_names(path: PathLike, delimiter: str) -> list[str]:
    """Names in the first line of a CSV file."""
    if not isinstance(delimiter, str) or len(delimiter) != 1:
        raise PodiumError(f"delimiter must be one character; got {delimiter!r}.")
    with open_unpacked(path) as (stream, _):
        refuse_binary(path, stream.read(8192))
    with open_unpacked(path) as (stream, _):  # anew: not everything that is packed can be gone back in
        text = io.TextIOWrapper(stream, "utf-8-sig", errors="backslashreplace", newline="")
        try:
            names = next(csv.reader(text, delimiter=delimiter), None)
        except csv.Error as error:
            raise FormatError(path, f"the line of column names cannot be read ({error})", 1) from None
        text.detach()
    if not names:
        raise FormatError(path, "the file has no rows; expected a line of column names and then rows")
    return names


def _read_csv(path: PathLike, roles: _Roles, delimiter: str) -> Table:
    """Read the columns of a CSV file that have a role, as an arrow table."""
    arrow, reader = _pyarrow("pyarrow"), _pyarrow("pyarrow.csv")
    types = {name: arrow.float64() for name in roles.numbers()}
    types |= {name: arrow.string() for name in roles.texts()}
    with open_unpacked(path) as (stream, _):
        try:
            return reader.read_csv(
                stream,
                # One thread: it alone tells the row of an error.
                read_options=reader.ReadOptions(use_threads=False),
                parse_options=reader.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                convert_options=reader.ConvertOptions(include_columns=list(types), column_types=types),
            )
        except arrow.ArrowInvalid as error:
            raise FormatError(path, _csv_problem(path, str(error), roles, delimiter)) from error


def _csv_problem(path: PathLike, message: str, roles: _Roles, delimiter: str) -> str:
    """Say in our words what arrow says; it counts rows from 1 with the names as row 1."""
    found = _NOT_A_NUMBER.match(message)
    if found:
        name, row = _csv_names(path, delimiter)[int(found[1])], int(found[2]) - 1
        return f"column {name!r} must hold numbers but has {found[3]} in row {row}{_advice(name, roles)}"
    return _ROW_NUMBER.sub(lambda found: f"row {int(found[1]) - 1}: ", message.split("\n")[0])


def _advice(name: str, roles: _Roles) -> str:
    """What to do about a column without numbers."""
    return "" if name == roles.label else "; ignore it, or leave it out of features"


def _refuse_text_columns(path: PathLike, schema: Schema, roles: _Roles, arrow: ModuleType) -> None:
    """Raise for a feature or label column that does not hold numbers."""
    kinds = arrow.types
    for name in roles.numbers():
        kind = schema.field(name).type
        tests = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_decimal, kinds.is_null)
        if not any(test(kind) for test in tests):
            problem = f"column {name!r} must hold numbers but holds {kind}{_advice(name, roles)}"
            raise FormatError(path, problem)


def _ranking_table(
    path: PathLike, table: Table, roles: _Roles, arrow: ModuleType, dtype: np.dtype[np.floating]
) -> RankingTable:
    """Make numpy arrays of an arrow table."""
    if table.num_rows == 0:
        raise FormatError(path, "the file has no rows, only names of columns")
    y = None if roles.label is None else _labels(path, roles.label, table, arrow)
    qid = None if roles.qid is None else _queries(path, roles.qid, table, arrow)
    docid = None if roles.docid is None else _documents(roles.docid, table, arrow)
    what = f"{path}: an X of {table.num_rows} rows and {len(roles.features)} columns"
    advice = "consider dtype='float32' or fewer features"
    with enough_memory(table.num_rows * len(roles.features) * dtype.itemsize, what, advice):
        X = _matrix(table, roles.features, arrow, dtype)
    return RankingTable(X, y, qid, docid, roles.features)


def _labels(path: PathLike, name: str, table: Table, arrow: ModuleType) -> np.ndarray:
    """Label of each row, a finite number."""
    y = _matrix(table, [name], arrow, np.dtype(SCORE))[:, 0].copy()
    bad = np.flatnonzero(~np.isfinite(y))
    if len(bad):
        got = "none" if np.isnan(y[bad[0]]) else y[bad[0]]
        raise FormatError(path, f"label {name!r} must be a finite number in every row, but row {bad[0] + 1} has {got}")
    return y


def _matrix(table: Table, names: list[str], arrow: ModuleType, dtype: np.dtype[np.floating]) -> np.ndarray:
    """``np.column_stack([table[name] for name in names])`` with NaN for nulls, batch by batch."""
    X = np.empty((table.num_rows, len(names)), dtype)
    start = 0
    for batch in table.select(names).to_batches():
        stop = start + batch.num_rows
        for j, column in enumerate(batch.columns):
            X[start:stop, j] = column.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False)
        start = stop
    return X


def _queries(path: PathLike, name: str, table: Table, arrow: ModuleType) -> np.ndarray:
    """Query of each row as int64 if all are integers, else as str."""
    texts = table.column(name).cast(arrow.string()).to_pylist()
    for row, text in enumerate(texts):
        if not text:
            raise FormatError(path, f"qid {name!r} must name a query in every row, but row {row + 1} has none")
    try:
        numbers = np.array([int(text) for text in texts], ROW)
    except (ValueError, OverflowError):
        return np.array(texts, np.str_)
    # "007" and "7" are two queries.
    return numbers if numbers.astype(np.str_).tolist() == texts else np.array(texts, np.str_)


def _documents(name: str, table: Table, arrow: ModuleType) -> np.ndarray:
    """Document of each row as str; an object array with None where some have none."""
    texts = [text or None for text in table.column(name).cast(arrow.string()).to_pylist()]
    return np.array(texts, object if None in texts else np.str_)
