"""Training on Dask beside the local fit: seconds a tree, bytes sent, and fits that lose workers.

    python benchmarks/dask_training.py race  [--rows 100000] [--trees 10] [--leaves 31] [--workers 2] [--repeat 2]
    python benchmarks/dask_training.py kills [--rows 100000] [--trees 10] [--workers 2] [--times 30] [--latest 4]

`race` times a tree of LambdaMART on worker processes of one thread each against the local fit on as many threads; they
take turns, and set-up counts apart. `kills` ends a worker process at a random moment of each fit and compares the model
with the local one, bit for bit; the command fails where one differs.
"""

import argparse
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np

from podium import LambdaMART, make_search
from podium.distributed import fit
from podium.distributed.dask_fit import TeamBoosting
from podium.trees import TreeBoosting


@contextmanager
def cluster(workers):
    """Yield a client of so many worker processes of one thread each."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as own, Client(own) as client:
        yield client


def made_rows(rows):
    """Search data, with weights that are no powers of two."""
    data = make_search(n_queries=max(2, rows // 50), random_state=0)
    weight = np.random.default_rng(1).random(len(data.y)) + 0.1
    return np.asarray(data.X, np.float32), np.asarray(data.y), np.asarray(data.qid), weight


def chunked(arrays, n_chunks):
    import dask.array as da

    return [da.from_array(one, chunks=(-(-len(one) // n_chunks), *one.shape[1:])) for one in arrays]


def timed_steps(kind, run):
    """Return what `run` returns, the seconds before the first tree, and the mean seconds of the trees after it."""
    starts, step, begun = [], kind.step, time.perf_counter()

    def noted(self, number):
        starts.append(time.perf_counter())
        return step(self, number)

    kind.step = noted
    try:
        model = run()
    finally:
        kind.step = step
    return model, starts[0] - begun, (time.perf_counter() - starts[1]) / (len(starts) - 1)


def race(args):
    rows = made_rows(args.rows)
    best = {"local": np.inf, "workers": np.inf}
    with cluster(args.workers) as client:
        for _ in range(args.repeat):
            options = {"n_estimators": args.trees, "max_leaves": args.leaves}
            ranker = LambdaMART(**options, n_jobs=args.workers)
            local, _, seconds = timed_steps(
                TreeBoosting,
                lambda: ranker.fit(rows[0], rows[1], qid=rows[2], sample_weight=rows[3]),  # noqa: B023
            )
            best["local"] = min(best["local"], seconds)
            X, y, qid, weight = chunked(rows, 4 * args.workers)
            model, before, seconds = timed_steps(
                TeamBoosting,
                lambda: fit(LambdaMART(**options), X, y, qid=qid, sample_weight=weight, client=client),  # noqa: B023
            )
            best["workers"] = min(best["workers"], seconds)
    same = bool(np.all(model.predict(rows[0]) == local.predict(rows[0])))
    print(f"{len(rows[1])} rows x {rows[0].shape[1]} features, {args.leaves} leaves, {args.workers} workers")
    print(f"local, {args.workers} threads    {1e3 * best['local']:.1f} ms a tree")
    print(f"workers of one thread  {1e3 * best['workers']:.1f} ms a tree")
    print(f"ratio {best['workers'] / best['local']:.2f}, set-up {before:.2f} s, same model: {same}")
    return 0 if same else 1


def kills(args):
    rows = made_rows(args.rows)
    X, y, qid, weight = rows
    local = LambdaMART(args.trees).fit(X, y, qid=qid, sample_weight=weight)
    rng, different, seconds = np.random.default_rng(0), 0, []
    for _ in range(args.times):
        with cluster(args.workers) as client:  # a new one: Dask does not always replace a killed worker
            pids = sorted(client.run(os.getpid).values())
            victim = pids[int(rng.integers(len(pids)))]
            timer = threading.Timer(float(rng.uniform(0.05, args.latest)), os.kill, (victim, signal.SIGKILL))
            timer.start()
            start, lazy = time.perf_counter(), chunked(rows, 2 * args.workers)
            model = fit(LambdaMART(args.trees), *lazy[:2], qid=lazy[2], sample_weight=lazy[3], client=client)
            seconds.append(time.perf_counter() - start)
            timer.join()
            different += not np.all(model.predict(X) == local.predict(X))
    print(f"{args.times} fits that lose a worker: {different} differ from the local model")
    print(f"seconds: median {np.median(seconds):.1f}, longest {max(seconds):.1f}")
    return 1 if different else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["race", "kills"])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--latest", type=float, default=4.0, help="seconds after which no worker is killed any more")
    args = parser.parse_args()
    return {"race": race, "kills": kills}[args.what](args)


if __name__ == "__main__":
    sys.exit(main())
