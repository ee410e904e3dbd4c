"""Repeat Tables 1 and 2 of the AdaBoost.OR paper (Lin and Li 2009); ordinal_theorems.py has its theorems and Figure 2.

    python experiments/ordinal.py PATH/ordinal [--sets boston …] [--columns ORStump "SVOR cv" …] [--splits 20]

Each set's target is cut into ten ranks of equal counts (stable sort, rank 1 + i·10 // n). Each split draws the
paper's number of training rows; the rest is for testing. Columns are a base ranker alone and boosted (1,000 rounds of
ORStump, 100 of PRank, 10 of SVOR), and "SVOR cv", whose Gaussian kernel and C five folds choose, among at most 1,000 of
the training rows. Mean absolute cost and its standard error. A run fills the cells that it names and keeps them in
results/ordinal.json (`--folder`); other cells stay.
"""

import argparse
import gzip
import json
from pathlib import Path

import numpy as np
from paper_tables import RESULTS, keep, markdown
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from podium import SVOR, AdaBoostOR, ORStump, PRank

N_RANKS = 10
SIZES = {
    "pyrimidines": 50, "machinecpu": 150, "boston": 300, "abalone": 1000,
    "bank": 3000, "computer": 4000, "california": 5000, "census": 6000,
}  # fmt: skip
"""Training rows of each set."""
PAPER = {  # Table 1: ORStump, PRank, SVOR, each alone and boosted; Table 2: the same, SVOR with cross-validation
    "pyrimidines": [(1.76, 0.02, 0.46, 0.27, 2.44, 0.18), (1.91, 1.24, 1.57, 1.42, 2.63, 1.36, 1.294)],
    "machinecpu": [(1.12, 0.12, 0.88, 0.86, 2.49, 0.36), (1.29, 0.84, 0.97, 0.93, 2.62, 0.93, 0.990)],
    "boston": [(1.05, 0.00, 0.85, 0.83, 2.43, 0.29), (1.17, 0.89, 0.91, 0.89, 2.46, 0.80, 0.747)],
    "abalone": [(1.53, 1.05, 1.44, 1.44, 2.63, 0.39), (1.59, 1.48, 1.48, 1.48, 2.65, 1.53, 1.361)],
    "bank": [(1.98, 1.14, 1.51, 1.47, 1.63, 0.18), (None, 1.53, 1.54, 1.50, 1.68, 1.48, 1.393)],
    "computer": [(1.18, 0.50, 0.66, 0.66, 2.51, 0.35), (1.20, 0.63, 0.66, 0.66, 2.51, 0.67, 0.596)],
    "california": [(1.62, 0.88, 1.21, 1.21, 2.61, 0.52), (1.64, 1.00, 1.21, 1.21, 2.61, 1.10, 1.008)],
    "census": [(1.83, 1.11, 1.58, 1.56, 2.51, 0.43), (1.85, 1.25, 1.60, 1.58, 2.51, 1.25, 1.205)],
}
"""Mean costs; one entry is missing in the text that we have."""
COLUMNS = {
    "ORStump": ORStump(),
    "ORStump boosted": AdaBoostOR(n_estimators=1000),
    "PRank": PRank(),
    "PRank boosted": AdaBoostOR(PRank(), n_estimators=100),
    "SVOR": SVOR("smallest"),
    "SVOR boosted": AdaBoostOR(SVOR("smallest"), n_estimators=10),
    "SVOR cv": SVOR(kernel="rbf"),
}


def read_set(folder, name):
    """Return features, and ranks 1 … 10 of exactly equal counts (but for the remainder)."""
    with gzip.open(Path(folder) / f"{name}.csv.gz", "rt") as file:
        content = np.loadtxt(file, delimiter=",", skiprows=1)
    X, target = content[:, :-1], content[:, -1]
    y = np.empty(len(X), int)
    y[np.argsort(target, kind="stable")] = 1 + np.arange(len(X)) * N_RANKS // len(X)
    return X, y


def splits(n_rows, n_train, n_splits, first=0):
    """Yield rows to train on and rows to test on, of each split, whose seeds are `first`, `first` + 1 …."""
    for split in range(first, first + n_splits):
        rows = np.random.default_rng(split).permutation(n_rows)
        yield rows[:n_train], rows[n_train:]


def mean_cost(model, X, y):
    """Return the mean of |y - k|."""
    return np.abs(model.predict(X) - y).mean()


def chosen(ranker, X, y):
    """Return SVOR with the kernel's width and C of the lowest cost in five folds."""
    grid = {"gamma": [width / X.shape[1] for width in (1, 0.3, 0.1, 0.03)], "C": [1.0, 4.0, 16.0]}
    search = GridSearchCV(
        ranker, grid, scoring="neg_mean_absolute_error", cv=KFold(5, shuffle=True, random_state=0), refit=False
    )
    search.fit(X[:1000], y[:1000])
    return clone(ranker).set_params(**search.best_params_)


def costs(column, X, y, parts):
    """Return training and test cost of each split."""
    found = []
    for train, test in parts:
        ranker = COLUMNS[column] if column != "SVOR cv" else chosen(COLUMNS[column], X[train], y[train])
        model = clone(ranker).fit(X[train], y[train])
        found.append([mean_cost(model, X[part], y[part]) for part in (train, test)])
    return np.array(found)


def table(options):
    """Fill the cells of both tables; those of other sets and columns stay."""
    path = options.folder / "ordinal.json"
    kept = json.loads(path.read_text()).get("table", {}) if path.exists() else {}
    for name in options.sets:
        X, y = read_set(options.data, name)
        for column in options.columns:
            found = costs(column, X, y, list(splits(len(X), SIZES[name], options.splits)))
            error = found.std(axis=0, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.zeros(2)
            values = np.c_[found.mean(axis=0), error].ravel().tolist()
            filled = dict(zip(("train", "train_error", "test", "test_error"), values, strict=True))
            kept.setdefault(name, {})[column] = {**filled, "splits": len(found)}
            keep("ordinal", {"table": kept}, options.folder)
            print(f"{name} {column}", *(f"{one} {value:.3f}" for one, value in filled.items()), flush=True)


def tables(results):
    """Return the tables of the page."""
    found = {}
    for number, part in enumerate(("train", "test")):
        rows = []
        for name, own in results["table"].items():
            cells = [
                cell(own.get(column), part, paper) for column, paper in zip(COLUMNS, PAPER[name][number], strict=False)
            ]
            rows.append([name, *cells])
        header = ["ours (paper's)", *list(COLUMNS)[: 6 + number]]
        found[f"ordinal-{part}"] = markdown(header, rows)
    return found


def cell(own, part, paper):
    """Return our cost with its error and splits, if not 20, and the paper's in brackets."""
    theirs = "" if paper is None else f" ({paper:.2f})"
    if own is None:
        return f"not run{theirs}"
    error = f" ± {own[part + '_error']:.2f}" if own["splits"] > 1 else ""
    splits_ = f", {own['splits']} splits" if own["splits"] not in (1, 20) else ", 1 split" * (own["splits"] == 1)
    return f"{own[part]:.2f}{error}{theirs}{splits_}"


def main():
    """Run some cells of the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--columns", nargs="+", choices=COLUMNS, default=list(COLUMNS))
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--folder", type=Path, default=RESULTS)
    table(parser.parse_args())


if __name__ == "__main__":
    main()
