"""Every ranker that learns from labels beside other libraries, tuned alike: LETOR 4.0 MQ2008, five folds.

    python experiments/leaderboard.py tune PATH/data --cache FOLDER [--rankers LambdaMART LightGBM …] [--trials 30]
    python experiments/leaderboard.py table PATH/data --cache FOLDER

PATH/data holds `mq2008` and `letor-baselines` (LETOR 4.0, Microsoft Research), `lightgbm-example` (examples/lambdarank
of LightGBM) and `movielens-100k` (grouplens.org); `--tasks` names those to run.

`tune`: in each fold a ranker has as many trials, proposed by Optuna's TPE with a fixed seed; the first is its defaults
(and repeated proposals are not fitted again). A trial learns from the training part, at most 300 rounds that end where
NDCG@10 of the validation part has not risen for 30, and its value is the mean of NDCG@10 and MAP there. The scores of
the best trial are kept in the cache, a file for each ranker and fold, so that a run that was ended goes on.
`table`: test values in LETOR's convention, means of folds; intervals and Holm-corrected randomisation tests over all
test queries, against the ranker of ours that is best on the validation parts. "ours, by fold" takes in each fold the
ranker of ours that is best on its validation part, "our blend" adds up rankers of ours; neither looks at test parts.
Results are kept in results/leaderboard.json (`--folder`).
"""

import argparse
import json
import re
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import optuna
from leaderboard_rankers import CONTENDERS, OURS, blended
from leaderboard_tasks import TASKS
from paper_tables import RESULTS, keep, markdown

from podium import evaluate, leaderboard

BOTH = ("ndcg@10", "map")
MEASURES = [*(f"ndcg@{k}" for k in range(1, 11)), "map"]
SHOWN = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map")
OFFICIAL = ("RankBoost", "RankSVM-Struct", "AdaRank-NDCG")


def valid_value(part, scores):
    """Return the mean of NDCG@10 and MAP."""
    found = evaluate(part.y, scores, qid=part.qid, measures=BOTH, n_resamples=0, n_jobs=1)
    return (found["ndcg@10"] + found["map"]) / 2


def tuned(contender, fold, n_trials, seed):
    """Return the best trial of one ranker in one fold: values, parameters, scores, seconds."""
    train, valid, test = fold
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    study.enqueue_trial(contender.start)
    seen, best = {}, {"valid_value": -np.inf}
    start = time.process_time()
    for _ in range(n_trials):
        trial = study.ask()
        given = {name: one.suggest(trial, name) for name, one in contender.space.items()}
        key = json.dumps(given)
        if key not in seen:
            predict = contender.fit(given, train, valid)
            scores = predict(valid.X)
            seen[key] = valid_value(valid, scores)
            if seen[key] > best["valid_value"]:
                found = {"valid": scores.tolist(), "test": predict(test.X).tolist()}
                best = {"valid_value": seen[key], "parameters": given, **found}
        study.tell(trial, seen[key])
    return {**best, "fits": len(seen), "seconds": time.process_time() - start}


def run(options):
    """Tune all that is not in the cache yet."""
    for task in options.tasks:
        folds = dict(TASKS[task](options.data, options.folds))
        for name, fold in product(options.rankers, folds):
            path = options.cache / f"{task}.{name}.{fold}.json"
            if not path.exists():
                found = tuned(CONTENDERS[name], folds[fold], options.trials, fold)
                path.write_text(json.dumps(found))
                print(f"{task} fold {fold} {name} {found['valid_value']:.4f} {found['seconds']:.1f} s", flush=True)


def collected(task, options):
    """Return test labels, queries and the scores of each ranking, all folds in one; fold of each row; facts of tuning.

    Rankers that are not in the cache for every fold are left out.
    """
    folds = dict(TASKS[task](options.data, options.folds))
    cached = {}
    for name in CONTENDERS:
        paths = {fold: options.cache / f"{task}.{name}.{fold}.json" for fold in folds}
        if all(path.exists() for path in paths.values()):
            cached[name] = {fold: json.loads(path.read_text()) for fold, path in paths.items()}
    scores = {name: np.concatenate([own[fold]["test"] for fold in folds]) for name, own in cached.items()}
    ours = {fold: {name: cached[name][fold] for name in cached if name in OURS} for fold in folds}
    chosen = {fold: max(own, key=lambda name: own[name]["valid_value"]) for fold, own in ours.items()}
    scores["ours, by fold"] = np.concatenate([ours[fold][chosen[fold]]["test"] for fold in folds])
    scores["our blend"] = np.concatenate([blended(parts[2].qid, ours[fold]) for fold, parts in folds.items()])
    facts = {
        name: {
            "valid": float(np.mean([one["valid_value"] for one in own.values()])),
            "fits": sum(one["fits"] for one in own.values()),
            "seconds": round(sum(one["seconds"] for one in own.values()), 1),
            "parameters": [one["parameters"] for one in own.values()],
        }
        for name, own in cached.items()
    }
    y = np.concatenate([parts[2].y for parts in folds.values()])
    qid = np.concatenate([[f"{fold}.{query}" for query in parts[2].qid] for fold, parts in folds.items()])
    fold_of_row = np.repeat(list(folds), [len(parts[2].y) for parts in folds.values()])
    return y, qid, scores, fold_of_row, facts, list(chosen.values())


