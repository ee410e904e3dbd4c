"""Categorical columns: which they are, the categories a fit finds in them, and their codes in other data.

A category is a text, a finite number or a truth value. The categories of a column are those that occur in the
training rows, in ascending order, numbers before strings; the code of a category is its place. So codes depend
neither on the order of rows nor on the order or the unused entries of a frame's own list of categories. A value
that the fit has not seen is missing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard, TypeVar

import numpy as np
import scipy.sparse as sp

from podium._frames import category_kind, column_values, frame_names, is_frame, plain_array
from podium._sparse import is_sparse
from podium._types import Features, Frame, MatrixLike, SparseLike, SparseMatrix
from podium._validation import Array, KindError, PodiumError, check_features, check_sparse, is_null

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Category: TypeAlias = str | float
"""A text, or a finite number or truth value, which Python counts among the floats."""
CategoricalFeatures: TypeAlias = str | Iterable[str | int | bool] | None
"""`categorical_features`: "from_dtype"; names, numbers or a mask of columns; or none."""
Label = TypeVar("Label", bound=Hashable)

MAX_CATEGORIES = 255
"""Most categories of a column: codes of training rows are bytes, one of which says that a value is missing."""


@dataclass(frozen=True, eq=False)
class Categories:
    """The categories of some columns.

    Attributes
    ----------
    values : dict of int to tuple
        Categories of each categorical column; the code of a category is its place in the tuple.
    names : tuple or None
        Names of all columns, where the training data had names.
    """

    values: dict[int, tuple[Category, ...]]
    names: tuple[Hashable, ...] | None = None

    @classmethod
    def learn(cls, X: MatrixLike, categorical_features: CategoricalFeatures) -> Categories:
        """Find the categories of the columns that a ranker's parameter names.

        Parameters
        ----------
        X : array, frame, table or sparse matrix
        categorical_features : "from_dtype", sequence or None
            Columns of a frame's category types; or numbers, names or a mask of columns; or none.
        """
        return cls.of_counts(count_categories(X, categorical_columns(X, categorical_features)), names_of_columns(X))

    @classmethod
    def of_counts(cls, counts: Mapping[int, CategoryCounts], names: tuple[Hashable, ...] | None) -> Categories:
        """Keep the categories of columns that have been counted, the most frequent ones where there are too many."""
        found = {}
        for j, own in counts.items():
            found[j] = own.most_frequent(_title(j, names))
        return cls(found, names)

    def n_categories(self, n_features: int) -> Array:
        """Return the number of categories of each column, -1 where it is not categorical."""
        numbers = np.full(n_features, -1, np.int64)
        for column, values in self.values.items():
            numbers[column] = len(values)
        return numbers

    def arrays(self, names: Sequence[Label]) -> dict[Label, Array]:
        """Return the categories of each categorical column by its name, texts or numbers as numpy has them."""
        arrays = {}
        for column, values in self.values.items():
            kinds = {isinstance(value, str) for value in values}
            arrays[names[column]] = np.array(values, object if len(kinds) > 1 else None)
        return arrays

    def encode(self, X: MatrixLike) -> MatrixLike:
        """Return X with codes in the categorical columns, NaN where a value is missing or was not seen."""
        if not self.values:
            return X
        columns = _columns(X)
        codes = {place: self._codes(column, columns[place]) for column, place in self._places(X, len(columns))}
        return columns.replaced(codes)

    def _places(self, X: MatrixLike, n_columns: int) -> Iterator[tuple[int, int]]:
        """Yield each categorical column and its place in X: by name where both have names, else the same."""
        names = frame_names(X) if is_frame(X) and self.names is not None else []
        for column in self.values:
            name = self.names[column] if self.names is not None else None
            place = names.index(name) if name in names else column
            if place < n_columns:
                yield column, place

    def _codes(self, column: int, given: object) -> Array:
        """Return the codes of a column as floats."""
        known: dict[Hashable, float] = {value: float(code) for code, value in enumerate(self.values[column])}
        values, places = read_column(given)
        table = np.array([*(known.get(value, np.nan) for value in values), np.nan])
        return table[places]


def read_features(X: MatrixLike, categories: Categories | None) -> tuple[Features, tuple[str, ...] | None]:
    """Return X as a checked matrix, its categorical columns as codes, and its column names."""
    return check_features(X if categories is None else categories.encode(X))


def categorical_columns(X: MatrixLike, chosen: CategoricalFeatures) -> list[int]:
    """Return the numbers of the columns of X that `categorical_features` means, ascending."""
    if chosen is None or (isinstance(chosen, str) and not is_frame(X)):
        return []
    columns = _columns(X)
    if isinstance(chosen, str):
        return [j for j in range(len(columns)) if category_kind(columns[j]) is not None]
    given = [one.item() if isinstance(one, np.generic) else one for one in chosen]
    if given and all(isinstance(one, bool) for one in given):
        if len(given) != len(columns):
            raise PodiumError(
                f"categorical_features as a mask must have an entry for each of {len(columns)} columns; "
                f"got {len(given)}."
            )
        return [j for j, chosen in enumerate(given) if chosen]
    names = frame_names(X) if is_frame(X) else []
    return sorted({_column_number(one, len(columns), names) for one in given})


def _column_number(given: object, n_columns: int, names: list[Hashable]) -> int:
    """Return the number of a column given by number or name."""
    if isinstance(given, str):
        if given not in names:
            raise PodiumError(f"categorical_features names the column {given!r}, which X does not have.")
        return names.index(given)
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < n_columns:
        raise PodiumError(
            f"categorical_features must hold names or numbers from 0 to {n_columns - 1} of columns of X; got {given!r}."
        )
    return given


class Columns(Protocol):
    """The columns of X, whatever holds them, each as its holder gives it."""

    def __len__(self) -> int: ...

    def __getitem__(self, j: int) -> Any: ...

    def replaced(self, codes: dict[int, Array]) -> MatrixLike:
        """Return X with other columns."""


class DenseColumns:
    """The columns of an array."""

    def __init__(self, X: Array) -> None:
        self.X = X

    def __len__(self) -> int:
        return int(self.X.shape[1])

    def __getitem__(self, j: int) -> Array:
        column: Array = self.X[:, j]
        return column

    def replaced(self, codes: dict[int, Array]) -> Array:
        """Return X with other columns; what is no number in the rest stays for the gate to refuse."""
        floats = self.X.dtype if self.X.dtype in (np.float32, np.float64) else np.float64
        # a matrix of strings would cut codes short
        matrix = self.X.astype(floats if self.X.dtype.kind in "fiub" else object)
        for j, column in codes.items():
            matrix[:, j] = column
        return matrix


class SparseColumns:
    """The stored entries of a sparse matrix, column by column; absent ones are missing."""

    def __init__(self, X: SparseLike) -> None:
        self.X: SparseMatrix = check_sparse(X)

    def __len__(self) -> int:
        return self.X.shape[1]

    def __getitem__(self, j: int) -> Array:
        entries: Array = self.X.data[self.X.indptr[j] : self.X.indptr[j + 1]]
        return entries

    def replaced(self, codes: dict[int, Array]) -> sp.csc_array:
        """Return the matrix with other entries in some columns."""
        data = self.X.data.copy()
        for j, column in codes.items():
            data[self.X.indptr[j] : self.X.indptr[j + 1]] = column
        return sp.csc_array((data, self.X.indices, self.X.indptr), self.X.shape)


class FrameColumns:
    """The columns of a pandas or polars frame or a pyarrow table."""

    def __init__(self, X: Frame) -> None:
        self.X, self.names = X, frame_names(X)

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, j: int) -> Any:
        return self.X[self.names[j]]

    def replaced(self, codes: dict[int, Array]) -> CodedFrame:
        """Return a frame that gives codes for some columns."""
        return CodedFrame(self.X, self.names, {self.names[j]: column for j, column in codes.items()})


@dataclass(frozen=True, eq=False)
class CodedFrame:
    """A frame of which some columns are read as codes; it has what the gate for features asks of a frame."""

    frame: Frame
    columns: list[Hashable]
    codes: dict[Hashable, Array]

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, name: Hashable) -> Any:
        return self.codes[name] if name in self.codes else self.frame[name]


def _columns(X: MatrixLike) -> Columns:
    """Return the columns of X; what is no matrix of columns is left to the gate to refuse."""
    if is_sparse(X):
        return SparseColumns(X)
    if is_frame(X):
        return FrameColumns(X)
    array = plain_array(X, "X")
    if isinstance(X, np.ma.MaskedArray):
        array = np.ma.filled(X.astype(np.float64 if X.dtype.kind in "fiub" else object), np.nan)
    if array.ndim != 2:
        check_features(X)
    return DenseColumns(array)


def read_column(column: object) -> tuple[list[Hashable], Array]:
    """Return the values of a column, each once or more, and the place of each row's among them, -1 if missing."""
    values, places = READERS.get(category_kind(column) or "", _read_values)(column)
    null = np.array([is_null(value) for value in values] + [False], np.bool_)
    return values, np.where(null[places], -1, places)


