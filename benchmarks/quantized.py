"""What rounded gradients cost and gain on large data: AUC, trees and time of `quantized=True` beside `quantized=False`.

    python benchmarks/quantized.py [--millions 0.5 1 1.5 2 2.2] [--trees 5] [--leaves 31] [--threads 1]

Data of five features and two labels, made outside the timings. MART sees all rows as one query; LambdaMART sees queries
of two rows, one of each label, with continuous features, and with features of three values, so that most queries are
alike. AUC is that of 200,000 new rows; rounding may change it by 0.005 at most, or the command fails.
"""

import argparse
import sys
import time

import numpy as np
from kept_tables import add_folder, keep, markdown
from rich.console import Console
from rich.table import Table

from podium import MART, LambdaMART, evaluate

MOST = 0.005
"""What rounding may change AUC by."""
NEW_ROWS = 200_000


def made_rows(n, seed, few_values=False):
    """Five features, and labels 1 where a noisy sum of them is among the upper half."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 5)).astype(np.float32) if few_values else rng.standard_normal((n, 5), np.float32)
    score = X @ [1.0, -0.7, 0.5, 0.3, 0.0] + X[:, 0] * X[:, 1] + 2 * rng.standard_normal(n)
    return X, (score > np.median(score)).astype(float)


def made_twos(n, seed, few_values):
    """Queries of two rows, one of each label."""
    X, y = made_rows(n, seed, few_values)
    ones, zeros = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    size = min(len(ones), len(zeros))
    rows = np.column_stack([ones[:size], zeros[:size]]).ravel()
    return X[rows], y[rows], np.repeat(np.arange(size), 2)


def auc(model, new):
    """AUC of new rows."""
    return evaluate(new[1], model.predict(new[0]), measures="auc", n_resamples=0)["auc"]


def compare(ranker, data, new, args):
    """Return trees, AUC and seconds of the ranker with rounding and without."""
    found = []
    for quantized in (True, False):
        model = ranker(args.trees, max_leaves=args.leaves, quantized=quantized, n_jobs=args.threads)
        start = time.perf_counter()
        model.fit(data[0], data[1], qid=data[2])
        found.append((len(model.rounds_), auc(model, new), time.perf_counter() - start))
    return found


def tables(kept):
    """Return the table of the page."""
    rows = [[name, *(f"{change:+.4f}" for change in part["figures"].values())] for name, part in kept.items()]
    return {"quantized": markdown(["", *next(iter(kept.values()))["figures"]], rows)}


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", type=float, nargs="+", default=[0.5, 1.0, 1.5, 2.0, 2.2])
    for name, default in {"trees": 5, "leaves": 31, "threads": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    add_folder(parser)
    args = parser.parse_args()
    for ranker in (MART, LambdaMART):  # compiled before the timings
        ranker(1).fit(*made_rows(100, 0), qid=np.repeat(np.arange(50), 2))
    shown = Table("", "rows", "trees", "AUC", "exact trees", "AUC", "difference", "seconds", "exact")
    changes = {}
    for millions in args.millions:
        n = int(1e6 * millions)
        cases = {
            "MART": (MART, lambda n=n: (*made_rows(n, 1), None), made_rows(NEW_ROWS, 2)),
            "LambdaMART, queries of two rows": (LambdaMART, lambda n=n: made_twos(n, 1, False), made_rows(NEW_ROWS, 2)),
            "the same, features of three values": (
                LambdaMART,
                lambda n=n: made_twos(n, 1, True),
                made_rows(NEW_ROWS, 2, True),
            ),
        }
        for name, (ranker, make, new) in cases.items():
            rounded, exact = compare(ranker, make(), new, args)
            change = rounded[1] - exact[1]
            changes.setdefault(f"{n:,} rows, {args.trees} trees of {args.leaves} leaves", {})[name] = change
            cells = [str(rounded[0]), f"{rounded[1]:.4f}", str(exact[0]), f"{exact[1]:.4f}", f"{change:+.4f}"]
            shown.add_row(name, f"{n:,}", *cells, f"{rounded[2]:.1f}", f"{exact[2]:.1f}")
    Console(width=130).print(shown)
    keep("quantized", changes, args)
    worst = max(abs(change) for own in changes.values() for change in own.values())
    if worst > MOST:
        sys.exit(f"Rounding changes AUC by {worst:.4f}, more than {MOST}.")


if __name__ == "__main__":
    main()
