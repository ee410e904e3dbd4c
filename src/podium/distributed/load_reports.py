"""What workers say of the rows that they have read, and how these must fit together."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from podium._validation import Array, PodiumError
from podium._version import __version__
from podium.distributed.part_table import PartTable
from podium.distributed.swap_exchange import Endpoint
from podium.rankers.estimator import check_columns, names_of


class LoadReport(NamedTuple):
    """What a worker says of the rows that it has read.

    Attributes
    ----------
    n_rows : int
    n_features : int
    names : tuple of str or None
    kind : str
        Type of the features.
    ids_of_blocks : dict of int to ndarray
        The different queries of each block.
    highest_label : float
        -inf where there are no labels.
    endpoint : Endpoint or None
        Where it listens, for training rows alone.
    machine : tuple of str
        What must be alike on all workers for the same bits: versions, and how logarithms and exponentials come out.
    """

    n_rows: int
    n_features: int
    names: tuple[str, ...] | None
    kind: str
    ids_of_blocks: dict[int, Array]
    highest_label: float
    endpoint: Endpoint | None
    machine: tuple[str, ...]


def report_of(table: PartTable | None, endpoint: Endpoint | None) -> LoadReport:
    """Say what has been read."""
    if table is None:
        return LoadReport(0, 0, None, "", {}, -np.inf, None, machine())
    n_rows, n_features = table.features.shape
    highest = -np.inf if table.labels is None else float(table.labels.max())
    return LoadReport(
        n_rows, n_features, table.names, table.kind, table.ids_of_blocks, highest, endpoint, machine()
    )  # fmt: skip


def machine() -> tuple[str, ...]:
    """Return what must be alike on all workers for the same bits."""
    values = np.linspace(0.01, 30.0, 1000)
    bits = np.concatenate([np.exp(values), np.log(values), np.exp2(values), np.log2(values), np.log1p(values)])
    digest = hashlib.sha256(bits.tobytes()).hexdigest()[:12]
    return __version__, np.__version__, platform.machine(), f"elementary functions {digest}"


class KnownColumns(NamedTuple):
    """What is known of rows that lie elsewhere: a matrix without rows, and names of columns."""

    features: Array
    feature_names: tuple[str, ...] | None


def check_model_columns(report: LoadReport, model: object) -> None:
    """Refuse a fitted ranker to go on from that has other columns than the rows."""
    if hasattr(model, "n_features_in_"):
        known = KnownColumns(np.empty((0, report.n_features)), report.names)
        check_columns(known, model.n_features_in_, names_of(model), "init_model must have")


def check_reports(reports: Sequence[LoadReport]) -> None:
    """Refuse workers that would compute different bits, and columns that differ."""
    for one in reports[1:]:
        if one.machine != reports[0].machine:
            raise PodiumError(
                f"All workers must have the same libraries and kind of processor; one has {reports[0].machine}, "
                f"another {one.machine}."
            )
    given = [one for one in reports if one.n_rows]
    for one in given[1:]:
        if _shape(one) != _shape(given[0]):
            first, part = (min(report.ids_of_blocks) for report in (given[0], one))
            raise PodiumError(
                f"All parts must have the same columns; part {first} has {_text(given[0])}, part {part} has "
                f"{_text(one)}."
            )


def check_evaluation_reports(train: Sequence[LoadReport], reports: Sequence[LoadReport], number: int) -> None:
    """Refuse an evaluation set that has other columns than the training rows."""
    known, given = ([one for one in side if one.n_rows] for side in (train, reports))
    if known and given and _shape(known[0]) != _shape(given[0]):
        raise PodiumError(
            f"eval_set[{number}] must have the columns of X: {_text(known[0])} expected, {_text(given[0])} given."
        )


def _shape(report: LoadReport) -> tuple[int, tuple[str, ...] | None, str]:
    """Return what must be alike in all parts."""
    return report.n_features, report.names, report.kind


def _text(report: LoadReport) -> str:
    """Say which columns a part has."""
    names = "" if report.names is None else f" ({', '.join(report.names[:5])}, …)"
    return f"{report.n_features} columns of {report.kind}{names}"
