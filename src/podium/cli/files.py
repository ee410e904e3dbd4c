"""What commands read from files, or from standard input: data, scores, names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from podium._types import Frame, MatrixLike
from podium._validation import Array, PodiumError, check_choice, near_matches
from podium.cli.options import Source
from podium.cli.standard_input import called, file_or_input, read_from
from podium.readers import (
    PACKED_ENDINGS,
    RankingTable,
    open_unpacked,
    read_csv,
    read_letor,
    read_parquet,
    read_query_sizes,
    table_columns,
)

if TYPE_CHECKING:
    from podium.rankers import Estimator

FORMATS = ("auto", "letor", "csv", "parquet")


@contextmanager
def opened(source: Source) -> Iterator[Source]:
    """Give a source that can be read more than once, standard input too."""
    with file_or_input(source.file) as file:
        yield source._replace(file=file)


def as_called(paths: Sequence[Path]) -> list[Path]:
    """Return files as messages call them."""
    return [Path(called(path)) for path in paths]


def load_table(
    path: PathLike[str],
    file_format: str = "auto",
    label: str | None = "label",
    qid: str = "qid",
    query_sizes: Path | None = None,
    item: str | None = None,
    ignore: Sequence[str] = (),
    n_features: int | None = None,
    sparse: bool | Literal["auto"] = "auto",
    names_apart: Sequence[str] = (),
) -> RankingTable:
    """Read a data file of any of our formats; query sizes of a side file become query ids.

    Of a CSV or Parquet file, no labels are read without `label`; an empty `qid` says that all rows of a file without
    queries are one query; `item` is the column of ids of rows. Columns to `ignore` are no features, nor are those of
    `names_apart` where they are there. `n_features` and `sparse` make a LETOR file read like the one that a model was
    trained on.
    """
    kind = format_of(path, file_format)
    with file_or_input(path) as file:
        if ignore:
            _check_ignored(path, ignore, None if kind == "letor" else table_columns(file, kind))
        if kind == "letor":
            table = read_letor(file, n_features=n_features, sparse=sparse)
        else:
            read = read_csv if kind == "csv" else read_parquet
            table = read(file, label=label, qid=qid or None, docid=item, ignore=[*ignore, *names_apart])
    if query_sizes is None:
        one_query = table.qid is None and not qid
        return table._replace(qid=np.zeros(table.X.shape[0], np.int64)) if one_query else table
    sizes = read_from(query_sizes, read_query_sizes)
    n_rows = table.X.shape[0]
    if sizes.sum() != n_rows:
        raise PodiumError(
            f"The sizes in {called(query_sizes)} must sum to {n_rows}, the rows of {called(path)}; got {sizes.sum()}."
        )
    return table._replace(qid=np.repeat(np.arange(len(sizes)), sizes))


def _check_ignored(path: PathLike[str], ignore: Sequence[str], names: Sequence[str] | None) -> None:
    """Refuse to ignore columns that are not there: a slip of the pen would make one a feature."""
    if names is None:
        raise PodiumError(f"--ignore is for the columns of CSV and Parquet files; {called(path)} is a LETOR file.")
    for name in ignore:
        if name not in names:
            raise PodiumError(f"--ignore {name}: {called(path)} has no such column{near_matches(name, names)}.")


def beside_pairs(source: Source) -> Source:
    """Return a data file without the columns of labels and queries that it does not have: beside pairs it need not."""
    kind = format_of(source.file, source.file_format)
    if kind == "letor":
        return source._replace(file_format=kind)
    names = table_columns(source.file, kind)
    label, qid = (source.label if source.label in names else None), (source.qid if source.qid in names else "")
    return source._replace(file_format=kind, label=label, qid=qid)


def load_ranker(path: Path) -> Estimator:
    """Load a model that scores rows; refuse one of items."""
    from podium.rankers import Estimator, load  # here: files of scores need no rankers, which take long to import

    model = load(path)
    if isinstance(model, Estimator):
        return model
    raise PodiumError(
        f"{path} holds a {type(model).__name__}, which ranks items and has no scores for rows of features."
    )


def load_unlabelled(source: Source, model: Estimator, with_queries: bool = False) -> RankingTable:
    """Read rows for a fitted model: new data, which need no labels, and queries only if `with_queries`.

    In CSV and Parquet all columns are features but those of labels and queries, which are not read; a column that the
    model knows as a feature is one whatever its name.
    """
    known = getattr(model, "feature_names_in_", ())
    apart = [name for name in (source.label, source.qid) if name and name not in known]
    like: dict[str, Any] = {"n_features": model.n_features_in_, "sparse": model.sparse_input_, "names_apart": apart}
    qid = source.qid if with_queries else ""
    return load_table(source.file, source.file_format, None, qid, item=source.item, ignore=source.ignore, **like)


def named_columns(table: RankingTable) -> MatrixLike:
    """Return the features of a table, as a frame where its columns have names."""
    if table.feature_names is None:
        return table.X
    import pyarrow

    columns = [np.ascontiguousarray(column) for column in table.X.T]
    frame: Frame = pyarrow.table(columns, names=list(table.feature_names))
    return frame


def columns_for(model: Estimator, table: RankingTable) -> MatrixLike:
    """Return the features of a table for a model; without names if the model's are the numbers of a file."""
    numbers = [str(j + 1) for j in range(model.n_features_in_)]
    numbered = list(model._names() or numbers) == numbers and not set(numbers) & set(table.feature_names or ())
    return table.X if numbered else named_columns(table)


