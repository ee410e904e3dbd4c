"""Processor seconds of one gradient of each pairwise surrogate by the rows of one query, on one thread, with slopes.

    python benchmarks/pair_gradients.py [--largest 1000000] [--products 100000] [--repeat 3] [--plot FILE.svg]

Signs take O(n log n): at most 1 s for 1,000,000 rows is the goal. Of products, the hinge by strips of labels stands
beside the same sums pair by pair, in turns; the exponential is pair by pair. The slope is that of the logarithms over
the last factor of ten.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from kept_tables import add_folder, keep, with_machine
from rich.console import Console
from rich.table import Table

from podium import Graded
from podium.losses import PairSurrogate, product_pairs

ROWS = (("signs", "exp"), ("signs", "hinge"), ("signs", "ramp"), ("products", "hinge"), ("products, all", "hinge"),
        ("products", "exp"))  # fmt: skip
MOST_PAIRS = 10_000
"""Rows up to which all pairs are looked at."""


def made_loss(pairs, surrogate, n):
    """Return a loss of n rows in one query; "products, all" takes every pair, as one strip."""
    y = np.random.default_rng(n).normal(size=n)
    short = product_pairs.MAX_ROWS_BY_PAIRS
    product_pairs.MAX_ROWS_BY_PAIRS = n if pairs.endswith("all") else short
    loss = PairSurrogate(Graded(y, np.array([0, n]), np.ones(n), np.ones(1)), surrogate, pairs=pairs.split(",")[0])
    product_pairs.MAX_ROWS_BY_PAIRS = short
    return loss


def seconds_of(loss, n):
    scores = loss.response + np.random.default_rng(1).normal(size=n)
    start = time.process_time()
    loss.negative_gradient(scores)
    return time.process_time() - start


def sizes(largest):
    """100, 316, 1,000 and so on."""
    return [round(10 ** (power / 2)) for power in range(4, 1 + round(2 * np.log10(largest)))]


def slope(times):
    """Slope of log seconds by log n over the last factor of ten."""
    known = sorted(times)
    first = known[max(0, len(known) - 3)]
    return np.log(times[known[-1]] / times[first]) / np.log(known[-1] / first) if first < known[-1] else np.nan


def draw(times, path):
    """Write a chart of seconds by rows, both on logarithmic scales, with the slope of each line in its name."""
    import altair

    names = {row: f"{' '.join(row)}: slope {slope(own):.2f}" for row, own in times.items()}
    rows = [
        {"rows": n, "seconds": seconds, "gradient": names[row]}
        for row, own in times.items()
        for n, seconds in own.items()
    ]
    x, y = (
        axis(f"{name}:Q", scale=altair.Scale(type="log")) for axis, name in ((altair.X, "rows"), (altair.Y, "seconds"))
    )
    lines = altair.Chart(altair.Data(values=rows)).mark_line(point=True)
    color = altair.Color("gradient:N", sort=list(names.values()), legend=altair.Legend(labelLimit=300))
    lines.encode(x, y, color).save(path)


def tables(kept):
    """Return the table of the page: rows that are powers of ten, and slopes."""
    times = {row: {int(n): one for n, one in own.items()} for row, own in kept["seconds"]["figures"].items()}
    sizes = sorted({n for own in times.values() for n in own if n >= 1000 and np.log10(n).is_integer()})
    rows = [[f"{n:,}", *(f"{own[n]:.2g}" if n in own else "" for own in times.values())] for n in sizes]
    rows.append(["slope", *(f"{slope(own):.2f}" for own in times.values())])
    return {"pair-gradients": with_machine(kept["seconds"], ["rows", *times], rows)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--products", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--plot", type=Path, help="file for a chart")
    add_folder(parser)
    args = parser.parse_args()
    few = min(args.products, MOST_PAIRS)
    most = dict(zip(ROWS, [args.largest] * 3 + [args.products] + [few] * 2, strict=True))
    times = {row: {} for row in ROWS}
    for n in sizes(args.largest):
        losses = {row: made_loss(*row, n) for row in ROWS if n <= most[row]}
        for loss in losses.values():
            seconds_of(loss, n)  # compiles
        for _ in range(args.repeat):
            for row, loss in losses.items():
                times[row][n] = min(times[row].get(n, np.inf), seconds_of(loss, n))
    table = Table("rows", *(" ".join(row) for row in ROWS), title="seconds a gradient")
    for n in sizes(args.largest):
        table.add_row(f"{n:,}", *(f"{own[n]:.4f}" if n in own else "-" for own in times.values()))
    table.add_row("slope", *(f"{slope(own):.2f}" for own in times.values()))
    Console().print(table)
    keep("pair_gradients", {"seconds": {", ".join(row): own for row, own in times.items()}}, args)
    if args.plot is not None:
        draw(times, args.plot)


if __name__ == "__main__":
    main()
