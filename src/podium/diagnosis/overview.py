"""A data set in numbers: rows, queries, features, histograms of grades and of query sizes, effective pairs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np

from podium._types import Json
from podium._validation import Array
from podium.diagnosis.checked_rows import CheckedRows

MAX_GRADES = 20
"""Different labels that a histogram shows one by one."""
N_INTERVALS = 10
"""Intervals of a histogram of more labels."""
BAR_WIDTH = 20
"""Characters of the longest bar."""


@dataclass(frozen=True)
class Overview:
    """What a data set holds.

    Attributes
    ----------
    n_rows, n_queries, n_features : int
    missing_share : float
        Share of the values of X that are missing.
    candidate_pairs, label_pairs, explicit_pairs : int
        Pairs of rows within queries, those of them with different labels (the effective ones), and those given.
    grades : dict of str to int
        Rows of each label, the highest first; of intervals where there are more than twenty. Empty without labels.
    query_sizes : dict of str to int
        Queries by their number of rows: 1, 2-3, 4-7 and so on.
    """

    n_rows: int
    n_queries: int
    n_features: int
    missing_share: float
    candidate_pairs: int
    label_pairs: int
    explicit_pairs: int
    grades: dict[str, int]
    query_sizes: dict[str, int]

    def to_dict(self) -> dict[str, Json]:
        """Return the overview as plain values, ready for JSON."""
        return asdict(self)

    def lines(self) -> list[list[str]]:
        """Return the overview as rows of a table."""
        share = self.label_pairs / self.candidate_pairs if self.candidate_pairs else 0.0
        lines = [
            ["rows", f"{self.n_rows:,}"],
            ["queries", f"{self.n_queries:,}"],
            ["features", f"{self.n_features:,}"],
            ["missing values", f"{self.missing_share:.1%}"],
            ["effective pairs", f"{self.label_pairs:,} ({share:.0%} of those in queries)"],
        ]
        lines += [["explicit pairs", f"{self.explicit_pairs:,}"]] if self.explicit_pairs else []
        return [*lines, *_bars("rows of grade", self.grades), *_bars("queries of size", self.query_sizes)]


def overview_of(rows: CheckedRows) -> Overview:
    """Count what a data set holds."""
    data, sizes = rows.data, rows.data.queries.sizes
    return Overview(
        n_rows=rows.n_rows,
        n_queries=len(sizes),
        n_features=len(rows.names),
        missing_share=float(rows.facts.missing.sum() / (rows.n_rows * len(rows.names))),
        candidate_pairs=int((sizes * (sizes - 1) // 2).sum()),
        label_pairs=int(rows.pairs_per_query.sum()),
        explicit_pairs=0 if data.pairs is None else len(data.pairs.better),
        grades={} if data.labels is None else grade_histogram(data.labels),
        query_sizes=size_histogram(sizes),
    )


def grade_histogram(labels: Array) -> dict[str, int]:
    """Count rows of each label, or of intervals of equal width where there are many labels; the highest first."""
    values, counts = np.unique(labels, return_counts=True)
    if len(values) <= MAX_GRADES:
        return {f"{value:g}": count for value, count in zip(values[::-1].tolist(), counts[::-1].tolist(), strict=True)}
    counts, edges = np.histogram(labels, N_INTERVALS)
    names = [f"{low:.4g} to {high:.4g}" for low, high in pairwise(edges.tolist())]
    return dict(zip(names[::-1], counts[::-1].tolist(), strict=True))


def size_histogram(sizes: Array) -> dict[str, int]:
    """Count queries by their number of rows, in intervals that double."""
    exponents, counts = np.unique(np.floor(np.log2(sizes)).astype(int), return_counts=True)
    names = ["1" if e == 0 else f"{2**e:,}-{2 ** (e + 1) - 1:,}" for e in exponents.tolist()]
    return dict(zip(names, counts.tolist(), strict=True))


def _bars(title: str, counts: dict[str, int]) -> list[list[str]]:
    """Return a histogram as rows of a table, with a bar for each count."""
    most, total = max(counts.values(), default=1), sum(counts.values())
    return [
        [f"{title} {name}", f"{count:,} ({count / total:.0%})  {'▇' * -(-BAR_WIDTH * count // most)}"]
        for name, count in counts.items()
    ]
