"""Quality of LambdaMART: beside LightGBM, with rounded gradients, and with tied scores taken two ways.

    python experiments/lambdamart.py peers PATH/mq2008 [--seeds 5] [--patience 0]
    python experiments/lambdamart.py quantized [--seeds 10] [--rows 30000]
    python experiments/lambdamart.py ties PATH/mq2008 [--seeds 10] [--rows 20000]
    python experiments/lambdamart.py splits PATH/mq2008 [--seeds 3]
    python experiments/lambdamart.py check

`peers`: the five folds of MQ2008, 100 trees of 31 leaves, the same settings on both sides. The seed shuffles rows and
queries (LightGBM breaks ties by row order, Podium does not look at it) and draws Podium's rounding.
`quantized`: made data; the difference of histograms from rounded gradients to those from exact ones, paired by seed.
`ties`: |ΔNDCG| of a pair by the canonical order of tied rows, as LambdaMART has it, against its expectation over all
orders of the tied rows. Both run through one plain kernel here; `check` shows that the first is LambdaMART's own.
`splits`: splits by Newton's gain against those by least squares, which the paper has; the seed draws the queries of
each tree. Differences are paired by query over the test queries of all folds, a query's value its mean over seeds.
All values are mean NDCG@10 of held-out queries in percent, with the standard error of the mean difference.
"""

import argparse
from pathlib import Path

import numpy as np
from numba import njit
from rich.console import Console
from rich.table import Table

from podium import MART, LambdaMART, evaluate, read_letor
from podium.feedback import Graded
from podium.losses import LambdaLoss

SETTINGS = {
    "few trees": {"n_estimators": 10, "max_leaves": 8, "max_bins": 4, "subsample": 0.8},
    "100 trees": {"n_estimators": 100, "subsample": 0.8},
}
"""With few trees, leaves and bins many scores are equal in every round; the seed draws the queries of each tree."""


def ndcg(y, scores, qid):
    """Mean NDCG@10 in percent."""
    return 100 * evaluate(y, scores, qid=qid, measures="ndcg@10", n_resamples=0)["ndcg@10"]


def read_fold(folder, number):
    """Return training, validation and test data of one fold."""
    parts = [read_letor(Path(folder) / f"Fold{number}" / f"{name}.txt.gz") for name in ("train", "vali", "test")]
    return [(part.X, part.y, part.qid) for part in parts]


def shuffled(X, y, qid, seed):
    """Return the rows in a random order, each query's together."""
    rng = np.random.default_rng(seed)
    ids, codes = np.unique(qid, return_inverse=True)
    rows = np.lexsort((rng.random(len(y)), rng.permutation(len(ids))[codes]))
    return X[rows], y[rows], qid[rows]


