"""LETOR and SVMlight files: one row a line, features by number."""

from __future__ import annotations

import mmap
from collections import deque
from numbers import Integral
from typing import TYPE_CHECKING, Literal

import numpy as np

from podium._compiled import ROW, compiled
from podium._memory import enough_memory
from podium._validation import FormatError, PodiumError
from podium.readers.letor_lines import COLUMN, LARGEST_FEATURE, most_entries, parse_block
from podium.readers.line_blocks import PathLike, line_blocks
from podium.readers.ranking_table import RankingTable, check_dtype
from podium.readers.spans import decode, decode_ids

if TYPE_CHECKING:
    from numpy.typing import DTypeLike
    from scipy.sparse import csr_array

SPARSE_SHARE = 0.02
"""With sparse="auto", files that store a smaller share of their cells than this give a sparse X."""
ENTRIES_PER_STORE = 1 << 21
"""Entries kept together: room for the densest block and for one more; 24 MB, of which half are used."""
_LAYOUT = "'label qid:query feature:value ...', like '2 qid:10 1:0.03 2:0.4'"


def read_letor(
    path: PathLike,
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    sparse: Literal["auto"] | bool = "auto",
    progress: bool | None = None,
) -> RankingTable:
    r"""Read a LETOR or SVMlight file: lines such as ``2 qid:10 1:0.03 2:0.4 # docid = GX001``.

    Features are numbered from 1, in any order within a line, each at most once. Blank lines and lines with
    only a comment are left out; lines may end with LF, CRLF or CR. Every number is what ``float`` makes of it; ``nan``
    is a missing value. The file may be packed with gzip, xz or zstandard, whatever its name.

    Parameters
    ----------
    path : str or path-like
        The file.
    n_features : int, optional
        Number of columns of `X`, for files that do not use the last features. Larger feature numbers are
        refused. None takes the largest number of the file.
    dtype : {float64, float32}, default float64
        Type of `X`.
    sparse : {"auto", True, False}, default "auto"
        Whether `X` is sparse. What a line leaves out is zero in this format, and a dense `X` has zeros there.
        A sparse `X` leaves it out too, and Podium's rankers take what a sparse `X` leaves out as missing.
        ``"auto"`` gives a dense `X` unless less than one in fifty cells is in the file. That share is alike
        in the parts of one collection; say True or False to be sure that all are read the same way.
    progress : bool, optional
        Show a bar on stderr. None shows one for files above 50 MB when stderr is a terminal.

    Returns
    -------
    RankingTable
        `qid` is int64 if every query is an integer, else str, and None if no line has one; `docid` is
        the word after ``docid =`` in the comment, and None if no line has one.

    Raises
    ------
    FormatError
        If a line is broken (with its number and text), if only some lines have a qid, if the file is
        binary, damaged where it is packed, or without rows. Nothing is returned of such a file.
    SizeError
        If a dense `X` takes more memory than there is.
    FileNotFoundError
        If there is no such file.

    Notes
    -----
    The file is read once, in blocks. The peak of memory is about one and a half times a dense `X`.

    LightGBM keeps the queries in a file of sizes beside the data. Read both::

        table = read_letor("rank.train")
        model.fit(table.X, table.y, group=read_query_sizes("rank.train.query"))

    or give the rows their queries: ``qid = np.repeat(np.arange(len(sizes)), sizes)`` and
    ``table._replace(qid=qid)``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "two.txt")
    >>> _ = path.write_text("2 qid:10 1:0.5 3:1 # docid = GX001\n0 qid:10 2:4 # docid = GX002\n")
    >>> table = read_letor(path)
    >>> table.X
    array([[0.5, 0. , 1. ],
           [0. , 4. , 0. ]])
    >>> table.docid.tolist()
    ['GX001', 'GX002']
    """
    _check(n_features, sparse)
    rows = _Rows(path, check_dtype(dtype), LARGEST_FEATURE if n_features is None else int(n_features))
    for block in line_blocks(path, progress):
        rows.add(block)
    n_columns = rows.width(n_features)
    label, qid, docid = rows.labels(), rows.queries(), rows.documents()
    if sparse == "auto":
        sparse = rows.n_entries < SPARSE_SHARE * rows.n_rows * n_columns
    X = rows.sparse(n_columns) if sparse else rows.dense(n_columns)
    return RankingTable(X, label, qid, docid, None)


def _check(n_features: object, sparse: object) -> None:
    """Refuse parameters that cannot be meant."""
    if n_features is not None and not (isinstance(n_features, Integral) and 1 <= int(n_features) <= LARGEST_FEATURE):
        raise PodiumError(f"n_features must be None or an integer from 1 to {LARGEST_FEATURE}; got {n_features!r}.")
    if not isinstance(sparse, bool) and sparse != "auto":
        raise PodiumError(f"sparse must be 'auto', True or False; got {sparse!r}.")


