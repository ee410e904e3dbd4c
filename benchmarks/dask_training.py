"""Training on Dask beside the local fit: seconds a tree, bytes sent, and fits that lose workers.

    python benchmarks/dask_training.py race  [--rows 100000] [--features 136] [--trees 10] [--leaves 31] [--workers 2]
                                             [--repeat 2] [--peer] [--ranker trees|r|z]
    python benchmarks/dask_training.py kills [--rows 100000] [--trees 10] [--workers 2] [--times 30] [--latest 4]
    python benchmarks/dask_training.py memory [--rows 100000] [--features 136] [--trees 10] [--workers 2]
    python benchmarks/dask_training.py sparse [--rows 100000] [--features 136] [--workers 2]

`race` times a tree of LambdaMART on worker processes of one thread each against the local fit on as many threads; they
take turns, and set-up counts apart; with `--ranker r` or `z` it times a round of RankBoost by that criterion. With
`--peer` LightGBM's Dask ranker takes its turn too: seconds a tree are the difference between fits of many and of few
trees. `kills` ends a worker process, or stops it, by turns, at a random moment of each fit, of each ranker in turn, in
each third fit the only worker, and compares the model with the local one, bit for bit; the command fails where one
differs. `memory` prints the largest memory of the driver for rows that workers make, four and sixteen times as many.
`sparse` prints the seconds before the first round of RankBoost on sparse rows of fifty entries each, of which workers
bin all features together.
"""

import argparse
import os
import resource
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import numpy as np
from kept_tables import add_folder, keep, with_machine

from podium import MART, AdaBoostOR, LambdaMART, RankBoost, make_search
from podium.distributed import fit, heartbeats
from podium.distributed.team_learning import TeamBoosting
from podium.pairs import PairBoosting
from podium.trees import TreeBoosting


@contextmanager
def cluster(workers):
    """Yield a client of so many worker processes of one thread each, and a folder that they all see."""
    import dask
    from distributed import Client, LocalCluster

    # after 15 seconds a LocalCluster gives up for ever a worker that starts anew
    dask.config.set({"distributed.deploy.lost-worker-timeout": "300s"})
    local = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with TemporaryDirectory() as folder, LocalCluster(**local) as own, Client(own) as client:
        yield client, folder


