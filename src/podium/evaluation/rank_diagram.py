"""The critical-difference diagram as text: average ranks on an axis, a bar over rankings of which no two differ."""

from __future__ import annotations

from collections.abc import Sequence

AXIS_CELLS = 49
"""Width of the axis in characters."""


def text_diagram(
    title: str,
    names: Sequence[str],
    ranks: Sequence[float],
    groups: Sequence[tuple[int, int]],
    critical_difference: float | None = None,
) -> str:
    """Draw average ranks, a line for each ranking, and below them a bar for each group.

    Parameters
    ----------
    title : str
    names : sequence of str
        At least two.
    ranks : sequence of float
        Average rank of each, ascending.
    groups : sequence of tuple of int
        First and last ranking of each group.
    critical_difference : float, optional
        Drawn as a length where it is given.
    """
    n_rankings = len(names)
    width = max(map(len, names))
    lines = [title, *_axis(n_rankings)]
    if critical_difference is not None:
        cells = round(min(critical_difference, n_rankings - 1) / (n_rankings - 1) * (AXIS_CELLS - 1))
        ruler = "├" + "─" * (cells - 1) + "┤" if cells else "│"
        lines.append(f"{ruler:{AXIS_CELLS}}  critical difference {critical_difference:.3f}")
    for name, rank in zip(names, ranks, strict=True):
        lines.append(f"{' ' * _cell(rank, n_rankings) + '●':{AXIS_CELLS}}  {name:{width}}  {rank:.3f}")
    for first, last in groups:
        start, stop = _cell(ranks[first], n_rankings), _cell(ranks[last], n_rankings)
        bar = " " * start + "━" * (stop - start + 1)
        lines.append(f"{bar:{AXIS_CELLS}}  no difference shown: {', '.join(names[first : last + 1])}")
    return "\n".join(line.rstrip() for line in lines)


def _axis(n_rankings: int) -> list[str]:
    """Return the numbers 1 to k and the axis below them."""
    step = -(-(n_rankings - 1) // 12)
    marks = [*range(1, n_rankings, step), n_rankings]
    numbers, axis = [" "] * (AXIS_CELLS + 3), ["─"] * AXIS_CELLS
    for mark in marks:
        cell, text = _cell(mark, n_rankings), str(mark)
        axis[cell] = "┼"
        numbers[cell : cell + len(text)] = text
    axis[0], axis[-1] = "├", "┤"
    return ["".join(numbers), "".join(axis)]


def _cell(rank: float, n_rankings: int) -> int:
    """Return the place of a rank on the axis, from 0 on."""
    return round((rank - 1) / (n_rankings - 1) * (AXIS_CELLS - 1))
