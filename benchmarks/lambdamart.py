"""LambdaMART: where the time of a tree goes, and columns of categories beside LightGBM.

    python benchmarks/lambdamart.py pieces [--rows 300000] [--threads 1]
    python benchmarks/lambdamart.py categories [--rows 30000] [--trees 40]

Training, scoring and memory beside the peers are suites of bench.py. `--clock cpu` counts processor time instead of
wall time, for a machine that others use too (with one thread only).
"""

import argparse
import time
from itertools import cycle

import numpy as np
from contests.models import lightgbm_model, made_data
from contests.turns import best_times
from kept_tables import add_folder, keep, markdown
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

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


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


COLUMNS = ("LambdaMART", "the columns as numbers", "LightGBM", "LightGBM, cat_smooth=0")


def categories(args):
    shown, kept = Table("", *COLUMNS, title="NDCG@10 on new queries"), {}
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
        kept[name] = np.mean(found, axis=0).tolist()
        shown.add_row(name, *(f"{value:.4f}" for value in kept[name]))
    Console().print(shown)
    keep("lambdamart", {f"{args.rows:,} rows": kept}, args)


def tables(kept):
    """Return the table of the page."""
    rows = [
        [f"{n_rows}, {name}", *(f"{value:.3f}" for value in values)]
        for n_rows, part in kept.items()
        for name, values in part["figures"].items()
    ]
    return {"categories": markdown(["", *COLUMNS], rows)}


COMMANDS = {"pieces": pieces, "categories": categories}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=COMMANDS)
    defaults = {"rows": 300_000, "trees": 100, "leaves": 31, "docs": 120, "threads": 1, "repeat": 3}
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    add_folder(parser)
    args = parser.parse_args()
    COMMANDS[args.what](args)


if __name__ == "__main__":
    main()
