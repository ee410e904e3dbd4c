"""Readings of what the AdaBoost.OR paper (Lin and Li 2009) leaves open: its "SiPrank", and the grid of a single SVOR.

    python experiments/ordinal_readings.py variants PATH/ordinal [--sets …] [--splits 3]
    python experiments/ordinal_readings.py prices PATH/ordinal [--sets …] [--splits 3]

"variants": training cost of the two forms of PRank beside the paper's "SiPrank". "prices": training and test cost of a
single SVOR at the first C of a grid with a training error of at most 0.3, where the grid is moved by a factor. Results
are kept in results/ordinal_readings.json (`--folder`); sets that are not named stay.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from ordinal import PAPER, SIZES, mean_cost, read_set, splits
from paper_tables import RESULTS, keep, markdown

from podium import SVOR, PRank

FORMS, FACTORS = ("siprank", "prank"), (1.0, 1.5, 2.0, 3.0)
C_GRID = [2.0**power for power in range(-20, 21, 2)]


def variants(X, y, parts):
    """Return mean and standard error of the training cost of each form of PRank."""
    found = {}
    for form in FORMS:
        models = [PRank(form, random_state=seed).fit(X[train], y[train]) for seed, (train, _) in enumerate(parts)]
        costs = [mean_cost(model, X[train], y[train]) for model, (train, _) in zip(models, parts, strict=True)]
        found[form] = [float(np.mean(costs)), float(np.std(costs, ddof=1) / np.sqrt(len(costs)))]
    return {**found, "splits": len(parts)}


def prices(X, y, parts):
    """Return training and test cost of SVOR at the first of factor · 2⁻²⁰, factor · 2⁻¹⁸ … that is good enough."""
    found = {}
    for factor in FACTORS:
        costs = []
        for train, test in parts:
            machines = (SVOR(factor * C).fit(X[train], y[train]) for C in C_GRID)
            first = next(machine for machine in machines if machine.training_error_ <= 0.3)
            costs.append([mean_cost(first, X[part], y[part]) for part in (train, test)])
        found[f"{factor:g}"] = np.mean(costs, axis=0).tolist()
    return {**found, "splits": len(parts)}


def tables(results):
    """Return the tables of the page."""
    rows = []
    for name, own in in_order(results.get("variants", {})):
        costs = ["{:.2f} ± {:.2f}".format(*own[form]) for form in FORMS]
        rows.append([f"{name}, {own['splits']}", *costs, f"{PAPER[name][0][2]:.2f}"])
    moved = []
    for name, own in in_order(results.get("prices", {})):
        costs = [" / ".join(f"{cost:.2f}" for cost in own[f"{factor:g}"]) for factor in FACTORS]
        theirs = " / ".join(f"{PAPER[name][part][4]:.2f}" for part in (0, 1))
        moved.append([f"{name}, {own['splits']}", *costs, theirs])
    factors = [f"grid · {factor:g}" for factor in FACTORS]
    return {
        "ordinal-variants": markdown(["training cost; set, splits", *FORMS, "paper"], rows),
        "ordinal-prices": markdown(["training / test cost; set, splits", *factors, "paper"], moved),
    }


def in_order(results):
    """Return sets and results in the paper's order."""
    return [(name, results[name]) for name in SIZES if name in results]


def main():
    """Run one of the experiments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("variants", "prices"))
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", choices=SIZES, default=["machinecpu", "boston", "abalone", "bank"])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=RESULTS)
    options = parser.parse_args()
    path = options.folder / "ordinal_readings.json"
    kept = json.loads(path.read_text()).get(options.what, {}) if path.exists() else {}
    for name in options.sets:
        X, y = read_set(options.data, name)
        parts = list(splits(len(X), SIZES[name], options.splits))
        kept[name] = {"variants": variants, "prices": prices}[options.what](X, y, parts)
        keep("ordinal_readings", {options.what: kept}, options.folder)
    print(tables({options.what: kept})[f"ordinal-{options.what}"])


if __name__ == "__main__":
    main()
