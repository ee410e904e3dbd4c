"""LambdaMART against its peers: training, scoring, one query, memory, and where the time of a tree goes.

    python benchmarks/lambdamart.py train  [--rows 300000] [--trees 100] [--leaves 31] [--docs 120] [--threads 1]
    python benchmarks/lambdamart.py table  [--trees 100] [--repeat 3] [--only 30000] [--on 2]
    python benchmarks/lambdamart.py score  [--rows 300000] [--trees 500] [--leaves 31] [--threads 1]
    python benchmarks/lambdamart.py memory [--rows 300000] [--trees 100]
    python benchmarks/lambdamart.py pieces [--rows 300000]
    python benchmarks/lambdamart.py categories [--rows 30000] [--trees 40]

Contestants run by turns in one process; each figure is the best of `--repeat` turns, binning included. `--clock cpu`
counts processor time instead of wall time, for a machine that others use too (with one thread only).
`table` trains every combination of CASES; `--only` keeps those of so many rows, `--on` those on so many threads.
"""

import argparse
import multiprocessing
import tempfile
import time
from itertools import cycle

import numpy as np
from rich.console import Console
from rich.table import Table

from podium.binning import bin_features
from podium.data.feedback import Graded
from podium.data.ranking_data import RankingData
from podium.losses import LambdaLoss
from podium.measures import measure_queries
from podium.rankers.lambdamart import LambdaMART
from podium.trees.grower import TreeGrower
from podium.trees.histogram import pack_gradients
from podium.trees.split import Limits

CASES = [
    *((rows, leaves, 120, threads) for rows in (30_000, 300_000) for leaves in (10, 31, 255) for threads in (1, 2)),
    *((300_000, 31, docs, threads) for docs in (10, 5_000) for threads in (1, 2)),
    *((1_000_000, 31, 120, threads) for threads in (1, 2)),
]
"""Rows, leaves, documents a query and threads of each row of the table."""
QUANTIZED = {"use_quantized_grad": True, "num_grad_quant_bins": 16}
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def made_data(rows, docs=120, n_features=136, seed=0):
    """Search-like data: heavy tails, many zeros, grades 0 to 4; the rule is the same for every seed."""
    rule, rng = np.random.default_rng(7), np.random.default_rng(seed)
    sizes = rng.integers(max(docs // 2, 2), docs * 3 // 2 + 1, 2 * rows // docs + 8)
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), rows) + 1]
    qid = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.standard_normal((len(qid), n_features)).astype(np.float32)
    X[:, ::3] = np.floor(np.exp(1.5 * X[:, ::3]))
    X[:, 1::6] *= rng.random(X[:, 1::6].shape) < 0.3
    weight = (rule.standard_normal(n_features) * (rule.random(n_features) < 0.3)).astype(np.float32)
    score = np.tanh(X) @ weight + 1.5 * np.tanh(X[:, 0]) * np.tanh(X[:, 3])
    score = score + 2 * rng.standard_normal(len(qid)) + rng.standard_normal(len(sizes))[qid]
    return X, np.digitize(score, np.quantile(score, [0.52, 0.84, 0.97, 0.99])).astype(float), qid, sizes


def best_times(contestants, repeat, clock=time.perf_counter):
    """Return the best time and the last result of each contestant, run by turns."""
    best, result = {}, {}
    for _ in range(repeat):
        for name, run in contestants.items():
            start = clock()
            result[name] = run()
            best[name] = min(best.get(name, np.inf), clock() - start)
    return best, result


def podium_model(args, X, y, qid, sizes):
    return LambdaMART(args.trees, max_leaves=args.leaves, n_jobs=args.threads).fit(X, y, qid=qid)


def lightgbm_model(args, X, y, qid, sizes, **extra):
    import lightgbm

    params = {
        "objective": "lambdarank", "num_leaves": args.leaves, "learning_rate": 0.1, "min_data_in_leaf": 20,
        "max_bin": 255, "num_threads": args.threads, "verbose": -1, **extra,
    }  # fmt: skip
    return lightgbm.train(params, lightgbm.Dataset(X, y, group=sizes, params=params), args.trees)


def quantized_model(args, X, y, qid, sizes):
    return lightgbm_model(args, X, y, qid, sizes, **QUANTIZED)


def xgboost_model(args, X, y, qid, sizes):
    import xgboost

    params = {
        "objective": "rank:ndcg", "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": args.leaves,
        "max_depth": 0, "eta": 0.1, "max_bin": 255, "nthread": args.threads,
    }  # fmt: skip
    return xgboost.train(params, xgboost.DMatrix(X, y, qid=qid), args.trees)


