"""Ordinal rankers beside the AdaBoost.OR paper (Lin and Li 2009, Tables 1 and 2) and beside other libraries.

    python experiments/ordinal_peers.py PATH/ordinal table [--sets boston census …] [--splits 20] [--rankers PRank SVOR]
    python experiments/ordinal_peers.py PATH/ordinal variants [--sets …] [--splits 5]
    python experiments/ordinal_peers.py PATH/ordinal peers [--sets …] [--splits 20]

"table": mean absolute cost of PRank and SVOR, alone and boosted (100 and 10 rounds), the paper's beside it.
"variants": training cost of the two forms of PRank beside the paper's "SiPrank".
"peers": test cost of the one of our rankers that cross-validation on the training rows chooses, beside mord's
LogisticAT (on standardised features) and scikit-learn's HistGradientBoostingRegressor (ranks as numbers, rounded).
"""

import argparse
import time
import warnings

import numpy as np
from ordinal import SIZES, mean_cost, read_set, splits
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from podium import MART, SVOR, AdaBoostOR, ORBoost, OrdinalThresholds, PRank

PAPER = {  # training and test cost: single, boosted
    "pyrimidines": {"PRank": (0.46, 1.57, 0.27, 1.42), "SVOR": (2.44, 2.63, 0.18, 1.36)},
    "machinecpu": {"PRank": (0.88, 0.97, 0.86, 0.93), "SVOR": (2.49, 2.62, 0.36, 0.93)},
    "boston": {"PRank": (0.85, 0.91, 0.83, 0.89), "SVOR": (2.43, 2.46, 0.29, 0.80)},
    "abalone": {"PRank": (1.44, 1.48, 1.44, 1.48), "SVOR": (2.63, 2.65, 0.39, 1.53)},
    "bank": {"PRank": (1.51, 1.54, 1.47, 1.50), "SVOR": (1.63, 1.68, 0.18, 1.48)},
    "computer": {"PRank": (0.66, 0.66, 0.66, 0.66), "SVOR": (2.51, 2.51, 0.35, 0.67)},
    "california": {"PRank": (1.21, 1.21, 1.21, 1.21), "SVOR": (2.61, 2.61, 0.52, 1.10)},
    "census": {"PRank": (1.58, 1.60, 1.56, 1.58), "SVOR": (2.51, 2.51, 0.43, 1.25)},
}
RANKERS = {"PRank": (PRank(), 100), "SVOR": (SVOR("smallest"), 10)}


def candidates(n_train):
    """Rankers to choose from: some of each family, few enough to try."""
    smooth = {"learning_rate": 0.05, "min_child_samples": 5 if n_train < 1000 else 20}
    found = {
        "AdaBoostOR": AdaBoostOR(n_estimators=300),
        "ORBoost": ORBoost(300),
        "ORBoost slow": ORBoost(1000, learning_rate=0.3),
        "SVOR linear": SVOR(0.1, kernel="linear"),
        "MART 300": OrdinalThresholds(MART(n_estimators=300, max_leaves=15, **smooth), folds=3),
        "MART 600": OrdinalThresholds(MART(n_estimators=600, max_leaves=31, **smooth), folds=3),
    }
    for C in (0.0625, 0.25, 1.0):
        found[f"SVOR perceptron {C}"] = SVOR(C)
    for C in (0.25, 1.0, 4.0):
        found[f"SVOR rbf {C}"] = SVOR(C, kernel="rbf")
    return found


def chosen(X, y):
    """The candidate of the lowest cost in cross-validation on the training rows, repeated where they are few."""
    small = len(X) < 500
    parts = RepeatedStratifiedKFold(n_splits=5 if small else 3, n_repeats=2 if small else 1, random_state=0)
    folds = list(parts.split(X, y))
    costs = {}
    for name, ranker in candidates(len(X)).items():
        costs[name] = np.mean([mean_cost(clone(ranker).fit(X[a], y[a]), X[b], y[b]) for a, b in folds])
    best = min(costs, key=costs.get)
    return best, candidates(len(X))[best]


