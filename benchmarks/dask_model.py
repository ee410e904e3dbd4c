"""A model of the time of training on Dask, from measured work and messages, for more rows and workers than are at hand.

    python benchmarks/dask_model.py measure [--rows 200000] [--features 136] [--trees 30] [--workers 1 2 4] [--times 3]
    python benchmarks/dask_model.py network [--features 136] [--leaves 31] [--batches …] [--message-us …] [--times 3]
    python benchmarks/dask_model.py table   [--features 136] [--leaves 31] [--row-ns …] [--batches …] [--message-us …]
                                            [--byte-ns …] [--tree-ms …]

`measure` prints what the model rests on, in processor time, which other programs of the machine change least: work a
row, exchanges of a tree, the cost of a message, from fits of few rows on two and on eight workers, and of a byte
between processes, and from two workers what a tree costs each worker besides; then the processor time of a tree that it
expects of other numbers of local worker processes beside the one they take, of several clusters in turn the median and
the extremes. `network` (Linux, as root) exchanges what a tree takes between two processes in network namespaces whose
lines have 1 and 10 Gbit/s and 0, 0.2 and 1 ms of delay, beside the formula, and says what the emulation itself can do
(see `emulation/network_lines.py`). `table` prints seconds of a tree for 10⁸ and 10¹⁰ rows, 10 to 1,000 workers and four
networks, by a formula and, in brackets, by a simulation of every message: each worker sends to all others in turn
through one line out, and receives through one line in; it waits for no barrier, only for what it needs.
"""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from multiprocessing import get_context
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
from dask_training import chunked, cluster, made_rows
from emulation import network_lines
from kept_tables import add_folder, keep, markdown, with_machine

from podium import LambdaMART
from podium.distributed import fit
from podium.distributed.socket_exchange import TOKEN_BYTES, Endpoint, SocketExchange, listen

HISTOGRAM_BYTES = 2048
"""Of a feature and division."""
LARGE_BYTES = 400_000
"""Of a message by which the cost of a byte is measured."""
FEW_ROWS, FEW_FEATURES, MANY_WORKERS = 16_000, 8, 8
"""Of fits by which the cost of a message is measured: other work is little there."""
SPLIT_BYTES, LEAF_BYTES = 250, 1088
"""Of the best splits of a division, and of the exact sums of a leaf."""


@dataclass(frozen=True)
class Costs:
    """What was measured: see `measure`; the defaults are of two cores of an AMD EPYC at 2.6 GHz.

    Attributes
    ----------
    row_ns : float
        Nanoseconds of one thread for a row of 136 features and a tree.
    batches : float
        Batches of divisions of a tree of 31 leaves; each is two exchanges.
    message_us, byte_ns : float
        Microseconds of a processor for a message to another worker and the one from there, and nanoseconds for each
        byte of one: what an exchange of more workers, and of more bytes, takes more.
    tree_ms : float
        Milliseconds of each worker's processor for a tree besides its rows and its messages, however many workers there
        are: histograms, whose size is that of the features, Python and Dask; what two local workers take beyond the
        rest.
    uneven : float
        Relative spread of the time that workers take for the same work.
    """

    row_ns: float = 274.0
    batches: float = 11.0
    message_us: float = 55.0
    byte_ns: float = 0.2
    tree_ms: float = 9.5
    uneven: float = 0.03


@dataclass(frozen=True)
class Network:
    """Seconds that a message is under way, and bytes a second of each worker's line."""

    delay: float
    bytes_per_second: float


def exchanges(costs, features, leaves, workers):
    """Return the bytes that a worker sends to each other one, exchange by exchange, of one tree."""
    divisions = leaves / costs.batches
    batch = [HISTOGRAM_BYTES * features * divisions / workers, SPLIT_BYTES * divisions]
    return batch * round(costs.batches) + [LEAF_BYTES * leaves]


def expected_seconds(costs, network, rows, features, leaves, workers):
    """Return the seconds of a tree by the formula: work, and for each exchange the delay and the messages."""
    work = rows / workers * costs.row_ns * 1e-9 * features / 136
    spread = 1 + costs.uneven * np.sqrt(2 * np.log(workers)) if workers > 1 else 1.0
    if workers == 1:
        return work
    others = workers - 1
    sent = [
        network.delay + others * seconds_of_message(costs, network, size)
        for size in exchanges(costs, features, leaves, workers)
    ]
    return work * spread + costs.tree_ms * 1e-3 + sum(sent)


