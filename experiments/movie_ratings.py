"""Movies for viewers, as in section 6.2 of the RankBoost paper (Freund et al. 2003, "RB"), on MovieLens.

    python experiments/movie_ratings.py PATH/movielens-100k [--parts features densities feedback guessing]
                                        [--splits 3] [--targets 100] [--jobs 2]

A row is a movie, a feature the ratings of one viewer; half of a target's ratings train, the other half tests.
`features` varies the number of viewers that are features (RB Figure 5), `densities` how many movies they rated (Figure
6), `feedback` how many the target rated (Figure 7); `guessing` is what a random order gives (Figure 8), by exact
expectation. Every value is the mean over targets and random splits into features and targets; the error is that of the
difference from RankBoost, paired by target. Results are kept in results/movie_ratings.json (`--folder`).
"""

import argparse
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from paper_tables import RESULTS, keep, markdown

from podium import NearestNeighbor, PreferenceRegression, RankBoost, VectorSimilarity, evaluate

MEASURES = ("disagreement", "map", "prot", "coverage")
SIZES = (50, 100, 200, 400, 600)
DENSITIES = ((20, 40), (41, 60), (61, 100), (101, 200), (201, 737))
"""RB's bins, from the least number of ratings in MovieLens to the most."""
RANKERS = ("RankBoost", "regression", "regression, normalised", "nearest", "10 nearest", "vector similarity")


def fitted(name, X, y, known):
    """Fit one ranker; rows that are not known are in a query of weight 0, and count in averages alone."""
    if name == "regression, normalised":
        X = (X - np.nanmean(X, axis=0)) / np.maximum(np.nanstd(X, axis=0), 1e-9)
    model = {
        "RankBoost": RankBoost(40 + X.shape[1] // 10, cumulative=True),  # rounds as in RB 6.2.2
        "nearest": NearestNeighbor(),
        "10 nearest": NearestNeighbor(n_neighbors=10),
        "vector similarity": VectorSimilarity(),
    }.get(name, PreferenceRegression())
    model.fit(X, np.where(known, y, 0.0), qid=known, query_weight={True: 1.0, False: 0.0})
    return model.predict(X)


def quality(ratings, scores):
    """Return the measures of RB 6.2.4; the good movies are those of the highest rating."""
    rules = {"measures": MEASURES, "relevant": "top", "n_resamples": 0, "n_jobs": 1}
    found = evaluate(ratings, scores, group=[len(ratings)], **rules)
    return [found[name] for name in MEASURES]


def measure(X, y, seed):
    """Return the measures of each ranker for one target, None if a half has one rating only."""
    seen = np.random.default_rng(seed).permutation(np.flatnonzero(~np.isnan(y)))
    train, test = np.split(seen, [len(seen) // 2])
    if min(len(np.unique(y[train])), len(np.unique(y[test]))) < 2:
        return None
    known = np.isin(np.arange(len(y)), train)
    return [quality(y[test], fitted(name, X, y, known)[test]) for name in RANKERS]


def summary(values):
    """Return the mean of each ranker and measure, and the error of its difference from RankBoost."""
    values = np.array([value for value in values if value is not None])
    apart = values - values[:, :1]
    errors = np.nanstd(apart, axis=0, ddof=1) / np.sqrt(len(values))
    return {"targets": len(values), "means": np.nanmean(values, axis=0).tolist(), "errors": errors.tolist()}


def read_ratings(folder):
    """Movies × viewers, NaN where not rated."""
    user, movie, rating = np.loadtxt(folder / "u.data.gz", dtype=int, usecols=(0, 1, 2)).T
    ratings = np.full((movie.max(), user.max()), np.nan)
    ratings[movie - 1, user - 1] = rating
    return ratings


def viewers_of(ratings, bounds):
    """Return the viewers who rated so many movies."""
    counts = (~np.isnan(ratings)).sum(axis=0)
    return np.flatnonzero((counts >= bounds[0]) & (counts <= bounds[1]))


def trials(part, ratings, options):
    """Yield name, features and targets of each setting of one split after the other."""
    everyone = np.arange(ratings.shape[1])
    for split in range(options.splits):
        order = np.random.default_rng(split).permutation(everyone)
        targets, others = order[: options.targets], order[options.targets :]
        if part == "features":
            for size in SIZES:
                yield f"{size} viewers", others[:size], targets
        elif part == "densities":
            for bounds in DENSITIES:
                features = others[np.isin(others, viewers_of(ratings, bounds))]
                yield f"{bounds[0]} to {bounds[1]} ratings", features[:80], targets
        else:
            for bounds in DENSITIES:
                rated = order[np.isin(order, viewers_of(ratings, bounds))][: options.targets // 2]
                yield f"{bounds[0]} to {bounds[1]} ratings", np.setdiff1d(order, rated)[:600], rated


def run_part(part, ratings, options):
    """Return the summary of each setting."""
    found = {}
    run = Parallel(n_jobs=options.jobs)
    for name, features, targets in trials(part, ratings, options):
        X = ratings[:, features]
        found.setdefault(name, []).extend(run(delayed(measure)(X, ratings[:, target], target) for target in targets))
    return {name: summary(values) for name, values in found.items()}


def guessing(*_):
    """Return what all tied scores give: the expectation over random orders."""
    found = {}
    for n_movies, share in [(60, 1 / k) for k in (2, 3, 4, 5)] + [(n, 1 / 4) for n in (12, 20, 40, 80, 160)]:
        good = np.arange(n_movies) < round(n_movies * share)
        found[f"{n_movies} movies, {share:.2f} good"] = quality(good.astype(float), np.zeros(n_movies))
    return found


def tables(results):
    """Return the tables of the page."""
    found = {}
    for part in ("features", "densities", "feedback"):
        for i, measure_name in ((0, "disagreement"), (1, "AP"), (2, "PROT"), (3, "coverage")):
            header = [f"{measure_name}", *results[part]]
            rows = [
                [
                    ranker,
                    *(
                        f"{kept['means'][r][i]:.3f}" + (f" ± {kept['errors'][r][i]:.3f}" if r else "")
                        for kept in results[part].values()
                    ),
                ]
                for r, ranker in enumerate(RANKERS)
            ]
            found.setdefault(f"movies-{part}", []).append(markdown(header, rows))
    rows = [[name, *(f"{value:.3f}" for value in values[1:])] for name, values in results["guessing"].items()]
    found["movies-guessing"] = [markdown(["a random order", "AP", "PROT", "coverage"], rows)]
    return {name: "\n\n".join(parts) for name, parts in found.items()}


def main():
    """Run the parts, print and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parts = ("features", "densities", "feedback", "guessing")
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts)
    for name, default in (("splits", 3), ("targets", 100), ("jobs", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--folder", type=Path, default=RESULTS)
    options = parser.parse_args()
    ratings = read_ratings(options.data)
    for part in options.parts:
        results = guessing() if part == "guessing" else run_part(part, ratings, options)
        keep("movie_ratings", {part: results}, options.folder)
        for name, kept in results.items():
            means = (
                kept
                if part == "guessing"
                else [f"{n} {np.round(v, 3)}" for n, v in zip(RANKERS, kept["means"], strict=True)]
            )
            print(part, name, *means, sep="   ", flush=True)


if __name__ == "__main__":
    main()