def catboost_model(args, X, y, qid, sizes):
    import catboost

    params = {
        "loss_function": "LambdaMart:metric=NDCG", "grow_policy": "Lossguide", "max_leaves": args.leaves,
        "iterations": args.trees, "learning_rate": 0.1, "border_count": 254, "min_data_in_leaf": 20,
        "thread_count": args.threads, "verbose": False, "allow_writing_files": False,
    }  # fmt: skip
    return catboost.CatBoost(params).fit(catboost.Pool(X, y, group_id=qid))


MODELS = {
    "podium": podium_model,
    "lightgbm": lightgbm_model,
    "lightgbm quantized": quantized_model,
    "xgboost": xgboost_model,
    "catboost": catboost_model,
}


def predict(name, model, X):
    """Return the scores of a model of any contestant."""
    return np.asarray(model.inplace_predict(X) if name == "xgboost" else model.predict(X), float)


def race(args):
    """Train every contestant; return the best times and NDCG@10 on new queries."""
    X, y, qid, sizes = made_data(args.rows, args.docs)
    Xt, yt, _, sizes_t = made_data(max(args.rows // 5, 30_000, 100 * args.docs), args.docs, seed=1)
    podium_model(argparse.Namespace(**{**vars(args), "trees": 2}), X[:3000], y[:3000], qid[:3000], None)
    contestants = {
        name: lambda make=make: make(args, X, y, qid, sizes)
        for name, make in MODELS.items()
        if name not in args.without
    }
    best, models = best_times(contestants, args.repeat, CLOCKS[args.clock])
    offsets = np.concatenate([[0], np.cumsum(sizes_t)])
    quality = {
        name: measure_queries("ndcg@10", yt, predict(name, model, Xt), offsets).mean for name, model in models.items()
    }
    return best, quality


def print_times(title, best, more):
    """Print each contestant's time, our time over it, and what else is known of it."""
    table = Table("", "seconds", "ours / theirs", "", title=title, title_justify="left")
    for name, seconds in best.items():
        table.add_row(name, f"{seconds:.5f}", f"{best['podium'] / seconds:.2f}", more.get(name, ""))
    Console().print(table)


def train(args):
    best, quality = race(args)
    title = f"Training, {args.rows} rows, {args.trees} trees of {args.leaves} leaves, {args.threads} thread(s)"
    print_times(title, best, {name: f"NDCG@10 {value:.4f}" for name, value in quality.items()})


def table(args):
    """Print one line for each case, as it is done: our seconds, ours / theirs, and NDCG@10 of all."""
    print("| rows | leaves | docs | threads | seconds | " + " | ".join(f"/ {name}" for name in list(MODELS)[1:]) + " |")
    print("|" + "---|" * (4 + len(MODELS)))
    for rows, leaves, docs, threads in CASES:
        if args.only in (0, rows) and args.on in (0, threads):
            case = {"rows": rows, "leaves": leaves, "docs": docs, "threads": threads}
            best, quality = race(argparse.Namespace(**{**vars(args), **case}))
            cells = [f"{best['podium']:.2f} ({quality['podium']:.4f})"]
            cells += [
                f"{best['podium'] / best[name]:.2f} ({quality[name]:.4f})" if name in best else "-"
                for name in list(MODELS)[1:]
            ]
            print(f"| {rows:,} | {leaves} | {docs} | {threads} | " + " | ".join(cells) + " |", flush=True)


LEAVES = {
    "podium": lambda model: np.mean([tree.n_leaves for tree in model.trees_]),
    "lightgbm": lambda model: np.mean([tree["num_leaves"] for tree in model.dump_model()["tree_info"]]),
    "xgboost": lambda model: np.mean([tree.count("leaf=") for tree in model.get_dump()]),
}
"""Mean number of leaves of a model's trees: fewer than allowed where few rows were learned from."""


def score(args):
    X, y, qid, sizes = made_data(args.rows, args.docs)
    few = sizes[: max(40, len(sizes) // 10)]
    own = slice(0, int(few.sum()))
    names = ("podium", "lightgbm", "xgboost")
    models = {name: MODELS[name](args, X[own], y[own], qid[own], few) for name in names}
    models["podium"].predict(X[:100])
    contestants = {name: lambda name=name: predict(name, models[name], X) for name in names}
    best, _ = best_times(contestants, args.repeat, CLOCKS[args.clock])
    more = {name: f"{LEAVES[name](models[name]):.0f} leaves a tree" for name in names}
    print_times(f"Scoring, {len(X)} rows, {args.trees} trees", best, more)
    one_query(args, models, np.ascontiguousarray(X[:100]))


def one_query(args, models, query):
    """Time one query, and what of ours is not the walk through the trees."""
    ours = models["podium"]
    contestants = {name: lambda name=name: predict(name, models[name], query) for name in models}
    contestants["podium, trees alone"] = lambda: ours._forest.score(query)
    best, _ = best_times(contestants, 200)
    more = {name: f"{1e6 * seconds:.0f} µs" for name, seconds in best.items()}
    more["podium"] += f", overhead {1e6 * (best['podium'] - best['podium, trees alone']):.0f} µs"
    print_times("Scoring one query of 100 rows", best, more)


def memory(args):
    """Print the peak memory of a fresh process that loads the data, and of others that fit too."""
    used, context = {}, multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/data.npz", *made_data(args.rows, args.docs))
        for name in (None, *args.peers):
            with context.Pool(1) as pool:
                used[name] = pool.apply(peak, (args, name, f"{folder}/data.npz"))
    shown = Table("", "peak MB", "over the data", title=f"Memory, {args.rows} rows", title_justify="left")
    for name, megabytes in used.items():
        shown.add_row(name or "data alone", f"{megabytes:.0f}", f"{megabytes - used[None]:.0f}")
    Console().print(shown)


def peak(args, name, path):
    """Load the data, fit one contestant and return how much memory the process had at most, in MB."""
    with np.load(path) as file:
        data = [file[key] for key in file]
    if name is not None:
        MODELS[name](args, *data)
    with open("/proc/self/status") as status:  # the peak in `resource` would count the process that started this one
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def pieces(args):
    X, y, qid, _ = made_data(args.rows, args.docs)
    data = RankingData.from_arrays(X, y, qid=qid)
    bins = bin_features(X, data.queries.rows, n_threads=args.threads)
    offsets = data.queries.offsets
    loss = LambdaLoss(Graded(data.labels, offsets, data.row_weight, data.query_weight), normalize="query",
                      n_threads=args.threads)  # fmt: skip
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(len(y))
    rounds = cycle([scores, scores + rng.standard_normal(len(y)) / 30])  # rows change places as from round to round
    gradient, curvature = loss.derivatives(scores)
    keys = data.queries.place_keys()
    grower = TreeGrower(bins, Limits(), args.leaves, n_threads=args.threads, keys=keys)
    grower.grow(gradient, curvature)
    contestants = {
        "canonical order": lambda: RankingData.from_arrays(X, y, qid=qid),
        "binning": lambda: bin_features(X, data.queries.rows, n_threads=args.threads),
        "lambdas": lambda: loss.derivatives(next(rounds)),
        "packing": lambda: pack_gradients(gradient, curvature, keys, 0, n_threads=args.threads),
        "tree": lambda: grower.grow(gradient, curvature),
    }
    best, _ = best_times(contestants, args.repeat, CLOCKS[args.clock])
    shown = Table("", "ms", title=f"Pieces, {len(X)} rows, {args.threads} thread(s)", title_justify="left")
    for name, seconds in best.items():
        shown.add_row(name, f"{1e3 * seconds:.1f}")
    Console().print(shown)


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
    shown = Table("", "LambdaMART", "as numbers", "LightGBM", "its cat_smooth=0", title="NDCG@10 on new queries")
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
                theirs = lightgbm_model(args, X, y, qid, sizes, categorical_feature=columns, **extra)
                scores.append(theirs.predict(Xt))
            offsets = np.arange(0, len(yt) + 1, 20)
            found.append([measure_queries("ndcg@10", yt.astype(float), one, offsets).mean for one in scores])
        shown.add_row(name, *(f"{value:.4f}" for value in np.mean(found, axis=0)))
    Console().print(shown)


COMMANDS = {
    "train": train,
    "table": table,
    "score": score,
    "memory": memory,
    "pieces": pieces,
    "categories": categories,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=COMMANDS)
    defaults = {"rows": 300_000, "trees": 100, "leaves": 31, "docs": 120, "threads": 1, "repeat": 3, "only": 0, "on": 0}
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--without", nargs="*", choices=list(MODELS)[1:], default=[], help="peers to leave out")
    parser.add_argument("--peers", nargs="*", choices=MODELS, default=["podium", "lightgbm"], help="of `memory`")
    args = parser.parse_args()
    COMMANDS[args.what](args)


if __name__ == "__main__":
    main()
