"""Charts of predicted grades: which are taken for which, and what that costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from podium._types import MatrixLike
from podium._validation import Array
from podium.ordinal import cost_matrix, grades_of
from podium.plots.altair_charts import altair, inline

if TYPE_CHECKING:
    from altair import HConcatChart, LayerChart

    from podium.rankers import OrdinalRanker


def confusion(model: OrdinalRanker, X: MatrixLike, y: ArrayLike) -> tuple[Array, Array]:
    """Return how often each grade (row) is predicted as each (column), and what each such row costs.

    Parameters
    ----------
    model : fitted ordinal ranker
    X : array, frame, table or sparse matrix
    y : array-like
        Grade of each row, among those of the fit.

    Returns
    -------
    counts, costs : ndarray of shape (K, K)
        In the order of ``classes_``. The sum of ``counts * costs``, divided by the rows, is ``-model.score(X, y)``.
    """
    predicted = model.predict(X)
    grades, found = (grades_of(labels, len(predicted), model.classes_) for labels in (y, predicted))
    n_grades = len(model.classes_)
    counts = np.bincount(grades * n_grades + found, minlength=n_grades**2).reshape(n_grades, n_grades)
    return counts, cost_matrix(model.cost, model.classes_)


def plot_confusion(model: OrdinalRanker, X: MatrixLike, y: ArrayLike) -> HConcatChart:
    """Return two charts: how often each grade is predicted as each, and where the cost comes from.

    Parameters
    ----------
    model : fitted ordinal ranker
    X : array, frame, table or sparse matrix
    y : array-like
        Grade of each row, among those of the fit.

    Examples
    --------
    >>> from podium import ORStump
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> chart = plot_confusion(ORStump().fit(X, y), X, y)
    >>> len(chart.to_dict()["hconcat"])
    2
    """
    counts, costs = confusion(model, X, y)
    total = float((counts * costs).sum())
    labels, mean = [str(label) for label in model.classes_.tolist()], total / max(counts.sum(), 1)
    of_grade = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    of_cost = counts * costs / (total or 1.0)
    left = _matrix(labels, counts, of_grade, "Predicted grades", "share of the grade", ",d")
    right = _matrix(labels, counts * costs, of_cost, f"Cost, {mean:.4f} a row", "share of the cost", ",.4~g")
    charts: HConcatChart = altair().hconcat(left, right).resolve_scale(color="independent")
    return charts


def _matrix(labels: list[str], numbers: Array, shares: Array, title: str, legend: str, form: str) -> LayerChart:
    """Return a chart of a matrix: a number in each cell, its share as the color."""
    rows = [
        {"true": labels[i], "predicted": labels[j], "number": numbers[i, j].item(), "share": float(shares[i, j])}
        for i in range(len(labels))
        for j in range(len(labels))
    ]
    data, alt = inline(rows, "there are no grades"), altair()
    base = alt.Chart(data, title=title).encode(
        x=alt.X("predicted:N", title="predicted", sort=labels, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("true:N", title="true", sort=labels),
    )
    cells = base.mark_rect().encode(
        color=alt.Color("share:Q", title=legend, scale=alt.Scale(scheme="blues", domain=[0, 1])),
        tooltip=["true:N", "predicted:N", "number:Q", "share:Q"],
    )
    dark = alt.condition("datum.share > 0.5", alt.value("white"), alt.value("black"))
    texts = base.mark_text().encode(text=alt.Text("number:Q", format=form), color=dark)
    chart: LayerChart = (cells + texts).properties(width=alt.Step(44), height=alt.Step(34))
    return chart
