"""Scorecards: the points of each range of each feature, as a CSV file or a page to read.

For models of stumps. A row's score is the sum of its points: one line of each feature, and the constant, if any.
"""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from podium._validation import Array, PodiumError, check_choice
from podium._version import __version__
from podium.export import step_functions
from podium.export.ensemble import TreeSum
from podium.export.tree_text import feature_names
from podium.stumps import StepFunction

LAYOUTS = ("csv", "html")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
"""Beginnings of a name that a spreadsheet may run as a formula, and the sign that keeps it from that."""
STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; color: #1a1a1a; max-width: 46em; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.05em; margin: 1.6em 0 .3em; } h2 small { font-weight: normal; color: #666; }
table { border-collapse: collapse; width: 100%; }
td { padding: .15em .6em; border-top: 1px solid #e4e4e4; }
td.range { width: 45%; } td.points { width: 15%; text-align: right; font-variant-numeric: tabular-nums; }
td.missing { color: #666; font-style: italic; }
svg { display: block; width: 100%; height: 1em; }
""".strip()


class Line(NamedTuple):
    """A range of a feature and its points; both ends are NaN for a missing value."""

    above: float
    up_to: float
    points: float


def write(record: TreeSum, layout: str = "csv") -> str:
    """Return the scorecard."""
    return {"csv": _csv, "html": _html}[check_choice(layout, LAYOUTS, "layout")](record)


def check(record: TreeSum) -> None:
    """Refuse trees of more than one split."""
    if not step_functions.is_stumps(record):
        number = next(i for i, tree in enumerate(record.trees) if len(tree.feature) > 1)
        raise PodiumError(
            f"A scorecard holds models of stumps, but tree {number + 1} of this {record.name} has "
            f"{record.trees[number].n_leaves} leaves; consider RankBoost, or max_leaves=2."
        )


def score(record: TreeSum, X: Array) -> Array:
    """Score rows by adding up points; no range holds -inf alone, so that it counts as the lowest number."""
    largest = np.finfo(np.float64).max
    return step_functions.score(record, np.clip(X.astype(np.float64), -largest, largest))


def lines(step: StepFunction) -> Iterator[Line]:
    """Yield the ranges of a feature from low to high, and the missing value last; ranges that hold nothing left out."""
    ends = [-np.inf, *step.thresholds.tolist(), np.inf]
    for above, up_to, points in zip(ends[:-1], ends[1:], step.values.tolist(), strict=True):
        if above < up_to:
            yield Line(above, up_to, points)
    yield Line(np.nan, np.nan, step.missing)


def _csv(record: TreeSum) -> str:
    """Return lines of feature, kind (range, missing or constant), above, up_to, points; no limit is empty."""
    out = io.StringIO()
    names = [f"'{name}" if name.startswith(FORMULA) else name for name in feature_names(record)]
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["feature", "kind", "above", "up_to", "points"])
    if step_functions.constant(record):
        table.writerow(["", "constant", "", "", repr(step_functions.constant(record))])
    for step in step_functions.steps(record):
        for line in lines(step):
            ends = [repr(end) if math.isfinite(end) else "" for end in line[:2]]
            kind = "missing" if math.isnan(line.above) else "range"
            table.writerow([names[step.feature], kind, *ends, repr(line.points)])
    return out.getvalue()


def _html(record: TreeSum) -> str:
    """Return a page, features with the widest range of points first."""
    found = sorted(step_functions.steps(record), key=lambda step: -_spread(step))
    largest = max((abs(line.points) for step in found for line in lines(step)), default=0.0) or 1.0
    digits = min(max(3 - math.floor(math.log10(largest)), 0), 12)
    title = f"Scorecard of {html.escape(record.name)}"
    start = step_functions.constant(record)
    parts = [_feature(step, feature_names(record)[step.feature], largest, digits) for step in found]
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>\n{STYLE}\n</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        f"<p>A row's score is the sum of its points, one line of each of the {len(found)} features"
        f"{f', and {start:.{digits}f} for every row' if start else ''}. Higher stands higher. Points are rounded to "
        f"{digits} digits; features with the widest range of points come first. Written by Podium {__version__}.</p>\n"
        + "".join(parts)
        + "</body>\n</html>\n"
    )


def _spread(step: StepFunction) -> float:
    """Return how far the feature moves a score."""
    points = [line.points for line in lines(step)]
    return max(points) - min(points)


def _feature(step: StepFunction, name: str, largest: float, digits: int) -> str:
    """Return the table of one feature."""
    rows = "".join(_row(line, largest, digits) for line in lines(step))
    return (
        f"<h2>{html.escape(name)} <small>moves a score by up to {_spread(step):.{digits}f}</small></h2>\n"
        f"<table>\n{rows}</table>\n"
    )


def _row(line: Line, largest: float, digits: int) -> str:
    """Return one range with its points, and a bar that grows from the middle."""
    width = 50 * abs(line.points) / largest
    left = 50 - width if line.points < 0 else 50.0
    color = "#b5483a" if line.points < 0 else "#3a76b5"
    bar = f'<rect x="{left:.2f}%" width="{width:.2f}%" height="100%" fill="{color}"/>'
    middle = '<line x1="50%" x2="50%" y1="0" y2="100%" stroke="#999"/>'
    kind = "range missing" if math.isnan(line.above) else "range"
    return (
        f'<tr><td class="{kind}">{_range(line)}</td><td class="points">{line.points:+.{digits}f}</td>'
        f"<td><svg>{bar}{middle}</svg></td></tr>\n"
    )


def _range(line: Line) -> str:
    """Return a range in words."""
    if math.isnan(line.above):
        return "missing"
    if math.isinf(line.above) and math.isinf(line.up_to):
        return "any value"
    if math.isinf(line.above):
        return f"up to {line.up_to:.6g}"
    if math.isinf(line.up_to):
        return f"above {line.above:.6g}"
    return f"above {line.above:.6g}, up to {line.up_to:.6g}"
