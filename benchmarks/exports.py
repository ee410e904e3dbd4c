"""Time to write a model of 1,000 trees of 64 leaves in every format, and to certify 10,000 rows; one thread.

python benchmarks/exports.py [--trees 1000] [--leaves 64] [--rows 10000]
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from podium.export import FORMATS, TreeSum, certify, export_model
from podium.export.ensemble import split_tree
from podium.trees.regression_tree import RegressionTree

N_FEATURES = 136


def random_tree(rng, X, n_leaves):
    """A tree grown by splitting one of its leaves at random, at values of the data."""
    left, right = [], []

    def grow(n):
        if n == 1:
            leaves.append(None)
            return -len(leaves)
        at = len(left)
        left.append(0), right.append(0)
        size = int(rng.binomial(n - 2, 0.5)) + 1
        left[at], right[at] = grow(size), grow(n - size)
        return at

    leaves: list[None] = []
    grow(n_leaves)
    feature = rng.integers(0, N_FEATURES, n_leaves - 1).astype(np.int32)
    threshold = X[rng.integers(0, len(X), n_leaves - 1), feature]
    children = [np.array(side, np.int32) for side in (left, right)]
    value, gain, count = rng.normal(size=n_leaves), rng.random(n_leaves - 1), np.full(n_leaves, 20)
    cut, missing_left = np.full(n_leaves - 1, -1, np.int32), rng.random(n_leaves - 1) < 0.5
    return RegressionTree(feature, threshold, missing_left, *children, value, gain, count, cut)


def models(n_trees=1000, n_leaves=64, n_rows=10_000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_FEATURES))
    trees = tuple(random_tree(rng, X, n_leaves) for _ in range(n_trees))
    stumps = tuple(
        split_tree(int(f), float(X[i, f]), True, 0.0, float(alpha))
        for f, i, alpha in zip(
            rng.integers(0, N_FEATURES, n_trees),
            rng.integers(0, n_rows, n_trees),
            rng.normal(size=n_trees),
            strict=True,
        )
    )
    return X, TreeSum(trees, 0.0, N_FEATURES, None, "trees"), TreeSum(stumps, 0.0, N_FEATURES, None, "stumps")


def best_time(call, repeats=3):
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def arguments(text):
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"trees": 1000, "leaves": 64, "rows": 10_000}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args()


def main():
    args = arguments(__doc__)
    X, trees, stumps = models(args.trees, args.leaves, args.rows)
    query = np.arange(len(X)) // 100
    size = f"{args.trees:,} trees of {args.leaves} leaves, {N_FEATURES} features"
    print(f"{size} (scorecard: {args.trees:,} stumps); CPU seconds")
    print(f"{'format':14}{'export':>8}{'file, MB':>10}{f'certify {len(X):,} rows':>22}")
    with tempfile.TemporaryDirectory() as folder:
        for name, kind in FORMATS.items():
            record = stumps if name == "scorecard" else trees
            options = {"missing": "absent"} if kind.missing else {}
            path = Path(folder) / "model.csv"
            seconds = best_time(lambda r=record, p=path, n=name, o=options: export_model(r, p, n, **o))
            ours = record.score(X)
            proof = best_time(lambda r=record, s=ours, n=name, o=options: certify(r, X, s, query, n, **o), 1)
            print(f"{name:14}{seconds:8.2f}{path.stat().st_size / 1e6:10.2f}{proof:22.2f}")


if __name__ == "__main__":
    main()
