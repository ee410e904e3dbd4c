"""Charts of what a fit did, by Altair: what is drawn can be saved as HTML, or as JSON that any page can show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from podium._sparse import is_sparse
from podium._types import MatrixLike
from podium._validation import Array, PodiumError, check_features
from podium.evaluation.rank_drawing import rank_drawing

if TYPE_CHECKING:
    from altair import Chart, ConcatChart, LayerChart

    from podium.evaluation import Contest, PermutationImportance, RocCurve, RocSurface
    from podium.explain import EffectCurve, Effects
    from podium.rankers import OrdinalRanker
    from podium.rankers.treerank import RankingTrees

SCALES = ("linear", "log")
CELLS_PER_SIDE = 60
"""Cells a side of decision regions: enough for a chart of 250 pixels, few enough for a file of one megabyte."""


def plot_losses(
    losses: Mapping[str, Mapping[str, Iterable[float]]], *, scale: str = "linear", title: str = "Loss by round"
) -> Chart:
    """Return a chart of losses or measures by round: a color for each ranker, a dash for each loss.

    Parameters
    ----------
    losses : mapping of str to mapping of str to sequence of float
        ``losses["RB+"]["E2"][t]`` is what ranker RB+ had as Ê2 after round t + 1. What `exponential_losses` returns, an
        entry of ``evals_result_``, and what ``certificate()`` returns all are such an inner mapping.
    scale : {"linear", "log"}
        Scale of the losses; a logarithmic one leaves out what is not positive.
    title : str

    Returns
    -------
    altair.Chart
        ``chart.save("losses.html")`` writes it to a file.

    Examples
    --------
    >>> chart = plot_losses({"RB+": {"E2": [0.9, 0.8]}, "RB-C": {"E2": [0.9, 0.85], "E1": [0.9, 0.7]}})
    >>> len(chart.to_dict()["data"]["values"])
    6
    """
    if scale not in SCALES:
        raise PodiumError(f'scale must be "linear" or "log"; got {scale!r}.')
    rows = [
        {"ranker": ranker, "loss": name, "round": number, "value": float(value)}
        for ranker, series in losses.items()
        for name, values in series.items()
        for number, value in enumerate(values, 1)
        if np.isfinite(value) and (scale == "linear" or value > 0)
    ]
    if not rows:
        raise PodiumError("There is nothing to draw: losses holds no finite value.")
    alt = _altair()
    chart: Chart = (
        alt.Chart(alt.Data(values=rows), title=title)
        .mark_line()
        .encode(
            x=alt.X("round:Q", title="round"),
            y=alt.Y("value:Q", title="loss", scale=alt.Scale(type=scale, zero=False)),
            color=alt.Color("ranker:N", title="ranker", sort=list(losses)),
            strokeDash=alt.StrokeDash("loss:N", title="loss"),
            tooltip=["ranker:N", "loss:N", "round:Q", "value:Q"],
        )
    )
    return chart


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
        ``chart.save("regions.html")`` writes it to a file.

    Examples
    --------
    >>> from podium import AdaBoostOR
    >>> X = np.random.default_rng(0).random((50, 2))
    >>> y = np.digitize(X.sum(axis=1), [0.7, 1.3])
    >>> chart = plot_decision_regions(AdaBoostOR(n_estimators=5).fit(X, y), X, y, stages=(1, 5))
    >>> len(chart.to_dict()["concat"])
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
    concat: ConcatChart = _altair().concat(*charts, columns=columns)
    return concat


def plot_roc(curves: Mapping[str, RocCurve], *, title: str = "ROC curve") -> Chart:
    """Return a chart of ROC curves, or of integrated ones, a color for each.

    Parameters
    ----------
    curves : mapping of str to RocCurve
    title : str

    Examples
    --------
    >>> from podium import roc_curve
    >>> chart = plot_roc({"forest": roc_curve([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.9])})
    >>> len(chart.to_dict()["data"]["values"])
    4
    """
    corners = {name: (curve.false_positive, curve.true_positive) for name, curve in curves.items()}
    return _roc_lines(corners, title)


def plot_cells(model: RankingTrees, *, title: str = "ROC curve of the cells") -> Chart:
    """Return a chart of the training ROC curve of each ranking tree: the line through its cells, the upper ones first.

    Rows of more than two different labels count in part as positive, by where their label lies between the lowest and
    the highest.

    Parameters
    ----------
    model : fitted TreeRank, TreeRankForest, TreeRankTournament, RankOver or CRank
    title : str

    Examples
    --------
    >>> from podium import TreeRank
    >>> model = TreeRank(min_child_weight=1, pruning_folds=0).fit([[1.0], [2.0], [3.0]], [0, 0, 1])
    >>> [row["y"] for row in plot_cells(model).to_dict()["data"]["values"]]
    [0.0, 1.0, 1.0]
    """
    low, high = model.lowest_label_, model.highest_label_
    return _roc_lines({f"tree {number}": tree.curve(low, high) for number, tree in enumerate(model.trees_)}, title)


def plot_roc_surface(surface: RocSurface, *, title: str = "ROC surface") -> Chart:
    """Return a chart of a ROC surface: the share of the middle grade by color, over those of the two others.

    Examples
    --------
    >>> from podium import roc_surface
    >>> chart = plot_roc_surface(roc_surface([0, 1, 2], [0.1, 0.2, 0.3]))
    >>> max(row["middle"] for row in chart.to_dict()["data"]["values"])
    1.0
    """
    rows = [
        {"lowest": low, "highest": high, "middle": middle}
        for low, line in zip(surface.lowest.tolist(), surface.middle.tolist(), strict=True)
        for high, middle in zip(surface.highest.tolist(), line, strict=True)
    ]
    alt = _altair()
    chart: Chart = (
        alt.Chart(alt.Data(values=rows), title=f"{title}, volume {surface.volume:.3f}")
        .mark_square(size=40)
        .encode(
            x=alt.X("lowest:Q", title="share of the lowest grade below"),
            y=alt.Y("highest:Q", title="share of the highest grade above"),
            color=alt.Color("middle:Q", title="share of the middle grade between"),
            tooltip=["lowest:Q", "highest:Q", "middle:Q"],
        )
    )
    return chart


def critical_difference(contest: Contest, *, by: str = "nemenyi", title: str | None = None) -> LayerChart:
    """Return the critical-difference diagram of a contest: average ranks, bars over rankings of which no two differ.

    After Demšar (2006), as in Figure 3 of the RankBoost+ paper.

    Parameters
    ----------
    contest : Contest
        Of ``podium.leaderboard(...).contest()``.
    by : {"nemenyi", "wilcoxon"}
        Which test parts rankings: the critical difference of average ranks, which is then drawn as a length above the
        axis, or Wilcoxon's with Holm's correction.
    title : str, optional

    Examples
    --------
    >>> from podium import leaderboard
    >>> y, qid = [1, 0, 1, 0], [1, 1, 2, 2]
    >>> board = leaderboard(y, {"up": [1, 0, 1, 0], "down": [0, 1, 0, 1]}, qid=qid, measures="mrr")
    >>> chart = critical_difference(board.contest())
    >>> [row["text"] for row in chart.to_dict()["layer"][2]["data"]["values"]]
    ['up  1.00']
    """
    drawing = rank_drawing(contest, by)
    alt = _altair()
    span = alt.Scale(domain=list(drawing.span), zero=False, nice=False)
    levels = alt.Scale(domain=list(drawing.levels), nice=False, reverse=True)
    x, y = alt.X("x:Q", scale=span, axis=None), alt.Y("y:Q", scale=levels, axis=None)
    layers = [
        alt.Chart(alt.Data(values=lines)).mark_rule(strokeWidth=width, color="black").encode(x, y, x2="x2:Q", y2="y2:Q")
        for lines, width in ((drawing.lines, 1), (drawing.bars, 5))
    ]
    for align, texts in drawing.texts.items():
        marks = alt.Chart(alt.Data(values=texts)).mark_text(align=align, baseline="middle", fontSize=12, color="black")
        layers.append(marks.encode(x, y, text="text:N"))
    shown = title or f"Average ranks by {contest.measure}, {contest.n_queries} queries"
    height = 22 * (drawing.levels[1] - drawing.levels[0])
    chart: LayerChart = (
        alt.layer(*layers).properties(width=420, height=height, title=shown).configure_view(strokeWidth=0)
    )
    return chart


def plot_importance(importance: PermutationImportance, *, most: int = 20, title: str | None = None) -> LayerChart:
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
    >>> chart = plot_importance(permutation_importance(model, data.X, data.y, qid=data.qid), most=3)
    >>> len(chart.to_dict()["data"]["values"])
    3
    """
    rows = [vars(one) for one in importance.drops[:most]]
    alt = _altair()
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
    chart: ConcatChart = _altair().concat(*charts, columns=columns).resolve_scale(y="shared")
    return chart.properties(title="Effects on scores (dashed: missing values)")


