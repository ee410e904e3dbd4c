"""Ordinal rankers beside other libraries, tuned alike: the eight sets of the AdaBoost.OR paper, absolute cost.

    python experiments/leaderboard_ordinal.py tune PATH/ordinal --cache FOLDER [--sets boston …] [--rankers SVOR …]
    python experiments/leaderboard_ordinal.py table PATH/ordinal --cache FOLDER

Targets are cut into ten ranks, as in ordinal.py. Of each set 1,000 rows at most, drawn at random, in five folds: one is
the test part, the next one the validation part, the others are learned from. In each fold a ranker has 30 trials,
proposed by Optuna's TPE with a fixed seed, the first its defaults; the one of the lowest mean cost of the validation
part is tested (ordinal_contenders.py and ordinal_libraries.py have the spaces). `table`: mean costs of all test rows,
with 95 % intervals over rows, and Holm-corrected randomisation tests, paired by row, against the ranker of ours that is
best on the validation parts of the set. "ours, by fold" and "others, by fold" take in each fold what is best on its
validation part. Results are kept in results/leaderboard_ordinal.json (`--folder`).
"""

import json
from itertools import product

import numpy as np
from leaderboard_rankers import best_trials, run_command
from leaderboard_tasks import Part
from ordinal import SIZES, read_set
from ordinal_contenders import OURS
from ordinal_libraries import OTHERS
from paper_tables import keep, markdown

CONTENDERS = {**OURS, **OTHERS}
MOST_ROWS, FOLDS, RESAMPLES = 1000, 5, 10_000


def fold_parts(folder, name):
    """Return training, validation and test part of each fold."""
    X, y = read_set(folder, name)
    rows = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
    whole, place = Part(X[rows], y[rows], rows), np.arange(len(rows)) % FOLDS
    for fold in range(FOLDS):
        test, valid = place == fold, place == (fold + 1) % FOLDS
        yield [whole.take(~test & ~valid), whole.take(valid), whole.take(test)]


def value(part, grades):
    """Return minus the mean absolute cost."""
    return -float(np.abs(part.y - grades).mean())


def cache_file(options, *names):
    """Return where the trials of a set, ranker and fold are kept."""
    return options.cache / ".".join(["ordinal", *map(str, names), "json"])


def run(options):
    """Tune all that is not in the cache yet."""
    for name in options.sets:
        parts = list(fold_parts(options.data, name))
        for ranker, fold in product(options.rankers, range(FOLDS)):
            path = cache_file(options, name, ranker, fold)
            if not path.exists():
                found = best_trials(CONTENDERS[ranker], parts[fold], options.trials, fold, value)
                path.write_text(json.dumps({**found, "trials": found["trials"][:1]}))
                best = found["trials"][0]["valid_value"]
                print(f"{name} fold {fold} {ranker} {-best:.4f} {found['seconds']:.1f} s", flush=True)


def kept_trials(name, options):
    """Return the cache of a set by ranker, a list over folds; rankers that lack a fold are left out."""
    paths = {ranker: [cache_file(options, name, ranker, fold) for fold in range(FOLDS)] for ranker in CONTENDERS}
    return {
        ranker: [json.loads(path.read_text()) for path in own]
        for ranker, own in paths.items()
        if all(path.exists() for path in own)
    }


def chosen(cached, names):
    """Return the test grades of the ranker that is best on the validation part of each fold, and its name."""
    names = [name for name in names if name in cached]
    best = [max(names, key=lambda name: cached[name][fold]["trials"][0]["valid_value"]) for fold in range(FOLDS)]
    return [cached[name][fold]["trials"][0]["test"] for fold, name in enumerate(best)], best


