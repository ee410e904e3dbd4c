"""Time PlackettLuce beside choix, Newton's steps beside those of MM, and the consensus of Mallows.

    python benchmarks/permutations.py [--items 1000] [--comparisons 100000] [--rankings 2000] [--repeat 3]
                                      [--without choix]

Made comparisons of items with normal strengths. Turns are taken one after the other, the best of them counts. Of each
solver: seconds by the clock and of the processor, steps, and the largest difference of a strength from those of
PlackettLuce. MM is Hunter's (2004), with our own gradient, until no strength changes by more than 1e-8: what Newton's
method was chosen over.
"""

import argparse
import time

import numpy as np

from podium import LinearPlackettLuce, Mallows, PlackettLuce
from podium.permutations import Choices, read_rankings

MOST_STEPS = 2000


def comparisons(n_items, n_pairs, seed=0):
    """Better and worse items."""
    rng = np.random.default_rng(seed)
    strengths = rng.normal(size=n_items)
    one, other = rng.integers(0, n_items, (2, n_pairs))
    other = np.where(one == other, (other + 1) % n_items, other)
    first = rng.random(n_pairs) < 1 / (1 + np.exp(strengths[other] - strengths[one]))
    return np.where(first, one, other), np.where(first, other, one)


def by_newton(pairs, n_items):
    """Strengths and steps of Newton's method, without standard errors."""
    model = PlackettLuce(standard_errors=False).fit(pairs=pairs)
    return model.strengths_, model.n_iter_


def with_errors(pairs, n_items):
    """Strengths of the whole fit, standard errors too."""
    model = PlackettLuce().fit(pairs=pairs)
    return model.strengths_, model.n_iter_


def by_mm(pairs, n_items):
    """Strengths and steps of MM: each is set to its wins over the sum that its gradient holds."""
    data = read_rankings(None, pairs, None, None)
    chosen = np.repeat(data.weight[data.ranking_of_block], data.block_sizes)
    choices = Choices(n_items, data.entries, data.blocks, data.starts, np.ones(len(data.entries)), chosen)
    wins = np.bincount(choices.entries, choices.chosen * (np.arange(len(choices.entries)) % 2 == 0), n_items)
    strengths = np.zeros(n_items)
    steps = 0
    while steps < MOST_STEPS:
        steps += 1
        change = np.log(wins / (wins - choices.at(strengths).gradient))
        strengths += change - change.mean()
        if np.abs(change).max() < 1e-8:
            break
    return strengths - strengths.mean(), steps


def by_choix(pairs, n_items):
    """Strengths of choix, by its iterated Luce spectral ranking."""
    import choix

    found = choix.ilsr_pairwise(n_items, list(zip(*pairs, strict=True)), tol=1e-10)
    return found - found.mean(), 0


def race(solvers, repeat, *given):
    """Best seconds, by the clock and of the processor, and the answer of each solver, turns interleaved."""
    best, found = dict.fromkeys(solvers, (np.inf, np.inf)), {}
    for _ in range(repeat):
        for name, solve in solvers.items():
            start, worked = time.perf_counter(), time.process_time()
            found[name] = solve(*given)
            took = time.perf_counter() - start, time.process_time() - worked
            best[name] = tuple(map(min, best[name], took))
    return best, found


def strengths_table(args):
    """Time the solvers of strengths."""
    pairs = comparisons(args.items, args.comparisons)
    solvers = {"newton": by_newton, "newton and errors": with_errors, "mm": by_mm}
    if args.without != "choix":
        solvers["choix"] = by_choix
    by_newton(comparisons(5, 200), 5), with_errors(comparisons(5, 200), 5)  # compile
    best, found = race(solvers, args.repeat, pairs, args.items)
    print(f"{args.items:,} items, {args.comparisons:,} comparisons")
    for name, (strengths, steps) in found.items():
        off = np.abs(strengths - found["newton"][0]).max()
        clock, processor = best[name]
        print(f"{name:18s} {clock:8.3f} s {processor:8.3f} s cpu {steps:5d} steps   off by {off:.1e}")


def draws(n_items, n_rankings):
    """Full rankings of items of normal strengths."""
    rng = np.random.default_rng(1)
    worth = rng.normal(size=n_items) + rng.gumbel(size=(n_rankings, n_items))
    return np.argsort(-worth, axis=1).tolist()


def models_table(args):
    """Time the other models."""
    rankings, rng = draws(12, args.rankings), np.random.default_rng(2)
    X, qid = rng.normal(size=(20 * args.rankings, 20)), np.repeat(np.arange(args.rankings), 20)
    y = np.digitize(X[:, 0] + rng.normal(size=len(X)), [-1.0, 0.0, 1.0])
    wide = [rng.permutation(100).tolist() for _ in range(20)]
    fits = {
        "full rankings of 12": lambda: PlackettLuce().fit(rankings),
        "top 3 of 12": lambda: PlackettLuce(unranked="below").fit([one[:3] for one in rankings]),
        "ties of 2 in 12": lambda: PlackettLuce().fit([[*one[:5], one[5:7], *one[7:]] for one in rankings]),
        "Mallows, 12 items": lambda: Mallows("exact").fit(rankings),
        "Mallows, 100 items": lambda: Mallows().fit(wide),
        f"linear, {len(X):,} x 20": lambda: LinearPlackettLuce().fit(X, y, qid=qid),
    }
    for fit in fits.values():
        fit()  # compile
    best, found = race(fits, args.repeat)
    for name, model in found.items():
        said = f"{model.n_iter_} steps" if hasattr(model, "n_iter_") else ""
        if isinstance(model, Mallows):
            said = f"distance {model.distance_:.1f}, at least {model.distance_bound_:.1f}"
        clock, processor = best[name]
        print(f"{name:24s} {clock:8.3f} s {processor:8.3f} s cpu   {said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in {"items": 1000, "comparisons": 100_000, "rankings": 2000, "repeat": 3}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--without", choices=["choix"])
    args = parser.parse_args()
    strengths_table(args)
    models_table(args)


if __name__ == "__main__":
    main()
