"""Nets on MQ2008: RankNet and LambdaRank beside RankSVM and LambdaMART, blends, stacking, distillation.

    python experiments/neural.py choose PATH/mq2008 [--seeds 5] [--json FILE]
    python experiments/neural.py quality PATH/mq2008 [--seeds 5] [--folds 5] [--epochs 40] [--trees 100] [--json FILE]

`choose`: settings around the defaults, NDCG@10 on the validation parts, mean of the last five epochs. `quality`:
NDCG@10 of the five test parts; differences are paired by query, a query's value its mean over the seeds. RankSVM's C
is chosen on the validation part. "blend" is the exact combination of LambdaMART and LambdaRank by the validation part;
"stack" is a LambdaRank, linear or with a hidden layer, that learns from the scores of LambdaMART, LambdaRank and
RankSVM on the validation part, beside the blend of the same three; "distilled" is a RankNet whose labels are
LambdaMART's scores of the training rows. net_optimality.py tests whether their weights are optimal.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from lambdamart import read_fold
from neural_tables import tables

from podium import LambdaMART, LambdaRank, RankNet, RankSVM, blend, evaluate

NETS = {"RankNet": RankNet, "LambdaRank": LambdaRank}
CHOICES = [
    {},
    *({"dropout": 0.0, **more} for more in ({}, {"hidden": ()}, {"weight_decay": 1.0})),
    {"hidden": (64,)},
    *({"scale": scale} for scale in ("standard", "log1p")),
    *({"learning_rate": rate} for rate in (0.003, 0.01)),
    *({"batch_size": size} for size in (4, 64)),
]
OWN_CHOICES = {
    "RankNet": [{"pair_weight": "queries"}, {"tie_weight": 0.2}],
    "LambdaRank": [{"normalize": "query"}, {"normalize": "query", "truncation": 30}, {"truncation": 10}],
}
C_VALUES = (0.1, 1.0, 10.0, 100.0, 1000.0)
COMPARED = [
    ("LambdaRank", "RankNet"),
    ("RankNet", "RankSVM"),
    ("LambdaRank", "LambdaMART"),
    ("blend", "LambdaMART"),
    ("blend of three", "LambdaMART"),
    ("stack", "blend of three"),
    ("stack with a hidden layer", "blend of three"),
    ("distilled", "LambdaMART"),
    ("distilled", "RankNet"),
]
"""Whose difference is shown."""


def ndcg(part, scores):
    """NDCG@10 of each query with something relevant, by its id."""
    found = evaluate(part[1], scores, qid=part[2], measures="ndcg@10", n_resamples=0).per_query("ndcg@10")
    return {query: value for query, value in found.items() if not np.isnan(value)}


def choose(folder, folds, seeds):
    """Return the validation NDCG@10 of each setting, mean of the last five epochs, of the folds and of the seeds."""
    found, parts = [], [read_fold(folder, fold)[:2] for fold in range(1, folds + 1)]
    for name, net in NETS.items():
        for setting in CHOICES + OWN_CHOICES[name]:
            histories = [
                net(random_state=seed, **setting)
                .fit(*train[:2], qid=train[2], eval_set=[valid[:2]], eval_qid=[valid[2]])
                .evals_result_["validation_0"]["ndcg@10"]
                for train, valid in parts
                for seed in range(100, 100 + seeds)  # not those of `quality`
            ]
            curve = np.mean(histories, axis=0)
            found.append(
                {"ranker": name, "setting": setting, "ndcg": float(curve[-5:].mean()), "curve": curve.tolist()}
            )
            print(f"| {name} | {setting or 'default'} | {100 * found[-1]['ndcg']:.2f} |", flush=True)
    return found


def best_margin(train, valid):
    """Return the linear RankSVM whose validation NDCG@10 is best."""
    models = [RankSVM(c, eval_metric="ndcg@10").fit(*train[:2], qid=train[2]) for c in C_VALUES]
    return max(models, key=lambda model: model.score(*valid[:2], qid=valid[2]))


def fit_nets(train, seed, epochs):
    """Return the two nets as they come, and seconds of an epoch."""
    models, seconds = {}, {}
    for name, net in NETS.items():
        start = time.perf_counter()
        models[name] = net(epochs, random_state=seed).fit(*train[:2], qid=train[2])
        seconds[name] = (time.perf_counter() - start) / models[name].n_estimators
    return models, seconds


def combined(models, names, valid, test):
    """Return the test scores of the best combination of models on the validation part."""
    scores = [[models[name].predict(part[0]) for name in names] for part in (valid, test)]
    return blend(scores[0], valid[1], qid=valid[2]).combine(scores[1])


def stacked(models, names, valid, test, net):
    """Return the test scores of a net that reads the scores of others, trained on the validation part."""
    columns = [np.column_stack([models[name].predict(part[0]) for name in names]) for part in (valid, test)]
    return net.fit(columns[0], valid[1], qid=valid[2]).predict(columns[1])


def one_run(fold_parts, margin, seed, epochs, trees):
    """Return the test scores of each ranker of one fold and seed, and seconds of an epoch."""
    train, valid, test = fold_parts
    models, seconds = fit_nets(train, seed, epochs)
    models["LambdaMART"] = LambdaMART(trees, random_state=seed).fit(*train[:2], qid=train[2])
    models["RankSVM"] = margin
    models["distilled"] = RankNet(epochs, random_state=seed).fit(
        train[0], models["LambdaMART"].predict(train[0]), qid=train[2]
    )
    scores = {name: model.predict(test[0]) for name, model in models.items()}
    three = ("LambdaMART", "LambdaRank", "RankSVM")
    scores["blend"] = combined(models, three[:2], valid, test)
    scores["blend of three"] = combined(models, three, valid, test)
    for name, hidden in (("stack", ()), ("stack with a hidden layer", (8,))):
        net = LambdaRank(epochs, hidden=hidden, scale="standard", dropout=0.0, random_state=seed)
        scores[name] = stacked(models, three, valid, test, net)
    return scores, seconds


def quality(folder, seeds, folds, epochs, trees):
    """Return means, differences with standard errors, and seconds of an epoch."""
    values, took = {}, {name: [] for name in NETS}
    for fold in range(1, folds + 1):
        parts = read_fold(folder, fold)
        margin = best_margin(*parts[:2])
        for seed in range(seeds):
            scores, seconds = one_run(parts, margin, seed, epochs, trees)
            for name, own in scores.items():
                values.setdefault(name, []).append(ndcg(parts[2], own))
            for name, own in seconds.items():
                took[name].append(own)
        print(f"fold {fold} done", flush=True)
    return summary(values, took, seeds)


def summary(values, took, seeds):
    """Return what the tables show; values of a query are first averaged over the seeds."""
    by_query = {}
    for name, runs in values.items():
        sums = {}
        for number, run in enumerate(runs):
            for query, value in run.items():
                sums.setdefault((number // seeds, query), []).append(value)
        by_query[name] = np.array([np.mean(own) for _, own in sorted(sums.items(), key=lambda item: str(item[0]))])
    spread = {
        name: [float(np.mean([np.mean(list(run.values())) for run in runs[seed::seeds]])) for seed in range(seeds)]
        for name, runs in values.items()
    }
    differences = []
    for one, other in COMPARED:
        gap = by_query[one] - by_query[other]
        error = float(gap.std(ddof=1) / np.sqrt(len(gap)))
        differences.append({"of": one, "against": other, "difference": float(gap.mean()), "error": error})
    return {
        "ndcg": {name: float(own.mean()) for name, own in by_query.items()},
        "by_seed": spread,
        "differences": differences,
        "seconds_of_an_epoch": {name: float(np.median(own)) for name, own in took.items()},
    }


def main():
    """Run a part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("choose", "quality"))
    parser.add_argument("folder", type=Path)
    for name, default in (("seeds", 5), ("folds", 5), ("epochs", 40), ("trees", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.part == "choose":
        found = choose(given.folder, given.folds, given.seeds)
    else:
        found = quality(given.folder, given.seeds, given.folds, given.epochs, given.trees)
        print(*tables({"quality": found}).values(), sep="\n\n")
        print(found["seconds_of_an_epoch"])
    if given.json is not None:
        kept = json.loads(given.json.read_text()) if given.json.exists() else {}
        given.json.write_text(json.dumps({**kept, given.part: found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
