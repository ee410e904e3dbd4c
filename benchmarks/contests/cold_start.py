"""Cold starts: seconds of a new process from its start to the end of a first small fit, imports included.

    python benchmarks/bench.py cold_start

A fresh install has an empty compilation cache; peers are compiled already, so their figure is that of any new process.
The same of `import` alone, and of the command line's help.
"""

import os
import subprocess
import sys
import tempfile
import time

from contests.turns import CHOSEN, installed, records

UNIT = "s"
TITLE = "Cold starts: seconds of a new process"
DATA = """
import numpy as np
rng = np.random.default_rng(0)
X, y, qid = rng.random((1000, 10)), rng.integers(0, 5, 1000), np.repeat(np.arange(10), 100)
"""
FITS = {
    "podium": "from podium import LambdaMART\nLambdaMART(3).fit(X, y, qid=qid)",
    "lightgbm": "import lightgbm\nlightgbm.LGBMRanker(n_estimators=3, verbose=-1).fit(X, y, group=[100] * 10)",
    "xgboost": "import xgboost\nxgboost.XGBRanker(n_estimators=3).fit(X, y, qid=qid)",
    "catboost": (
        "import catboost\ncatboost.CatBoostRanker(iterations=3, verbose=False, allow_writing_files=False)"
        ".fit(X, y, group_id=qid)"
    ),
    "scikit-learn": (
        "from sklearn.ensemble import HistGradientBoostingRegressor as Trees\nTrees(max_iter=3).fit(X, y)"
    ),
}
IMPORTS = {
    "podium": "import podium",
    "lightgbm": "import lightgbm",
    "xgboost": "import xgboost",
    "catboost": "import catboost",
    "scikit-learn": "import sklearn",
}
HELP = "from podium.cli import app\ntry:\n    app(['--help'])\nexcept SystemExit:\n    pass"


def entries(small=False):
    """Yield the records of imports, of the help, and of first fits in a new process and in a fresh install."""
    names = ("podium", "scikit-learn") if small else tuple(name for name in FITS if installed(name))
    turns = 1 if small else 3
    yield from records("import", 1, best({name: IMPORTS[name] for name in names}, turns))
    yield from records("podium --help", 1, best({"podium": HELP}, turns))
    fits = best({name: DATA + FITS[name] for name in names}, turns)
    yield from records("first fit, new process", 1, fits)
    if not small:
        with tempfile.TemporaryDirectory() as cache:
            fresh = seconds(DATA + FITS["podium"], NUMBA_CACHE_DIR=cache)
        yield from records("first fit, fresh install", 1, fits | {"podium": fresh})


def best(programs, turns):
    """Return the least seconds of each program, run by turns."""
    found = {name: [] for name in programs}
    for _ in range(turns):
        for name, program in programs.items():
            found[name].append(seconds(program))
    return {name: min(times) for name, times in found.items()}


def seconds(program, **settings):
    """Run code in a new process and return how long that took."""
    start, before = time.perf_counter(), os.times()
    environment = {**os.environ, "PODIUM_QUIET": "1", **settings}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True)
    after = os.times()
    if CHOSEN["clock"] == "wall":
        return time.perf_counter() - start
    return after.children_user + after.children_system - before.children_user - before.children_system
