"""AUC and seconds of trees of the ROC curve against scikit-learn's trees of the same size.

    python benchmarks/treerank.py [--trees 100] [--leaves 16] [--rows 5000] [--seeds 3] [--folds 5]
    python benchmarks/treerank.py --choose [PATH/ordinal] [--leaves 16] [--seeds 2] [--folds 5]

Two-grade data: scikit-learn's breast cancer, and made data of 57 features with a fifth of the labels drawn by chance,
by stratified folds of several seeds; the same folds for all. TreeRankForest beside RandomForestClassifier of as many
trees; TreeRank and RankOver beside DecisionTreeClassifier of as many leaves and rows in a leaf, for TreeRank before
pruning. A cell of TreeRank may be parted by a tree of three levels, so that it has more splits than a tree of as many
leaves. The difference is that of folds, with its standard error over seeds. Seconds are those of the
fit, one thread each, after a first fit for compiling.

Defaults were chosen on other data. `--choose` shows TreeRank with each depth of LeafRank less the tree of scikit-learn
on these: digits, diabetes and wine of scikit-learn, made data of 20 and 30 features, and sets of ordinal grades from a
folder, cut at the median of their targets; the standard error of the mean is that over sets.
"""

import argparse
import gzip
import time
from pathlib import Path

import numpy as np
from kept_tables import add_folder, keep, markdown, with_machine
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from podium import RankOver, TreeRank, TreeRankForest

ORDINAL = ("boston", "abalone", "machinecpu", "computer", "bank", "california")
"""Sets that are read from a folder."""
COMPARED = (1, 2, 3, 4, "auto")
"""Depths of LeafRank."""


def data_sets(n_rows):
    """Names, features and labels."""
    yield "breast cancer", *load_breast_cancer(return_X_y=True)
    noise = {"n_informative": 12, "n_redundant": 8, "flip_y": 0.2, "class_sep": 0.7, "random_state": 0}
    yield f"made {n_rows} x 57", *make_classification(n_rows, 57, **noise)


def other_sets(folder):
    """Names, features and labels of the data that defaults are chosen on, at most 700 rows drawn of large ones."""
    X, y = load_digits(return_X_y=True)
    yield "digits, odd", X[:900], y[:900] % 2
    yield "digits, eights", X[:900], (y[:900] == 8).astype(int)
    X, y = load_wine(return_X_y=True)
    yield "wine", X, (y == 1).astype(int)
    X, y = load_diabetes(return_X_y=True)
    yield "diabetes", X, (y > np.median(y)).astype(int)
    for n_features in (20, 30):
        made = {"n_informative": 8, "n_redundant": 4, "flip_y": 0.1, "class_sep": 0.8, "random_state": n_features}
        yield f"made 800 x {n_features}", *make_classification(800, n_features, **made)
    rng = np.random.default_rng(0)
    for name in ORDINAL if folder else ():
        with gzip.open(Path(folder) / f"{name}.csv.gz", "rt") as file:
            content = np.loadtxt(file, delimiter=",", skiprows=1)
        content = content[rng.permutation(len(content))[:700]]
        yield name, content[:, :-1], (content[:, -1] > np.median(content[:, -1])).astype(int)


def choose(given):
    """Print and keep TreeRank with each depth less the tree of scikit-learn, set by set, and the mean over sets."""
    found = {}
    print("AUC less that of a tree of as many leaves   " + "".join(f"{depth!s:>9}" for depth in COMPARED))
    for name, X, y in other_sets(given.choose):
        apart = []
        for seed in range(given.seeds):
            for train, test in StratifiedKFold(given.folds, shuffle=True, random_state=seed).split(X, y):
                theirs = measured(scikit_tree(given.leaves, 10, seed), X, y, train, test)[0]
                models = [TreeRank(given.leaves, leafrank_depth=depth) for depth in COMPARED]
                apart.append([measured(model, X, y, train, test)[0] - theirs for model in models])
        found[name] = np.mean(apart, axis=0).tolist()
        print(f"{name:43} " + "".join(f"{value:+9.4f}" for value in found[name]))
    for name, values in over_sets(found).items():
        print(f"{name:43} " + "".join(f"{value:+9.4f}" for value in values))
    keep("treerank", {"depths": found}, given)


