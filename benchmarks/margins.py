"""Time linear RankSVM against others that minimise the same objective, or the same one on sampled pairs.

    python benchmarks/margins.py time [--rows 100000] [--features 50] [--survival PATH/python] [--repeat 2]
    python benchmarks/margins.py mq2008 PATH/mq2008 PATH/letor-baselines/RankSVM-Struct.MQ2008.txt

`time`: one query. LinearSVC (liblinear) minimises the squared hinge of sampled pairs of two grades. FastSurvivalSVM of
scikit-survival minimises our objective on the same pairs where labels are amounts, every row an event (it puts tied
ones into a random order, so that two grades are another problem there); it runs in the Python that --survival names.
Weights of each are measured on all pairs by our objective. Turns alternate, the best of each counts.
`mq2008`: mean of the five folds by LETOR's convention, C of the best MAP on the validation part, beside the official
RankSVM.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from podium import RankSVM, evaluate, read_letor
from podium.data.feedback import feedback_of
from podium.data.ranking_data import RankingData
from podium.linear import PairMargins

C = 10.0
VALUES = (0.1, 1.0, 10.0, 100.0, 1000.0)
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
    ours(X[:1000], y[:1000])  # compiles
    jobs = {"RankSVM": lambda: [("", *ours(X, y))]}
    for n_pairs in (args.rows, 5 * args.rows):
        name = f"LinearSVC, {n_pairs:,} sampled pairs"
        jobs[name] = lambda n_pairs=n_pairs: [("", *sampled_pairs(X, y, n_pairs))]
    show(f"{args.rows:,} rows x {args.features}, two grades", X, y, jobs, args.repeat)
    jobs = {"RankSVM": lambda: [("", *ours(X, amounts))]}
    if args.survival:
        jobs["FastSurvivalSVM "] = lambda: survival(args.survival, X, amounts)
    show(f"{args.rows:,} rows x {args.features}, amounts", X, amounts, jobs, args.repeat)


def show(title, X, y, jobs, repeat):
    """Print the best seconds of each job over turns taken one after the other, and the objective of its weights."""
    data = RankingData.from_arrays(X, y)
    margins, order, best = PairMargins(feedback_of(data), len(y)), data.queries.rows, {}
    for _ in range(repeat):
        for name, seconds, coef in [(name + form, *rest) for name, job in jobs.items() for form, *rest in job()]:
            best[name] = min(best.get(name, (np.inf, 0.0)), (seconds, objective(margins, order, X, coef)))
    table = Table("", "seconds", "objective on all pairs", title=title)
    for name, (seconds, value) in best.items():
        table.add_row(name, f"{seconds:.2f}", f"{value:.9f}")
    Console().print(table)


def measured(part, scores):
    """MAP and NDCG@10 by LETOR's convention."""
    found = evaluate(part.y, scores, qid=part.qid, measures=["map", "ndcg@10"], convention="letor", n_resamples=0)
    return found["map"], found["ndcg@10"]


def official(path):
    """MAP and NDCG@10 of the official RankSVM on the test parts, mean of the folds."""
    lines = [line.split() for line in Path(path).read_text().splitlines()]
    averages = [line for line in lines if line and line[0] == "Avg"]
    return float(averages[1][11]), float(averages[0][10])


def compare_folds(args):
    """Print the means over the folds beside the official ones."""
    kinds = {
        "RankSVM": {},
        "RankSVM queries": {"pair_weight": "queries"},
        "RankSVM l1": {"penalty": "l1"},
    }
    table = Table("mean of the folds", "MAP", "NDCG@10", "C chosen")
    table.add_row("official RankSVM", *(f"{value:.4f}" for value in official(args.baseline)), "")
    for name, options in kinds.items():
        results, chosen = zip(*[fold_result(args.folder, number, options) for number in args.folds], strict=True)
        shown = (f"{value:.4f}" for value in np.mean(results, axis=0))
        table.add_row(name, *shown, " ".join(f"{value:g}" for value in chosen))
    Console().print(table)


def fold_result(folder, number, options):
    """Values on the test part for the C of the best MAP on the validation part."""
    parts = [read_letor(Path(folder) / f"Fold{number}" / f"{name}.txt.gz") for name in ("train", "vali", "test")]
    train, valid, test = parts
    model, best = RankSVM(warm_start=True, **options), (-1.0, None, None)
    for value in VALUES:
        model.set_params(C=value * (10 if options.get("penalty") == "l1" else 1)).fit(train.X, train.y, qid=train.qid)
        quality = measured(valid, model.predict(valid.X))[0]
        if quality > best[0]:
            best = quality, measured(test, model.predict(test.X)), model.C
    return best[1:]


def main():
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_subparsers(required=True)
    timing = what.add_parser("time")
    timing.add_argument("--rows", type=int, default=100_000)
    timing.add_argument("--features", type=int, default=50)
    timing.add_argument("--repeat", type=int, default=2)
    timing.add_argument("--survival", help="a Python that has scikit-survival")
    timing.set_defaults(run=compare_times)
    folds = what.add_parser("mq2008")
    folds.add_argument("folder")
    folds.add_argument("baseline")
    folds.add_argument("--folds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    folds.set_defaults(run=compare_folds)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
