"""λ as the paper has it and as it is tuned: normalisation, truncation and tied scores on real collections.

    python experiments/lambda_forms.py run PATH/data --cache FOLDER [--sets mq2008 …] [--forms query …] [--leaves 31 …]
    python experiments/lambda_forms.py table --cache FOLDER
    python experiments/lambda_forms.py check

`run` fits forms of λ, and LightGBM with its defaults, with 100 trees and learning rate 0.08 at each number of leaves,
with and without sampling (0.8 of the queries and 0.7 of the features a tree), and keeps NDCG@10 of each query of the
validation and test parts in the cache; what the cache has is not run again. PATH/data holds the folders `mq2008`,
`lightgbm-example`, `movielens-100k` and `trec-robust03`. `table` writes results/lambda_forms.json from the cache and
prints the tables of docs/lambdamart.md. The choice is made on the validation parts of MQ2008; test parts and the other
collections show it. Standard errors are over queries, each with its mean over the seeds.

The forms of the choice run through one plain kernel here; `check` shows that it gives LambdaMART's own λ. Those named
"LambdaMART …" are LambdaMART with that `normalize`; on MQ2008 they are the plain kernel's, except for the default.
Seeds draw samples and rounding; for LightGBM they also shuffle the rows, except the first, because it breaks ties by
row order.
"""

import argparse
import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lambdamart import read_fold, shuffled
from numba import njit

from podium import MART, LambdaMART, evaluate
from podium.data.feedback import Graded
from podium.losses import NORMALIZATIONS, LambdaLoss
from podium.readers import read_qrels, read_run

TREES, RATE, ALL = 100, 0.08, 1 << 30
SAMPLING = {"all": (1.0, 1.0), "sampled": (0.8, 0.7)}
DEFAULT = "query"
RESULTS = Path(__file__).parent / "results" / "lambda_forms.json"


@dataclass(frozen=True)
class Form:
    """One way to write λ; all fields but the first are switches."""

    truncation: int = 30
    """Pairs with a row among so many places count."""
    pairs: bool = False
    """Divide |ΔZ| by 0.01 + |s_i - s_j|."""
    query: bool = False
    """Multiply a query's λ by log2(1 + S)/S, S twice the sum of its |λ|."""
    beyond: bool = False
    """Places after the truncation pay, too, except in the best DCG: LightGBM's ΔNDCG."""
    expected: bool = False
    """Tied rows: |ΔNDCG| expected over their orders; else by the canonical order."""


FORMS = {
    "query": Form(query=True),
    "none": Form(),
    "pairs": Form(pairs=True),
    "both": Form(pairs=True, query=True),
    "query, all pairs": Form(ALL, query=True),
    "query, first 20": Form(20, query=True),
    "query, first 10": Form(10, query=True),
    "query, first 30, Z beyond": Form(30, query=True, beyond=True),
    "query, first 10, Z beyond": Form(10, query=True, beyond=True),
    "query, ties expected": Form(query=True, expected=True),
}
"""The first four differ in the normalisation alone, the others from the first in one thing."""
OWN = {f"LambdaMART {name}": name for name in ("query", "none", "pairs", "both")}


def fit_form(name, data, leaves, sampling, seed):
    """Return the scoring function of trees on one form of λ, by the plain kernel or LambdaMART's own."""
    X, y, qid = data
    options = {
        "n_estimators": TREES, "learning_rate": RATE, "max_leaves": leaves, "subsample": sampling[0],
        "colsample_bytree": sampling[1], "random_state": seed,
    }  # fmt: skip
    if name in OWN:
        return LambdaMART(**options, normalize=OWN[name]).fit(X, y, qid=qid).predict
    model = MART(**options, loss=lambda scores, feedback: plain_lambdas(scores, feedback, FORMS[name]))
    return model.fit(X, y, qid=qid).predict


def fit_lightgbm(name, data, leaves, sampling, seed):
    """Return LightGBM's scoring function."""
    import lightgbm

    X, y, qid = shuffled(*data, seed) if seed else data
    params = {
        "objective": "lambdarank", "num_leaves": leaves, "learning_rate": RATE, "bagging_fraction": sampling[0],
        "bagging_freq": 1, "bagging_by_query": True, "feature_fraction": sampling[1], "seed": seed, "num_threads": 1,
        "verbose": -1,
    }  # fmt: skip
    starts = np.flatnonzero(np.r_[True, qid[1:] != qid[:-1], True])
    return lightgbm.train(params, lightgbm.Dataset(X, y, group=np.diff(starts)), TREES).predict


