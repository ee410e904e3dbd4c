"""The top of the list on MQ2008: the p-norm push and linear rankers beside the official RankSVM, and localized λ.

    python experiments/top_of_list.py push PATH/data [--rounds 300] [--folds 5]
    python experiments/top_of_list.py lambdas PATH/data [--trees 200] [--seeds 3] [--folds 5]

PATH/data holds the folders `mq2008` and `letor-baselines`. `push`: PNormPush of several powers, RankSVM and RSRank;
weak rankings, learning rate, rounds, C and alpha are chosen in each fold by MAP of its validation part. Values are
means over the five test parts in LETOR's convention (NDCG@10 is 0 for queries of fewer rows), as the official file has
them. `lambdas`: LambdaMART with each delta and the same other settings, rounds by early stopping on the localized
loss@10 of the validation part, which the table shows for all test queries, beside NDCG@10 and the weak loss;
differences from NDCG's λ are paired by query, a query's value its mean over the seeds, which draw half of the queries
for each tree. Both keep results/top_of_list.json (`--kept`).
"""

import argparse
from pathlib import Path

import numpy as np
from lambdamart import read_fold
from leaderboard_tasks import official_values
from paper_tables import RESULTS, keep, markdown

from podium import LambdaMART, PNormPush, RankSVM, RSRank, evaluate

POWERS = (1, 2, 4, 8, 16)
WEAK = (("stump", 0.1), ("stump", 0.3), ("feature", 0.3), ("feature", 1.0))
C_VALUES = (0.1, 1.0, 10.0, 100.0, 1000.0)
ALPHAS = (0.0003, 0.001, 0.003, 0.01)
DELTAS = {
    "ndcg": {},
    "localized": {"delta": "localized", "truncation": 10},
    "auc": {"delta": "auc"},
    "none": {"delta": "none"},
}
TOP = ("localized_loss@10", "weak_loss@10", "ndcg@10")


def fit(model, train, valid):
    """Fit with the rounds of the best value on the validation part."""
    return model.fit(*train[:2], qid=train[2], eval_set=[valid[:2]], eval_qid=[valid[2]])


def candidates(rounds):
    """Return the rankers that are chosen from, by name."""
    stopped = {"early_stopping_rounds": 60, "eval_metric": "map"}
    found = {}
    for p in POWERS:
        found[f"PNormPush p = {p}"] = [
            PNormPush(rounds, p=p, weak=weak, learning_rate=rate, **stopped) for weak, rate in WEAK
        ]
    found["RankSVM"] = [RankSVM(C) for C in C_VALUES]
    found["RankSVM, queries"] = [RankSVM(C, pair_weight="queries") for C in C_VALUES]
    found["RankSVM, l1"] = [RankSVM(10 * C, penalty="l1") for C in C_VALUES]
    found["RSRank"] = [RSRank(rounds, alpha=alpha, **stopped) for alpha in ALPHAS]
    return found


def best_scores(models, train, valid, X):
    """Return the scores of the ranker whose validation MAP is best."""
    for model in models:
        fit(model, train, valid) if hasattr(model, "n_estimators") else model.fit(*train[:2], qid=train[2])
    return max(models, key=lambda model: measured(valid, model.predict(valid[0]))[0]).predict(X)


def measured(part, scores):
    """Return MAP and NDCG@10."""
    names = {"measures": ["map", "ndcg@10"], "convention": "letor", "n_resamples": 0}
    found = evaluate(part[1], scores, qid=part[2], **names)
    return found["map"], found["ndcg@10"]


def push(folds, options):
    """Return MAP and NDCG@10 of each ranker, beside the official RankSVM."""
    results = {}
    for name, models in candidates(options.rounds).items():
        values = [measured(test, best_scores(models, train, valid, test[0])) for train, valid, test in folds]
        results[name] = np.mean(values, axis=0).tolist()
    theirs = official_values(options.folder, "RankSVM-Struct")
    return results | {"official RankSVM": [theirs["map"], theirs["ndcg@10"]]}


def query_values(folds, delta, options):
    """Return the measures of each test query, {measure: {query: mean over seeds}}."""
    sums = {name: {} for name in TOP}
    for seed in range(options.seeds):
        for train, valid, (X, y, qid) in folds:
            model = LambdaMART(
                options.trees, **DELTAS[delta], learning_rate=0.05, max_leaves=7, subsample=0.5, random_state=seed,
                early_stopping_rounds=40, eval_metric=TOP[0],
            )  # fmt: skip
            scores = fit(model, train, valid).predict(X)
            measured = evaluate(y, scores, qid=qid, measures=list(TOP), n_resamples=0)
            for name in TOP:
                for query, value in measured.per_query(name).items():
                    sums[name][query] = sums[name].get(query, 0.0) + value / options.seeds
    return sums


def lambdas(folds, options):
    """Return the mean of each measure for each delta, and the difference from NDCG's λ."""
    found, results = {}, {}
    for delta in DELTAS:
        found[delta] = query_values(folds, delta, options)
        means = {name: float(np.nanmean(list(found[delta][name].values()))) for name in TOP}
        apart = [value - found["ndcg"][TOP[0]][query] for query, value in found[delta][TOP[0]].items()]
        apart = np.array(apart)[np.isfinite(apart)]
        error = float(apart.std(ddof=1) / np.sqrt(len(apart)))
        results[delta] = {**means, "difference": float(apart.mean()), "standard error": error}
    return results


def tables(results):
    """Return the tables of the page, of the parts that were run."""
    found = {}
    if "push" in results:
        rows = [[name, *(f"{value:.4f}" for value in values)] for name, values in results["push"].items()]
        found["top-push"] = markdown(["", "MAP", "NDCG@10"], rows)
    if "lambdas" in results:
        rows = [
            [f'`"{delta}"`', *(f"{own[name]:.4f}" for name in TOP), apart(own) if delta != "ndcg" else ""]
            for delta, own in results["lambdas"].items()
        ]
        found["top-lambdas"] = markdown(["delta", *TOP[:2], "NDCG@10", "localized loss less that of ndcg"], rows)
    return found


def apart(own):
    """Return the difference with its standard error."""
    return f"{own['difference']:+.4f} ± {own['standard error']:.4f}"


def main():
    """Run one of the experiments, print and keep it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("push", "lambdas"))
    parser.add_argument("folder", type=Path)
    for name, default in (("rounds", 300), ("trees", 200), ("seeds", 3), ("folds", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--kept", type=Path, default=RESULTS, help="folder of the results")
    options = parser.parse_args()
    folds = [read_fold(options.folder / "mq2008", number) for number in range(1, options.folds + 1)]
    results = {options.what: {"push": push, "lambdas": lambdas}[options.what](folds, options)}
    keep("top_of_list", results, options.kept)
    print(*tables(results).values())


if __name__ == "__main__":
    main()
