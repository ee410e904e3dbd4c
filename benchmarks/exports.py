"""Time to write a model of 1,000 trees of 64 leaves in every format, and to certify 10,000 rows; one thread."""

import tempfile
import time
from pathlib import Path

import numpy as np

from podium.export import FORMATS, TreeSum, certify, export_model
from podium.export.ensemble import split_tree
from podium.weak.regression_tree import RegressionTree

N_TREES, N_LEAVES, N_FEATURES, N_ROWS = 1000, 64, 136, 10_000


def random_tree(rng, X):
    """A tree grown by splitting one of its leaves at random, at values of the data."""
    left, right = [], []

    def grow(n_leaves):
        if n_leaves == 1:
            leaves.append(None)
            return -len(leaves)
        at = len(left)
        left.append(0), right.append(0)
        size = int(rng.binomial(n_leaves - 2, 0.5)) + 1
        left[at], right[at] = grow(size), grow(n_leaves - size)
        return at

    leaves: list[None] = []
    grow(N_LEAVES)
    feature = rng.integers(0, N_FEATURES, N_LEAVES - 1).astype(np.int32)
    threshold = X[rng.integers(0, len(X), N_LEAVES - 1), feature]
    children = [np.array(side, np.int32) for side in (left, right)]
    value, gain, count = rng.normal(size=N_LEAVES), rng.random(N_LEAVES - 1), np.full(N_LEAVES, 20)
    cut, missing_left = np.full(N_LEAVES - 1, -1, np.int32), rng.random(N_LEAVES - 1) < 0.5
    return RegressionTree(feature, threshold, missing_left, *children, value, gain, count, cut)


def models():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    trees = tuple(random_tree(rng, X) for _ in range(N_TREES))
    stumps = tuple(
        split_tree(int(f), float(X[i, f]), True, 0.0, float(alpha))
        for f, i, alpha in zip(
            rng.integers(0, N_FEATURES, N_TREES),
            rng.integers(0, N_ROWS, N_TREES),
            rng.normal(size=N_TREES),
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


def main():
    X, trees, stumps = models()
    query = np.arange(N_ROWS) // 100
    print(f"{N_TREES:,} trees of {N_LEAVES} leaves, {N_FEATURES} features (scorecard: {N_TREES:,} stumps); CPU seconds")
    print(f"{'format':14}{'export':>8}{'file, MB':>10}{f'certify {N_ROWS:,} rows':>22}")
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
