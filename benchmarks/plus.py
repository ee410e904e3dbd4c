"""Time RB-C, RB-D and RankBoost+ on the same explicit pairs, once compiled, and show where their losses end.

    python benchmarks/plus.py [--items 600] [--raters 1000] [--missing 0.8] [--rounds 100] [--threads 1] [--repeat 3]
                              [--optimal]

Made ratings: raters are features, 80 % of whose ratings are missing; one more rater's ratings give the pairs. One line
for each ranker: seconds of the whole fit, milliseconds a round (a fit of all rounds less one of a single round), Ê1 and
Ê2 at the end, and the training ranking loss with a tie as half an error. Peak memory is that of the whole process,
imports included.
"""

import argparse
import resource
import time

import numpy as np

from podium import RankBoost
from podium.measures import pair_losses
from podium.rankers.rankboost_plus import RankBoostPlus, exponential_losses


def ratings(items, raters, missing, seed=0):
    """Ratings of 1 to 5 that follow six tastes, and the pairs of the last rater."""
    rng = np.random.default_rng(seed)
    taste, item = rng.standard_normal((raters + 1, 6)), rng.standard_normal((items, 6))
    rating = np.clip(np.round(3 + item @ taste.T / 2 + rng.standard_normal((items, raters + 1)) * 0.7), 1, 5)
    y, X = rating[:, 0], rating[:, 1:]
    X[rng.random(X.shape) < missing] = np.nan
    return X, np.nonzero(y[:, None] > y[None, :])


def best_times(rankers, X, pairs, repeat):
    """Best time of each ranker over turns taken one after the other."""
    best = dict.fromkeys(rankers, np.inf)
    for _ in range(repeat):
        for name, ranker in rankers.items():
            start = time.perf_counter()
            ranker.fit(X, pairs=pairs)
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    defaults = {"items": 600, "raters": 1000, "missing": 0.8, "rounds": 100, "threads": 1, "repeat": 3}
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    parser.add_argument("--optimal", action="store_true")
    args = parser.parse_args()
    X, pairs = ratings(args.items, args.raters, args.missing)
    print(f"{len(pairs[0]):,} pairs of {args.items} items, {args.raters} raters, {args.rounds} rounds")
    common = {"n_estimators": args.rounds, "n_jobs": args.threads}
    rankers = {"RB-C": RankBoost(alpha="r", **common), "RB-D": RankBoost(alpha="z", **common)}
    rankers["RB+ efficient"] = RankBoostPlus(**common)
    if args.optimal:
        rankers["RB+ optimal"] = RankBoostPlus(search="optimal", **common)
    single = {name: type(ranker)(**{**ranker.get_params(), "n_estimators": 1}) for name, ranker in rankers.items()}
    best_times(single, X, pairs, 1)  # compile
    once, whole = best_times(single, X, pairs, args.repeat), best_times(rankers, X, pairs, args.repeat)
    a_round = {name: (whole[name] - once[name]) / max(args.rounds - 1, 1) * 1e3 for name in rankers}
    for name, ranker in rankers.items():
        losses = exponential_losses(ranker, X, pairs=pairs)
        loss = pair_losses(*pairs, np.ones(len(pairs[0])), ranker.predict(X))[1]
        print(
            f"{name:14s} {whole[name]:7.3f} s {a_round[name]:7.2f} ms a round"
            f"   E1 {losses['E1'][-1]:.4f}   E2 {losses['E2'][-1]:.4f}   loss {loss:.4f}"
        )
    print(f"RB+ / RB-C a round: {a_round['RB+ efficient'] / a_round['RB-C']:.2f}")
    print(f"peak memory of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
