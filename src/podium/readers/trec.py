"""TREC files: runs (``qid Q0 docno rank score tag``) and judgements (``qid 0 docno relevance``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from podium._validation import FormatError
from podium.readers.line_blocks import PathLike
from podium.readers.spans import LineColumns, decode, first_repeat, read_columns

_RUN = "query Q0 document rank score tag"
_QRELS = "query 0 document relevance"


class Run(NamedTuple):
    """What a system retrieved, one entry a line of its file.

    Parameters
    ----------
    qid, docid : ndarray of shape (n,), str
        Query and document.
    score : ndarray of shape (n,), float64
        The system's score. It alone makes the order: the rank column is not read, as trec_eval has it.
    tag : str
        Name of the system, from the first line.
    """

    qid: np.ndarray
    docid: np.ndarray
    score: np.ndarray
    tag: str


class Qrels(NamedTuple):
    """Judged documents, one entry a line of their file.

    Parameters
    ----------
    qid, docid : ndarray of shape (n,), str
        Query and document.
    relevance : ndarray of shape (n,), int64
        Grade; 0 and below is not relevant.
    """

    qid: np.ndarray
    docid: np.ndarray
    relevance: np.ndarray


def read_run(path: PathLike, *, progress: bool | None = None) -> Run:
    """Read a TREC run: lines of ``query Q0 document rank score tag``, blank-separated; packed files too.

    Parameters
    ----------
    path : str or path-like
        The file.
    progress : bool, optional
        Show a bar on stderr. None shows one for files above 50 MB when stderr is a terminal.

    Returns
    -------
    Run
        The lines in the order of the file.

    Raises
    ------
    FormatError
        If a line does not have six columns, a score is not a number, or a query lists a document twice.
    """
    documents, score, tag = _Documents(path), [], ""
    for columns in read_columns(path, 6, 6, _RUN, progress):
        documents.add(columns)
        score.append(columns.decimals(4, "score"))
        tag = tag or columns.token(0, 5)
    return Run(*documents.join(), np.concatenate(score), tag)


def read_qrels(path: PathLike, *, progress: bool | None = None) -> Qrels:
    """Read TREC judgements: lines of ``query 0 document relevance``, blank-separated; packed files too.

    Parameters
    ----------
    path : str or path-like
        The file.
    progress : bool, optional
        Show a bar on stderr. None shows one for files above 50 MB when stderr is a terminal.

    Returns
    -------
    Qrels
        The lines in the order of the file.

    Raises
    ------
    FormatError
        If a line does not have four columns, a relevance is not an integer, or a query judges a document
        twice.
    """
    documents, relevance = _Documents(path), []
    for columns in read_columns(path, 4, 4, _QRELS, progress):
        documents.add(columns)
        relevance.append(columns.integers(3, "relevance"))
    return Qrels(*documents.join(), np.concatenate(relevance))


class _Documents:
    """Queries and documents of the lines read so far: columns 0 and 2 of both formats."""

    def __init__(self, path: PathLike) -> None:
        self._path = path
        self._qid: list[np.ndarray] = []
        self._docid: list[np.ndarray] = []
        self._line: list[np.ndarray] = []

    def add(self, columns: LineColumns) -> None:
        """Keep those of a block."""
        self._qid.append(columns.texts(0))
        self._docid.append(columns.texts(2))
        self._line.append(columns.line)

    def join(self) -> tuple[np.ndarray, np.ndarray]:
        """Give all queries and documents; raise if one query names a document twice."""
        qid, docid, line = decode(self._qid), decode(self._docid), np.concatenate(self._line)
        repeat = first_repeat(qid, docid)
        if repeat is not None:
            earlier, row = repeat
            problem = (
                f"query {str(qid[row])!r} has document {str(docid[row])!r} twice, "
                f"first on line {line[earlier]}; keep one of the lines"
            )
            raise FormatError(self._path, problem, int(line[row]))
        return qid, docid
