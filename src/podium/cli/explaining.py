"""The command that says why one document stands above another: explain."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from podium._validation import Array, PodiumError, near_matches
from podium.cli.files import columns_for, load_ranker, load_unlabelled
from podium.cli.options import Source
from podium.explain import json_value, value_text
from podium.rankers import Estimator
from podium.readers import RankingTable
from podium.report import shown_name


def explain(
    model_file: Path, source: Source, query: str | None, docs: tuple[str, str] | None, method: str | None, as_json: bool
) -> None:
    """Say why one document of a query stands above another, or what moves each document of the query."""
    model = load_ranker(model_file)
    table = load_unlabelled(source, model, with_queries=bool(source.qid))
    rows = rows_of_query(table, query)
    names = row_names(table, rows)
    features = _feature_names(model)
    X = columns_for(model, table)
    if docs is None:
        qid = np.isin(np.arange(table.X.shape[0]), rows)
        found = model.explain_query(X, qid, True, method=method)
        shown = replace(found, row_names=names, feature_names=features)
        print(json.dumps(shown.to_dict()) if as_json else shown)
        return
    places = [_place(one, names, table.docid is not None) for one in docs]
    if places[0] == places[1]:
        raise PodiumError(f"--docs must name two different documents; both are {docs[0]}.")
    a, b = (int(rows[place]) for place in places)
    called = names[places[0]], names[places[1]]
    pair = replace(model.explain(X, a, b, method=method), row_names=called, feature_names=features)
    changes = [] if pair.difference == 0 else model.what_if(X, a, b)
    if as_json:
        swaps = [
            {
                "feature": features[one.feature], "before": json_value(one.before), "after": json_value(one.after),
                "score": one.score,
            }
            for one in changes
        ]  # fmt: skip
        print(json.dumps({**pair.to_dict(), "docs": list(called), "swaps": swaps}))
        return
    print(pair)
    if changes:
        print(f"Any one of these changes of {called[0]} would swap them:")
    elif pair.difference != 0:
        print(f"No change of one feature of {called[0]} alone would swap them.")
    for one in changes:
        print(f"  {features[one.feature]} from {value_text(one.before)} to {value_text(one.after)}")


def rows_of_query(table: RankingTable, query: str | None) -> Array:
    """Return the rows of the query that --query names; of the only one without it."""
    n_rows = table.X.shape[0]
    if table.qid is None:
        return np.arange(n_rows)
    names = np.array([str(one) for one in table.qid.tolist()])
    if query is None:
        if len(np.unique(names)) > 1:
            raise PodiumError(f"Give --query: the file has {len(np.unique(names))} queries, such as {names[0]}.")
        return np.arange(n_rows)
    rows = np.flatnonzero(names == query)
    if len(rows) == 0:
        raise PodiumError(
            f"--query must be one of the file's; {query!r} is not{near_matches(query, np.unique(names))}."
        )
    return rows


def row_names(table: RankingTable, rows: Array) -> tuple[str, ...]:
    """Return what the rows of a query are called: by their documents, or by their places in the query from 1 on."""
    if table.docid is None:
        return tuple(f"document {place + 1}" for place in range(len(rows)))
    return tuple(str(one) for one in table.docid[rows].tolist())


def _place(name: str, names: tuple[str, ...], are_given: bool) -> int:
    """Return the place of a document in its query, by its name if the file gives names, else by its number from 1."""
    wanted = name if are_given else f"document {name}"
    if wanted in names:
        return names.index(wanted)
    if not are_given:
        raise PodiumError(f"--docs must be places in the query, from 1 to {len(names)}; got {name!r}.")
    known = near_matches(name, names) or f"; there are {', '.join(names[:3])}{' …' if len(names) > 3 else ''}"
    raise PodiumError(f"--docs must name documents of the query; {name!r} is not one{known}.")


def _feature_names(model: Estimator) -> tuple[str, ...]:
    """Return the names of the columns; of a LETOR file, whose features are counted from 1, their numbers."""
    names = model._names() or tuple(str(j + 1) for j in range(model.n_features_in_))
    return tuple(map(shown_name, names))