def seconds_of_message(costs, network, size):
    """Return the seconds until a worker can send the next message: its processor's, or the line's if it has more."""
    return max(size / network.bytes_per_second, costs.message_us * 1e-6 + size * costs.byte_ns * 1e-9)


def simulated_seconds(costs, network, rows, features, leaves, workers, seed=0):
    """Return the seconds of a tree in which every message waits for its lines and every worker for its messages."""
    rng = np.random.default_rng(seed)
    sizes = exchanges(costs, features, leaves, workers)
    of_tree = rows / workers * costs.row_ns * 1e-9 * features / 136 + (costs.tree_ms * 1e-3 if workers > 1 else 0.0)
    work, ready = of_tree / (len(sizes) // 2), np.zeros(workers)
    for number, size in enumerate(sizes):
        if number % 2 == 0 and number < len(sizes) - 1:
            ready = ready + work * (1 + costs.uneven * np.abs(rng.standard_normal(workers)))
        ready = _exchanged(ready, seconds_of_message(costs, network, size), network.delay)
    return float(ready.max())


def _exchanged(ready, seconds, delay):
    """Return when each worker has received what all others send from when they are ready, a message in `seconds`."""
    workers = len(ready)
    if workers == 1:
        return ready
    turn = (np.arange(workers)[None, :] - np.arange(workers)[:, None] - 1) % workers  # of sender i for receiver j
    arrival = ready[:, None] + (turn + 1) * seconds + delay
    np.fill_diagonal(arrival, -np.inf)
    in_order = np.sort(arrival, axis=0)[1:]
    place = np.arange(workers - 1)[:, None]
    received = np.maximum.accumulate(in_order - place * seconds, axis=0)[-1] + (workers - 1) * seconds
    return np.maximum(ready, received)


def table(args):
    costs = Costs(args.row_ns, args.batches, args.message_us, args.byte_ns, args.tree_ms)
    networks = {
        f"{bits} Gbit/s, {1e3 * delay:g} ms": Network(delay, bits * 1.25e8)
        for bits in (1, 10)
        for delay in (1e-3, 2e-4)
    }
    found = []
    for rows, workers in product((10**8, 10**10), args.workers or (10, 100, 1000)):
        shape = (rows, args.features, args.leaves, workers)
        seconds = {
            name: [expected_seconds(costs, one, *shape), simulated_seconds(costs, one, *shape)]
            for name, one in networks.items()
        }
        work = rows / workers * costs.row_ns * 1e-9 * args.features / 136
        found.append({"rows": rows, "workers": workers, "work": work, "seconds": seconds})
    keep("dask_model", {"table": found}, args)
    print(seconds_table(found))
    return 0


TIMES = (("took", 1), ("expected", 1), ("small", 2))
"""Milliseconds of a line in the page, and their digits."""


def seconds_table(found):
    """Return the seconds of a tree by rows, workers and network, as Markdown."""
    rows = []
    for one in found:
        cells = ["{:.3g} ({:.3g})".format(*both) for both in one["seconds"].values()]
        rows.append([f"{one['rows']:.0e}", f"{one['workers']:,}", f"{one['work']:.3g}", *cells])
    return markdown(["rows", "workers", "work alone", *found[0]["seconds"]], rows)


def tables(kept):
    """Return the tables of the page."""
    header = ["line", "a tree", "by the formula", "1 KB alone", "bulk, each way"]
    rows = [
        [line, *(f"{1e3 * one[part]:.{digits}f} ms" for part, digits in TIMES), f"{one['bulk']:.1f} Gbit/s"]
        for line, one in kept["network"]["figures"].items()
    ]
    found = {"dask-network": with_machine(kept["network"], header, rows)}
    rows = []
    for name in (name for name in kept if name.endswith("clusters")):
        part = kept[name]
        own = part["figures"]
        one, two, four = (
            "{1:.0f} ms ({0:.0f} to {2:.0f})".format(*np.quantile(own["took"][n], [0, 0.5, 1])) for n in ("1", "2", "4")
        )
        expected = [f"{own['expected'][n]:.0f} ms" for n in ("1", "4")]
        rows.append([name, one, expected[0], two, f"{own['tree_ms']:.1f} ms", four, expected[1]])
    header = ["run", "one worker", "by the formula", "two", "hence the rest", "four", "by the formula"]
    found["dask-measured"] = with_machine(part, header, rows)
    return found | {"dask-model": seconds_table(kept["table"]["figures"])}


def measure(args):
    rows = made_rows(args.rows, args.features)
    given, leaves = {"qid": rows[2], "sample_weight": rows[3]}, args.leaves
    alone = processor_seconds(
        lambda trees: LambdaMART(trees, max_leaves=leaves, n_jobs=1).fit(*rows[:2], **given),
        time.process_time,
        args.trees,
    )
    per_tree, bytes_a_tree = counted_fit(rows, {"n_estimators": args.trees, "max_leaves": leaves})
    row_ns = 1e9 * alone / len(rows[1]) * 136 / rows[0].shape[1]
    small, large = (exchange_seconds(size) for size in (1024, LARGE_BYTES))
    message_us = 1e6 * message_seconds(leaves, args.trees, args.times)
    costs = Costs(row_ns, (per_tree - 1) / 2, message_us, 1e9 * (large - small) / LARGE_BYTES, 0.0)
    print(f"{row_ns:.0f} ns of a processor a row of 136 features and tree; {per_tree:.1f} exchanges a tree")
    print(f"{costs.message_us:.0f} us of a processor for a message each way, {costs.byte_ns:.2f} ns for a byte of it")
    histograms = HISTOGRAM_BYTES * rows[0].shape[1] * leaves
    print(f"{bytes_a_tree / 1e6:.2f} MB a tree between two workers, {bytes_a_tree / histograms:.2f} of its histograms")
    even = replace(costs, uneven=0.0)  # who waits for others uses no processor
    numbers = args.workers or [1, 2, 4]
    taken = [
        [1e3 * cluster_seconds(rows, leaves, workers, args.trees) for workers in numbers] for _ in range(args.times)
    ]
    expected = {}
    for workers, turns in zip(numbers, np.sort(taken, axis=0).T, strict=True):
        each = 1e3 * expected_seconds(even, Network(0.0, np.inf), len(rows[1]), rows[0].shape[1], leaves, workers)
        took = f"{np.median(turns):.0f} ms of processors a tree ({turns[0]:.0f} to {turns[-1]:.0f})"
        if workers == 2:
            even = replace(even, tree_ms=np.median(turns) / workers - each)
            print(f"2 workers: {took}, so {even.tree_ms:.1f} ms of each for a tree besides")
            continue
        expected[workers] = workers * each
        print(f"{workers} workers: {took}, expected {expected[workers]:.0f}")
    by_number = dict(zip(numbers, np.transpose(taken).tolist(), strict=True))
    found = {
        "took": by_number,
        "expected": expected,
        "tree_ms": even.tree_ms,
        "message_us": message_us,
        "row_ns": row_ns,
    }
    keep("dask_model", {f"{args.times} clusters": found}, args)
    return 0


def message_seconds(leaves, trees, times):
    """Return the processor seconds of a worker for a message to another one and the one from there, in fits.

    Processes that do nothing else take less: in fits a message wakes a process that has waited or worked.
    """
    rows = made_rows(FEW_ROWS, FEW_FEATURES)
    per_tree, _ = counted_fit(rows, {"n_estimators": trees, "max_leaves": leaves})
    taken = [[cluster_seconds(rows, leaves, n, 2 * trees) / n for n in (2, MANY_WORKERS)] for _ in range(times)]
    few, many = np.median(taken, axis=0)
    return (many - few) / (MANY_WORKERS - 2) / per_tree


def cluster_seconds(rows, leaves, workers, trees):
    """Return the processor seconds of a tree on all workers of a new cluster: they differ more from one to the next."""
    with cluster(workers) as (client, folder):
        X, y, qid, weight = chunked(rows, 4 * workers, folder)
        given = {"qid": qid, "sample_weight": weight, "client": client}
        return processor_seconds(partial(fit_trees, leaves, X, y, given), partial(used_by_workers, client), trees)


def fit_trees(leaves, X, y, given, trees):
    """Fit so many trees on the workers."""
    fit(LambdaMART(trees, max_leaves=leaves), X, y, **given)


def processor_seconds(train, used, trees):
    """Return the processor seconds of a tree, from fits of few and of three times as many; `used` reads the clock."""
    train(1)  # kernels are loaded, or compiled, in the first fit of a process
    marks = [used()]
    for number in (trees, 3 * trees):
        train(number)
        marks.append(used())
    return (marks[2] - marks[1] - (marks[1] - marks[0])) / (2 * trees)


def used_by_workers(client):
    """Return the processor seconds of all worker processes so far."""
    return sum(client.run(time.process_time).values())


def network(args):
    costs = Costs(args.row_ns, args.batches, args.message_us, args.byte_ns, 0.0)  # no worker, but its messages alone
    sizes = exchanges(costs, args.features, args.leaves, 2)
    print(f"a tree: {len(sizes)} exchanges, {sum(sizes) / 1e6:.2f} MB each way; of {10 * args.times} turns the best")
    lines, kept = [(gigabits, delay) for gigabits in (1, 10) for delay in (0.0, 2e-4, 1e-3)], {}
    for gigabits, delay in [*lines, (1000, 0.0)]:
        with network_lines.line(gigabits, delay), ProcessPoolExecutor(2, get_context("spawn")) as pool:
            took, small, bulk = (
                max(pool.map(network_lines.exchange_arrays, range(2), [own] * 2, [n] * 2))
                for own, n in ((sizes, 10 * args.times), ([1024] * 20, 5 * args.times), ([2e7], 3 * args.times))
            )
        found = f"a message of 1 KB {1e3 * small / 20:.2f} ms, {2e7 / bulk / 1.25e8:.1f} Gbit/s each way in bulk"
        if gigabits > 10:
            print(f"the relay itself, at any rate: {1e3 * took:.1f} ms a tree ({found})")
            continue
        expected = expected_seconds(costs, Network(delay, gigabits * 1.25e8), 0, args.features, args.leaves, 2)
        print(
            f"{gigabits} Gbit/s, {1e3 * delay} ms: {1e3 * took:.1f} ms a tree, expected {1e3 * expected:.1f} ({found})"
        )
        figures = {"took": took, "expected": expected, "small": small / 20, "bulk": 2e7 / bulk / 1.25e8}
        kept[f"{gigabits} Gbit/s, {1e3 * delay:g} ms"] = figures
    keep("dask_model", {"network": kept}, args)
    return 0


def exchange_seconds(size, n_times=500):
    """Return the processor seconds of each of two processes for an exchange of messages of so many bytes."""
    context, ends = get_context("fork"), []
    for rank in range(2):
        end, other = context.Pipe()
        context.Process(target=talk, args=(rank, size, n_times, other), daemon=True).start()
        ends.append(end)
    ports = [end.recv() for end in ends]
    for end in ends:
        end.send(ports)
    return float(np.mean([end.recv() for end in ends]))


def talk(rank, size, n_times, end):
    """Exchange arrays with the other process, and say how many processor seconds one exchange took."""
    server = listen("127.0.0.1")
    end.send(server.getsockname()[1])
    exchange = SocketExchange(server, rank, [Endpoint("127.0.0.1", port) for port in end.recv()], b"0" * TOKEN_BYTES)
    wanted = [np.zeros(size // 8) for _ in range(2)]
    exchange.scatter_sum(wanted)
    start = time.process_time()
    for _ in range(n_times):
        exchange.scatter_sum(wanted)
    end.send((time.process_time() - start) / n_times)
    exchange.close()


def counted_fit(rows, options):
    """Return the exchanges of a tree, and the bytes of all, counted on two workers in this process."""
    from distributed import Client, LocalCluster

    counts, close, found = {}, SocketExchange.close, []

    def counting_close(self):
        counts[self.rank] = self.n_messages, self.bytes_sent
        close(self)

    local = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    counting = patch.object(SocketExchange, "close", counting_close)  # the fit closes the exchange of each worker
    with TemporaryDirectory() as folder, LocalCluster(**local) as own, Client(own) as client, counting:
        for trees in (1, options["n_estimators"]):
            counts.clear()
            X, y, qid, weight = chunked(rows, 4, folder)
            ranker = LambdaMART(trees, max_leaves=options["max_leaves"])
            fit(ranker, X, y, qid=qid, sample_weight=weight, client=client)
            found.append((max(counts.values())[0], sum(sent for _, sent in counts.values())))
    return [(many - one) / (options["n_estimators"] - 1) for one, many in zip(*found, strict=True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["measure", "network", "table"])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--trees", type=int, default=30)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--workers", type=int, nargs="+", help="1 2 4, or 10 100 1000 for the table")
    parser.add_argument("--times", type=int, default=3, help="turns of the network, and clusters")
    parser.add_argument("--row-ns", type=float, default=Costs.row_ns)
    parser.add_argument("--batches", type=float, default=Costs.batches)
    parser.add_argument("--message-us", type=float, default=Costs.message_us)
    parser.add_argument("--byte-ns", type=float, default=Costs.byte_ns)
    parser.add_argument("--tree-ms", type=float, default=Costs.tree_ms)
    add_folder(parser)
    args = parser.parse_args()
    return {"measure": measure, "network": network, "table": table}[args.what](args)


if __name__ == "__main__":
    sys.exit(main())
