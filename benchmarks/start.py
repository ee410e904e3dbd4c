"""Cold starts: the command line's help, `import podium`, first calls in a fresh install and in a new process.

    python benchmarks/start.py [--repeat 5] [--warm] [--calls LambdaMART …]

Each figure is the best of several new processes; a fresh install is one with an empty compilation cache, which
`--warm` leaves out. Of each call there are the seconds of the whole process with its imports and their processor time,
which other programs change less; the first call alone; and a second call in the same process.
"""

import argparse
import os
import subprocess
import sys
import tempfile

from kept_tables import add_folder, keep, with_machine
from rich.console import Console
from rich.table import Table

HELP = """
import sys
from podium.cli import app
try:
    app(["--help"])
except SystemExit:
    pass
"""
DATA = """
import numpy as np
rng = np.random.default_rng(0)
X, y, qid = rng.random((1000, 10)), rng.integers(0, 5, 1000), np.repeat(np.arange(10), 100)
"""
CALLS = {
    "evaluate": ("evaluate", "evaluate(y, X[:, 0], qid=qid)"),
    "evaluate, ndcg@10 alone": ("evaluate", "evaluate(y, X[:, 0], qid=qid, measures=['ndcg@10'])"),
    "RankBoost": ("RankBoost", "RankBoost(3).fit(X, y, qid=qid)"),
    "LambdaMART": ("LambdaMART", "LambdaMART(3).fit(X, y, qid=qid)"),
}
"""What is imported, and the call."""
COLUMNS = "process", "processor time", "first call", "second call"
TIMED = """
import time
times = [time.perf_counter()]
{imports}
times.append(time.perf_counter())
{call}
times.append(time.perf_counter())
processor = time.process_time()
{call}
times.append(time.perf_counter())
import sys
print(times[2] - times[0], processor, times[2] - times[1], times[3] - times[2], file=sys.stderr)
"""


def seconds(imports: str, call: str, cache: str | None) -> list[float]:
    """Run code in a new process, with a compilation cache of its own if given; return the seconds of a table's row."""
    command = [sys.executable, "-c", TIMED.format(imports=imports, call=call)]
    environment = {**os.environ, "PODIUM_QUIET": "1", **({} if cache is None else {"NUMBA_CACHE_DIR": cache})}
    said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stderr
    return [float(number) for number in said.split()[-4:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--warm", action="store_true", help="leave out the fresh install")
    parser.add_argument("--calls", nargs="+", choices=CALLS, default=list(CALLS))
    add_folder(parser)
    args = parser.parse_args()
    found: dict[str, list[float]] = {}
    table = Table("start", *COLUMNS, title="Cold starts (seconds, best of new processes)", title_justify="left")

    def add(name: str, imports: str, call: str, cache: str | None, repeat: int) -> None:
        found[name] = list(map(min, zip(*(seconds(imports, call, cache) for _ in range(repeat)), strict=True)))
        table.add_row(name, *(f"{one:.2f}" for one in found[name]))

    add("podium --help", HELP, "", None, args.repeat)
    add("import podium", "import podium", "", None, args.repeat)
    for name in args.calls:
        imported, call = CALLS[name]
        imports = f"{DATA}from podium import {imported}"
        with tempfile.TemporaryDirectory() as folder:
            cache = None if args.warm else folder
            if not args.warm:
                add(f"first {name}, fresh install", imports, call, cache, 1)
            add(f"first {name}, new process", imports, call, cache, args.repeat)
    Console().print(table)
    keep("start", {"seconds": found}, args)


def tables(kept: dict) -> dict[str, str]:
    """Return the table of the page."""
    rows = [[name, *(f"{one:.2f}" for one in own)] for name, own in kept["seconds"]["figures"].items()]
    return {"start": with_machine(kept["seconds"], ["", *COLUMNS], rows)}


if __name__ == "__main__":
    main()
