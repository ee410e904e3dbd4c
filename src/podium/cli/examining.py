"""Commands that look at data: data, doctor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from podium.cli.files import column_names, load_table, named_columns
from podium.cli.options import Source
from podium.cli.output import show
from podium.diagnosis import doctor
from podium.readers import read_pairs


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
    table = load_table(*source)
    held_out = None
    if test is not None:
        like = {"n_features": table.X.shape[1], "sparse": sp.issparse(table.X)}
        other = load_table(*source._replace(file=test, query_sizes=None), **like)
        held_out = (named_columns(other), other.y, other.qid)
    given = None if pairs is None else read_pairs(pairs)
    show(doctor(named_columns(table), table.y, qid=table.qid, pairs=given, test=held_out, n_jobs=-1), as_json)
