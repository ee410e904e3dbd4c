"""Time AdaBoost.OR on ORStumps, once compiled, against a plain form of the same rounds.

    python benchmarks/ordinal.py [--data PATH/ordinal/census.csv.gz] [--train 6000] [--rounds 1000] [--repeat 3]

The census set of Lin and Li (2009), 6,000 training rows of 16 features and ten grades of equal counts; without --data,
made data of that size. One thread. The plain form is what one would first write in Numba: features sorted once, costs
of all rows and grades, a dynamic programme over grades for each feature and direction. Its first error is the same;
later ones may differ, since it breaks ties between stumps of equal cost in its own way. Seconds are those of the
processor; turns alternate, the best of each counts.
"""

import argparse
import gzip
import time

import numpy as np
from numba import njit

from podium import AdaBoostOR

N_GRADES = 10


def census(path):
    """Features and grades of the real set."""
    with gzip.open(path, "rt") as file:
        content = np.loadtxt(file, delimiter=",", skiprows=1)
    return content[:, :-1], grades_of(content[:, -1])


def made(n_rows=22784, n_features=16, seed=0):
    """Features with some ties, and grades of a target that is not linear in them."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.random((n_rows, n_features)) ** 2, 4)
    target = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] - X[:, 3:8] @ rng.random(5) + rng.normal(scale=0.4, size=n_rows)
    return X, grades_of(target)


def grades_of(target):
    """Ten grades of equal counts."""
    grades = np.empty(len(target), np.int64)
    grades[np.argsort(target, kind="stable")] = np.arange(len(target)) * N_GRADES // len(target)
    return grades


def plain_rounds(X, y, n_rounds):
    """Return ε of each round."""
    orders = np.argsort(X, axis=0, kind="stable").T.copy()
    ends = np.array([np.append(np.diff(X[order, f]) != 0, True) for f, order in enumerate(orders)])
    costs = np.abs(np.subtract.outer(y, np.arange(N_GRADES))).astype(float)
    return plain_boost(orders, ends, y, costs, n_rounds)


@njit(cache=True, error_model="numpy")
def plain_boost(orders, ends, y, costs, n_rounds):
    """AdaBoost.OR on cost vectors, step by step."""
    n_features, n_rows = orders.shape
    n_grades = costs.shape[1]
    errors = np.empty(n_rounds)
    choice = np.empty((n_rows, n_grades), np.int64)
    grades = np.empty(n_rows, np.int64)
    for t in range(n_rounds):
        lowest, feature, turned = np.inf, 0, False
        for f in range(n_features):
            for down in (False, True):
                cost, _ = plain_stump(orders[f], ends[f], costs, down, choice)
                if cost < lowest:
                    lowest, feature, turned = cost, f, down
        _, grade = plain_stump(orders[feature], ends[feature], costs, turned, choice)
        for j in range(n_rows - 1, -1, -1):
            grades[orders[feature, j]] = n_grades - 1 - grade if turned else grade
            grade = choice[j, grade]
        errors[t] = plain_update(y, grades, costs)
    return errors


@njit(cache=True, error_model="numpy")
def plain_update(y, grades, costs):
    """Raise the costs of wrong grades and return the error."""
    total = wrong = 0.0
    for n in range(len(y)):
        total += costs[n, 0] + costs[n, -1]
        wrong += costs[n, grades[n]]
    growth = (total - wrong) / wrong - 1
    for n in range(len(y)):
        at = growth * costs[n, grades[n]]
        if grades[n] >= y[n]:
            for k in range(y[n] + 1, costs.shape[1]):
                costs[n, k] += at if k > grades[n] else growth * costs[n, k]
        else:
            for k in range(y[n]):
                costs[n, k] += at if k < grades[n] else growth * costs[n, k]
    costs /= total
    return wrong / total


@njit(cache=True, error_model="numpy")
def plain_stump(order, ends, costs, turned, choice_out):
    """Lowest cost of grades that do not fall along a feature (or do not rise, if turned), and how it comes about."""
    n_grades = costs.shape[1]
    best = np.zeros(n_grades)
    fresh = True
    for j in range(len(order)):
        leader = 0
        for k in range(n_grades):
            if fresh:
                leader = k if best[k] < best[leader] else leader
                best[k] = best[leader]
            choice_out[j, k] = leader if fresh else k
        for k in range(n_grades):
            best[k] += costs[order[j], n_grades - 1 - k if turned else k]
        fresh = ends[j]
    return best.min(), best.argmin()


def best_seconds(jobs, repeat):
    """Best processor seconds of each job, over turns taken one after the other."""
    best = dict.fromkeys(jobs, np.inf)
    for _ in range(repeat):
        for name, job in jobs.items():
            start = time.process_time()
            job()
            best[name] = min(best[name], max(time.process_time() - start, 1e-9))  # the clock may be coarse
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--train", type=int, default=6000)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    X, y = census(args.data) if args.data else made()
    rows = np.random.default_rng(0).permutation(len(X))
    train, test = rows[: args.train], rows[args.train :]
    plain_rounds(X[train], y[train], 2)  # compile
    AdaBoostOR(n_estimators=2).fit(X[train], y[train]).predict(X[test])
    model, errors = AdaBoostOR(n_estimators=args.rounds), {}
    jobs = {
        "AdaBoostOR": lambda: model.fit(X[train], y[train]),
        "plain": lambda: errors.update(plain=plain_rounds(X[train], y[train], args.rounds)),
    }
    best = best_seconds(jobs, args.repeat)
    first, last = model.rounds_[0].epsilon, model.rounds_[-1].epsilon
    voting = best_seconds({"predict": lambda: model.predict(X[test])}, args.repeat)["predict"]
    ratio, each = best["plain"] / best["AdaBoostOR"], voting / len(test) / args.rounds * 1e9
    print(f"{len(train):,} rows x {X.shape[1]} features, {N_GRADES} grades, {args.rounds} rounds, one thread")
    print(f"AdaBoostOR {best['AdaBoostOR']:.2f} s, plain form {best['plain']:.2f} s: {ratio:.1f} times")
    print(f"epsilon {first:.6f} first, {last:.4f} last; plain {errors['plain'][0]:.6f}, {errors['plain'][-1]:.4f}")
    print(f"test cost {-model.score(X[test], y[test]):.3f}")
    print(f"predict {len(test):,} rows {voting * 1e3:.0f} ms, {each:.1f} ns a row and stump")


if __name__ == "__main__":
    main()
