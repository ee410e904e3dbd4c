"""What a data set holds and what there is to learn from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike
from rich.table import Table

from podium._sparse import is_sparse
from podium._types import Features, Json, MatrixLike
from podium._validation import Array, check_labels
from podium.data import FeedbackSummary, RankingData, summarize
from podium.evaluation.results import plain_text, table_of

MAX_LISTED = 8
"""Labels and feature names listed before the rest is only counted."""


@dataclass(frozen=True)
class DataReport:
    """What a data set holds: read it before a fit, and see why a ranker could learn nothing.

    Attributes
    ----------
    feedback : FeedbackSummary
        Rows, queries, pairs, effective pairs, queries with nothing to learn.
    query_sizes : tuple of int
        Smallest, median and largest query.
    labels : dict of float to int
        Rows of each label, highest label first; empty where labels are more than a hundred.
    label_range : tuple of float
        Lowest, median and highest label.
    n_features : int
    missing_share : float
        Share of the feature values that are missing.
    constant_features : list of str
        Features with one value (missing or not) in all rows: they cannot rank anything.
    """

    feedback: FeedbackSummary
    query_sizes: tuple[int, int, int]
    labels: dict[float, int]
    label_range: tuple[float, float, float]
    n_features: int
    missing_share: float
    constant_features: list[str]

    def to_dict(self) -> dict[str, Json]:
        """Return the report as plain values, ready for JSON."""
        return asdict(self)

    def table(self) -> Table:
        """Return the report as a rich table."""
        return table_of("Ranking data", None, self.lines())

    def lines(self) -> list[list[str]]:
        """Return the lines of the table: a name and what stands beside it."""
        counts = self.feedback
        share = counts.label_pairs / counts.candidate_pairs if counts.candidate_pairs else 0.0
        return [
            ["rows", f"{counts.n_rows:,}"],
            ["queries", f"{counts.n_queries:,}"],
            ["rows per query", self._sizes_text()],
            ["features", f"{self.n_features:,}"],
            ["missing feature values", f"{self.missing_share:.1%}"],
            ["constant features", _named(self.constant_features)],
            ["labels", self._label_text()],
            ["pairs with different labels", f"{counts.label_pairs:,} ({share:.0%} of those in queries)"],
            ["queries with nothing to learn", f"{counts.silent_queries:,}"],
        ]

    def _sizes_text(self) -> str:
        """Return the range of the query sizes."""
        least, middle, most = self.query_sizes
        return f"{least:,} to {most:,}, median {middle:,}"

    def _label_text(self) -> str:
        """Return labels with their counts, or their range where they are many."""
        if 0 < len(self.labels) <= MAX_LISTED:
            return ", ".join(f"{label:g}: {count:,}" for label, count in self.labels.items())
        low, middle, high = self.label_range
        return f"{self.feedback.n_labels:,} different, {low:g} to {high:g}, median {middle:g}"

    def __str__(self) -> str:
        return plain_text(self.table())


def describe(
    X: MatrixLike, y: ArrayLike, *, qid: ArrayLike | None = None, group: ArrayLike | None = None
) -> DataReport:
    """Describe a data set: sizes, labels, pairs, constant and missing features.

    Parameters
    ----------
    X, y, qid, group
        As for a ranker's `fit`.
    """
    data = RankingData.from_arrays(X, y, qid=qid, group=group)
    sizes, labels = data.queries.sizes, check_labels(y, len(data.queries.rows))
    missing, constant = _feature_facts(data.features)
    names = data.feature_names or tuple(str(j + 1) for j in range(data.features.shape[1]))
    values, counts = np.unique(labels, return_counts=True)
    known = zip(values[::-1].tolist(), counts[::-1].tolist(), strict=True) if len(values) <= 100 else ()
    return DataReport(
        feedback=summarize(data),
        query_sizes=(int(sizes.min()), int(np.median(sizes)), int(sizes.max())),
        labels=dict(known),
        label_range=(float(values[0]), float(np.median(values.repeat(counts))), float(values[-1])),
        n_features=data.features.shape[1],
        missing_share=float(np.mean(missing)),
        constant_features=[name for name, flat in zip(names, constant, strict=True) if flat],
    )


def _feature_facts(features: Features) -> tuple[Array, Array]:
    """Share of missing values and whether all rows are alike, for each feature."""
    n_rows, n_features = features.shape
    missing, constant = np.empty(n_features), np.empty(n_features, bool)
    for j in range(n_features):
        if is_sparse(features):
            stored = features.data[features.indptr[j] : features.indptr[j + 1]]
        else:
            stored = features[:, j]
        present = stored[~np.isnan(stored)]
        missing[j] = 1 - len(present) / n_rows
        alike = len(present) == 0 or present.min() == present.max()
        constant[j] = alike and len(present) in (0, n_rows)
    return missing, constant


def _named(names: list[str]) -> str:
    """Return a count with the first names."""
    if not names:
        return "none"
    rest = ", …" if len(names) > MAX_LISTED else ""
    return f"{len(names)} ({', '.join(names[:MAX_LISTED])}{rest})"
