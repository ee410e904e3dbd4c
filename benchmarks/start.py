"""Cold starts: `import podium`, and the first measure in a fresh install and in a new process.

    python benchmarks/start.py [--repeat 5] [--warm]

Each figure is the best of several new processes; a fresh install is one with an empty compilation cache, which
`--warm` leaves out.
"""

import argparse
import os
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.table import Table

IMPORT = "import podium"
MEASURE = """
import numpy as np
from podium import evaluate
rng = np.random.default_rng(0)
evaluate(rng.integers(0, 5, 1000), rng.random(1000), qid=np.repeat(np.arange(10), 100), measures=["ndcg@10"])
"""
TIMED = "import time; start = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"


def seconds(code: str, cache: str | None) -> float:
    """Run code in a new process, with a compilation cache of its own if given; return the seconds it took inside."""
    command = [sys.executable, "-c", TIMED.format(code=code)]
    environment = {**os.environ, **({} if cache is None else {"NUMBA_CACHE_DIR": cache})}
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--warm", action="store_true", help="leave out the fresh install")
    args = parser.parse_args()
    table = Table("start", "seconds", title="Cold starts (best of new processes)", title_justify="left")
    with tempfile.TemporaryDirectory() as folder:
        cache = None if args.warm else folder
        table.add_row("import podium", f"{min(seconds(IMPORT, cache) for _ in range(args.repeat)):.3f}")
        if not args.warm:
            table.add_row("first evaluate, fresh install", f"{seconds(MEASURE, cache):.2f}")
        best = min(seconds(MEASURE, cache) for _ in range(args.repeat))
        table.add_row("first evaluate, new process", f"{best:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
