"""What would change if another program scored the rows: scores, orders, and an example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from podium._types import Json
from podium._validation import Array
from podium.measures.pairwise import permutation_inversions

LEAST_CHANGE = 1e-6
"""A score is called changed if it moved by more than this share of the largest score: more than rounding to float32."""
KINDS = ("reversed_pairs", "newly_tied_pairs", "newly_parted_pairs")


@dataclass(frozen=True)
class Change:
    """A row that another program scores otherwise.

    Attributes
    ----------
    row : int
        Its number.
    ours, theirs : float
        Its score here and there.
    why : str
        Where it takes another way, or how sums differ.
    """

    row: int
    ours: float
    theirs: float
    why: str


@dataclass(frozen=True)
class ExportReport:
    """What another program makes of a model: ``print(report)`` says it in words.

    Attributes
    ----------
    format : str
    n_rows, n_queries, n_pairs : int
        Pairs are those of two rows of a query.
    changed_scores : int
        Rows whose score moves by more than a millionth of the largest score.
    largest_difference : float
        Of the two scores of a row.
    changed_pairs : int
        Pairs that are ordered the other way round, or tied where they were not, or the reverse.
    reversed_pairs, newly_tied_pairs, newly_parted_pairs : int
        Their three kinds.
    changed_queries : int
        Queries with a changed pair.
    example : Change or None
        The row whose score moves most, if a score or an order changes.
    pair : tuple of int, or None
        The two rows of the changed pair whose scores lay farthest apart here.
    """

    format: str
    n_rows: int
    n_queries: int
    n_pairs: int
    changed_scores: int
    largest_difference: float
    reversed_pairs: int
    newly_tied_pairs: int
    newly_parted_pairs: int
    changed_queries: int
    example: Change | None
    pair: tuple[int, int] | None

    @property
    def changed_pairs(self) -> int:
        """Pairs whose order changes in one of the three ways."""
        return self.reversed_pairs + self.newly_tied_pairs + self.newly_parted_pairs

    @property
    def same_order(self) -> bool:
        """Whether every query keeps its order, ties included."""
        return self.changed_pairs == 0

    def to_dict(self) -> dict[str, Json]:
        """Return the report as plain values, ready for JSON."""
        return {**asdict(self), "changed_pairs": self.changed_pairs, "same_order": self.same_order}

    def __str__(self) -> str:
        lines = [
            f"{self.format}: {self.changed_scores:,} of {self.n_rows:,} scores change; the largest difference is "
            f"{self.largest_difference:.3g}.",
            f"{self.changed_pairs:,} of {self.n_pairs:,} pairs change their order ({self.reversed_pairs:,} reversed, "
            f"{self.newly_tied_pairs:,} tied, {self.newly_parted_pairs:,} no longer tied), in {self.changed_queries:,} "
            f"of {self.n_queries:,} queries.",
        ]
        if self.pair is not None:
            lines.append(f"Rows {self.pair[0]} and {self.pair[1]} change their order.")
        if self.example is not None:
            one = self.example
            lines.append(f"Row {one.row} scores {one.ours:.9g} here and {one.theirs:.9g} there: {one.why}.")
        return "\n".join(lines)


def compare_scores(
    name: str, ours: Array, theirs: Array, query: Array, why: Callable[[int], str] = lambda row: ""
) -> ExportReport:
    """Count what changes from our scores to another program's.

    Parameters
    ----------
    name : str
        Of the format.
    ours, theirs : ndarray
        Scores of the same rows.
    query : ndarray of int64
        Query number of each row.
    why : callable
        ``why(row)`` says why the score of a row is another.
    """
    order = np.argsort(query, kind="stable")
    bounds = np.flatnonzero(np.diff(query[order], prepend=-1, append=np.iinfo(np.int64).max))
    found = [_changed_pairs(ours, theirs, order[a:b]) for a, b in pairwise(bounds.tolist())]
    counts = np.array([one.counts for one in found])
    farthest = max(found, key=lambda one: one.gap)
    difference = np.abs(theirs.astype(np.float64) - ours)
    changed = int((~(difference <= LEAST_CHANGE * np.abs(ours).max())).sum())
    most, sizes = int(np.argmax(difference)), np.diff(bounds)
    anything = changed > 0 or farthest.gap >= 0
    return ExportReport(
        format=name,
        n_rows=len(ours),
        n_queries=len(sizes),
        n_pairs=int((sizes * (sizes - 1) // 2).sum()),
        changed_scores=changed,
        largest_difference=float(difference.max()),
        **dict(zip(KINDS, counts.sum(axis=0).tolist(), strict=True)),
        changed_queries=int(counts.any(axis=1).sum()),
        example=Change(most, float(ours[most]), float(theirs[most]), why(most)) if anything else None,
        pair=farthest.rows if farthest.gap >= 0 else None,
    )


class _Changed(NamedTuple):
    """Changed pairs of a query: how many of each kind, and the one that lay farthest apart, with that gap; else -1."""

    counts: list[int]
    gap: float
    rows: tuple[int, int]


def _changed_pairs(ours: Array, theirs: Array, rows: Array) -> _Changed:
    """Look at all pairs of a query, in O(n log n)."""
    order = rows[np.lexsort((theirs[rows], ours[rows]))]
    here, there = ours[order], theirs[order]
    swapped = np.argsort(there, kind="stable")
    same_here, same_there = (values[1:] == values[:-1] for values in (here, there[swapped]))
    same_both = _pairs_in_runs(same_here & (there[1:] == there[:-1]))
    parted = _pairs_in_runs(same_here) - same_both
    counts = [int(permutation_inversions(swapped)), _pairs_in_runs(same_there) - same_both, parted]
    gap, pair = _farthest(here, there)
    if gap == 0 and parted:
        first = int(np.argmax(same_here & (there[1:] != there[:-1])))
        pair = (first, first + 1)
    one, two = sorted(order[list(pair)].tolist())
    return _Changed(counts, gap if any(counts) else -1.0, (one, two))


def _pairs_in_runs(same: Array) -> int:
    """Return how many pairs lie in one run, ``same[i]`` saying that i + 1 goes on the run of i."""
    sizes = np.diff(np.flatnonzero(np.concatenate([[True], ~same, [True]])))
    return int((sizes * (sizes - 1) // 2).sum())


def _farthest(here: Array, there: Array) -> tuple[float, tuple[int, int]]:
    """Return the largest fall of `here` between two places of which the second is not lower there, and the places."""
    order = np.lexsort((-here, there))
    fall = np.maximum.accumulate(here[order]) - here[order]
    low = int(np.argmax(fall))
    high = int(np.argmax(here[order[: low + 1]]))
    return float(fall[low]), (int(order[high]), int(order[low]))
