"""The doctor: seconds on made data of a million rows, and the costs that its estimates of fits rest on.

    python benchmarks/doctor.py times [--rows 1000000] [--features 136] [--threads 2]
    python benchmarks/doctor.py costs [--rows 100000] [--features 50 200] [--rounds 10 60]

`times` has the whole call, and each part of it. `costs` fits rankers at several sizes, one thread, and prints what one
cell (row × feature), one row and one pair cost, and how far `podium.doctor` is off.
"""

import argparse
import resource
import time
import tracemalloc

import numpy as np
from rich.console import Console
from rich.table import Table

from podium import LambdaMART, RankBoost, doctor
from podium.diagnosis import estimates, leak_check
from podium.diagnosis.checked_rows import CheckedRows
from podium.diagnosis.feature_checks import check_features
from podium.diagnosis.overview import overview_of
from podium.diagnosis.query_checks import check_queries

ROWS_PER_QUERY = 100
RANKERS = {"RankBoost": RankBoost, "LambdaMART": LambdaMART}


def made(n_rows, n_features, dtype=np.float64):
    """Rows with grades 0 to 4 and features that see them through noise."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, n_rows).astype(float)
    X = rng.normal(size=(n_rows, n_features)).astype(dtype)
    X += 0.2 * y[:, None]
    return X, y, np.arange(n_rows) // ROWS_PER_QUERY


def timed(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def processor_seconds(model, X, y, qid):
    """Return the processor's seconds of a fit, which other programs lengthen less than those of the clock."""
    start = time.process_time()
    model.fit(X, y, qid=qid)
    return time.process_time() - start


def peak_bytes(model, X, y, qid):
    """Return the most memory that a fit holds beside X."""
    tracemalloc.start()
    model.fit(X, y, qid=qid)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def print_times(args):
    X, y, qid = made(args.rows, args.features)
    doctor(*made(2000, 3)[:2], group=[2000])  # compiles
    table = Table("part", "seconds", title=f"{args.rows:,} rows, {args.features} features, {args.threads} thread(s)")
    seconds, diagnosis = timed(lambda: doctor(X, y, qid=qid, n_jobs=args.threads))
    table.add_row("podium.doctor, all of it", f"{seconds:.1f}")
    seconds, rows = timed(lambda: CheckedRows.of(X, y, qid, None))
    table.add_row("the gate: checks and canonical order", f"{seconds:.1f}")
    parts = {
        "queries and labels": lambda: list(check_queries(rows)),
        "features": lambda: list(check_features(rows)),
        "leaks": lambda: list(leak_check.check_leaks(rows, args.threads)),
        "overview": lambda: overview_of(rows),
    }
    for name, part in parts.items():
        table.add_row(name, f"{timed(part)[0]:.1f}")
    Console().print(table)
    Console().print(f"found: {', '.join(diagnosis.codes) or 'nothing'}")
    Console().print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB")


def print_costs(args):
    table = Table("ranker", "features", "once, ns a cell", "a round, ns a cell", "estimate / measured", "bytes a row",
                  "estimate / measured", title=f"{args.rows:,} rows")  # fmt: skip
    for name, kind in RANKERS.items():
        for n_features in args.features:
            X, y, qid = made(args.rows, n_features)
            few, many = (min(processor_seconds(kind(n), X, y, qid) for _ in range(3)) for n in args.rounds)
            a_round = (many - few) / (args.rounds[1] - args.rounds[0])
            once = few - args.rounds[0] * a_round
            [estimate] = [one for one in estimates.estimates_of(CheckedRows.of(X, y, qid, None)) if one.ranker == name]
            ratio = estimate.seconds / (once + estimates.ROUNDS * a_round)
            cells = [f"{1e9 * one / X.size:.2f}" for one in (once, a_round)]
            memory = peak_bytes(kind(args.rounds[0]), X, y, qid)
            held = f"{(estimate.n_bytes - X.nbytes) / memory:.2f}"
            table.add_row(name, f"{n_features}", *cells, f"{ratio:.2f}", f"{memory / args.rows:.0f}", held)
    Console().print(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    times = commands.add_parser("times")
    times.add_argument("--rows", type=int, default=1_000_000)
    times.add_argument("--features", type=int, default=136)
    times.add_argument("--threads", type=int, default=2)
    times.set_defaults(run=print_times)
    costs = commands.add_parser("costs")
    costs.add_argument("--rows", type=int, default=100_000)
    costs.add_argument("--features", type=int, nargs="+", default=[50, 200])
    costs.add_argument("--rounds", type=int, nargs=2, default=[10, 60])
    costs.set_defaults(run=print_costs)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