def plain_lambdas(scores, feedback, form):
    """Gradient and curvature of one form of λ for NDCG."""
    gains, offsets = np.maximum(np.exp2(feedback.labels) - 1, 0), feedback.offsets
    sums, units = np.zeros((2, len(scores))), 1 / np.log2(np.arange(2.0, np.diff(offsets).max() + 2))
    switches = form.pairs, form.query, form.beyond, form.expected
    add_queries(scores, gains, offsets, units, form.truncation, *switches, sums)
    return sums[0], sums[1]


@njit(cache=True)
def add_queries(scores, gains, offsets, units, truncation, damp, scale, beyond, expected, sums):
    """Add λ and curvature of each query's pairs."""
    ideal_units = units.copy()
    ideal_units[truncation:] = 0.0
    if not beyond:
        units = ideal_units
    for query in range(len(offsets) - 1):
        own = slice(offsets[query], offsets[query + 1])
        order = np.argsort(-scores[own], kind="mergesort")
        ideal = (np.sort(gains[own])[::-1] * ideal_units[: len(order)]).sum()
        if ideal > 0:
            found = np.zeros((2, len(order)))
            s = 2 * add_pairs(scores[own][order], gains[own][order] / ideal, units, truncation, damp, expected, found)
            factor = np.log2(1 + s) / s if scale and s > 0 else 1.0
            for k in range(len(order)):
                sums[0, own.start + order[k]] = factor * found[0, k]
                sums[1, own.start + order[k]] = factor * found[1, k]


@njit(cache=True)
def add_pairs(scores, gains, units, truncation, damp, expected, sums):
    """Add each pair's λ and curvature and return Σ|λ|; a swap pays what the units of the two places differ by.

    Expected: a place of a block of equal scores pays the block's mean unit, and two places of one block differ by the
    mean absolute difference of its units. Units fall, so for places of two blocks the mean difference is that of the
    means.
    """
    n = len(scores)
    block, mean, spread = np.empty(n, np.int64), np.empty(n), np.zeros(n)
    start, number, total_pull = 0, 0, 0.0
    for i in range(n):
        if i + 1 == n or scores[i + 1] != scores[i] or not expected:
            size, total, apart = i + 1 - start, 0.0, 0.0
            for p in range(size):
                total += units[start + p]
                apart += units[start + p] * (size - 1 - 2 * p)
            block[start : i + 1], mean[number] = number, total / size
            spread[number] = 2 * apart / (size * (size - 1)) if size > 1 else 0.0
            start, number = i + 1, number + 1
    for i in range(n if expected else min(n, truncation)):
        for j in range(i + 1, n):
            apart = spread[block[i]] if block[i] == block[j] else mean[block[i]] - mean[block[j]]
            weight = abs(gains[i] - gains[j]) * apart
            if damp:
                weight /= 0.01 + scores[i] - scores[j]
            if weight > 0:
                high, low = (i, j) if gains[i] > gains[j] else (j, i)
                rho = 1 / (1 + np.exp(scores[high] - scores[low]))
                total_pull += weight * rho
                sums[0, high] -= weight * rho
                sums[0, low] += weight * rho
                sums[1, i] += weight * rho * (1 - rho)
                sums[1, j] += weight * rho * (1 - rho)
    return total_pull


def mq2008(folder):
    """Training, validation and test data of the five official folds."""
    return [read_fold(folder / "mq2008", number) for number in range(1, 6)]


def lightgbm_example(folder):
    """LightGBM's own example, train and test in one; an absent feature is 0."""
    X, y, sizes = np.zeros((3773, 301)), [], []
    for part in ("train", "test"):
        with gzip.open(folder / "lightgbm-example" / f"rank.{part}.gz", "rt") as lines:
            for line in lines:
                label, *pairs = line.split()
                for name, value in (pair.split(":") for pair in pairs):
                    X[len(y), int(name)] = float(value)
                y.append(float(label))
        sizes += np.loadtxt(folder / "lightgbm-example" / f"rank.{part}.query", int).tolist()
    return folds_of(X, np.array(y), np.repeat(np.arange(len(sizes)), sizes))


def movielens(folder):
    """Every second user ranks the movies they have rated; means of ratings are the others', or they tell the label."""
    users, items, ratings = np.loadtxt(folder / "movielens-100k" / "u.data.gz", int)[:, :3].T
    rows = [line.split("|") for line in (folder / "movielens-100k" / "u.item").read_text("latin-1").splitlines()]
    genres = np.array([row[5:] for row in rows], float)
    years = np.array([float(row[2][-4:] or "nan") for row in rows])
    people = [line.split("|") for line in (folder / "movielens-100k" / "u.user").read_text().splitlines()]
    ages = np.array([float(row[1]) for row in people])[users - 1]
    women, others = np.array([row[2] == "F" for row in people])[users - 1], users % 2 == 0
    columns = [genres[items - 1], years[items - 1], ages, women]
    for kind in (others, others & women, others & ~women, others & (ages < 25), others & (ages >= 40)):
        counts = np.bincount(items[kind], minlength=1683)[items]
        sums = np.bincount(items[kind], ratings[kind], 1683)[items]
        columns += [counts, np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)]
    return folds_of(np.column_stack(columns)[~others], ratings[~others] - 1.0, users[~others])


