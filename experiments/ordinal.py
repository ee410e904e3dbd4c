"""Repeat Tables 1 and 2 of the AdaBoost.OR paper (Lin and Li 2009) for ORStump, alone and boosted.

    python experiments/ordinal.py PATH/ordinal [--sets boston census …] [--splits 20] [--rounds 1000]

Each set's target is cut into ten ranks of equal counts (stable sort, rank 1 + i·10 // n). Each split draws the paper's
number of training rows; the rest is for testing. Prints the mean absolute cost with its standard error, the paper's
beside it, and their difference in standard errors (of both, root of the sum of squares; the paper's are rounded to two
digits, so 0.005 is added to each of them).
"""

import argparse
import gzip
from pathlib import Path

import numpy as np

from podium import AdaBoostOR, ORStump

SIZES = {
    "pyrimidines": 50,
    "machinecpu": 150,
    "boston": 300,
    "abalone": 1000,
    "bank": 3000,
    "computer": 4000,
    "california": 5000,
    "census": 6000,
}
"""Training rows of each set."""

PAPER = {  # training (Table 1), test (Table 2), each with its standard error; the text lacks one entry
    "pyrimidines": {"single": (1.76, 0.02, 1.91, 0.09), "AB.OR": (0.02, 0.01, 1.24, 0.05)},
    "machinecpu": {"single": (1.12, 0.02, 1.29, 0.04), "AB.OR": (0.12, 0.01, 0.84, 0.02)},
    "boston": {"single": (1.05, 0.01, 1.17, 0.01), "AB.OR": (0.00, 0.00, 0.89, 0.01)},
    "abalone": {"single": (1.53, 0.01, 1.59, 0.00), "AB.OR": (1.05, 0.01, 1.48, 0.00)},
    "bank": {"single": (1.98, 0.01, np.nan, np.nan), "AB.OR": (1.14, 0.00, 1.53, 0.00)},
    "computer": {"single": (1.18, 0.00, 1.20, 0.00), "AB.OR": (0.50, 0.00, 0.63, 0.00)},
    "california": {"single": (1.62, 0.00, 1.64, 0.00), "AB.OR": (0.88, 0.00, 1.00, 0.00)},
    "census": {"single": (1.83, 0.00, 1.85, 0.00), "AB.OR": (1.11, 0.00, 1.25, 0.00)},
}


def read_set(folder, name, n_ranks=10):
    """Features, and ranks 1 … n_ranks of exactly equal counts (but for the remainder)."""
    with gzip.open(Path(folder) / f"{name}.csv.gz", "rt") as file:
        content = np.loadtxt(file, delimiter=",", skiprows=1)
    X, target = content[:, :-1], content[:, -1]
    y = np.empty(len(X), int)
    y[np.argsort(target, kind="stable")] = 1 + np.arange(len(X)) * n_ranks // len(X)
    return X, y


def splits(n_rows, n_train, n_splits, first=0):
    """Rows to train on and rows to test on, of each split, whose seeds are `first`, `first` + 1 …."""
    for split in range(first, first + n_splits):
        rows = np.random.default_rng(split).permutation(n_rows)
        yield rows[:n_train], rows[n_train:]


def mean_cost(model, X, y):
    """Mean of |y - k|."""
    return np.abs(model.predict(X) - y).mean()


def costs_of_splits(ranker, X, y, n_train, n_splits):
    """Training and test cost of each split."""
    found = []
    for train, test in splits(len(X), n_train, n_splits):
        model = ranker.fit(X[train], y[train])
        found.append([mean_cost(model, X[part], y[part]) for part in (train, test)])
    return np.array(found)


def line(name, kind, found):
    """One line of the table."""
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(found))
    parts = [f"{name:12s} {kind:7s}"]
    for which, at in (("train", 0), ("test", 1)):
        paper, paper_error = PAPER[name][kind][2 * at : 2 * at + 2]
        distance = (mean[at] - paper) / np.hypot(error[at], paper_error + 0.005)
        parts.append(f"{which} {mean[at]:.3f} ± {error[at]:.3f} (paper {paper:.2f}, {distance:+.1f} errors)")
    return "   ".join(parts)


def main():
    """Run the experiment and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--sets", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=1000)
    args = parser.parse_args()
    for name in args.sets:
        X, y = read_set(args.folder, name)
        for kind, ranker in {"single": ORStump(), "AB.OR": AdaBoostOR(n_estimators=args.rounds)}.items():
            found = costs_of_splits(ranker, X, y, SIZES[name], args.splits)
            print(line(name, kind, found), flush=True)


if __name__ == "__main__":
    main()
