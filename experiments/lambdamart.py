"""Quality of LambdaMART: beside LightGBM, and with rounded gradients; see lambda_forms.py for the forms of λ.

    python experiments/lambdamart.py peers PATH/mq2008 [--seeds 5] [--trees 100]
    python experiments/lambdamart.py quantized [--seeds 10] [--rows 30000]
    python experiments/lambdamart.py normalized [--seeds 5] [--rows 60000]

`peers`: the five folds of MQ2008, 100 trees of 31 leaves, the same settings on both sides. The seed shuffles rows and
queries (LightGBM breaks ties by row order, Podium does not look at it) and draws Podium's rounding.
`quantized`: made data; the difference of histograms from rounded gradients to those from exact ones, paired by seed.
`normalized`: made data; λ with each pair divided by its distance to λ normalised by query, the default, by number of
trees; made rows have less noise than real ones, which lambda_forms.py has.
All values are mean NDCG@10 of held-out queries in percent, with the standard error of the mean difference, kept in
results/lambdamart.json (`--folder`), of which the tables of docs/lambdamart.md are made.
"""

import argparse
from itertools import product
from pathlib import Path

import numpy as np
from paper_tables import RESULTS, keep, markdown

from podium import LambdaMART, evaluate, read_letor

PATIENCE = 20


def ndcg(y, scores, qid):
    """Mean NDCG@10 in percent."""
    return 100 * evaluate(y, scores, qid=qid, measures="ndcg@10", n_resamples=0)["ndcg@10"]


def read_fold(folder, number):
    """Return training, validation and test data of one fold."""
    parts = [read_letor(folder / f"Fold{number}" / f"{name}.txt.gz") for name in ("train", "vali", "test")]
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


def fit_lightgbm(train, valid, seed, patience, trees):
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
    further = {"valid_sets": sets[1:] if patience else None, "callbacks": callbacks}
    return lightgbm.train(params, sets[0], trees, **further).predict


def fit_podium(train, valid, seed, patience, trees, **settings):
    """Return our scoring function."""
    model = LambdaMART(trees, early_stopping_rounds=patience or None, random_state=seed, **settings)
    further = {"eval_set": [valid[:2]], "eval_qid": [valid[2]]} if patience else {}
    return model.fit(*train[:2], qid=train[2], **further).predict


def peers(args):
    """Compare with LightGBM on MQ2008, without and with early stopping."""
    fits = {"LightGBM": fit_lightgbm, "Podium": fit_podium}
    ways = {f"{args.trees} trees": 0, f"early stopping, patience {PATIENCE}": PATIENCE}
    values = np.empty((len(ways), 5, args.seeds, 2))
    for fold in range(5):
        train, valid, test = read_fold(args.data, fold + 1)
        for seed in range(args.seeds):
            data = shuffled(*train, seed)
            for (way, patience), (k, fit) in product(enumerate(ways.values()), enumerate(fits.values())):
                predict = fit(data, valid, seed, patience, args.trees)
                values[way, fold, seed, k] = ndcg(test[1], predict(test[0]), test[2])
    return list(fits), dict(zip(ways, values.mean(axis=1), strict=True))


def quantized(args):
    """Compare rounded with exact gradients on made data."""
    values = np.empty((args.seeds, 2))
    for seed in range(args.seeds):
        X, y, qid = made_data(args.rows, seed)
        X_test, y_test, qid_test = made_data(args.rows, 1000 + seed)
        for k, rounded in enumerate((False, True)):
            model = LambdaMART(args.trees, quantized=rounded, random_state=seed).fit(X, y, qid=qid)
            values[seed, k] = ndcg(y_test, model.predict(X_test), qid_test)
    return ["exact", "rounded"], {f"{args.seeds} seeds": values}


def normalized(args):
    """Compare normalisation by pair with that by query on made data, after some trees and with early stopping."""
    found = {"30 trees": [], "100 trees": [], "300 trees": [], "early stopping": []}
    for seed in range(args.seeds):
        train, valid, test = (made_data(args.rows, seed + 1000 * part) for part in range(3))
        for name, values in found.items():
            stop = name == "early stopping"
            limits = (PATIENCE, 2000) if stop else (0, int(name.split()[0]))
            fits = [fit_podium(train, valid, seed, *limits, normalize=kind) for kind in ("query", "pairs")]
            values.append([ndcg(test[1], predict(test[0]), test[2]) for predict in fits])
    return ['`"query"`', '`"pairs"`'], found


def with_error(values):
    """Return the means of both columns, and the second less the first with its standard error over rows."""
    first, second = np.transpose(values)
    return [first.mean(), second.mean(), (second - first).mean(), (second - first).std(ddof=1) / len(first) ** 0.5]


def tables(results):
    """Return the tables of the page."""
    found = {}
    for name, kept in results.items():
        rows = [
            [label, f"{first:.2f}", f"{second:.2f}", f"{change:+.2f} ± {error:.2f}"]
            for label, (first, second, change, error) in kept["rows"].items()
        ]
        found[f"lambda-{name}"] = markdown(["", *kept["columns"], "difference"], rows)
    return found


def main():
    """Read the command line and run one experiment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for run, seeds, rows in ((peers, 5, 0), (quantized, 10, 30_000), (normalized, 5, 60_000)):
        command = commands.add_parser(run.__name__, help=run.__doc__)
        command.set_defaults(run=run)
        command.add_argument("--seeds", type=int, default=seeds)
        command.add_argument("--rows", type=int, default=rows)
        command.add_argument("--trees", type=int, default=100)
        command.add_argument("--folder", type=Path, default=RESULTS)
        if run is peers:
            command.add_argument("data", type=Path)
    args = parser.parse_args()
    columns, found = args.run(args)
    name = args.run.__name__
    results = {name: {"columns": columns, "rows": {label: with_error(values) for label, values in found.items()}}}
    keep("lambdamart", results, args.folder)
    print(tables(results)[f"lambda-{name}"])


if __name__ == "__main__":
    main()