def robust03(folder):
    """Merge 17 runs: scores between 0 and 1 and reciprocal ranks, missing where a run did not retrieve; judged rows."""
    qrels = read_qrels(folder / "trec-robust03" / "qrels.txt.gz")
    place = {key: row for row, key in enumerate(zip(qrels.qid.tolist(), qrels.docid.tolist(), strict=True))}
    paths = sorted((folder / "trec-robust03" / "runs").glob("*.run.gz"))
    X = np.full((len(place), 2 * len(paths)), np.nan)
    for column, path in enumerate(paths):
        run = read_run(path)
        for query in np.unique(run.qid):
            own = run.qid == query
            scores = run.score[own]
            ranks = np.argsort(np.argsort(-scores, kind="stable"))
            unit = (scores - scores.min()) / max(np.ptp(scores), 1e-9)
            for document, *values in zip(run.docid[own].tolist(), unit, 1 / (1 + ranks), strict=True):
                row = place.get((query, document))
                if row is not None:
                    X[row, 2 * column : 2 * column + 2] = values
    kept = ~np.isnan(X).all(axis=1)
    return folds_of(X[kept], np.maximum(qrels.relevance[kept], 0).astype(float), qrels.qid[kept])


def folds_of(X, y, qid):
    """Five folds of queries in random order: training and test data, no validation data."""
    ids, qid = np.unique(qid, return_inverse=True)
    numbers = np.random.default_rng(0).permutation(len(ids))[qid]
    order = np.argsort(qid, kind="stable")
    X, y, qid, numbers = X[order], y[order], qid[order], numbers[order]
    for fold in range(5):
        test = numbers % 5 == fold
        yield [(X[~test], y[~test], qid[~test]), None, (X[test], y[test], qid[test])]


@dataclass(frozen=True)
class Plan:
    """What is run on a collection."""

    folds: object
    leaves: tuple
    seeds: int
    forms: tuple


PLANS = {
    "mq2008": Plan(mq2008, (7, 15, 31, 63), 5, ("lightgbm", "LambdaMART query", *FORMS)),
    "lightgbm-example": Plan(lightgbm_example, (7, 31), 5, ("lightgbm", *OWN)),
    "movielens": Plan(movielens, (31,), 2, ("lightgbm", *OWN)),
    "robust03": Plan(robust03, (31,), 2, ("lightgbm", *OWN)),
}


def run(args):
    """Fit what the cache lacks."""
    args.cache.mkdir(parents=True, exist_ok=True)
    for name in args.sets:
        plan = PLANS[name]
        folds = list(plan.folds(args.folder))
        for form in args.forms or plan.forms:
            for leaves in args.leaves or plan.leaves:
                for kind in SAMPLING:
                    path = cached(args.cache, name, form, leaves, kind)
                    if not path.exists():
                        np.savez(path, **values_of(folds, form, leaves, SAMPLING[kind], plan.seeds))
                        print(path.name, flush=True)


def cached(cache, name, form, leaves, kind):
    """Return the file of one setting."""
    return cache / f"{name}-{form}-{leaves}-{kind}-{PLANS[name].seeds}.npz"


def values_of(folds, form, leaves, sampling, seeds):
    """Return NDCG@10 of each query with a relevant row, by part, fold and seed."""
    fit, found = fit_lightgbm if form == "lightgbm" else fit_form, {}
    for seed in range(seeds):
        for fold, (train, *parts) in enumerate(folds):
            predict = fit(form, train, leaves, sampling, seed)
            for part, data in zip(("vali", "test"), parts, strict=True):
                if data is not None:
                    found[f"{part}-{fold}-{seed}"] = query_values(data, predict)
    return found


def query_values(data, predict):
    """NDCG@10 of each query that has a relevant row."""
    found = evaluate(data[1], predict(data[0]), qid=data[2], measures="ndcg@10", n_resamples=0).per_query("ndcg@10")
    values = np.array([found[key] for key in sorted(found)])
    return values[np.isfinite(values)]


