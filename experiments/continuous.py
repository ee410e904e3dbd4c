"""The simulation of CR 4.6 (Werner, "A review on ranking problems in statistical learning"), also out of sample.

    python experiments/continuous.py [--repetitions 100] [--settings 0 1 2]

X standard normal, standard normal coefficients, noise of half the signal's variance (signal-to-noise ratio 2), 100
rounds at rate 0.1, 1,000 new rows. Keeps results/continuous.json and a chart beside it (`--folder`).
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from paper_tables import RESULTS, keep, markdown

from podium import L1Boost, L2Boost, PairBoost, evaluate

SETTINGS = ((25, 50, 10), (100, 50, 20), (250, 200, 10))
"""p, n and the number of coefficients that are not 0, as CR has them."""
N_NEW = 1000


def rankers():
    """Return what is compared, by name."""
    found = {"L2Boost": L2Boost(), "L1Boost": L1Boost()}
    for surrogate in ("exp", "hinge"):
        found[f"signs {surrogate}"] = PairBoost(surrogate=surrogate)
    found["signs exp, rate 0.2"] = PairBoost(surrogate="exp", learning_rate=0.2)
    for c in (0.1, 0.5, 0.9):
        found[f"signs ramp {c}"] = PairBoost(surrogate="ramp", c=c)
    for response in ("raw", "expit"):
        given = {"pairs": "products", "response": response}
        for surrogate in ("exp", "hinge"):
            found[f"products {surrogate} {response}"] = PairBoost(surrogate=surrogate, **given)
        for c in (0.1, 0.5, 0.9):
            found[f"products ramp {c} {response}"] = PairBoost(surrogate="ramp", c=c, **given)
    return found


def draw(setting, seed):
    """Return training and new rows of one repetition."""
    p, n, n_coefficients = setting
    rng = np.random.default_rng([p, n, seed])
    beta = np.zeros(p)
    beta[rng.choice(p, n_coefficients, replace=False)] = rng.normal(size=n_coefficients)
    noise = np.linalg.norm(beta) / np.sqrt(2)
    X = rng.normal(size=(n + N_NEW, p))
    y = X @ beta + noise * rng.normal(size=n + N_NEW)
    return X[:n], y[:n], X[n:], y[n:]


def hard_loss(y, scores):
    """Return the hard ranking loss of one list."""
    return evaluate(y, scores, group=[len(y)], measures=["hard_loss"], n_resamples=0)["hard_loss"]


def fit_one(ranker, data):
    """Return what one fit gives: losses in and out of sample, seconds, features used, rounds, why it ended."""
    X, y, new_X, new_y = data
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of one feature in every round: counted below
        ranker.fit(X, y)
    seconds = time.perf_counter() - start
    inside, outside = hard_loss(y, ranker.predict(X)), hard_loss(new_y, ranker.predict(new_X))
    taken, why = int(np.count_nonzero(ranker.coef_)), ranker.stop_reason_
    return {
        "in": inside, "out": outside, "seconds": seconds, "features": taken, "rounds": len(ranker.rounds_),
        "diverged": float("diverge" in why), "one feature": float("took feature" in why),
    }  # fmt: skip


def simulate(setting, repetitions):
    """Return means over repetitions, fits of all rankers interleaved, and standard errors of the loss out of sample."""
    compared = rankers()
    runs = {name: [] for name in compared}
    for ranker in compared.values():
        fit_one(ranker, draw(setting, repetitions))  # compiles
    for seed in range(repetitions):
        data = draw(setting, seed)
        for name, ranker in compared.items():
            runs[name].append(fit_one(ranker, data))
    found = {name: {key: float(np.mean([one[key] for one in own])) for key in own[0]} for name, own in runs.items()}
    yardstick = np.array([one["out"] for one in runs["L2Boost"]])
    for name, own in runs.items():
        gap = np.array([one["out"] for one in own]) - yardstick
        found[name] |= {"gap": float(gap.mean()), "gap_error": float(gap.std() / np.sqrt(len(gap)))}
    return found


def tables(results):
    """Return the table of the page."""
    return {"continuous-simulation": simulation_table(results["simulation"])}


def simulation_table(found):
    """Return all settings beside each other."""
    sizes = [str(tuple(json.loads(name.replace("(", "[").replace(")", "]"))[:2])) for name in found]
    titles = [*(f"in, out of sample {size}" for size in sizes), "above L2Boost", "ms", "diverged", "one feature"]
    rows = []
    for name in next(iter(found.values())):
        own = [setting[name] for setting in found.values()]
        cells = [[f"{one['gap']:+.3f}" for one in own], [f"{1000 * one['seconds']:.0f}" for one in own]]
        cells += [[f"{100 * one[key]:.0f}" for one in own] for key in ("diverged", "one feature")]
        rows.append([name, *(f"{one['in']:.3f}, {one['out']:.3f}" for one in own), *map(", ".join, cells)])
    return markdown(["ranker", *titles], rows)


def draw_simulation(found, path):
    """Write a chart of losses in and out of sample, a panel for each setting, with two standard errors to L2Boost."""
    import altair

    rows = [
        {"setting": "p, n, coefficients: " + setting, "ranker": name, "hard ranking loss": one[key],
         "low": one[key] - 2 * one["gap_error"], "high": one[key] + 2 * one["gap_error"], "sample": f"{key} of sample"}
        for setting, own in found.items() for name, one in own.items() for key in ("in", "out")
    ]  # fmt: skip
    for row in rows:
        row["sample"] = row["sample"].replace("in of", "in")
    order = list(next(iter(found.values())))
    base = altair.Chart(altair.Data(values=rows)).encode(y=altair.Y("ranker:N", sort=order, title=None))
    losses_ = altair.X("hard ranking loss:Q", scale=altair.Scale(zero=False))
    points = base.mark_point(filled=True).encode(x=losses_, color=altair.Color("sample:N", title=None))
    bars = (
        base.mark_rule()
        .encode(x=altair.X("low:Q", title="hard ranking loss"), x2="high:Q")
        .transform_filter("datum.sample == 'out of sample'")
    )
    panels = (
        altair.layer(bars, points).properties(width=260).facet(altair.Facet("setting:N", sort=list(found), title=None))
    )
    panels.save(path)


def main():
    """Run the simulation, print and keep it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--settings", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--folder", type=Path, default=RESULTS)
    args = parser.parse_args()
    found = {str(SETTINGS[one]): simulate(SETTINGS[one], args.repetitions) for one in args.settings}
    keep("continuous", {"simulation": found}, args.folder)
    draw_simulation(found, args.folder / "simulation.svg")
    print(simulation_table(found))


if __name__ == "__main__":
    main()
