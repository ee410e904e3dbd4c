"""Meta-search, as in section 6.1 of the RankBoost paper (Freund et al. 2003, "RB"), on runs of TREC Robust 2003.

    python experiments/metasearch_runs.py PATH/trec-robust03 [--rounds 200] [--folds 4] [--jobs 2]

A row is a document that some system retrieved, a feature minus its place in one system's list. RB's queries had one
right document each; here the first relevant one counts. `table` is RB's Table 1: queries with a relevant document in
the first k, and the mean rank of the first one, at most 31; the best single systems are chosen on the test queries, as
in RB, the combination has 50 rounds of WeakLearn.3.cum. `curves` is RB's Figure 4: the ranking loss of Eq. 21 on
training and test queries after some rounds of the four weak learners. Four folds by query; results are kept in
results/metasearch_runs.json (`--folder`).
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from paper_tables import RESULTS, keep, markdown

from podium import RankBoost, evaluate

sys.path.append(str(Path(__file__).parents[1] / "examples"))
from metasearch import folds, read_systems

TOPS = (1, 2, 5, 10, 20, 30)
MEASURES = [*(f"top@{k}" for k in TOPS), "avg_rank@30"]
LEARNERS = {
    "WeakLearn.2": {"alpha": "z", "criterion": "z"},
    "WeakLearn.3": {},
    "WeakLearn.2.cum": {"alpha": "z", "criterion": "z", "cumulative": True},
    "WeakLearn.3.cum": {"cumulative": True},
}
STAGES = (1, 10, 30, 50, 100, 200)
TABLE_ROUNDS = 50
"""RB stopped where the training loss no longer fell much."""


def values(task, scores):
    """Return the measure of each query: lists of one a query."""
    found = evaluate(task.y, scores, qid=task.qid, measures=MEASURES, n_resamples=0, empty=0)
    return {name: list(found.per_query(name).values()) for name in MEASURES}


def row(measured):
    """Return the counts of Table 1 and the mean rank."""
    return [float(np.nansum(measured[f"top@{k}"])) for k in TOPS] + [float(np.nanmean(measured["avg_rank@30"]))]


def learn(name, task, train, test, n_rounds):
    """Return training and test loss after some rounds, and test scores after as many as the table takes."""
    model = RankBoost(n_rounds, abstain=0, max_bins=None, pair_weight="queries", **LEARNERS[name])
    model.fit(task.X[train], task.y[train], qid=task.qid[train])
    stages = zip(model.staged_predict(task.X[train]), model.staged_predict(task.X[test]), strict=True)
    curve, kept = {}, None
    for number, (seen, new) in enumerate(stages, 1):
        if number in STAGES:
            curve[number] = [loss(task, rows, scores) for rows, scores in ((train, seen), (test, new))]
        kept = new.copy() if number <= TABLE_ROUNDS else kept
    return list(curve.values()), kept


def loss(task, rows, scores):
    """Return the mean share of misordered pairs, a tie counting half (RB Eq. 21)."""
    return evaluate(task.y[rows], scores, qid=task.qid[rows], measures="disagreement", n_resamples=0)["disagreement"]


def tables(results):
    """Return the tables of the page."""
    rows = [
        [name, *(f"{count:.0f}" for count in found[:-1]), f"{found[-1]:.2f}"]
        for name, found in results["table"].items()
    ]
    header = [f"{results['queries']} queries", *(f"top {k}" for k in TOPS), "mean rank"]
    stages = STAGES[: len(results["curves"]["WeakLearn.3"])]
    losses = [[name, *(f"{seen:.4f}, {new:.4f}" for seen, new in curve)] for name, curve in results["curves"].items()]
    header_2 = ["training, test loss after", *(f"{at} rounds" if at > 1 else "1 round" for at in stages)]
    return {"metasearch-table": markdown(header, rows), "metasearch-curves": markdown(header_2, losses)}


def main():
    """Run the experiment, print and keep it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    for name, default in (("rounds", 200), ("folds", 4), ("jobs", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--folder", type=Path, default=RESULTS)
    options = parser.parse_args()
    task = read_systems(options.data)
    parts = list(folds(task.qid))[: options.folds]
    jobs = [(name, train, test) for name in LEARNERS for train, test in parts]
    run = Parallel(n_jobs=options.jobs, prefer="threads")
    done = run(delayed(learn)(name, task, train, test, options.rounds) for name, train, test in jobs)
    curves = {
        name: np.mean([curve for (own, *_), (curve, _) in zip(jobs, done, strict=True) if own == name], axis=0)
        for name in LEARNERS
    }
    combined = np.full(len(task.y), np.nan)
    for (name, _, test), (_, scores) in zip(jobs, done, strict=True):
        if name == "WeakLearn.3.cum":
            combined[test] = scores
    tested = task._replace(**{name: getattr(task, name)[~np.isnan(combined)] for name in ("X", "y", "qid")})
    alone = np.nan_to_num(tested.X, nan=np.nanmin(task.X) - 1.0)
    single = {
        name: row(values(tested, column))
        for name, column in zip(task.systems, np.ascontiguousarray(alone.T), strict=True)
    }
    table = {"RankBoost": row(values(tested, combined[~np.isnan(combined)]))}
    for k in (1, 10, 30):
        best = max(single, key=lambda name: single[name][TOPS.index(k)])
        table[f"best of top {k}: {best}"] = single[best]
    results = {
        "queries": len(np.unique(tested.qid)),
        "table": table,
        "curves": {n: c.round(5).tolist() for n, c in curves.items()},
    }
    keep("metasearch_runs", results, options.folder)
    print("\n\n".join(tables(results).values()))


if __name__ == "__main__":
    main()