def results_of(name, options):
    """Return costs, intervals, tests and facts of every ranker on one set."""
    cached, y = kept_trials(name, options), np.concatenate([test.y for *_, test in fold_parts(options.data, name)])
    grades = {ranker: [one["trials"][0]["test"] for one in own] for ranker, own in cached.items()}
    picks = {"ours, by fold": chosen(cached, OURS), "others, by fold": chosen(cached, OTHERS)}
    grades |= {kind: found for kind, (found, _) in picks.items()}
    costs = {ranker: np.abs(y - np.concatenate(own)) for ranker, own in grades.items()}
    found = {ranker: {"cost": float(own.mean()), "interval": interval(own)} for ranker, own in costs.items()}
    for ranker, own in cached.items():
        found[ranker] |= {
            "valid": -float(np.mean([one["trials"][0]["valid_value"] for one in own])),
            "fits": sum(one["fits"] for one in own),
            "seconds": round(sum(one["seconds"] for one in own), 1),
            "parameters": [one["trials"][0]["parameters"] for one in own],
        }
    best = min((ranker for ranker in cached if ranker in OURS), key=lambda ranker: found[ranker]["valid"])
    for ranker, p in corrected({other: p_value(own - costs[best]) for other, own in costs.items() if other != best}):
        found[ranker]["p_holm"] = p
    names = {kind: best_of_folds for kind, (_, best_of_folds) in picks.items()}
    return {"rows": len(y), "best": best, "chosen": names, "rankings": found}


def interval(values):
    """Return the bootstrap's 95 % interval of the mean."""
    rng = np.random.default_rng(0)
    means = [values[rng.integers(0, len(values), len(values))].mean() for _ in range(2000)]
    return np.quantile(means, (0.025, 0.975)).tolist()


def p_value(differences):
    """Return the two-sided p-value of the randomisation test: signs of the rows' differences are drawn anew."""
    apart = differences[differences != 0].astype(float)
    signs = np.random.default_rng(0).integers(0, 2, (RESAMPLES, len(apart)), np.int8) * 2 - 1
    return float((1 + (np.abs(signs @ apart) >= abs(apart.sum()) - 1e-9).sum()) / (1 + RESAMPLES))


def corrected(p_values):
    """Yield names and p-values after Holm's correction."""
    least = 0.0
    for i, name in enumerate(sorted(p_values, key=p_values.get)):
        least = max(least, min(1.0, p_values[name] * (len(p_values) - i)))
        yield name, least


def table(options):
    """Keep the results of each set."""
    keep("leaderboard_ordinal", {name: results_of(name, options) for name in options.sets}, options.folder)
    results = json.loads((options.folder / "leaderboard_ordinal.json").read_text())
    print("\n\n".join(tables(results).values()))


def tables(results):
    """Return the table of the page."""
    sets = [name for name in SIZES if name in results]
    rankers = list(dict.fromkeys(ranker for name in sets for ranker in results[name]["rankings"]))
    rows = {ranker: [results[name]["rankings"].get(ranker) for name in sets] for ranker in rankers}
    means = {ranker: np.mean([one["cost"] for one in own]) for ranker, own in rows.items() if None not in own}
    body = []
    for ranker in sorted(rows, key=lambda ranker: means.get(ranker, np.inf)):
        shown = f"**{ranker}**" if ranker in OURS or ranker.startswith("ours") else ranker
        total = [f"{means[ranker]:.3f}" if ranker in means else "", effort(rows[ranker])]
        body.append([shown, *map(cell, rows[ranker]), *total])
    counts = [f"{name}, {results[name]['rows']} rows" for name in sets]
    header = ["mean absolute cost", *counts, "mean", "fits, seconds"]
    return {"leaderboard-ordinal": markdown(header, body)}


def cell(own):
    """Return cost and interval; a dagger if it differs from our best."""
    if own is None:
        return "not run"
    dagger = " †" if own.get("p_holm", 1.0) < 0.05 else ""
    return f"{own['cost']:.3f}{dagger} ({own['interval'][0]:.2f} to {own['interval'][1]:.2f})"


def effort(own):
    """Return fits and seconds of all sets."""
    known = [one for one in own if one and "fits" in one]
    return f"{sum(one['fits'] for one in known)}, {sum(one['seconds'] for one in known):.0f}" if known else ""


def main():
    """Run one part."""

    def add_own(parser):
        parser.add_argument("--sets", nargs="+", choices=SIZES, default=list(SIZES))

    run_command(__doc__, {"tune": run, "table": table}, CONTENDERS, add_own)


if __name__ == "__main__":
    main()
