"""LambdaMART against its peers: training, scoring, one query, and where the time of a tree goes.

    python benchmarks/lambdamart.py train  [--rows 300000] [--trees 100] [--leaves 31] [--docs 120] [--threads 1]
    python benchmarks/lambdamart.py score  [--rows 300000] [--trees 500]
    python benchmarks/lambdamart.py pieces [--rows 300000]
    python benchmarks/lambdamart.py categories [--rows 30000] [--trees 40]

Contestants run by turns in one process; each figure is the best of `--repeat` turns, binning included.
"""

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from podium.binning import bin_features
from podium.dataset import RankingData
from podium.feedback import Graded
from podium.losses import LambdaLoss
from podium.measures import measure_queries
from podium.rankers.lambdamart import LambdaMART
from podium.weak.grower import TreeGrower
from podium.weak.histogram import pack
from podium.weak.split import Limits


def made_data(rows, docs=120, n_features=136, seed=0):
    """Search-like data: heavy tails, many zeros, grades 0 to 4; the rule is the same for every seed."""
    rule, rng = np.random.default_rng(7), np.random.default_rng(seed)
    sizes = rng.integers(max(docs // 2, 2), docs * 3 // 2 + 1, 2 * rows // docs + 1)
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), rows) + 1]
    qid = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.standard_normal((len(qid), n_features)).astype(np.float32)
    X[:, ::3] = np.floor(np.exp(1.5 * X[:, ::3]))
    X[:, 1::6] *= rng.random(X[:, 1::6].shape) < 0.3
    Z = np.tanh(X)
    score = Z @ (rule.standard_normal(n_features) * (rule.random(n_features) < 0.3)) + 1.5 * Z[:, 0] * Z[:, 3]
    score += 2 * rng.standard_normal(len(qid)) + rng.standard_normal(len(sizes))[qid]
    return X, np.digitize(score, np.quantile(score, [0.52, 0.84, 0.97, 0.99])).astype(float), qid, sizes


def best_times(contestants, repeat):
    """Return the best wall time and the last result of each contestant, run by turns."""
    best, result = {}, {}
    for _ in range(repeat):
        for name, run in contestants.items():
            start = time.perf_counter()
            result[name] = run()
            best[name] = min(best.get(name, np.inf), time.perf_counter() - start)
    return best, result


def lightgbm_model(args, X, y, sizes, trees, **extra):
    import lightgbm

    params = {
        "objective": "lambdarank", "num_leaves": args.leaves, "learning_rate": 0.1, "min_data_in_leaf": 20,
        "max_bin": 255, "num_threads": args.threads, "verbose": -1, **extra,
    }  # fmt: skip
    return lightgbm.train(params, lightgbm.Dataset(X, y, group=sizes, params=params), trees)


def xgboost_model(args, X, y, qid, trees):
    import xgboost

    params = {
        "objective": "rank:ndcg", "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": args.leaves,
        "max_depth": 0, "eta": 0.1, "max_bin": 255, "nthread": args.threads,
    }  # fmt: skip
    return xgboost.train(params, xgboost.DMatrix(X, y, qid=qid), trees)


def podium_model(args, X, y, qid, trees):
    return LambdaMART(trees, max_leaves=args.leaves, n_jobs=args.threads).fit(X, y, qid=qid)


def print_table(title, best, ours, more):
    table = Table("", "seconds", "ours / theirs", "", title=title, title_justify="left")
    for name, seconds in best.items():
        table.add_row(name, f"{seconds:.3f}", f"{best[ours] / seconds:.2f}", more.get(name, ""))
    Console().print(table)


