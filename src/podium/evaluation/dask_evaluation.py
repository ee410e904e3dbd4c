"""Measures of Dask collections: the values of all queries, computed block by block on the workers.

Rows are regrouped so that each block has whole queries; what comes back is some numbers a query, from which the driver
takes the means and intervals of `evaluate` on the same rows, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from podium._validation import Array, PodiumError, check_labels, check_queries, check_scores
from podium.data import group_rows
from podium.distributed.dask_blocks import Source
from podium.distributed.part_table import Block
from podium.measures import Measure, QueryValues, measure_many
from podium.measures.conventions import convention_rules


def values_of_collections(
    y: Any, scores: object, qid: object, measures: Sequence[Measure], options: Mapping[str, Any]
) -> tuple[Array, dict[str, QueryValues]]:
    """Return the ids of all queries, ascending, and the values of each measure.

    Parameters
    ----------
    y, scores, qid : Dask arrays or series
        Partitioned alike.
    measures : sequence of Measure
    options : mapping
        Of `measure_many`.
    """
    import dask

    source = Source.of(scores, y, qid, name="scores")
    source = source.regrouped(len(source.blocks))
    options = dict(options)
    if options.get("max_grade") is None and _needs_highest_label(measures, options):
        options["max_grade"] = float(np.asarray(dask.compute(y.max())[0]))
    delayed = dask.delayed(_block_values, pure=False)
    found = [one for one in dask.compute(*(delayed(block, measures, options) for block in source.blocks)) if one]
    if not found:
        raise PodiumError("y is empty: there is nothing to evaluate.")
    ids = np.concatenate([ids for ids, _ in found])
    order = np.argsort(ids, kind="stable")
    return ids[order], {m.name: _joined([values[m.name] for _, values in found], order) for m in measures}


def _needs_highest_label(measures: Sequence[Measure], options: Mapping[str, Any]) -> bool:
    """Say whether a measure goes by the highest of all labels, which a block may not have."""
    given = convention_rules(options.get("convention", "podium")).max_grade is not None
    return not given and any("max_grade" in measure.definition.uses for measure in measures)


def _block_values(
    block: Block, measures: Sequence[Measure], options: Mapping[str, Any]
) -> tuple[Array, dict[str, QueryValues]] | None:
    """Measure the queries of one block; None where it has no row."""
    n_rows = len(block.X)
    if n_rows == 0:
        return None
    labels, given = check_labels(block.y, n_rows), check_scores(block.X, n_rows, "scores")
    queries = group_rows(*check_queries(block.qid, None, n_rows))
    found = measure_many(measures, labels[queries.rows], given[queries.rows], queries.offsets, **options)
    return queries.ids, found


def _joined(parts: Sequence[QueryValues], order: Array) -> QueryValues:
    """Return the values of all blocks, in another order."""
    values, weights, empty = (
        np.concatenate([getattr(part, name) for part in parts])[order] for name in ("values", "weights", "empty")
    )
    lacking = parts[0].lacking if all(part.lacking for part in parts) else ""
    return QueryValues(values, weights, empty, lacking)
