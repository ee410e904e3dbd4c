"""Cold starts: the command line's help, `import podium`, first calls in a fresh install and in a new process.

    python benchmarks/start.py [--repeat 5] [--warm]

Each figure is the best of several new processes; a fresh install is one with an empty compilation cache, which
`--warm` leaves out. Beside the seconds on the clock stands the processor time, which other programs change less.
"""

import argparse
import os
import subprocess
import sys
import tempfile

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
    "evaluate": "from podium import evaluate\nevaluate(y, X[:, 0], qid=qid)",
    "evaluate, ndcg@10 alone": "from podium import evaluate\nevaluate(y, X[:, 0], qid=qid, measures=['ndcg@10'])",
    "RankBoost": "from podium import RankBoost\nRankBoost(3).fit(X, y, qid=qid)",
    "LambdaMART": "from podium import LambdaMART\nLambdaMART(3).fit(X, y, qid=qid)",
}
TIMED = """
import time
start = time.perf_counter()
{code}
import sys
print(time.perf_counter() - start, time.process_time(), file=sys.stderr)
"""


def seconds(code: str, cache: str | None) -> tuple[float, float]:
    """Run code in a new process, with a compilation cache of its own if given; return its wall and processor time."""
    command = [sys.executable, "-c", TIMED.format(code=code)]
    environment = {**os.environ, "PODIUM_QUIET": "1", **({} if cache is None else {"NUMBA_CACHE_DIR": cache})}
    said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stderr
    wall, processor = map(float, said.split()[-2:])
    return wall, processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--warm", action="store_true", help="leave out the fresh install")
    args = parser.parse_args()
    table = Table("start", "seconds", "processor", title="Cold starts (best of new processes)", title_justify="left")

    def add(name: str, code: str, cache: str | None, repeat: int) -> None:
        wall, processor = map(min, zip(*(seconds(code, cache) for _ in range(repeat)), strict=True))
        table.add_row(name, f"{wall:.2f}", f"{processor:.2f}")

    add("podium --help", HELP, None, args.repeat)
    add("import podium", "import podium", None, args.repeat)
    for name, call in CALLS.items():
        with tempfile.TemporaryDirectory() as folder:
            cache = None if args.warm else folder
            if not args.warm:
                add(f"first {name}, fresh install", DATA + call, cache, 1)
            add(f"first {name}, new process", DATA + call, cache, args.repeat)
    Console().print(table)


if __name__ == "__main__":
    main()