class _Store:
    """Room for many entries, and the row ends of the blocks that share it.

    Slow line: two lists. The memory is mapped, not allocated: it goes back to the system once it has been
    copied from, where malloc would keep it, so that the result and its source are not both there in full.
    """

    def __init__(self, n_entries: int, dtype: np.dtype[np.floating]) -> None:
        self.column = _mapped(n_entries, np.dtype(COLUMN))
        self.value = _mapped(n_entries, dtype)
        self.used = 0
        self.ends: list[np.ndarray] = [np.zeros(1, ROW)]

    def row_end(self) -> np.ndarray:
        """Place after the last entry of each row, with a zero before the first."""
        return np.concatenate(self.ends)


def _mapped(size: int, dtype: np.dtype[np.generic]) -> np.ndarray:
    """``np.zeros(size, dtype)``, in pages of its own."""
    return np.frombuffer(mmap.mmap(-1, size * dtype.itemsize), dtype)


class _Rows:
    """Rows read so far."""

    def __init__(self, path: PathLike, dtype: np.dtype[np.floating], largest: int) -> None:
        self.path, self.dtype, self.largest = path, dtype, largest
        self.n_rows = self.n_entries = self.n_lines = self.highest = 0
        self.has_qid: bool | None = None
        self._stores: deque[_Store] = deque()
        self._label: list[np.ndarray] = []
        self._qid: list[np.ndarray] = []
        self._docid: list[np.ndarray] = []

    def add(self, block: bytes) -> None:
        """Read the lines of a block."""
        store = self._store(most_entries(block))
        column, value = store.column[store.used :], store.value[store.used :]
        part = parse_block(self.path, block, self.n_lines + 1, self.largest, self.has_qid, column, value)
        self.n_lines += part.n_lines
        if len(part.label) == 0:
            return
        n_entries = int(part.row_end[-1])
        store.ends.append(part.row_end + store.used)
        store.used += n_entries
        self.highest = max(self.highest, int(column[:n_entries].max(initial=-1)) + 1)
        self.n_rows += len(part.label)
        self.n_entries += n_entries
        self.has_qid = part.qid is not None
        self._label.append(part.label)
        self._docid.append(part.docid)
        if part.qid is not None:
            self._qid.append(part.qid)

    def _store(self, n_entries: int) -> _Store:
        """Give a store with room for that many more."""
        if not self._stores or len(self._stores[-1].column) - self._stores[-1].used < n_entries:
            self._stores.append(_Store(max(n_entries, ENTRIES_PER_STORE), self.dtype))
        return self._stores[-1]

    def width(self, n_features: int | None) -> int:
        """Give the number of columns; raise where there is nothing to make a table of."""
        if self.n_rows == 0:
            raise FormatError(self.path, f"the file has no rows; expected lines of {_LAYOUT}")
        if n_features is None and self.highest == 0:
            raise FormatError(self.path, f"no line has a feature; expected lines of {_LAYOUT}")
        return self.highest if n_features is None else int(n_features)

    def labels(self) -> np.ndarray:
        """Labels of all rows."""
        return np.concatenate(self._label)

    def queries(self) -> np.ndarray | None:
        """Queries of all rows."""
        return decode_ids(self._qid) if self.has_qid else None

    def documents(self) -> np.ndarray | None:
        """Documents of all rows; an object array where some have none."""
        names = decode(self._docid)
        missing = names == ""
        if not missing.any():
            return names
        if missing.all():
            return None
        named = names.astype(object)
        named[missing] = None
        return named

    def dense(self, n_columns: int) -> np.ndarray:
        """Give X with zeros where the file has nothing; the rows are used up."""
        what = f"{self.path}: a dense X of {self.n_rows} rows and {n_columns} columns"
        advice = "consider sparse=True, or dtype='float32'"
        with enough_memory(self.n_rows * n_columns * self.dtype.itemsize, what, advice):
            X = np.zeros((self.n_rows, n_columns), self.dtype)
        start = 0
        while self._stores:
            store = self._stores.popleft()
            ends = store.row_end()
            stop = start + len(ends) - 1
            scatter_rows(ends, store.column, store.value, X[start:stop])
            start = stop
        return X

    def sparse(self, n_columns: int) -> csr_array:
        """Give X with absent entries where the file has nothing; the rows are used up."""
        from scipy.sparse import csr_array

        column, value = np.empty(self.n_entries, COLUMN), np.empty(self.n_entries, self.dtype)
        ends: list[np.ndarray] = [np.zeros(1, ROW)]
        start = 0
        while self._stores:
            store = self._stores.popleft()
            stop = start + store.used
            column[start:stop], value[start:stop] = store.column[: store.used], store.value[: store.used]
            ends.append(store.row_end()[1:] + start)
            start = stop
        # scipy keeps both index arrays of one type; where int32 is enough the columns need not be copied.
        pointers = np.concatenate(ends).astype(COLUMN if start <= np.iinfo(COLUMN).max else ROW)
        return csr_array((value, column, pointers), shape=(self.n_rows, n_columns))


@compiled
def scatter_rows(row_end: np.ndarray, column: np.ndarray, value: np.ndarray, dense_out: np.ndarray) -> None:
    """``dense_out[row, column[a:b]] = value[a:b]`` for each row's entries a to b."""
    for row in range(len(row_end) - 1):
        for entry in range(row_end[row], row_end[row + 1]):
            dense_out[row, column[entry]] = value[entry]
