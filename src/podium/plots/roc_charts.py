"""Charts of ROC curves, of the cells of ranking trees, and of ROC surfaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from podium._validation import Array
from podium.plots.altair_charts import altair, inline

if TYPE_CHECKING:
    from altair import Chart

    from podium.evaluation import RocCurve, RocSurface
    from podium.rankers.treerank import RankingTrees


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
    data, alt = inline(rows, "the surface has no corners"), altair()
    chart: Chart = (
        alt.Chart(data, title=f"{title}, volume {surface.volume:.3f}")
        .mark_square(size=40)
        .encode(
            x=alt.X("lowest:Q", title="share of the lowest grade below"),
            y=alt.Y("highest:Q", title="share of the highest grade above"),
            color=alt.Color("middle:Q", title="share of the middle grade between"),
            tooltip=["lowest:Q", "highest:Q", "middle:Q"],
        )
    )
    return chart


def _roc_lines(corners: Mapping[str, tuple[Array, Array]], title: str) -> Chart:
    """Return a chart of lines through corners, in their order."""
    rows = [
        {"curve": name, "number": number, "x": one, "y": two}
        for name, (x, y) in corners.items()
        for number, (one, two) in enumerate(zip(x.tolist(), y.tolist(), strict=True))
    ]
    data, alt = inline(rows, "no curve was given"), altair()
    chart: Chart = (
        alt.Chart(data, title=title)
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
