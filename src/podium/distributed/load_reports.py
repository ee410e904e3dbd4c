"""What workers say of the rows that they have read must fit together."""

from __future__ import annotations

from collections.abc import Sequence

from podium._validation import PodiumError
from podium.distributed.held_part import LoadReport


def check_reports(reports: Sequence[LoadReport]) -> None:
    """Refuse workers that would compute different bits, and columns that differ."""
    for one in reports[1:]:
        if one.machine != reports[0].machine:
            raise PodiumError(
                f"All workers must have the same libraries and kind of processor; one has {reports[0].machine}, "
                f"another {one.machine}."
            )
    shapes = [(one.n_features, one.names, one.dtype, min(one.ids_of_blocks)) for one in reports if one.n_rows]
    for shape in shapes[1:]:
        if shape[:3] != shapes[0][:3]:
            raise PodiumError(
                f"All parts must have the same columns; part {shapes[0][3]} has {_text(shapes[0])}, part {shape[3]} "
                f"has {_text(shape)}."
            )


def _text(shape: tuple[int, tuple[str, ...] | None, str, int]) -> str:
    """Say which columns a part has."""
    names = "" if shape[1] is None else f" ({', '.join(shape[1][:5])}, …)"
    return f"{shape[0]} columns of {shape[2]}{names}"
