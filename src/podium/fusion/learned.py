"""Fusion learned by RankBoost: each run is a ranking feature.

Freund, Iyer, Schapire and Singer (2003), "RB", sections 2.1 and 6.1. Judged candidates are the rows, their grades the
feedback, each query weighing the same. Options are chosen on folds that the fold they are used for has no part in. For
that, a fit that leaves out two folds serves twice, for the choice of either: K (K - 1) / 2 fits for each setting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from podium._compiled import ROW, run_threads
from podium._validation import Array, PodiumError
from podium.fusion.candidates import Candidates
from podium.fusion.formulas import zero_mean
from podium.fusion.judged_scores import JudgedScores
from podium.measures import Measure, weighted_mean
from podium.rankers import RankBoost

UNRETRIEVED: dict[str, Any] = {"lowest": 0, "abstains": "learn"}
"""What a run says of a document that it did not retrieve, and RankBoost's `abstain` for it."""
FEATURES = ("places", "scores")
"""What a run says of those it did: minus their places, or their scores with zero mean and unit variance a query."""
ROUNDS = (50, 100)
MAX_OTHERS = 200
"""Documents of a query that are not relevant, to learn from: more take longer and gain nothing."""


@dataclass(frozen=True)
class Setting:
    """Options of a learned fusion.

    Attributes
    ----------
    features : {"places", "scores"}
    unretrieved : {"lowest", "abstains"}
        Whether a document that a run did not retrieve stands below those that it did, or the data decide.
    n_rounds : int
    """

    features: str
    unretrieved: str
    n_rounds: int

    def __str__(self) -> str:
        return f"{self.features}, unretrieved {self.unretrieved}, {self.n_rounds} rounds"


SETTINGS = tuple(Setting(*one) for one in product(FEATURES, UNRETRIEVED, ROUNDS))


@dataclass(frozen=True, eq=False)
class LearnedFusion:
    """What was learned from judgements.

    Attributes
    ----------
    scores : ndarray of float64, one a candidate
        Of judged queries by models that have not seen the query's fold, of others by `model`.
    settings : tuple of Setting
        Chosen for each fold.
    setting : Setting
        Chosen for `model`.
    model : RankBoost
        Learned from all judged queries.
    """

    scores: Array
    settings: tuple[Setting, ...]
    setting: Setting
    model: RankBoost


def learn_fusion(
    judged: JudgedScores, measure: Measure, depth: int | None, n_folds: int, random_state: int, n_threads: int
) -> LearnedFusion:
    """Learn to fuse from judgements, with options chosen by a measure on inner folds."""
    task = _Task(judged, measure, depth, n_folds, random_state)
    inner = run_threads(task.inner_values, combinations(range(n_folds), 2), n_threads)
    settings = tuple(_best([one[fold] for one in inner if fold in one], measure) for fold in range(n_folds))
    setting = _best([values for one in inner for values in one.values()], measure)
    outer = run_threads(task.outer_scores, enumerate(settings), n_threads)
    model = task.fit(setting, np.flatnonzero(task.fold >= 0))
    scores = task.score(model, setting, np.arange(len(task.fold)))
    for fold, own in enumerate(outer):
        scores[task.fold == fold] = own
    return LearnedFusion(scores, settings, setting, model)


