"""Every ranker that learns from labels beside other libraries, tuned alike: LETOR 4.0 MQ2008, five folds.

    python experiments/leaderboard.py tune PATH/data --cache FOLDER [--rankers LambdaMART LightGBM …] [--trials 30]
    python experiments/leaderboard.py table PATH/data --cache FOLDER

PATH/data holds `mq2008` and `letor-baselines` (LETOR 4.0, Microsoft Research), `lightgbm-example` (examples/lambdarank
of LightGBM) and `movielens-100k` (grouplens.org); `--tasks` names those to run.

`tune`: in each fold a ranker has as many trials, proposed by Optuna's TPE with a fixed seed; the first is its defaults
(and repeated proposals are not fitted again). A trial learns from the training part, at most 300 rounds that end where
NDCG@10 of the validation part has not risen for 30, and its value is the mean of NDCG@10 and MAP there. The scores of
the five best trials are kept in the cache, a file for each ranker and fold, so that a run that was ended goes on; and
those of four fits with the best parameters, each on all but a quarter of the training and validation queries.
`table`: test values of the best trial in LETOR's convention, means of folds; intervals and Holm-corrected randomisation
tests over all test queries, against the ranker of ours that is best on the quarters that those four fits left out;
values of the mean ranks by the five trials, and by the four fits. "ours, by fold" takes in each fold the ranker of ours
that is best on its quarters, "our blend" the mean ranks by both of its eight best; neither looks at test parts.
Results are kept in results/leaderboard.json (`--folder`), with the blend against each other library.
"""

import json
from itertools import product

import numpy as np
from leaderboard_peers import PEERS
from leaderboard_rankers import BOTH, CONTENDERS, OURS, blended, mean_ranks, run_command, tuned
from leaderboard_tasks import RULES, TASKS, official
from paper_tables import keep, markdown

from podium import evaluate, leaderboard

MEASURES = [*(f"ndcg@{k}" for k in range(1, 11)), "map"]
SHOWN = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map")
SEVERAL = ("best_trials", "four_parts")
BLEND = "our blend"


def run(options, seed=0):
    """Tune all that is not in the cache yet, with one seed of the proposals."""
    for task in options.tasks:
        folds = dict(TASKS[task](options.data, options.folds))
        for name, fold in product(options.rankers, folds):
            path = options.cache / f"{task}.{name}.{fold}.json"
            if not path.exists():
                draws = 1000 * seed + fold
                found = tuned(CONTENDERS[name], folds[fold], options.trials, draws, RULES[task].get("relevant"))
                path.write_text(json.dumps(found))
                print(
                    f"{task} fold {fold} {name} {found['trials'][0]['valid_value']:.4f} {found['seconds']:.1f} s",
                    flush=True,
                )


def kept_trials(task, options):
    """Return test parts by fold, and the cache by ranker and fold; rankers that lack a fold are left out."""
    tests = {fold: parts[2] for fold, parts in TASKS[task](options.data, options.folds)}
    cached = {}
    for name in CONTENDERS:
        paths = {fold: options.cache / f"{task}.{name}.{fold}.json" for fold in tests}
        if all(path.exists() for path in paths.values()):
            cached[name] = {fold: json.loads(path.read_text()) for fold, path in paths.items()}
    return tests, cached


def rankings_of(tests, cached):
    """Return the test scores of each ranking by fold, and the ranker of ours that each fold chose."""
    ours = {fold: {name: own[fold] for name, own in cached.items() if name in OURS} for fold in tests}
    chosen = {fold: max(own, key=lambda name: own[name]["quarters_value"]) for fold, own in ours.items()}
    scores = {name: {fold: np.array(own[fold]["trials"][0]["test"]) for fold in tests} for name, own in cached.items()}
    scores["ours, by fold"] = {fold: scores[name][fold] for fold, name in chosen.items()}
    scores[BLEND] = {fold: blended(part.qid, ours[fold]) for fold, part in tests.items()}
    return scores, list(chosen.values())


def several_of(tests, own, rules):
    """Return what several models of one ranker reach together: its best trials, and its fits on four parts."""
    kinds = {
        "best_trials": {fold: [one["test"] for one in own[fold]["trials"]] for fold in tests},
        "four_parts": {fold: own[fold]["parts"] for fold in tests},
    }
    means = {
        kind: {fold: mean_ranks(models[fold], tests[fold].qid) for fold in tests} for kind, models in kinds.items()
    }
    return {kind: fold_means(tests, scores, BOTH, rules) for kind, scores in means.items()}


