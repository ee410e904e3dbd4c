"""Speed of RankBoost: ``python benchmarks/rankboost.py`` for all figures, or name some of them.

    python benchmarks/rankboost.py all_thresholds pairs [--share 1.0]

`--share` makes all sizes smaller.
Names: race, criteria, all_thresholds, continuous, pairs, sparse, scaling. Data are made outside the
timings, kernels are compiled before them, contestants take turns and the best turn counts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table

from podium import RankBoost, RankingData, evaluate, make_search
from podium.binning import bin_features
from podium.data.feedback import feedback_of
from podium.pairs.distribution import Distribution
from podium.pairs.weak_ranking import WeakResult
from podium.stumps.stump import StumpLearner

OUT = Path(__file__).resolve().parent / "out"
DOUBLINGS = (1, 2, 4, 8, 16)
SHARE = 1.0
"""Of all sizes; `main` sets it."""
SOURCE = Path(__file__).resolve().parents[1] / "src"


class Figure(NamedTuple):
    """A line of the table; `target` is what the figure should be."""

    name: str
    value: str
    target: str = ""


class Data(NamedTuple):
    """What a fit is given."""

    X: Any
    y: np.ndarray
    qid: np.ndarray


def sized(number: int, least: int) -> int:
    """Return the share of a size that is asked for."""
    return max(int(number * SHARE), least)


# How things are timed.


def best_times(tasks: dict[str, Callable[[], Any]], turns: int) -> dict[str, float]:
    """Return the best time of each task, the tasks taking turns."""
    times = dict.fromkeys(tasks, float("inf"))
    for _ in range(turns):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            times[name] = min(times[name], time.perf_counter() - start)
    return times


class ClockedStumps:
    """A weak learner that searches stumps and notes the time of each search, so that rounds can be timed."""

    def __init__(self, data: RankingData, criterion: str, max_bins: int | None, n_threads: int) -> None:
        bins = bin_features(data.features, data.queries.rows, data.row_weight, max_bins, n_threads)
        self.learner = StumpLearner(bins, criterion=criterion, n_threads=n_threads)
        self.started: list[float] = []
        self.ended: list[float] = []

    def search(self, potentials: np.ndarray, distribution: Distribution) -> WeakResult | None:
        """Search, and note the time before and after."""
        self.started.append(time.perf_counter())
        found = self.learner.search(potentials, distribution)
        self.ended.append(time.perf_counter())
        return found


class RoundTime(NamedTuple):
    """Seconds of the best round (search, α, update, potentials) and of the best search alone."""

    whole: float
    search: float


def time_rounds(X: Any, n_rounds: int = 12, criterion: str = "r", n_jobs: int = 1, **fit: Any) -> RoundTime:
    """Fit and time the rounds, each from one search to the next."""
    made: list[ClockedStumps] = []

    def make(data: RankingData) -> ClockedStumps:
        made.append(ClockedStumps(data, criterion, 255, n_jobs))
        return made[-1]

    RankBoost(n_rounds, weak=make, alpha=criterion, n_jobs=n_jobs).fit(X, **fit)
    started, ended = np.array(made[-1].started), np.array(made[-1].ended)
    return RoundTime(float(np.diff(started).min()), float((ended - started).min()))


def compile_kernels(data: Data, **params: Any) -> None:
    """Fit two rounds on the first rows, so that everything is compiled."""
    rows = slice(0, 3000)
    RankBoost(2, **params).fit(data.X[rows], data.y[rows], qid=data.qid[rows])


# The data.


@cache
def search_data() -> Data:
    """300,000 rows, 136 features, five grades, about 120 documents a query."""
    made = make_search(n_queries=sized(2500, 8), docs_per_query=120, n_features=136)
    assert made.qid is not None
    return Data(made.X.astype(np.float32), made.y, made.qid)


def sparse_data(stored: int) -> Data:
    """Three grades, queries of 100 rows, `stored` entries in each column, at random rows of equal stripes."""
    rng, n_rows, n_features = np.random.default_rng(0), sized(1_000_000, 2000), sized(2_000, 20)
    stripe = n_rows // stored
    rows = np.arange(stored) * stripe + rng.integers(0, stripe, (n_features, stored))
    values = rng.standard_normal(rows.size)
    X = sp.csc_array((values, rows.ravel(), np.arange(n_features + 1) * stored), shape=(n_rows, n_features))
    return Data(X, rng.integers(0, 3, n_rows).astype(float), np.arange(n_rows) // 100)


# The figures.


def race(turns: int) -> list[Figure]:
    """Fit 300 rounds, binning included, against LightGBM's lambdarank with two leaves."""
    try:
        import lightgbm
    except ImportError:
        return [Figure("race", "LightGBM is not installed: pip install lightgbm")]
    data, test = search_data(), make_search(sized(500, 8), 120, 136, random_state=1)
    _, sizes = np.unique(data.qid, return_counts=True)
    n_rounds = sized(300, 3)

    def peer(threads: int) -> Any:
        params = {"objective": "lambdarank", "num_leaves": 2, "num_threads": threads, "verbose": -1}
        return lightgbm.train(params, lightgbm.Dataset(data.X, data.y, group=sizes, params=params), n_rounds)

    def ours(threads: int) -> RankBoost:
        return RankBoost(n_rounds, n_jobs=threads).fit(data.X, data.y, qid=data.qid)

    figures = []
    quality: dict[str, float] = {}
    for threads in (1, 2):
        compile_kernels(data, n_jobs=threads)
        tasks = {"podium r": lambda: ours(threads), "lightgbm stumps": lambda: peer(threads)}  # noqa: B023
        models: dict[str, Any] = {}
        times = best_times({name: partial(_keep, models, name, task) for name, task in tasks.items()}, turns)
        for name, model in models.items():
            scores = np.asarray(model.predict(test.X))
            quality[name] = evaluate(test.y, scores, qid=test.qid, measures="ndcg@10", n_resamples=0)["ndcg@10"]
        ratio = times["podium r"] / times["lightgbm stumps"]
        figures += [Figure(f"{name}, {threads} thread(s)", f"{seconds:.1f} s") for name, seconds in times.items()]
        figures += [Figure(f"podium r / lightgbm, {threads} thread(s)", f"{ratio:.3f}", "0.35")]
    return figures + [Figure(f"NDCG@10 of {name} on new queries", f"{value:.4f}") for name, value in quality.items()]