def made_data(rows, seed, n_features=136, docs=120):
    """Search-like data: heavy tails, many zeros, grades 0 to 4; the rule is the same for every seed."""
    rule, rng = np.random.default_rng(12345), np.random.default_rng(seed)
    weight = rule.standard_normal(n_features) * (rule.random(n_features) < 0.3)
    qid = np.repeat(np.arange(rows // docs), docs)
    X = rng.standard_normal((len(qid), n_features)).astype(np.float32)
    X[:, ::3] = np.floor(np.exp(X[:, ::3] * 1.5))
    X[:, 1::6] *= rng.random(X[:, 1::6].shape) >= 0.7
    Z = np.tanh(X)
    score = Z @ weight + 1.5 * Z[:, 0] * Z[:, 3] - 2 * Z[:, 6] * (Z[:, 7] > 0) + 2 * rng.standard_normal(len(qid))
    return X, np.digitize(score, np.quantile(score, [0.52, 0.84, 0.97, 0.99])).astype(float), qid


def made_ties(rows, seed, docs=100):
    """Rows with eight features of three values each, so that many rows are alike; grades 0 to 3."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(rows // docs), docs)
    X = rng.integers(0, 3, (len(qid), 8)).astype(np.float32)
    score = X @ [1.0, -1.0, 0.7, 0.5, 0.3, 0.0, 0.0, 0.0] + X[:, 0] * X[:, 2] + 2 * rng.standard_normal(len(qid))
    return X, np.digitize(score, np.quantile(score, [0.6, 0.85, 0.96])).astype(float), qid


def fit_lightgbm(train, valid, seed, patience):
    """Return LightGBM's scoring function with our settings."""
    import lightgbm

    params = {
        "objective": "lambdarank", "num_leaves": 31, "learning_rate": 0.1, "min_data_in_leaf": 20, "max_bin": 255,
        "metric": "ndcg", "eval_at": [10], "seed": seed, "num_threads": 1, "verbose": -1,
    }  # fmt: skip
    sets = []
    for X, y, qid in (train, valid):
        changes = np.flatnonzero(np.r_[True, qid[1:] != qid[:-1], True])
        sets.append(lightgbm.Dataset(X, y, group=np.diff(changes), params=params))
    callbacks = [lightgbm.early_stopping(patience, verbose=False)] if patience else []
    return lightgbm.train(params, sets[0], 100, valid_sets=sets[1:] if patience else None, callbacks=callbacks).predict


def fit_podium(train, valid, seed, patience):
    """Return our scoring function."""
    model = LambdaMART(100, early_stopping_rounds=patience or None, random_state=seed)
    further = {"eval_set": [valid[:2]], "eval_qid": [valid[2]]} if patience else {}
    return model.fit(*train[:2], qid=train[2], **further).predict


def peers(args):
    """Compare with LightGBM on MQ2008."""
    fits = {"LightGBM": fit_lightgbm, "Podium": fit_podium}
    values = np.empty((5, args.seeds, 2))
    for fold in range(5):
        train, valid, test = read_fold(args.folder, fold + 1)
        for seed in range(args.seeds):
            data = shuffled(*train, seed)
            for k, fit in enumerate(fits.values()):
                values[fold, seed, k] = ndcg(test[1], fit(data, valid, seed, args.patience)(test[0]), test[2])
    rows = {f"fold {fold + 1}": values[fold] for fold in range(5)}
    show("MQ2008, test NDCG@10", list(fits), {**rows, "mean of folds": values.mean(axis=0)})


def quantized(args):
    """Compare rounded with exact gradients on made data."""
    values = np.empty((args.seeds, 2))
    for seed in range(args.seeds):
        X, y, qid = made_data(args.rows, seed)
        X_test, y_test, qid_test = made_data(args.rows, 1000 + seed)
        for k, rounded in enumerate((False, True)):
            model = LambdaMART(100, quantized=rounded, random_state=seed).fit(X, y, qid=qid)
            values[seed, k] = ndcg(y_test, model.predict(X_test), qid_test)
    show(f"{args.rows} made rows, test NDCG@10", ["exact", "rounded"], {f"{args.seeds} seeds": values})


def ties(args):
    """Compare the canonical order of tied rows with the expectation over their orders."""
    found, kinds = {}, {"canonical": False, "expected": True}
    for name, settings in SETTINGS.items():
        values = np.empty((args.seeds, 2))
        for seed in range(args.seeds):
            train, test = made_ties(args.rows, seed), made_ties(args.rows, 1000 + seed)
            for k, expected in enumerate(kinds.values()):
                values[seed, k] = fitted_value(train, test, seed, expected, settings)
        found[f"made, {name}"] = values
    folds = [read_fold(args.folder, number) for number in range(1, 6)]
    for name, settings in SETTINGS.items():
        values = np.empty((args.seeds, 5, 2))
        for seed in range(args.seeds):
            for fold, (train, _, test) in enumerate(folds):
                for k, expected in enumerate(kinds.values()):
                    values[seed, fold, k] = fitted_value(train, test, seed, expected, settings)
        found[f"MQ2008, {name}"] = values.mean(axis=1)
    show("tied scores in λ, test NDCG@10", list(kinds), found)


LAMBDAS = {"default λ": {}, "paper's λ": {"normalize": False, "truncation": None}}
"""Settings of LambdaMART under which splits are compared."""


def splits(args):
    """Compare splits by Newton's gain with splits by least squares on MQ2008."""
    kinds, found = ("newton", "squares"), {name: [] for name in LAMBDAS}
    for fold in range(1, 6):
        train, _, test = read_fold(args.folder, fold)
        for name, settings in LAMBDAS.items():
            values = [
                [query_values(LambdaMART(100, split_by=kind, subsample=0.8, random_state=seed, **settings), train, test)
                 for kind in kinds]
                for seed in range(args.seeds)
            ]  # fmt: skip
            found[name].append(np.mean(values, axis=0).T)
    show("MQ2008, test NDCG@10", list(kinds), {name: np.concatenate(values) for name, values in found.items()})


def query_values(model, train, test):
    """Fit and return NDCG@10 in percent of each test query with something relevant, in the order of the queries."""
    scores = model.fit(*train[:2], qid=train[2]).predict(test[0])
    result = evaluate(test[1], scores, qid=test[2], measures="ndcg@10", n_resamples=0).per_query("ndcg@10")
    return [100 * result[query] for query in sorted(result) if not np.isnan(result[query])]


def fitted_value(train, test, seed, expected, settings):
    """Fit trees on the plain λ and return the test value."""
    model = MART(loss=lambda scores, feedback: plain_lambdas(scores, feedback, expected), random_state=seed, **settings)
    model.fit(*train[:2], qid=train[2])
    return ndcg(test[1], model.predict(test[0]), test[2])


def plain_lambdas(scores, feedback, expected, truncation=30):
    """Gradient and curvature of LambdaMART's loss for NDCG, as its default settings have it."""
    gains, offsets = np.maximum(np.exp2(feedback.labels) - 1, 0), feedback.offsets
    gradient, curvature = np.zeros(len(scores)), np.zeros(len(scores))
    units = 1 / np.log2(np.arange(2.0, np.diff(offsets).max() + 2))
    units[truncation:] = 0
    for own in map(slice, offsets[:-1], offsets[1:]):
        order = np.argsort(-scores[own], kind="stable")
        ideal = np.sort(gains[own])[::-1] @ units[: len(order)]
        if ideal > 0:
            share, sums = gains[own][order] / ideal, np.zeros((2, len(order)))
            add_pairs(scores[own][order], share, units, expected, sums)
            gradient[own][order], curvature[own][order] = sums
    return gradient, curvature


@njit(cache=True)
def add_pairs(scores, gains, units, expected, sums):
    """Add each pair's λ and curvature; a change of places pays what the units of the two places differ by.

    Expected: a place of a block of equal scores pays the block's mean unit, and two places of one block differ by the
    mean absolute difference of its units. Units fall, so for places of two blocks the mean difference is that of the
    means.
    """
    n = len(scores)
    block, mean, spread = np.empty(n, np.int64), np.empty(n), np.zeros(n)
    start, number = 0, 0
    for i in range(n):
        if i + 1 == n or scores[i + 1] != scores[i] or not expected:
            size, total, apart = i + 1 - start, 0.0, 0.0
            for p in range(size):
                total += units[start + p]
                apart += units[start + p] * (size - 1 - 2 * p)
            block[start : i + 1], mean[number] = number, total / size
            spread[number] = 2 * apart / (size * (size - 1)) if size > 1 else 0.0
            start, number = i + 1, number + 1
    for i in range(n):
        for j in range(i + 1, n):
            apart = spread[block[i]] if block[i] == block[j] else mean[block[i]] - mean[block[j]]
            weight = abs(gains[i] - gains[j]) * apart / (0.01 + scores[i] - scores[j])
            if weight > 0:
                high, low = (i, j) if gains[i] > gains[j] else (j, i)
                rho = 1 / (1 + np.exp(scores[high] - scores[low]))
                sums[0, high] -= weight * rho
                sums[0, low] += weight * rho
                sums[1, i] += weight * rho * (1 - rho)
                sums[1, j] += weight * rho * (1 - rho)


def check(args):
    """Print how far the plain λ of the canonical order is from LambdaMART's own, relative to the largest."""
    _, y, qid = made_ties(args.rows, 0)
    scores = np.random.default_rng(1).integers(0, 9, len(y)) / 4
    offsets = np.r_[0, np.cumsum(np.bincount(qid))]
    feedback = Graded(y, offsets, np.ones(len(y)), np.ones(len(offsets) - 1))
    own = LambdaLoss(feedback, normalize=True).derivatives(scores)
    for name, one, two in zip(("gradient", "curvature"), own, plain_lambdas(scores, feedback, False), strict=True):
        print(f"{name}: {np.abs(one - two).max() / np.abs(two).max():.1e}")


def show(title, names, found):
    """Print the mean of each column, and the second less the first with its standard error over rows."""
    table = Table("", *names, "difference", "standard error", title=title)
    for label, values in found.items():
        change = values[:, 1] - values[:, 0]
        error = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else np.nan
        means = [f"{value:.3f}" for value in values.mean(axis=0)]
        table.add_row(label, *means, f"{change.mean():+.3f}", f"{error:.3f}")
    Console().print(table)


def main():
    """Read the command line and run one experiment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for run, seeds, rows in (
        (peers, 5, 0),
        (quantized, 10, 30_000),
        (ties, 10, 20_000),
        (splits, 3, 0),
        (check, 1, 2_000),
    ):
        command = commands.add_parser(run.__name__, help=run.__doc__)
        command.set_defaults(run=run)
        command.add_argument("--seeds", type=int, default=seeds)
        command.add_argument("--rows", type=int, default=rows)
        if run in (peers, ties, splits):
            command.add_argument("folder")
        if run is peers:
            command.add_argument("--patience", type=int, default=0, help="stop early on the validation fold")
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
