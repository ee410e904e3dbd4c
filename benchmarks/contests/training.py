"""Training: seconds of a fit with its binning, and NDCG@10 on new queries.

    python benchmarks/bench.py training
    python benchmarks/bench.py training --only "300,000 rows, 100 trees"

LambdaMART beside LightGBM's lambdarank (and its quantized gradients), XGBoost's rank:ndcg by histograms and CatBoost's
LambdaMart, which is given few trees: it takes minutes. scikit-learn has squared error alone, beside our MART. 136
features, 255 bins, 120 documents a query, learning rate 0.1, at least 20 rows a leaf. Rows are doubled in a case of
their own.
"""

import numpy as np

from contests.models import SQUARES, TRAINERS, made_data, scores, settings
from contests.turns import CHOSEN, best_times, records
from podium.measures import measure_queries

UNIT = "s"
TITLE = "Training: seconds of a fit, binning included"
LAMBDAS = ("podium", "lightgbm", "lightgbm, quantized", "xgboost")
CELLS = [
    (rows, leaves, threads, trees, LAMBDAS)
    for rows, trees in ((50_000, 50), (300_000, 30), (300_000, 100))
    for leaves in (31, 255)
    for threads in (1, 2)
]
"""Rows, leaves, threads, trees and contestants of each case; with few trees binning counts for more."""
DOUBLED = (12_500, 25_000, 50_000, 100_000)
SHORT = 50_000
"""Rows up to which a fit takes so little time that one turn may be a tenth off."""


def entries(small=False, only=""):
    """Yield the records of all cases whose name has `only` in it."""
    cells = [(600, 7, 1, 3, LAMBDAS)] if small else CELLS
    for rows, leaves, threads, trees, names in cells:
        case = f"{rows:,} rows, {trees} trees of {leaves} leaves, {threads} thread{'s' * (threads > 1)}"
        if only in case and (threads == 1 or CHOSEN["clock"] == "wall"):
            yield from train(case, rows, settings(trees, leaves, threads), {name: TRAINERS[name] for name in names})
    for rows in (300, 600) if small else DOUBLED:
        if only in (case := "rows doubled, 40 trees of 31 leaves, 1 thread"):
            chosen = {name: TRAINERS[name] for name in LAMBDAS}
            yield from train(case, rows, settings(3 if small else 40, 31, 1), chosen)
    rows, trees = (600, 2) if small else (50_000, 10)
    if only in (case := f"CatBoost, {trees} trees of 31 leaves, 1 thread"):
        chosen = {name: TRAINERS[name] for name in ("podium", "catboost")}
        yield from train(case, rows, settings(trees, 31, 1), chosen, turns=1)
    if only in (case := "squared error, 100 trees of 31 leaves, 1 thread"):
        yield from train(case, rows, settings(3 if small else 100, 31, 1), SQUARES)


def train(case, rows, given, trainers, turns=None):
    """Yield the records of one case; a first small fit compiles and is not timed. Short fits have more turns."""
    turns = turns or (6 if 1_000 <= rows <= SHORT else 3)
    data = made_data(rows)
    X, y, _, sizes = made_data(max(rows // 5, 1000), seed=1)
    few = int(data[3][:5].sum())
    trainers["podium"](settings(2, 4, given.threads), *(part[:few] for part in data[:3]), data[3][:5])
    calls = {name: lambda make=make: make(given, *data) for name, make in trainers.items()}
    times, models = best_times(calls, turns)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    quality = {
        name: round(measure_queries("ndcg@10", y, scores(name, model, X), offsets).mean, 4)
        for name, model in models.items()
    }
    yield from records(case, rows, times, ndcg=quality)
