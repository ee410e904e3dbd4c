"""Time linear RankSVM against others that minimise the same objective, or the same one on sampled pairs.

    python benchmarks/margins.py [--rows 100000] [--features 50] [--survival PATH/python] [--repeat 2]

One query. LinearSVC (liblinear) minimises the squared hinge of sampled pairs of two grades. FastSurvivalSVM of
scikit-survival minimises our objective on the same pairs where labels are amounts, every row an event (it puts tied
ones into a random order, so that two grades are another problem there); it runs in the Python that --survival names.
Weights of each are measured on all pairs by our objective. Turns alternate, the best of each counts.
experiments/top_of_list.py has its quality beside the official RankSVM.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from kept_tables import add_folder, keep, with_machine
from rich.console import Console
from rich.table import Table

from podium import RankSVM
from podium.data.feedback import feedback_of
from podium.data.ranking_data import RankingData
from podium.linear import PairMargins

C = 10.0
SURVIVAL = """
import json, sys, time
import numpy as np
from sksurv.svm import FastSurvivalSVM
from sksurv.util import Surv
data = np.load(sys.argv[1])
X, y = data["X"], data["y"]
answers = []
for optimizer in ("avltree", "rbtree"):
    model = FastSurvivalSVM(alpha=float(data["alpha"]), rank_ratio=1.0, optimizer=optimizer, max_iter=100, tol=1e-6)
    target = Surv.from_arrays(np.ones(len(y), bool), y - y.min() + 1.0)
    start = time.perf_counter()
    model.fit(X, target)
    answers.append([optimizer, time.perf_counter() - start, model.coef_.tolist()])
print(json.dumps(answers))
"""


def made(n_rows, n_features, seed=0):
    """Standardised features, and two grades, or amounts without ties, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    target = X @ rng.standard_normal(n_features) / 3 + 2 * rng.standard_normal(n_rows)
    return (X - X.mean(axis=0)) / X.std(axis=0), (target > 1).astype(float), target


def objective(margins, order, X, coef):
    """What RankSVM minimises, over all pairs."""
    return 0.5 * coef @ coef + C * margins.at((X @ coef)[order]).loss


def ours(X, y):
    """Seconds and weights of RankSVM."""
    start = time.perf_counter()
    model = RankSVM(C).fit(X, y, group=[len(y)])
    return time.perf_counter() - start, model.coef_


def sampled_pairs(X, y, n_pairs, seed=0):
    """Seconds and weights of liblinear on differences of sampled pairs, half of them turned round."""
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(seed)
    start = time.perf_counter()
    better, worse = (rng.choice(np.flatnonzero(y == grade), n_pairs) for grade in (1, 0))
    sign = np.where(np.arange(n_pairs) % 2, 1.0, -1.0)
    model = LinearSVC(C=C / n_pairs, fit_intercept=False, dual=False, tol=1e-6, max_iter=1000)
    model.fit((X[better] - X[worse]) * sign[:, None], sign)
    return time.perf_counter() - start, model.coef_[0]


def survival(python, X, y):
    """Names, seconds and weights of scikit-survival's optimizers."""
    n_pairs = len(y) * (len(y) - 1) // 2
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        np.savez(path, X=X, y=y, alpha=2 * C / n_pairs)
        done = subprocess.run([python, "-c", SURVIVAL, str(path)], capture_output=True, text=True, check=True)
    return [(name, seconds, np.array(coef)) for name, seconds, coef in json.loads(done.stdout.splitlines()[-1])]


def compare_times(args):
    """Print seconds and objectives: two grades beside liblinear, amounts beside scikit-survival."""
    X, y, amounts = made(args.rows, args.features)
    shape = f"{args.rows:,} rows x {args.features}"
    ours(X[:1000], y[:1000])  # compiles
    jobs = {"RankSVM": lambda: [("", *ours(X, y))]}
    for n_pairs in (args.rows, 5 * args.rows):
        name = f"LinearSVC, {n_pairs:,} sampled pairs"
        jobs[name] = lambda n_pairs=n_pairs: [("", *sampled_pairs(X, y, n_pairs))]
    grades = show(f"{shape}, two grades", X, y, jobs, args.repeat)
    jobs = {"RankSVM": lambda: [("", *ours(X, amounts))]}
    if args.survival:
        jobs["FastSurvivalSVM, "] = lambda: survival(args.survival, X, amounts)
    parts = {"two grades": grades, "amounts": show(f"{shape}, amounts", X, amounts, jobs, args.repeat)}
    keep("margins", parts, args)


def show(title, X, y, jobs, repeat):
    """Print the best seconds of each job over turns, and the objective of its weights; return both."""
    data = RankingData.from_arrays(X, y)
    margins, order, best = PairMargins(feedback_of(data), len(y)), data.queries.rows, {}
    for _ in range(repeat):
        for name, seconds, coef in [(name + form, *rest) for name, job in jobs.items() for form, *rest in job()]:
            best[name] = min(best.get(name, (np.inf, 0.0)), (seconds, objective(margins, order, X, coef)))
    table = Table("", "seconds", "objective on all pairs", title=title)
    for name, (seconds, value) in best.items():
        table.add_row(name, f"{seconds:.2f}", f"{value:.9f}")
    Console().print(table)
    return best


def tables(kept):
    """Return the table of the page."""
    rows = [
        [labels, name, f"{seconds:.1f}", f"{value:.6f}"]
        for labels, part in kept.items()
        for name, (seconds, value) in part["figures"].items()
    ]
    return {"margins": with_machine(kept["amounts"], ["labels", "ranker", "seconds", "objective on all pairs"], rows)}


def main():
    """Read the command line and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--survival", help="a Python that has scikit-survival")
    add_folder(parser)
    compare_times(parser.parse_args())


if __name__ == "__main__":
    main()