class Cache:
    """NDCG@10 in percent of each query, the mean over seeds, by part of a collection and setting."""

    def __init__(self, folder, name, part):
        self.folder, self.name, self.part = folder, name, part
        self.settings = [(leaves, kind) for leaves in PLANS[name].leaves for kind in SAMPLING]

    def has(self, form, setting):
        """Whether it was run."""
        return cached(self.folder, self.name, form, *setting).exists()

    def values(self, form, setting, folds):
        """Return the values of some folds; a list of forms has one for each fold."""
        seeds, found = range(PLANS[self.name].seeds), []
        for fold in folds:
            one = form if isinstance(form, str) else form[fold]
            with np.load(cached(self.folder, self.name, one, *setting)) as file:
                found.append(np.mean([file[f"{self.part}-{fold}-{seed}"] for seed in seeds], axis=0))
        return 100 * np.concatenate(found)

    def compared(self, form, base, settings, folds=range(5)):
        """Return means over the settings of a form and its base, their difference, and its standard error."""
        one, two = (np.mean([self.values(name, s, folds) for s in settings], axis=0) for name in (form, base))
        change = one - two
        numbers = one.mean(), two.mean(), change.mean(), change.std(ddof=1) / len(change) ** 0.5
        return {name: round(float(x), 2) for name, x in zip(("value", "base", "change", "error"), numbers, strict=True)}


def table(args):
    """Write the results file and print its tables."""
    vali, found = Cache(args.cache, "mq2008", "vali"), {"choice": {}, "best of fold": [], "shown": {}}
    for form in (*FORMS, "lightgbm"):
        common = [setting for setting in vali.settings if vali.has(form, setting)]
        if common:
            found["choice"][form] = {"settings": len(common), **vali.compared(form, DEFAULT, common)}
    for fold in range(5):
        means = {form: vali.compared(form, DEFAULT, vali.settings, [fold])["value"] for form in NORMALIZATIONS}
        found["best of fold"].append(max(means, key=means.get))
    found["chosen by fold"] = Cache(args.cache, "mq2008", "test").compared(
        found["best of fold"], "lightgbm", vali.settings
    )
    for name in PLANS:
        test = Cache(args.cache, name, "test")
        for setting in test.settings:
            rows = {}
            for own, plain in OWN.items():
                form = own if test.has(own, setting) else plain
                if test.has(form, setting):
                    rows[own] = test.compared(form, "lightgbm", [setting])
            if rows:
                found["shown"][f"{name}, {setting[0]} leaves, {setting[1]}"] = rows
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    print_tables(found)


def print_tables(found):
    """Print the results as the tables of docs/lambdamart.md."""
    print("| λ | settings | NDCG@10 | against the default |\n|---|---|---|---|")
    for form, row in found["choice"].items():
        change = "" if form == DEFAULT else f"{row['change']:+.2f} ± {row['error']:.2f}"
        print(f"| {form} | {row['settings']} | {row['value']:.2f} | {change} |")
    print("\nbest normalisation by the validation part of each fold:", ", ".join(found["best of fold"]))
    row = found["chosen by fold"]
    print(f"test parts with it: {row['value']:.2f}, against LightGBM {row['change']:+.2f} ± {row['error']:.2f}")
    print("\n| | LightGBM |", " | ".join(OWN), "|\n|---|---|" + "---|" * len(OWN))
    for name, rows in found["shown"].items():
        cells = [
            f"{row['value']:.2f} ({row['change']:+.2f} ± {row['error']:.2f})" if row else ""
            for row in (rows.get(form) for form in OWN)
        ]
        print(f"| {name} | {next(iter(rows.values()))['base']:.2f} |", " | ".join(cells), "|")


def check(args):
    """Print how far the plain λ are from LambdaMART's own, relative to the largest."""
    rng = np.random.default_rng(0)
    offsets = np.cumsum([0, *rng.integers(2, 120, 40)])
    labels, scores = (
        rng.choice([0.0, 1, 2, 3], offsets[-1], p=[0.6, 0.2, 0.1, 0.1]),
        rng.integers(0, 9, offsets[-1]) / 4,
    )
    feedback = Graded(labels, offsets, np.ones(len(labels)), np.ones(len(offsets) - 1))
    for name in ("query", "none", "pairs", "both"):
        own = LambdaLoss(feedback, normalize=name).derivatives(scores)
        plain = plain_lambdas(scores, feedback, FORMS[name])
        gaps = [abs(one - two).max() / abs(two).max() for one, two in zip(own, plain, strict=True)]
        print(f"{name}: gradient {gaps[0]:.1e}, curvature {gaps[1]:.1e}")


def main():
    """Read the command line and run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for part in (run, table, check):
        command = commands.add_parser(part.__name__, help=part.__doc__)
        command.set_defaults(part=part)
        command.add_argument("--cache", type=Path, default=Path("cache"))
        if part is run:
            command.add_argument("folder", type=Path)
            command.add_argument("--sets", nargs="+", choices=PLANS, default=list(PLANS))
            command.add_argument("--forms", nargs="+")
            command.add_argument("--leaves", nargs="+", type=int)
    args = parser.parse_args()
    args.part(args)


if __name__ == "__main__":
    main()
