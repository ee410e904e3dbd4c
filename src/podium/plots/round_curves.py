"""Charts of what happened round by round: losses, measures of evaluation sets, and the bound of RankBoost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from podium._validation import PodiumError, check_choice
from podium.plots.altair_charts import altair, inline
from podium.rankers import Estimator

if TYPE_CHECKING:
    from altair import Chart, VConcatChart

SCALES = ("linear", "log")
BOUND = "training ranking loss"
"""Panel of what ∏Z bounds."""
VOUCHED = {"bound": "bound ∏Z", "loss": "loss"}
"""What of a certificate is drawn."""


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
        ``save_chart(chart, "losses.html")`` writes it to a file.

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
    data, alt = inline(rows, "losses holds no finite value"), altair()
    chart: Chart = (
        alt.Chart(data, title=title)
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


def learning_curves(
    model: Estimator, certificate: Mapping[str, Iterable[float]] | None = None
) -> dict[str, dict[str, list[float]]]:
    """Return what a fit measured, by measure and evaluation set, and RankBoost's bound: one number a round.

    Parameters
    ----------
    model : fitted ranker that learned in rounds
    certificate : mapping, optional
        What ``model.certificate(X, y, qid=qid)`` returned, whose "loss" stands beside the bound. By default what
        ``model.certificate()`` returns, where there is one: the bound alone.
    """
    panels: dict[str, dict[str, list[float]]] = {}
    for place, measures in getattr(model, "evals_result_", {}).items():
        for name, values in measures.items():
            panels.setdefault(name, {})[place] = [float(value) for value in values]
    if certificate is None:
        certificate = model.certificate() if hasattr(model, "certificate") else {}
    found = {text: [float(value) for value in certificate.get(name, ())] for name, text in VOUCHED.items()}
    if any(found.values()):
        panels[BOUND] = {text: values for text, values in found.items() if values}
    return panels


def plot_learning_curves(
    model: Estimator, certificate: Mapping[str, Iterable[float]] | None = None, *, scale: str = "linear"
) -> VConcatChart:
    """Return charts of the measures of each evaluation set by round, one below the other, and of RankBoost's bound.

    Parameters
    ----------
    model : fitted ranker that learned in rounds
        With evaluation sets, or with the bound ∏Z of `RankBoost` on its training loss.
    certificate : mapping, optional
        What ``model.certificate(X, y, qid=qid)`` returned on the training data: the loss stands beside its bound.
    scale : {"linear", "log"}
        Scale of the measures; a logarithmic one leaves out what is not positive.

    Returns
    -------
    altair.VConcatChart
        A vertical line stands at the round that predictions stop at.

    Examples
    --------
    >>> from podium import RankBoost
    >>> model = RankBoost(n_estimators=3).fit([[1.0], [2.0], [3.0]], [0, 2, 1])
    >>> chart = plot_learning_curves(model)
    >>> len(chart.to_dict()["vconcat"])
    1
    """
    check_choice(scale, SCALES, "scale")
    panels = learning_curves(model, certificate)
    if not panels:
        raise PodiumError(
            f"There is nothing to draw: this {type(model).__name__} has no measures by round; fit it with an eval_set."
        )
    used = getattr(model, "best_iteration_", None)
    charts: VConcatChart = altair().vconcat(*(_panel(name, series, used, scale) for name, series in panels.items()))
    return charts


def _panel(name: str, series: Mapping[str, list[float]], used: int | None, scale: str) -> Chart:
    """Return the chart of one measure."""
    rows = [
        {"set": place, "round": number, "value": value}
        for place, values in series.items()
        for number, value in enumerate(values, start=1)
        if np.isfinite(value) and (scale == "linear" or value > 0)
    ]
    data, alt = inline(rows, f"{name} has no finite value"), altair()
    lines = (
        alt.Chart(data, title=name)
        .mark_line()
        .encode(
            x=alt.X("round:Q", title="round"),
            y=alt.Y("value:Q", title=name, scale=alt.Scale(type=scale, zero=False)),
            color=alt.Color("set:N", title=None, sort=list(series)),
            tooltip=["set:N", "round:Q", "value:Q"],
        )
    )
    end = [{"round": used}] if used else []
    rule = alt.Chart(alt.Data(values=end)).mark_rule(strokeDash=[4, 3], color="gray").encode(x="round:Q")
    chart: Chart = (lines + rule).properties(width=420, height=180).resolve_scale(color="independent")
    return chart
