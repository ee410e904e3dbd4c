"""What features do to scores and measures: effect curves, and what a measure loses without a feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium._validation import PodiumError
from podium.plots.altair_charts import altair

if TYPE_CHECKING:
    from altair import ConcatChart, LayerChart

    from podium.evaluation import PermutationImportance
    from podium.explain import EffectCurve, Effects


def plot_permutation_importance(
    importance: PermutationImportance, *, most: int = 20, title: str | None = None
) -> LayerChart:
    """Return a chart of what a measure loses without each feature, with intervals, the largest drops on top.

    Parameters
    ----------
    importance : PermutationImportance
    most : int
        Features drawn.
    title : str, optional

    Examples
    --------
    >>> from podium import RankBoost, make_search, permutation_importance
    >>> data = make_search(20, docs_per_query=10, n_features=5)
    >>> model = RankBoost(20).fit(data.X, data.y, qid=data.qid)
    >>> chart = plot_permutation_importance(permutation_importance(model, data.X, data.y, qid=data.qid), most=3)
    >>> len(chart.to_dict()["data"]["values"])
    3
    """
    rows = [vars(one) for one in importance.drops[:most]]
    alt = altair()
    names = alt.Y("name:N", title="feature", sort=[row["name"] for row in rows])
    base = alt.Chart(alt.Data(values=rows), title=title or f"Loss of {importance.measure} without a feature")
    layers: LayerChart = base.mark_rule().encode(
        x=alt.X("low:Q", title=f"drop of {importance.measure}, with its interval"), x2="high:Q", y=names
    ) + base.mark_point(filled=True, size=60, opacity=1.0).encode(
        x="drop:Q", y=names, tooltip=["name:N", "drop:Q", "low:Q", "high:Q"]
    )
    return layers


def plot_effects(effects: Effects, *, most: int = 6, columns: int = 3) -> ConcatChart:
    """Return charts of the effects of features: steps, lines or bars of categories, missing values dashed.

    Parameters
    ----------
    effects : Effects
        As ``model.effects(X)`` returns them.
    most : int
        Features drawn, those that move scores most.
    columns : int
        Charts side by side.

    Examples
    --------
    >>> from podium import RankBoost, make_search
    >>> data = make_search(20, docs_per_query=10, n_features=5)
    >>> model = RankBoost(20).fit(data.X, data.y, qid=data.qid)
    >>> len(plot_effects(model.effects(data.X), most=2).to_dict()["concat"])
    2
    """
    charts = [_effect_chart(curve) for curve in effects.curves[:most]]
    if not charts:
        raise PodiumError("There is nothing to draw: scores depend on no feature.")
    chart: ConcatChart = altair().concat(*charts, columns=columns).resolve_scale(y="shared")
    return chart.properties(title="Effects on scores (dashed: missing values)")


def _effect_chart(curve: EffectCurve) -> LayerChart:
    """Return the chart of one effect."""
    alt, kind = altair(), "N" if curve.kind == "categories" else "Q"
    at = curve.points.tolist()
    if curve.kind == "steps" and not at:
        at, effect = [0.0, 1.0], curve.effect.repeat(2).tolist()
    elif curve.kind == "steps":
        margin = 0.05 * (at[-1] - at[0]) or 0.5
        at, effect = [at[0] - margin, *at, at[-1] + margin], [*curve.effect.tolist(), curve.effect[-1].item()]
    else:
        effect = curve.effect.tolist()
    rows = [{"at": one, "effect": two} for one, two in zip(at, effect, strict=True)]
    base = alt.Chart(alt.Data(values=rows), title=curve.name)
    steps = {"interpolate": "step-after"} if curve.kind == "steps" else {}
    drawn = base.mark_bar() if curve.kind == "categories" else base.mark_line(**steps)
    missing = alt.Chart(alt.Data(values=[{"effect": curve.missing}])).mark_rule(strokeDash=[4, 4], color="gray")
    layers: LayerChart = (
        drawn.encode(
            x=alt.X(f"at:{kind}", title=curve.name, scale=alt.Undefined if kind == "N" else alt.Scale(zero=False)),
            y=alt.Y("effect:Q", title="effect on the score"),
            tooltip=[f"at:{kind}", "effect:Q"],
        )
        + missing.encode(y="effect:Q")
    ).properties(width=180, height=140)
    return layers