def _read_pandas(column: pd.Series) -> tuple[list[Hashable], Array]:
    """Read a pandas column of categories."""
    return column.cat.categories.tolist(), column.cat.codes.to_numpy().astype(np.int64)


def _read_polars(column: pl.Series) -> tuple[list[Hashable], Array]:
    """Read a polars column of categories, whose numbers may be any that its string cache gave them."""
    used = column.unique().drop_nulls()
    numbers = used.to_physical().to_numpy().astype(np.int64)
    order = np.argsort(numbers)
    values = [used.to_list()[i] for i in order]
    given = column.to_physical().cast(int).fill_null(-1).to_numpy()
    places = np.searchsorted(numbers[order], given)
    return values, np.where(given < 0, -1, places)


def _read_arrow(column: pa.ChunkedArray) -> tuple[list[Hashable], Array]:
    """Read an arrow column with dictionaries; its own `to_numpy` gives nulls the value of another entry."""
    if not hasattr(column, "unify_dictionaries"):  # pandas holds it
        return _read_values(column)
    joined = column.unify_dictionaries().combine_chunks()
    places = joined.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    return joined.dictionary.to_pylist(), places


def _read_values(column: object) -> tuple[list[Hashable], Array]:
    """Read a column of any values."""
    array = column_values(column)
    if array.dtype != object:
        unique, inverse = np.unique(array, return_inverse=True)
        return unique.tolist(), inverse.astype(np.int64).ravel()
    numbers: dict[tuple[type, Hashable], int] = {}  # 1 and 1.0 apart: which of them comes first must not matter
    try:
        places = [
            -1 if is_null(value) else numbers.setdefault((type(value), value), len(numbers)) for value in array.tolist()
        ]
    except (TypeError, ValueError) as error:
        raise KindError(f"A categorical column of X holds what cannot be a category: {error}.") from None
    return [value for _, value in numbers], np.array(places, np.int64)


