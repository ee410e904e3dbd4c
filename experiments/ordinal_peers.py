"""Ordinal rankers beside the AdaBoost.OR paper (Lin and Li 2009, Tables 1 and 2) and beside other libraries.

    python experiments/ordinal_peers.py PATH/ordinal table [--sets boston census …] [--splits 20] [--rankers PRank SVOR]
    python experiments/ordinal_peers.py PATH/ordinal variants [--sets …] [--splits 5]
    python experiments/ordinal_peers.py PATH/ordinal prices [--sets …] [--splits 3]
    python experiments/ordinal_peers.py PATH/ordinal peers [--sets …] [--splits 20] [--first 4]

"table": mean absolute cost of PRank and SVOR, alone and boosted (100 and 10 rounds), the paper's beside it.
"variants": training cost of the two forms of PRank beside the paper's "SiPrank".
"prices": costs of a single SVOR where the grid of C is moved by a factor.
"peers": test cost of the one of our rankers that cross-validation on the training rows chooses, beside mord's
LogisticAT (on standardised features) and scikit-learn's HistGradientBoostingRegressor (ranks as numbers, rounded).
Candidates and the way to choose were made on splits 0 to 3; the splits of "peers" are those after them.
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
from ordinal import SIZES, mean_cost, read_set, splits
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from podium import MART, SVOR, AdaBoostOR, ORBoost, OrdinalThresholds, PRank
from podium.rankers.svor import C_GRID

PAPER = {  # training cost, test cost and its standard error: single, boosted
    "pyrimidines": {"PRank": (0.46, 1.57, 0.07, 0.27, 1.42, 0.07), "SVOR": (2.44, 2.63, 0.10, 0.18, 1.36, 0.05)},
    "machinecpu": {"PRank": (0.88, 0.97, 0.01, 0.86, 0.93, 0.02), "SVOR": (2.49, 2.62, 0.04, 0.36, 0.93, 0.03)},
    "boston": {"PRank": (0.85, 0.91, 0.01, 0.83, 0.89, 0.01), "SVOR": (2.43, 2.46, 0.03, 0.29, 0.80, 0.01)},
    "abalone": {"PRank": (1.44, 1.48, 0.01, 1.44, 1.48, 0.01), "SVOR": (2.63, 2.65, 0.02, 0.39, 1.53, 0.01)},
    "bank": {"PRank": (1.51, 1.54, 0.00, 1.47, 1.50, 0.00), "SVOR": (1.63, 1.68, 0.07, 0.18, 1.48, 0.00)},
    "computer": {"PRank": (0.66, 0.66, 0.00, 0.66, 0.66, 0.00), "SVOR": (2.51, 2.51, 0.01, 0.35, 0.67, 0.01)},
    "california": {"PRank": (1.21, 1.21, 0.00, 1.21, 1.21, 0.00), "SVOR": (2.61, 2.61, 0.01, 0.52, 1.10, 0.00)},
    "census": {"PRank": (1.58, 1.60, 0.01, 1.56, 1.58, 0.00), "SVOR": (2.51, 2.51, 0.01, 0.43, 1.25, 0.01)},
}
N_DEVELOPED = 4
"""Splits that the candidates and the way to choose among them were made on; "peers" begins after them."""
SMALL = 500
"""Training rows below which cross-validation is repeated."""
RANKERS = {"PRank": (PRank(), 100), "SVOR": (SVOR("smallest"), 10)}


def candidates(n_rows, n_features):
    """Rankers to choose from: some of each family, far enough apart for few rows to tell which is better."""
    found = {
        "AdaBoostOR": AdaBoostOR(n_estimators=300),
        "ORBoost": ORBoost(300, learning_rate=0.3),
        "SVOR linear": SVOR(1.0, kernel="linear"),
        **{f"SVOR perceptron {C:g}": SVOR(C) for C in (0.0625, 0.5, 8.0)},
    }
    for width, C in ((1, 4.0), (0.3, 4.0), (0.3, 16.0), (0.1, 2.0), (0.1, 16.0), (0.03, 16.0)):
        found[f"SVOR rbf {width:g}/F {C:g}"] = SVOR(C, kernel="rbf", gamma=width / n_features)
    if n_rows < SMALL:  # where trees of many leaves have too few rows, and boosted kernels are quick enough
        return found | {
            "AdaBoostOR SVOR": AdaBoostOR(SVOR("smallest", target_error=0.2), n_estimators=10),
            "MART": cut_trees(100, 7, learning_rate=0.1, min_child_samples=5),
        }
    return found | {"MART": cut_trees(600, 15), "MART large": cut_trees(1000, 31)}


def cut_trees(n_trees, max_leaves, learning_rate=0.03, **others):
    """Regression trees on the ranks, cut into ranks."""
    trees = MART(n_trees, max_leaves=max_leaves, learning_rate=learning_rate, colsample_bytree=0.5, **others)
    return OrdinalThresholds(trees, folds=3)


def chosen(X, y):
    """The candidate of the lowest cost in cross-validation on the training rows, and its name.

    Five times five folds below 500 rows, else three folds once. Once 300 rows have been left out, candidates fall out
    of the race whose cost is above the lowest by more than two standard errors of the difference, so that few are
    tried on all folds of many rows.
    """
    small, rankers = len(X) < SMALL, candidates(*X.shape)
    parts = RepeatedStratifiedKFold(n_splits=5 if small else 3, n_repeats=5 if small else 1, random_state=0)
    costs = {name: np.empty(0) for name in rankers}
    for learned, left_out in parts.split(X, y):
        for name in costs:
            model = clone(rankers[name]).fit(X[learned], y[learned])
            costs[name] = np.append(costs[name], np.abs(model.predict(X[left_out]) - y[left_out]))
        costs = still_in_race(costs, len(X))
    best = cheapest(costs)
    return best, rankers[best]


def cheapest(costs):
    """Name of the lowest mean."""
    return min(costs, key=lambda name: costs[name].mean())


def still_in_race(costs, n_rows, n_least=300):
    """Costs of the candidates that are not clearly worse than the best; a row left out again is not another row."""
    best = costs[cheapest(costs)]
    if len(best) < n_least:
        return costs
    size = np.sqrt(min(len(best), n_rows))
    return {name: own for name, own in costs.items() if (own - best).mean() <= 2 * (own - best).std() / size}


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


def compare(name, X, y, parts):
    """Print the test costs of our choice and of the others, and how far ours is above each of them."""
    costs, names = {"ours": [], "LogisticAT": [], "HistGB": []}, []
    for train, test in parts:
        best, ours = chosen(X[train], y[train])
        names.append(best)
        for kind, ranker in {"ours": ours, **others()}.items():
            costs[kind].append(mean_cost(ranker.fit(X[train], y[train]), X[test], y[test]))
    shown = [f"{kind} {estimate(own)}" for kind, own in costs.items()]
    above = [np.subtract(costs["ours"], costs[kind]) for kind in ("LogisticAT", "HistGB")]
    shown.append("ours minus theirs " + ", ".join(estimate(own, "+") for own in above))
    lowest = all(own.mean() <= 1e-9 for own in above)  # equal sums in another order
    shown.append("at or below both" if lowest else "not")
    tally = ", ".join(f"{one} in {names.count(one)}" for one in sorted(set(names)))
    print(f"{name:12s} {'   '.join(shown)}   ({tally})", flush=True)


def estimate(values, sign=""):
    """Mean and standard error."""
    return f"{np.mean(values):{sign}.3f} ± {error_of(values):.3f}"


def error_of(values):
    """Standard error of the mean."""
    return np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan


def tabulate(name, X, y, parts, kinds):
    """Print training and test costs of rankers alone and boosted."""
    for kind in kinds:
        single, n_rounds = RANKERS[kind]
        for at, ranker in enumerate((single, AdaBoostOR(single, n_estimators=n_rounds))):
            start, found = time.process_time(), []
            for train, test in parts:
                model = clone(ranker).fit(X[train], y[train])
                found.append([mean_cost(model, X[part], y[part]) for part in (train, test)])
            (train, test), seconds = np.transpose(found), (time.process_time() - start) / len(parts)
            paper_train, paper, paper_error = PAPER[name][kind][3 * at : 3 * at + 3]
            print(
                f"{name:12s} {kind:5s} {('single', 'AB.OR')[at]:6s}  "
                f"train {estimate(train)} (paper {paper_train:.2f})   "
                f"test {estimate(test)} (paper {paper:.2f} ± {paper_error:.2f})   {seconds:.1f} s a split",
                flush=True,
            )


def show_variants(name, X, y, parts):
    """Print the training costs of the forms of PRank."""
    shown = []
    for variant in ("siprank", "prank"):
        found = [
            mean_cost(PRank(variant, random_state=number).fit(X[train], y[train]), X[train], y[train])
            for number, (train, _) in enumerate(parts)
        ]
        shown.append(f"{variant} {estimate(found)}")
    print(f"{name:12s} {'   '.join(shown)}   (paper {PAPER[name]['PRank'][0]:.2f})", flush=True)


def show_prices(name, X, y, parts):
    """Print training and test costs of SVOR at the first of factor · 2⁻²⁰, factor · 2⁻¹⁸ … with ε at most 0.3."""
    shown = []
    for factor in (1.0, 1.5, 2.0, 3.0):
        found = []
        for train, test in parts:
            machines = (SVOR(factor * C).fit(X[train], y[train]) for C in C_GRID)
            first = next(machine for machine in machines if machine.training_error_ <= 0.3)
            found.append([mean_cost(first, X[part], y[part]) for part in (train, test)])
        shown.append(f"{factor:g}: " + " / ".join(f"{cost:.2f}" for cost in np.mean(found, axis=0)))
    train, test = PAPER[name]["SVOR"][:2]
    print(f"{name:12s} {'   '.join(shown)}   (paper {train:.2f} / {test:.2f})", flush=True)


EXPERIMENTS = {"table": tabulate, "variants": show_variants, "prices": show_prices, "peers": compare}


def main():
    """Run one of the experiments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("what", choices=EXPERIMENTS)
    parser.add_argument("--sets", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--first", type=int, help="seed of the first split; by default 4 for peers, else 0")
    parser.add_argument("--rankers", nargs="+", choices=RANKERS, default=list(RANKERS))
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # of rivals' solvers
    run = partial(tabulate, kinds=args.rankers) if args.what == "table" else EXPERIMENTS[args.what]
    first = args.first if args.first is not None else N_DEVELOPED if args.what == "peers" else 0
    for name in args.sets:
        X, y = read_set(args.folder, name)
        run(name, X, y, list(splits(len(X), SIZES[name], args.splits, first)))


if __name__ == "__main__":
    main()