class _Task:
    """Candidates as rows and features, their judgements as labels, and folds of queries."""

    def __init__(
        self, judged: JudgedScores, measure: Measure, depth: int | None, n_folds: int, random_state: int
    ) -> None:
        self.judged, self.measure, self.depth = judged, measure, depth
        candidates = judged.candidates
        self.X = {"places": -candidates.places, "scores": zero_mean(candidates)}
        self.labels = _labels(judged, measure)
        self.known = _known_rows(judged, self.labels)
        self.folds = _folds(judged, np.where(self.known, self.labels, np.nan), n_folds, random_state)
        self.known &= _drawn(candidates, self.labels, self.known, random_state)
        self.fold = self.folds[candidates.query]

    def fit(self, setting: Setting, rows: Array) -> RankBoost:
        """Learn from the judged ones of some candidates, by RB's WeakLearn.2.cum: a run speaks only for documents."""
        own = rows[self.known[rows]]
        model = RankBoost(
            setting.n_rounds, criterion="z", cumulative=True, pair_weight="queries",
            abstain=UNRETRIEVED[setting.unretrieved],
        )  # fmt: skip
        return model.fit(self.X[setting.features][own], self.labels[own], qid=self.judged.candidates.query[own])

    def score(self, model: RankBoost, setting: Setting, rows: Array) -> Array:
        """Score candidates by the first rounds of a model, as many as the setting says."""
        return model.model_.first(min(setting.n_rounds, len(model.rounds_))).score(self.X[setting.features][rows], 1)

    def inner_values(self, *apart: int) -> dict[int, dict[Setting, Array]]:
        """Learn without two folds; for the choice of either, return values of the queries of the other."""
        others = np.flatnonzero((self.fold >= 0) & ~np.isin(self.fold, apart))
        rows = np.flatnonzero(np.isin(self.fold, apart))
        queries = np.flatnonzero(np.isin(self.folds, apart))
        values: dict[int, dict[Setting, Array]] = {fold: {} for fold in apart}
        for features, unretrieved in product(FEATURES, UNRETRIEVED):
            model = self.fit(Setting(features, unretrieved, max(ROUNDS)), others)
            for n_rounds in ROUNDS:
                setting = Setting(features, unretrieved, n_rounds)
                found = self._values(rows, self.score(model, setting, rows), queries)
                for fold in apart:
                    values[fold][setting] = found[self.folds[queries] != fold]
        return values

    def outer_scores(self, fold: int, setting: Setting) -> Array:
        """Score the candidates of a fold by a model of the others."""
        model = self.fit(setting, np.flatnonzero((self.fold >= 0) & (self.fold != fold)))
        return self.score(model, setting, np.flatnonzero(self.fold == fold))

    def _values(self, rows: Array, scores: Array, queries: Array) -> Array:
        """Return the measure of each of some queries, from scores of their candidates."""
        every = np.full(len(self.fold), np.nan)
        every[rows] = scores
        found = self.judged.measure(every, [self.measure], self.depth, queries)
        return found[self.measure.name].values


def _best(values: Sequence[dict[Setting, Array]], measure: Measure) -> Setting:
    """Return the setting of the best mean over queries; the first of equal ones."""
    sign = 1 if measure.higher_is_better else -1
    joined = {setting: np.concatenate([one[setting] for one in values]) for setting in SETTINGS}
    return max(SETTINGS, key=lambda setting: sign * weighted_mean(joined[setting], np.ones(len(joined[setting]))))


def _labels(judged: JudgedScores, measure: Measure) -> Array:
    """Return what the measure sees of the grades: relevant or not, or how much; bipartite feedback is quicker too."""
    if "relevant" in measure.definition.uses:
        return (judged.grades > 0).astype(float)
    return np.maximum(judged.grades, 0.0)


def _known_rows(judged: JudgedScores, labels: Array) -> Array:
    """Say which candidates to learn from: judged ones, and all of a query where none was judged not relevant.

    Judgements that list relevant documents alone say by that that the others are not.
    """
    candidates = judged.candidates
    lowest = candidates.by_query(np.fmin, np.where(judged.judged, labels, np.nan))
    return judged.judged | candidates.spread(lowest > 0)


def _drawn(candidates: Candidates, labels: Array, known: Array, random_state: int) -> Array:
    """Say which candidates to learn from if those that are not relevant are at most 200 a query, drawn by chance."""
    chance = np.where(known & (labels == 0), np.random.default_rng(random_state).random(len(labels)), -1.0)
    others = np.flatnonzero(chance >= 0)
    others = others[np.lexsort((chance[others], candidates.query[others]))]
    place = np.arange(len(others)) - np.searchsorted(candidates.query[others], candidates.query[others])
    drawn = np.ones(len(labels), bool)
    drawn[others[place >= MAX_OTHERS]] = False
    return drawn


def _folds(judged: JudgedScores, labels: Array, n_folds: int, random_state: int) -> Array:
    """Return the fold of each query, -1 where it is not judged; each fold has its share of those to learn from.

    Labels are NaN where there is none.
    """
    candidates = judged.candidates
    with_pairs = candidates.by_query(np.fmin, labels) < candidates.by_query(np.fmax, labels)
    if with_pairs.sum() < n_folds:
        raise PodiumError(
            f"To learn a fusion in {n_folds} folds, {n_folds} queries must have relevant and other documents among "
            f"those retrieved; {with_pairs.sum()} do. Use a formula such as method='rrf'."
        )
    rng = np.random.default_rng(random_state)
    drawn = rng.permutation(judged.queries)
    drawn = drawn[np.argsort(~with_pairs[drawn], kind="stable")]
    folds = np.full(len(candidates.queries), -1, ROW)
    folds[drawn] = np.arange(len(drawn)) % n_folds
    return folds