def _keep(models: dict[str, Any], name: str, task: Callable[[], Any]) -> None:
    models[name] = task()


def criteria(turns: int) -> list[Figure]:
    """Time a round of z and of r on the data of the race, with five grades and with two."""
    data = search_data()
    figures = []
    for grades, y, target in (("five grades", data.y, "14"), ("two grades", (data.y > 0).astype(float), "6")):
        rounds = {"r": 24, "z": 6}
        best = dict.fromkeys(rounds, float("inf"))
        for _ in range(turns):
            for criterion, n_rounds in rounds.items():
                taken = time_rounds(data.X, n_rounds, criterion, y=y, qid=data.qid).whole
                best[criterion] = min(best[criterion], taken)
        cells = data.X.size / 1e9
        for criterion, taken in best.items():
            text = f"{taken * 1e3:.0f} ms, {taken / cells:.2f} ns a row and feature"
            figures.append(Figure(f"round by {criterion}, {grades}", text))
        figures.append(Figure(f"z / r, {grades}", f"{best['z'] / best['r']:.1f}", target))
    return figures


def all_thresholds(turns: int) -> list[Figure]:
    """Fit 100 rounds with a threshold at every value: 10,000 rows, 46 features, 200 queries, three grades."""
    made = make_search(n_queries=sized(200, 8), docs_per_query=50, n_features=46)
    y, figures, n_rounds = np.minimum(made.y, 2), [], sized(100, 3)
    for criterion, target in (("r", "0.3 s"), ("z", "")):
        model = RankBoost(n_rounds, criterion=criterion, max_bins=None, n_jobs=1)
        fit = partial(model.fit, made.X, y, qid=made.qid)
        fit()
        seconds = best_times({"fit": fit}, turns + 2)["fit"]
        figures.append(
            Figure(f"{n_rounds} rounds by {criterion}, every threshold, 1 thread", f"{seconds:.3f} s", target)
        )
    return figures


