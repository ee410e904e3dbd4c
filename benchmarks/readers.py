"""Reading a LETOR file: Podium's `read_letor` and scikit-learn's `load_svmlight_file`, one thread each.

    python benchmarks/readers.py [--megabytes 200] [--repeat 3] [--warm]

The file is made in a temporary directory: 136 features a row, of the kinds and spellings that collections
have (counts, six decimals, shares, full precision, one in seven left out). The readers take turns, each in a
new process that has read a small file first, so that neither imports nor compilation are timed; the first
read of a fresh install is a line of its own, which `--warm` leaves out. Memory is the peak of the process less
what it had before.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

MAKE = """
import sys
import numpy as np
path, megabytes = sys.argv[1], float(sys.argv[2])
rng = np.random.default_rng(0)
spellings = ["{:.0f}", "{:.6f}", "{:.6g}", "{!r}"]
with open(path, "w") as file:
    query = 0
    while file.tell() < megabytes * 1e6:
        for document in range(100):
            x = rng.random(136)
            x[::4] = np.floor(np.exp(9 * x[::4]))
            kept = np.flatnonzero(rng.random(136) < 6 / 7).tolist()
            cells = " ".join(f"{j + 1}:{spellings[j % 4].format(x[j].item())}" for j in kept)
            file.write(f"{rng.integers(5)} qid:{query} {cells} # docid = GX{query:05d}-{document:03d}\\n")
        query += 1
"""
READERS = {
    "podium": "from podium import read_letor\nread = read_letor",
    "podium, float32": "from podium import read_letor\nread = lambda path: read_letor(path, dtype='float32')",
    "podium, sparse": "from podium import read_letor\nread = lambda path: read_letor(path, sparse=True)",
    "scikit-learn": (
        "from sklearn.datasets import load_svmlight_file\nread = lambda path: load_svmlight_file(path, query_id=True)"
    ),
}
RUN = """
import os, resource, sys, time
{reader}
def arrays(result):
    matrix, *others = (part for part in result if part is not None)
    sparse = hasattr(matrix, "indptr")
    others += [matrix.data, matrix.indices, matrix.indptr] if sparse else [matrix]
    return sum(array.nbytes for array in others)
def memory():
    # What the process has now, so that a peak before the reading hides nothing; the peak where unknown.
    if os.path.exists("/proc/self/statm"):
        return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
    return peak()
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
start = time.perf_counter()
read(sys.argv[1])
first = time.perf_counter() - start
before, start = memory(), time.perf_counter()
result = read(sys.argv[2])
seconds = time.perf_counter() - start
print(first, seconds, peak() - before, arrays(result))
"""


def measure(reader: str, small: Path, large: Path, cache: Path | None) -> list[float]:
    """Seconds of the first small read and of the large one, bytes of the peak and of the result."""
    threads = dict.fromkeys(["OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"], "1")
    command = [sys.executable, "-c", RUN.format(reader=READERS[reader]), str(small), str(large)]
    environment = {**os.environ, **threads, **({} if cache is None else {"NUMBA_CACHE_DIR": str(cache)})}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return [float(number) for number in done.stdout.split()]


def make(path: Path, megabytes: float) -> Path:
    # In a process of its own: a process that starts others hands them its own peak of memory.
    subprocess.run([sys.executable, "-c", MAKE, str(path), str(megabytes)], check=True)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--warm", action="store_true", help="leave out the first read of a fresh install")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        small, large = (
            make(Path(folder, "small.txt"), 0.1),
            make(Path(folder, "large.txt"), options.megabytes),
        )
        cache = None if options.warm else Path(folder, "cache")
        cold = None if options.warm else measure("podium", small, small, cache)[0]
        runs = {name: [] for name in READERS}
        for _ in range(options.repeat):
            for name in READERS:
                runs[name].append(measure(name, small, large, cache))
        report(runs, cold, large.stat().st_size)


def report(runs: dict[str, list[list[float]]], cold: float | None, size: int) -> None:
    best = {name: min(run[1] for run in timed) for name, timed in runs.items()}
    table = Table("reader", "seconds", "MB/s", "times as fast", "peak / arrays", "arrays MB")
    table.title, table.title_justify = (
        f"A LETOR file of {size / 1e6:.0f} MB, best of {len(runs['podium'])}",
        "left",
    )
    for name, timed in runs.items():
        memory = max(run[2] / run[3] for run in timed)
        speed, ratio = size / 1e6 / best[name], best["scikit-learn"] / best[name]
        arrays = f"{timed[0][3] / 1e6:.0f}"
        table.add_row(name, f"{best[name]:.2f}", f"{speed:.0f}", f"{ratio:.1f}", f"{memory:.2f}", arrays)
    Console().print(table)
    warm = min(run[0] for run in runs["podium"])
    fresh = "" if cold is None else f"fresh install {cold:.1f} s, "
    Console().print(f"first read of a small file: {fresh}new process {warm:.2f} s")


if __name__ == "__main__":
    main()
