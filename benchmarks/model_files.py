"""Model files: seconds to save and load, and bytes, of 1,000 trees with 64 leaves.

    python benchmarks/model_files.py [--trees 1000] [--leaves 64]

Seconds are the best of several turns: those of the processor, and those of the clock, which has the disk in it.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from podium import MART, load

TURNS = 7


def fitted_trees(n_trees: int, n_leaves: int) -> MART:
    """Return a model whose trees all have so many leaves."""
    rng = np.random.default_rng(0)
    X = rng.random((6000, 20))
    y = 4 * X[:, 0] * X[:, 1] + rng.random(6000)
    model = MART(n_trees, max_leaves=n_leaves, min_child_samples=1).fit(X, y)
    if {tree.n_leaves for tree in model.trees_} != {n_leaves} or len(model.trees_) != n_trees:
        raise SystemExit(f"This needs {n_trees} trees of {n_leaves} leaves.")
    return model


def best_seconds(model: MART, path: Path) -> dict[str, tuple[float, float]]:
    """Return the best seconds of processor and clock to save and to load."""
    taken: dict[str, list[tuple[float, float]]] = {"save": [], "load": []}
    for _ in range(TURNS):
        for name, call in (("save", lambda: model.save(path)), ("load", lambda: load(path))):
            processor, clock = time.process_time(), time.perf_counter()
            call()
            taken[name].append((time.process_time() - processor, time.perf_counter() - clock))
    return {name: tuple(map(min, zip(*both, strict=True))) for name, both in taken.items()}  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--leaves", type=int, default=64)
    args = parser.parse_args()
    model = fitted_trees(args.trees, args.leaves)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.podium"
        seconds = best_seconds(model, path)
        size = path.stat().st_size
    table = Table(
        "", "processor s", "clock s", title=f"{args.trees:,} trees of {args.leaves} leaves", title_justify="left"
    )
    for name, (processor, clock) in seconds.items():
        table.add_row(name, f"{processor:.3f}", f"{clock:.3f}")
    Console().print(table)
    Console().print(f"{size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
