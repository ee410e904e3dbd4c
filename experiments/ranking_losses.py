"""The ranking losses of CR (Werner, "A review on ranking problems in statistical learning"): Example 2.1, Figure 1.

    python experiments/ranking_losses.py example
    python experiments/ranking_losses.py complexity [--largest 1000000] [--naive 31623]

`example` has the losses of Example 2.1, `complexity` the processor's time of the hard loss by n, the best of three,
ours beside all pairs one by one. Both keep results/ranking_losses.json, the latter a chart beside it (`--folder`).
"""

import argparse
import time
from pathlib import Path

import numpy as np
from paper_tables import RESULTS, keep, markdown

from podium import evaluate

EXAMPLE_Y = (-3, 10.3, -8, 12, 14, -0.5, 29, -1.1, -5.7, 119)
EXAMPLE_SCORES = (0.02, 0.6, 0.1, 0.47, 0.82, 0.04, 0.77, 0.09, 0.01, 0.79)
EXAMPLE = {
    "hard_loss": 8 / 45, "weak_loss@4": 0.2, "weak_loss_norm@4": 0.25, "localized_loss@4": 37 / 225,
    "localized_loss_norm@4": 75 / 46 * 37 / 225, "weak_loss@5": 0.0, "localized_loss@5": 1 / 15,
    "localized_loss_norm@5": 18 / 13 / 15,
}  # fmt: skip
"""CR's values."""


def losses(y, scores, measures):
    """Return measures of one list."""
    return evaluate(y, scores, group=[len(y)], measures=measures, n_resamples=0)


def hard_loss(y, scores):
    """Return the hard ranking loss of one list."""
    return losses(y, scores, ["hard_loss"])["hard_loss"]


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


def tables(results):
    """Return the tables of the page."""
    rows = [[name, f"{value:.4f}", f"{EXAMPLE[name]:.4f}"] for name, value in results["example"].items()]
    times = [
        [f"{one['n']:,}", f"{1000 * one['podium']:.2f}", f"{1000 * one['naive']:.1f}" if one["naive"] else ""]
        for one in results["complexity"]
    ]
    return {
        "continuous-example": markdown(["loss", "ours", "CR"], rows),
        "continuous-times": markdown(["rows", "ms", "ms, pair by pair"], times),
    }


def main():
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["example", "complexity"])
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--naive", type=int, default=31_623)
    parser.add_argument("--folder", type=Path, default=RESULTS)
    args = parser.parse_args()
    if args.what == "example":
        found = losses(np.array(EXAMPLE_Y), np.array(EXAMPLE_SCORES), list(EXAMPLE))
        keep("ranking_losses", {"example": {name: found[name] for name in EXAMPLE}}, args.folder)
        print(*(f"{name} {found[name]:.4f}" for name in EXAMPLE), sep="\n")
    else:
        times = complexity(args.largest, args.naive)
        keep("ranking_losses", {"complexity": times}, args.folder)
        rows = [{"n": one["n"], "seconds": one[who], "form": who} for one in times for who in ("podium", "naive")]
        chart([row for row in rows if row["seconds"]], "n", "seconds", "form", args.folder / "hard_loss.svg", "log")


if __name__ == "__main__":
    main()
