"""The map of ranking problems of CR (Werner, "A review on ranking problems in statistical learning") × rankers.

    python experiments/ranking_problems.py [--repetitions 5] [--rows 400] [--rankers RankBoost CRank …]

CR 2.1 has nine problems: labels of two values, of d, or continuous; rank all rows (hard loss), find the best K (weak
loss), or find and rank them (localized loss). For each of the nine, made data of its own: ten normal features, a score
that is neither linear nor additive, noise, labels cut at the score's 80 % point, into five grades, or not at all; K is
a tenth of the rows. Each ranker learns with its defaults from a list of `--rows` rows and is measured on 2,000 new
ones, by losses in percent; means of repetitions, with the standard error of the difference from the best of the cell.
Rankers that refuse the labels have no value. Results are kept in results/ranking_problems.json (`--folder`).
"""

import argparse
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from paper_tables import RESULTS, keep, markdown
from sklearn.base import clone

from podium import (
    MART,
    CRank,
    GradientFreeBoost,
    L2Boost,
    LambdaMART,
    LinearPlackettLuce,
    PairBoost,
    PlugInRanker,
    PNormPush,
    PodiumError,
    RankBoost,
    RankBoostPlus,
    RankOver,
    RankRLS,
    RankSVM,
    TreeRank,
    TreeRankForest,
    TreeRankTournament,
    evaluate,
)

N_NEW, N_FEATURES = 2000, 10
LABELS = ("two values", "five grades", "continuous")
LOSSES = ("hard_loss", f"weak_loss@{N_NEW // 10}", f"localized_loss@{N_NEW // 10}")
PROBLEMS = ("hard", "weak", "localized")
RANKERS = {
    "RankBoost": RankBoost(), "RankBoostPlus": RankBoostPlus(), "PNormPush": PNormPush(),
    "LambdaMART": LambdaMART(min_child_samples=5), "LambdaMART, auc": LambdaMART(delta="auc", min_child_samples=5),
    "LambdaMART, localized": LambdaMART(delta="localized", truncation=40, min_child_samples=5),
    "MART": MART(min_child_samples=5), "PairBoost, trees": PairBoost(base="tree"),
    "L2Boost, trees": L2Boost(base="tree"), "PairBoost, lines": PairBoost(),
    "GradientFreeBoost": GradientFreeBoost(), "RankSVM": RankSVM(), "RankSVM, rbf": RankSVM(kernel="rbf"),
    "RankRLS, rbf": RankRLS(kernel="rbf"), "LinearPlackettLuce": LinearPlackettLuce(),
    "PlugInRanker": PlugInRanker(), "TreeRank": TreeRank(), "TreeRankForest": TreeRankForest(30),
    "TreeRankTournament": TreeRankTournament(10), "RankOver": RankOver(), "CRank": CRank(),
}  # fmt: skip


def made(kind, seed, n_rows):
    """Return rows and labels of one kind."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES))
    score = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3] + (X[:, 4] > 0.5) + 0.7 * rng.normal(size=n_rows)
    if kind == "continuous":
        return X, score
    bounds = [1.7] if kind == "two values" else [-0.6, 0.5, 1.7, 2.6]  # of the score's distribution, not of a sample
    return X, np.digitize(score, bounds).astype(float)


def measured(ranker, kind, loss, seed, n_rows):
    """Return the loss on new rows in percent; NaN if the ranker refuses the labels."""
    X, y = made(kind, [*seed, 0], n_rows)
    new_X, new_y = made(kind, [*seed, 1], N_NEW)
    try:
        scores = clone(ranker).fit(X, y, qid=np.zeros(n_rows, int)).predict(new_X)
    except PodiumError:
        return np.nan
    return 100 * evaluate(new_y, scores, group=[N_NEW], measures=loss, n_resamples=0)[loss]


def run_cell(cell, options):
    """Return mean and standard error of the difference from the best, of each ranker."""
    kind, problem = cell
    place = [LABELS.index(kind), PROBLEMS.index(problem)]
    loss = LOSSES[place[1]]
    seeds = [[*place, repetition] for repetition in range(options.repetitions)]
    compared = [RANKERS[name] for name in options.rankers]
    values = np.array([[measured(one, kind, loss, seed, options.rows) for one in compared] for seed in seeds])
    means = values.mean(axis=0)
    apart = values - values[:, [np.nanargmin(means)]]
    errors = apart.std(axis=0, ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.full(len(means), np.nan)
    pairs = zip(options.rankers, means.tolist(), errors.tolist(), strict=True)
    return {name: None if np.isnan(mean) else [mean, error] for name, mean, error in pairs}


def tables(results):
    """Return the table of the page: the best of each column, and what is within two errors of it, in bold."""
    cells = results["cells"]
    lowest = {cell: min(own[0] for own in found.values() if own) for cell, found in cells.items()}
    rows = [
        [name, *(shown(found[name], lowest[cell]) for cell, found in cells.items())]
        for name in next(iter(cells.values()))
    ]
    return {"ranking-problems": markdown(["loss, %", *cells], rows)}


def shown(own, lowest):
    """Return a value, bold if it is the lowest or not clearly above it."""
    if own is None:
        return ""
    return f"**{own[0]:.1f}**" if own[0] - lowest <= 2 * own[1] else f"{own[0]:.1f}"


def main():
    """Run all cells, print and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--rankers", nargs="+", choices=RANKERS, default=list(RANKERS))
    parser.add_argument("--folder", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of a single query, of fits that end early
    cells = {f"{kind}, {problem}": run_cell((kind, problem), options) for kind, problem in product(LABELS, PROBLEMS)}
    results = {"repetitions": options.repetitions, "rows": options.rows, "cells": cells}
    keep("ranking_problems", results, options.folder)
    print(tables(results)["ranking-problems"])


if __name__ == "__main__":
    main()
