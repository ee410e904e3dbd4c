"""Continuous ranking as CR has it (Werner, "A review on ranking problems in statistical learning").

    python experiments/continuous.py example
    python experiments/continuous.py complexity [--largest 1000000] [--naive 31623]
    python experiments/continuous.py simulation [--repetitions 100] [--settings 0 1 2]
    python experiments/continuous.py table

`example` prints the losses of CR's Example 2.1; `complexity` the time of the hard loss by n, ours beside the naive one
(CR Figure 1); `simulation` CR 4.6 out of sample too: X standard normal, standard normal coefficients,
noise of half the signal's variance (signal-to-noise ratio 2), 100 rounds at rate 0.1, 1,000 new rows. The latter two
write results/continuous.json and a chart beside it (`--folder`); `table` prints the simulation that is kept there, all
settings beside each other, as docs/continuous.md has it.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

from podium import L1Boost, L2Boost, PairBoost, evaluate

RESULTS = Path(__file__).parent / "results"
SETTINGS = ((25, 50, 10), (100, 50, 20), (250, 200, 10))
"""p, n and the number of coefficients that are not 0, as CR has them."""
EXAMPLE_Y = (-3, 10.3, -8, 12, 14, -0.5, 29, -1.1, -5.7, 119)
EXAMPLE_SCORES = (0.02, 0.6, 0.1, 0.47, 0.82, 0.04, 0.77, 0.09, 0.01, 0.79)
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


def losses(y, scores, measures):
    """Return measures of one list."""
    return evaluate(y, scores, group=[len(y)], measures=measures, n_resamples=0)


def hard_loss(y, scores):
    """Return the hard ranking loss of one list."""
    return losses(y, scores, ["hard_loss"])["hard_loss"]


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


def print_simulation(setting, found):
    """Print the table of one setting."""
    print(f"p = {setting[0]}, n = {setting[1]}, {setting[2]} coefficients")
    print("| ranker | in sample | out of sample | above L2Boost | ms | features | rounds | diverged | one feature |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, one in found.items():
        print(
            f"| {name} | {one['in']:.3f} | {one['out']:.3f} | {one['gap']:+.3f} ± {one['gap_error']:.3f} | "
            f"{1000 * one['seconds']:.1f} | {one['features']:.1f} | {one['rounds']:.0f} | "
            f"{100 * one['diverged']:.0f} % | {100 * one['one feature']:.0f} % |"
        )


def print_table(found):
    """Print the table of docs/continuous.md."""
    sizes = [str(tuple(json.loads(name.replace("(", "[").replace(")", "]"))[:2])) for name in found]
    titles = [*(f"in, out of sample {size}" for size in sizes), "above L2Boost", "ms", "diverged", "one feature"]
    print(f"| ranker | {' | '.join(titles)} |\n|{'---|' * (1 + len(titles))}")
    for name in next(iter(found.values())):
        own = [setting[name] for setting in found.values()]
        losses_ = [f"{one['in']:.3f}, {one['out']:.3f}" for one in own]
        rest = [
            ", ".join(f"{one['gap']:+.3f}" for one in own),
            ", ".join(f"{1000 * one['seconds']:.0f}" for one in own),
        ]
        rest += [", ".join(f"{100 * one[key]:.0f}" for one in own) for key in ("diverged", "one feature")]
        print(f"| {name} | {' | '.join([*losses_, *rest])} |")


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


def naive_hard_loss(y, scores):
    """Return the hard loss pair by pair, in rows of a matrix."""
    wrong = [np.count_nonzero((y[i] - y) * (scores[i] - scores) < 0) for i in range(len(y))]
    return sum(wrong) / (len(y) * (len(y) - 1))


def seconds_of(function, *given):
    """Return the processor's time of the quickest of three calls."""
    found = []
    for _ in range(3):
        start = time.process_time()
        function(*given)
        found.append(time.process_time() - start)
    return min(found)


def complexity(largest, most_naive):
    """Return seconds of the hard loss by n, ours and, up to a size, the naive ones."""
    rng, found = np.random.default_rng(0), []
    for n in (round(10 ** (power / 2)) for power in range(4, 1 + round(2 * np.log10(largest)))):
        y, scores = rng.normal(size=(2, n))
        hard_loss(y, scores)
        ours = seconds_of(hard_loss, y, scores)
        naive = seconds_of(naive_hard_loss, y, scores) if n <= most_naive else None
        found.append({"n": n, "podium": ours, "naive": naive})
        print(f"n {n} podium {1000 * ours:.2f} ms naive " + ("-" if naive is None else f"{1000 * naive:.1f} ms"))
    return found


def chart(rows, x, y, color, path, scale="linear"):
    """Write a chart of rows as an image that needs no network."""
    import altair

    data = altair.Data(values=rows)
    axes = (altair.X(f"{x}:Q", scale=altair.Scale(type=scale)), altair.Y(f"{y}:Q", scale=altair.Scale(type=scale)))
    altair.Chart(data).mark_line(point=True).encode(*axes, color=f"{color}:N").save(path)


def keep(folder, part, values):
    """Put one part into the file of results."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "continuous.json"
    whole = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(whole | {part: values}, indent=1) + "\n")


def main():
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["example", "complexity", "simulation", "table"])
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--settings", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--naive", type=int, default=31_623)
    parser.add_argument("--folder", type=Path, default=RESULTS)
    args = parser.parse_args()
    if args.what == "example":
        names = ["hard_loss", "weak_loss@4", "localized_loss@4", "weak_loss@5", "localized_loss@5"]
        found = losses(np.array(EXAMPLE_Y), np.array(EXAMPLE_SCORES), names)
        for name in names:
            print(f"{name} {found[name]:.4f}")
    elif args.what == "complexity":
        times = complexity(args.largest, args.naive)
        keep(args.folder, "complexity", times)
        rows = [{"n": one["n"], "seconds": one[who], "form": who} for one in times for who in ("podium", "naive")]
        chart([row for row in rows if row["seconds"]], "n", "seconds", "form", args.folder / "hard_loss.svg", "log")
    elif args.what == "table":
        print_table(json.loads((args.folder / "continuous.json").read_text())["simulation"])
    else:
        found = {str(SETTINGS[one]): simulate(SETTINGS[one], args.repetitions) for one in args.settings}
        keep(args.folder, "simulation", found)
        draw_simulation(found, args.folder / "simulation.svg")
        for one in args.settings:
            print_simulation(SETTINGS[one], found[str(SETTINGS[one])])


if __name__ == "__main__":
    main()
