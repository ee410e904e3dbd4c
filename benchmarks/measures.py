"""Speed of the measures beside scikit-learn, ranx and SciPy.

    python benchmarks/measures.py [many] [long] [cold] [--queries 10000] [--long 1000000] [--rounds 7]

One thread everywhere. Peers and Podium take turns, round after round, and the best round counts. Podium's
values have expected ties. ranx's kernels take rows that are sorted already, so Podium is shown with and
without its sort; scikit-learn sorts inside and is timed on a sample of the queries and scaled.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from podium.measures import CONVENTIONS, measure_many, measure_queries, measure_ranking, parse_measure, ranked

QUERIES, ROWS, LONG, SAMPLE = 10_000, 100, 1_000_000, 200
ROUNDS = 7
Timed = dict[str, Callable[[], object]]


def best_times(tasks: Timed, rounds: int) -> dict[str, float]:
    """Best time of each task, the tasks taking turns; one untimed round first, for compilation."""
    times = {name: float("inf") for name in tasks}
    for turn in range(rounds + 1):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            if turn > 0:
                times[name] = min(times[name], time.perf_counter() - start)
    return times


def search_data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    n = QUERIES * ROWS
    labels = rng.choice(5, n, p=[0.5, 0.25, 0.15, 0.07, 0.03]).astype(float)
    return labels, np.round(labels + 2 * rng.normal(size=n), 2), np.arange(0, n + 1, ROWS)


def many_queries() -> None:
    labels, scores, offsets = search_data()
    names = ["ndcg@10", "map", "err"]
    ranking = ranked(labels, scores, offsets)
    ranking.best  # noqa: B018 - ranx's qrels are sorted outside its timing too
    rules = CONVENTIONS["podium"]
    tasks: Timed = {}
    for name in names:
        tasks[f"podium {name}"] = partial(measure_queries, name, labels, scores, offsets)
        tasks[f"podium {name}, sorted before"] = partial(measure_ranking, parse_measure(name), ranking, rules)
    tasks["podium all three, one sort"] = lambda: measure_many(names, labels, scores, offsets)
    tasks |= ranx_tasks(ranking.order, labels) | sklearn_tasks(labels, scores)
    times = best_times(tasks, ROUNDS)
    print(f"\n{QUERIES:,} queries x {ROWS} rows, five grades, one thread")
    for name, seconds in times.items():
        scaled = seconds * QUERIES / SAMPLE if name.startswith("sklearn") else seconds
        print(f"  {name:52} {scaled * 1e3:10.1f} ms")
    per_query = times["sklearn ndcg_score @10 (from a sample of 200)"] * QUERIES / SAMPLE
    for name in names:
        ratio = per_query / times[f"podium {name}"]
        print(f"  podium {name} is {ratio:.0f} times as fast as sklearn ndcg_score")


def ranx_tasks(order: np.ndarray, labels: np.ndarray) -> Timed:
    """Ranx's NDCG and AP kernels on its own arrays: (row, grade) by grade, (row, score) by score."""
    try:
        import numba
        from ranx.metrics import average_precision, ndcg_burges
    except ImportError:
        print("ranx is not installed: left out")
        return {}
    numba.set_num_threads(1)
    grades = labels.reshape(QUERIES, ROWS)
    by_grade = np.argsort(-grades, axis=1, kind="stable")
    qrels = np.stack([by_grade, np.take_along_axis(grades, by_grade, 1)], axis=2).astype(float)
    rows = (order.reshape(QUERIES, ROWS) % ROWS).astype(float)
    run = np.stack([rows, np.broadcast_to(-np.arange(ROWS, dtype=float), rows.shape)], axis=2)
    return {
        "ranx ndcg_burges @10, sorted before": lambda: ndcg_burges(qrels, run, k=10),
        "ranx average_precision, sorted before": lambda: average_precision(qrels, run),
    }


def sklearn_tasks(labels: np.ndarray, scores: np.ndarray) -> Timed:
    from sklearn.metrics import ndcg_score

    rows = [slice(q * ROWS, (q + 1) * ROWS) for q in range(SAMPLE)]
    return {
        f"sklearn ndcg_score @10 (from a sample of {SAMPLE})": lambda: [
            ndcg_score([labels[r]], [scores[r]], k=10) for r in rows
        ]
    }


def long_tasks(labels: np.ndarray, scores: np.ndarray) -> Timed:
    from scipy.stats import kendalltau

    offsets = np.array([0, LONG])
    names = ["pair_loss_1", "pair_loss_2", "hard_loss", "kendall", "kendall_b"]
    tasks: Timed = {f"podium {n}": partial(measure_queries, n, labels, scores, offsets) for n in names}
    tasks["podium all five, one sort a tie rule"] = lambda: measure_many(names, labels, scores, offsets)
    tasks["scipy kendalltau"] = lambda: kendalltau(labels, scores)
    return tasks


def one_long_query() -> None:
    rng = np.random.default_rng(1)
    continuous = rng.normal(size=LONG)
    graded = rng.integers(0, 5, LONG).astype(float)
    for kind, labels, scores in (
        ("continuous labels, no ties", continuous, continuous + rng.normal(size=LONG)),
        ("five grades, tied scores", graded, np.round(graded + rng.normal(size=LONG), 2)),
    ):
        print(f"\none query of {LONG:,} rows, {kind}")
        for name, seconds in best_times(long_tasks(labels, scores), min(ROUNDS, 4)).items():
            print(f"  {name:52} {seconds * 1e3:10.1f} ms")


FIRST_CALL = """
import time
start = time.perf_counter()
from podium.measures import measure_queries
import numpy as np
imported = time.perf_counter()
data = np.array([1.0, 0.0, 2.0]), np.array([3.0, 2.0, 1.0]), np.array([0, 3])
measure_queries("ndcg@10", *data)
first = time.perf_counter()
measure_queries("map", *data)
second = time.perf_counter()
measure_queries("ndcg@10", *data)
print(imported - start, first - imported, second - first, time.perf_counter() - second)
"""


def cold_start() -> None:
    print("\nseconds: import, first measure (ndcg@10), a second one (map), ndcg@10 again")
    with tempfile.TemporaryDirectory() as cache:
        source = str(Path(__file__).resolve().parents[1] / "src")
        settings = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": source}
        for kind in ("fresh install", "new process", "new process"):
            out = subprocess.run(
                [sys.executable, "-c", FIRST_CALL], env=settings, capture_output=True, text=True, check=True
            )
            print(f"  {kind:20}", "  ".join(f"{float(x):8.4f}" for x in out.stdout.split()))


PARTS = {"many": many_queries, "long": one_long_query, "cold": cold_start}


def main() -> None:
    global QUERIES, LONG, ROUNDS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, "all"], default="all", metavar="part")
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--long", type=int, default=LONG)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    QUERIES, LONG, ROUNDS = max(given.queries, SAMPLE), given.long, given.rounds
    for part in PARTS if "all" in given.parts else given.parts:
        PARTS[part]()


if __name__ == "__main__":
    main()
