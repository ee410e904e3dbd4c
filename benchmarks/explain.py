"""Explanations: two rows, a whole query, and the changes that swap two rows, beside shap's TreeExplainer.

    python benchmarks/explain.py [--trees 1000] [--leaves 31] [--docs 100] [--repeat 5]

Milliseconds of processor time, best of several, one thread: other programs on the machine do not count. The peer
explains the same trees, in LightGBM's form, by paths and against the other row; it is left out where shap or LightGBM
is missing.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # of LightGBM, whose other threads' time is not seen here

import numpy as np
from kept_tables import add_folder, keep, with_machine
from rich.console import Console
from rich.table import Table

from podium import LambdaMART

COLUMNS = ("Podium", "shap", "ratio")


def made(n_queries, n_docs, n_features=50):
    """Features, grades and queries."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_queries * n_docs, n_features))
    noise = rng.normal(size=len(X))
    return X, np.digitize(X[:, :10].sum(axis=1) + noise, [-3, 0, 3]), np.repeat(np.arange(n_queries), n_docs)


def best(job, repeat):
    """Best seconds of several calls."""
    seconds = []
    for _ in range(repeat):
        start = time.thread_time()
        job()
        seconds.append(time.thread_time() - start)
    return min(seconds)


def peers(model, X, a, b):
    """Calls of shap on the same trees, by name; none where it is missing."""
    try:
        import lightgbm
        import shap
    except ModuleNotFoundError:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        model.export(Path(folder) / "m.txt", "lightgbm")
        booster = lightgbm.Booster(model_file=str(Path(folder) / "m.txt"))
    by_path = shap.TreeExplainer(booster)
    against = shap.TreeExplainer(booster, X[[b]], feature_perturbation="interventional")
    return {
        "two rows, interventional": lambda: against.shap_values(X[[a]]),
        "two rows, by paths": lambda: by_path.shap_values(X[[a, b]]),
        "a query, by paths": lambda: by_path.shap_values(X),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--docs", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=5)
    add_folder(parser)
    args = parser.parse_args()
    X, y, qid = made(30, args.docs)
    model = LambdaMART(args.trees, max_leaves=args.leaves, min_child_samples=5, learning_rate=0.05)
    model.fit(X, y, qid=qid)
    query, scores = X[: args.docs], model.predict(X[: args.docs])
    a, b = int(scores.argmax()), int(scores.argmin())
    ours = {
        "two rows, interventional": lambda: model.explain(query, a, b),
        "two rows, by paths": lambda: model.explain(query, a, b, method="path"),
        "a query, by paths": lambda: model.explain_query(query),
        "changes that swap two rows": lambda: model.what_if(query, a, b),
        "effects of all features": lambda: model.effects(query),
    }
    theirs = peers(model, query, a, b)
    table = Table("explanation", *COLUMNS, title="Milliseconds, one thread", title_justify="left")
    found = {}
    for name, job in ours.items():
        job()  # compile
        found[name] = [best(job, args.repeat), best(theirs[name], args.repeat) if name in theirs else None]
        table.add_row(*cells(name, *found[name]))
    Console().print(f"{args.trees} trees of {args.leaves} leaves, {X.shape[1]} features, a query of {args.docs} rows")
    Console().print(table)
    keep("explain", {"seconds": found}, args)


def cells(name, own, other):
    """Return a row: milliseconds of both, and shap's over ours."""
    shown = ["-", "-"] if other is None else [f"{1e3 * other:.2f}", f"{other / own:.1f}"]
    return [name, f"{1e3 * own:.2f}", *shown]


def tables(kept):
    """Return the table of the page."""
    rows = [cells(name, *both) for name, both in kept["seconds"]["figures"].items()]
    return {"explain": with_machine(kept["seconds"], ["explanation", *COLUMNS], rows)}


if __name__ == "__main__":
    main()
