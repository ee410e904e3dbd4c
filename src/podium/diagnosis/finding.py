"""A finding: what is wrong with a data set, how bad it is, where it is, and what to do."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from podium._types import Json

SEVERITIES = ("error", "warning", "note")
"""error: nothing can be learned, or what is measured is not true; warning: look at it; note: good to know."""
MAX_LISTED = 5
"""Names in a sentence before the rest is only counted."""
MAX_PLACES = 1000
"""Queries and rows that a finding keeps; its sentence counts all."""


@dataclass(frozen=True)
class Finding:
    """One thing that a data set has.

    Attributes
    ----------
    code : str
        Name of the kind of finding, for programs: "constant-features".
    severity : {"error", "warning", "note"}
    sentence : str
        What it is, and what to do.
    features : tuple of str
        Names of features, or their numbers counted from 1 where they have no names.
    queries : tuple
        Ids of queries, the first thousand.
    rows : tuple of int
        Rows as the caller gave them, counted from 0, the first thousand.
    """

    code: str
    severity: str
    sentence: str
    features: tuple[str, ...] = ()
    queries: tuple[Hashable, ...] = ()
    rows: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Json]:
        """Return the finding as plain values, ready for JSON."""
        return {
            "code": self.code,
            "severity": self.severity,
            "sentence": self.sentence,
            "features": list(self.features),
            "queries": [one if isinstance(one, int | float) else str(one) for one in self.queries],
            "rows": list(self.rows),
        }


def counted(names: Sequence[object], noun: str, plural: str | None = None) -> str:
    """Return a number of things with the first of their names: ``2 features (a, b)``."""
    word = noun if len(names) == 1 else plural or f"{noun}s"
    rest = ", …" if len(names) > MAX_LISTED else ""
    return f"{len(names):,} {word} ({', '.join(map(str, names[:MAX_LISTED]))}{rest})"


def verb(names: Sequence[object], one: str, many: str) -> str:
    """Return the form of a verb that goes with so many things."""
    return one if len(names) == 1 else many
