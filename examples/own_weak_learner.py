"""Your own weak learner: vector similarity as a weak ranking beside stumps.

    python examples/own_weak_learner.py

Freund, Iyer, Schapire and Singer (2003), "An efficient boosting algorithm for combining preferences" ("RB"),
end of section 6.2: with few ratings of a person, vector similarity predicts movies better than RankBoost, with
many the other way round, and "RankBoost can use VSIM as one of the possible weak ranking functions it can
choose on each round". A weak learner is any object with a method ``search`` (see `podium.pairs.WeakLearner`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from podium import PodiumError, RankBoost, RankingData, VectorSimilarity, evaluate, make_preferences
from podium.binning import bin_features
from podium.pairs import Distribution, WeakResult, alpha_numeric
from podium.stumps import StumpLearner


@dataclass(frozen=True, eq=False)
class Similarity:
    """A weak ranking: the scores of vector similarity, scaled so that training rows lie in [0, 1]."""

    model: VectorSimilarity
    lowest: float
    highest: float

    def predict(self, X: Any) -> np.ndarray:
        """Return a number in [0, 1] for each row."""
        scaled = (self.model.predict(X) - self.lowest) / max(self.highest - self.lowest, 1e-300)
        return np.clip(scaled, 0.0, 1.0)


class StumpsAndSimilarity:
    """A weak learner: each round the best stump, or vector similarity where that does better.

    Weak learners see the training rows in an order of their own: row i is ``features[queries.rows[i]]``.
    """

    def __init__(self, data: RankingData) -> None:
        if data.labels is None:
            raise PodiumError("Vector similarity needs labels y; pairs are not enough.")
        self.stumps = StumpLearner(bin_features(data.features, data.queries.rows))
        model = VectorSimilarity().fit(data.features, data.queries.to_caller(data.labels))
        scores = model.predict(data.features)
        self.similarity = Similarity(model, scores.min(), scores.max())
        self.values = self.similarity.predict(data.features)[data.queries.rows]

    def search(self, potentials: np.ndarray, distribution: Distribution) -> WeakResult | None:
        """Return the weak ranking whose best weight makes Z, the factor on the loss, smallest."""
        similarity = WeakResult(self.similarity, self.values, float(self.values @ potentials))
        stump = self.stumps.search(potentials, distribution)
        candidates = [similarity] if stump is None else [similarity, stump]
        return min(candidates, key=lambda found: lowest_loss(found, distribution))


def lowest_loss(found: WeakResult, distribution: Distribution) -> float:
    """Return ln Z at the best weight.

    By |r| a ranking with values between 0 and 1 would hardly ever win against one of 0 and 1 alone: r says how
    far apart it puts the rows of a pair, more than how often it puts them right.
    """
    return distribution.moments(found.values, alpha_numeric(found, distribution)).log_value


RANKERS: dict[str, Callable[[], Any]] = {
    "stumps": lambda: RankBoost(60),
    "vector similarity": VectorSimilarity,
    "both": lambda: RankBoost(60, weak=StumpsAndSimilarity),
}


def disagreements(n_ratings: int, seed: int) -> dict[str, float]:
    """Train on some ratings of one person and return the share of misordered pairs among the rest."""
    made = make_preferences(n_ratings + 200, 100, missing=0.5, random_state=seed)
    train, test = slice(0, n_ratings), slice(n_ratings, None)
    found = {}
    for name, make in RANKERS.items():
        scores = make().fit(made.X[train], made.y[train]).predict(made.X[test])
        found[name] = evaluate(made.y[test], scores, measures="disagreement", n_resamples=0)["disagreement"]
    return found


def main(argv: Sequence[str] | None = None) -> dict[int, dict[str, float]]:
    """Print the mean disagreement of each ranker as the ratings to learn from grow."""
    parser = argparse.ArgumentParser(description="RankBoost with a weak learner of one's own.")
    parser.add_argument("--ratings", type=int, nargs="+", default=[10, 20, 40, 80, 160])
    parser.add_argument("--people", type=int, default=20, help="people to average over (default 20)")
    given = parser.parse_args(argv)

    title = f"Disagreement, mean of {given.people} people (lower is better)"
    table = Table("ratings", *RANKERS, title=title, title_justify="left")
    means = {}
    for n_ratings in given.ratings:
        measured = [disagreements(n_ratings, seed) for seed in range(given.people)]
        means[n_ratings] = {name: float(np.mean([each[name] for each in measured])) for name in RANKERS}
        table.add_row(str(n_ratings), *(f"{value:.4f}" for value in means[n_ratings].values()))
    Console().print(table)
    return means


if __name__ == "__main__":
    main()
