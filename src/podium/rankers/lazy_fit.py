"""Fits and predictions on Dask collections by a ranker's own methods; Dask itself is imported where it is used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TypeVar

from podium._validation import Array, PodiumError

AnyRanker = TypeVar("AnyRanker")


def is_lazy(X: object) -> bool:
    """Say whether X is a collection of Dask."""
    return hasattr(type(X), "__dask_graph__")


def fit_lazily(
    ranker: AnyRanker, X: object, y: object, given: Mapping[str, object], refused: Mapping[str, object]
) -> AnyRanker:
    """Train on the cluster in use; see `podium.distributed.fit`.

    Parameters
    ----------
    ranker : ranker
    X, y : Dask collections
    given : mapping
        Further arguments.
    refused : mapping
        Arguments that must not have been given.
    """
    for name, value in refused.items():
        if value is not None:
            raise PodiumError(f"{name} must not be given where X is a Dask collection; see podium.distributed.fit.")
    fitted: AnyRanker = import_module("podium.distributed").fit(ranker, X, y, **given)  # which imports rankers
    return fitted


def predict_lazily(ranker: object, X: object) -> Array:
    """Return the scores of the rows of a Dask collection, as one; see `podium.distributed.predict`."""
    scores: Array = import_module("podium.distributed").predict(ranker, X)
    return scores
