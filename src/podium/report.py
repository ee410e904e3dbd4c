"""Reports in words and tables: what a data set holds and what there is to learn from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rich.table import Table

from podium._sparse import dense_rows, is_sparse
from podium._types import Features, Json, MatrixLike, PairsLike
from podium._validation import Array, PodiumError, check_queries
from podium.data import FeedbackSummary, PairSummary, RankingData, summarize, summarize_pairs
from podium.evaluation.results import plain_text, table_of
from podium.explain import names_or_numbers
from podium.export import ExportReport, certify
from podium.rankers import Estimator
from podium.rankers.estimator import names_of

INTERRUPTED = "it was interrupted"
"""The `stop_reason_` of a fit that Ctrl-C ended."""
AFTER_IT = "rounds after it"
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
    pairs: PairSummary | None = None

    def to_dict(self) -> dict[str, Json]:
        """Return the report as plain values, ready for JSON."""
        return asdict(self)

    def table(self) -> Table:
        """Return the report as a rich table."""
        counts = self.feedback
        rows = [
            ["rows", f"{counts.n_rows:,}"],
            ["queries", f"{counts.n_queries:,}"],
            ["rows per query", self._sizes_text()],
            ["features", f"{self.n_features:,}"],
            ["missing feature values", f"{self.missing_share:.1%}"],
            ["constant features", _named(self.constant_features)],
            *([] if self.label_range is None else self._label_rows(self.label_range)),
            *([] if self.pairs is None else _pair_rows(self.pairs)),
        ]
        return table_of("Ranking data", None, rows)

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
    data = RankingData.from_arrays(X, y, qid=qid, group=group, pairs=pairs, items=items)
    sizes = data.queries.sizes
    missing, constant = _feature_facts(data.features)
    names = names_or_numbers(feature_names or data.feature_names, data.features.shape[1])
    values, counts = np.unique(np.empty(0) if data.labels is None else data.labels, return_counts=True)
    known = zip(values[::-1].tolist(), counts[::-1].tolist(), strict=True) if len(values) <= 100 else ()
    return DataReport(
        feedback=summarize(data),
        query_sizes=(int(sizes.min()), int(np.median(sizes)), int(sizes.max())),
        labels=dict(known),
        label_range=_range_of(data.labels),
        n_features=data.features.shape[1],
        missing_share=float(np.mean(missing)),
        constant_features=[name for name, flat in zip(names, constant, strict=True) if flat],
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


@dataclass(frozen=True)
class TrainingReport:
    """What a fit came to.

    Attributes
    ----------
    ranker : str
    file : str
        Where the model was saved.
    rounds, best_round : int or None
        Rounds learned, and rounds that predictions use; None for rankers without rounds.
    early_stopping : str or None
        What early stopping watched, and what came of it; None where it was not asked for.
    stopped : str or None
        Why the fit ended.
    measured : dict of str to float
        Each measure on each evaluation set, after the rounds that predictions use.
    features : dict of str to float
        The most important features with their shares.
    """

    ranker: str
    file: str
    rounds: int | None
    best_round: int | None
    early_stopping: str | None
    stopped: str | None
    measured: dict[str, float]
    features: dict[str, float]

    def to_dict(self) -> dict[str, Json]:
        """Return the report as plain values, ready for JSON."""
        return asdict(self)

    def table(self) -> Table:
        """Return the report as a rich table."""
        rows = [["saved to", self.file]]
        if self.rounds is not None:
            rows.append(["rounds", f"{self.rounds:,} in the file; predictions use the first {self.best_round:,}"])
            rows += [["early stopping", self.early_stopping]] if self.early_stopping else []
            if not stopped_early(self.early_stopping):  # which says why already
                rows.append(["ended because", str(self.stopped)])
        rows += [[name, f"{value:.4f}"] for name, value in self.measured.items()]
        if self.features:
            shares = ", ".join(f"{shown_name(name)} {share:.0%}" for name, share in self.features.items())
            rows.append(["most important features", shares])
        return table_of(self.ranker, None, rows)


def training_report(model: Estimator, file: str | PathLike[str]) -> TrainingReport:
    """Report on a fitted ranker that was saved to a file."""
    importances = getattr(model, "feature_importances_", np.zeros(model.n_features_in_))
    names = names_or_numbers(names_of(model), model.n_features_in_)
    top = [j for j in np.argsort(-importances, kind="stable")[:MAX_LISTED] if importances[j] > 0]
    return TrainingReport(
        ranker=type(model).__name__,
        file=str(file),
        rounds=len(model.rounds_) if hasattr(model, "rounds_") else None,
        best_round=getattr(model, "best_iteration_", None),
        early_stopping=watched(model),
        stopped=getattr(model, "stop_reason_", None),
        measured=evaluated(model),
        features={str(names[j]): float(importances[j]) for j in top},
    )


def evaluated(model: Estimator) -> dict[str, float]:
    """Return each measure on each evaluation set, after the rounds that predictions use."""
    best = getattr(model, "best_iteration_", 0)
    history: dict[str, dict[str, list[float]]] = getattr(model, "evals_result_", {}) if best else {}
    return {
        f"{place} {name}": values[best - 1] for place, measures in history.items() for name, values in measures.items()
    }


def watched(model: Estimator) -> str | None:
    """Say what early stopping watched and what came of it; None where it was not asked for."""
    patience, history = getattr(model, "early_stopping_rounds", None), getattr(model, "evals_result_", {})
    if patience is None or not history:
        return None
    place, measures = list(history.items())[-1]
    name, values = next(iter(measures.items()))
    best, n_rounds = int(getattr(model, "best_iteration_", 0)), len(values)
    found = f"watched {name} of {place}: best after round {best:,}"
    if n_rounds - best >= patience:
        return f"{found}, not better in the {patience:,} {AFTER_IT}"
    return f"{found} of {n_rounds:,}; it did not have to stop"


def stopped_early(early_stopping: str | None) -> bool:
    """Say whether it was early stopping that ended the fit."""
    return early_stopping is not None and early_stopping.endswith(AFTER_IT)


def shown_name(name: str) -> str:
    """Return the name of a feature for a text: a number of a file with a word before it."""
    return f"feature {name}" if name.isdecimal() else name


def export_report(
    model: Estimator, X: MatrixLike, format: str, qid: ArrayLike | None = None, **options: Any
) -> ExportReport:
    """Say what changes if another program scores rows with an exported model.

    Every row is scored as the readers of the format do: their floats, their comparison with a threshold, their order of
    adding up, and what they do with missing values. Nothing is written.

    Parameters
    ----------
    model : fitted ranker
    X : array, frame, table or sparse matrix
        Rows like those that will be scored.
    format : str
        As for `Ranker.export`.
    qid : array-like, optional
        Query of each row; all rows are one query without it.
    **options
        As for `Ranker.export`; above all ``missing``, what the reader does with missing values.

    Returns
    -------
    ExportReport
    """
    rows = model._check_rows(X)
    dense = dense_rows(rows)
    query, _ = check_queries(qid, None, len(dense))
    return certify(model._export_record(), dense, model._export_values(rows), query, format, **options)


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
