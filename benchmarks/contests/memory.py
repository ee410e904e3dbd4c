"""Memory: megabytes that a fit takes beyond the data at its peak, each contestant in a new process.

    python benchmarks/bench.py memory

30 trees of 31 leaves on 136 features, rows doubled, one thread.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from contests.models import TRAINERS, made_data, settings
from contests.turns import records

UNIT = "MB"
TITLE = "Memory of a fit beyond the data at its peak: megabytes"
CONTESTANTS = ("podium", "lightgbm", "xgboost", "catboost")
ROWS = (50_000, 100_000, 200_000)


def entries(small=False):
    """Yield the records of each number of rows."""
    for rows in (500,) if small else ROWS:
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/data.npz"
            np.savez(path, *made_data(rows))
            names = CONTESTANTS[:2] if small else CONTESTANTS
            used = {name: max(in_new_process(name, path, 2 if small else 30), 0.1) for name in names}
        yield from records("a fit of 31 leaves, 1 thread", rows, used)


def in_new_process(name, path, trees):
    """Return what `beyond` returns in a new process."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    command = [sys.executable, __file__, name, path, str(2 if name == "catboost" else trees)]
    return float(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout)


def beyond(name, path, trees):
    """Load the data, fit a few rows for the imports, then all; return by how many MB the peak rose."""
    with np.load(path) as file:
        data = [file[key] for key in file]
    few = int(data[3][:2].sum())
    TRAINERS[name](settings(1, 4, 1), *(part[:few] for part in data[:3]), data[3][:2])
    before = _status("VmRSS")
    TRAINERS[name](settings(trees, 31, 1), *data)
    return _status("VmHWM") - before


def _status(name):
    """Return a figure of this process in MB; Linux alone has it."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name)) / 1024


if __name__ == "__main__":
    print(beyond(sys.argv[1], sys.argv[2], int(sys.argv[3])))
