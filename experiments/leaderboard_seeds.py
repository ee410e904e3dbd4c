"""The leaderboard with several seeds of the proposals: how much of a row is the luck of its 30 trials.

    python experiments/leaderboard_seeds.py tune PATH/data --cache FOLDER [--seeds 0 1 2 3 4] [--tasks mq2008]
    python experiments/leaderboard_seeds.py table PATH/data --cache FOLDER

`tune` does for each seed what leaderboard.py does, in a folder of its own in the cache: seed 0 has its very proposals,
the others have other ones for the same spaces, parts and numbers of trials; fits are seeded as there. `table`: means
over the test queries and the seeds, the lowest and the highest seed; and what our best ranker on the quarters of all
seeds, and the blend, have more than each other library. A query counts with its mean over the seeds: errors are those
of means over queries, p that of the randomisation test over queries, after Holm's correction for the libraries.
Results are kept in results/leaderboard_seeds.json (`--folder`).
"""

from argparse import Namespace
from pathlib import Path

import numpy as np
from leaderboard import BLEND, kept_trials, rankings_of
from leaderboard import run as run_seed
from leaderboard_ordinal import corrected, p_value
from leaderboard_peers import PEERS
from leaderboard_rankers import BOTH, CONTENDERS, OURS, run_command
from leaderboard_tasks import RULES, TASKS
from paper_tables import keep, markdown

from podium import evaluate


def with_seed(options, seed):
    """Return the options of one seed, with the cache that it has for itself."""
    cache = Path(options.cache) / f"seed-{seed}"
    cache.mkdir(parents=True, exist_ok=True)
    return Namespace(**{**vars(options), "cache": cache})


def run(options):
    """Tune all that is not in the cache yet."""
    for seed in options.seeds:
        run_seed(with_seed(options, seed), seed)


def one_seed(task, options):
    """Return NDCG@10 and MAP of each test query by ranking, and the mean value of each of ours on its quarters."""
    tests, cached = kept_trials(task, options)
    scores, _ = rankings_of(tests, cached)
    values = {
        name: np.vstack([by_query(task, part, own[fold]) for fold, part in tests.items()])
        for name, own in scores.items()
    }
    quarters = {
        name: np.mean([one["quarters_value"] for one in cached[name].values()]) for name in cached if name in OURS
    }
    return values, quarters


def by_query(task, part, scores):
    """Return both measures of each query, NaN where it has nothing relevant."""
    found = evaluate(part.y, scores, qid=part.qid, measures=BOTH, n_resamples=0, **RULES[task])
    return np.column_stack([list(found.per_query(measure).values()) for measure in BOTH])


def results_of(task, options):
    """Return means, seeds, and what our best and the blend have more than each other library."""
    seeds = [one_seed(task, with_seed(options, seed)) for seed in options.seeds]
    names = [name for name in seeds[0][0] if all(name in values for values, _ in seeds)]
    values = {name: np.stack([own[name] for own, _ in seeds]) for name in names}
    quarters = {name: float(np.mean([own[name] for _, own in seeds])) for name in names if name in OURS}
    best = max(quarters, key=quarters.get)
    rows = {
        name: {"mean": np.nanmean(own, (0, 1)).tolist(), "seeds": np.nanmean(own, 1).tolist()}
        for name, own in values.items()
    }
    return {
        "queries": values[best].shape[1], "seeds": options.seeds, "best": best,
        "best by seed": [max(own, key=own.get) for _, own in seeds], "quarters": quarters, "rankings": rows,
        "ahead": {leader: ahead_of(values, leader) for leader in (best, BLEND)},
    }  # fmt: skip


def ahead_of(values, leader):
    """Return what a ranking has more than each other library: by measure the difference, its error and p."""
    apart = {name: (values[leader] - values[name]).mean(0) for name in PEERS if name in values}
    found = {name: {} for name in apart}
    for i, measure in enumerate(BOTH):
        own = {name: both[~np.isnan(both[:, i]), i] for name, both in apart.items()}
        for name, p in corrected({name: p_value(one) for name, one in own.items()}):
            error = own[name].std(ddof=1) / np.sqrt(len(own[name]))
            found[name][measure] = [float(own[name].mean()), float(error), p]
    return found


def table(options):
    """Keep the results of each task."""
    results = {task: results_of(task, options) for task in options.tasks}
    keep("leaderboard_seeds", results, options.folder)
    print("\n\n".join(tables(results).values()))


def tables(results):
    """Return the tables of the page."""
    found = {}
    for task, kept in results.items():
        sizes = f"{kept['queries']} queries, {len(kept['seeds'])} seeds"
        rows = sorted(kept["rankings"].items(), key=lambda row: -row[1]["mean"][0])
        found[f"leaderboard-seeds-{task}"] = markdown([sizes, "NDCG@10", "MAP"], [cells(*row) for row in rows])
        leaders = kept["ahead"]
        header = ["less", *(f"{name}, {measure.upper()}" for name in leaders for measure in BOTH)]
        rows = [
            [
                name,
                *(
                    "{:+.4f} ± {:.4f} (p {:.3f})".format(*own[name][measure])
                    for own in leaders.values()
                    for measure in BOTH
                ),
            ]
            for name in leaders[BLEND]
        ]
        found[f"leaderboard-ahead-{task}"] = markdown(header, rows)
        found[f"leaderboard-short-{task}"] = short_table(sizes, kept)
    return found


def short_table(sizes, kept):
    """Return the rows of our best ranker, the blend, LambdaMART and the other libraries."""
    shown = {kept["best"], BLEND, "LambdaMART", *PEERS} & kept["rankings"].keys()
    means = sorted(((*kept["rankings"][name]["mean"], name) for name in shown), reverse=True)
    rows = [[bold_if_ours(name), f"{ndcg:.4f}", f"{ap:.4f}"] for ndcg, ap, name in means]
    return markdown([sizes, "NDCG@10", "MAP"], rows)


def cells(name, own):
    """Return a row of the table: means, the lowest and the highest seed."""
    ends = [(min(of_seeds), max(of_seeds)) for of_seeds in zip(*own["seeds"], strict=True)]
    means = ["{:.4f} ({:.4f} to {:.4f})".format(mean, *both) for mean, both in zip(own["mean"], ends, strict=True)]
    return [bold_if_ours(name), *means]


def bold_if_ours(name):
    """Return a ranking's name as tables show it."""
    return name if name in PEERS else f"**{name}**"


def main():
    """Run one part."""

    def add_own(parser):
        parser.add_argument("--tasks", nargs="+", choices=TASKS, default=["mq2008"])
        parser.add_argument("--folds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
        parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])

    run_command(__doc__, {"tune": run, "table": table}, CONTENDERS, add_own)


if __name__ == "__main__":
    main()
