"""Grades on Dask that are no numbers: the labels of all parts, in one order, and their numbers in every part."""

from __future__ import annotations

from podium._validation import Array, PodiumError
from podium.distributed.part_table import Block
from podium.ordinal import OwnLabels, grades_of, merged_labels

__all__ = ["graded_block", "labels_of_block", "merged_labels"]


def labels_of_block(block: Block) -> OwnLabels | None:
    """Return the labels of a block; one without rows has none."""
    n_rows = int(block.X.shape[0])
    if n_rows == 0:
        return None
    try:
        return OwnLabels.of(block.y, n_rows)
    except PodiumError as error:
        raise PodiumError(f"Part {block.number}: {error}") from None


def graded_block(block: Block, classes: Array, name: str) -> Block:
    """Return a block with numbers of grades for its labels, which must be among `classes`."""
    n_rows = int(block.X.shape[0])
    try:
        grades = grades_of(block.y, n_rows, classes) if n_rows else block.y
    except PodiumError as error:
        raise PodiumError(f"{name}Part {block.number}: {error}") from None
    return block._replace(y=grades, n_grades=len(classes))
