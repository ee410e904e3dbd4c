"""What changes if another program scores rows with an exported model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from podium._sparse import dense_rows
from podium._types import MatrixLike
from podium._validation import check_queries
from podium.export import ExportReport, certify
from podium.rankers import Estimator


def export_report(
    model: Estimator,
    X: MatrixLike,
    format: str,
    qid: ArrayLike | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    **options: Any,
) -> ExportReport:
    """Say what changes if another program scores rows with an exported model.

    Every row is scored as the readers of the format do: their floats, their comparison with a threshold, their order of
    adding up, and what they do with missing values. Nothing is written. What `Ranker.export` refuses is refused, except
    a model that the reader would score otherwise where values are missing: what changes is counted.

    Parameters
    ----------
    model : fitted ranker
    X : array, frame, table or sparse matrix
        Rows like those that will be scored.
    format : str
        As for `Ranker.export`.
    qid : array-like, optional
        Query of each row; all rows are one query without it.
    feature_names : sequence of str, optional
        Names of the features in the file, as for `Ranker.export`.
    **options
        As for `Ranker.export`; above all ``missing``, what the reader does with missing values.

    Returns
    -------
    ExportReport
    """
    rows = model._check_rows(X)
    dense = dense_rows(rows)
    query, _ = check_queries(qid, None, len(dense))
    values = model._export_values(rows)
    return certify(model._export_record(), dense, values, query, format, feature_names, **options)