CONTINUOUS = """
import sys, time
import numpy as np
from podium import RankBoost

def peak():
    with open("/proc/self/status") as status:  # unlike ru_maxrss, it starts anew with each process
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))

rng = np.random.default_rng(0)
n = int(sys.argv[1])
X = rng.standard_normal((n, 20))
y = X[:, 0] + rng.standard_normal(n)
RankBoost(2, n_jobs=1).fit(X[:1000], y[:1000])
before, times = peak(), []
for _ in range(int(sys.argv[2])):
    start = time.perf_counter()
    RankBoost(100, n_jobs=1).fit(X, y)
    times.append(time.perf_counter() - start)
print(min(times), peak() - before)
"""


def continuous(turns: int) -> list[Figure]:
    """Fit 100 rounds on one query with continuous labels, 20 features, and see how far memory grows."""
    figures = []
    for n_rows in (sized(50_000, 1000), sized(100_000, 2000)):
        seconds, growth = _run(CONTINUOUS, [str(n_rows), str(turns + 1)])
        pairs = n_rows * (n_rows - 1) / 2
        target = "2 s" if n_rows == 100_000 else ""
        figures.append(Figure(f"{n_rows:,} rows, {pairs:.2g} pairs", f"{seconds:.2f} s", target))
        text = f"{growth:.0f} MB ({growth * 2**20 / n_rows:.0f} bytes a row)"
        figures.append(Figure("  growth of peak memory", text, f"far below {pairs / 2**20:.0f} MB"))
    return figures


def pairs(turns: int) -> list[Figure]:
    """Update and potentials of 10,000,000 explicit pairs over 100,000 rows, on one thread."""
    rng = np.random.default_rng(0)
    n, m = sized(100_000, 100), sized(10_000_000, 1000)
    better, worse = rng.integers(0, n, (2, m))
    worse = np.where(worse == better, (worse + 1) % n, worse)
    data = RankingData.from_arrays(rng.standard_normal((n, 2)), pairs=(better, worse, rng.random(m)))
    distribution = Distribution(feedback_of(data), n)
    step = rng.uniform(0, 1e-3, n)
    tasks = {"update": lambda: distribution.update(step), "potentials": distribution.potentials}
    best_times(tasks, 1)
    times = best_times(tasks, turns + 3)
    figures = [Figure(name, f"{taken / m * 1e9:.2f} ns a pair") for name, taken in times.items()]
    return [*figures, Figure("both", f"{sum(times.values()) / m * 1e9:.2f} ns a pair and round", "5")]


