"""What a data set holds and what there is to learn from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike
from rich.table import Table

from podium._sparse import is_sparse, stored_columns
from podium._types import Json, MatrixLike, PairsLike
from podium._validation import Array, PodiumError, check_name_count
from podium.data import Categories, FeedbackSummary, PairSummary, RankingData, column_facts, summarize, summarize_pairs
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
    label_range : tuple of float or None
        Lowest, median and highest label; None without labels.
    n_features : int
    missing_share : float
        Share of the feature values that are missing.
    constant_features : list of str
        Features with one value (missing or not) in all rows: they cannot rank anything.
    absent_features : int
        Columns of a sparse X without an entry, which are not listed beside the constant ones: they may be billions.
    pairs : PairSummary or None
        What explicit pairs hold, where there are some.
    """

    feedback: FeedbackSummary
    query_sizes: tuple[int, int, int]
    labels: dict[float, int]
    label_range: tuple[float, float, float] | None
    n_features: int
    missing_share: float
    constant_features: list[str]
    absent_features: int = 0
    pairs: PairSummary | None = None

    def to_dict(self) -> dict[str, Json]:
        """Return the report as plain values, ready for JSON."""
        return asdict(self)

    def table(self) -> Table:
        """Return the report as a rich table."""
        return table_of("Ranking data", None, self.lines())

    def lines(self) -> list[list[str]]:
        """Return the lines of the table: a name and what stands beside it."""
        counts = self.feedback
        return [
            ["rows", f"{counts.n_rows:,}"],
            ["queries", f"{counts.n_queries:,}"],
            ["rows per query", self._sizes_text()],
            ["features", f"{self.n_features:,}"],
            ["missing feature values", f"{self.missing_share:.1%}"],
            ["constant features", _named(self.constant_features)],
            *([["features that no row has", f"{self.absent_features:,}"]] if self.absent_features else []),
            *([] if self.label_range is None else self._label_rows(self.label_range)),
            *([] if self.pairs is None else _pair_rows(self.pairs)),
        ]

    def _sizes_text(self) -> str:
        """Return the range of the query sizes."""
        least, middle, most = self.query_sizes
        return f"{least:,} to {most:,}, median {middle:,}"

    def _label_rows(self, label_range: tuple[float, float, float]) -> list[list[str]]:
        """Return what there is to say of labels."""
        counts = self.feedback
        share = counts.label_pairs / counts.candidate_pairs if counts.candidate_pairs else 0.0
        return [
            ["labels", self._label_text(label_range)],
            ["pairs with different labels", f"{counts.label_pairs:,} ({share:.0%} of those in queries)"],
            ["queries with nothing to learn", f"{counts.silent_queries:,}"],
        ]

    def _label_text(self, label_range: tuple[float, float, float]) -> str:
        """Return labels with their counts, or their range where they are many."""
        if 0 < len(self.labels) <= MAX_LISTED:
            return ", ".join(f"{label:g}: {count:,}" for label, count in self.labels.items())
        low, middle, high = label_range
        return f"{self.feedback.n_labels:,} different, {low:g} to {high:g}, median {middle:g}"

    def __str__(self) -> str:
        return plain_text(self.table())


def describe(
    X: MatrixLike,
    y: ArrayLike | None = None,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    pairs: PairsLike | None = None,
    items: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
) -> DataReport:
    """Describe a data set: sizes, labels, pairs, constant and missing features.

    Parameters
    ----------
    X, y, qid, group, pairs, items
        As for a ranker's `fit`.
    feature_names : sequence of str, optional
        What the columns of X are called; by default as a frame names them, or f0, f1 and so on.
    """
    if y is None and pairs is None:
        raise PodiumError("There is nothing to learn from: give labels y, pairs, or both.")
    width, stored = None, None
    if is_sparse(X) and len(X.shape) == 2:
        width = X.shape[1]
        X, stored = stored_columns(X)
    categories = Categories.learn(X, "from_dtype")
    data = RankingData.from_arrays(X, y, qid=qid, group=group, pairs=pairs, items=items, categories=categories)
    sizes = data.queries.sizes
    facts = column_facts(data.features)
    n_features = len(facts.missing) if width is None else width
    numbers = np.arange(n_features) if stored is None else stored
    names = data.feature_names if feature_names is None else feature_names
    if names is not None:
        check_name_count(names, n_features)
    absent = n_features - len(numbers)
    constant = numbers[facts.constant[: len(numbers)]].tolist()
    values, counts = np.unique(np.empty(0) if data.labels is None else data.labels, return_counts=True)
    known = zip(values[::-1].tolist(), counts[::-1].tolist(), strict=True) if len(values) <= 100 else ()
    return DataReport(
        feedback=summarize(data),
        query_sizes=(int(sizes.min()), int(np.median(sizes)), int(sizes.max())),
        labels=dict(known),
        label_range=_range_of(data.labels),
        n_features=n_features,
        missing_share=float((np.sum(facts.missing[: len(numbers)] / facts.n_rows) + absent) / n_features),
        constant_features=[f"f{j}" if names is None else str(names[j]) for j in constant],
        absent_features=absent,
        pairs=summarize_pairs(data),
    )


def _range_of(labels: Array | None) -> tuple[float, float, float] | None:
    """Return the lowest, median and highest label."""
    return None if labels is None else (float(labels.min()), float(np.median(labels)), float(labels.max()))


def _pair_rows(pairs: PairSummary) -> list[list[str]]:
    """Return what there is to say of explicit pairs."""
    repeats = pairs.n_pairs - pairs.different_pairs
    groups = "all tied together" if pairs.components == 1 else f"in {pairs.components:,} groups without a pair between"
    return [
        ["pairs", f"{pairs.n_pairs:,}, of them {repeats:,} repeats"],
        ["pairs whose opposite is given too", f"{pairs.contradicted_pairs:,}"],
        ["rows that pairs name", f"{pairs.named_rows:,}, {groups}"],
        *([["pairs across queries", f"{pairs.across_queries:,}"]] if pairs.across_queries else []),
    ]


def _named(names: list[str]) -> str:
    """Return a count with the first names."""
    if not names:
        return "none"
    rest = ", …" if len(names) > MAX_LISTED else ""
    return f"{len(names)} ({', '.join(names[:MAX_LISTED])}{rest})"
