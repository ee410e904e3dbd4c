"""Charts of decision regions: what an ordinal ranker of two features predicts where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from podium._sparse import is_sparse
from podium._types import MatrixLike
from podium._validation import Array, PodiumError, check_features
from podium.plots.altair_charts import altair

if TYPE_CHECKING:
    from altair import ConcatChart, LayerChart

    from podium.rankers import OrdinalRanker

CELLS_PER_SIDE = 60
"""Cells a side of decision regions: enough for a chart of 250 pixels, few enough for a file of one megabyte."""


def plot_decision_regions(
    model: OrdinalRanker, X: MatrixLike, y: ArrayLike, stages: Sequence[int] = (1, 10, 100, 1000), *, columns: int = 2
) -> ConcatChart:
    """Return charts of the grades that a ranker of two features predicts, after so many rounds, with the rows on top.

    As Figure 2 of Lin and Li (2009). Regions lie behind the rows, both in the colors of their grades.

    Parameters
    ----------
    model : fitted ordinal ranker
        Of two features, with ``staged_predict``; or one without rounds, which is drawn once.
    X : array-like of shape (n_rows, 2)
    y : array-like
        Grade of each row.
    stages : sequence of int
        Rounds to draw after; those beyond the last round are left out.
    columns : int
        Charts side by side.

    Returns
    -------
    altair.ConcatChart
        ``save_chart(chart, "regions.html")`` writes it to a file.

    Examples
    --------
    >>> from podium import AdaBoostOR
    >>> X = np.random.default_rng(0).random((50, 2))
    >>> y = np.digitize(X.sum(axis=1), [0.7, 1.3])
    >>> chart = plot_decision_regions(AdaBoostOR(n_estimators=5).fit(X, y), X, y, stages=(1, 5))
    >>> len(chart.concat)
    2
    """
    rows, names = _two_columns(model, X)
    wanted = sorted({int(stage) for stage in stages})
    if not wanted or wanted[0] < 1:
        raise PodiumError(f"stages must be numbers of rounds, at least one and from 1 on; got {list(stages)!r}.")
    edges = [np.linspace(low - pad, high + pad, CELLS_PER_SIDE + 1) for low, high, pad in _ranges(rows)]
    corners = np.array(np.meshgrid(*(edge[:-1] for edge in edges), indexing="ij")).reshape(2, -1).T
    size = np.array([edge[1] - edge[0] for edge in edges])
    points = [
        {"x": float(one), "y": float(two), "grade": str(label)}
        for (one, two), label in zip(rows, np.asarray(y).tolist(), strict=True)
    ]
    charts = []
    for title, predicted in _predictions(model, corners + size / 2, wanted):
        cells = [
            {
                "x": float(one),
                "y": float(two),
                "x2": float(one + size[0]),
                "y2": float(two + size[1]),
                "grade": str(label),
            }
            for (one, two), label in zip(corners, predicted.tolist(), strict=True)
        ]
        charts.append(_regions(cells, points, [str(label) for label in model.classes_.tolist()], names, title))
    if not charts:
        raise PodiumError(f"The model has fewer rounds than any of the stages; the first is {wanted[0]}.")
    concat: ConcatChart = altair().concat(*charts, columns=columns)
    return concat


def _two_columns(model: OrdinalRanker, X: MatrixLike) -> tuple[Array, list[str]]:
    """Return X as an array of two columns and the names of its axes."""
    rows, names = check_features(X)
    if rows.shape[1] != 2 or model.n_features_in_ != 2 or is_sparse(rows) or not np.isfinite(rows).all():
        raise PodiumError(
            f"Decision regions are drawn for two features, dense and finite; X has {rows.shape[1]} and the model "
            f"{model.n_features_in_}."
        )
    return rows, list(names or ("first feature", "second feature"))


def _ranges(rows: Array) -> list[tuple[float, float, float]]:
    """Return the lowest and highest value of each feature and a margin."""
    low, high = rows.min(axis=0).astype(float), rows.max(axis=0).astype(float)
    margin = np.where(high > low, 0.02 * (high - low), 0.5)
    return list(zip(low.tolist(), high.tolist(), margin.tolist(), strict=True))


def _predictions(model: OrdinalRanker, centers: Array, stages: list[int]) -> Iterable[tuple[str, Array]]:
    """Yield a title and the predicted grades after each stage."""
    if not hasattr(model, "staged_predict"):
        yield type(model).__name__, model.predict(centers)
        return
    for number, predicted in enumerate(model.staged_predict(centers), 1):
        if number in stages:
            yield f"T = {number}", predicted


def _regions(
    cells: list[dict[str, object]], points: list[dict[str, object]], grades: list[str], names: list[str], title: str
) -> LayerChart:
    """Return one chart of regions and rows."""
    alt = altair()
    color = alt.Color("grade:N", title="grade", sort=grades, scale=alt.Scale(domain=grades, scheme="viridis"))
    behind = (
        alt.Chart(alt.Data(values=cells), title=title)
        .mark_rect(opacity=0.45, strokeWidth=0)
        .encode(
            x=alt.X("x:Q", title=names[0], scale=alt.Scale(zero=False, nice=False)),
            x2="x2:Q",
            y=alt.Y("y:Q", title=names[1], scale=alt.Scale(zero=False, nice=False)),
            y2="y2:Q",
            color=color,
        )
    )
    rows = (
        alt.Chart(alt.Data(values=points))
        .mark_circle(size=18, opacity=1.0, stroke="white", strokeWidth=0.4)
        .encode(x="x:Q", y="y:Q", color=color, tooltip=["x:Q", "y:Q", "grade:N"])
    )
    layers: LayerChart = (behind + rows).properties(width=250, height=250)
    return layers
