"""The family of Burges 2010 ("LM") on MQ2008: RankNet, LambdaRank, MART, LambdaMART, what they gain together.

    python experiments/lambda_family.py PATH/mq2008 [--seeds 3] [--folds 5] [--trees 100] [--epochs 40]

NDCG@10 and MAP over the test queries of the official folds (LETOR 4.0, Microsoft Research), every ranker with its
defaults; a query's value is its mean over seeds, which draw rounding, half of the rows of each tree or weights of nets.
"RankNet on trees" has the λ of all pairs alike (LM 2), MART learns labels (LM 6), "least squares" takes the splits of
LM 7 in place of Newton's gain, "as LM 7 writes it" has no truncation and no normalisation of λ. The blend is the exact
line search of LM 7.1 between LambdaMART and LambdaRank, on the validation part. Differences from LambdaMART are paired
by query. Results are kept in results/lambda_family.json (`--folder`); the test of LM 4.2 is in results/neural.json.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from lambdamart import read_fold
from paper_tables import RESULTS, keep, markdown

from podium import MART, LambdaMART, LambdaRank, RankNet, blend, evaluate

MEASURES = ("ndcg@10", "map")
TREES = {
    "LambdaMART": (LambdaMART, {}),
    "LambdaMART, least squares": (LambdaMART, {"split_by": "squares"}),
    "LambdaMART, as LM 7 writes it": (LambdaMART, {"form": "paper"}),
    "LambdaMART, that and least squares": (LambdaMART, {"form": "paper", "split_by": "squares"}),
    "RankNet on trees": (LambdaMART, {"delta": "none"}),
    "MART": (MART, {}),
}
NETS = {"LambdaRank": LambdaRank, "RankNet": RankNet}
BLEND = "blend of LambdaMART and LambdaRank"


def models(options, seed):
    """Return the rankers of one seed."""
    trees = {
        name: make(options.trees, subsample=0.8, random_state=seed, n_jobs=1, **own)
        for name, (make, own) in TREES.items()
    }
    return trees | {name: make(options.epochs, random_state=seed) for name, make in NETS.items()}


def query_values(y, scores, qid):
    """Return both measures of each query with something relevant, in the order of the queries."""
    found = evaluate(y, scores, qid=qid, measures=MEASURES, n_resamples=0, n_jobs=1)
    values = np.array([[one[query] for query in sorted(one)] for one in map(found.per_query, MEASURES)])
    return values[:, ~np.isnan(values[0])]


def run_fold(fold, options):
    """Return the values of test queries of each ranker, means over seeds; and weights of the blends."""
    train, valid, test = read_fold(options.data, fold)
    found, weights = {}, []
    for seed in range(options.seeds):
        scores = {}
        for name, model in models(options, seed).items():
            model.fit(*train[:2], qid=train[2])
            scores[name] = [model.predict(part[0]) for part in (valid, test)]
        pair = [scores["LambdaMART"], scores["LambdaRank"]]
        best = blend([own[0] for own in pair], valid[1], qid=valid[2])
        scores[BLEND] = [None, best.combine([own[1] for own in pair])]
        weights.append(best.weights.tolist())
        for name, (_, own) in scores.items():
            found.setdefault(name, []).append(query_values(test[1], own, test[2]))
    return {name: np.mean(values, axis=0) for name, values in found.items()}, weights


def summary(values, yardstick):
    """Return means and differences from a yardstick, with their standard errors over queries, in percent."""
    apart = values - yardstick
    errors = apart.std(axis=1, ddof=1) / np.sqrt(apart.shape[1])
    return {
        measure: [100 * float(one) for one in row]
        for measure, *row in zip(MEASURES, values.mean(axis=1), apart.mean(axis=1), errors, strict=True)
    }


def tables(results):
    """Return the tables of the page."""
    quality = [
        [name, *(f"{own[m][0]:.2f}" for m in MEASURES),
         *("" if name == "LambdaMART" else apart(own[m]) for m in MEASURES)]
        for name, own in results["quality"].items()
    ]  # fmt: skip
    header = [
        f"{results['queries']} queries, %",
        "NDCG@10",
        "MAP",
        "NDCG@10 less LambdaMART's",
        "MAP less LambdaMART's",
    ]
    kept = json.loads((RESULTS / "neural.json").read_text())["optimality"]
    return {"lambda-family": markdown(header, quality), "lambda-optimality": optimality(kept)}


def apart(own):
    """Return a difference and its standard error."""
    return f"{own[1]:+.2f} ± {own[2]:.2f}"


def optimality(kept):
    """Return directions that better NDCG by the length of the move; in brackets better and worse beyond chance."""
    radii = next(iter(kept.values()))["radii"]
    header = ["training NDCG; directions of 459 that better it, by the length of the move", "NDCG", *map(str, radii)]
    rows = []
    for name, own in kept.items():
        counts = zip(own["rises"], own["rises_beyond_chance"], own["falls_beyond_chance"], strict=True)
        rows.append([name, f"{own['ndcg']:.4f}", *("{} ({}, {})".format(*count) for count in counts)])
    return markdown(header, rows)


def main():
    """Run the folds, print and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    for name, default in (("seeds", 3), ("folds", 5), ("trees", 100), ("epochs", 40)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--folder", type=Path, default=RESULTS)
    options = parser.parse_args()
    done = [run_fold(fold, options) for fold in range(1, 1 + options.folds)]
    values = {name: np.concatenate([own[name] for own, _ in done], axis=1) for name in done[0][0]}
    results = {
        "queries": values["LambdaMART"].shape[1],
        "quality": {name: summary(own, values["LambdaMART"]) for name, own in values.items()},
        "blend_weights": [weights for _, weights in done],
    }
    keep("lambda_family", results, options.folder)
    print(tables(results)["lambda-family"])


if __name__ == "__main__":
    main()
