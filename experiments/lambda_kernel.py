"""λ for NDCG by one plain kernel, in the forms that lambda_forms.py compares, and trees that learn by them.

    python experiments/lambda_kernel.py    # how far it is from LambdaMART's own λ

Pairs of a query are taken one by one, so that each switch of a form is a line.
"""

from dataclasses import dataclass

import numpy as np
from lambdamart import shuffled
from numba import njit

from podium import MART, LambdaMART, make_search

TREES, RATE, ALL = 100, 0.08, 1 << 30


@dataclass(frozen=True)
class Form:
    """One way to write λ; all fields but the first are switches."""

    truncation: int = 30
    """Pairs with a row among so many places count."""
    pairs: bool = False
    """Divide |ΔZ| by 0.01 + |s_i - s_j|."""
    query: bool = False
    """Multiply a query's λ by log2(1 + S)/S, S twice the sum of its |λ|."""
    beyond: bool = False
    """Places after the truncation pay, too, except in the best DCG: LightGBM's ΔNDCG."""
    expected: bool = False
    """Tied rows: |ΔNDCG| expected over their orders; else by the canonical order."""


FORMS = {
    "query": Form(query=True),
    "none": Form(),
    "pairs": Form(pairs=True),
    "both": Form(pairs=True, query=True),
    "query, all pairs": Form(ALL, query=True),
    "query, first 20": Form(20, query=True),
    "query, first 10": Form(10, query=True),
    "query, first 30, Z beyond": Form(30, query=True, beyond=True),
    "query, first 10, Z beyond": Form(10, query=True, beyond=True),
    "query, ties expected": Form(query=True, expected=True),
}
"""The first four differ in the normalisation alone, the others from the first in one thing."""
OWN = {f"LambdaMART {name}": name for name in ("query", "none", "pairs", "both")}


def fit_form(name, data, leaves, sampling, seed):
    """Return the scoring function of trees on one form of λ, by the plain kernel or LambdaMART's own."""
    X, y, qid = data
    options = {
        "n_estimators": TREES, "learning_rate": RATE, "max_leaves": leaves, "subsample": sampling[0],
        "colsample_bytree": sampling[1], "random_state": seed,
    }  # fmt: skip
    if name in OWN:
        return LambdaMART(**options, normalize=OWN[name]).fit(X, y, qid=qid).predict
    model = MART(**options, loss=lambda scores, feedback: plain_lambdas(scores, feedback, FORMS[name]))
    return model.fit(X, y, qid=qid).predict


def fit_lightgbm(name, data, leaves, sampling, seed):
    """Return LightGBM's scoring function."""
    import lightgbm

    X, y, qid = shuffled(*data, seed) if seed else data
    params = {
        "objective": "lambdarank", "num_leaves": leaves, "learning_rate": RATE, "bagging_fraction": sampling[0],
        "bagging_freq": 1, "bagging_by_query": True, "feature_fraction": sampling[1], "seed": seed, "num_threads": 1,
        "verbose": -1,
    }  # fmt: skip
    starts = np.flatnonzero(np.r_[True, qid[1:] != qid[:-1], True])
    return lightgbm.train(params, lightgbm.Dataset(X, y, group=np.diff(starts)), TREES).predict


def plain_lambdas(scores, feedback, form):
    """Gradient and curvature of one form of λ for NDCG."""
    gains, offsets = np.maximum(np.exp2(feedback.labels) - 1, 0), feedback.offsets
    sums, units = np.zeros((2, len(scores))), 1 / np.log2(np.arange(2.0, np.diff(offsets).max() + 2))
    switches = form.pairs, form.query, form.beyond, form.expected
    add_queries(scores, gains, offsets, units, form.truncation, *switches, sums)
    return sums[0], sums[1]


@njit(cache=True)
def add_queries(scores, gains, offsets, units, truncation, damp, scale, beyond, expected, sums):
    """Add λ and curvature of each query's pairs."""
    ideal_units = units.copy()
    ideal_units[truncation:] = 0.0
    if not beyond:
        units = ideal_units
    for query in range(len(offsets) - 1):
        own = slice(offsets[query], offsets[query + 1])
        order = np.argsort(-scores[own], kind="mergesort")
        ideal = (np.sort(gains[own])[::-1] * ideal_units[: len(order)]).sum()
        if ideal > 0:
            found = np.zeros((2, len(order)))
            s = 2 * add_pairs(scores[own][order], gains[own][order] / ideal, units, truncation, damp, expected, found)
            factor = np.log2(1 + s) / s if scale and s > 0 else 1.0
            for k in range(len(order)):
                sums[0, own.start + order[k]] = factor * found[0, k]
                sums[1, own.start + order[k]] = factor * found[1, k]


@njit(cache=True)
def add_pairs(scores, gains, units, truncation, damp, expected, sums):
    """Add each pair's λ and curvature and return Σ|λ|; a swap pays what the units of the two places differ by.

    Expected: a place of a block of equal scores pays the block's mean unit, and two places of one block differ by the
    mean absolute difference of its units. Units fall, so for places of two blocks the mean difference is that of the
    means.
    """
    n = len(scores)
    block, mean, spread = np.empty(n, np.int64), np.empty(n), np.zeros(n)
    start, number, total_pull = 0, 0, 0.0
    for i in range(n):
        if i + 1 == n or scores[i + 1] != scores[i] or not expected:
            size, total, apart = i + 1 - start, 0.0, 0.0
            for p in range(size):
                total += units[start + p]
                apart += units[start + p] * (size - 1 - 2 * p)
            block[start : i + 1], mean[number] = number, total / size
            spread[number] = 2 * apart / (size * (size - 1)) if size > 1 else 0.0
            start, number = i + 1, number + 1
    for i in range(n if expected else min(n, truncation)):
        for j in range(i + 1, n):
            apart = spread[block[i]] if block[i] == block[j] else mean[block[i]] - mean[block[j]]
            weight = abs(gains[i] - gains[j]) * apart
            if damp:
                weight /= 0.01 + scores[i] - scores[j]
            if weight > 0:
                high, low = (i, j) if gains[i] > gains[j] else (j, i)
                rho = 1 / (1 + np.exp(scores[high] - scores[low]))
                total_pull += weight * rho
                sums[0, high] -= weight * rho
                sums[0, low] += weight * rho
                sums[1, i] += weight * rho * (1 - rho)
                sums[1, j] += weight * rho * (1 - rho)
    return total_pull


def main():
    """Print how far trees by the plain λ score from LambdaMART's own, relative to the largest score."""
    made = make_search(60, 40, 6, random_state=0)
    data = made.X, made.y, made.qid
    for name, own in OWN.items():
        scores = [fit_form(form, data, 8, (1.0, 1.0), 0)(made.X) for form in (name, own)]
        print(f"{own}: scores {abs(scores[0] - scores[1]).max() / abs(scores[1]).max():.1e}")


if __name__ == "__main__":
    main()