def sparse(turns: int) -> list[Figure]:
    """Time rounds on 1,000,000 x 2,000 with 0.5 % and 1 % stored; of a round, a part is for the rows."""
    sets = {sized(n, 2 * n // 1000): sparse_data(sized(n, 2 * n // 1000)) for n in (5_000, 10_000)}
    times: dict[int, list[RoundTime]] = {stored: [] for stored in sets}
    for _ in range(turns):
        for stored, data in sets.items():
            times[stored].append(time_rounds(data.X, y=data.y, qid=data.qid))
    best = {stored: RoundTime(*np.min(taken, axis=0).tolist()) for stored, taken in times.items()}
    figures = []
    for stored, taken in best.items():
        text = f"{taken.search * 1e3:.0f} ms, {taken.search / sets[stored].X.nnz * 1e9:.2f} ns an entry"
        figures.append(Figure(f"search, {100 * stored / sets[stored].X.shape[0]:.1f} % stored", text))
        figures.append(
            Figure(f"round, {100 * stored / sets[stored].X.shape[0]:.1f} % stored", f"{taken.whole * 1e3:.0f} ms")
        )
    few, many = best.values()
    return [
        *figures,
        Figure("search, 1 % / 0.5 %", f"{many.search / few.search:.2f}", "about 2"),
        Figure("round, 1 % / 0.5 %", f"{many.whole / few.whole:.2f}"),
    ]


def scaling(turns: int) -> list[Figure]:
    """Double n, F, m and T, one at a time, and see how the time grows."""
    curves: list[dict[str, Any]] = []
    doubled: dict[str, tuple[int, Callable[[int], dict[str, Any]]]] = {
        "n: rows (64 features)": (sized(25_000, 200), lambda n: _graded(n, 64)),
        "F: features (50,000 rows)": (sized(32, 2), lambda n: _graded(sized(50_000, 200), n)),
        "m: explicit pairs (50,000 rows)": (sized(500_000, 1000), _paired),
    }
    for name, (first, make) in doubled.items():
        for size in (first * factor for factor in DOUBLINGS):
            taken = min(time_rounds(**fit).whole for fit in [make(size)] * turns)
            curves.append({"doubled": name, "size": size, "ms": taken * 1e3})
    data = _graded(sized(50_000, 200), 32)
    for rounds in (sized(25, 2) * factor for factor in DOUBLINGS):
        fit = partial(RankBoost(rounds, n_jobs=1).fit, **data)
        taken = best_times({"fit": fit}, turns)["fit"]
        curves.append({"doubled": "T: rounds (50,000 x 32, whole fit)", "size": rounds, "ms": taken * 1e3})
    saved = _plot(curves)
    figures, last = [], None
    for point in curves:
        grown = f", x {point['ms'] / last['ms']:.2f}" if last and last["doubled"] == point["doubled"] else ""
        figures.append(Figure(f"{point['doubled']}, {point['size']:,}", f"{point['ms']:.2f} ms{grown}"))
        last = point
    return [*figures, Figure("plot", saved)]


def _graded(n_rows: int, n_features: int) -> dict[str, Any]:
    """Graded rows, 100 a query."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features), np.float32)
    y = np.digitize(X[:, :4].sum(axis=1) + 2 * rng.standard_normal(n_rows), [0, 2, 4]).astype(float)
    return {"X": X, "y": y, "qid": np.arange(n_rows) // 100}


def _paired(m: int, n_rows: int = 50_000) -> dict[str, Any]:
    """Explicit pairs of rows with 8 features, mostly in the order of the first."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 8), np.float32)
    one, other = rng.integers(0, n_rows, (2, m))
    other = np.where(one == other, (other + 1) % n_rows, other)
    liked = X[one, 0] + rng.standard_normal(m) > X[other, 0] + rng.standard_normal(m)
    return {"X": X, "pairs": (np.where(liked, one, other), np.where(liked, other, one))}


def _plot(curves: list[dict[str, Any]]) -> str:
    """Write the curves as a page and return its place, or what is missing."""
    try:
        import altair
    except ImportError:
        return 'Altair is not installed: pip install ".[plots]"'
    OUT.mkdir(exist_ok=True)
    log = altair.Scale(type="log", nice=False)
    chart = (
        altair.Chart(altair.InlineData(values=curves), width=220, height=180)
        .mark_line(point=True)
        .encode(
            x=altair.X("size:Q", scale=log, title="size"),
            y=altair.Y("ms:Q", scale=log, title="ms"),
            tooltip=["size:Q", "ms:Q"],
        )
        .facet(facet=altair.Facet("doubled:N", title=None), columns=2)
        .resolve_scale(x="independent", y="independent")
        .properties(title="RankBoost: time a round (T: of the whole fit) as one size is doubled")
    )
    chart.save(OUT / "rankboost_scaling.html", inline=True)
    chart.save(OUT / "rankboost_scaling.png", scale_factor=2)
    return str((OUT / "rankboost_scaling.html").relative_to(OUT.parents[1])) + " and .png"


def _run(code: str, arguments: Sequence[str], **settings: str) -> list[float]:
    """Run code in a new process and return the numbers it prints."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), **settings}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return [float(number) for number in done.stdout.split()]


FIGURES: dict[str, Callable[[int], list[Figure]]] = {
    one.__name__: one for one in (race, criteria, all_thresholds, continuous, pairs, sparse, scaling)
}


def main() -> None:
    global SHARE
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*FIGURES, "all"], default="all", metavar="name")
    parser.add_argument("--turns", type=int, default=2, help="turns of each contestant (default 2)")
    parser.add_argument("--share", type=float, default=1.0, help="of all sizes (default 1)")
    given = parser.parse_args()
    SHARE = given.share
    names = list(FIGURES) if "all" in given.names else given.names
    console = Console()
    console.width = max(console.width, 110)
    for name in names:
        title = (FIGURES[name].__doc__ or "").strip()
        table = Table(name, "figure", "target: at most", title=title, title_justify="left")
        for figure in FIGURES[name](given.turns):
            table.add_row(*figure)
        console.print(table)


if __name__ == "__main__":
    main()