def made_rows(rows, features=30):
    """Search data, with weights that are no powers of two."""
    data = make_search(n_queries=max(2, rows // 50), n_features=features, random_state=0)
    weight = np.random.default_rng(1).random(len(data.y)) + 0.1
    return np.asarray(data.X, np.float32), np.asarray(data.y), np.asarray(data.qid), weight


def chunked(arrays, n_chunks, folder, ends=None):
    """Dask arrays of files, which workers read: what stands in memory here would travel with the tasks."""
    import dask
    import dask.array as da

    read, found = dask.delayed(read_rows, pure=False), []
    for array in arrays:
        path = Path(mkdtemp(dir=folder)) / "rows.npy"
        np.save(path, array)
        own = np.linspace(0, len(array), n_chunks + 1).astype(int) if ends is None else ends
        parts = [
            da.from_delayed(read(str(path), a, b), (b - a, *array.shape[1:]), array.dtype) for a, b in pairwise(own)
        ]
        found.append(da.concatenate(parts))
    return found


def read_rows(path, start, stop):
    return np.load(path, mmap_mode="r")[start:stop].copy()


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


def peer_seconds(client, rows, args, folder):
    """Seconds a tree of LightGBM's Dask ranker, whose blocks must have whole queries, which stand together here."""
    import dask.array as da
    from lightgbm import DaskLGBMRanker

    X, y, qid, weight = rows
    sizes = np.diff(np.append(np.flatnonzero(np.append(True, qid[1:] != qid[:-1])), len(qid)))
    parts = np.array_split(sizes, 2 * args.workers)
    ends = np.append(0, np.cumsum([part.sum() for part in parts])).tolist()
    columns = chunked((X, y.astype(np.int32), weight), 0, folder, ends)
    group = da.from_array(sizes, chunks=(tuple(map(len, parts)),))
    seconds = {}
    for trees in (args.trees, 4 * args.trees):
        ranker = DaskLGBMRanker(client=client, n_estimators=trees, num_leaves=args.leaves, verbose=-1)
        start = time.perf_counter()
        ranker.fit(columns[0], columns[1], group=group, sample_weight=columns[2])
        seconds[trees] = time.perf_counter() - start
    return (seconds[4 * args.trees] - seconds[args.trees]) / (3 * args.trees)


def make_ranker(args, **options):
    """Return the ranker to race with."""
    if args.ranker == "trees":
        return LambdaMART(args.trees, max_leaves=args.leaves, **options)
    return RankBoost(args.trees, criterion=args.ranker, **options)


def race(args):
    rows = made_rows(args.rows, args.features)
    local, workers, peer, before = [], [], [], []
    kind = TreeBoosting if args.ranker == "trees" else PairBoosting
    with cluster(args.workers) as (client, folder):
        X, y, qid, weight = chunked(rows, 4 * args.workers, folder)
        for _ in range(args.repeat):
            here, _, seconds = timed_steps(
                kind,
                lambda: make_ranker(args, n_jobs=args.workers).fit(*rows[:2], qid=rows[2], sample_weight=rows[3]),
            )
            local.append(seconds)
            there, setup, seconds = timed_steps(
                TeamBoosting,
                lambda: fit(make_ranker(args), X, y, qid=qid, sample_weight=weight, client=client),
            )
            workers.append(seconds)
            before.append(setup)
            if args.peer:
                peer.append(peer_seconds(client, rows, args, folder))
    found = {"workers": min(workers), "local": min(local), "before": [min(before), max(before)]}
    keep("dask_training", {args.ranker: found | ({"LightGBM": min(peer)} if peer else {})}, args)
    same = bool(np.all(there.predict(rows[0][:100_000]) == here.predict(rows[0][:100_000])))
    shape = f"{len(rows[1])} rows x {rows[0].shape[1]} features"
    print(f"{args.ranker}: {shape}, {args.leaves} leaves of trees, {args.workers} workers")
    print(f"local, {args.workers} threads       {1e3 * min(local):.1f} ms a round")
    print(f"workers of one thread  {1e3 * min(workers):.1f} ms a round")
    if peer:
        print(f"LightGBM on Dask       {1e3 * min(peer):.1f} ms a tree")
    ratios = ", ".join(f"{one / other:.2f}" for one, other in zip(workers, local, strict=True))
    print(f"ratio {min(workers) / min(local):.2f} (by turns {ratios}), set-up {min(before):.2f} s, same model: {same}")
    return 0 if same else 1


RACES = {"trees": "a tree of 31 leaves", "r": "`RankBoost` by r", "z": "`RankBoost` by z"}


def tables(kept):
    """Return the table of the page."""
    rows = []
    for ranker, name in RACES.items():
        own = kept[ranker]["figures"]
        peer = f"{1e3 * own['LightGBM']:.0f} ms" if "LightGBM" in own else ""
        workers, local = own["workers"], own["local"]
        before = "{:.1f} to {:.1f} s".format(*own["before"])
        rows.append([name, f"{1e3 * workers:.3g} ms", f"{1e3 * local:.3g} ms", f"{workers / local:.2f}", peer, before])
    header = ["a round of", "workers", "local", "ratio", "LightGBM on Dask", "before the first round"]
    return {"dask-race": with_machine(kept["trees"], header, rows)}


def harm_later(pid, how, seconds):
    """Return a started timer that ends or stops a process."""
    timer = threading.Timer(seconds, os.kill, (pid, how))
    timer.start()
    return timer


def rankers_to_kill(args):
    """Return a maker of each ranker that trains on Dask, by name."""
    return {
        "LambdaMART": lambda: LambdaMART(args.trees),
        "MART": lambda: MART(args.trees),
        "RankBoost r": lambda: RankBoost(args.trees, criterion="r"),
        "RankBoost z": lambda: RankBoost(args.trees, criterion="z"),
        "AdaBoost.OR": lambda: AdaBoostOR(n_estimators=args.trees),
    }


def fitted(name, ranker, train, columns, **given):
    """Fit a ranker by some function; AdaBoost.OR takes no queries."""
    X, y, qid, weight = columns
    queries = {} if name == "AdaBoost.OR" else {"qid": qid}
    return train(ranker, X, y, sample_weight=weight, **queries, **given)


def whole_clusters(workers):
    """Yield, again and again, the client of a cluster that has all its workers: a new one where one does not return."""
    from distributed.exceptions import WorkerStartTimeoutError

    while True:
        with suppress(KeyError, WorkerStartTimeoutError), cluster(workers) as (client, folder):
            while True:
                client.wait_for_workers(workers, timeout=60)
                yield client, folder


def harmed_fit(client, lazy, train, how, moment, victim):
    """Return a model that is trained while a worker is lost, and the seconds."""
    pid = sorted(client.run(os.getpid).values())[victim]
    timer, start = harm_later(pid, how, moment), time.perf_counter()
    model = train(lazy, client=client)
    took = time.perf_counter() - start
    timer.join()
    if how is signal.SIGSTOP:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    time.sleep(1.0)  # until the cluster has noticed
    return model, took


def kills(args):
    import dask

    dask.config.set({heartbeats.SILENCE_SETTING: args.silence})
    rows, makers = made_rows(args.rows), rankers_to_kill(args)
    local = {name: fitted(name, make(), type(make()).fit, rows).predict(rows[0]) for name, make in makers.items()}
    rng, different, seconds = np.random.default_rng(args.seed), 0, {signal.SIGKILL: [], signal.SIGSTOP: []}
    late, clusters = 0, {workers: whole_clusters(workers) for workers in (args.workers, 1)}
    for number in range(args.times):
        name, how = list(makers)[number % len(makers)], list(seconds)[number % len(seconds)]
        workers = 1 if number % 3 == 2 else args.workers
        client, folder = next(clusters[workers])
        moment, victim = float(rng.uniform(0.05, args.latest)), int(rng.integers(workers))
        train, lazy = partial(fitted, name, makers[name](), fit), chunked(rows, 2 * args.workers, folder)
        model, took = harmed_fit(client, lazy, train, how, moment, victim)
        seconds[how].append(took)
        late += took < moment
        different += not np.all(model.predict(rows[0]) == local[name])
        of = f"{how.name} of one of {workers} after {moment:.2f} s"
        print(f"{number + 1}: {name}, {of}: {took:.1f} s, {different} different", flush=True)
    print(f"{args.times} fits that lose a worker: {different} differ from the local model; {late} were done before")
    for how, found in seconds.items():
        if found:
            print(f"{how.name}: median {np.median(found):.1f} s, longest {max(found):.1f} s")
    return 1 if different else 0


def made_part(start, stop, features):
    """Rows of queries of 100, made where they are needed."""
    rng = np.random.default_rng(start)
    X = rng.random((stop - start, features), np.float32)
    return X, np.digitize(X[:, 0] + rng.random(len(X)), [1.0, 1.5]), np.arange(start, stop) // 100


def memory(args):
    import dask
    import dask.array as da

    make = dask.delayed(made_part, pure=False)
    for rows in (args.rows, 4 * args.rows, 16 * args.rows):
        ends = np.linspace(0, rows // 100, 4 * args.workers + 1).astype(int) * 100
        parts = [(b - a, make(a, b, args.features)) for a, b in pairwise(ends.tolist())]
        kinds = [((args.features,), np.float32), ((), np.int64), ((), np.int64)]
        X, y, qid = (
            da.concatenate([da.from_delayed(part[one], (n, *shape), kind) for n, part in parts])
            for one, (shape, kind) in enumerate(kinds)
        )
        with cluster(args.workers) as (client, _):
            fit(LambdaMART(args.trees), X, y, qid=qid, client=client)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{rows} rows, {rows // 100} queries: the driver and the scheduler had {peak:.0f} MB at most", flush=True)
    return 0


def sparse(args):
    import scipy.sparse as sp

    rng, shape = np.random.default_rng(0), (args.rows, args.features)
    stored = np.repeat(np.arange(args.rows), 50), rng.integers(args.features, size=50 * args.rows)
    X = sp.csr_array((rng.integers(1, 100, len(stored[0])).astype(np.float64), stored), shape)
    y, qid, weight = rng.integers(3, size=args.rows), np.arange(args.rows) // 50, rng.random(args.rows) + 0.1
    ranker = RankBoost(2, criterion="r")
    with cluster(args.workers) as (client, folder):
        places, *lazy = chunked((np.arange(args.rows)[:, None], y, qid, weight), 2 * args.workers, folder)
        rows = places.map_blocks(take_sparse, X, dtype=np.float64, chunks=(places.chunks[0], (args.features,)))
        given = {"qid": lazy[1], "sample_weight": lazy[2], "client": client}
        for features in (rows[:, :1000], rows):  # kernels are loaded, or compiled, in the first fit of a process
            there, setup, _ = timed_steps(TeamBoosting, lambda X=features: fit(ranker, X, lazy[0], **given))
    start = time.perf_counter()
    here = RankBoost(2, criterion="r").fit(X, y, qid=qid, sample_weight=weight)
    whole, same = time.perf_counter() - start, there.rounds_ == here.rounds_
    print(f"{args.rows} sparse rows x {args.features} features, {args.workers} workers: set-up {setup:.1f} s")
    print(f"local fit of two rounds {whole:.1f} s, same model: {same}")
    return 0 if same else 1


def take_sparse(places, X):
    return X[places[:, 0]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["race", "kills", "memory", "sparse"])
    parser.add_argument("--ranker", choices=["trees", "r", "z"], default="trees")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=136, help="of the race")
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--silence", type=float, default=20.0, help="seconds after which a stopped worker is given up")
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--latest", type=float, default=4.0, help="seconds after which no worker is killed any more")
    add_folder(parser)
    args = parser.parse_args()
    return {"race": race, "kills": kills, "memory": memory, "sparse": sparse}[args.what](args)


if __name__ == "__main__":
    sys.exit(main())
