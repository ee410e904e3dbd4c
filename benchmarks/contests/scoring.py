"""Scoring: milliseconds of one call, every contestant with the same trees.

    python benchmarks/bench.py scoring

50 trees of 10, 31, 64 and 255 leaves on 136 features; one row, a query of 100 rows, and many rows, doubled to show
growth. One thread; many rows on two threads too.
"""

import numpy as np

from contests.models import made_data, podium_model, same_forest, settings
from contests.turns import CHOSEN, best_times, records

UNIT = "ms"
TITLE = "Scoring with the same trees: milliseconds a call"
LEAVES, TREES = (10, 31, 64, 255), 50
ROWS = (1, 100, 75_000, 150_000, 300_000)


def entries(small=False):
    """Yield the records of all shapes of trees and numbers of rows."""
    leaves, rows, trees = ((4, 31), (1, 100, 300), 3) if small else (LEAVES, ROWS, TREES)
    X, y, qid, sizes = made_data(max(rows))
    few = int(np.cumsum(sizes)[min(250, len(sizes)) - 1])
    for each in leaves:
        model = podium_model(settings(trees, each, 1), X[:few], y[:few], qid[:few], None)
        for threads in (1, 2) if CHOSEN["clock"] == "wall" else (1,):
            model.n_jobs = threads
            yield from one_forest(model, X, rows if threads == 1 else rows[-1:], each, threads, 2 if small else 300)


def one_forest(model, X, rows, leaves, threads, turns):
    """Yield the records of one forest; all contestants must give the same scores."""
    contestants = same_forest(model, threads)
    for n in rows:
        given = np.ascontiguousarray(X[:n])
        calls = {name: lambda score=score, given=given: score(given) for name, score in contestants.items()}
        times, found = best_times(calls, turns if n <= 1000 else 2 if CHOSEN["clock"] == "wall" else 1)
        for name, one in found.items():
            if not np.allclose(one, found["podium"], rtol=1e-4, atol=1e-4):
                raise SystemExit(f"{name} does not score as the others do.")
        case = f"{leaves} leaves, {threads} thread{'s' * (threads > 1)}"
        yield from records(case, n, {name: 1e3 * seconds for name, seconds in times.items()})