def fold_means(tests, scores, measures, rules):
    """Return the mean over folds of each measure."""
    rules = {**rules, "measures": measures, "n_resamples": 0}
    by_fold = [evaluate(part.y, scores[fold], qid=part.qid, **rules) for fold, part in tests.items()]
    return {measure: float(np.mean([one[measure] for one in by_fold])) for measure in measures}


def facts_of(own):
    """Return how a ranker was tuned: mean of its best values, fits, seconds and the chosen parameters."""
    best = [one["trials"][0] for one in own.values()]
    return {
        "quarters_value": float(np.mean([one["quarters_value"] for one in own.values()])),
        "fits": sum(one["fits"] for one in own.values()),
        "seconds": round(sum(one["seconds"] for one in own.values()), 1),
        "parameters": [one["parameters"] for one in best],
    }


def results_of(task, options):
    """Return means of folds, intervals, tests and facts of every ranking of a task."""
    tests, cached = kept_trials(task, options)
    scores, chosen = rankings_of(tests, cached)
    rules = RULES[task]
    found = {name: fold_means(tests, own, MEASURES, rules) for name, own in scores.items()}
    for name, own in cached.items():
        found[name] |= {**facts_of(own), **several_of(tests, own, rules)}
    best = max((name for name in cached if name in OURS), key=lambda name: found[name]["quarters_value"])
    y = np.concatenate([part.y for part in tests.values()])
    qid = np.concatenate([[f"{fold}.{query}" for query in part.qid] for fold, part in tests.items()])
    joined = {name: np.concatenate(list(own.values())) for name, own in scores.items()}
    whole = leaderboard(y, joined, qid=qid, measures=BOTH, n_resamples=2000, **rules)
    corrected = whole.against(best).corrected
    for name, row in found.items():
        row["intervals"] = {m: [whole[name].result(m).low, whole[name].result(m).high] for m in BOTH}
        if name != best:
            row["p_holm"] = {m: corrected[name][m] for m in BOTH}
    others = {name: own for name, own in joined.items() if name in (*PEERS, BLEND)}
    duels = leaderboard(y, others, qid=qid, measures=BOTH, n_resamples=2000, **rules).against(BLEND)
    blend_less = {
        name: {measure: [-one.difference, duels.corrected[name][measure]] for measure, one in own.items()}
        for name, own in duels.results.items()
    }
    return {
        "best": best, "chosen": chosen, "queries": len(np.unique(qid)), "rankings": found, "blend less": blend_less,
    }  # fmt: skip


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
        rows = [(n if n in PEERS else f"**{n}**", own) for n, own in kept["rankings"].items()]
        if task == "mq2008":
            rows += [(f"{name}, official file", own) for name, own in results["official"].items()]
        rows.sort(key=lambda row: -row[1]["ndcg@10"])
        more = ["Holm's p, NDCG@10, MAP", "five best trials", "four parts", "fits, seconds"]
        header = [f"{kept['queries']} queries", *map(str.upper, SHOWN), *more]
        found[f"leaderboard-{task}"] = markdown(header, [cells(name, own) for name, own in rows])
        if task == "mq2008":
            places = [[name, *(f"{own[measure]:.4f}" for measure in MEASURES[:-1])] for name, own in rows]
            found["leaderboard-places"] = markdown(["NDCG at", *map(str, range(1, 11))], places)
    return found | {"leaderboard-blend": blend_table({task: kept for task, kept in results.items() if task in TASKS})}


def blend_table(results):
    """Return what our blend has more than each other library, by task and measure."""
    header = ["our blend less", *(f"{task}, {measure.upper()}" for task in results for measure in BOTH)]
    rows = []
    for name in PEERS:
        own = [kept["blend less"].get(name, {}).get(measure) for kept in results.values() for measure in BOTH]
        rows.append([name, *(f"{one[0]:+.4f} ({one[1]:.3f})" if one else "" for one in own)])
    return markdown(header, rows)


def cells(name, own):
    """Return a row of the table."""
    ranges = {measure: " ({:.3f} to {:.3f})".format(*ends) for measure, ends in own.get("intervals", {}).items()}
    values = [f"{own[measure]:.4f}" + ranges.get(measure, "") for measure in SHOWN]
    tests = ", ".join(f"{p:.3f}" for p in own["p_holm"].values()) if "p_holm" in own else ""
    several = [", ".join(f"{value:.4f}" for value in own.get(kind, {}).values()) for kind in SEVERAL]
    return [name, *values, tests, *several, f"{own['fits']}, {own['seconds']:.0f}" if "fits" in own else ""]


def main():
    """Run one part."""

    def add_own(parser):
        parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
        parser.add_argument("--folds", type=int, nargs="+", default=[1, 2, 3, 4, 5])

    run_command(__doc__, {"tune": run, "table": table}, CONTENDERS, add_own)


if __name__ == "__main__":
    main()
