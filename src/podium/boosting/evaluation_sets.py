"""Evaluation sets: further data whose predictions follow the rounds, measured after each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from podium._compiled import SCORE
from podium._types import Features
from podium._validation import Array, PodiumError
from podium.data import RankingData
from podium.measures import Measure, mean_pair_errors, measure_many, refuse_label_measures, split_pair_measures

SeenRound = TypeVar("SeenRound", contravariant=True)


class Predictor(Protocol):
    """What a round learned."""

    def predict(self, X: Features) -> Array:
        """Return the value of each row of a checked matrix."""


class ScoredRound(Protocol):
    """A round that adds ``alpha * ranking.predict(X)`` to the scores."""

    @property
    def ranking(self) -> Predictor:
        """What the round learned, with a method `predict`."""

    @property
    def alpha(self) -> float:
        """Its weight."""


class Staged(Protocol[SeenRound]):
    """Predictions of some rows that follow the rounds."""

    def add(self, round_: SeenRound) -> Array:
        """Take a round in and return the predictions after it."""


class StagedScores:
    """Scores of some rows that follow the rounds.

    Parameters
    ----------
    features : ndarray or scipy.sparse.csc_array
    start : ndarray of float64 or float
        Scores before the first round.
    """

    def __init__(self, features: Features, start: Array | float = 0.0) -> None:
        self.features, self.scores = features, np.zeros(features.shape[0], SCORE)
        self.scores += start

    def add(self, round_: ScoredRound) -> Array:
        """Add a round and return the scores."""
        self.scores += round_.alpha * round_.ranking.predict(self.features)
        return self.scores


class EvaluationSet(Generic[SeenRound]):
    """Data that is measured after each round.

    Parameters
    ----------
    number : int
        Place among the evaluation sets.
    staged : Staged
        Predictions of its rows.
    measure : callable
        ``measure(predictions)`` is the value of each criterion by its name.
    name : str
        As the caller gave it, if so.

    Attributes
    ----------
    name : str
        Key in the history: as given, else validation_0 and so on.
    """

    def __init__(
        self, number: int, staged: Staged[SeenRound], measure: Callable[[Array], dict[str, float]], name: str = ""
    ) -> None:
        self.name, self.staged, self.measure = name or f"validation_{number}", staged, measure

    def add(self, round_: SeenRound) -> dict[str, float]:
        """Take a round in and return the value of each criterion by its name."""
        return self.measure(self.staged.add(round_))


class _EvalData(Protocol):
    """A dataclass of rows, with a field `name`."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


AnyData = TypeVar("AnyData", bound=_EvalData)


def named_sets(evals: list[AnyData], names: object) -> list[AnyData]:
    """Return the data of evaluation sets, called as `eval_names` says; as they are without it."""
    if names is None:
        return evals
    given = list(names) if isinstance(names, list | tuple) else []
    if len(given) != len(evals) or len({name for name in given if isinstance(name, str) and name}) < len(given):
        raise PodiumError(
            f"eval_names must be {len(evals)} strings, one per eval_set, that differ from each other; got {names!r}."
        )
    return [replace(one, name=name) for one, name in zip(evals, given, strict=True)]


def evaluation_sets(
    evals: Sequence[RankingData],
    measures: Sequence[Measure],
    n_threads: int,
    start: Callable[[Features], Array | float] = lambda _: 0.0,
) -> list[EvaluationSet[ScoredRound]]:
    """Return sets with labels and queries, measured by the means of measures.

    Parameters
    ----------
    evals : sequence of RankingData
    measures : sequence of Measure
    n_threads : int
    start : callable
        From features to the scores before the first round.
    """
    return measured_sets(evals, measures, n_threads, lambda data: StagedScores(data.features, start(data.features)))


def measured_sets(
    evals: Sequence[RankingData],
    measures: Sequence[Measure],
    n_threads: int,
    staged: Callable[[RankingData], Staged[SeenRound]],
) -> list[EvaluationSet[SeenRound]]:
    """Return sets with labels and queries, whose scores follow the rounds as `staged` says for each."""
    return [
        EvaluationSet(number, staged(data), _means(data, measures, n_threads), data.name)
        for number, data in enumerate(evals)
    ]


def _means(data: RankingData, measures: Sequence[Measure], n_threads: int) -> Callable[[Array], dict[str, float]]:
    """Return a function from the scores of the rows, in the caller's order, to the mean of each measure.

    Explicit pairs, where there are any, are what measures of pairs are taken of, and labels what the others are.
    """
    labels, pairs, queries = data.labels, data.pairs, data.queries
    if labels is None and pairs is None:
        raise PodiumError("An evaluation set must have labels or pairs: eval_set is a list of (X, y).")
    if labels is None:
        refuse_label_measures(measures, "set eval_metric to one of them, or give labels in eval_set")
    of_pairs, of_labels = ([], list(measures)) if pairs is None else split_pair_measures(measures)

    def measure(scores: Array) -> dict[str, float]:
        """Return the mean of each measure by its name."""
        grouped, found = scores[queries.rows], {}
        if pairs is not None:
            found.update(mean_pair_errors(of_pairs, *pairs, grouped))
        if labels is not None and of_labels:
            values = measure_many(of_labels, labels, grouped, queries.offsets, n_jobs=n_threads)
            found.update({name: one.mean for name, one in values.items()})
        return found

    return measure