def results_of(task, options):
    """Return means of folds, intervals, tests and facts of every ranking of a task."""
    y, qid, scores, fold_of_row, facts, chosen = collected(task, options)
    convention = "letor" if task == "mq2008" else "podium"
    best = max((name for name in facts if name in OURS), key=lambda name: facts[name]["valid"])
    whole = leaderboard(y, scores, qid=qid, measures=BOTH, convention=convention, n_resamples=2000)
    tests = whole.against(best)
    found = {}
    for name, own in scores.items():
        by_fold = [
            evaluate(y[rows], own[rows], qid=qid[rows], n_resamples=0, measures=MEASURES, convention=convention)
            for rows in (fold_of_row == fold for fold in dict.fromkeys(fold_of_row))
        ]
        row = {measure: float(np.mean([one[measure] for one in by_fold])) for measure in MEASURES}
        row["intervals"] = {m: [whole[name].result(m).low, whole[name].result(m).high] for m in BOTH}
        if name != best:
            row["p_holm"] = {m: tests.corrected[name][m] for m in BOTH}
        found[name] = {**row, **facts.get(name, {})}
    return {"best": best, "chosen": chosen, "queries": len(np.unique(qid)), "rankings": found}


def official(folder):
    """Return the test values of the official files."""
    found = {}
    for name in OFFICIAL:
        text = (folder / "letor-baselines" / f"{name}.MQ2008.txt").read_text().split("validation set")[0]
        gains, precisions = (list(map(float, line.split()[1:])) for line in re.findall(r"(?:average|Avg)\s.*", text))
        found[name] = {**{f"ndcg@{k}": gains[k - 1] for k in range(1, 11)}, "map": precisions[-1]}
    return found


def table(options):
    """Keep the results of each task."""
    results = {task: results_of(task, options) for task in options.tasks}
    if "mq2008" in options.tasks:
        results["official"] = official(options.data)
    keep("leaderboard", results, options.folder)
    print("\n\n".join(tables(results).values()))


def tables(results):
    """Return the tables of the page."""
    found = {}
    for task in (name for name in results if name != "official"):
        kept = results[task]
        rows = [(f"**{n}**" if n in OURS or n.startswith("our") else n, own) for n, own in kept["rankings"].items()]
        rows += [(f"{name}, official file", own) for name, own in results["official"].items()] * (task == "mq2008")
        rows.sort(key=lambda row: -row[1]["ndcg@10"])
        header = [f"{kept['queries']} queries", *map(str.upper, SHOWN), "Holm's p, NDCG@10, MAP", "fits, seconds"]
        found[f"leaderboard-{task}"] = markdown(header, [cells(name, own) for name, own in rows])
        if task == "mq2008":
            places = [[name, *(f"{own[measure]:.4f}" for measure in MEASURES[:-1])] for name, own in rows]
            found["leaderboard-places"] = markdown(["NDCG at", *map(str, range(1, 11))], places)
    return found


def cells(name, own):
    """Return a row of the table."""
    ranges = {measure: " ({:.3f} to {:.3f})".format(*ends) for measure, ends in own.get("intervals", {}).items()}
    values = [f"{own[measure]:.4f}" + ranges.get(measure, "") for measure in SHOWN]
    tests = ", ".join(f"{p:.3f}" for p in own["p_holm"].values()) if "p_holm" in own else ""
    return [name, *values, tests, f"{own['fits']}, {own['seconds']:.0f}" if "fits" in own else ""]


def main():
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("tune", "table"))
    parser.add_argument("data", type=Path)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--rankers", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--folds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--folder", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    {"tune": run, "table": table}[options.what](options)


if __name__ == "__main__":
    main()
