"""Repeat the experiments of the RankBoost+ paper (Connamacher et al. 2019, section 5): RB-D, RB-C and RankBoost+.

    python experiments/rankboost_plus.py movielens PATH/movielens-100k [--every 1] [--rounds 100] [--jobs 2]
    python experiments/rankboost_plus.py letor PATH/mq2008 [--rounds 300]

`movielens` (Tables 1 and 3, Figures 2 and 3): each user with more than 100 ratings is a task: rank the user's movies;
features are the users who rated at least half of them, a missing rating stands below all others. Five folds: three to
train, one to choose the round by the same measure, one to test. NDCG has the gain r - 1 and the mean over the orders of
tied scores. `letor` (Tables 2 and 4): the five official folds of a LETOR 4.0 collection; NDCG is taken, in LETOR's
convention, at the round of the best MAP of the validation part. Both keep results/rankboost_plus.json (`--folder`).
"""

import argparse
import gzip
import time
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from lambdamart import read_fold
from paper_tables import RESULTS, keep, markdown
from scipy.stats import rankdata, studentized_range

from podium import RankBoost, RankBoostPlus, evaluate

MEASURES = ("pair_loss_1", "pair_loss_2", "ndcg@3", "ndcg@5", "ndcg@7")
SHOWN = ("R̂1", "R̂2", "NDCG@3", "NDCG@5", "NDCG@7")
NAMES = ("RB+", "RB-C", "RB-D")
PAPER = {  # Table 1 (mean rank, median round), Table 3, and MQ2008 of Table 4: rows as MEASURES, columns as NAMES
    "ranks": [
        (1.314, 1.938, 2.748), (1.356, 1.952, 2.692), (1.696, 2.125, 2.179), (1.559, 2.211, 2.230),
        (1.476, 2.268, 2.256),
    ],
    "rounds": [(32, 31, 26), (25, 21, 18), (4, 2, 3), (7, 2, 4), (11, 2, 4)],
    "movielens": [
        (0.3100, 0.3218, 0.3394), (0.3114, 0.3218, 0.3376), (0.7920, 0.7642, 0.7620), (0.8019, 0.7684, 0.7675),
        (0.8104, 0.7744, 0.7749),
    ],
    "letor": [
        (0.2082, 0.2153, 0.2190), (0.2027, 0.2161, 0.2192), (0.4190, 0.4250, 0.4185), (0.4684, 0.4702, 0.4582),
        (0.4887, 0.4899, 0.4819),
    ],
}  # fmt: skip


def rankers(n_rounds, **options):
    """The three rankers."""
    return {
        "RB+": RankBoostPlus(n_rounds, **options),
        "RB-C": RankBoost(n_rounds, alpha="r", **options),
        "RB-D": RankBoost(n_rounds, alpha="z", **options),
    }


def read_tasks(folder, every):
    """Yield number, features and ratings of each user's task."""
    with gzip.open(Path(folder) / "u.data.gz", "rt") as file:
        user, movie, rating = np.array([line.split()[:3] for line in file], int).T
    table = np.full((user.max(), movie.max()), np.nan)
    table[user - 1, movie - 1] = rating
    for task in np.flatnonzero((~np.isnan(table)).sum(axis=1) > 100)[::every]:
        movies = np.flatnonzero(~np.isnan(table[task]))
        others = np.delete(table[:, movies], task, axis=0)
        others = others[np.isnan(others).mean(axis=1) <= 0.5]
        if len(others):
            yield task, others.T, table[task, movies]


def stage_values(model, X, y, qid, n_rounds, **rules):
    """Return the value of each measure after each round; a fit that ended early keeps its last."""
    rules = {"qid": qid, "n_resamples": 0, "n_jobs": 1, **rules}
    found = [evaluate(y, scores, **rules) for scores in model.staged_predict(X)]
    values = [[one[name] for name in rules["measures"]] for one in found]
    return np.array(values + values[-1:] * (n_rounds - len(values)))


def list_values(model, parts, n_rounds):
    """The same for each of some single lists, all lists and rounds measured in one call, as queries."""
    X, y = (np.concatenate(column) for column in zip(*parts, strict=True))
    stages = np.array(list(model.staged_predict(X)))
    part_of_row = np.repeat(np.arange(len(parts)), [len(own) for _, own in parts])
    qid = (part_of_row * len(stages) + np.arange(len(stages))[:, None]).ravel()
    rules = {"measures": MEASURES, "gain": "linear", "empty": 1.0, "n_resamples": 0, "n_jobs": 1}
    found = evaluate(np.tile(y - 1.0, len(stages)), stages.ravel(), qid=qid, **rules)
    values = np.array([list(found.per_query(name).values()) for name in MEASURES]).T  # queries in their order
    return [
        np.concatenate([own, np.repeat(own[-1:], n_rounds - len(own), axis=0)]) for own in np.split(values, len(parts))
    ]


def best_rounds(values):
    """Return the first best round by each measure: losses fall, NDCG rises."""
    return [
        column.argmin() if name.startswith("pair") else column.argmax()
        for name, column in zip(MEASURES, values.T, strict=True)
    ]


