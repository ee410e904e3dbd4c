"""What a page says of the model: parameters, training, importance, curves of its rounds, functions of features."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import numpy as np

from podium._sparse import take_rows
from podium._types import Json, MatrixLike
from podium._validation import Array, PodiumError
from podium.measures import Measure, measure_queries, weighted_mean
from podium.plots.round_curves import learning_curves
from podium.rankers import Estimator, Ranker
from podium.report.judged_rows import JudgedRows

MAX_IMPORTANT = 20
"""Features in the chart of importance."""
MAX_FUNCTIONS = 24
"""Features whose functions are drawn."""
MAX_ROUNDS = 300
"""Rounds of a curve that are kept: more than a chart has pixels for."""
STAGES = 40
"""Rounds after which the rows of the page are measured."""
MAX_STAGED_ROWS = 60_000
"""Rows measured after those rounds; of more, queries are drawn at random."""
MAX_TEXT = 200
"""Letters of a parameter's value."""


def model_facts(model: Estimator, names: tuple[str, ...]) -> dict[str, Json]:
    """Return the name, parameters, training and importance of a model, ready for JSON."""
    shares = np.asarray(getattr(model, "feature_importances_", np.zeros(len(names))), float)
    largest = np.argsort(-shares, kind="stable")[:MAX_IMPORTANT]
    return {
        "name": type(model).__name__,
        "about": (inspect.getdoc(type(model)) or "").partition("\n")[0],
        "parameters": [[name, text, changed] for name, text, changed in parameters(model)],
        "training": _training(model),
        "importance": [[names[j], float(shares[j])] for j in largest.tolist() if shares[j] > 0],
    }


def parameters(model: Estimator) -> list[tuple[str, str, bool]]:
    """Return the parameters with their values as text, and whether they differ from the defaults."""
    known = inspect.signature(type(model).__init__).parameters
    found = []
    for name, value in model.get_params(deep=False).items():
        text = repr(value)
        default = known[name].default if name in known else inspect.Parameter.empty
        found.append((name, text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…", text != repr(default)))
    return found


def round_curves(judged: JudgedRows, X: MatrixLike, measure: Measure, random_state: int) -> list[dict[str, Json]]:
    """Return the curves of a model that learned in rounds: what its fit measured, and the rows of the page.

    Parameters
    ----------
    judged : JudgedRows
    X : array, frame, table or sparse matrix
        The features as they were given.
    measure : Measure
        What the rows of the page are measured by.
    random_state : int
        Seed of the queries that are drawn where rows are many.
    """
    panels = {
        name: {place: (list(range(1, len(values) + 1)), values) for place, values in series.items()}
        for name, series in learning_curves(judged.model).items()
    }
    staged = _staged(judged, X, measure, random_state)
    if staged is not None:
        panels.setdefault(measure.name, {})[staged[0]] = staged[1:]
    used = getattr(judged.model, "best_iteration_", None)
    return [
        {"measure": name, "used": used, "series": [_thinned(place, *line) for place, line in series.items()]}
        for name, series in panels.items()
    ]


def function_facts(judged: JudgedRows, X: MatrixLike, features: Array) -> list[dict[str, Json]]:
    """Return the functions of the most important of some features, ready for JSON; none of a model without them."""
    try:
        found = judged.model.feature_functions(X, _most_important(judged.model, features))
    except PodiumError:
        return []
    return [
        {
            "name": judged.feature_names[one.feature],
            "kind": one.kind,
            "x": one.x.tolist(),
            "y": one.y.tolist(),
            "missing": one.missing,
            "categories": list(one.categories),
        }
        for one in found
        if one.spread > 0
    ]


def _most_important(model: Estimator, features: Array) -> list[int]:
    """Return the features whose functions are drawn."""
    weight = np.asarray(getattr(model, "feature_importances_", np.zeros(model.n_features_in_)), float)[features]
    chosen: list[int] = features[np.argsort(-weight, kind="stable")[:MAX_FUNCTIONS]].tolist()
    return chosen


def _training(model: Estimator) -> list[Json]:
    """Return what is known of the training, as lines."""
    lines: list[Json] = [[name, f"{count:,}"] for name, count in getattr(model, "training_summary_", {}).items()]
    if hasattr(model, "rounds_"):
        lines.append(["rounds", f"{len(model.rounds_):,}, used {getattr(model, 'best_iteration_', 0):,}"])
    if getattr(model, "stop_reason_", None):
        lines.append(["ended because", str(model.stop_reason_)])
    return lines


def _staged(
    judged: JudgedRows, X: MatrixLike, measure: Measure, random_state: int
) -> tuple[str, list[int], list[float]] | None:
    """Return rounds, and the mean of a measure of rows of the page after each, with a name; None without rounds."""
    model, n_rounds = judged.model, len(getattr(judged.model, "rounds_", ()))
    if not (n_rounds and isinstance(model, Ranker) and hasattr(model, "staged_predict")):
        return None
    queries = _drawn(judged, random_state)
    rows = np.concatenate([judged.rows_of(query) for query in queries.tolist()])
    offsets = np.concatenate([[0], np.cumsum(judged.sizes[queries])])
    stages = sorted({int(stage) for stage in np.linspace(1, n_rounds, STAGES)})
    values = []
    for number, scores in enumerate(_staged_scores(judged, X, rows), 1):
        if number in stages:
            found = measure_queries(measure, judged.labels[rows], scores, offsets)
            values.append(weighted_mean(found.values, found.weights))
    name = "rows of this page" if len(queries) == len(judged.query_ids) else "some rows of this page"
    return name, stages, values


def _staged_scores(judged: JudgedRows, X: MatrixLike, rows: Array) -> Iterator[Array]:
    """Yield the scores of some rows after each round."""
    categories = judged.model._categories
    if categories is None or not categories.values:
        yield from judged.model.staged_predict(take_rows(judged.features, rows))
    else:  # checked features hold codes, which only their own values can be read from
        yield from (scores[rows] for scores in judged.model.staged_predict(X))


def _drawn(judged: JudgedRows, random_state: int) -> Array:
    """Return the queries whose rows are measured after rounds: all, or some drawn at random."""
    order = np.random.default_rng(random_state).permutation(len(judged.query_ids))
    number = int(np.searchsorted(np.cumsum(judged.sizes[order]), MAX_STAGED_ROWS, side="right"))
    return np.sort(order[: max(number, 1)])


def _thinned(name: str, rounds: list[int], values: list[float]) -> dict[str, Json]:
    """Return a curve with at most `MAX_ROUNDS` of its rounds, the first and the last among them."""
    kept = np.unique(np.linspace(0, len(rounds) - 1, min(len(rounds), MAX_ROUNDS)).astype(int)).tolist()
    return {"name": name, "rounds": [rounds[i] for i in kept], "values": [values[i] for i in kept]}
