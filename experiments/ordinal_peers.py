"""The one of our ordinal rankers that cross-validation chooses, beside mord and scikit-learn, each with its defaults.

    python experiments/ordinal_peers.py PATH/ordinal [--sets …] [--splits 20] [--first 4]

Test cost of the one of our rankers that cross-validation on the training rows chooses, beside mord's LogisticAT (on
standardised features) and scikit-learn's HistGradientBoostingRegressor (ranks as numbers, rounded). Candidates and the
way to choose were made on splits 0 to 3; the splits shown are those after them. Results are kept in
results/ordinal_peers.json (`--folder`). leaderboard_ordinal.py has more libraries, tuned.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
from ordinal import SIZES, mean_cost, read_set, splits
from paper_tables import RESULTS, keep, markdown
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from podium import MART, SVOR, AdaBoostOR, ORBoost, OrdinalThresholds

HEADER = ["set, splits", "ours", "LogisticAT", "HistGradientBoosting", "ours less theirs", "chosen in"]
N_DEVELOPED = 4
"""Splits that the candidates and the way to choose among them were made on."""
SMALL = 500
"""Training rows below which cross-validation is repeated."""


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


def chosen(X, y, names):
    """The candidate, of those named, of the lowest cost in cross-validation on the training rows, and its name.

    Five times five folds below 500 rows, else three folds once. Once 300 rows have been left out, candidates fall out
    of the race whose cost is above the lowest by more than two standard errors of the difference, so that few are
    tried on all folds of many rows.
    """
    small = len(X) < SMALL
    rankers = {name: one for name, one in candidates(*X.shape).items() if not names or name in names}
    parts = RepeatedStratifiedKFold(n_splits=5 if small else 3, n_repeats=5 if small else 1, random_state=0)
    costs = {name: np.empty(0) for name in rankers}
    for learned, left_out in parts.split(X, y):
        for name in costs:
            model = clone(rankers[name]).fit(X[learned], y[learned])
            costs[name] = np.append(costs[name], np.abs(model.predict(X[left_out]) - y[left_out]))
        costs = still_in_race(costs, len(X))
    best = min(costs, key=lambda name: costs[name].mean())
    return best, rankers[best]


def still_in_race(costs, n_rows, n_least=300):
    """Costs of the candidates that are not clearly worse than the best; a row left out again is not another row."""
    best = min(costs.values(), key=np.mean)
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


def compare(name, X, y, parts, names):
    """Print and return the test costs of our choice and of the others, and how far ours is above each of them."""
    costs, picks = {"ours": [], "LogisticAT": [], "HistGB": []}, []
    for train, test in parts:
        best, ours = chosen(X[train], y[train], names)
        picks.append(best)
        for kind, ranker in {"ours": ours, **others()}.items():
            costs[kind].append(mean_cost(ranker.fit(X[train], y[train]), X[test], y[test]))
    above = [np.subtract(costs["ours"], costs[kind]) for kind in ("LogisticAT", "HistGB")]
    found = {kind: [float(np.mean(own)), error_of(own)] for kind, own in costs.items()}
    found["above"] = [[float(own.mean()), error_of(own)] for own in above]
    found |= {"splits": len(picks), "chosen": {one: picks.count(one) for one in sorted(set(picks))}}
    print(markdown(HEADER, [table_row(name, found)]), flush=True)
    return found


def table_row(name, own):
    """Return the row of one set."""
    cells = [estimate(*own[kind], "") for kind in ("ours", "LogisticAT", "HistGB")]
    above = ", ".join(estimate(*one, "+") for one in own["above"])
    return [f"{name}, {own['splits']}", *cells, above, ", ".join(f"{one} {n}" for one, n in own["chosen"].items())]


def tables(results):
    """Return the table of the page."""
    return {"ordinal-peers": markdown(HEADER, [table_row(name, results[name]) for name in SIZES if name in results])}


def estimate(mean, error, sign):
    """Return a mean and its standard error, if there is one."""
    return f"{mean:{sign}.3f}" + ("" if error is None else f" ± {error:.3f}")


def error_of(values):
    """Standard error of the mean; None of one value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None


def main():
    """Compare on each set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--first", type=int, default=N_DEVELOPED)
    parser.add_argument("--candidates", nargs="+", help="some of our rankers alone")
    parser.add_argument("--folder", type=Path, default=RESULTS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # of rivals' solvers
    for name in args.sets:
        X, y = read_set(args.data, name)
        found = compare(name, X, y, list(splits(len(X), SIZES[name], args.splits, args.first)), args.candidates)
        keep("ordinal_peers", {name: found}, args.folder)


if __name__ == "__main__":
    main()
