"""What the theorems of the AdaBoost.OR paper (Lin and Li 2009) say of the runs of its tables, and its Figure 2.

    python experiments/ordinal_theorems.py theorems PATH/ordinal [--sets boston …] [--rounds 1000]
    python experiments/ordinal_theorems.py figure [--rounds 1000]

`theorems`: Theorems 4 to 6 of AdaBoost.OR with ORStump on the training rows of the first split. Theorems 2 and 3 are
about rows that share x: there the first two features are cut into four parts each, and g is a tree for each rank, on a
fifth of the rows drawn for it alone, so that it is not rank-monotonic.
`figure`: regions of the ranks of made data after 1, 10, 100, 1,000 rounds, in results/ordinal_regions.png.
Results are kept in results/ordinal_theorems.json (`--folder`).
"""

import argparse
from pathlib import Path

import numpy as np
from ordinal import N_RANKS, SIZES, read_set, splits
from paper_tables import RESULTS, keep, markdown
from sklearn.tree import DecisionTreeClassifier

from podium import AdaBoostOR

STAGES = (1, 10, 100, 1000)


def boosting_theorems(X, y, n_rounds):
    """Return what Theorems 4 to 6 say of a run of ORStump."""
    model = AdaBoostOR(n_estimators=n_rounds).fit(X, y)
    weights = np.array([one.weight for one in model.rounds_])
    epsilon = np.array([one.epsilon for one in model.rounds_])
    votes = np.array([one.ranker.predict(X) for one in model.rounds_])
    above = [weights @ (votes > k) >= weights.sum() / 2 for k in range(1, N_RANKS)]  # Eq. 6
    constants = [np.abs(y - k).mean() / (N_RANKS - 1) for k in range(1, N_RANKS + 1)]
    squares, stages = (0.5 - epsilon) ** 2, [at for at in STAGES if at <= len(weights)]
    return {
        "rows": len(y),
        "differ": int(np.count_nonzero(1 + np.sum(above, axis=0) != model.predict(X))),
        "constants": [float(constants[0]), float(constants[-1]), float(min(constants))],
        "highest_epsilon": float(epsilon.max()),
        "stages": stages,
        "cost": [float(model.train_costs_[at - 1]) for at in stages],
        "bound": [float(np.sqrt(1 - 4 * squares[:at]).prod()) for at in stages],
        "exponential": [float(np.exp(-2 * squares[:at].sum())) for at in stages],
    }


def reduction_theorems(X, y):
    """Return both sides of Theorem 2, and the optimum of Theorem 3, for rows that share x."""
    parts = np.transpose([np.digitize(column, np.quantile(column, [0.25, 0.5, 0.75])) for column in X[:, :2].T])
    cells, cell = np.unique(parts, axis=0, return_inverse=True)
    ranks = np.arange(1, N_RANKS + 1)
    shares = np.array([np.mean((cell == one)[:, None] & (y[:, None] == ranks), axis=0) for one in range(len(cells))])
    cost = shares @ np.abs(ranks[:, None] - ranks)  # of each cell and answer
    below = shares.cumsum(axis=1)[:, :-1]  # P(y ≤ k): what g(x, k) = 1 costs; all weights are 1
    above = shares.sum(axis=1, keepdims=True) - below
    g = np.transpose([answers_for(parts, y > k, cells, k) for k in ranks[:-1]])
    optimal = cost.argmin(axis=1)
    steps, at_optimum = np.diff(cost, axis=1), ranks[:-1] < ranks[optimal, None]

    def binary_cost(answers):
        """Return Σ w [z ≠ g]."""
        return float(np.where(answers, below, above).sum())

    best = binary_cost(above >= below)
    return {
        "regret": float(cost[range(len(cost)), g.sum(axis=1)].sum() - cost.min(axis=1).sum()),
        "binary_regret": binary_cost(g) - best,
        "v_shaped": bool(np.where(at_optimum, steps <= 1e-12, steps >= -1e-12).all()),
        "excess_of_g_plus": binary_cost(at_optimum) - best,
    }


def answers_for(parts, above, cells, k):
    """Return the answers of a classifier of rows above rank k for each cell."""
    rows = np.random.default_rng(k).choice(len(above), len(above) // 5, replace=False)
    return DecisionTreeClassifier(random_state=0).fit(parts[rows], above[rows]).predict(cells)


def theorems(options):
    """Keep the theorems' numbers of each set."""
    found = {}
    for name in options.sets:
        X, y = read_set(options.data, name)
        train, _ = next(splits(len(X), SIZES[name], 1))
        found[name] = boosting_theorems(X[train], y[train], options.rounds) | reduction_theorems(X[train], y[train])
        print(name, *found[name].items(), flush=True)
    keep("ordinal_theorems", {"theorems": found}, options.folder)


def made_ranks(n_rows=500):
    """Return points of the unit square, ranked by three quadratic boundaries."""
    X = np.random.default_rng(0).random((n_rows, 2))
    height = X[:, 1] - 2.5 * (X[:, 0] - 0.5) ** 2
    return X, 1 + sum(height > bound for bound in (0.0, 0.25, 0.5))


def figure(options):
    """Draw the regions."""
    from podium.plots import plot_decision_regions

    X, y = made_ranks()
    model = AdaBoostOR(n_estimators=options.rounds).fit(X, y)
    stages = [at for at in STAGES if at <= len(model.rounds_)]
    plot_decision_regions(model, X, y, stages=tuple(stages)).save(options.folder / "ordinal_regions.png")
    costs = [float(np.abs(one - y).mean()) for at, one in enumerate(model.staged_predict(X), 1) if at in stages]
    keep("ordinal_theorems", {"figure": {"rounds": stages, "cost": costs}}, options.folder)
    print("rounds", *stages, "training cost", *np.round(costs, 3))


def tables(results):
    """Return the tables of the page."""
    found = results["theorems"]
    reduction = [
        [name, f"{own['regret']:.4f} ≤ {own['binary_regret']:.4f}", "yes" if own["v_shaped"] else "no",
         f"{own['excess_of_g_plus']:.4f}"]
        for name, own in found.items()
    ]  # fmt: skip
    boosting = [
        [name, f"{own['differ']} of {own['rows']}", "{:.3f}, {:.3f}, {:.3f}".format(*own["constants"]),
         f"{own['highest_epsilon']:.4f}", *(chain(own, at) for at in (1, 10, 100, 1000))]
        for name, own in found.items()
    ]  # fmt: skip
    header = ["set", "T4: rows where median and Eq. 6 differ", "T5: error of constants 1, K, the best", "highest ε"]
    header += [f"T6: cost ≤ bound ≤ exp, T = {at}" for at in STAGES]
    kept = results["figure"]
    drawn = [[f"{at}" for at in kept["rounds"]], [f"{cost:.3f}" for cost in kept["cost"]]]
    return {
        "ordinal-reduction": markdown(
            ["set", "T2: regret of r ≤ of g", "T3: V-shaped", "cost of g₊ less optimal"], reduction
        ),
        "ordinal-boosting": markdown(header, boosting),
        "ordinal-figure": markdown(["rounds", *drawn[0]], [["training cost", *drawn[1]]]),
    }


def chain(own, at):
    """Return the training cost and its two bounds after some rounds."""
    if at not in own["stages"]:
        return ""
    place = own["stages"].index(at)
    return " ≤ ".join(f"{own[key][place]:.3g}" for key in ("cost", "bound", "exponential"))


def main():
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("theorems", "figure"))
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--sets", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--folder", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    {"theorems": theorems, "figure": figure}[options.what](options)


if __name__ == "__main__":
    main()
