"""Columns of categories on Dask: counted part by part and merged, so that every part has the codes of one machine."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

from podium._validation import MatrixLike, PodiumError
from podium.data import Categories, CategoryCounts, CodedFrame, categorical_columns, count_categories, names_of_columns
from podium.distributed.part_table import Block
from podium.rankers.boosted_trees import TreeRanker, categories_before
from podium.rankers.categorical_ranker import check_categories_before, check_start_with_categories
from podium.rankers.score_start import InitModel

__all__ = ["Categories", "coded_block", "count_block", "shared_categories"]

Counts: TypeAlias = dict[int, CategoryCounts]
"""For each column of categories, the rows of each."""


def shared_categories(
    ranker: TreeRanker, layout: MatrixLike, init_model: InitModel, count: Callable[[list[int]], Sequence[Counts]]
) -> Categories:
    """Return the categories of the rows of all parts, or those that the trees to go on from mean by their sets.

    Parameters
    ----------
    ranker : LambdaMART or MART
    layout : array or frame
        The features without rows: how many there are, and for frames their names and types.
    init_model : ranker or None
        What the fit goes on from.
    count : callable
        Counts the categories of some columns in each part; it is not called where there are none.
    """
    columns, before = categorical_columns(layout, ranker.categorical_features), categories_before(init_model)
    if before is not None:
        check_categories_before(columns, before)
        return before
    parts = [one for one in count(columns) if one] if columns else []
    merged = {j: CategoryCounts.merged([one[j] for one in parts]) for j in columns}
    found = Categories.of_counts(merged, names_of_columns(layout))
    check_start_with_categories(found, init_model)
    return found


def count_block(block: Block, columns: Sequence[int], names: tuple[Hashable, ...] | None) -> Counts:
    """Count the categories of a block, which must have the columns of the others; one without rows has none."""
    if block.X.shape[0] == 0:
        return {}
    own = names_of_columns(block.X)
    if own != names:
        raise PodiumError(
            f"All parts must have the same columns; part {block.number} has {_listed(own)}, where the collection has "
            f"{_listed(names)}."
        )
    try:
        return count_categories(block.X, columns)
    except PodiumError as error:
        raise PodiumError(f"Part {block.number}: {error}") from None


def coded_block(block: Block, categories: Categories) -> Block:
    """Return a block with codes in its columns of categories; what is no category of theirs is missing."""
    if block.X.shape[0] == 0:
        return block._replace(categories=categories)
    try:
        coded = categories.encode(block.X)
    except PodiumError as error:
        raise PodiumError(f"Part {block.number}: {error}") from None
    if isinstance(coded, CodedFrame):
        frame = block.X.copy(deep=False)
        for name, codes in coded.codes.items():
            frame[name] = codes
        coded = frame
    return block._replace(X=coded, categories=categories)


def _listed(names: tuple[Hashable, ...] | None) -> str:
    """Say which columns a part has."""
    return "no names" if names is None else f"{len(names)} columns ({', '.join(map(str, names[:5]))}, …)"
