"""What a page says of the rows and of how well they are ranked: data, measures, the worst and the best queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from podium._types import Json, MatrixLike
from podium._validation import Array, NoPairsError
from podium.evaluation import Evaluation, evaluate
from podium.evaluation.queries import parse_measures
from podium.measures import Measure, measure_queries
from podium.plots.grade_charts import confusion
from podium.plots.quality_charts import measure_at_k
from podium.rankers import Estimator, OrdinalRanker
from podium.report.data_report import describe
from podium.report.judged_rows import JudgedRows

BINS = 20
"""Bars of a histogram."""
EXTREMES = 10
"""Worst and best queries in their tables."""


def data_facts(judged: JudgedRows, findings: Sequence[str]) -> dict[str, Json]:
    """Return what the rows are: the lines of `describe`, how many rows each label has, and sizes of queries."""
    found = describe(judged.features, judged.labels, qid=judged.codes, feature_names=judged.feature_names)
    return {
        "lines": [list(line) for line in found.lines()],
        "grades": [[label, count] for label, count in reversed(found.labels.items())],
        "sizes": histogram(judged.sizes.astype(float)),
        "findings": list(map(str, findings)),
    }


def check_measurable(judged: JudgedRows, measures: Sequence[str]) -> list[Measure]:
    """Return the measures of a page, or say why the first one, by which it sorts queries, is not there."""
    parsed = parse_measures(measures)
    rows, first = judged.ranked, parsed[0]
    found = measure_queries(first, judged.labels[rows], judged.scores[rows], judged.offsets)
    if found.lacking:
        raise NoPairsError(f"There is nothing to report: {first} is undefined, because no query has {found.lacking}.")
    return parsed


def quality_facts(judged: JudgedRows, result: Evaluation, measures: Sequence[Measure]) -> dict[str, Json]:
    """Return measures with intervals, NDCG at several k, and a histogram of the first measure, ready for JSON."""
    first = measures[0]
    values = result.result(first.name).values
    return {
        "confidence": result.settings["confidence"],
        "convention": result.settings["convention"],
        "rows": [
            {"name": name, "mean": one.mean, "low": one.low, "high": one.high, "empty": one.n_empty,
             "higher_is_better": measure.higher_is_better, "about": measure.definition.about}
            for measure, (name, one) in zip(measures, result.results.items(), strict=True)
        ],
        "at_k": measure_at_k(judged.labels, judged.scores, qid=judged.codes),
        "histogram": histogram(values[~np.isnan(values)]),
    }  # fmt: skip


def evaluated(judged: JudgedRows, measures: Sequence[Measure]) -> Evaluation:
    """Return what `evaluate` says of the rows."""
    names = [measure.name for measure in measures]
    return evaluate(judged.labels, judged.scores, qid=judged.codes, measures=names)


def goodness(result: Evaluation, measure: Measure) -> Array:
    """Return how good each query is by a measure: higher is better."""
    values = result.result(measure.name).values
    return values if measure.higher_is_better else -values


def extremes(good: Array, chosen: Array) -> tuple[list[int], list[int]]:
    """Return the worst and the best of the chosen queries, as places among these, at most `EXTREMES` of each.

    No query is in both.
    """
    own = good[chosen]
    order = np.argsort(own, kind="stable")[: int((~np.isnan(own)).sum())].tolist()
    half = min(EXTREMES, len(order) // 2)
    return order[: max(half, min(1, len(order)))], order[::-1][:half]


def grade_facts(model: Estimator, X: MatrixLike, y: ArrayLike) -> dict[str, Json] | None:
    """Return which grades an ordinal ranker takes for which, and what that costs; None of other rankers."""
    if not isinstance(model, OrdinalRanker):
        return None
    counts, costs = confusion(model, X, y)
    mean = float((counts * costs).sum() / counts.sum())
    labels: list[Json] = [str(label) for label in model.classes_.tolist()]
    return {"labels": labels, "counts": counts.tolist(), "costs": costs.tolist(), "mean_cost": mean}


def histogram(values: Array) -> list[list[float]]:
    """Return the bars of a histogram: lower end, upper end, count. Few integers have a bar each."""
    if len(values) == 0:
        return []
    low, high = float(values.min()), float(values.max())
    whole = bool(np.all(values == np.round(values)))
    if whole and high - low < 2 * BINS:
        edges = np.arange(low, high + 2) - 0.5
    else:
        edges = np.linspace(low, high, BINS + 1) if high > low else np.array([low - 0.5, high + 0.5])
    counts = np.histogram(values, edges)[0]
    return [[a, b, n] for a, b, n in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)]
