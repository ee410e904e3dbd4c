"""λ as the paper has it and as it is tuned: normalisation, truncation and tied scores on real collections.

    python experiments/lambda_forms.py run PATH/data --cache FOLDER [--sets mq2008 …] [--forms query …] [--leaves 31 …]
    python experiments/lambda_forms.py table --cache FOLDER

`run` fits forms of λ, and LightGBM with its defaults, with 100 trees and learning rate 0.08 at each number of leaves,
with and without sampling (0.8 of the queries and 0.7 of the features a tree), and keeps NDCG@10 of each query of the
validation and test parts in the cache; what the cache has is not run again. lambda_collections.py says what PATH/data
holds. `table` writes results/lambda_forms.json from the cache and prints the tables of docs/lambdamart.md. The choice
is made on the validation parts of MQ2008; test parts and the other collections show it. Standard errors are over
queries, each with its mean over the seeds.

The forms of the choice run through one plain kernel (lambda_kernel.py); those named "LambdaMART …" are LambdaMART with
that `normalize`; on MQ2008 they are the plain kernel's, except for the default. Seeds draw samples and rounding; for
LightGBM they also shuffle the rows, except the first, because it breaks ties by row order.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lambda_collections import COLLECTIONS
from lambda_kernel import FORMS, OWN, fit_form, fit_lightgbm
from paper_tables import keep, markdown

from podium import evaluate

SAMPLING = {"all": (1.0, 1.0), "sampled": (0.8, 0.7)}
DEFAULT = "query"
NAMES = {
    "query": '`"query"`, first 30: the default',
    **{name: f'`"{name}"`' for name in ("none", "pairs", "both")},
    "lightgbm": "LightGBM 4.7",
}
"""Of forms in the tables, where the others have their own."""


@dataclass(frozen=True)
class Plan:
    """What is run on a collection."""

    leaves: tuple
    seeds: int
    forms: tuple


PLANS = {
    "mq2008": Plan((7, 15, 31, 63), 5, ("lightgbm", "LambdaMART query", *FORMS)),
    "lightgbm-example": Plan((7, 31), 5, ("lightgbm", *OWN)),
    "movielens": Plan((31,), 2, ("lightgbm", *OWN)),
    "robust03": Plan((31,), 2, ("lightgbm", *OWN)),
}


def run(args):
    """Fit what the cache lacks."""
    args.cache.mkdir(parents=True, exist_ok=True)
    for name in args.sets:
        plan = PLANS[name]
        folds = list(COLLECTIONS[name](args.folder))[: args.folds]
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
        means = {form: vali.compared(form, DEFAULT, vali.settings, [fold])["value"] for form in OWN.values()}
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
    keep("lambda_forms", found)
    print(*tables(found).values(), sep="\n\n")
    row = found["chosen by fold"]
    print("best normalisation by the validation part of each fold:", ", ".join(found["best of fold"]))
    print(f"test parts with it: {row['value']:.2f}, against LightGBM {apart(row)}")


def tables(found):
    """Return the tables of docs/lambdamart.md."""
    choice = [
        [NAMES.get(form, form.replace("query,", '`"query"`,')), str(row["settings"]), f"{row['value']:.2f}",
         "" if form == DEFAULT else apart(row)]
        for form, row in found["choice"].items()
    ]  # fmt: skip
    shown = [
        [name, f"{next(iter(rows.values()))['base']:.2f}",
         *(f"{rows[form]['value']:.2f} ({apart(rows[form])})" if form in rows else "" for form in OWN)]
        for name, rows in found["shown"].items()
    ]  # fmt: skip
    header = ["", "LightGBM", *(f'`"{name}"`' + ", the default" * (name == DEFAULT) for name in OWN.values())]
    return {
        "lambda-choice": markdown(["λ", "settings", "NDCG@10", "against the default"], choice),
        "lambda-default": markdown(header, shown),
    }


def apart(row):
    """Return a difference with its standard error."""
    return f"{row['change']:+.2f} ± {row['error']:.2f}"


def main():
    """Read the command line and run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for part in (run, table):
        command = commands.add_parser(part.__name__, help=part.__doc__)
        command.set_defaults(part=part)
        command.add_argument("--cache", type=Path, default=Path("cache"))
        if part is run:
            command.add_argument("folder", type=Path)
            command.add_argument("--sets", nargs="+", choices=PLANS, default=list(PLANS))
            command.add_argument("--forms", nargs="+")
            command.add_argument("--leaves", nargs="+", type=int)
            command.add_argument("--folds", type=int, default=5, help="fewer: to see that it runs")
    args = parser.parse_args()
    args.part(args)


if __name__ == "__main__":
    main()