def run_task(task, X, y, n_rounds):
    """Return for each ranker and fold: test values at the chosen rounds, those rounds, test values of all rounds."""
    fold = np.random.default_rng(task).permutation(len(y)) % 5
    found = []
    for k in range(5):
        test, valid = fold == k, fold == (k + 1) % 5
        if min(len(np.unique(y[part])) for part in (test, valid)) < 2:
            continue
        train = ~test & ~valid
        for model in rankers(n_rounds, abstain=0, max_bins=None).values():
            model.fit(X[train], y[train])
            seen, curve = list_values(model, [(X[part], y[part]) for part in (valid, test)], n_rounds)
            chosen = best_rounds(seen)
            found.append((curve[chosen, range(len(MEASURES))], np.array(chosen) + 1, curve))
    parts = [np.array(part).reshape(-1, len(NAMES), *part[0].shape) for part in zip(*found, strict=True)]
    return parts[0].mean(axis=0), parts[1], parts[2].mean(axis=0)


def movielens(options):
    """Run all users' tasks."""
    start = time.perf_counter()
    run = Parallel(n_jobs=options.jobs)
    done = run(delayed(run_task)(*task, options.rounds) for task in read_tasks(options.data, options.every))
    values = np.array([each[0] for each in done])
    signs = np.array([1 if name.startswith("pair") else -1 for name in MEASURES])
    return {
        "tasks": len(done),
        "seconds": round(time.perf_counter() - start, 1),
        "means": values.mean(axis=0).T.tolist(),
        "ranks": rankdata(signs * values, axis=1).mean(axis=0).T.tolist(),
        "rounds": np.median(np.concatenate([each[1] for each in done]), axis=0).T.tolist(),
        "curves": np.mean([each[2] for each in done], axis=0).round(5).tolist(),
    }


def letor(options):
    """Run the five folds of one collection."""
    start = time.perf_counter()
    values = []
    measures, rules = (*MEASURES, "map"), {"convention": "letor"}
    for number in range(1, options.folds + 1):
        train, valid, test = read_fold(options.data, number)
        for model in rankers(options.rounds).values():
            model.fit(*train[:2], qid=train[2])
            seen = stage_values(model, *valid, options.rounds, measures=measures, **rules)
            at = [seen[:, 0].argmin(), seen[:, 1].argmin(), *4 * [seen[:, 5].argmax()]]
            values.append(stage_values(model, *test, options.rounds, measures=measures, **rules)[at, range(6)])
    values, signs = np.array(values).reshape(-1, len(NAMES), len(measures)), np.array([1, 1, -1, -1, -1, -1])
    ranks = rankdata(signs * values, axis=1).mean(axis=0).T.tolist()
    return {"seconds": round(time.perf_counter() - start, 1), "means": values.mean(axis=0).T.tolist(), "ranks": ranks}


def critical_difference(n_tasks, level=0.05):
    """Nemenyi's critical difference of mean ranks."""
    k = len(NAMES)
    return studentized_range.ppf(1 - level, k, np.inf) / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n_tasks))


def beside(ours, paper, digits):
    """Return the cells of a row, what the paper prints in brackets."""
    return [f"{one:.{digits}f} ({other:.{digits}f})" for one, other in zip(ours, paper, strict=True)]


def tables(results):
    """Return the tables of the page, of the parts that were run."""
    found = {}
    for part, kept in results.items():
        rows = [[name, *beside(*values, 4)] for name, *values in zip(SHOWN, kept["means"], PAPER[part], strict=False)]
        rows += [["MAP", *(f"{value:.4f}" for value in own)] for own in kept["means"][len(SHOWN) :]]
        found[f"rankboost-plus-{part}"] = markdown(["ours (paper's)", *NAMES], rows)
    if "movielens" in results:
        kept = results["movielens"]
        ranks = [beside(*each, 3) for each in zip(kept["ranks"], PAPER["ranks"], strict=True)]
        rounds = [beside(*each, 0) for each in zip(kept["rounds"], PAPER["rounds"], strict=True)]
        rows = [
            [name, *(f"{rank}, {round_}" for rank, round_ in zip(*cells, strict=True))]
            for name, *cells in zip(SHOWN, ranks, rounds, strict=True)
        ]
        distance = f"{critical_difference(kept['tasks']):.4f} (0.1754) for {kept['tasks']} tasks"
        table = markdown(["mean rank, median round: ours (paper's)", *NAMES], rows)
        found["rankboost-plus-ranks"] = f"{table}\n\nNemenyi's critical difference is {distance}."
    return found


def main():
    """Run one experiment, print and keep it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("movielens", "letor"))
    parser.add_argument("data", type=Path)
    for name, default in (("every", 1), ("rounds", 100), ("folds", 5), ("jobs", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--folder", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = {options.what: {"movielens": movielens, "letor": letor}[options.what](options)}
    keep("rankboost_plus", results, options.folder)
    print("\n\n".join(tables(results).values()), f"{results[options.what]['seconds']} seconds.", sep="\n\n")


if __name__ == "__main__":
    main()
