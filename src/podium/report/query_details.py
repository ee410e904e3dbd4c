"""The rankings that a page shows: documents with labels and scores, and what each feature adds to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium._compiled import ROW
from podium._sparse import take_rows
from podium._types import Features, Json
from podium._validation import Array, PodiumError
from podium.explain import Contributions, contributions_of, used_features
from podium.export import Exported, TreeSum
from podium.rankers import Estimator
from podium.report.judged_rows import JudgedRows
from podium.report.query_sample import choose_documents
from podium.report.shipped_model import packed, shipped_model

MAX_FEATURES = 200
"""Features whose values a page holds; of more, what those of least importance add is one number."""


@dataclass(frozen=True, eq=False)
class Explainer:
    """What says how features make scores, or why nothing does.

    Attributes
    ----------
    record : TreeSum, Linear or None
        The model as a sum of trees or of features.
    refusal : str
        Why there is none.
    features : ndarray of int64
        Features that a page holds, ascending.
    has_rest : bool
        Whether scores hang on others too.
    shipped : dict or None
        The model for the page's script; None where it is too large, and contributions are computed ahead.
    """

    record: Exported | None
    refusal: str
    features: Array
    has_rest: bool
    shipped: dict[str, Json] | None

    @classmethod
    def of(cls, judged: JudgedRows) -> Explainer:
        """Return the explainer of a model."""
        record, refusal = None, ""
        try:
            record = judged.model._explained()
        except PodiumError as error:
            refusal = str(error)
        n_features = judged.model.n_features_in_
        used = np.arange(n_features) if record is None else np.array(used_features(record), ROW)
        if len(used) > MAX_FEATURES:
            weight = np.asarray(getattr(judged.model, "feature_importances_", np.zeros(n_features)), float)[used]
            kept = np.sort(used[np.argsort(-weight, kind="stable")[:MAX_FEATURES]])
            return cls(record, refusal, kept, True, None)
        return cls(record, refusal, used, False, None if record is None else shipped_model(record, used))


def query_details(judged: JudgedRows, chosen: Array, values: dict[str, Array], explainer: Explainer) -> dict[str, Json]:
    """Return the rankings of some queries, ready for JSON.

    Parameters
    ----------
    judged : JudgedRows
    chosen : ndarray of int64
        Queries.
    values : dict of str to ndarray
        Value of each measure for each query.
    explainer : Explainer

    Returns
    -------
    dict
        ``queries`` with documents in the order of their rankings, and numbers of documents times features, row after
        row: ``feature_values``, NaN being missing. What stands between two documents is what ``model`` says of their
        values; of a model too large for the page, the difference of their ``contributions``, which have one more column
        where the page does not hold all features.
    """
    places = [choose_documents(judged.labels[judged.rows_of(query)]) for query in chosen.tolist()]
    rows = [judged.rows_of(query)[own] for query, own in zip(chosen.tolist(), places, strict=True)]
    shown, ends = take_rows(judged.features, np.concatenate(rows)), np.cumsum([len(own) for own in rows])
    within = [np.arange(end - len(own), end) for own, end in zip(rows, ends.tolist(), strict=True)]
    numbers = np.concatenate([judged.model._rows_as_read(shown, own)[:, explainer.features] for own in within])
    kind = "<f4" if np.array_equal(numbers.astype("<f4"), numbers, equal_nan=True) else "<f8"
    teller = None if explainer.record is None else contributions_of(explainer.record, None, explainer.shipped is None)
    parts = None
    if teller is not None and explainer.shipped is None:
        parts = _contributions(judged.model, shown, within, explainer, teller)
    listed: list[Json] = [
        {
            "id": str(judged.query_ids[query]),
            "size": int(judged.sizes[query]),
            "values": [float(one[query]) for one in values.values()],
            "names": judged.names_of(own),
            "places": _positions(judged.scores[judged.rows_of(query)])[at].tolist(),
            "labels": judged.labels[own].tolist(),
            "scores": judged.scores[own].tolist(),
        }
        for query, own, at in zip(chosen.tolist(), rows, places, strict=True)
    ]
    return {
        "measures": list(values),
        "total": len(judged.query_ids),
        "features": [judged.feature_names[j] for j in explainer.features.tolist()],
        "categories": _categories(explainer),
        "has_rest": explainer.has_rest,
        "refusal": explainer.refusal,
        "method": "" if teller is None else teller.method,
        "queries": listed,
        "value_kind": kind,
        "feature_values": packed(numbers, kind),
        "model": explainer.shipped,
        "contributions": None if parts is None else packed(parts, "<f4"),
    }


def _contributions(
    model: Estimator, shown: Features, within: list[Array], explainer: Explainer, teller: Contributions
) -> Array:
    """Return what each feature adds to the score of each shown row against its query, all others in a last column."""
    found = []
    for own in within:
        parts = model._explained_rows(shown, own, teller).contributions
        kept = parts[:, explainer.features]
        found.append(np.column_stack([kept, parts.sum(axis=1) - kept.sum(axis=1)]))
    together: Array = np.concatenate(found)
    return together if explainer.has_rest else together[:, :-1]


def _positions(scores: Array) -> Array:
    """Return the place of each of falling scores, equal ones sharing the best of their places."""
    places: Array = 1 + np.searchsorted(-scores, -scores, side="left")
    return places


def _categories(explainer: Explainer) -> dict[str, Json]:
    """Return what the values 0, 1, … of each categorical feature stand for, by its place on the page."""
    if not isinstance(explainer.record, TreeSum):
        return {}
    known, places = explainer.record.categories, {int(j): i for i, j in enumerate(explainer.features)}
    return {str(places[j]): [str(one) for one in values] for j, values in known.items() if j in places}