def train(args):
    X, y, qid, sizes = made_data(args.rows, args.docs)
    Xt, yt, _, sizes_t = made_data(max(args.rows // 5, 2000), args.docs, seed=1)
    podium_model(args, X[:3000], y[:3000], qid[:3000], 2)
    quantized = {"use_quantized_grad": True, "num_grad_quant_bins": 16}
    contestants = {
        "podium": lambda: podium_model(args, X, y, qid, args.trees),
        "lightgbm": lambda: lightgbm_model(args, X, y, sizes, args.trees),
        "lightgbm quantized": lambda: lightgbm_model(args, X, y, sizes, args.trees, **quantized),
        "xgboost": lambda: xgboost_model(args, X, y, qid, args.trees),
    }
    best, models = best_times(contestants, args.repeat)
    offsets, more = np.concatenate([[0], np.cumsum(sizes_t)]), {}
    for name, model in models.items():
        scores = np.asarray(model.inplace_predict(Xt) if name == "xgboost" else model.predict(Xt), float)
        more[name] = f"NDCG@10 {measure_queries('ndcg@10', yt, scores, offsets).mean:.4f}"
    print_table(f"Training, {len(X)} rows, {args.trees} trees, {args.threads} thread(s)", best, "podium", more)


def score(args):
    X, y, qid, sizes = made_data(args.rows, args.docs)
    few = int(sizes[: max(40, len(sizes) // 10)].sum())
    ours = podium_model(args, X[:few], y[:few], qid[:few], args.trees)
    ours.predict(X[:100])
    own = np.unique(qid[:few], return_counts=True)[1]
    theirs, other = (
        lightgbm_model(args, X[:few], y[:few], own, args.trees),
        xgboost_model(args, X[:few], y[:few], qid[:few], args.trees),
    )
    contestants = {
        "podium": lambda: ours.predict(X),
        "lightgbm": lambda: theirs.predict(X, num_threads=args.threads),
        "xgboost": lambda: other.inplace_predict(X),
    }
    best, _ = best_times(contestants, args.repeat)
    query = np.ascontiguousarray(X[:100])
    one, _ = best_times({"podium": lambda: ours.predict(query), "lightgbm": lambda: theirs.predict(query)}, 100)
    print_table(f"Scoring, {len(X)} rows, {args.trees} trees", best, "podium", {})
    print_table("Scoring one query of 100 rows", one, "podium", {n: f"{1e6 * s:.0f} µs" for n, s in one.items()})


def pieces(args):
    X, y, qid, _ = made_data(args.rows, args.docs)
    data = RankingData.from_arrays(X, y, qid=qid)
    bins = bin_features(X, data.queries.rows, n_threads=args.threads)
    offsets = data.queries.offsets
    loss = LambdaLoss(Graded(data.labels, offsets, data.row_weight, data.query_weight), normalize=True,
                      n_threads=args.threads)  # fmt: skip
    scores = np.random.default_rng(0).standard_normal(len(y))
    gradient, curvature = loss.derivatives(scores)
    grower = TreeGrower(bins, Limits(), args.leaves, n_threads=args.threads)
    grower.grow(gradient, curvature)
    contestants = {
        "canonical order": lambda: RankingData.from_arrays(X, y, qid=qid),
        "binning": lambda: bin_features(X, data.queries.rows, n_threads=args.threads),
        "lambdas": lambda: loss.derivatives(scores),
        "packing": lambda: pack(gradient, curvature, 0, n_threads=args.threads),
        "tree": lambda: grower.grow(gradient, curvature),
    }
    best, _ = best_times(contestants, args.repeat)
    print_table(f"Pieces, {len(X)} rows, {args.threads} thread(s)", best, "tree", {})


def made_categories(rows, seed, n_noise, even):
    """Eight numbers, a column of 200 categories and one of 12 that matter, and columns of 200 that do not."""
    rule, rng = np.random.default_rng(11), np.random.default_rng(seed)
    qid = np.repeat(np.arange(rows // 20), 20)
    effects, share = rule.standard_normal(200), np.ones(200) if even else 1 / np.arange(1, 201)
    many = rule.permutation(200)[rng.choice(200, len(qid), p=share / share.sum())]
    few, noise = rng.integers(0, 12, len(qid)), rng.integers(0, 200, (len(qid), n_noise))
    numbers = rng.standard_normal((len(qid), 8))
    score = np.tanh(numbers) @ (rule.standard_normal(8) * (rule.random(8) < 0.5)) + 0.5 * rule.standard_normal(12)[few]
    score += effects[many] * (0.3 if n_noise > 1 else 1 + 0.7 * (numbers[:, 0] > 0)) + 1.5 * rng.standard_normal(
        len(qid)
    )
    return (
        np.column_stack([numbers, many, few, noise]),
        np.digitize(score, np.quantile(score, [0.5, 0.8, 0.93, 0.98])),
        qid,
    )


def categories(args):
    table = Table("", "LambdaMART", "as numbers", "LightGBM", "its cat_smooth=0", title="NDCG@10 on new queries")
    cases = {"even categories": (1, True), "few frequent ones": (1, False), "weak, four columns of noise": (4, True)}
    for name, case in cases.items():
        Xt, yt, _ = made_categories(20_000, 1000, *case)
        found = []
        for seed in range(3):
            X, y, qid = made_categories(args.rows, seed, *case)
            columns, options = list(range(8, X.shape[1])), {"max_leaves": args.leaves, "n_jobs": args.threads}
            models = [LambdaMART(args.trees, categorical_features=c, **options) for c in (columns, None)]
            sizes = np.unique(qid, return_counts=True)[1]
            scores = [model.fit(X, y, qid=qid).predict(Xt) for model in models]
            for extra in ({}, {"cat_smooth": 0}):
                theirs = lightgbm_model(args, X, y, sizes, args.trees, categorical_feature=columns, **extra)
                scores.append(theirs.predict(Xt))
            offsets = np.arange(0, len(yt) + 1, 20)
            found.append([measure_queries("ndcg@10", yt.astype(float), one, offsets).mean for one in scores])
        table.add_row(name, *(f"{value:.4f}" for value in np.mean(found, axis=0)))
    Console().print(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(JOBS))
    defaults = {"rows": 300_000, "trees": 100, "leaves": 31, "docs": 120, "threads": 1, "repeat": 3}
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    JOBS[args.what](args)


JOBS = {"train": train, "score": score, "pieces": pieces, "categories": categories}


if __name__ == "__main__":
    main()
