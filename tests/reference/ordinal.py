"""Plain ordinal ranking, written from the formulas of Lin and Li (2009) ("OR"); grades and k count from 1.

Costs are lists with one list of K costs per row; misprints of the paper are corrected as noted.
"""

import itertools
import math

INFINITY = math.inf


def stump_rank(x, direction, thresholds):
    """r(x) = 1 + #{k: q x ≥ θ_k} (OR section 5.1, which prints max{k: q x < θ_k})."""
    return 1 + sum(direction * x >= theta for theta in thresholds)


def all_stumps(X, n_grades):
    """Every stump on some data, in the order of the tie rule: feature, direction 1 first, θ_{K-1}, θ_{K-2}, …"""
    for feature in range(len(X[0])):
        for direction in (1, -1):
            values = sorted({direction * row[feature] for row in X})
            middles = [(low + high) / 2 for low, high in itertools.pairwise(values)]
            places = [-INFINITY, *middles, INFINITY]
            ascending = itertools.combinations_with_replacement(places, n_grades - 1)
            for thresholds in sorted(ascending, key=lambda own: own[::-1]):
                yield feature, direction, thresholds


def stump_cost(X, costs, feature, direction, thresholds):
    """Σ_n c_n[r(x_n)]."""
    return sum(c[stump_rank(row[feature], direction, thresholds) - 1] for row, c in zip(X, costs, strict=True))


def best_stump(X, costs):
    """The first stump of the lowest cost, by trying all of them."""
    return min(all_stumps(X, len(costs[0])), key=lambda stump: stump_cost(X, costs, *stump))


def binary_examples(y, costs):
    """(z, w) of each row and k (OR Eq. 2, without the factor K - 1)."""
    n_grades = len(costs[0])
    return [
        [(1 if k < grade else -1, abs(c[k] - c[k - 1])) for k in range(1, n_grades)]
        for grade, c in zip(y, costs, strict=True)
    ]


def costs_of_examples(y, w):
    """c[k] = Σ_ℓ w[ℓ] [y ≤ ℓ < k or k ≤ ℓ < y] (OR Eq. 3; k ≤ ℓ < y inverts Eq. 2, the printed k < ℓ ≤ y does not)."""
    n_grades = len(w[0]) + 1
    return [
        [
            sum(own[at - 1] for at in range(1, n_grades) if grade <= at < k or k <= at < grade)
            for k in range(1, n_grades + 1)
        ]
        for grade, own in zip(y, w, strict=True)
    ]


def answer(rank, k):
    """g_r(x, k) = 2 [k < r(x)] - 1 (OR Eq. 4)."""
    return 1 if k < rank else -1


def adaboost(y, costs, learn, n_rounds):
    """AdaBoost (OR Algorithm 1) on the binary examples, with ĝ_t = g_{r_t} for r_t = learn(costs of the examples).

    Returns (ε̂_t, v̂_t) and the ranks r_t(x_n) of each round.
    """
    examples = binary_examples(y, costs)
    z = [[sign for sign, _ in row] for row in examples]
    w = [[weight for _, weight in row] for row in examples]
    rounds = []
    for _ in range(n_rounds):
        ranks = learn(costs_of_examples(y, w))
        wrong = [[sign != answer(rank, k) for k, sign in enumerate(row, 1)] for rank, row in zip(ranks, z, strict=True)]
        total = sum(map(sum, w))
        epsilon = sum(
            weight for row, bad in zip(w, wrong, strict=True) for weight, b in zip(row, bad, strict=True) if b
        )
        epsilon /= total
        if epsilon > 0.5 or epsilon == 0:
            break
        v = 0.5 * math.log((1 - epsilon) / epsilon)
        growth = math.exp(2 * v) - 1
        w = [
            [weight + growth * weight * b for weight, b in zip(row, bad, strict=True)]
            for row, bad in zip(w, wrong, strict=True)
        ]
        w = [[weight / total for weight in row] for row in w]
        rounds.append((epsilon, v, ranks))
    return rounds


def updated_costs(y, costs, ranks, growth):
    """Cost vectors after step 4 of OR Algorithm 2; "switch > to <" holds for ≥ and ≤ too."""
    new = []
    for grade, c, rank in zip(y, costs, ranks, strict=True):
        row = []
        for k in range(1, len(c) + 1):
            near, far = (k <= grade, k > rank) if rank >= grade else (k >= grade, k < rank)
            row.append(c[k - 1] + (0 if near else growth * c[(rank if far else k) - 1]))
        new.append(row)
    return new


def combined_rank(ranks, v, n_grades):
    """r_H = 1 + Σ_k [Σ_t v_t [k < r_t] ≥ ½ Σ_t v_t] (OR Eq. 6)."""
    half = 0.5 * sum(v)
    above = [sum(vote for vote, rank in zip(v, ranks, strict=True) if k < rank) for k in range(1, n_grades)]
    return 1 + sum(votes >= half for votes in above)
