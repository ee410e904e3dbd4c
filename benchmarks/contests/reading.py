"""Reading: processor seconds of a file, sizes doubled, each contestant in turn in a process of its own.

    python benchmarks/bench.py reading

A LETOR file has 136 features a row, of the kinds and spellings that collections have (counts, six decimals, shares,
full precision, one in seven left out); a TREC run has 1,000 documents a topic. A process reads a small file first, so
that neither imports nor compilation are timed. One thread. XGBoost reads into its own matrix.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from contests.turns import installed, records

UNIT = "s"
TITLE = "Reading a file: seconds of the processor"
MEGABYTES, TOPICS, TURNS = (25, 50, 100), (100, 200, 400), 2
MAKE = """
import sys
import numpy as np
path, megabytes = sys.argv[1], float(sys.argv[2])
rng = np.random.default_rng(0)
spellings = ["{:.0f}", "{:.6f}", "{:.6g}", "{!r}"]
lines = []
for row in range(1000):
    x = rng.random(136)
    x[::4] = np.floor(np.exp(9 * x[::4]))
    kept = np.flatnonzero(rng.random(136) < 6 / 7).tolist()
    lines.append(" ".join(f"{j + 1}:{spellings[j % 4].format(x[j].item())}" for j in kept))
with open(path, "w") as file:
    row = 0
    while file.tell() < megabytes * 1e6:
        file.write(f"{row % 5} qid:{row // 100} {lines[row * 7919 % 1000]} # docid = GX{row:07d}\\n")
        row += 1
"""
MAKE_RUN = """
import sys
import numpy as np
rng = np.random.default_rng(0)
with open(sys.argv[1], "w") as file:
    for topic in range(int(sys.argv[2])):
        for rank, score in enumerate(np.sort(rng.random(1000))[::-1].tolist()):
            file.write(f"{topic} Q0 GX{topic:04d}-{rank * 7 % 1000:05d} {rank} {score!r} made\\n")
"""
READERS = {
    "podium": ("podium", "from podium import read_letor as read"),
    "scikit-learn": (
        "scikit-learn",
        "from sklearn.datasets import load_svmlight_file\nread = lambda path: load_svmlight_file(path, query_id=True)",
    ),
    "xgboost": (
        "xgboost",
        "import warnings, xgboost\nwarnings.simplefilter('ignore')\n"
        "read = lambda path: xgboost.DMatrix(path + '?format=libsvm', nthread=1)",
    ),
}
RUN_READERS = {
    "podium": ("podium", "from podium import read_run as read"),
    "ranx": ("ranx", "import ranx\nread = lambda path: ranx.Run.from_file(path, kind='trec')"),
    "ir-measures": ("ir-measures", "import ir_measures\nread = lambda path: list(ir_measures.read_trec_run(path))"),
}
TIMED = """
import sys, time
{reader}
read(sys.argv[1])
start = time.process_time()
read(sys.argv[2])
print(time.process_time() - start)
"""


def entries(small=False):
    """Yield the records of LETOR files and of TREC runs."""
    megabytes, topics, turns = ((0.1,), (1,), 1) if small else (MEGABYTES, TOPICS, TURNS)
    slow = ("xgboost", "ranx") if small else ()  # to import
    for case, make, readers, sizes, smallest in (
        ("LETOR file, by MB", MAKE, READERS, megabytes, 0.1),
        ("TREC run, by topics of 1,000", MAKE_RUN, RUN_READERS, topics, 1),
    ):
        chosen = {name: reader for name, reader in readers.items() if name not in slow}
        yield from read_all(case, make, chosen, sizes, smallest, turns)


def read_all(case, make, readers, sizes, smallest, turns):
    """Yield the records of one kind of file."""
    present = {name: code for name, (package, code) in readers.items() if installed(package)}
    with tempfile.TemporaryDirectory() as folder:
        small = _made(make, Path(folder, "small.txt"), smallest)
        for size in sizes:
            large, best = _made(make, Path(folder, "large.txt"), size), {}
            for _ in range(turns):
                for name, code in present.items():
                    best[name] = min(best.get(name, float("inf")), _seconds(code, small, large))
            yield from records(case, size, best)


def _made(code, path, size):
    """Write a file in a process of its own and return its path."""
    subprocess.run([sys.executable, "-c", code, str(path), str(size)], check=True)
    return path


def _seconds(reader, small, large):
    """Return the seconds of the large file after a small one."""
    threads = dict.fromkeys(["OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS"], "1")
    command = [sys.executable, "-c", TIMED.format(reader=reader), str(small), str(large)]
    done = subprocess.run(command, env={**os.environ, **threads}, check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])
