"""Measures: milliseconds, sizes doubled, one thread.

    python benchmarks/bench.py measuring

Queries of 100 rows with five grades; each contestant is given the data in its own form, which is made before. ranx and
ir-measures (by pytrec_eval) hold dictionaries of ids, scikit-learn a matrix of queries; Podium sorts inside the timing
as they do. Kendall's τ is of one list. Values must agree: gains are linear, and no scores are tied.
"""

import warnings
from functools import partial

import numpy as np

from contests.turns import best_times, installed, records
from podium.measures import measure_queries

UNIT = "ms"
TITLE = "Measures: milliseconds"
QUERIES, LISTS, ROWS, TURNS = (500, 1000, 2000), (100_000, 200_000, 400_000), 100, 3


def entries(small=False):
    """Yield the records of NDCG@10, MAP and Kendall's τ."""
    warnings.simplefilter("ignore")  # ranx's casts
    for n in (20,) if small else QUERIES:
        labels, scores = search_labels(n)
        held = dictionaries(labels, scores)
        for case, make in (("NDCG@10, by queries of 100", ndcg_calls), ("MAP, by queries of 100", map_calls)):
            yield from timed(case, n, make(labels, scores, held))
    for n in (200,) if small else LISTS:
        yield from timed("Kendall's τ, by rows of a list", n, kendall_calls(n))


def timed(case, size, calls):
    """Yield the records of one case; a first turn compiles and is not timed."""
    values = best_times(calls, 1)[1]
    for name, value in values.items():
        if abs(value - values["podium"]) > 1e-6:
            raise SystemExit(f"{case}: {name} has {value}, podium {values['podium']}.")
    yield from records(case, size, {name: 1e3 * one for name, one in best_times(calls, TURNS)[0].items()})


def search_labels(n):
    """Grades, at least one relevant row in each query, and scores that are not tied."""
    rng = np.random.default_rng(0)
    labels = rng.choice(5, (n, ROWS), p=[0.5, 0.25, 0.15, 0.07, 0.03]).astype(float)
    labels[:, 0] = 1.0
    return labels, labels + 2 * rng.standard_normal((n, ROWS))


def dictionaries(labels, scores):
    """The same as dictionaries of ids: {query: {document: value}}."""
    qrels = {f"q{q}": {f"d{d}": int(value) for d, value in enumerate(row)} for q, row in enumerate(labels.tolist())}
    run = {f"q{q}": {f"d{d}": value for d, value in enumerate(row)} for q, row in enumerate(scores.tolist())}
    return qrels, run


def ours(name, labels, scores, **rules):
    """Mean of a measure over queries of equal length."""
    offsets = np.arange(0, labels.size + 1, labels.shape[1])
    return measure_queries(name, labels.ravel(), scores.ravel(), offsets, **rules).mean


def ndcg_calls(labels, scores, held):
    from sklearn.metrics import ndcg_score

    peers = dictionary_calls("ndcg@10", "nDCG@10", held)
    peers["scikit-learn"] = lambda: ndcg_score(labels, scores, k=10)
    return {"podium": partial(ours, "ndcg@10", labels, scores, gain="linear"), **peers}


def map_calls(labels, scores, held):
    return {"podium": partial(ours, "map", labels, scores), **dictionary_calls("map", "AP", held)}


def dictionary_calls(ranx_name, other_name, held):
    """Calls of ranx and ir-measures, where they are installed."""
    qrels, run = held
    calls = {}
    if installed("ranx"):
        import numba
        import ranx

        numba.set_num_threads(1)
        known, given = ranx.Qrels(qrels), ranx.Run(run)
        calls["ranx"] = lambda: float(ranx.evaluate(known, given, ranx_name))
    if installed("ir-measures"):
        import ir_measures

        measure = ir_measures.parse_measure(other_name)
        calls["ir-measures"] = lambda: ir_measures.evaluator([measure], qrels).calc_aggregate(run)[measure]
    return calls


def kendall_calls(n):
    from scipy.stats import kendalltau

    rng = np.random.default_rng(1)
    labels = rng.standard_normal((1, n))
    scores = labels + rng.standard_normal((1, n))
    return {
        "podium": partial(ours, "kendall_b", labels, scores),
        "scipy": lambda: float(kendalltau(labels[0], scores[0]).statistic),
    }
