"""Importance of features by permutation: how much worse a measure gets if a feature is shuffled within each query.

A feature whose values change places among the rows of a query keeps its distribution there and loses what it says of
them (Breiman 2001, "Random forests", section 10). What tells queries apart, but not rows, cannot rank: it counts 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from rich.table import Table

from podium._magnitudes import check_integer
from podium._result_frames import Columns, Framed
from podium._sparse import dense_rows, take_rows
from podium._types import Json, MatrixLike
from podium._validation import Array, PodiumError, check_choice
from podium.data import RankingData, warn_of_one_query
from podium.evaluation.queries import resampling_settings
from podium.evaluation.resampling import bootstrap_interval
from podium.evaluation.results import plain_text, table_of
from podium.measures import Measure, QueryValues, measure_queries, parse_measure, weighted_mean

if TYPE_CHECKING:
    from podium.rankers import Estimator


@dataclass(frozen=True)
class FeatureDrop:
    """What a measure loses without one feature.

    Attributes
    ----------
    name : str
    drop : float
        Mean over queries and repeats, positive where the measure gets worse.
    low, high : float
        Bootstrap interval over queries, of their means over repeats: it holds the noise of the shuffling too.
    """

    name: str
    drop: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class PermutationImportance(Framed):
    """Importance of features by permutation within queries, the largest drop first: ``print`` shows a table.

    Attributes
    ----------
    measure : str
    value : float
        Of the measure with all features as they are.
    drops : tuple of FeatureDrop
    settings : dict
        Repeats, confidence, resamples and seed.
    """

    measure: str
    value: float
    drops: tuple[FeatureDrop, ...]
    settings: dict[str, Any]

    def __getitem__(self, name: str) -> FeatureDrop:
        known = {one.name: one for one in self.drops}
        return known[check_choice(name, known, "A feature")]

    def to_dict(self) -> dict[str, Json]:
        """Return everything as plain values, ready for JSON."""
        rows: list[Json] = [vars(one) for one in self.drops]
        return {"measure": self.measure, "value": self.value, "settings": self.settings, "features": rows}

    def columns(self) -> Columns:
        """Return a row for each feature, as columns: name, drop, low, high."""
        return {name: [getattr(one, name) for one in self.drops] for name in ("name", "drop", "low", "high")}

    def table(self) -> Table:
        """Return the drops as a rich table."""
        level = f"{100 * self.settings['confidence']:g}% interval"
        rows = [[one.name, f"{one.drop:+.4f}", f"{one.low:+.4f} … {one.high:+.4f}"] for one in self.drops]
        title = f"{self.measure} {self.value:.4f}: what it loses if a feature is shuffled within queries"
        return table_of(title, ["feature", "drop", level], rows)

    def __str__(self) -> str:
        return plain_text(self.table())


def permutation_importance(
    model: Estimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    measure: str = "ndcg@10",
    features: Sequence[str | int] | None = None,
    n_repeats: int = 5,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: int = 0,
) -> PermutationImportance:
    """Measure how much worse a ranker gets if one feature at a time is shuffled within queries.

    Parameters
    ----------
    model : fitted ranker
    X, y, qid, group
        Data to measure on, best such that the model has not learned from.
    measure : str
        Such as "ndcg@10".
    features : sequence of str or int, optional
        Names or numbers of features; by default all. Those that scores do not depend on lose nothing and cost nothing.
    n_repeats : int
        Shuffles of each feature.
    confidence, n_resamples, random_state
        Of the intervals, as for `evaluate`; the seed is that of the shuffles too. The answer does not depend on the
        order of rows or queries, nor on which other features are asked for.

    Returns
    -------
    PermutationImportance

    Examples
    --------
    >>> from podium import RankBoost, make_search
    >>> data = make_search(20, docs_per_query=10, n_features=5)
    >>> model = RankBoost(20).fit(data.X, data.y, qid=data.qid)
    >>> len(permutation_importance(model, data.X, data.y, qid=data.qid).drops)
    5
    """
    from podium.explain import names_or_numbers  # here: measures alone need no exports, which take long to import

    settings = resampling_settings(confidence, n_resamples, random_state)
    check_integer(n_repeats, "n_repeats", 1)
    parsed, names = parse_measure(measure), names_or_numbers(model._names(), model.n_features_in_)
    data = RankingData.from_arrays(model._check_rows(X), y, qid=qid, group=group)
    if not data.queries_given:
        warn_of_one_query(data.labels, "", "group=[{}]")
    if data.labels is None:
        raise PodiumError("y must be given: the labels that the measure is of.")
    chosen = range(len(names)) if features is None else [_number(one, names) for one in features]
    trial = _Trial(model, parsed, data, data.labels)
    drops = [trial.drop(feature, names[feature], n_repeats, settings) for feature in chosen]
    ordered = sorted(drops, key=lambda one: -one.drop)
    return PermutationImportance(parsed.name, trial.base.mean, tuple(ordered), {"n_repeats": n_repeats, **settings})


class _Trial:
    """Rows in their canonical order, and what a model is worth on them."""

    def __init__(self, model: Estimator, measure: Measure, data: RankingData, labels: Array) -> None:
        self.model, self.measure, self.labels, self.offsets = model, measure, labels, data.queries.offsets
        self.rows = np.array(dense_rows(take_rows(data.features, data.queries.rows)))
        self.query = np.repeat(np.arange(len(data.queries)), data.queries.sizes)
        self.used = _used(model)
        self.base = self._measured(self.rows)

    def drop(self, feature: int, name: str, n_repeats: int, settings: dict[str, Any]) -> FeatureDrop:
        """Return what the measure loses without one feature."""
        if self.used is not None and feature not in self.used:
            return FeatureDrop(name, 0.0, 0.0, 0.0)
        lost = np.mean([self._lost(feature, [settings["random_state"], feature, n]) for n in range(n_repeats)], axis=0)
        low, high = bootstrap_interval(lost, self.base.weights, **settings)
        return FeatureDrop(name, weighted_mean(lost, self.base.weights), low, high)

    def _lost(self, feature: int, seed: list[int]) -> Array:
        """Return what each query loses by one shuffle."""
        order = np.lexsort((np.random.default_rng(seed).random(len(self.query)), self.query))
        column = self.rows[:, feature].copy()
        self.rows[:, feature] = column[order]
        changed = self._measured(self.rows)
        self.rows[:, feature] = column
        lost: Array = np.subtract(self.base.values, changed.values)
        return lost if self.measure.higher_is_better else -lost

    def _measured(self, rows: Array) -> QueryValues:
        return measure_queries(self.measure, self.labels, self.model._score(rows), self.offsets)


def _used(model: Estimator) -> set[int] | None:
    """Return the features that scores depend on; None where that is not known."""
    from podium.explain import used_features

    try:
        return set(used_features(model._exported()))
    except PodiumError:
        return None


def _number(feature: object, names: tuple[str, ...]) -> int:
    """Return the number of a feature given by name or number."""
    if isinstance(feature, int | np.integer) and 0 <= feature < len(names):
        return int(feature)
    return names.index(check_choice(feature, names, "A feature"))
