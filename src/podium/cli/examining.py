"""Commands that look at data: data, doctor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from podium._types import MatrixLike
from podium._validation import Array
from podium.cli.files import beside_pairs, column_names, format_of, load_table, named_columns, opened
from podium.cli.options import Source
from podium.cli.output import show
from podium.diagnosis import doctor
from podium.readers import RankingTable


def describe_data(source: Source, pairs: Path | None, as_json: bool) -> None:
    """Say what a data file holds, and the pairs of its rows that another may hold."""
    from podium.report import describe  # here: it takes longer to import than all else

    if pairs is not None:
        from podium.cli.preferences import describe_pairs

        describe_pairs(source, pairs, as_json)
        return
    table = load_table(*source)
    show(describe(table.X, np.asarray(table.y), qid=table.qid, feature_names=column_names(table)), as_json)


def examine(source: Source, test: Path | None, pairs: Path | None, as_json: bool) -> None:
    """Look at a data file, beside test data and explicit pairs where there are some."""
    table, given = (load_table(*source), {}) if pairs is None else _rows_and_pairs(source, pairs)
    if test is not None:
        other = source._replace(file=test, query_sizes=None)
        with opened(other) as file:
            given["test"] = _held_out(file if pairs is None else beside_pairs(file), table)
    show(doctor(named_columns(table), table.y, qid=table.qid, n_jobs=-1, **given), as_json)


def _rows_and_pairs(source: Source, pairs: Path) -> tuple[RankingTable, dict[str, Any]]:
    """Read rows and pairs of them; return the rows, and the pairs as `doctor` takes them."""
    from podium.cli.preferences import PairOptions, load_items, pairs_of_rows  # here: it imports all rankers

    table, items = load_items(source, PairOptions(pairs))
    return table, pairs_of_rows(pairs, items)


def _held_out(source: Source, like: RankingTable) -> tuple[MatrixLike, Array | None, Array | None]:
    """Read test data as the training data were; rows that --qid '' makes one query have no id that both could share."""
    is_letor = format_of(source.file, source.file_format) == "letor"
    named = source._replace(qid=source.qid or "qid") if is_letor else source  # LETOR files name queries by themselves
    table = load_table(*named, n_features=like.X.shape[1], sparse=sp.issparse(like.X))
    return named_columns(table), table.y, table.qid if named.qid else None
