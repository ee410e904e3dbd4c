"""Gradient-free boosting and selection of features: times by n, beside scipy's τ, and false choices beside their bound.

    python benchmarks/selection.py times [--rows 10000 100000 1000000] [--features 30]
    python benchmarks/selection.py errors [--tables 30] [--features 30] [--pairs 10]

`times` has seconds of one regular round, of one singular round by the hard loss, and of Kendall's τ between two
features, all rows in one query, with the slope of log seconds over log rows. `errors` makes tables of five features
that matter and others of noise, and counts how many of each kind stability selection chooses.
"""

import argparse
import time

import numpy as np
from kept_tables import add_folder, keep, markdown, with_machine
from rich.console import Console
from rich.table import Table
from scipy.stats import kendalltau

from podium import GradientFreeBoost, StabilitySelector
from podium.data import RankingData
from podium.selection import FeatureRankings

N_SIGNALS = 5
REGULAR_ROUNDS = 20
"""Rounds that one is the mean of: it takes less than the checks of a fit."""
CONTROLS = ((2, 0.6), (4, 0.6), (4, 0.75), (6, 0.75), (6, 0.9), (10, 0.9))


def timed(function, turns=3):
    """Return the seconds of the best of some calls."""
    seconds = []
    for _ in range(turns):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return min(seconds)


def seconds_of(n_rows, n_features):
    """Seconds of a regular round, a singular round, τ here and τ of scipy."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    y = X[:, 0] + rng.normal(size=n_rows)
    fits = {
        name: GradientFreeBoost(n, singular_every=every)
        for name, n, every in (("one", 1, None), ("many", 1 + REGULAR_ROUNDS, None), ("singular", 2, 2))
    }
    seconds = {name: timed(lambda model=model: model.fit(X, y, group=[n_rows])) for name, model in fits.items()}
    rankings = FeatureRankings(RankingData.from_arrays(X[:, :2], y))
    regular, singular = (seconds["many"] - seconds["one"]) / REGULAR_ROUNDS, seconds["singular"] - seconds["one"]
    here, theirs = (timed(one) for one in (lambda: rankings.similarity(0, 1, "tau"), lambda: kendalltau(*X.T[:2])))
    return max(regular, 1e-6), max(singular, 1e-6), here, theirs


def print_times(args):
    table = Table(
        "rows", "regular round, s", "singular round, s", "τ, s", "scipy's τ, s", title=f"{args.features} features"
    )
    seconds_of(1000, 2)  # compiles
    found = [seconds_of(n, args.features) for n in args.rows]
    for n, row in zip(args.rows, found, strict=True):
        table.add_row(f"{n:,}", *(f"{one:.4f}" for one in row))
    if len(found) > 1:
        slopes = np.polyfit(np.log(args.rows), np.log(found), 1)[0]
        table.add_row("slope", *(f"{one:.2f}" for one in slopes))
    Console().print(table)
    keep("selection", {"times": dict(zip(map(str, args.rows), found, strict=True))}, args)


def made_table(seed, n_features):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, n_features))
    return X, X[:, :N_SIGNALS].sum(axis=1) + 2 * rng.normal(size=100), np.repeat(np.arange(20), 5)


def print_errors(args):
    table = Table(
        "q", "π", "bound on E[V]", "mean of V", "found of 5", title=f"{args.tables} tables, p = {args.features}"
    )
    kept = []
    for q, share in CONTROLS:
        counts = []
        for seed in range(args.tables):
            X, y, qid = made_table(seed, args.features)
            selector = StabilitySelector(n_selected=q, threshold=share, n_resamples=args.pairs, random_state=seed)
            support = selector.fit(X, y, qid=qid).support_
            counts.append((support[N_SIGNALS:].sum(), support[:N_SIGNALS].sum()))
        false, true = np.mean(counts, axis=0)
        kept.append([q, share, selector.pfer_, float(false), float(true)])
        table.add_row(*errors_row(kept[-1]))
    Console().print(table)
    keep("selection", {"errors": kept}, args)


def errors_row(found):
    q, share, *rest = found
    return [str(q), f"{share}", *(f"{one:.2f}" for one in rest)]


def tables(kept):
    """Return the tables of the pages."""
    times = kept["times"]["figures"]
    rows = [[f"{int(n):,}", *map(seconds_text, own)] for n, own in times.items()]
    slopes = np.polyfit(np.log([int(n) for n in times]), np.log(list(times.values())), 1)[0]
    rows.append(["slope of log seconds by log rows", *(f"{one:.2f}" for one in slopes)])
    header = ["rows", "regular round", "singular round by the hard loss", "Kendall's τ of two features"]
    errors = markdown(
        ["q", "π", "bound on E[V]", "mean of V", "found of 5"], map(errors_row, kept["errors"]["figures"])
    )
    return {
        "selection-times": with_machine(kept["times"], [*header, "scipy's `kendalltau`"], rows),
        "selection-errors": errors,
    }


def seconds_text(seconds):
    return f"{seconds:.2g} s" if seconds >= 0.1 else f"{1e3 * seconds:.2g} ms"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["times", "errors"], nargs="*", default=["times"])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--features", type=int, default=30)
    parser.add_argument("--tables", type=int, default=30)
    parser.add_argument("--pairs", type=int, default=10)
    add_folder(parser)
    args = parser.parse_args()
    if "times" in args.what:
        print_times(args)
    if "errors" in args.what:
        print_errors(args)


if __name__ == "__main__":
    main()
