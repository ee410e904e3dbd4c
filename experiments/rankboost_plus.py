"""Repeat the MovieLens experiment of the RankBoost+ paper (Connamacher et al. 2019, section 5.1 and Table 3).

    python experiments/rankboost_plus.py PATH/movielens-100k [--every 1] [--rounds 100] [--chart losses.html]

Each user with at least 100 ratings is a task: rank the user's movies; features are the users who rated at least half of
them. Five folds: three to train, one to choose the round, one to test. Prints the mean test losses of RB-D, RB-C and
RankBoost+ (with the paper's own beside them), the loss after the last round, which shows overfitting, and mean ranks.
"""

import argparse
import gzip
from pathlib import Path

import numpy as np

from podium import RankBoost
from podium.measures import pair_losses
from podium.plots import plot_losses
from podium.rankers.rankboost_plus import RankBoostPlus, exponential_losses

PAPER = {"RB-D": (0.3394, 0.3376), "RB-C": (0.3218, 0.3218), "RB+": (0.3100, 0.3114)}


def read_ratings(folder):
    """Users × movies, NaN where not rated."""
    with gzip.open(Path(folder) / "u.data.gz", "rt") as file:
        user, movie, rating = np.array([line.split()[:3] for line in file], int).T
    table = np.full((user.max(), movie.max()), np.nan)
    table[user - 1, movie - 1] = rating
    return table


def tasks(table, every):
    """Yield features and ratings of each task."""
    for user in np.flatnonzero((~np.isnan(table)).sum(axis=1) >= 100)[::every]:
        movies = np.flatnonzero(~np.isnan(table[user]))
        others = np.delete(table[:, movies], user, axis=0)
        others = others[np.isnan(others).mean(axis=1) <= 0.5]
        if len(others):
            yield user, others.T, table[user, movies]


def rankers(n_rounds):
    """The three rankers; a missing rating stands below all others, as in the paper."""
    return {
        "RB-D": RankBoost(n_rounds, alpha="z", abstain=0),
        "RB-C": RankBoost(n_rounds, alpha="r", abstain=0),
        "RB+": RankBoostPlus(n_rounds, abstain=0),
    }


def pairs_of(y):
    """Rows of the better and of the worse movie of each pair with different ratings."""
    return np.nonzero(y[:, None] > y)


def curve(model, X, y):
    """R̂1 and R̂2 after each round."""
    better, worse = pairs_of(y)
    return np.array([pair_losses(better, worse, np.ones(len(better)), scores) for scores in model.staged_predict(X)])


def fold_losses(model, X, y, fold, k):
    """Test R̂1 and R̂2 at the best round of the validation fold, R̂2 after the last round."""
    test, valid = fold == k, fold == (k + 1) % 5
    train = ~test & ~valid
    model.fit(X[train], pairs=pairs_of(y[train]))
    chosen, measured = curve(model, X[valid], y[valid]), curve(model, X[test], y[test])
    best = chosen.argmin(axis=0)
    return measured[best[0], 0], measured[best[1], 1], measured[-1, 1]


def main():
    """Run the experiment and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--every", type=int, default=1, help="take every so many tasks")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--chart", help="file for a chart of the training losses of the first task")
    args = parser.parse_args()
    results = {name: [] for name in PAPER}
    for number, (user, X, y) in enumerate(tasks(read_ratings(args.folder), args.every)):
        fold = np.random.default_rng(user).permutation(len(y)) % 5
        folds = [k for k in range(5) if all(len(np.unique(y[fold == j])) > 1 for j in (k, (k + 1) % 5))]
        for name, model in rankers(args.rounds).items():
            results[name].append(np.mean([fold_losses(model, X, y, fold, k) for k in folds], axis=0))
        if args.chart and number == 0:
            fitted = {name: model.fit(X, pairs=pairs_of(y)) for name, model in rankers(args.rounds).items()}
            losses = {name: exponential_losses(model, X, pairs=pairs_of(y)) for name, model in fitted.items()}
            plot_losses(losses, scale="log", title="Training losses").save(args.chart)
    table = {name: np.array(rows) for name, rows in results.items()}
    order = np.array([rows[:, 1] for rows in table.values()]).argsort(axis=0).argsort(axis=0) + 1
    print(f"{order.shape[1]} tasks")
    for name, ranks in zip(table, order, strict=True):
        first, second, last = table[name].mean(axis=0)
        print(
            f"{name:5s} R1 {first:.4f} (paper {PAPER[name][0]:.4f})   R2 {second:.4f} (paper {PAPER[name][1]:.4f})   "
            f"R2 after the last round {last:.4f}   mean rank {ranks.mean():.3f}"
        )


if __name__ == "__main__":
    main()
