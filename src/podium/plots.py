"""Charts of what a fit did, by Altair: what is drawn can be saved as HTML, or as JSON that any page can show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from podium._validation import PodiumError

SCALES = ("linear", "log")


def plot_losses(
    losses: Mapping[str, Mapping[str, Iterable[float]]], *, scale: str = "linear", title: str = "Loss by round"
) -> Any:
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
    return (
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


def _altair() -> Any:
    """Import Altair, or say how to get it."""
    try:
        import altair
    except ImportError:
        raise ImportError('Charts need Altair: install it with pip install "podium[plots]".') from None
    return altair
