"""Time the parts of a RankBoost round one by one, best of several, after compilation.

    python benchmarks/rankboost_kernels.py [task ...] [--rows 300000] [--threads 1] [--repeat 5]

Fewer rows than 300,000 make the fixed sizes of the other tasks smaller by the same share.

Tasks: graded, bipartite, exact, continuous, pairs, sparse (default: all). One line for each part: milliseconds,
and nanoseconds for each of its units (row and feature, row, pair, stored entry).
"""

import argparse
import time

import numpy as np
import scipy.sparse as sp

from podium.binning import bin_features
from podium.data.feedback import Graded, Pairs
from podium.pairs.alpha import RULES
from podium.pairs.distribution import Distribution
from podium.stumps.stump import StumpLearner

ROWS = 300_000


def best_of(function, repeat):
    function()  # compile
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def show(name, seconds, units, unit):
    print(f"{name:44s} {seconds * 1e3:10.2f} ms {seconds / units * 1e9:8.2f} ns a {unit}", flush=True)


def share_of(n, args):
    """Return a size that goes down with `--rows`."""
    return max(n * args.rows // ROWS, 200) if args.rows < ROWS else n


def search_like(rows, n_features=136, docs=120, grades=5, seed=0):
    """Heavy-tailed, sparse and query-level features of made search data, as float32, with query offsets."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(docs // 2, docs * 3 // 2, rows // docs)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    n = int(offsets[-1])
    X = rng.standard_normal((n, n_features), np.float32)
    X[:, ::3] = np.floor(np.exp(X[:, ::3] * 1.5))
    X[:, 1::6][rng.random(X[:, 1::6].shape) < 0.7] = 0
    X[:, 5] = np.repeat(rng.standard_normal(len(sizes)), sizes)
    score = np.tanh(X[:, :20]) @ rng.standard_normal(20) + rng.standard_normal(n)
    y = np.digitize(score, np.quantile(score, [0.52, 0.84, 0.97, 0.99][: grades - 1])).astype(float)
    return X, Graded(y, offsets, np.ones(n), np.ones(len(sizes)))


def boost(bins, feedback, n_rounds, threads, criterion="r"):
    """Run `n_rounds` rounds from the start."""
    distribution = Distribution(feedback, bins.n_rows, threads)
    learner = StumpLearner(bins, criterion=criterion, n_threads=threads)
    for _ in range(n_rounds):
        found = learner.search(distribution.potentials(), distribution)
        distribution.update(RULES["r"](found, distribution) * found.values)


def time_state(feedback, n_rows, units, unit, args):
    """Time what a distribution does in a round."""
    distribution = Distribution(feedback, n_rows, args.threads)
    step = np.random.default_rng(0).uniform(0, 1e-3, n_rows)
    h = (step > 5e-4).astype(float)
    show("  update", best_of(lambda: distribution.update(step), args.repeat), units, unit)
    show("  potentials", best_of(distribution.potentials, args.repeat), units, unit)
    show("  W of a ranking", best_of(lambda: distribution.ranking_weights(h), args.repeat), units, unit)
    show("  moments of a ranking", best_of(lambda: distribution.moments(h, 0.1), args.repeat), units, unit)
    return distribution


def graded(args, grades=5):
    X, feedback = search_like(args.rows, grades=grades)
    cells = X.size
    show("  binning", best_of(lambda: bin_features(X, n_threads=args.threads), 2), cells, "cell")
    bins = bin_features(X, n_threads=args.threads)
    distribution = time_state(feedback, len(X), len(X), "row", args)
    potentials = distribution.potentials()
    for criterion in ("r", "z"):
        learner = StumpLearner(bins, criterion=criterion, n_threads=args.threads)
        seconds = best_of(lambda learner=learner: learner.search(potentials, distribution), args.repeat)
        show(f"  search by {criterion}", seconds, cells, "cell")


def bipartite(args):
    graded(args, grades=2)


def exact(args):
    X, feedback = search_like(share_of(10_000, args), 46, docs=50, grades=3)
    seconds = best_of(lambda: bin_features(X, max_bins=None), args.repeat)
    show("  binning, every threshold", seconds, X.size, "cell")
    bins = bin_features(X, max_bins=None)
    show("  100 rounds", best_of(lambda: boost(bins, feedback, 100, args.threads), 3), 100 * X.size, "cell")


def continuous(args):
    rng = np.random.default_rng(0)
    n = share_of(100_000, args)
    X = rng.standard_normal((n, 20))
    feedback = Graded(X[:, 0] + rng.standard_normal(n), np.array([0, n]), np.ones(n), np.ones(1))
    bins = bin_features(X)
    time_state(feedback, n, n, "row", args)
    show("  100 rounds", best_of(lambda: boost(bins, feedback, 100, args.threads), 2), 100 * X.size, "cell")
    show("  2 rounds by z", best_of(lambda: boost(bins, feedback, 2, args.threads, "z"), 2), 2 * X.size, "cell")


def pairs(args):
    rng = np.random.default_rng(0)
    n, m = share_of(100_000, args), share_of(10_000_000, args)
    feedback = Pairs(rng.integers(0, n, m), rng.integers(0, n, m), rng.random(m))
    time_state(feedback, n, m, "pair", args)


def sparse(args):
    rng = np.random.default_rng(0)
    n, n_features = share_of(1_000_000, args), share_of(2_000, args)
    labels, offsets = rng.integers(0, 3, n).astype(float), np.append(np.arange(0, n, 100), n)
    feedback = Graded(labels, offsets, np.ones(n), np.ones(len(offsets) - 1))
    distribution = Distribution(feedback, n, args.threads)
    potentials = distribution.potentials()
    for stored in (n // 200, n // 100, n // 50):  # a feature; 0.5, 1 and 2 percent
        rows = np.concatenate([rng.choice(n, stored, replace=False) for _ in range(n_features)])
        values, starts = rng.standard_normal(len(rows)), np.arange(n_features + 1) * stored
        X = sp.csc_array((values, rows, starts), shape=(n, n_features))
        start = time.perf_counter()
        bins = bin_features(X, n_threads=args.threads)
        show(f"  binning, {stored} stored a feature", time.perf_counter() - start, len(rows), "entry")
        for criterion in ("r", "z"):
            learner = StumpLearner(bins, criterion=criterion, n_threads=args.threads)
            seconds = best_of(lambda learner=learner: learner.search(potentials, distribution), 3)
            show(f"  search by {criterion}, {stored} stored a feature", seconds, len(rows), "entry")


TASKS = {
    "graded": graded,
    "bipartite": bipartite,
    "exact": exact,
    "continuous": continuous,
    "pairs": pairs,
    "sparse": sparse,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="task", default=list(TASKS))
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    for task in args.tasks:
        print(task)
        TASKS[task](args)


if __name__ == "__main__":
    main()
