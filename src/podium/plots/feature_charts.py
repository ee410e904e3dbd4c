"""Charts of what features do: importance, step functions, and what stands between two rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from podium._magnitudes import check_integer
from podium._types import MatrixLike
from podium._validation import PodiumError
from podium.explain import Explanation, FeatureFunction, names_or_numbers, value_text
from podium.plots.altair_charts import altair, inline
from podium.rankers import Estimator

if TYPE_CHECKING:
    from altair import Chart, ConcatChart, LayerChart

RAISES, LOWERS, TOTAL = "#2a6fb0", "#c2542d", "#6b7280"
"""Colors of what raises a score, what lowers it, and of sums."""


def plot_importance(
    importance: Estimator | Mapping[str, float], *, max_features: int = 20, title: str = "Importance of features"
) -> Chart:
    """Return a chart of the most important features, as bars.

    Parameters
    ----------
    importance : fitted ranker with ``feature_importances_``, or mapping of str to float
    max_features : int
        Features drawn, the most important ones; those of no importance are left out.
    title : str

    Examples
    --------
    >>> chart = plot_importance({"title": 0.7, "body": 0.3, "date": 0.0})
    >>> [row["feature"] for row in chart.to_dict()["data"]["values"]]
    ['title', 'body']
    """
    check_integer(max_features, "max_features", 1)
    rows = [{"feature": name, "importance": share} for name, share in top_features(importance, max_features)]
    data, alt = inline(rows, "no feature has any importance"), altair()
    chart: Chart = (
        alt.Chart(data, title=title)
        .mark_bar(color=RAISES)
        .encode(
            x=alt.X("importance:Q", title="importance"),
            y=alt.Y("feature:N", title=None, sort=None),
            tooltip=["feature:N", "importance:Q"],
        )
    )
    return chart


def top_features(importance: Estimator | Mapping[str, float], number: int) -> list[tuple[str, float]]:
    """Return the most important features with their importance, the first ones first.

    Parameters
    ----------
    importance : fitted ranker with ``feature_importances_``, or mapping of str to float
    number : int
        How many at most; those of no importance are left out.
    """
    if isinstance(importance, Mapping):
        shares = {str(name): float(share) for name, share in importance.items()}
    else:
        found = getattr(importance, "feature_importances_", None)
        if found is None:
            raise PodiumError(f"{type(importance).__name__} has no feature_importances_; give names with numbers.")
        names = names_or_numbers(importance._names(), importance.n_features_in_)
        shares = dict(zip(names, np.asarray(found, float).tolist(), strict=True))
    largest = sorted(shares.items(), key=lambda item: -item[1])[:number]
    return [(name, share) for name, share in largest if share > 0]


def plot_steps(
    model: Estimator,
    X: MatrixLike,
    features: Sequence[int] | None = None,
    *,
    max_features: int = 9,
    columns: int = 3,
) -> ConcatChart:
    """Return charts of what each feature adds to a score by its value: the step functions of stumps.

    Parameters
    ----------
    model : fitted ranker that is a sum of stumps, trees or weighted features
        Stumps and weights are drawn exactly; of trees, in which features act together, the mean change of the scores of
        some rows of X (see ``feature_functions``).
    X : array, frame, table or sparse matrix
        Rows that say which values occur.
    features : sequence of int, optional
        Columns to draw; by default those that move scores most.
    max_features : int
        Charts at most.
    columns : int
        Charts side by side.

    Examples
    --------
    >>> from podium import RankBoost
    >>> X = [[1.0, 5.0], [2.0, 4.0], [3.0, 9.0]]
    >>> chart = plot_steps(RankBoost(n_estimators=3).fit(X, [0, 2, 1]), X)
    >>> len(chart.to_dict()["concat"])
    2
    """
    check_integer(max_features, "max_features", 1)
    found = [one for one in model.feature_functions(X, features) if len(one.x)][:max_features]
    if not found:
        raise PodiumError("There is nothing to draw: no feature moves a score.")
    charts: ConcatChart = altair().concat(*map(_function, found), columns=columns)
    return charts


def _function(found: FeatureFunction) -> LayerChart:
    """Return the chart of one feature; what a missing value adds is a dashed line."""
    rows: list[dict[str, object]] = [
        {"x": found.categories[int(x)] if found.categories else x, "points": y, "number": number}
        for number, (x, y) in enumerate(zip(found.x.tolist(), found.y.tolist(), strict=True))
    ]
    data, alt = inline(rows, f"{found.name} has no values"), altair()
    base = alt.Chart(data, title=found.name)
    y = alt.Y("points:Q", title="adds" if found.kind != "mean" else "mean change")
    if found.categories:
        drawn = base.mark_bar(color=RAISES).encode(x=alt.X("x:N", title=None, sort=None), y=y)
    else:
        x = alt.X("x:Q", title=None, scale=alt.Scale(zero=False, nice=False))
        drawn = base.mark_line(color=RAISES).encode(x=x, y=y, order="number:Q")
    absent = [{"points": found.missing, "what": "missing"}] if found.missing is not None else []
    rule = alt.Chart(alt.Data(values=absent)).mark_rule(strokeDash=[4, 3], color=LOWERS)
    chart: LayerChart = (drawn + rule.encode(y="points:Q", tooltip=["what:N", "points:Q"])).properties(
        width=180, height=120
    )
    return chart


def plot_contributions(explanation: Explanation, *, max_features: int = 10) -> LayerChart:
    """Return a waterfall: how the features of two rows make the difference of their scores, the largest parts first.

    Parameters
    ----------
    explanation : Explanation
        What ``model.explain`` returns.
    max_features : int
        Features drawn apart; the others are one bar.

    Examples
    --------
    >>> from podium import RankBoost
    >>> X = [[1.0, 5.0], [2.0, 4.0], [3.0, 9.0]]
    >>> why = RankBoost(n_estimators=3).fit(X, [0, 2, 1]).explain(X, 1, 0)
    >>> chart = plot_contributions(why)
    """
    check_integer(max_features, "max_features", 1)
    rows = waterfall(explanation, max_features)
    data, alt = inline(rows, "no feature differs"), altair()
    a, b = explanation.row_names or (f"row {explanation.rows[0]}", f"row {explanation.rows[1]}")
    colors = alt.Scale(domain=["raises", "lowers", "difference"], range=[RAISES, LOWERS, TOTAL])
    base = alt.Chart(data, title=f"{a} against {b}").encode(y=alt.Y("feature:N", title=None, sort=None))
    bars = base.mark_bar().encode(
        x=alt.X("start:Q", title="difference of scores"),
        x2="end:Q",
        color=alt.Color("kind:N", title=None, scale=colors),
        tooltip=["feature:N", "contribution:Q", "values:N"],
    )
    texts = base.mark_text(align="left", dx=4).encode(
        x=alt.X("right:Q"), text=alt.Text("contribution:Q", format="+.3g")
    )
    chart: LayerChart = bars + texts
    return chart


def waterfall(explanation: Explanation, max_features: int) -> list[dict[str, object]]:
    """Return the bars of a waterfall: where each starts and ends, the sum last.

    Parameters
    ----------
    explanation : Explanation
    max_features : int
        Features apart; the others are one bar.
    """
    moved = [j for j in explanation.order.tolist() if explanation.contributions[j] != 0]
    parts = [(explanation.feature_names[j], float(explanation.contributions[j]), _against(explanation, j))
             for j in moved[:max_features]]  # fmt: skip
    rest = moved[max_features:]
    if rest:
        more = "1 other feature" if len(rest) == 1 else f"{len(rest)} other features"
        parts.append((more, float(explanation.contributions[rest].sum()), ""))
    rows, at = [], 0.0
    for name, part, values in parts:
        rows.append(_bar(name, at, at + part, "raises" if part > 0 else "lowers", part, values))
        at += part
    return [*rows, _bar("difference", 0.0, explanation.difference, "difference", explanation.difference, "")]


def _bar(name: str, start: float, end: float, kind: str, part: float, values: str) -> dict[str, object]:
    return {"feature": name, "start": start, "end": end, "right": max(start, end), "kind": kind,
            "contribution": part, "values": values}  # fmt: skip


def _against(explanation: Explanation, feature: int) -> str:
    """Return the values of both rows."""
    shown = [value_text(value) for value in explanation.values[:, feature]]
    return " against ".join(shown)
