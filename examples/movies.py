"""Movie recommendation: order movies for a person by what others think of them.

    python examples/movies.py                 # made raters: nothing to download
    python examples/movies.py FOLDER          # MovieLens 100k: FOLDER/u.data.gz

Freund, Iyer, Schapire and Singer (2003), "An efficient boosting algorithm for combining preferences" ("RB"),
section 6.2. A row is a movie, a feature the ratings of one viewer, missing where the viewer did not see the
movie. The feedback comes from one more viewer, the target: half of the target's ratings to train, half to
test, for many targets. RankBoost looks only at the order of each viewer's ratings; what an unseen movie means
is learned (``abstain="learn"``, the default). Disagreement is the share of misordered pairs; the other
measures ask where the target's best rated movies stand (RB 6.2.4).

The made viewers rate half of all movies, and the target many: there RankBoost disagrees least. With few ratings
to learn from (``--ratings 40``), or viewers who rate less, vector similarity is ahead of it, as the paper found;
how RankBoost can use it is shown in ``own_weak_learner.py``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from podium import (
    NearestNeighbor,
    PreferenceRegression,
    RankBoost,
    VectorSimilarity,
    evaluate,
    make_preferences,
)

MEASURES = ["disagreement", "map", "prot", "coverage"]
RANKERS: dict[str, Callable[[int], Any]] = {
    "RankBoost": lambda n_viewers: RankBoost(40 + n_viewers // 10, cumulative=True),  # rounds as in RB 6.2.2
    "regression": lambda _: PreferenceRegression(),
    "nearest neighbor": lambda _: NearestNeighbor(),
    "vector similarity": lambda _: VectorSimilarity(),
}
Means = dict[str, dict[str, float]]


class Target(NamedTuple):
    """One person's task: `X` has a row per movie, `y` the person's rating, NaN where there is none."""

    X: np.ndarray
    y: np.ndarray


def make_targets(n_targets: int, n_ratings: int, n_viewers: int = 200) -> Iterator[Target]:
    """Make a world of movies and viewers for each target, who has rated half of the movies."""
    for seed in range(n_targets):
        made = make_preferences(2 * n_ratings, n_viewers, missing=0.5, random_state=seed)
        seen = np.random.default_rng(seed).random(len(made.y)) < 0.5
        yield Target(made.X, np.where(seen, made.y, np.nan))


def read_targets(folder: Path, n_targets: int, n_ratings: int) -> Iterator[Target]:
    """Read MovieLens 100k; targets are some viewers of at least `n_ratings` movies, the others are features."""
    user, movie, rating = np.loadtxt(folder / "u.data.gz", dtype=int, usecols=(0, 1, 2)).T
    ratings = np.full((movie.max(), user.max()), np.nan)
    ratings[movie - 1, user - 1] = rating
    diligent = np.flatnonzero((~np.isnan(ratings)).sum(axis=0) >= n_ratings)
    targets = np.random.default_rng(0).permutation(diligent)[:n_targets]
    X = np.delete(ratings, targets, axis=1)
    for target in targets:
        yield Target(X, ratings[:, target])


def measure(target: Target, seed: int) -> Means:
    """Train every ranker on half of the person's ratings and measure it on the other half."""
    seen = np.random.default_rng(seed).permutation(np.flatnonzero(~np.isnan(target.y)))
    train, test = np.split(seen, [len(seen) // 2])
    # All movies are given, so that averages over a viewer's ratings are over all of them; those that the
    # target has not rated, or that are for the test, are in a query of weight 0, with a label that says nothing.
    known = np.isin(np.arange(len(target.y)), train)
    labels = np.where(known, target.y, 0.0)
    results = {}
    for name, make in RANKERS.items():
        model = make(target.X.shape[1])
        model.fit(target.X, labels, qid=known, query_weight={True: 1.0, False: 0.0})
        results[name] = quality(target.y[test], model.predict(target.X[test]))
    return results


def quality(ratings: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Return the measures of RB 6.2.4; the good movies are those with the highest rating."""
    group = [len(ratings)]
    found = evaluate(ratings, scores, group=group, measures=MEASURES, relevant="top", empty="skip", n_resamples=0)
    return {name: found[name] for name in found}


def main(argv: Sequence[str] | None = None) -> Means:
    """Compare the rankers and print the mean of each measure over targets."""
    parser = argparse.ArgumentParser(description="Recommend movies by RankBoost and by what it was compared with.")
    parser.add_argument("folder", nargs="?", type=Path, help="MovieLens 100k; without it, made viewers")
    parser.add_argument("--targets", type=int, default=30, help="people to recommend to (default 30)")
    parser.add_argument("--ratings", type=int, default=200, help="ratings of each of them (default 200)")
    given = parser.parse_args(argv)
    if given.folder is None:
        targets = make_targets(given.targets, given.ratings)
    else:
        targets = read_targets(given.folder, given.targets, given.ratings)

    console = Console()
    bar = track(enumerate(targets), "Targets", total=given.targets, console=Console(stderr=True))
    measured = [measure(target, seed) for seed, target in bar]
    means = {
        name: {one: float(np.nanmean([each[name][one] for each in measured])) for one in MEASURES} for name in RANKERS
    }
    table = Table("mean", *MEASURES, title=f"{len(measured)} targets", title_justify="left")
    for name, values in means.items():
        table.add_row(name, *(f"{values[one]:.4f}" for one in MEASURES))
    console.print(table)
    console.print("Disagreement: lower is better, 0.5 is chance. The others: higher is better.")
    return means


if __name__ == "__main__":
    main()
