"""The critical-difference diagram as lines and texts for a chart: x is the average rank, y a level below the axis."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from podium.evaluation.contest import Contest

Mark: TypeAlias = dict[str, float | str]
"""Fields of a row of a chart."""

RULER_LEVEL, NUMBER_LEVEL, TICK = -1.6, -0.6, 0.15
"""Where the critical difference and the numbers of the axis stand above the axis, and how long a tick is."""
BAR_STEP, NAME_STEP = 0.45, 1.0
"""Distances of bars, and of names, from each other."""


class RankDrawing(NamedTuple):
    """What a chart draws.

    Attributes
    ----------
    lines : list of dict
        Thin lines from (x, y) to (x2, y2).
    bars : list of dict
        Thick ones, a bar for each group.
    texts : dict of str to list of dict
        Texts by how they are aligned to (x, y).
    span, levels : tuple of float
        Range of x and of y.
    """

    lines: list[Mark]
    bars: list[Mark]
    texts: dict[str, list[Mark]]
    span: tuple[float, float]
    levels: tuple[float, float]


def rank_drawing(contest: Contest, by: str = "nemenyi") -> RankDrawing:
    """Draw the better half of the rankings to the left and the others to the right, bars between axis and names."""
    n_rankings, runs = len(contest.names), contest.runs(by)
    numbers = range(1, n_rankings + 1)
    lines = [_line(1, 0, n_rankings, 0)] + [_line(rank, -TICK, rank, TICK) for rank in numbers]
    texts: dict[str, list[Mark]] = {"right": [], "left": []}
    texts["center"] = [_text(rank, NUMBER_LEVEL, str(rank)) for rank in numbers]
    if by == "nemenyi":
        lines += _ruler(contest, texts["left"])
    start = BAR_STEP * (len(runs) + 1) + 0.4
    lines += _named_ranks(contest, start, texts)
    lowest = start + NAME_STEP * ((n_rankings + 1) // 2)
    span, levels = (0.85, n_rankings + 0.15), (RULER_LEVEL - 0.5, lowest)
    return RankDrawing(lines, _bars(contest.average_ranks.tolist(), runs), texts, span, levels)


def _bars(ranks: list[float], runs: list[tuple[int, int]]) -> list[Mark]:
    """Return a bar for each group, one below the other."""
    levels = [BAR_STEP * place for place in range(1, len(runs) + 1)]
    ends = [(ranks[first] - 0.02, ranks[last] + 0.02) for first, last in runs]
    return [_line(start, level, stop, level) for (start, stop), level in zip(ends, levels, strict=True)]


def _ruler(contest: Contest, texts: list[Mark]) -> list[Mark]:
    """Return the critical difference as a length above the axis; its text goes to the others."""
    stop = 1 + min(contest.critical_difference, len(contest.names) - 1)
    texts.append(_text(stop + 0.1, RULER_LEVEL, f"critical difference {contest.critical_difference:.3f}"))
    ends = [_line(end, RULER_LEVEL - TICK, end, RULER_LEVEL + TICK) for end in (1, stop)]
    return [_line(1, RULER_LEVEL, stop, RULER_LEVEL), *ends]


def _named_ranks(contest: Contest, start: float, texts: dict[str, list[Mark]]) -> list[Mark]:
    """Return the lines from each rank on the axis to its name at the side; the names go to the texts."""
    n_rankings, lines = len(contest.names), []
    for place, (name, rank) in enumerate(zip(contest.names, contest.average_ranks.tolist(), strict=True)):
        if place < (n_rankings + 1) // 2:
            side, level = 0.9, start + NAME_STEP * place
            texts["right"].append(_text(side - 0.02, level, f"{name}  {rank:.2f}"))
        else:
            side, level = n_rankings + 0.1, start + NAME_STEP * (n_rankings - 1 - place)
            texts["left"].append(_text(side + 0.02, level, f"{rank:.2f}  {name}"))
        lines += [_line(rank, 0, rank, level), _line(side, level, rank, level)]
    return lines


def _line(x: float, y: float, x2: float, y2: float) -> Mark:
    """Return a line as a row of a chart."""
    return {"x": x, "y": y, "x2": x2, "y2": y2}


def _text(x: float, y: float, text: str) -> Mark:
    """Return a text as a row of a chart."""
    return {"x": x, "y": y, "text": text}
