"""Figures 1, 2 and 4 of the RankBoost+ paper (Connamacher et al. 2019): speed, training losses, a fit that stops early.

    python experiments/rankboost_plus_figures.py PATH/movielens-100k [--every 12] [--rounds 100]

Figure 1: seconds of the first rounds on made data (200 rows, 8 features cut at 16 thresholds), both searches of
RankBoost+ beside RB-C and RB-D. Figure 2, its training part: Ê1 and Ê2 by rounds, means over every twelfth task of
rankboost_plus.py, one fold each; that file has the test part. Figure 4: Ê1 on the first 40 training movies of the one
of these tasks in which RB-D stops furthest above RB-C, because a stump ranks no pair wrongly and ties some, so that it
has no finite weight (`undefined="stop"`). Results are kept in results/rankboost_plus_figures.json (`--folder`).
"""

import argparse
import time
from pathlib import Path

import numpy as np
from paper_tables import RESULTS, keep, markdown
from rankboost_plus import NAMES, rankers, read_tasks

from podium import RankBoost, RankBoostPlus, exponential_losses

FEW_ROWS = 40
STEPS = (1, 2, 5, 10, 20, 30, 40, 60, 80, 100)


def speeds(n_rounds, turns=3):
    """Return the least seconds of fits of some numbers of rounds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8))
    y = np.digitize(X.sum(axis=1) + rng.normal(size=200), [-2, 0, 2]).astype(float)
    kinds = {
        "Efficient RB+": lambda n: RankBoostPlus(n, max_bins=16),
        "Optimal RB+": lambda n: RankBoostPlus(n, max_bins=16, search="optimal"),
        "RB-C": lambda n: RankBoost(n, max_bins=16, alpha="r"),
        "RB-D": lambda n: RankBoost(n, max_bins=16, alpha="z"),
    }
    found = {name: {} for name in kinds}
    for n in (step for step in STEPS if step <= n_rounds):
        for _ in range(turns):
            for name, make in kinds.items():
                start = time.process_time()
                make(n).fit(X, y)
                found[name][n] = min(found[name].get(n, np.inf), time.process_time() - start)
    return {name: {str(n): round(value, 5) for n, value in own.items()} for name, own in found.items()}


def training_part(task, X, y):
    """Return the training rows of the first fold of a task."""
    train = np.random.default_rng(task).permutation(len(y)) % 5 > 1
    return X[train], y[train]


def losses(model, X, y, n_rounds):
    """Return Ê1 and Ê2 after each round; a fit that ended early keeps its last."""
    found = exponential_losses(model.fit(X, y), X, y)
    values = np.array([found["E1"], found["E2"]]).T
    return np.concatenate([values, np.repeat(values[-1:], n_rounds - len(values), axis=0)])


def training_curves(tasks, n_rounds):
    """Return the mean losses of each ranker by rounds."""
    return np.mean(
        [
            [losses(model, *part, n_rounds) for model in rankers(n_rounds, abstain=0, max_bins=None).values()]
            for part in tasks
        ],
        axis=0,
    )


def stopped(tasks, n_rounds):
    """Return the losses Ê1 of RB-D, until it stops, and RB-C in the task where RB-C comes furthest below it."""
    found, options = [], {"abstain": 0, "max_bins": None}
    for X, y in ((X[:FEW_ROWS], y[:FEW_ROWS]) for X, y in tasks):
        early = RankBoost(n_rounds, alpha="z", undefined="stop", **options).fit(X, y)
        if 0 < early.best_iteration_ < n_rounds:
            other = RankBoost(n_rounds, alpha="r", **options)
            curves = [losses(one, X, y, n)[:, 0] for one, n in ((early, early.best_iteration_), (other, n_rounds))]
            found.append({"RB-D": curves[0].round(6).tolist(), "RB-C": curves[1].round(6).tolist()})
    return max(found, key=lambda own: own["RB-D"][-1] - own["RB-C"][-1], default=None)


def tables(results):
    """Return the tables of the page."""
    steps = list(results["speed"]["RB-C"])
    speed = [[name, *(f"{1e3 * own[n]:.1f}" for n in steps)] for name, own in results["speed"].items()]
    shown = [n for n in STEPS if n <= len(results["training"][0])]
    rows = [
        [f"{name}, {loss}", *(f"{curve[n - 1][column]:.3f}" for n in shown)]
        for column, loss in enumerate(("Ê1", "Ê2"))
        for name, curve in zip(NAMES, results["training"], strict=True)
    ]
    found = {
        "rankboost-plus-speed": markdown(["milliseconds of a fit, rounds", *steps], speed),
        "rankboost-plus-training": markdown(["training loss after rounds", *map(str, shown)], rows),
    }
    if results["stopped"] is not None:
        own = results["stopped"]
        n = len(own["RB-D"])
        cells = [[str(n), f"{own['RB-D'][-1]:.4f}", f"{own['RB-C'][n - 1]:.4f}", f"{own['RB-C'][-1]:.4f}"]]
        header = ["RB-D stops after round", "its Ê1", "RB-C's there", f"RB-C's after {len(own['RB-C'])}"]
        found["rankboost-plus-stopped"] = markdown(header, cells)
    return found


def main():
    """Run all three, print and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    for name, default in (("every", 12), ("rounds", 100)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--folder", type=Path, default=RESULTS)
    options = parser.parse_args()
    tasks = [training_part(*task) for task in read_tasks(options.data, options.every)]
    results = {
        "speed": speeds(options.rounds),
        "training": training_curves(tasks, options.rounds).round(5).tolist(),
        "stopped": stopped(tasks, options.rounds),
    }
    keep("rankboost_plus_figures", results, options.folder)
    print("\n\n".join(tables(results).values()))


if __name__ == "__main__":
    main()
