"""Variants of RankBoost compared within the training parts of MQ2008, so that no choice needs a test part.

    python experiments/rankboost_variants.py PATH/mq2008 [--folds 1 2 3 4 5] [--seeds 4]

The training queries of each official fold are dealt out into five parts: one is measured on, the next one ends the
fits (NDCG@10, patience 30), the others are learned from; each part is measured on in turn, with other parts for each
seed. A row is one variant, or the one of several that is best on the part that ends the fits, as tuning chooses.
Differences are from the defaults, paired by query; the error is that of the mean over queries, each of them a mean over
all fits that it was measured by. Results are kept in results/rankboost_variants.json (`--folder`).
"""

import argparse
from itertools import product
from pathlib import Path

import numpy as np
from leaderboard_tasks import mq2008
from paper_tables import RESULTS, keep, markdown

from podium import RankBoost, evaluate

MEASURES = ("ndcg@10", "map")
DEFAULT = "stump, pairs, rate 1"
GRID = {
    f"{weak}, {weight}, rate {rate:g}": {"weak": weak, "pair_weight": weight, "learning_rate": rate}
    for weak, weight, rate in product(("stump", "feature"), ("pairs", "queries"), (1.0, 0.5, 0.3, 0.1))
}
OF_QUERIES = {"pair_weight": "queries", "learning_rate": 0.3}
VARIANTS = {
    **GRID,
    "stump, queries, rate 0.3, criterion z": {**OF_QUERIES, "criterion": "z"},
    "stump, queries, rate 0.3, cumulative": {**OF_QUERIES, "cumulative": True},
    "stump, queries, rate 0.3, 16 bins": {**OF_QUERIES, "max_bins": 16},
    "stump, differences, rate 0.3": {"pair_weight": "differences", "learning_rate": 0.3},
    "feature, queries, rate 0.3, numeric alpha": {**OF_QUERIES, "weak": "feature", "alpha": "numeric"},
}
CHOSEN = {
    "chosen among the first 16": lambda name: name in GRID,
    "chosen among stumps": lambda name: name in GRID and "stump" in name,
    "chosen among features": lambda name: name in GRID and "feature" in name,
    "chosen among weights by pair": lambda name: name in GRID and "pairs" in name,
    "chosen among weights by query": lambda name: name in GRID and "queries" in name,
}


def inner_parts(train, seed):
    """Yield what is learned from, what ends the fit, and what is measured on."""
    ids, query = np.unique(train.qid, return_inverse=True)
    place = (np.random.default_rng(seed).permutation(len(ids)) % 5)[query]
    for number in range(5):
        test, stop = place == number, place == (number + 1) % 5
        yield train.take(~test & ~stop), train.take(stop), train.take(test)


def measured(part, scores):
    """Return NDCG@10 and MAP by query; 0 where nothing is relevant."""
    found = evaluate(part.y, scores, qid=part.qid, measures=MEASURES, empty=0, n_resamples=0, n_jobs=1)
    both = zip(*(found.per_query(measure).values() for measure in MEASURES), strict=True)
    return dict(zip(found.per_query("map"), both, strict=True))


def one_split(variants, learned, stop, test):
    """Return by row the value of the part that ends the fit, and the measures by query."""
    found = {}
    for name in variants:
        model = RankBoost(300, early_stopping_rounds=30, eval_metric="ndcg@10", n_jobs=1, **VARIANTS[name])
        model.fit(learned.X, learned.y, qid=learned.qid, eval_set=[(stop.X, stop.y)], eval_qid=[stop.qid])
        value = np.mean(list(measured(stop, model.predict(stop.X)).values()))
        found[name] = value, measured(test, model.predict(test.X))
    picks = {name: max(filter(among, variants), key=lambda one: found[one][0]) for name, among in CHOSEN.items()}
    return found | {name: found[best] for name, best in picks.items()}


def compare(options):
    """Return means and differences from the defaults of every row."""
    values = {name: {} for name in (*options.variants, *CHOSEN)}
    folds = mq2008(options.data.parent, options.folds)
    for (_, (train, *_)), seed in product(folds, range(options.seeds)):
        for parts in inner_parts(train, seed):
            for name, (_, by_query) in one_split(options.variants, *parts).items():
                for query, both in by_query.items():
                    values[name].setdefault(query, []).append(both)
    means = {name: np.array([np.mean(own[query], axis=0) for query in sorted(own)]) for name, own in values.items()}
    apart = {name: own - means[DEFAULT] for name, own in means.items()}
    errors = {name: own.std(axis=0, ddof=1) / np.sqrt(len(own)) for name, own in apart.items()}
    rows = {
        name: {
            measure: [float(own[:, i].mean()), float(apart[name][:, i].mean()), float(errors[name][i])]
            for i, measure in enumerate(MEASURES)
        }
        for name, own in means.items()
    }
    return {"queries": len(means[DEFAULT]), "seeds": options.seeds, "rows": rows}


def tables(results):
    """Return the table of the page."""
    rows = []
    for name, own in results["rows"].items():
        means = [f"{own[measure][0]:.4f}" for measure in MEASURES]
        differences = ["" if name == DEFAULT else "{:+.4f} ± {:.4f}".format(*own[one][1:]) for one in MEASURES]
        rows.append([name, *means, *differences])
    header = [f"{results['queries']} queries, {results['seeds']} seeds", "NDCG@10", "MAP"]
    return {"rankboost-variants": markdown([*header, "NDCG@10 less the defaults'", "MAP less the defaults'"], rows)}


def main():
    """Compare, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--folds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--folder", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = compare(options)
    keep("rankboost_variants", results, options.folder)
    print("\n\n".join(tables(results).values()))


if __name__ == "__main__":
    main()
