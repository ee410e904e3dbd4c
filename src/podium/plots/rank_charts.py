"""Average ranks of several rankings: the critical-difference diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.evaluation.rank_drawing import rank_drawing
from podium.plots.altair_charts import altair

if TYPE_CHECKING:
    from altair import LayerChart

    from podium.evaluation import Contest


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
    alt = altair()
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