class RoundedBoosting:
    """Gradient boosting of the ranks as numbers."""

    def fit(self, X, y):
        """Fit the regressor."""
        self.model = HistGradientBoostingRegressor(random_state=0).fit(X, y)
        return self

    def predict(self, X):
        """Round to the nearest rank there is."""
        return np.clip(np.rint(self.model.predict(X)), 1, 10)


def others():
    """The rivals."""
    import mord

    return {"LogisticAT": make_pipeline(StandardScaler(), mord.LogisticAT()), "HistGB": RoundedBoosting()}


def compare(name, X, y, n_splits):
    """Print the test costs of our choice and of the others."""
    costs, names = {"ours": [], "LogisticAT": [], "HistGB": []}, []
    for train, test in splits(len(X), SIZES[name], n_splits):
        best, ours = chosen(X[train], y[train])
        names.append(best)
        for kind, ranker in {"ours": ours, **others()}.items():
            costs[kind].append(mean_cost(ranker.fit(X[train], y[train]), X[test], y[test]))
    shown = "   ".join(f"{kind} {np.mean(own):.3f} ± {error_of(own):.3f}" for kind, own in costs.items())
    rivals = min(np.mean(costs["LogisticAT"]), np.mean(costs["HistGB"]))
    lowest = np.mean(costs["ours"]) <= rivals + 1e-9  # equal sums in another order
    tally = ", ".join(f"{one} in {names.count(one)}" for one in sorted(set(names)))
    print(f"{name:12s} {shown}   {'at or below both' if lowest else 'not'}   ({tally})", flush=True)


def error_of(values):
    """Standard error of the mean."""
    return np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan


def tabulate(name, X, y, n_splits, kinds):
    """Print training and test costs of rankers alone and boosted."""
    for kind in kinds:
        single, n_rounds = RANKERS[kind]
        for at, ranker in enumerate((single, AdaBoostOR(single, n_estimators=n_rounds))):
            start, found = time.process_time(), []
            for train, test in splits(len(X), SIZES[name], n_splits):
                model = clone(ranker).fit(X[train], y[train])
                found.append([mean_cost(model, X[part], y[part]) for part in (train, test)])
            mean, seconds = np.mean(found, axis=0), (time.process_time() - start) / n_splits
            paper = PAPER[name][kind][2 * at : 2 * at + 2]
            print(
                f"{name:12s} {kind:5s} {('single', 'AB.OR')[at]:6s}  train {mean[0]:.3f} (paper {paper[0]:.2f})   "
                f"test {mean[1]:.3f} ± {error_of([pair[1] for pair in found]):.3f} (paper {paper[1]:.2f})   "
                f"{seconds:.1f} s a split",
                flush=True,
            )


def show_variants(name, X, y, n_splits):
    """Print the training costs of the forms of PRank."""
    shown = []
    for variant in ("siprank", "prank"):
        found = [
            mean_cost(PRank(variant, random_state=number).fit(X[train], y[train]), X[train], y[train])
            for number, (train, _) in enumerate(splits(len(X), SIZES[name], n_splits))
        ]
        shown.append(f"{variant} {np.mean(found):.3f} ± {error_of(found):.3f}")
    print(f"{name:12s} {'   '.join(shown)}   (paper {PAPER[name]['PRank'][0]:.2f})", flush=True)


def main():
    """Run one of the experiments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("what", choices=("table", "variants", "peers"))
    parser.add_argument("--sets", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--rankers", nargs="+", choices=RANKERS, default=list(RANKERS))
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # of rivals' solvers
    for name in args.sets:
        X, y = read_set(args.folder, name)
        if args.what == "table":
            tabulate(name, X, y, args.splits, args.rankers)
        elif args.what == "variants":
            show_variants(name, X, y, args.splits)
        else:
            compare(name, X, y, args.splits)


if __name__ == "__main__":
    main()