READERS: dict[str, Callable[[Any], tuple[list[Hashable], Array]]] = {
    "CategoricalDtype": _read_pandas,
    "Categorical": _read_polars,
    "Enum": _read_polars,
    "DictionaryType": _read_arrow,
}
"""How columns of categories are read, by the name of their type."""


@dataclass(frozen=True, eq=False)
class CategoryCounts:
    """How many rows of a column, or of a part of its rows, have each category.

    Attributes
    ----------
    rows : dict
        Number of rows of each category that occurs.
    n_rows : int
        Number of all rows, those of missing values included.
    """

    rows: dict[Category, int]
    n_rows: int

    @classmethod
    def of(cls, column: object, title: str) -> CategoryCounts:
        """Count the categories of a column; `title` is what messages call it."""
        values, places = read_column(column)
        counts = np.bincount(places[places >= 0], minlength=len(values)).tolist()
        occurring = [(value, count) for value, count in zip(values, counts, strict=True) if count]
        for value, _ in occurring:
            check_category(value, title)
        return cls(_summed(occurring), len(places))

    @classmethod
    def merged(cls, parts: Sequence[CategoryCounts]) -> CategoryCounts:
        """Add up the counts of parts of one column."""
        return cls(_summed(one for part in parts for one in part.rows.items()), sum(part.n_rows for part in parts))

    def most_frequent(self, title: str) -> tuple[Category, ...]:
        """Return the categories in their order; where there are too many, the most frequent ones, with a warning."""
        known = sorted(self.rows, key=category_order)
        if len(known) <= MAX_CATEGORIES:
            return tuple(known)
        kept = set(sorted(known, key=lambda value: -self.rows[value])[:MAX_CATEGORIES])
        lost = sum(count for value, count in self.rows.items() if value not in kept)
        warnings.warn(
            f"{title} has {len(known)} categories; the {MAX_CATEGORIES} most frequent are kept, and the others are "
            f"missing ({lost} of {self.n_rows} rows).",
            stacklevel=7,  # the caller of fit
        )
        return tuple(value for value in known if value in kept)


def count_categories(X: MatrixLike, columns: Sequence[int]) -> dict[int, CategoryCounts]:
    """Count the categories of some columns of X."""
    names = names_of_columns(X)
    return {j: CategoryCounts.of(_columns(X)[j], _title(j, names)) for j in columns}


def _summed(counts: Iterable[tuple[Any, int]]) -> dict[Category, int]:
    """Add up counts of values; of True, 1 and 1.0, which are equal, the last stands for all, whichever comes first."""
    found: dict[Category, int] = {}
    for value, count in sorted(counts, key=lambda one: (isinstance(one[0], float), not isinstance(one[0], bool))):
        found[value] = found.pop(value, 0) + count  # a key that is there would stay
    return found


def _title(column: int, names: tuple[Hashable, ...] | None) -> str:
    """Return what messages call a column."""
    return f"Column {names[column] if names else column!r} of X"


def names_of_columns(X: MatrixLike) -> tuple[Hashable, ...] | None:
    """Return the names of the columns of a frame, None for a matrix."""
    return tuple(frame_names(X)) if is_frame(X) else None


def is_category(value: object) -> TypeGuard[Category]:
    """Say whether a value may be a category: a text, a truth value or a finite number."""
    return isinstance(value, str | int) or (isinstance(value, float) and bool(np.isfinite(value)))


def check_category(value: object, title: str) -> None:
    """Refuse values of other kinds, which a model file could not hold."""
    if not is_category(value):
        raise PodiumError(
            f"{title} has the category {value!r}; categories must be strings, finite numbers or truth values: "
            "make texts of others."
        )


def category_order(value: Category) -> tuple[bool, Category]:
    """Return what categories are sorted by: numbers before strings, each ascending."""
    return isinstance(value, str), value
