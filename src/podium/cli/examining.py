"""The command that says what is wrong with data: doctor."""

from __future__ import annotations

from pathlib import Path

import scipy.sparse as sp

from podium.cli.files import load_table, named_columns
from podium.cli.options import Source
from podium.cli.output import show
from podium.diagnosis import doctor
from podium.readers import read_pairs


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