def _effect_chart(curve: EffectCurve) -> LayerChart:
    """Return the chart of one effect."""
    alt, kind = _altair(), "N" if curve.kind == "categories" else "Q"
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


def _roc_lines(corners: Mapping[str, tuple[Array, Array]], title: str) -> Chart:
    """Return a chart of lines through corners, in their order."""
    rows = [
        {"curve": name, "number": number, "x": one, "y": two}
        for name, (x, y) in corners.items()
        for number, (one, two) in enumerate(zip(x.tolist(), y.tolist(), strict=True))
    ]
    if not rows:
        raise PodiumError("There is nothing to draw: no curve was given.")
    alt = _altair()
    chart: Chart = (
        alt.Chart(alt.Data(values=rows), title=title)
        .mark_line()
        .encode(
            x=alt.X("x:Q", title="false positive rate"),
            y=alt.Y("y:Q", title="true positive rate"),
            color=alt.Color("curve:N", title="curve", sort=list(corners)),
            order="number:Q",
            tooltip=["curve:N", "x:Q", "y:Q"],
        )
    )
    return chart


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
    alt = _altair()
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


def _altair() -> ModuleType:
    """Import Altair, or say how to get it."""
    try:
        import altair
    except ImportError:
        raise ImportError('Charts need Altair: install it with pip install "podium[plots]".') from None
    return altair
