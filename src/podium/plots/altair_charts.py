"""Altair, imported when a chart is drawn, and how charts become files that need no network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO, StringIO
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from podium._validation import PodiumError, check_choice
from podium.model_file import check_writable, write_bytes
from podium.plots.script_json import ScriptEncoder

if TYPE_CHECKING:
    from altair import Chart, ConcatChart, Data, HConcatChart, LayerChart, VConcatChart

    AnyChart = Chart | LayerChart | ConcatChart | HConcatChart | VConcatChart

PIXELS_PER_POINT = 2.0
"""Scale of PNG pictures: sharp on the screens of today."""


def altair() -> ModuleType:
    """Import Altair, or say how to get it."""
    try:
        import altair
    except ImportError:
        raise ImportError('Charts need Altair: install it with pip install "podium[plots]".') from None
    return altair


def inline(rows: Sequence[Mapping[str, object]], what: str) -> Data:
    """Return the rows of a chart, or say that there are none.

    Parameters
    ----------
    rows : sequence of mapping
    what : str
        What holds nothing, for the error.
    """
    if not rows:
        raise PodiumError(f"There is nothing to draw: {what}.")
    data: Data = altair().Data(values=list(rows))
    return data


def save_chart(chart: AnyChart, path: str | PathLike[str]) -> None:
    """Write a chart to a file that opens without a network; an old file stays whole if this fails.

    Parameters
    ----------
    chart : altair chart
        What any ``plot_…`` returns.
    path : str or path-like
        Its ending says what is written: .png, .svg, .html (with all scripts inside) or .json (Vega-Lite).

    Examples
    --------
    >>> import tempfile
    >>> from podium.plots import plot_importance, save_chart
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_chart(plot_importance({"title": 0.7, "body": 0.3}), f"{folder}/importance.svg")
    """
    check_writable(path)
    kind = check_choice(Path(path).suffix.lower().lstrip("."), WRITERS, "The ending of a chart's file")
    write_bytes(path, WRITERS[kind](chart))


def _png(chart: AnyChart) -> bytes:
    """Return a chart as a picture of pixels."""
    picture = BytesIO()
    chart.save(picture, format="png", scale_factor=PIXELS_PER_POINT)
    return picture.getvalue()


def _svg(chart: AnyChart) -> bytes:
    """Return a chart as a picture of lines."""
    picture = StringIO()
    chart.save(picture, format="svg")
    return picture.getvalue().encode()


WRITERS: dict[str, Callable[[AnyChart], bytes]] = {
    "png": _png,
    "svg": _svg,
    "html": lambda chart: chart.to_html(inline=True, json_kwds={"cls": ScriptEncoder}).encode(),
    "json": lambda chart: chart.to_json().encode(),
}
"""How a chart is written, by the ending of its file."""