def over_sets(found):
    """Return the mean over sets and its standard error."""
    values = np.array(list(found.values()))
    return {"mean": values.mean(axis=0), "its standard error": values.std(axis=0, ddof=1) / np.sqrt(len(values))}


def tables(kept):
    """Return the tables of the page."""
    rows = [
        [one["data"], f"`{one['ours']}`", *(f"{value:.4f}, {seconds:.2g} s" for value, seconds in one["means"]),
         "{:+.4f} ± {:.4f}".format(*one["difference"])]
        for one in kept["compared"]["figures"]
    ]  # fmt: skip
    header = ["AUC, seconds of a fit", "", "ours", "scikit-learn", "AUC, ours less scikit-learn's"]
    depths = kept["depths"]["figures"]
    body = [[name, *(f"{value:+.4f}" for value in values)] for name, values in (depths | over_sets(depths)).items()]
    return {
        "treerank": with_machine(kept["compared"], header, rows),
        "treerank-depths": markdown(["depth", *map(str, COMPARED)], body),
    }


def scikit_tree(n_leaves, least, seed):
    """The tree of scikit-learn."""
    return DecisionTreeClassifier(max_leaf_nodes=n_leaves, min_samples_leaf=least, random_state=seed)


def rivals(n_trees, n_leaves, seed):
    """Pairs of ours and theirs."""
    tree, other = (scikit_tree(n_leaves, least, seed) for least in (10, 5))
    yield TreeRankForest(n_trees, random_state=seed), RandomForestClassifier(n_trees, random_state=seed)
    yield TreeRank(n_leaves), tree
    yield RankOver(n_leaves, min_gain=0.0), other


def measured(model, X, y, train, test):
    """AUC on the test rows and seconds of the fit."""
    given = {} if hasattr(model, "predict_proba") else {"group": [len(train)]}
    start = time.perf_counter()
    model.fit(X[train], y[train], **given)
    seconds = time.perf_counter() - start
    scores = model.predict(X[test]) if given else model.predict_proba(X[test])[:, 1]
    return roc_auc_score(y[test], scores), seconds


def compare(X, y, n_trees, n_leaves, n_seeds, n_folds):
    """AUC and seconds of ours and theirs: array of rival, seed, fold, (ours, theirs), (AUC, seconds)."""
    found = np.empty((3, n_seeds, n_folds, 2, 2))
    for seed in range(n_seeds):
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(X, y)
        for number, (train, test) in enumerate(folds):
            for which, pair in enumerate(rivals(n_trees, n_leaves, seed)):
                found[which, seed, number] = [measured(model, X, y, train, test) for model in pair]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("trees", 100), ("leaves", 16), ("rows", 5000), ("seeds", 3), ("folds", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--choose", nargs="?", const="", metavar="PATH/ordinal")
    add_folder(parser)
    given = parser.parse_args()
    small = np.random.default_rng(0).random((40, 3))
    for ours, _ in rivals(2, 3, 0):
        ours.fit(small, small[:, 0] > 0.5).predict(small)
    if given.choose is not None:
        choose(given)
        return
    print(f"{given.trees} trees, {given.leaves} leaves, {given.seeds} seeds x {given.folds} folds")
    print("data               ours             AUC     s       scikit-learn            AUC     s       difference")
    kept = []
    for name, X, y in data_sets(given.rows):
        found = compare(X, y, given.trees, given.leaves, given.seeds, given.folds)
        for pair, values in zip(rivals(given.trees, given.leaves, 0), found, strict=True):
            means = values.mean(axis=(0, 1))
            by_seed = (values[:, :, 0, 0] - values[:, :, 1, 0]).mean(axis=1)
            error = by_seed.std(ddof=1) / np.sqrt(len(by_seed)) if len(by_seed) > 1 else 0.0
            ours, theirs = (type(model).__name__ for model in pair)
            print(
                f"{name:18} {ours:16} {means[0, 0]:.4f}  {means[0, 1]:.3f}   {theirs:22}  {means[1, 0]:.4f}  "
                f"{means[1, 1]:.3f}   {by_seed.mean():+.4f} ± {error:.4f}"
            )
            apart = [float(by_seed.mean()), float(error)]
            kept.append({"data": name, "ours": ours, "means": means.tolist(), "difference": apart})
    keep("treerank", {"compared": kept}, given)


if __name__ == "__main__":
    main()