class Numbers(Sequence[str]):
    """The numbers 1, 2, … as names, each made when it is asked for: a file of two lines may have billions of them.

    Parameters
    ----------
    numbers : range
    """

    def __init__(self, numbers: range) -> None:
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Numbers: ...
    def __getitem__(self, place: int | slice) -> str | Numbers:
        return Numbers(self.numbers[place]) if isinstance(place, slice) else str(self.numbers[place])


def column_names(table: RankingTable) -> Sequence[str]:
    """Return the names of the features; of a LETOR file, which has none, their numbers, counted from 1."""
    return table.feature_names or Numbers(range(1, table.X.shape[1] + 1))


def read_scores(path: Path) -> Array:
    """Read one score a line."""
    try:
        lines = _text_of(path).split()
    except UnicodeDecodeError:
        raise PodiumError(f"{called(path)} must hold one score a line; it looks binary.") from None
    try:
        return np.array(lines, float)
    except ValueError:
        bad = next(i for i, line in enumerate(lines) if not _is_number(line))
        raise PodiumError(f"{called(path)} must hold one score a line; value {bad + 1} is {lines[bad]!r}.") from None


def read_names(path: Path) -> list[str]:
    """Read one name a line."""
    try:
        return _text_of(path).splitlines()
    except UnicodeDecodeError:
        raise PodiumError(f"{called(path)} must hold one name a line; it looks binary.") from None


def feature_scores(table: RankingTable, feature: int) -> Array:
    """Return one feature as scores, reversed where its number is negative; missing values stand last."""
    n_features = table.X.shape[1]
    if not 1 <= abs(feature) <= n_features:
        raise PodiumError(f"--feature must be 1 to {n_features}, or negative to reverse it; got {feature}.")
    column = table.X[:, abs(feature) - 1 : abs(feature)]
    dense = np.asarray(column.toarray() if hasattr(column, "toarray") else column, float).ravel()
    signed = dense if feature > 0 else -dense
    scores: Array = np.nan_to_num(signed, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
    return scores


def _text_of(path: Path) -> str:
    """Return the text of a file, packed or not, or of standard input."""
    with file_or_input(path) as file, open_unpacked(file) as (stream, _):
        return stream.read().decode()


def format_of(path: PathLike[str], file_format: str = "auto") -> str:
    """Name the format: the one given, or by the file's ending."""
    kind = check_choice(file_format, FORMATS, "--format")
    if kind != "auto":
        return kind
    endings = [ending for ending in Path(path).suffixes if ending not in PACKED_ENDINGS]
    return {".csv": "csv", ".parquet": "parquet"}.get(endings[-1].lower() if endings else "", "letor")


def _is_number(text: str) -> bool:
    """Say whether float() takes a text."""
    try:
        float(text)
    except ValueError:
        return False
    return True
